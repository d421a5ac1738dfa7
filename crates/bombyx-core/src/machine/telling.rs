//! The functions by which the machine and the API tell a tracer what happens ([`super::tracer`]). In a pool without a
//! tracer, each call is one comparison.

use crate::machine::current;
use crate::machine::handlers::PoolEvent;
use crate::machine::live;
use crate::machine::observer::State;
use crate::machine::pool::PoolCore;
use crate::machine::processor::Processor;
use crate::machine::tracer::{Event, Tracer};
use crate::protocol::job::Entry;
use bombyx_base::trace::{Region, State as Told};
use std::panic::Location;

impl PoolCore {
    #[inline]
    pub(crate) fn tracer(&self) -> Option<&dyn Tracer> {
        // Without the feature no pool has one, and the linker leaves out what only a tracer needs.
        self.config.tracer.as_deref().filter(|_| cfg!(feature = "trace"))
    }

    /// Tells the tracer, if there is one, what the calling thread does. It need not hold a processor.
    #[inline]
    pub(crate) fn trace(&self, event: Event) {
        if let Some(tracer) = self.tracer() {
            tracer.note(index_in(self), event);
        }
    }
}

impl Processor {
    /// Tells the tracer, if there is one, what happens on this processor.
    #[inline]
    pub(crate) fn trace(&self, event: Event) {
        if let Some(tracer) = self.pool().tracer() {
            tracer.note(Some(self.index), event);
        }
    }

    /// Writes on the board what the processor does from now on, and tells the tracer, if there is one.
    #[inline]
    pub(crate) fn trace_state(&self, state: State) {
        let state = match state {
            State::Idle => Told::Idle,
            State::Busy => Told::Busy,
            State::Search => Told::Search,
            State::Help => Told::Help,
            State::HandOver => Told::HandOver,
        };
        self.stats.set_state(state);
        self.trace(Event::Enters(state));
    }

    /// Holder. Counts and traces an entry that it took from elsewhere: from the processor `from`, or from none in
    /// particular.
    #[inline]
    pub(crate) fn stole(&self, entry: Entry, from: Option<&Processor>) {
        self.stats.steals.add(1);
        self.took(entry, from);
    }

    /// Holder. Traces such an entry, and notes it if somebody wants to be told when it runs.
    #[inline]
    pub(crate) fn took(&self, entry: Entry, from: Option<&Processor>) {
        if self.pool().handlers().event.is_some() {
            self.stolen.set(entry.bits());
        }
        self.trace(Event::Steals(entry, from.map(|victim| victim.index)));
    }
}

/// Tells the handler of events, if there is one, what the processor of the calling carrier does.
pub(crate) fn tell(event: fn(usize) -> PoolEvent) {
    if let Some(processor) = current::processor() {
        processor.pool().handlers().tell(event(processor.index));
    }
}

/// Runs a heap job by `run`. Tells the handler of events, if there is one, when the job begins and ends, if the calling
/// carrier's processor has stolen its entry. (The second halves of joins tell that themselves, before their joins go on.)
#[inline]
pub(crate) fn if_stolen_tell<R>(entry: Entry, run: impl FnOnce() -> R) -> R {
    let stolen = &current::held().stolen;
    let stolen = stolen.get() != 0 && stolen.replace(0) == entry.bits() && !entry.is_stack();
    if stolen {
        tell(PoolEvent::StolenBegins);
    }
    let result = run();
    if stolen {
        tell(PoolEvent::StolenEnds);
    }
    result
}

/// Tells whoever looks, and the tracer of the calling thread's pool, if there is one, what the jobs with this code run. The
/// calling thread begins to run one. Its fork site is that of the code `known_as`.
#[inline]
pub(crate) fn name_code(code: usize, known_as: usize, name: fn() -> &'static str) {
    live::run(name(), known_as);
    if let Some(tracer) = current::processor().and_then(|processor| processor.pool().tracer()) {
        tracer.name(code, name);
    }
}

/// The index of the processor that the calling thread holds, if it is one of this pool.
fn index_in(pool: &PoolCore) -> Option<usize> {
    current::processor().filter(|held| std::ptr::eq(held.pool(), pool)).map(|held| held.index)
}

/// The calling thread does something until this is dropped.
pub(crate) struct Meanwhile<'a> {
    pool: Option<&'a PoolCore>,
    end: Event,
}

impl Meanwhile<'_> {
    #[inline]
    pub(crate) fn begin(pool: &PoolCore, begin: Event, end: Event) -> Meanwhile<'_> {
        pool.trace(begin);
        Meanwhile { pool: pool.tracer().is_some().then_some(pool), end }
    }

    /// A region of the program, written at this place.
    #[inline]
    pub(crate) fn region<'a>(
        pool: &'a PoolCore,
        region: Region,
        place: &'static Location<'static>,
    ) -> Meanwhile<'a> {
        Meanwhile::begin(pool, Event::Region(region, place), Event::Leaves)
    }
}

impl Drop for Meanwhile<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(pool) = self.pool {
            pool.trace(self.end);
        }
    }
}
