//! Multithreaded computations as dags (BL §2): threads, weighted strands, spawn, continue and join edges, frames
//! and heap memory.
//!
//! [`Builder`] makes a [`Computation`] by telling its serial execution. Nothing here runs anything: schedulers
//! live in `bombyx-sim`.
//!
//! The papers, by their short names: **BL** Blumofe & Leiserson, scheduling by work stealing; **DFD** Narlikar,
//! scheduling threads for low space and good locality; **LEC** the MIT lecture on the Cilk scheduler; **HET**
//! Bender & Rabin, processors of different speeds.

mod augmented;
mod builder;
mod class;
mod computation;
mod draft;
pub mod draw;
mod error;
pub mod format;
pub mod generate;
mod id;
mod measures;
mod rng;

pub use augmented::Augmented;
pub use builder::Builder;
pub use class::Class;
pub use computation::{Computation, WeightUnit};
pub use draft::Draft;
pub use error::BuildError;
pub use id::{SiteId, StrandId, ThreadId};
pub use measures::{Measures, distances_to_end, path_lengths};
