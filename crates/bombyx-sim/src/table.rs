//! [`step_table`]: a small run step by step, in the style of BL Figure 2.

use crate::trace::{Event, EventKind, Trace};
use crate::{Outcome, ProcessorId};
use bombyx_dag::{Computation, StrandId, ThreadId};
use std::fmt::Write;

/// A table with a line for each step of a traced run on processors of speed 1: the living threads that nobody works on,
/// with stalled ones in parentheses, and what every processor does. A thread is named when a processor turns to it. A
/// steal attempt is shown as an arrow to its victim, with the thread it got.
///
/// The table follows only from the computation and the trace. `None` if there is no trace, or if a step is more than
/// one tick.
///
/// ```
/// use bombyx_dag::generate::figure1;
/// use bombyx_sim::{Scheduler, Simulation, step_table};
/// let computation = figure1(1);
/// let outcome = Simulation::new(&computation, Scheduler::BusyLeaves).processors(2).trace().run()?;
/// let table = step_table(&computation, &outcome).unwrap();
/// assert_eq!(table.lines().nth(3).unwrap(), "   3         Γ2: v3   Γ1: v16");
/// # Ok::<(), bombyx_sim::SimulationError>(())
/// ```
pub fn step_table(computation: &Computation, outcome: &Outcome) -> Option<String> {
    let computation = outcome.with_dummies.as_ref().map_or(computation, |with| &with.computation);
    let trace = outcome.trace.as_ref().filter(|_| outcome.ticks_per_unit == 1)?;
    let ends = trace.ends(computation.strand_count());
    let by_processor = trace.by_processor(outcome.processors);
    let steps = 1..=outcome.makespan;
    let column = |title: String, cell: &dyn Fn(u64) -> String| -> Vec<String> {
        let cells: Vec<String> = std::iter::once(title).chain(steps.clone().map(cell)).collect();
        let width = cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
        cells.into_iter().map(|cell| format!("  {cell:width$}")).collect()
    };
    let mut columns = vec![column("pool".to_owned(), &|step| pool(computation, trace, &ends, step))];
    for (p, events) in (0..).zip(&by_processor) {
        columns.push(column(ProcessorId(p).to_string(), &|step| activity(computation, events, step)));
    }
    let mut table = String::new();
    for line in 0..=outcome.makespan as usize {
        let step = if line == 0 { "step".to_owned() } else { format!("{line:4}") };
        let cells = columns.iter().map(|column| column[line].as_str());
        let text = std::iter::once(step.as_str()).chain(cells).collect::<String>();
        let _ = writeln!(table, "{}", text.trim_end());
    }
    Some(table)
}

/// What a processor does in a step.
fn activity(c: &Computation, events: &[Event], step: u64) -> String {
    let at = events.partition_point(|e| e.to < step);
    match events.get(at) {
        Some(event) if event.from < step => match event.kind {
            EventKind::Execute { strand, .. } => {
                let before = at.checked_sub(1).and_then(|i| thread_of(c, &events[i]));
                let gap = at > 0 && events[at - 1].to < event.from;
                let same = before == Some(c.thread_of(strand)) && !gap;
                if same || step > event.from + 1 {
                    format!("    {strand}")
                } else {
                    format!("{}: {strand}", c.thread_of(strand))
                }
            }
            EventKind::Attempt { victim, result, .. } => {
                let victim = victim.map_or_else(|| "–".to_owned(), |p| p.to_string());
                if event.to == step { format!("→{victim} {result}") } else { format!("→{victim} …") }
            }
        },
        _ => String::new(),
    }
}

fn thread_of(c: &Computation, event: &Event) -> Option<ThreadId> {
    match event.kind {
        EventKind::Execute { strand, .. } => Some(c.thread_of(strand)),
        EventKind::Attempt { .. } => None,
    }
}

/// The living threads that nobody works on in a step.
fn pool(c: &Computation, trace: &Trace, ends: &[u64], step: u64) -> String {
    let executed = |strand: StrandId| ends[strand.index()] < step;
    let worked_on: Vec<ThreadId> = trace
        .events()
        .iter()
        .filter(|e| e.from < step && step <= e.to)
        .filter_map(|e| thread_of(c, e))
        .collect();
    let mut unresolved = vec![0_u32; c.strand_count()];
    for strand in c.strands().filter(|&s| !executed(s)) {
        for &to in c.joins_from(strand) {
            unresolved[to.index()] += 1;
        }
    }
    let mut names = Vec::new();
    for thread in c.threads() {
        let born = c.spawner(thread).is_none_or(executed);
        let next = c.strands_of(thread).find(|&s| !executed(s));
        if let Some(next) = next
            && born
            && !worked_on.contains(&thread)
        {
            let ready = unresolved[next.index()] == 0;
            names.push(if ready { thread.to_string() } else { format!("({thread})") });
        }
    }
    names.join(" ")
}
