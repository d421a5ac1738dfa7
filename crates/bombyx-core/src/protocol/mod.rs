//! The protocols by which threads meet. Each protocol is small and has no policy, and the argument why it is right
//! stands beside it. Loom explores the same code that ships (`models`).
//!
//! **Not here:** when a protocol is used, and by whom. The machine and the schedulers decide that.
//!
//! The protocols know the system and each other. They know nothing of pools: what they notify is a carrier, an address,
//! or a function that they are given.

pub(crate) mod carrier;
pub(crate) mod commons;
pub(crate) mod credits;
pub(crate) mod deque;
pub(crate) mod job;
pub(crate) mod latch;
pub(crate) mod lineage;
pub(crate) mod mailbox;
pub(crate) mod notice;
pub(crate) mod outside;
pub(crate) mod placement;
pub(crate) mod private;
pub(crate) mod query;
pub(crate) mod queue;
pub(crate) mod ready;
pub(crate) mod resolution;
pub(crate) mod ring;
pub(crate) mod sleep;
pub(crate) mod stranded;
pub(crate) mod tickets;
