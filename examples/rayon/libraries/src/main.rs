//! Small applications of published libraries that use rayon, for `scripts/rayon-applications`.

mod resize;
mod tokenize;

use std::error::Error;
use std::path::Path;

const USAGE: &str = "usage: resize WIDTH HEIGHT | tokenize FOLDER";

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["resize", width, height] => resize::run(width.parse()?, height.parse()?),
        ["tokenize", folder] => tokenize::run(Path::new(folder)),
        _ => Err(USAGE.into()),
    }
}
