//! Multithreaded computations as dags (BL §2): threads, weighted strands, spawn, continue and join edges, frames
//! and heap memory.
//!
//! **Not here:** schedulers. A computation says what must happen before what, and `bombyx-sim` decides when it happens.
//!
//! - [`Builder`] makes a [`Computation`] from its serial execution. [`Draft`] takes any graph and says whether it is a
//!   computation.
//! - [`Measures`] are the quantities of the papers' bounds: T1, T∞, S1, n_d and others. [`Class`] says which bounds
//!   apply. [`Augmented`] is the dag G' of the delay-sequence arguments.
//! - [`Sites`] says what each fork site of a recorded program contributes, and what would happen if it were faster.
//! - [`generate`] makes computations from specs such as `fib:20`.
//! - [`mod@format`] is a compact, streaming file format, also for recorded runs of real programs.
//! - [`text`] is a form that people can write by hand.
//! - [`draw`] makes pictures in the style of BL Figure 1.
//!
//! Nothing here runs anything: schedulers live in `bombyx-sim`.
//!
//! ```
//! use bombyx_dag::{Class, Measures, generate::Spec};
//!
//! let computation = "dnc:depth=10,work=1000".parse::<Spec>()?.build()?;
//! assert_eq!(computation.class(), Class::NestedParallel);
//! let measures = Measures::of(&computation);
//! println!("at most {:.0} processors are of use", measures.parallelism());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The papers, by their short names: **BL** Blumofe & Leiserson, scheduling by work stealing; **DFD** Narlikar,
//! scheduling threads for low space and good locality; **LEC** the MIT lecture on the Cilk scheduler; **HET**
//! Bender & Rabin, processors of different speeds.

mod accesses;
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
mod sites;
mod strict;
pub mod text;

pub use accesses::{Accesses, Stretch};
pub use augmented::Augmented;
pub use builder::Builder;
pub use class::Class;
pub use computation::{Computation, WeightUnit};
pub use draft::Draft;
pub use error::BuildError;
pub use id::{SiteId, StrandId, ThreadId};
pub use measures::{Measures, distances_to_end, path_lengths};
pub use sites::{SiteMeasures, Sites, longest_path};
pub use strict::{made_fully_strict, made_strict};
