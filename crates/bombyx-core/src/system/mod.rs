//! The ground floor: what the runtime asks of the system. Here are threads and their parking, atomics, barriers, CPUs,
//! children of fork(2), and random numbers.
//!
//! **Not here:** jobs, processors and pools.

pub(crate) mod affinity;
pub(crate) mod barrier;
pub(crate) mod fault;
pub(crate) mod guard;
pub(crate) mod primitive;
#[cfg(not(loom))]
pub(crate) mod process;
pub(crate) mod rng;
pub(crate) mod shake;
pub(crate) mod together;
