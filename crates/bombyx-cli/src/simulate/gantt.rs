//! A Gantt chart of one run: a row per processor and a bar per stretch of work on a thread. Steals are ticks, and
//! attempts in vain are a pale stretch from the first to the last.
//!
//! Consecutive strands of a thread on one processor are one bar, divided by fine lines. A thread has the same colour
//! wherever it runs, so steals, muggings and returns to a parent are visible. Bars that would be narrower than a pixel
//! are drawn together, so that recordings of real programs can be drawn too.

use super::Result;
use super::runs::{Plan, Run};
use crate::text::grouped;
use bombyx_dag::{Computation, ThreadId};
use bombyx_sim::{AttemptResult, Event, EventKind, ProcessorId};
use std::fmt::Write;

/// The most events of a run. More would take long and show nothing more.
const MOST_EVENTS: usize = 5_000_000;
const MOST_PROCESSORS: usize = 256;

const WIDTH: f64 = 1000.0;
const LEFT: f64 = 86.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 52.0;
const BOTTOM: f64 = 66.0;

const STYLE: &str = "
  text { font-family: Helvetica, Arial, sans-serif; font-size: 12px; fill: #1f2a44; }
  .title { font-size: 17px; }
  .row { fill: #f3f5fa; }
  .grid { stroke: #d5dbe8; stroke-width: 1; }
  .cut { stroke: #ffffff; stroke-width: 0.6; opacity: 0.75; }
  .name { font-size: 11px; text-anchor: middle; fill: #ffffff; }
  .right { text-anchor: end; }
  .middle { text-anchor: middle; }
  .failed { stroke: #b9c0d0; stroke-width: 3; }
  .vain { fill: #cdd3e0; }
  .stolen { stroke: #1f2a44; stroke-width: 1.6; }
  .mugged { stroke: #d55e00; stroke-width: 2.2; }
";

/// Draws the only run of a plan.
pub(super) fn svg(plan: &Plan<'_>, runs: &[Run]) -> Result<String> {
    let trace = plan.trace(runs)?;
    let outcome = &runs[0].outcome;
    let (events, processors) = (trace.events().len(), outcome.processors);
    if events > MOST_EVENTS || processors > MOST_PROCESSORS {
        return Err(format!(
            "a Gantt chart shows at most {} events on {MOST_PROCESSORS} processors; this run has {} on {processors}",
            grouped(MOST_EVENTS as u64),
            grouped(events as u64),
        )
        .into());
    }
    let computation = outcome.with_dummies.as_ref().map_or(&plan.input.computation, |with| &with.computation);
    let row = (560.0 / processors as f64).clamp(5.0, 40.0);
    let mut chart = Chart {
        computation,
        per_tick: (WIDTH - LEFT - RIGHT) / outcome.makespan.max(1) as f64,
        ticks_per_unit: outcome.ticks_per_unit,
        row,
        bottom: TOP + row * processors as f64,
        out: String::new(),
    };
    chart.frame(plan, &runs[0]);
    let mut rows: Vec<Vec<&Event>> = vec![Vec::new(); processors];
    for event in trace.events() {
        rows[event.processor.index()].push(event);
    }
    for (p, events) in (0..).map(ProcessorId).zip(&rows) {
        chart.processor(p, events);
    }
    chart.out.push_str("</svg>\n");
    Ok(chart.out)
}

struct Chart<'a> {
    computation: &'a Computation,
    per_tick: f64,
    ticks_per_unit: u64,
    row: f64,
    bottom: f64,
    out: String,
}

impl Chart<'_> {
    fn line(&mut self, text: std::fmt::Arguments<'_>) {
        writeln!(self.out, "{text}").expect("strings take all text");
    }

    fn time(&self, tick: u64) -> String {
        number(tick as f64 / self.ticks_per_unit as f64)
    }

    fn x(&self, tick: u64) -> f64 {
        LEFT + tick as f64 * self.per_tick
    }

    /// Everything but the processors: title, time axis, legend.
    fn frame(&mut self, plan: &Plan<'_>, run: &Run) {
        let outcome = &run.outcome;
        let height = self.bottom + BOTTOM;
        self.line(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" width=\"{WIDTH}\" \
             height=\"{height:.0}\">\n<style>{STYLE}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>"
        ));
        let (middle, name) = (WIDTH / 2.0, escaped(&plan.input.name));
        self.line(format_args!(
            "<text class=\"title middle\" x=\"{middle}\" y=\"28\">{} on {} processors: {name}, time {}</text>",
            outcome.scheduler,
            outcome.processors,
            number(run.time())
        ));
        let bottom = self.bottom;
        let step = tick_step(run.time());
        for nth in 0.. {
            let time = f64::from(nth) * step;
            if time > run.time() {
                break;
            }
            let x = self.x(0) + time * self.ticks_per_unit as f64 * self.per_tick;
            let (below, label) = (bottom + 5.0, bottom + 19.0);
            self.line(format_args!("<path class=\"grid\" d=\"M{x:.1} {TOP} V{below:.1}\"/>"));
            self.line(format_args!(
                "<text class=\"middle\" x=\"{x:.1}\" y=\"{label:.1}\">{}</text>",
                number(time)
            ));
        }
        let y = bottom + 46.0;
        for (x, class, what) in [
            (LEFT + 110.0, "stolen", "steal"),
            (LEFT + 180.0, "mugged", "mugging"),
            (LEFT + 270.0, "failed", "attempts in vain"),
        ] {
            let (top, text) = (y - 11.0, x + 7.0);
            self.line(format_args!("<path class=\"{class}\" d=\"M{x} {y} V{top}\"/>"));
            self.line(format_args!("<text x=\"{text}\" y=\"{y}\">{what}</text>"));
        }
        let (left, top) = (LEFT, y - 11.0);
        self.line(format_args!(
            "<rect x=\"{left}\" y=\"{top}\" width=\"26\" height=\"12\" rx=\"2\" fill=\"{}\"/>",
            color(ThreadId(0))
        ));
        let text = left + 33.0;
        self.line(format_args!("<text x=\"{text}\" y=\"{y}\">a thread</text>"));
    }

    fn processor(&mut self, p: ProcessorId, events: &[&Event]) {
        let y = TOP + self.row * p.index() as f64;
        let height = self.row - (self.row * 0.14).min(4.0);
        let (width, label_x, label_y) = (WIDTH - LEFT - RIGHT, LEFT - 9.0, y + height / 2.0 + 4.0);
        self.line(format_args!(
            "<rect class=\"row\" x=\"{LEFT}\" y=\"{y:.1}\" width=\"{width}\" height=\"{height:.1}\"/>"
        ));
        if self.row >= 9.0 || p.index().is_multiple_of(4) {
            self.line(format_args!("<text class=\"right\" x=\"{label_x}\" y=\"{label_y:.1}\">{p}</text>"));
        }
        let mut at = 0;
        while at < events.len() {
            let Some(thread) = self.thread(events[at]) else {
                let vain = events[at..].iter().take_while(|event| is_vain(event)).count();
                match vain {
                    0 => self.attempt(events[at], y, height),
                    _ => self.in_vain(&events[at..at + vain], y, height),
                }
                at += vain.max(1);
                continue;
            };
            // What follows within a pixel cannot be distinguished, so it is one bar.
            let near = events[at..]
                .iter()
                .take_while(|event| self.x(event.to) - self.x(events[at].from) < PIXEL)
                .count();
            if near > 1 {
                self.blur(&events[at..at + near], y, height);
                at += near;
                continue;
            }
            let mut end = at + 1;
            while end < events.len()
                && self.thread(events[end]) == Some(thread)
                && events[end].from == events[end - 1].to
            {
                end += 1;
            }
            self.bar(thread, &events[at..end], y, height);
            at = end;
        }
    }

    /// Attempts in vain that follow one another, as one stretch.
    fn in_vain(&mut self, events: &[&Event], y: f64, height: f64) {
        let (left, right) = (self.x(events[0].from), self.x(events[events.len() - 1].to));
        let (top, width, low) = (y + height * 0.6, (right - left).max(PIXEL), height * 0.4);
        self.line(format_args!(
            "<rect class=\"vain\" x=\"{left:.2}\" y=\"{top:.1}\" width=\"{width:.2}\" height=\"{low:.1}\">\
             <title>{} steal attempts in vain</title></rect>",
            events.len()
        ));
    }

    /// Strands and attempts that are too close to distinguish.
    fn blur(&mut self, events: &[&Event], y: f64, height: f64) {
        let (left, right) = (self.x(events[0].from), self.x(events[events.len() - 1].to));
        let width = (right - left).max(0.4);
        let Some(thread) = events.iter().find_map(|event| self.thread(event)) else { return };
        let color = color(thread);
        self.line(format_args!(
            "<rect x=\"{left:.2}\" y=\"{y:.1}\" width=\"{width:.2}\" height=\"{height:.1}\" fill=\"{color}\"/>"
        ));
    }

    fn thread(&self, event: &Event) -> Option<ThreadId> {
        match event.kind {
            EventKind::Execute { strand, .. } => Some(self.computation.thread_of(strand)),
            EventKind::Attempt { .. } => None,
        }
    }

    /// A stretch of work on one thread.
    fn bar(&mut self, thread: ThreadId, events: &[&Event], y: f64, height: f64) {
        let (left, right) = (self.x(events[0].from), self.x(events[events.len() - 1].to));
        let (width, color) = ((right - left).max(0.4), color(thread));
        self.line(format_args!(
            "<rect x=\"{left:.2}\" y=\"{y:.1}\" width=\"{width:.2}\" height=\"{height:.1}\" rx=\"1.5\" fill=\"{color}\">\
             <title>{thread}, {} to {}</title></rect>",
            self.time(events[0].from),
            self.time(events[events.len() - 1].to)
        ));
        if width / events.len() as f64 > 3.0 {
            for event in &events[1..] {
                let (x, end) = (self.x(event.from), y + height);
                self.line(format_args!("<path class=\"cut\" d=\"M{x:.2} {y:.1} V{end:.1}\"/>"));
            }
        }
        if height < 12.0 {
            return;
        }
        // Strands are named if all names fit. Otherwise the thread is named.
        let middle = y + height / 2.0 + 4.0;
        let narrowest = events
            .iter()
            .map(|e| (e.to - e.from) as f64 * self.per_tick)
            .filter(|&w| w > 0.0)
            .fold(f64::MAX, f64::min);
        if narrowest > 24.0 {
            for event in events {
                if let EventKind::Execute { strand, .. } = event.kind {
                    let x = (self.x(event.from) + self.x(event.to)) / 2.0;
                    self.line(format_args!(
                        "<text class=\"name\" x=\"{x:.1}\" y=\"{middle:.1}\">{strand}</text>"
                    ));
                }
            }
        } else if width > 30.0 {
            let x = (left + right) / 2.0;
            self.line(format_args!("<text class=\"name\" x=\"{x:.1}\" y=\"{middle:.1}\">{thread}</text>"));
        }
    }

    fn attempt(&mut self, event: &Event, y: f64, height: f64) {
        let EventKind::Attempt { result, .. } = event.kind else { return };
        let (class, top) = match result {
            AttemptResult::Stolen(_) => ("stolen", y),
            AttemptResult::Mugged(_) => ("mugged", y),
            _ => return,
        };
        let (x, bottom) = (self.x(event.to), y + height);
        self.line(format_args!("<path class=\"{class}\" d=\"M{x:.2} {top:.1} V{bottom:.1}\"/>"));
    }
}

/// Anything narrower is invisible.
const PIXEL: f64 = 0.7;

/// Whether an event is a steal attempt that got nothing.
fn is_vain(event: &Event) -> bool {
    matches!(event.kind, EventKind::Attempt { result, .. }
        if !matches!(result, AttemptResult::Stolen(_) | AttemptResult::Mugged(_)))
}

/// Hues a golden angle apart, so that neighbours differ.
fn color(thread: ThreadId) -> String {
    let hue = (f64::from(thread.0) * 137.508 + 212.0) % 360.0;
    let lightness = 40 + thread.0 % 3 * 6;
    format!("hsl({hue:.0}, 48%, {lightness}%)")
}

/// A round distance between time marks, for about ten of them.
fn tick_step(time: f64) -> f64 {
    let rough = (time / 10.0).max(1e-9);
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().find(|step| step * power >= rough).unwrap_or(10.0);
    (step * power).max(time / 1000.0)
}

/// Whole numbers grouped, others with two decimals.
fn number(value: f64) -> String {
    if (value - value.round()).abs() < 1e-9 { grouped(value.round() as u64) } else { format!("{value:.2}") }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_marks_are_round() {
        for (time, step) in [(14.0, 2.0), (100.0, 10.0), (999.0, 100.0), (51.0, 10.0), (1.0, 0.1)] {
            assert!((tick_step(time) - step).abs() < 1e-9, "{time}: {}", tick_step(time));
        }
    }
}
