//! Writes a page with a million slices, for `scripts/browser`: `million FILE`.

use bombyx_report::Report;
use bombyx_trace::{Category, Slice, Timeline, Track, TrackKind};

const TRACKS: u64 = 8;
const SLICES: u64 = 125_000;

fn main() {
    let file = std::env::args().nth(1).expect("a file to write to");
    let track = |number: u64| {
        let mut at = 0;
        let slices = (0..SLICES).map(|nth| {
            // Lengths from 100 ns to 100 µs, without a random generator.
            let mixed = (nth * TRACKS + number).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
            let (start, length) = (at, 100 * (1 + mixed % 1000));
            at = start + length + mixed % 777;
            let category = Category::ALL[(mixed % Category::ALL.len() as u64) as usize];
            Slice { start, end: start + length, name: (mixed % 50) as u32, category, depth: 0 }
        });
        let slices = slices.collect();
        Track { name: format!("thread {number}"), kind: TrackKind::Thread { number }, slices }
    };
    let tracks: Vec<Track> = (0..TRACKS).map(track).collect();
    let end = |track: &Track| track.slices.last().map_or(0, |slice| slice.end);
    let timeline = Timeline {
        program: "a million slices".to_owned(),
        length: tracks.iter().map(end).max().unwrap_or(0),
        tracks,
        names: (0..50).map(|number| format!("closure {number}")).collect(),
        ..Timeline::default()
    };
    std::fs::write(&file, Report::new("a million slices").with_trace(&timeline).render())
        .expect("a place to write to");
}
