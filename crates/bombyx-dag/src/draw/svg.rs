//! SVG, drawn by hand from the [`Layout`].

use super::TooLargeToDraw;
use super::layout::Layout;
use crate::{Computation, StrandId, ThreadId};
use std::fmt::Write;

/// Below the last row: room for weights and heap sizes.
const NOTES: f64 = 12.0;
const COLUMN: f64 = 62.0;
const ROW: f64 = 104.0;
const RADIUS: f64 = 16.0;
const BLOCK: f64 = 27.0;
const MARGIN: f64 = 26.0;
/// Left of a block's first strand: room for the thread's name.
const NAME: f64 = 34.0;

const STYLE: &str = "
  text { font-family: Helvetica, Arial, sans-serif; fill: #1f2a44; }
  .block { fill: #e9eef7; stroke: #c3cde0; stroke-width: 1.2; }
  .name { font-size: 17px; text-anchor: middle; }
  .strand { fill: #ffffff; stroke: #1f2a44; stroke-width: 1.4; }
  .label { font-size: 14px; font-style: italic; text-anchor: middle; }
  .sub { font-size: 70%; font-style: normal; }
  .weight, .heap { font-size: 11px; text-anchor: end; stroke: #ffffff; stroke-width: 3px; paint-order: stroke; }
  .weight { fill: #5b6785; }
  .heap { fill: #2f7d4f; }
  .edge { fill: none; stroke: #1f2a44; stroke-width: 1.4; marker-end: url(#continue); }
  .spawn { fill: none; stroke: #7c8db0; stroke-width: 3; marker-end: url(#spawn); }
  .join { fill: none; stroke: #b4532a; stroke-width: 1.5; stroke-dasharray: 5 3; marker-end: url(#join); }
";

/// A picture of the computation, as a whole SVG file.
///
/// # Errors
/// If it has more than [`MAX_DRAWN_STRANDS`](super::MAX_DRAWN_STRANDS) strands.
///
/// ```
/// let picture = bombyx_dag::draw::svg(&bombyx_dag::generate::figure1(1))?;
/// assert_eq!(picture.matches("<circle").count(), 23);
/// # Ok::<(), bombyx_dag::draw::TooLargeToDraw>(())
/// ```
pub fn svg(c: &Computation) -> Result<String, TooLargeToDraw> {
    TooLargeToDraw::check(c)?;
    let drawing = Drawing { c, layout: Layout::of(c), out: String::new() };
    Ok(drawing.draw())
}

struct Drawing<'a> {
    c: &'a Computation,
    layout: Layout,
    out: String,
}

type Point = (f64, f64);

impl Drawing<'_> {
    fn draw(mut self) -> String {
        let width = 2.0 * MARGIN + NAME + BLOCK * 2.0 + self.layout.width * COLUMN;
        let height = 2.0 * MARGIN + NOTES + 2.0 * BLOCK + f64::from(self.layout.rows - 1) * ROW;
        self.line(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
             width=\"{width:.0}\" height=\"{height:.0}\">\n<style>{STYLE}</style>\n<defs>"
        ));
        for (id, color, size) in
            [("continue", "#1f2a44", 6.0), ("spawn", "#7c8db0", 3.6), ("join", "#b4532a", 6.0)]
        {
            self.line(format_args!(
                "<marker id=\"{id}\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"{size}\" \
                 markerHeight=\"{size}\" orient=\"auto\"><path d=\"M0 0.8 L10 5 L0 9.2 L2.4 5 z\" fill=\"{color}\"/></marker>"
            ));
        }
        self.line(format_args!("</defs>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>"));
        for thread in self.c.threads() {
            self.block(thread);
        }
        for strand in self.c.strands() {
            self.edges(strand);
        }
        for strand in self.c.strands() {
            self.strand(strand);
        }
        self.out.push_str("</svg>\n");
        self.out
    }

    fn line(&mut self, text: std::fmt::Arguments<'_>) {
        writeln!(self.out, "{text}").expect("strings take all text");
    }

    fn center(&self, strand: StrandId) -> Point {
        let row = self.c.spawn_depth(self.c.thread_of(strand));
        let column = self.layout.columns[strand.index()];
        (MARGIN + NAME + BLOCK + column * COLUMN, MARGIN + BLOCK + f64::from(row) * ROW)
    }

    fn block(&mut self, thread: ThreadId) {
        let (left, y) = self.center(self.c.first_strand(thread));
        let (right, _) = self.center(self.c.last_strand(thread));
        let (x, top) = (left - BLOCK - NAME + 8.0, y - BLOCK);
        let (width, height) = (right - x + BLOCK, 2.0 * BLOCK);
        self.line(format_args!(
            "<rect class=\"block\" x=\"{x:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"{BLOCK}\"/>"
        ));
        let (name_x, name_y, number) = (x + 20.0, y + 5.5, thread.index() + 1);
        self.line(format_args!(
            "<text class=\"name\" x=\"{name_x:.1}\" y=\"{name_y:.1}\">Γ<tspan class=\"sub\" dy=\"4\">{number}</tspan></text>"
        ));
    }

    fn edges(&mut self, from: StrandId) {
        let start = self.center(from);
        if let Some(next) = self.c.next(from) {
            let (x, y) = self.center(next);
            let (x1, x2) = (start.0 + RADIUS, x - RADIUS - 1.0);
            self.line(format_args!("<path class=\"edge\" d=\"M{x1:.1} {y:.1} L{x2:.1} {y:.1}\"/>"));
        }
        if let Some(child) = self.c.spawned(from) {
            let end = self.center(child);
            let (a, b) = (toward(start, end, RADIUS), toward(end, start, RADIUS + 1.5));
            self.line(format_args!(
                "<path class=\"spawn\" d=\"M{:.1} {:.1} L{:.1} {:.1}\"/>",
                a.0, a.1, b.0, b.1
            ));
        }
        for &to in self.c.joins_from(from) {
            self.join(start, self.center(to));
        }
    }

    /// The edge rises into the channel above its source's row, runs there, and enters its target from below.
    fn join(&mut self, start: Point, end: Point) {
        let leave = (start.0 + 0.18 * COLUMN, start.1 - 0.62 * ROW);
        let enter = (end.0 - 0.06 * COLUMN, end.1 + 0.52 * ROW);
        let (a, b) = (toward(start, leave, RADIUS), toward(end, enter, RADIUS + 1.5));
        self.line(format_args!(
            "<path class=\"join\" d=\"M{:.1} {:.1} C{:.1} {:.1} {:.1} {:.1} {:.1} {:.1}\"/>",
            a.0, a.1, leave.0, leave.1, enter.0, enter.1, b.0, b.1
        ));
    }

    fn strand(&mut self, strand: StrandId) {
        let (x, y) = self.center(strand);
        let number = strand.index() + 1;
        let (label_x, label_y) = (x - 1.0, y + 3.5);
        self.line(format_args!("<circle class=\"strand\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{RADIUS}\"/>"));
        self.line(format_args!(
            "<text class=\"label\" x=\"{label_x:.1}\" y=\"{label_y:.1}\">v<tspan class=\"sub\" dy=\"3\">{number}</tspan></text>"
        ));
        // Notes go below, to the left. Spawn edges leave to the right, and join edges enter in the middle.
        let (left, below) = (x - 6.0, y + BLOCK + 12.0);
        let weight = self.c.weight(strand);
        if weight > 1 {
            let weight = short(weight);
            self.line(format_args!(
                "<text class=\"weight\" x=\"{left:.1}\" y=\"{below:.1}\">×{weight}</text>"
            ));
        }
        let heap = match (self.c.allocated(strand), self.c.freed(strand)) {
            (0, 0) => return,
            (allocated, 0) => format!("+{}", short(allocated)),
            (0, freed) => format!("−{}", short(freed)),
            (allocated, freed) if allocated == freed => format!("±{}", short(allocated)),
            (allocated, freed) => format!("+{} −{}", short(allocated), short(freed)),
        };
        let below = below + 12.0;
        self.line(format_args!("<text class=\"heap\" x=\"{left:.1}\" y=\"{below:.1}\">{heap}</text>"));
    }
}

/// The point at `distance` from `from`, in the direction of `to`.
fn toward(from: Point, to: Point, distance: f64) -> Point {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let scale = distance / dx.hypot(dy).max(1e-9);
    (from.0 + dx * scale, from.1 + dy * scale)
}

/// At most four characters.
fn short(number: u64) -> String {
    const UNITS: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
    let (mut value, mut unit) = (number as f64, 0);
    while value >= 999.5 {
        value /= 1000.0;
        unit += 1;
    }
    let decimals = usize::from(unit > 0 && value < 9.95);
    format!("{value:.decimals$}{}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (number, text) in [(7, "7"), (999, "999"), (1000, "1.0k"), (12_345, "12k"), (u64::MAX, "18E")] {
            assert_eq!(short(number), text);
        }
    }
}
