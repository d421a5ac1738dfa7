//! The runtime of Bombyx. Programs depend on the crate `bombyx`, which re-exports all of this and adds parallel iterators.
//! Its documentation is the guide: what the runtime promises, and the environment variables.
//!
//! These pages use three words:
//!
//! - A *processor* is one of the P virtual processors of a pool. It has a deque of work, and no stack.
//! - A *carrier* is an operating-system thread that belongs to a pool. It runs closures while it holds a processor.
//!   A carrier that has to wait hands its processor to another carrier.
//! - A *thread* is an operating-system thread where these pages speak of stacks, names or fixed threads. The papers use
//!   the same word for a spawned closure and all the calls below it; where that is meant, the text says so.
//!
//! | feature (all are on by default) | without it |
//! |---|---|
//! | `profile` | no `Builder::profile`, `Pool::profile` and `write_profile`; `BOMBYX_PROFILE` and `BOMBYX_RECORD` print a warning |
//! | `schedulers` | only work stealing |
//! | `trace` | no `write_trace`; `BOMBYX_TRACE` prints a warning |
//!
//! | folder | has |
//! |---|---|
//! | `api/` | what users call |
//! | `scheduler/`, `profile/`, `trace/` | who takes which work; what is measured; what a trace shows |
//! | `machine/` | processors, carriers, the pool of both, and how a processor changes hands |
//! | `protocol/` | how threads meet: deques, latches, mailboxes, sleep |
//! | `system/` | threads, CPUs, barriers |
//!
//! **Not here:** parallel iterators (`bombyx`), rayon's interface (`bombyx-threads`), and whatever reads a profile or
//! simulates a program (`bombyx-profile`, `bombyx-sim`).

#![cfg_attr(loom, allow(dead_code, unused_imports))]
// What only a feature needs stays where it belongs, without a mark on each function. The linker leaves it out.
#![cfg_attr(
    not(all(feature = "profile", feature = "schedulers", feature = "trace")),
    allow(dead_code, unused_imports, unreachable_pub)
)]
// So does what only Linux has.
#![cfg_attr(not(target_os = "linux"), allow(dead_code))]

#[cfg(not(all(any(target_pointer_width = "64", target_pointer_width = "32"), target_has_atomic = "64")))]
compile_error!("bombyx needs a target with 32-bit or 64-bit addresses and with atomic words of 64 bits");

mod protocol;
mod system;

#[cfg(not(loom))]
mod api;
#[cfg(not(loom))]
mod machine;
#[cfg(not(loom))]
pub mod profile;
#[cfg(not(loom))]
mod scheduler;
#[cfg(not(loom))]
mod trace;

#[cfg(doctest)]
mod compile_fail;
#[cfg(all(loom, test))]
mod models;

#[cfg(not(loom))]
pub use self::{
    api::{
        alloc::{self, charge, release, reserve},
        block_on::block_on,
        blocking::{blocking, checkpoint},
        builder::Builder,
        dropin,
        error::Error,
        handle::Handle,
        join::{Context, join, join_context},
        join_all::{Closures, join_all, join3},
        lab,
        loops::{for_each, integer::Integer, map_reduce, try_for_each},
        mark::{Phase, mark, phase},
        per_processor::PerProcessor,
        pool::{Pool, current_processor, in_pool, processor_count},
        reducer::{Monoid, Reducer},
        reducers,
        scope::{Scope, scope},
        task::{RunAsync, Task, TaskError, spawn},
        task_local::TaskLocal,
        token::{CancelToken, Cancelled},
    },
    machine::{
        handlers::PoolEvent,
        metrics::Metrics,
        pool::config::Threads,
        stats::{HeterogeneousStats, PrivateDequeStats, QuotaStats, ReadWriteStats, Stats, ThreadStats},
    },
    scheduler::{Beta, BetaError, Quota, QuotaError, Scheduler, SchedulerError},
};
#[cfg(not(loom))]
#[doc(hidden)]
pub use api::{loops::plumbing as loop_plumbing, task_local::follow as follow_contexts};
#[cfg(all(feature = "trace", not(loom)))]
pub use trace::write_trace;

#[cfg(all(feature = "profile", not(loom)))]
pub use profile::{Profile, write_profile};
