//! The machine: processors, carriers, the pool of both, and how a processor changes hands.

#[cfg(not(loom))]
pub(crate) mod cpus;
#[cfg(not(loom))]
pub(crate) mod current;
#[cfg(not(loom))]
pub(crate) mod fixed;
#[cfg(not(loom))]
pub(crate) mod hand_over;
#[cfg(not(loom))]
pub(crate) mod handlers;
#[cfg(not(loom))]
pub(crate) mod ledger;
#[cfg(not(loom))]
pub(crate) mod meter;
#[cfg(not(loom))]
pub(crate) mod new_carrier;
#[cfg(not(loom))]
pub(crate) mod patience;
#[cfg(not(loom))]
pub(crate) mod pool;
#[cfg(not(loom))]
pub(crate) mod processor;
#[cfg(not(loom))]
pub(crate) mod signal;
#[cfg(not(loom))]
pub(crate) mod stats;
#[cfg(not(loom))]
pub(crate) mod strategy;
#[cfg(not(loom))]
pub(crate) mod visit;
#[cfg(not(loom))]
pub(crate) mod wait;

#[cfg(loom)]
#[path = "../models/processor.rs"]
pub(crate) mod processor;
