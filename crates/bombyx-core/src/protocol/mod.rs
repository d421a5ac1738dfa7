//! The protocols by which threads meet: small, without policy, each with its argument beside it and a model that explores it
//! (`models`). They know the system and each other, and nothing of pools.

pub(crate) mod carrier;
pub(crate) mod credits;
pub(crate) mod deque;
pub(crate) mod job;
pub(crate) mod latch;
#[cfg(not(loom))]
pub(crate) mod lineage;
pub(crate) mod mailbox;
pub(crate) mod outside;
pub(crate) mod placement;
pub(crate) mod private;
pub(crate) mod query;
pub(crate) mod queue;
pub(crate) mod ready;
pub(crate) mod resolution;
pub(crate) mod sleep;
