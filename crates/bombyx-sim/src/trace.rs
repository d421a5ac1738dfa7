//! [`Trace`]: everything that every processor did, as intervals of virtual time.
//!
//! A trace is the same in both modes of the engine. It holds one event per executed strand (or per part of one, if it
//! was interrupted) and one per steal attempt. A processor that has neither in some interval was idle. The text form
//! has one event per line: `from..to processor what`, with times in ticks, or in units of time by [`Trace::in_units`].

use crate::{ProcessorId, Ratio};
use bombyx_dag::{StrandId, ThreadId};
use std::fmt;

/// How a steal attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptResult {
    /// The thief took the oldest thread.
    Stolen(ThreadId),
    /// The thief took the thread that the victim was working on (HET Fig. 2, line 3).
    Mugged(ThreadId),
    /// There was nothing to take.
    Empty,
    /// Another thief was served in the same step, and the contention model refuses all but one.
    Denied,
    /// The run ended before the request was served.
    Unserved,
}

/// What happened in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// The processor executed a strand.
    Execute {
        /// The strand.
        strand: StrandId,
        /// Whether the strand ended here. If not, the processor was interrupted and another one goes on.
        complete: bool,
    },
    /// The processor made a steal attempt, from its start until it was served. If the interval is longer than an
    /// attempt takes, the rest was spent in the victim's queue. The interval is empty if a thief that succeeds executes
    /// in the step of its attempt.
    Attempt {
        /// The random choice among P: a processor, or for DFDeques a position in the list of deques. `u32::MAX` if the
        /// given choice was no deque.
        slot: u32,
        /// The processor whose deque was chosen, if the deque exists and has an owner.
        victim: Option<ProcessorId>,
        /// How it ended.
        result: AttemptResult,
    },
}

/// One event of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Who.
    pub processor: ProcessorId,
    /// The tick at which it began.
    pub from: u64,
    /// The tick at which it ended.
    pub to: u64,
    /// What.
    pub kind: EventKind,
}

/// What every processor did, in the order in which it ended. Of events that end together, work comes before attempts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    events: Vec<Event>,
}

impl Trace {
    pub(crate) fn push(&mut self, event: Event) {
        self.events.push(event);
    }

    /// All events.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The events of each of this many processors, in the order of time. They do not overlap, and between them the
    /// processor was idle.
    ///
    /// # Panics
    /// If the run had more processors.
    pub fn by_processor(&self, processors: usize) -> Vec<Vec<Event>> {
        let mut events = vec![Vec::new(); processors];
        for &event in &self.events {
            events[event.processor.index()].push(event);
        }
        events
    }

    /// The steal attempts in the order in which they began. Within a step, in the order of the thieves.
    pub fn attempts(&self) -> Vec<Event> {
        let mut attempts: Vec<Event> =
            self.events.iter().filter(|e| matches!(e.kind, EventKind::Attempt { .. })).copied().collect();
        attempts.sort_by_key(|e| (e.from, e.processor));
        attempts
    }

    /// The trace as text, with exact times in units of time; `ticks_per_unit` is the outcome's.
    pub fn in_units(&self, ticks_per_unit: u64) -> impl fmt::Display {
        InUnits { trace: self, ticks_per_unit }
    }

    /// When each strand ended, by strand: the schedule. Strands that did not end have `u64::MAX`.
    pub fn ends(&self, strands: usize) -> Vec<u64> {
        let mut ends = vec![u64::MAX; strands];
        for event in &self.events {
            if let EventKind::Execute { strand, complete: true } = event.kind {
                ends[strand.index()] = event.to;
            }
        }
        ends
    }
}

impl fmt::Display for AttemptResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stolen(thread) => write!(f, "steals {thread}"),
            Self::Mugged(thread) => write!(f, "mugs {thread}"),
            Self::Empty => write!(f, "empty"),
            Self::Denied => write!(f, "denied"),
            Self::Unserved => write!(f, "unserved"),
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{} {} {}", self.from, self.to, self.processor, self.kind)
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Execute { strand, complete: true } => write!(f, "{strand}"),
            Self::Execute { strand, complete: false } => write!(f, "{strand} interrupted"),
            Self::Attempt { slot, victim: Some(victim), result } => {
                write!(f, "choice {slot} ({victim}): {result}")
            }
            Self::Attempt { slot, victim: None, result } => write!(f, "choice {slot}: {result}"),
        }
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.events.iter().try_for_each(|event| writeln!(f, "{event}"))
    }
}

struct InUnits<'a> {
    trace: &'a Trace,
    ticks_per_unit: u64,
}

impl fmt::Display for InUnits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = |tick| Ratio::new(tick, self.ticks_per_unit).expect("a unit of time has ticks");
        self.trace.events.iter().try_for_each(|event| {
            writeln!(f, "{}..{} {} {}", time(event.from), time(event.to), event.processor, event.kind)
        })
    }
}
