//! The top floor: what users call.
//!
//! Here are `join`, `scope`, tasks, the loops, `blocking`, cancellation, reducers and task-locals, pools and their builder,
//! and memory accounting. What only the rayon drop-in needs is in [`dropin`]; switches for experiments are in [`lab`]. A
//! call from outside a pool enters it in [`enter`].
//!
//! **Not here:** how the runtime does its work. See the machine and the schedulers, below this floor.

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
