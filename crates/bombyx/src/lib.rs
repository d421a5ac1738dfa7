//! A fork-join runtime whose time, space and communication are the ones the theory proves.

mod affinity;
mod barrier;
mod blocking;
mod carrier;
mod commons;
mod deque;
mod error;
mod fault;
mod job;
mod join;
mod latch;
mod mailbox;
mod par;
mod pool;
mod primitive;
mod processor;
mod rng;
mod scheduler;
mod scope;
mod stats;

pub use blocking::{blocking, checkpoint};
pub use error::Error;
pub use join::{Context, join, join_context};
pub use par::{for_each, map_reduce};
pub use pool::{Builder, Pool, current_processor};
pub use scheduler::Scheduler;
pub use scope::{Scope, scope};
pub use stats::Stats;
