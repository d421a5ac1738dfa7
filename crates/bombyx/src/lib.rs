//! A fork-join runtime whose time, space and communication are the ones the theory proves.

#![cfg_attr(loom, allow(dead_code, unused_imports))]

#[cfg(not(loom))]
mod affinity;
mod barrier;
#[cfg(not(loom))]
mod blocking;
#[cfg(not(loom))]
mod broadcast;
mod carrier;
#[cfg(not(loom))]
mod commons;
mod deque;
#[cfg(not(loom))]
mod error;
mod fault;
#[cfg(not(loom))]
mod fifo;
#[cfg(not(loom))]
mod handle;
#[cfg(not(loom))]
mod handlers;
mod job;
#[cfg(not(loom))]
mod join;
mod latch;
mod mailbox;
#[cfg(not(loom))]
mod new_carrier;
#[cfg(not(loom))]
mod par;
#[cfg(not(loom))]
mod pool;
mod primitive;
#[cfg(not(loom))]
mod processor;
#[cfg(loom)]
#[path = "models/processor.rs"]
mod processor;
#[cfg(not(loom))]
mod rng;
#[cfg(not(loom))]
mod scheduler;
#[cfg(not(loom))]
mod scope;
#[cfg(not(loom))]
mod signal;
mod sleep;
#[cfg(not(loom))]
mod stats;
#[cfg(not(loom))]
mod wait;
#[cfg(not(loom))]
mod yielding;

#[cfg(all(loom, test))]
mod models;

#[cfg(not(loom))]
pub use blocking::{blocking, checkpoint};
#[cfg(not(loom))]
pub use broadcast::Broadcast;
#[cfg(not(loom))]
pub use error::Error;
#[cfg(not(loom))]
pub use handle::Handle;
#[cfg(not(loom))]
pub use join::{Context, join, join_context};
#[cfg(not(loom))]
pub use new_carrier::NewCarrier;
#[cfg(not(loom))]
pub use par::{for_each, map_reduce};
#[cfg(not(loom))]
pub use pool::{Builder, Pool, current_processor, current_processors, in_pool};
#[cfg(not(loom))]
pub use scheduler::Scheduler;
#[cfg(not(loom))]
pub use scope::{Scope, scope};
#[cfg(not(loom))]
pub use stats::Stats;
#[cfg(not(loom))]
pub use yielding::{Yield, has_pending, yield_local, yield_now};
