//! The ground floor: what the runtime asks of the system.
//!
//! **Not here:** jobs, processors and pools.
//!
//! | file | has |
//! |---|---|
//! | `primitive.rs` | atomics, locks and parking: those of the standard library, or loom's |
//! | `barrier/`, `together.rs` | the asymmetric barrier; barriers that several threads share |
//! | `affinity.rs`, `topology.rs` | CPUs, and which of them are close to each other |
//! | `clock.rs`, `rng.rs` | clocks, random numbers |
//! | `board.rs` | memory that other processes can read |
//! | `process.rs`, `interrupt.rs`, `output.rs` | children of fork(2); signals that end the process; files that appear whole |
//! | `guard.rs` | where nothing may unwind |
//! | `fault.rs`, `shake.rs` | planted bugs for the models; delays for the stress test |

pub(crate) mod affinity;
pub(crate) mod barrier;
pub(crate) mod board;
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
pub(crate) mod topology;

/// Whether the target has threads. WebAssembly has them only together with atomic instructions.
pub(crate) const THREADS: bool = cfg!(any(not(target_family = "wasm"), target_feature = "atomics"));
