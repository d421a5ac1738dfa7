//! The ground floor: what the runtime asks of the system. Here are threads and their parking, atomics, barriers, CPUs,
//! children of fork(2), clocks, files that appear whole, signals that end the process, and random numbers.
//!
//! **Not here:** jobs, processors and pools.

pub(crate) mod affinity;
pub(crate) mod barrier;
#[cfg(not(loom))]
pub(crate) mod board;
#[cfg(not(loom))]
pub(crate) mod clock;
pub(crate) mod fault;
pub(crate) mod guard;
#[cfg(all(target_os = "linux", not(loom)))]
pub(crate) mod interrupt;
#[cfg(not(loom))]
pub(crate) mod output;
pub(crate) mod primitive;
#[cfg(not(loom))]
pub(crate) mod process;
pub(crate) mod rng;
pub(crate) mod shake;
pub(crate) mod together;

/// Whether the target has threads. WebAssembly has them only together with atomic instructions.
pub(crate) const THREADS: bool = cfg!(any(not(target_family = "wasm"), target_feature = "atomics"));
