//! A fork-join runtime with proven bounds on time, space and communication.
//!
//! ```
//! fn fib(n: u64) -> u64 {
//!     if n < 2 {
//!         return n;
//!     }
//!     let (a, b) = bombyx::join(|| fib(n - 1), || fib(n - 2));
//!     a + b
//! }
//! assert_eq!(fib(20), 6765);
//! ```
//!
//! - [`join`] runs two closures, perhaps in parallel. It costs a handful of plain loads and stores, so there is seldom
//!   a reason to stop forking early.
//! - [`join3`] and [`join_all`] do the same for three closures, or for any number.
//! - [`scope`] spawns any number of closures that borrow from outside, in bounded memory.
//! - [`spawn`] starts a closure whose result you can wait for later, or `await`.
//! - [`for_each`] and [`map_reduce`] are loops that find their grain by themselves.
//! - [`iter`] has parallel iterators: `use bombyx::prelude::*`.
//! - [`Reducer`] collects results without locks. [`TaskLocal`] is a value that everything below inherits.
//!   [`CancelToken`] stops work that nobody wants any more.
//! - [`blocking`] lets a closure block (on a lock, a channel, a file) without blocking a processor.
//! - [`Pool`] is for programs that want several pools, or one with another size or other stacks. Everything else uses
//!   [the global pool](Pool::global). Its size is `BOMBYX_PROCESSORS`, or else the number of CPUs.
//!
//! # Processors, carriers, threads
//!
//! - A *processor* is one of the P virtual processors of a pool. It has a deque of work, and no stack.
//! - A *carrier* is an operating-system thread that belongs to a pool. It runs closures while it holds a processor.
//!   A carrier that has to wait hands its processor to another carrier, so a pool can have more carriers than processors.
//! - A *thread* is an operating-system thread where these pages speak of stacks, names or fixed threads. The papers use
//!   the same word for a spawned closure and all the calls below it; where that is meant, the text says so.
//!
//! # What it promises
//!
//! On P processors, a program with work T1 and span T∞ takes T1/P + O(T∞) expected time. It needs at most P times the
//! stack of its serial execution (Blumofe and Leiserson, "Scheduling multithreaded computations by work stealing"). In
//! addition, a [`scope`] may keep up to 256 waiting closures in each deque. Other schedulers have other bounds on
//! space: see `docs/schedulers.md`.
//!
//! Unrelated work never buries a closure that waits. Whatever runs on top of a waiting frame is part of what the frame
//! waits for. So a lock that is held across a `join` is not met again on the same stack, and stacks grow no deeper than
//! the serial program needs. Two settings give this up where a pool would otherwise stop: [fixed threads](Threads::Fixed)
//! and the [limit of carriers](Builder::max_carriers).
//!
//! `ARCHITECTURE.md` explains how this works without moving any stack between threads.
//!
//! # Environment
//!
//! | variable | effect |
//! |---|---|
//! | `BOMBYX_PROCESSORS=n` | default number of processors |
//! | `BOMBYX_SCHEDULER=name` | default [`Scheduler`] |
//! | `BOMBYX_THREADS=fixed` or `moving` | default [`Threads`] |
//! | `BOMBYX_PROFILE=file` | measure work and span, and write a [`Profile`] there when the process ends |
//! | `BOMBYX_RECORD=file` | record the computation, and write it there as a dag file when the process ends |
//! | `BOMBYX_RECORD_MEMORY=n` | how many MiB that may take (default 256) before short forks are left out |
//! | `BOMBYX_TRACE=file` | trace what every processor and thread does, and write it there when the process ends |
//! | `BOMBYX_TRACE_MEMORY=n` | how many MiB the trace may take (default 512); the newest events are kept |
//! | `BOMBYX_TRACE_STALL=seconds` | write the trace, and say which thread waits for what, when nothing has happened for this long |
//! | `BOMBYX_TRACE_FLIGHT=seconds` | write only the last seconds, and only at a panic, a stall or a signal that ends the program |
//! | `BOMBYX_TRACE_STRANDS=µs` | in a traced and profiled program: how long a strand must be to be in the trace (default 10) |
//! | `BOMBYX_TRACE_SIGNAL=USR1` or `USR2` | write the trace whenever this signal comes |
//! | `BOMBYX_LIVE=0` | keep the counters where `bombyx top` cannot see them, and make no memory file |
//! | `BOMBYX_DETERMINISTIC=1` | [`Builder::deterministic`] for all pools |
//! | `BOMBYX_BARRIER=fence` | do without `membarrier(2)`: slower forks, for sandboxes that end the process at that call |
//!
//! Programs that run with more rights than their caller (set-user-ID, capabilities) ignore `BOMBYX_PROFILE`,
//! `BOMBYX_RECORD` and `BOMBYX_TRACE`.
//!
//! # Features
//!
//! | feature | effect |
//! |---|---|
//! | `profile` (default) | profiles and recordings: `Builder::profile`, `Pool::profile`, `write_profile`, `BOMBYX_PROFILE`, `BOMBYX_RECORD` |
//! | `schedulers` (default) | the schedulers beside work stealing |
//! | `trace` (default) | traces: `write_trace`, `BOMBYX_TRACE`. Without it, marks and phases do nothing |
//! | `tracing` | `spans::follow`: a span of the crate `tracing` follows stolen work; `spans::Phases`: spans show in the trace |
//! | `metrics` | `publish`: gives the figures of a pool to the crate `metrics` |
//! | `openmetrics` | `openmetrics::serve`: the figures of pools as OpenMetrics text |
//!
//! **Not here:** scheduling. It is in `bombyx-core`.

// The models of the runtime's protocols do not need this crate.
#![cfg(not(loom))]

pub mod collections;
pub mod iter;
#[cfg(feature = "openmetrics")]
pub mod openmetrics;
pub mod option;
pub mod prelude;
pub mod range;
pub mod slice;
pub mod str;
pub mod vec;

/// Arrays by value.
pub mod array {
    pub use crate::vec::array::IntoIter;
}
/// Ranges with both ends.
pub mod range_inclusive {
    pub use crate::range::inclusive::Iter;
}
/// Results: the value, or nothing if there is an error.
pub mod result {
    pub use crate::option::result::{IntoIter, Iter, IterMut};
}
/// Taking a range out of a `String`.
pub mod string {
    pub use crate::str::string::Drain;
}

pub mod share;
#[cfg(feature = "tracing")]
pub mod spans;
pub mod threads;

#[cfg(feature = "metrics")]
mod facade;
#[cfg(feature = "metrics")]
pub use facade::publish;

/// The guide to a first program.
#[doc = include_str!("../docs/getting-started.md")]
pub mod getting_started {}

/// So that the example there runs as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub use bombyx_core::*;
#[doc(no_inline)]
pub use threads::{
    BroadcastContext, FnContext, ScopeFifo, ThreadBuilder, ThreadPool, ThreadPoolBuildError,
    ThreadPoolBuilder, Yield, broadcast, current_num_threads, current_thread_has_pending_tasks,
    current_thread_index, in_place_scope, in_place_scope_fifo, max_num_threads, scope_fifo, spawn_broadcast,
    spawn_fifo, yield_local, yield_now,
};
