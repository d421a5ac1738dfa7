//! The programs of the stories in docs/profiling.md: `stories pictures|rows|lock|maps`.

use bombyx::{for_each, map_reduce};
use std::collections::HashMap;
use std::process::ExitCode;
use std::sync::Mutex;

/// A picture of some size, full of something.
struct Picture {
    width: usize,
    rows: Vec<Mutex<Vec<f32>>>,
}

impl Picture {
    fn new(size: usize) -> Self {
        Self { width: size, rows: (0..size).map(|_| Mutex::new(vec![0.5; size])).collect() }
    }

    /// Makes a row look old.
    fn age(&self, row: usize) {
        let mut row = self.rows[row].lock().expect("nobody panics");
        for pixel in row.iter_mut() {
            for _ in 0..40 {
                *pixel = (*pixel * 3.7 * (1.0 - *pixel)).sqrt();
            }
        }
    }
}

/// A hundred pictures, of which one is much larger than the others.
fn pictures() -> Vec<Picture> {
    (0..100).map(|n| Picture::new(if n == 60 { 1700 } else { 140 })).collect()
}

/// As a text of many words.
fn words() -> Vec<u32> {
    let mut random = 42_u64;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 20) as u32 % 10_000
    };
    (0..4_000_000).map(|_| next()).collect()
}

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("pictures") => {
            let pictures = pictures();
            for_each(0..pictures.len(), |n| (0..pictures[n].width).for_each(|row| pictures[n].age(row)));
        }
        Some("rows") => {
            let pictures = pictures();
            for_each(0..pictures.len(), |n| for_each(0..pictures[n].width, |row| pictures[n].age(row)));
        }
        Some("lock") => {
            let (words, counts) = (words(), Mutex::new(HashMap::new()));
            for_each(0..words.len() / 1000, |block| {
                let mut counts = counts.lock().expect("nobody panics");
                for word in &words[1000 * block..1000 * (block + 1)] {
                    *counts.entry(word).or_insert(0) += 1;
                }
            });
            println!("{} words", counts.into_inner().expect("nobody panics").len());
        }
        Some("maps") => {
            let words = words();
            let count = |block: usize| {
                let mut counts = HashMap::new();
                for word in &words[100_000 * block..100_000 * (block + 1)] {
                    *counts.entry(word).or_insert(0) += 1;
                }
                counts
            };
            let add = |mut all: HashMap<_, i32>, more: HashMap<_, i32>| {
                for (word, count) in more {
                    *all.entry(word).or_insert(0) += count;
                }
                all
            };
            let counts = map_reduce(0..words.len() / 100_000, count, HashMap::new, add);
            println!("{} words", counts.len());
        }
        _ => {
            eprintln!("stories pictures|rows|lock|maps");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
