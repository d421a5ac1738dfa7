//! `image`: pixels by its parallel iterators, and OpenEXR, whose blocks the `exr` crate compresses in a pool.

use crate::digest;
use cores::Subject;
use image::{ImageBuffer, ImageFormat, Rgb, Rgb32FImage, RgbImage};
use std::io::Cursor;

/// Steps after which a point is taken to stay.
const STEPS: u32 = 200;

/// How many steps the point at (x, y) of a picture of this size stays near the origin.
fn escape(x: u32, y: u32, (width, height): (u32, u32)) -> u32 {
    let (cx, cy) =
        (3.0 * f64::from(x) / f64::from(width) - 2.2, 2.4 * f64::from(y) / f64::from(height) - 1.2);
    let (mut zx, mut zy, mut steps) = (0.0, 0.0, 0);
    while steps < STEPS && zx * zx + zy * zy < 4.0 {
        (zx, zy) = (zx * zx - zy * zy + cx, 2.0 * zx * zy + cy);
        steps += 1;
    }
    steps
}

/// The Mandelbrot set.
pub(crate) struct Paint {
    picture: RgbImage,
}

impl Paint {
    pub(crate) fn new() -> Paint {
        Paint { picture: ImageBuffer::new(480, 360) }
    }
}

fn shade(steps: u32) -> Rgb<u8> {
    Rgb([(steps * 5) as u8, (steps * 3) as u8, steps as u8])
}

impl Subject for Paint {
    fn compute(&mut self) {
        use rayon::iter::ParallelIterator;
        let size = self.picture.dimensions();
        self.picture.par_enumerate_pixels_mut().for_each(|(x, y, pixel)| *pixel = shade(escape(x, y, size)));
    }

    fn digest(&self) -> String {
        digest(self.picture.as_raw().iter().copied())
    }

    fn check(&self) -> Result<(), String> {
        let size = self.picture.dimensions();
        let wrong =
            self.picture.enumerate_pixels().find(|(x, y, pixel)| **pixel != shade(escape(*x, *y, size)));
        wrong.map_or(Ok(()), |(x, y, _)| Err(format!("the pixel at {x}, {y} is wrong")))
    }
}

/// A picture that is written as OpenEXR, into memory, and read again.
pub(crate) struct Exr {
    picture: Rgb32FImage,
    read: Rgb32FImage,
}

impl Exr {
    pub(crate) fn new() -> Exr {
        let size = (640, 480);
        let colour = |x, y| {
            let steps = escape(x, y, size) as f32;
            Rgb([steps / STEPS as f32, (steps * 0.1).sin(), x as f32 / 640.0])
        };
        Exr { picture: ImageBuffer::from_fn(size.0, size.1, colour), read: ImageBuffer::new(1, 1) }
    }
}

impl Subject for Exr {
    fn compute(&mut self) {
        let mut file = Cursor::new(Vec::new());
        self.picture.write_to(&mut file, ImageFormat::OpenExr).expect("memory can be written to");
        let read = image::load_from_memory_with_format(file.get_ref(), ImageFormat::OpenExr);
        self.read = read.expect("what was written can be read").into_rgb32f();
    }

    fn digest(&self) -> String {
        digest(self.read.as_raw().iter().flat_map(|value| value.to_le_bytes()))
    }

    fn check(&self) -> Result<(), String> {
        if self.read == self.picture {
            Ok(())
        } else {
            Err("what was read is not what was written".to_string())
        }
    }
}
