//! The top floor: what users call.
//!
//! **Not here:** how the runtime does its work. See the machine and the schedulers, below this floor.
//!
//! | file | has |
//! |---|---|
//! | `join.rs`, `join_all.rs` | two, three or any number of closures |
//! | `scope.rs`, `task.rs` | spawned closures: in a scope, or alone |
//! | `loops/` | `for_each`, `map_reduce`, `try_for_each` |
//! | `blocking.rs`, `block_on.rs` | waiting for the outside world, and for futures |
//! | `token.rs`, `cancel.rs` | cancel tokens; joins, scopes and loops that heed them |
//! | `reducer.rs`, `reducers.rs`, `task_local.rs`, `per_processor.rs` | values that closures share, inherit or take turns with |
//! | `pool.rs`, `builder.rs`, `handle.rs`, `error.rs` | pools |
//! | `enter.rs`, `signal.rs` | how a call enters a pool, and how its frame learns of the end |
//! | `alloc.rs`, `costs.rs`, `mark.rs` | memory accounting; the profiler's own costs; marks in a trace |
//! | `dropin/` | what only the rayon drop-in needs |
//! | `lab.rs` | switches for experiments |

pub mod alloc;
pub(crate) mod block_on;
pub(crate) mod blocking;
pub(crate) mod builder;
pub(crate) mod cancel;
pub(crate) mod costs;
pub mod dropin;
pub(crate) mod enter;
pub(crate) mod error;
pub(crate) mod handle;
pub(crate) mod join;
pub(crate) mod join_all;
pub mod lab;
pub(crate) mod loops;
pub(crate) mod mark;
pub(crate) mod per_processor;
pub(crate) mod pool;
pub(crate) mod reducer;
pub mod reducers;
pub(crate) mod scope;
pub(crate) mod signal;
pub(crate) mod task;
pub(crate) mod task_local;
pub(crate) mod token;
