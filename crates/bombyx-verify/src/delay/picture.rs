//! A picture of a delay sequence: the path U, when each of its instructions was critical, and the rounds of steal
//! attempts below, each in the colour of the instruction that it belongs to.

use super::{DelaySequence, Edges, History, NoHistory};
use bombyx_base::palette;
use bombyx_dag::Computation;
use bombyx_sim::{EventKind, Outcome};
use std::fmt::Write;

const STEP: f64 = 22.0;
const ROW: f64 = 24.0;
const LEFT: f64 = 150.0;
const TOP: f64 = 64.0;
/// Room for the title and the legend.
const WIDEST_TEXT: f64 = 700.0;

const STYLE: &str = "
  text { font-family: Helvetica, Arial, sans-serif; fill: #1f2a44; font-size: 14px; }
  .title { font-size: 17px; }
  .small { font-size: 11px; fill: #5b6785; }
  .middle { text-anchor: middle; }
  .right { text-anchor: end; }
  .grid { stroke: #e3e8f1; stroke-width: 1; }
  .thief { fill: #5b6785; }
  .round { fill-opacity: 0.85; stroke: #ffffff; stroke-width: 2; }
";

/// Draws the delay sequence of a traced run on unit instructions, with rounds of at least `least` attempts (3P in BL, P in
/// LEC), as a whole SVG file.
///
/// # Errors
/// If the run has no trace or does not go by unit steps.
pub fn picture(computation: &Computation, outcome: &Outcome, least: usize) -> Result<String, NoHistory> {
    let history = History::of(computation, outcome)?;
    let sequence = DelaySequence::of(&history, least, Edges::Augmented);
    let critical: Vec<usize> =
        (0..sequence.path.len()).filter(|&i| history.critical(sequence.path[i]).is_some()).collect();
    let rows = critical.len() + outcome.processors + 3;
    let width = (LEFT + history.steps() as f64 * STEP + 30.0).max(WIDEST_TEXT);
    let height = TOP + rows as f64 * ROW + 64.0;
    let mut out = String::new();
    let mut line = |text: std::fmt::Arguments<'_>| writeln!(out, "{text}").expect("strings take all text");
    line(format_args!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\">\n<style>{STYLE}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>"
    ));
    let x = |step: u64| LEFT + (step - 1) as f64 * STEP;
    let y = |row: usize| TOP + row as f64 * ROW;
    line(format_args!(
        "<text class=\"title\" x=\"16\" y=\"26\">A delay sequence: at every step an instruction of the path U is critical</text>"
    ));
    for step in 1..=history.steps() {
        let at = x(step);
        line(format_args!(
            "<line class=\"grid\" x1=\"{at:.1}\" y1=\"{:.1}\" x2=\"{at:.1}\" y2=\"{:.1}\"/>",
            TOP - 8.0,
            height - 56.0
        ));
        line(format_args!(
            "<text class=\"small middle\" x=\"{:.1}\" y=\"{:.1}\">{step}</text>",
            at + STEP / 2.0,
            TOP - 12.0
        ));
    }
    for (row, &i) in critical.iter().enumerate() {
        let (u, color) = (sequence.path[i], palette::svg(row));
        let steps = history.critical(u).expect("only critical ones are drawn");
        line(format_args!(
            "<text class=\"right\" x=\"{:.1}\" y=\"{:.1}\">{u} of {}</text>",
            LEFT - 12.0,
            y(row) + 16.0,
            computation.thread_of(u)
        ));
        line(format_args!(
            "<rect fill=\"{color}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"5\"/>",
            x(*steps.start()) + 1.0,
            y(row) + 3.0,
            (steps.end() - steps.start() + 1) as f64 * STEP - 2.0,
            ROW - 6.0
        ));
    }
    let thieves = critical.len() + 1;
    for p in 0..outcome.processors {
        line(format_args!(
            "<text class=\"right\" x=\"{:.1}\" y=\"{:.1}\">p{} steals</text>",
            LEFT - 12.0,
            y(thieves + p) + 16.0,
            p + 1
        ));
    }
    for event in outcome.trace.as_ref().ok_or(NoHistory::NoTrace)?.events() {
        if let EventKind::Attempt { .. } = event.kind {
            line(format_args!(
                "<circle class=\"thief\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\"/>",
                x(event.from + 1) + STEP / 2.0,
                y(thieves + event.processor.index()) + ROW / 2.0
            ));
        }
    }
    let bar = thieves + outcome.processors;
    line(format_args!(
        "<text class=\"right\" x=\"{:.1}\" y=\"{:.1}\">rounds</text>",
        LEFT - 12.0,
        y(bar) + 16.0
    ));
    for round in &sequence.rounds {
        let whose = critical.iter().position(|&i| {
            history
                .critical(sequence.path[i])
                .is_some_and(|s| s.contains(&round.begin) && s.contains(&round.end))
        });
        let color = whose.map_or("#c9cfda".to_owned(), palette::svg);
        line(format_args!(
            "<rect class=\"round\" fill=\"{color}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
            x(round.begin),
            y(bar) + 2.0,
            (round.end - round.begin + 1) as f64 * STEP,
            ROW - 4.0
        ));
        line(format_args!(
            "<text class=\"small middle\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            (x(round.begin) + x(round.end + 1)) / 2.0,
            y(bar) + 36.0,
            round.attempts
        ));
    }
    for (above, text) in [
        (
            30.0,
            "A round in the colour of an instruction lies within its critical time (π); a grey one spans several (π').",
        ),
        (14.0, "Below each round: how many steal attempts it has."),
    ] {
        line(format_args!("<text class=\"small\" x=\"16\" y=\"{:.1}\">{text}</text>", height - above));
    }
    out.push_str("</svg>\n");
    Ok(out)
}

/// The delay sequence of a traced run in words, with rounds of at least `least` attempts: the path with its critical
/// steps, and Π.
///
/// # Errors
/// If the run has no trace or does not go by unit steps.
pub fn explain(computation: &Computation, outcome: &Outcome, least: usize) -> Result<String, NoHistory> {
    let history = History::of(computation, outcome)?;
    let sequence = DelaySequence::of(&history, least, Edges::Augmented);
    let mut out = String::new();
    let mut line = |text: std::fmt::Arguments<'_>| writeln!(out, "{text}").expect("strings take all text");
    line(format_args!(
        "{} steal attempts in {} steps on {} processors: {} whole rounds of at least {}.",
        history.attempts(),
        history.steps(),
        outcome.processors,
        sequence.rounds.len(),
        least
    ));
    line(format_args!(
        "The path U has {} instructions. At every step one of these is critical:\n",
        sequence.path.len()
    ));
    line(format_args!("  instruction  critical in steps  π   π'"));
    for (i, &u) in sequence.path.iter().enumerate() {
        if let Some(steps) = history.critical(u) {
            let when = format!("{}–{}", steps.start(), steps.end());
            line(format_args!(
                "  {:11}  {when:>17}  {}   {}",
                u.to_string(),
                sequence.within[i],
                sequence.across[i]
            ));
        }
    }
    Ok(out)
}
