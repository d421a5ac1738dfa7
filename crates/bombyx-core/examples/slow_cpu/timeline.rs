//! A picture of what ran where: one panel per run, one lane per CPU, time from left to right. A leaf looks which CPU it
//! is on every quarter of a millisecond, so a leaf that is moved in its middle shows as two pieces in two lanes.

use crate::cpus::here;
use crate::linux::LONG;
use std::fmt::Write;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How long a leaf runs between two looks.
const LOOK: Duration = Duration::from_micros(250);
/// Pieces of one leaf on one CPU that are closer than this are drawn as one. The competitor has the time between them.
const MERGE: f64 = 0.012;

/// A stretch of one leaf on one CPU, in seconds since the start.
#[derive(Clone, Copy)]
struct Piece {
    long: bool,
    cpu: usize,
    start: f64,
    end: f64,
}

/// Records one run.
pub(crate) struct Recorder {
    start: Instant,
    pieces: Mutex<Vec<Piece>>,
}

/// What was recorded of one run.
pub(crate) struct Run {
    name: &'static str,
    seconds: f64,
    pieces: Vec<Piece>,
}

impl Recorder {
    pub(crate) fn start() -> Recorder {
        Recorder { start: Instant::now(), pieces: Mutex::default() }
    }

    /// Runs a leaf of this length, in steps, and records where it runs.
    pub(crate) fn leaf(&self, time: Duration, step: impl Fn(Duration)) {
        let mut pieces: Vec<Piece> = Vec::new();
        for _ in 0..time.as_micros() / LOOK.as_micros() {
            let cpu = here();
            let start = self.start.elapsed().as_secs_f64();
            step(LOOK);
            let end = self.start.elapsed().as_secs_f64();
            match pieces.last_mut().filter(|last| last.cpu == cpu && start - last.end < MERGE) {
                Some(last) => last.end = end,
                None => pieces.push(Piece { long: time == LONG, cpu, start, end }),
            }
        }
        self.pieces.lock().expect("nothing panics here").append(&mut pieces);
    }

    pub(crate) fn finish(self, name: &'static str) -> Run {
        let seconds = self.start.elapsed().as_secs_f64();
        Run { name, seconds, pieces: self.pieces.into_inner().expect("nothing panics here") }
    }
}

const WIDTH: f64 = 900.0;
const LEFT: f64 = 110.0;
const LANE: f64 = 26.0;
const PANEL: f64 = 3.0 * LANE + 34.0;

/// The picture, as SVG. The second CPU is the slow one.
pub(crate) fn svg(runs: &[Run], cpus: &[usize]) -> String {
    let longest = runs.iter().map(|run| run.seconds).fold(0.0, f64::max);
    let scale = (WIDTH - LEFT - 60.0) / longest;
    let height = PANEL * runs.len() as f64 + 34.0;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         font-family=\"Helvetica, Arial, sans-serif\" font-size=\"13\" fill=\"#1f2a44\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for (panel, run) in runs.iter().enumerate() {
        let top = 8.0 + PANEL * panel as f64;
        text(&mut out, LEFT, top + 16.0, "start", &format!("{}: {:.0} ms", run.name, run.seconds * 1e3));
        for (lane, (&cpu, what)) in cpus.iter().zip(["fast CPU", "slow CPU"]).enumerate() {
            let y = top + 24.0 + (LANE + 4.0) * lane as f64;
            text(&mut out, LEFT - 10.0, y + 18.0, "end", what);
            rectangle(&mut out, LEFT, y, run.seconds * scale, "#eeeeee");
            for piece in run.pieces.iter().filter(|piece| piece.cpu == cpu) {
                let colour = if piece.long { "#d55e00" } else { "#0072b2" };
                let width = ((piece.end - piece.start) * scale).max(0.4);
                rectangle(&mut out, LEFT + piece.start * scale, y, width, colour);
            }
        }
        let x = LEFT + run.seconds * scale;
        let _ = writeln!(
            out,
            "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.1}\" y2=\"{:.1}\" stroke=\"black\"/>",
            top + 20.0,
            top + 28.0 + 2.0 * LANE + 8.0
        );
    }
    let legend = height - 12.0;
    for (x, colour, what) in [(LEFT, "#d55e00", "long leaf"), (LEFT + 110.0, "#0072b2", "short leaves")] {
        let _ = writeln!(
            out,
            "<rect x=\"{x}\" y=\"{}\" width=\"12\" height=\"12\" fill=\"{colour}\"/>",
            legend - 11.0
        );
        text(&mut out, x + 18.0, legend, "start", what);
    }
    text(&mut out, LEFT + 240.0, legend, "start", "the slow CPU is shared with a competing process");
    out.push_str("</svg>\n");
    out
}

fn rectangle(out: &mut String, x: f64, y: f64, width: f64, colour: &str) {
    let _ = writeln!(
        out,
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{LANE}\" fill=\"{colour}\"/>"
    );
}

fn text(out: &mut String, x: f64, y: f64, anchor: &str, what: &str) {
    let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{what}</text>");
}
