//! The seven programs of Acar, Charguéraud, Muller and Rainey's tables in continuation-passing style, for the
//! schedulers of `bombyx-rw`. Each program forks where its direct form does, so both are the same computation. They
//! share the parts that do the work. Programs are beside their direct forms; patterns that several of them use are
//! here.

mod chunks;
mod pool;

pub(crate) use chunks::{Tally, gather, halves, map_reduce};
pub(crate) use pool::Visit;
pub use pool::{RwLane, RwPool};
