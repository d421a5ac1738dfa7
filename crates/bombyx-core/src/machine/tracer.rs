//! What the machine and the API tell a tracer, if the pool has one: what happens, and on which processor. The tracer
//! ([`crate::trace`]) knows the machine, not the other way round. All calls go through [`super::telling`].
//!
//! A tracer is not an observer ([`super::observer`]): it never makes forks attend. Nothing here is on the fork path. In
//! a pool without a tracer, each call is one comparison.

use crate::protocol::job::{Entry, Job};
use bombyx_base::trace::{Region, State};
use std::panic::Location;

/// What happens. The same words as in [`bombyx_base::trace::Kind`].
#[derive(Clone, Copy)]
pub(crate) enum Event {
    TakesHold,
    LetsGo,
    Enters(State),
    Begins(*const Job, usize),
    Ends(*const Job),
    /// From the processor with this index, or from nobody in particular.
    Steals(Entry, Option<usize>),
    /// For what begins at this address.
    Waits(usize),
    GoesOn,
    Blocks,
    Unblocks,
    Wakes,
    Queues(Entry),
    Mugs(usize),
    Region(Region, &'static Location<'static>),
    Leaves,
    Mark(Text),
    Opens(Text),
    Closes(Text),
}

/// The number of a text that the program gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Text(pub(crate) u32);

/// See the module text. Each thread reports its own events.
pub(crate) trait Tracer: Send + Sync {
    /// The pool begins.
    fn add_pool(&self, processors: usize, fixed_threads: bool, scheduler: &str);

    /// Something happens on the processor with this index, or on none.
    fn note(&self, processor: Option<usize>, event: Event);

    /// Jobs with this code run a closure with this name.
    fn name(&self, code: usize, name: fn() -> &'static str);
}
