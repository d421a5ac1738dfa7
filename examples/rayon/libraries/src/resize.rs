//! Resizes a picture with `fast_image_resize`.

use fast_image_resize::images::Image;
use fast_image_resize::{FilterType, PixelType, ResizeAlg, ResizeOptions, Resizer};
use std::error::Error;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Makes a picture, resizes it several times, and prints a digest of the results.
pub(crate) fn run(width: u32, height: u32) -> Result<(), Box<dyn Error>> {
    let pixels = (0..width * height * 4).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let picture = Image::from_vec_u8(width, height, pixels, PixelType::U8x4)?;
    let mut resizer = Resizer::new();
    let mut digest = DefaultHasher::new();
    for filter in [FilterType::Bilinear, FilterType::CatmullRom, FilterType::Lanczos3] {
        for (numerator, denominator) in [(1, 4), (1, 2), (2, 3), (3, 2)] {
            let [width, height] = [width, height].map(|side| (side * numerator / denominator).max(1));
            let mut resized = Image::new(width, height, PixelType::U8x4);
            let options = ResizeOptions::new().resize_alg(ResizeAlg::Convolution(filter));
            resizer.resize(&picture, &mut resized, &options)?;
            resized.buffer().hash(&mut digest);
        }
    }
    println!("{:016x}", digest.finish());
    Ok(())
}
