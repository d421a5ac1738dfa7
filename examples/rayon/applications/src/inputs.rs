//! What the applications work on: pictures, a film, and a tree of folders. Made once, the same on every machine.

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

/// Makes the inputs in `folder`, unless they are there.
pub(crate) fn make(folder: &Path) -> Result<(), Box<dyn Error>> {
    let complete = folder.join("complete");
    if complete.exists() {
        return Ok(());
    }
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder.join("small-pictures"))?;
    fs::create_dir_all(folder.join("frames"))?;
    for number in 0..40 {
        picture(&folder.join(format!("small-pictures/{number:02}.png")), 160, 120, number)?;
    }
    picture(&folder.join("large-picture.png"), 1200, 800, 7)?;
    for number in 0..16 {
        picture(&folder.join(format!("frames/{number:02}.png")), 320, 240, number)?;
    }
    film(&folder.join("film.y4m"), 320, 192, 12)?;
    sources(&folder.join("sources"))?;
    File::create(complete)?;
    Ok(())
}

/// A colour of a picture in which something moves with `time`: smooth, with an edge and some grain.
fn colour(x: u32, y: u32, time: u32, channel: u32) -> u8 {
    let grain = (x.wrapping_mul(2_654_435_761) ^ y.wrapping_mul(40_503) ^ channel.wrapping_mul(97)) >> 29;
    let (dx, dy) = (x.abs_diff(40 + 5 * time), y.abs_diff(60 + 2 * time));
    let inside = if dx * dx + dy * dy < 900 { 90 } else { 0 };
    ((x * (1 + channel) / 4 + y / 3 + time * 3 + inside + grain) % 256) as u8
}

fn picture(path: &Path, width: u32, height: u32, time: u32) -> Result<(), Box<dyn Error>> {
    let mut encoder = png::Encoder::new(BufWriter::new(File::create(path)?), width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let pixels: Vec<u8> = (0..height)
        .flat_map(|y| (0..width).flat_map(move |x| (0..3).map(move |channel| colour(x, y, time, channel))))
        .collect();
    Ok(encoder.write_header()?.write_image_data(&pixels)?)
}

/// A film in YUV4MPEG2: planes of brightness, and of two colours with half the side.
fn film(path: &Path, width: u32, height: u32, frames: u32) -> Result<(), Box<dyn Error>> {
    let mut out = BufWriter::new(File::create(path)?);
    writeln!(out, "YUV4MPEG2 W{width} H{height} F24:1 Ip A1:1 C420jpeg")?;
    for time in 0..frames {
        writeln!(out, "FRAME")?;
        for (channel, shrink) in [(0, 1), (1, 2), (2, 2)] {
            for y in 0..height / shrink {
                let row: Vec<u8> = (0..width / shrink).map(|x| colour(x, y, time, channel)).collect();
                out.write_all(&row)?;
            }
        }
    }
    Ok(out.flush()?)
}

/// 24 folders with 60 files each, in four levels, of which every third has a copy elsewhere.
fn sources(folder: &Path) -> Result<(), Box<dyn Error>> {
    for number in 0..24u32 {
        for file in 0..60u32 {
            let place = folder.join(format!("{number}/{}/{}", file % 4, file % 3));
            fs::create_dir_all(&place)?;
            let seed = if file % 3 == 0 { file } else { number * 1000 + file };
            let (extension, comment) =
                [("rs", "//"), ("py", "#"), ("c", "//"), ("sh", "#")][(file % 4) as usize];
            let mut out = BufWriter::new(File::create(place.join(format!("{file}.{extension}")))?);
            for line in 0..200 + seed % 400 {
                match line % 5 {
                    0 => writeln!(out, "{comment} what is {line} for")?,
                    1 => writeln!(out)?,
                    _ => writeln!(out, "value_{line} = {};", line.wrapping_mul(seed + 1) % 10_007)?,
                }
            }
            out.flush()?;
        }
    }
    Ok(())
}
