//! Fork-join past one machine: coarse subcomputations run on a cluster, and Bombyx runs inside each of its nodes.
//!
//! A remote function is an ordinary function with an attribute. Its argument and its result implement serde's traits.
//!
//! ```
//! use bombyx_cluster::{Cluster, remote};
//!
//! /// Counts the primes in a range: on whichever node, with all of its processors.
//! #[remote]
//! fn primes((from, to): (u64, u64)) -> u64 {
//!     let is_prime = |n: u64| n > 1 && (2..).take_while(|d| d * d <= n).all(|d| n % d != 0);
//!     bombyx::map_reduce(from as usize..to as usize, |n| is_prime(n as u64) as u64, || 0, |a, b| a + b)
//! }
//!
//! fn main() -> Result<(), bombyx_cluster::Error> {
//!     let cluster = bombyx_cluster::start()?;
//!     let ranges = (0..10).map(|i| (i * 1000, (i + 1) * 1000));
//!     assert_eq!(cluster.map_reduce(primes, ranges, 0, |a, b| a + b)?, 1229);
//!     Ok(())
//! }
//! ```
//!
//! The same program runs in one process, on child processes and on Dask: `BOMBYX_CLUSTER=local`, `processes:4`,
//! `dask-local:4`, `dask://host:8786` ([`Address`]). The guide `docs/cluster.md` says what to make remote, and what failures cost.
//!
//! **Remote functions must be repeatable.** When a worker fails, its calls run again elsewhere. A function that changes
//! something outside itself, such as a file, may do so twice.
//!
//! A call goes through the files in this order: `calls` (what users call on a
//! [`Cluster`]) → `registry` (its name) → `codec` (its
//! bytes) → `engine` (what runs it): `local`, `processes` with `hosted` and `ledger`, or `dask` with its `link` → `worker`
//! and `execute` (where it runs) → `outcome` (what comes back).
//!
//! **Not here:** fork-join inside a node, which is the crate `bombyx`; and the command `bombyx worker`, which is in
//! `bombyx-cli`.

#[cfg(not(unix))]
compile_error!("bombyx-cluster needs Unix: workers hang on socket pairs");

mod build;
mod builder;
mod calls;
mod cluster;
mod codec;
mod current;
mod dask;
mod engine;
mod error;
mod execute;
mod hosted;
mod key;
mod ledger;
mod link;
mod local;
mod map;
mod outcome;
mod pipe;
mod processes;
mod profile;
mod record;
#[doc(hidden)]
pub mod registry;
mod remote;
mod settings;
mod wire;
mod worker;

pub use bombyx_cluster_macros::remote;
pub use builder::Builder;
pub use calls::start;
pub use cluster::Cluster;
pub use dask::run_worker;
pub use error::Error;
#[doc(hidden)]
pub use inventory;
pub use key::Key;
pub use map::Map;
#[doc(hidden)]
pub use registry::Entry;
pub use remote::Remote;
pub use settings::Address;
pub use worker::work_if_worker;
