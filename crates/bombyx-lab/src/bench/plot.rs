//! Speedups as a picture: a group of bars per benchmark, a bar per runtime
//! (and scheduler, if there are several), a panel per number of processors.

use super::Results;
use super::case::{Case, Entry};
use crate::Result;
use crate::plot::{Area, COLORS, INK, PALE, draw, text};
use bombyx::Scheduler;
use plotters::prelude::*;

const WIDTH: u32 = 900;
/// Room for the names of the benchmarks.
const NAMES: i32 = 210;
const TOP: i32 = 76;
const BAR: i32 = 9;
const GAP: i32 = 9;

/// A runtime with its scheduler: a bar in each group.
#[derive(Clone, PartialEq)]
struct Lane {
    runtime: String,
    scheduler: Option<Scheduler>,
}

impl Lane {
    fn of(entry: &Entry) -> Self {
        Self { runtime: entry.runtime.clone(), scheduler: entry.scheduler }
    }

    /// Its entry in a case.
    fn entry<'a>(&self, case: &'a Case, processors: usize) -> Option<&'a Entry> {
        case.entries.iter().find(|entry| entry.processors == processors && Lane::of(entry) == *self)
    }
}

/// The lanes of all cases, in the order in which they were measured.
fn lanes(cases: &[&Case]) -> Vec<Lane> {
    let mut lanes = Vec::new();
    for entry in cases.iter().flat_map(|case| &case.entries).filter(|entry| entry.runtime != "serial") {
        let lane = Lane::of(entry);
        if !lanes.contains(&lane) {
            lanes.push(lane);
        }
    }
    lanes
}

/// Draws the speedups over the serial elision of everything that has one.
pub(super) fn speedups(results: &Results) -> Result<String> {
    let cases: Vec<&Case> = results
        .workloads
        .iter()
        .chain(&results.micros)
        .filter(|case| case.entries.iter().any(|entry| entry.runtime == "serial"))
        .collect();
    let mut panels: Vec<usize> = cases
        .iter()
        .flat_map(|case| case.entries.iter().filter(|entry| entry.runtime == "bombyx"))
        .map(|entry| entry.processors)
        .collect();
    panels.sort_unstable();
    panels.dedup();
    if panels.is_empty() {
        return Err("there is nothing to draw: a speedup needs a benchmark with a serial elision".into());
    }
    let lanes = lanes(&cases);
    let group = lanes.len() as i32 * BAR + GAP;
    let in_panel = |processors: usize| -> Vec<&Case> {
        cases.iter().copied().filter(|case| case.entry("bombyx", processors).is_some()).collect()
    };
    let height = |processors: usize| TOP + group * in_panel(processors).len() as i32 + 40;
    let total: i32 = panels.iter().map(|&processors| height(processors)).sum();
    draw((WIDTH, total as u32), |root| {
        let mut rest = root.clone();
        for &processors in &panels {
            let (area, below) = rest.split_vertically(height(processors));
            panel(&area, processors, &in_panel(processors), &lanes)?;
            rest = below;
        }
        Ok(())
    })
}

fn panel(area: &Area<'_>, processors: usize, cases: &[&Case], lanes: &[Lane]) -> Result<()> {
    let group = lanes.len() as i32 * BAR + GAP;
    let speedup = |case: &Case, entry: &Entry| case.ratio(entry, "serial").map(|over| 1.0 / over);
    let all = cases.iter().flat_map(|case| {
        let here = case.entries.iter().filter(move |entry| entry.processors == processors);
        here.filter_map(move |entry| speedup(case, entry))
    });
    let most = all.fold(processors as f64, f64::max) * 1.08;
    let scale = f64::from(WIDTH as i32 - NAMES - 40) / most;
    let x = |value: f64| NAMES + (value * scale).round() as i32;
    let bottom = TOP + group * cases.len() as i32;

    let plural = if processors == 1 { "" } else { "s" };
    let title = format!("Speedup over the serial elision on {processors} processor{plural}");
    area.draw_text(&title, &text(17), (14, 10))?;
    let several = lanes.iter().filter(|lane| lane.runtime == "bombyx").count() > 1;
    let mut left = NAMES;
    for (lane, colour) in lanes.iter().zip(COLORS.iter().cycle()) {
        let name = match lane.scheduler {
            Some(scheduler) if several => scheduler.to_string(),
            _ => lane.runtime.clone(),
        };
        area.draw(&Rectangle::new([(left, 38), (left + 12, 50)], colour.filled()))?;
        area.draw_text(&name, &text(13), (left + 18, 37))?;
        left += 40 + 7 * name.len() as i32;
    }
    let step = [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0].into_iter().find(|step| most / step <= 10.0);
    let step = step.unwrap_or(64.0);
    for mark in (0..).map(|nth| f64::from(nth) * step).take_while(|mark| *mark <= most) {
        area.draw(&PathElement::new([(x(mark), TOP - 8), (x(mark), bottom)], PALE.stroke_width(1)))?;
        area.draw_text(&mark.to_string(), &text(12), (x(mark) - 4, bottom + 6))?;
    }
    for (nth, case) in cases.iter().enumerate() {
        let top = TOP + group * nth as i32;
        area.draw_text(&case.name, &text(13), (14, top + BAR - 2))?;
        for ((nth, lane), colour) in lanes.iter().enumerate().zip(COLORS.iter().cycle()) {
            let Some(value) = lane.entry(case, processors).and_then(|entry| speedup(case, entry)) else {
                continue;
            };
            let y = top + BAR * nth as i32;
            area.draw(&Rectangle::new([(NAMES, y), (x(value), y + BAR - 1)], colour.filled()))?;
        }
    }
    let ideal = x(processors as f64);
    area.draw(&PathElement::new([(ideal, TOP - 8), (ideal, bottom)], INK.stroke_width(1)))?;
    Ok(())
}
