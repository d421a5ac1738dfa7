//! A picture of RW's protocols: two processors, their store buffers, and the shortest interleaving that shows a
//! mistake.

use bombyx_sim::tso::{Config, Mutation, Step, Tree, explore};
use std::fmt::Write;

const ROW: f64 = 21.0;
const LANE: f64 = 440.0;
const LEFT: f64 = 52.0;
const TOP: f64 = 84.0;

const STYLE: &str = "
  text { font-family: Helvetica, Arial, sans-serif; fill: #1f2a44; font-size: 13px; }
  .title { font-size: 17px; }
  .small { font-size: 11px; fill: #5b6785; }
  .right { text-anchor: end; }
  .broken { fill: #b3361c; font-size: 15px; }
  .act { fill: #e8eef7; }
  .flush { fill: #f6e3d3; }
";

/// Draws, as a whole SVG file, how two processors steal and join with loads and stores only. The processor that comes
/// second forgets to compare who takes the join, so both take it.
pub fn picture() -> String {
    let tree: Tree = "(. .)".parse().expect("one fork is a tree");
    let config = Config { liveness: false, ..Config::new(2, tree) }.with_mutation(Mutation::TieToBoth);
    let outcome = explore(&config, |_| {}).expect("the machine is small");
    let found = outcome.counterexample().expect("the mistake shows on two processors");
    let height = TOP + found.steps.len() as f64 * ROW + 44.0;
    let width = LEFT + 2.0 * LANE + 16.0;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\">\n<style>{STYLE}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
         <text class=\"title\" x=\"16\" y=\"26\">A steal and a join with loads and stores only, and one mistake</text>\n\
         <text class=\"small\" x=\"16\" y=\"46\">Blue: what a processor does. Orange: its store buffer lets a store out, and others \
         see it.</text>\n"
    );
    for lane in 0..2 {
        let x = LEFT + f64::from(lane) * LANE;
        let _ = writeln!(out, "<text x=\"{x:.0}\" y=\"{:.0}\">p{lane}</text>", TOP - 10.0);
    }
    for (row, step) in found.steps.iter().enumerate() {
        draw(&mut out, row, step);
    }
    let _ = writeln!(
        out,
        "<text class=\"broken\" x=\"{LEFT:.0}\" y=\"{:.0}\">{}</text>\n</svg>",
        height - 18.0,
        found.violation
    );
    out
}

fn draw(out: &mut String, row: usize, step: &Step) {
    let (x, y) = (LEFT + step.processor as f64 * LANE, TOP + row as f64 * ROW);
    let class = if step.line.is_some() { "act" } else { "flush" };
    let text = step.text.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(
        out,
        "<text class=\"small right\" x=\"{:.0}\" y=\"{:.1}\">{}</text>\n\
         <rect class=\"{class}\" x=\"{x:.0}\" y=\"{y:.1}\" width=\"{:.0}\" height=\"{:.1}\" rx=\"3\"/>\n\
         <text x=\"{:.0}\" y=\"{:.1}\">{text}</text>",
        LEFT - 10.0,
        y + 14.0,
        row + 1,
        LANE - 14.0,
        ROW - 3.0,
        x + 8.0,
        y + 14.0,
    );
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_mistake_is_in_the_picture() {
        let picture = super::picture();
        assert!(picture.contains("A.join runs twice") && picture.contains("writes in_query[0]"), "{picture}");
        assert_eq!(picture.matches("class=\"act\"").count() + picture.matches("class=\"flush\"").count(), 32);
    }
}
