//! What the runtime asks of the system: threads and their parking, atomics, barriers, CPUs, children of fork(2); and what
//! it must not do, unwind. Nothing here knows of jobs or processors.

#[cfg(not(loom))]
pub(crate) mod affinity;
pub(crate) mod barrier;
pub(crate) mod fault;
pub(crate) mod guard;
pub(crate) mod primitive;
#[cfg(not(loom))]
pub(crate) mod process;
#[cfg(not(loom))]
pub(crate) mod rng;
pub(crate) mod shake;

#[cfg(loom)]
#[path = "../models/affinity.rs"]
pub(crate) mod affinity;
