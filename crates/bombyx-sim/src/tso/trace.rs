//! Readable accounts of runs: one [`Step`] per access to shared memory, flush, or private act worth a line.

use std::fmt;

use super::machine::Machine;
use super::state::{Processor, Query, State, Store};

/// One line of an interleaving.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The processor that acts, or whose store buffer is flushed.
    pub processor: usize,
    /// The line of RW's pseudo-code; `None` for a flush, which is the machine's act and not the program's.
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

/// Where a machine reports its steps; exploring machines report to nobody.
pub(super) struct Log<'a>(Option<&'a mut Vec<Step>>);

impl<'a> Log<'a> {
    pub(super) fn off() -> Log<'static> {
        Log(None)
    }

    pub(super) fn into(steps: &'a mut Vec<Step>) -> Log<'a> {
        Log(Some(steps))
    }

    fn note(&mut self, p: Processor, line: Option<u16>, text: impl FnOnce() -> String) {
        if let Some(steps) = &mut self.0 {
            steps.push(Step { processor: usize::from(p), line, text: text() });
        }
    }

    pub(super) fn load(&mut self, p: Processor, line: u16, text: impl FnOnce() -> String) {
        self.note(p, Some(line), text);
    }

    pub(super) fn local(&mut self, p: Processor, line: u16, text: impl FnOnce() -> String) {
        self.note(p, Some(line), text);
    }

    pub(super) fn store(&mut self, machine: &Machine, p: Processor, line: u16, store: Store) {
        self.note(p, Some(line), || format!("writes {}", describe(machine, p, store)));
    }

    pub(super) fn flush(&mut self, machine: &Machine, s: &State, p: Processor, store: Store) {
        self.note(p, None, || {
            let left = s.locals[usize::from(p)].buffer.len();
            let rest = if left == 0 { String::new() } else { format!(" ({left} more buffered)") };
            format!("{}{rest}", describe(machine, p, store))
        });
    }
}

fn describe(machine: &Machine, p: Processor, store: Store) -> String {
    match store {
        Store::Round(round) => format!("round[{p}] = {round}"),
        Store::Query { to, round } => format!("in_query[{to}] = {}", Query { id: p, round }),
        Store::Received { to, thread: None } => format!("received[{to}] = NULL"),
        Store::Received { to, thread: Some(t) } => format!("received[{to}] = {}", machine.threads.name(t)),
        Store::Status { cell, value } => {
            format!("status of {} = {}", machine.threads.cont_name(cell), machine.show(value))
        }
    }
}
