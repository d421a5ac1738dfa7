//! Readable accounts of runs: one [`Step`] per access to shared memory, flush, or private act worth a line.

use std::fmt;

use super::machine::{Machine, Move};
use super::state::{Processor, Round, State, Store};

/// One line of an interleaving.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The processor that acts, or whose store buffer is flushed.
    pub processor: usize,
    /// The line of RW's pseudo-code. `None` for a flush, which the machine does and not the program.
    pub line: Option<u16>,
    /// What happens, in words.
    pub text: String,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "p{}  line {line:>3}  {}", self.processor, self.text),
            None => write!(f, "p{}     flush  {}", self.processor, self.text),
        }
    }
}

/// Where a machine reports its steps. Machines that explore do not report.
pub(super) struct Log<'a>(Option<&'a mut Vec<Step>>);

impl Log<'_> {
    pub(super) fn off() -> Log<'static> {
        Log(None)
    }

    pub(super) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    fn note(&mut self, p: Processor, line: Option<u16>, text: impl FnOnce() -> String) {
        if let Some(steps) = &mut self.0 {
            steps.push(Step { processor: usize::from(p), line, text: text() });
        }
    }

    pub(super) fn step(&mut self, p: Processor, line: u16, text: impl FnOnce() -> String) {
        self.note(p, Some(line), text);
    }

    pub(super) fn store(&mut self, machine: &Machine, p: Processor, line: u16, store: Store) {
        self.note(p, Some(line), || format!("writes {}", describe(machine, store)));
    }

    pub(super) fn flush(&mut self, machine: &Machine, s: &State, p: Processor, store: Store) {
        self.note(p, None, || {
            let left = s.locals[usize::from(p)].buffer.len();
            let rest = if left == 0 { String::new() } else { format!(" ({left} more buffered)") };
            format!("{}{rest}", describe(machine, store))
        });
    }
}

/// The steps of `run` and, after it, of `cycle`. Round numbers are shown as the processors use them. If the run is so
/// long that they outgrow their type, they are shown as ranks.
pub(super) fn narrate(machine: &Machine, run: &[Move], cycle: &[Move]) -> [Vec<Step>; 2] {
    // A reduced machine has no rounds to show.
    let plain = !machine.reduce && run.len() + cycle.len() < usize::from(Round::MAX);
    let mut state = if machine.reduce { machine.initial() } else { machine.start() };
    [run, cycle].map(|moves| {
        let mut steps = Vec::new();
        for &m in moves {
            // The last move of a broken run ends in the violation that is reported.
            let _ = machine.replay(&mut state, m, &mut Log(Some(&mut steps)));
            if !plain {
                state = machine.normalised(state);
            }
        }
        steps
    })
}

fn describe(machine: &Machine, store: Store) -> String {
    match store {
        Store::Round { of, round } => format!("round[{of}] = {round}"),
        Store::Query { to, query } => format!("in_query[{to}] = {query}"),
        Store::Received { to, thread: None } => format!("received[{to}] = NULL"),
        Store::Received { to, thread: Some(t) } => format!("received[{to}] = {}", machine.threads.name(t)),
        Store::Status { cell, value } => {
            format!("status of {} = {}", machine.threads.cont_name(cell), machine.show(value))
        }
        Store::Application { thread } => format!("what {} computed", machine.threads.name(thread)),
    }
}
