//! A picture of the recycling game: how long every adversary delays a toss on average, against the number of balls.

use super::{Game, Service, Strategy, Toss};
use bombyx_base::palette;
use std::fmt::Write;

const WIDTH: f64 = 700.0;
const HEIGHT: f64 = 380.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 560.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 320.0;
/// The top of the axis, in steps of delay per toss.
const MOST: f64 = 1.2;
const BALLS: [usize; 8] = [2, 4, 8, 16, 32, 64, 128, 256];
const TOSSES_PER_BALL: u64 = 20;

const STYLE: &str = "
  text { font-family: Helvetica, Arial, sans-serif; fill: #1f2a44; font-size: 14px; }
  .title { font-size: 17px; }
  .axis { stroke: #1f2a44; stroke-width: 1; }
  .grid { stroke: #e3e8f1; stroke-width: 1; }
  .bound { stroke: #1f2a44; stroke-width: 1.5; stroke-dasharray: 6 4; }
  .curve { fill: none; stroke-width: 2; }
  .middle { text-anchor: middle; }
  .right { text-anchor: end; }
";

/// The mean delay per toss of an adversary with this many balls, over this many games.
fn mean_delay(strategy: Strategy, balls: usize, games: u64, seed: u64) -> f64 {
    let tosses = TOSSES_PER_BALL * balls as u64;
    let game = |nth| Game {
        balls,
        tosses,
        strategy,
        seed: seed.wrapping_add(nth),
        toss: Toss::Any,
        service: Service::Fifo,
    };
    let delay: u64 = (0..games).map(|nth| game(nth).play().delay()).sum();
    delay as f64 / (games * tosses) as f64
}

/// Draws the mean delay per toss of every adversary, from `games` games each, with the bound of BL Lemma 6, as a whole SVG
/// file.
pub fn picture(games: u64, seed: u64) -> String {
    let mut out = String::new();
    let mut line = |text: std::fmt::Arguments<'_>| writeln!(out, "{text}").expect("strings take all text");
    line(format_args!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" \
         height=\"{HEIGHT}\">\n<style>{STYLE}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>"
    ));
    line(format_args!(
        "<text class=\"title\" x=\"16\" y=\"26\">The recycling game: mean delay per toss, by adversary</text>"
    ));
    let x = |at: usize| LEFT + (RIGHT - LEFT) * at as f64 / (BALLS.len() - 1) as f64;
    let y = |delay: f64| BOTTOM - (BOTTOM - TOP) * delay / MOST;
    for tenths in (0..=12).step_by(2) {
        let (value, at) = (f64::from(tenths) / 10.0, y(f64::from(tenths) / 10.0));
        line(format_args!(
            "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{RIGHT}\" y2=\"{at:.1}\"/>"
        ));
        line(format_args!(
            "<text class=\"right\" x=\"{:.1}\" y=\"{:.1}\">{value:.1}</text>",
            LEFT - 8.0,
            at + 4.0
        ));
    }
    for (at, balls) in BALLS.iter().enumerate() {
        line(format_args!(
            "<text class=\"middle\" x=\"{:.1}\" y=\"{:.1}\">{balls}</text>",
            x(at),
            BOTTOM + 20.0
        ));
    }
    line(format_args!("<line class=\"axis\" x1=\"{LEFT}\" y1=\"{BOTTOM}\" x2=\"{RIGHT}\" y2=\"{BOTTOM}\"/>"));
    line(format_args!(
        "<text class=\"middle\" x=\"{:.1}\" y=\"{:.1}\">P, balls and bins; {TOSSES_PER_BALL}·P tosses</text>",
        (LEFT + RIGHT) / 2.0,
        BOTTOM + 44.0
    ));
    let bound = y(1.0);
    line(format_args!(
        "<line class=\"bound\" x1=\"{LEFT}\" y1=\"{bound:.1}\" x2=\"{RIGHT}\" y2=\"{bound:.1}\"/>"
    ));
    line(format_args!("<text x=\"{:.1}\" y=\"{:.1}\">Lemma 6</text>", RIGHT + 10.0, bound + 4.0));
    let means = |strategy| BALLS.map(|balls| mean_delay(strategy, balls, games, seed));
    let mut curves: Vec<_> =
        Strategy::ALL.into_iter().enumerate().map(|(nth, s)| (s, palette::svg(nth), means(s))).collect();
    curves.sort_by(|a, b| b.2[BALLS.len() - 1].total_cmp(&a.2[BALLS.len() - 1]));
    // Names are beside the ends of their curves, moved down if they would overlap.
    let mut free = bound + 18.0;
    for (strategy, color, means) in curves {
        let points: Vec<String> =
            means.iter().enumerate().map(|(at, &mean)| format!("{:.1},{:.1}", x(at), y(mean))).collect();
        line(format_args!("<polyline class=\"curve\" stroke=\"{color}\" points=\"{}\"/>", points.join(" ")));
        let label = (y(means[BALLS.len() - 1]) + 4.0).max(free);
        free = label + 17.0;
        line(format_args!(
            "<text x=\"{:.1}\" y=\"{label:.1}\" style=\"fill: {color}\">{strategy}</text>",
            RIGHT + 10.0
        ));
    }
    out.push_str("</svg>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_adversary_is_drawn() {
        let svg = picture(1, 1);
        assert_eq!(svg.matches("<polyline").count(), Strategy::ALL.len());
        assert!(Strategy::ALL.iter().all(|strategy| svg.contains(&format!(">{strategy}<"))));
    }
}
