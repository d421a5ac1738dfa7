//! What a profile of a fork-join program says: work, span, how it will scale, what to change.
//!
//! **Not here:** measuring, which the runtime does; and the layout of reports, which is in `bombyx-cli`.
//!
//! - [`Profile`] is what the runtime writes to the file named by `BOMBYX_PROFILE`. [`read`] reads such a file, and
//!   answers a damaged or hostile one with a [`ReadError`].
//! - [`Scaling`] predicts speedups from work, span and burdened span, each as a [`Band`]: likely, from and to.
//! - [`Comparison`] compares two runs of a program: its speedup, and why strands take longer beside others than alone.
//! - [`advise`] says what a colleague would say after a look at the profile.
//! - [`cilkscale_csv`] writes what Cilkscale's plotter reads.
//!
//! Nothing here measures or runs anything. The runtime does that.
//!
//! ```
//! let file = include_bytes!("../corpus/sort.json");
//! let profile = bombyx_profile::read(&file[..])?;
//! let on_8 = bombyx_profile::Scaling::of(&profile).predict(8).band;
//! assert!(on_8.from <= on_8.likely && on_8.likely <= on_8.to);
//! println!("{}", bombyx_profile::advise(&profile, 8)[0]);
//! # Ok::<(), bombyx_profile::ReadError>(())
//! ```
//!
//! The papers, by their short names: **Cilkview** He, Leiserson and Leiserson, *The Cilkview Scalability Analyzer*
//! (SPAA 2010); **Cilkscale** its successor in OpenCilk (Schardl, Kuszmaul, Lee, Leiserson and Leiserson, *The Cilkprof
//! Scalability Profiler*, SPAA 2015, tells the algebra of work and span per site); **BL** Blumofe and Leiserson,
//! *Scheduling Multithreaded Computations by Work Stealing* (J. ACM 46, 1999).

mod advice;
mod cilkscale;
mod comparison;
mod error;
mod nodes;
mod reader;
mod scaling;

pub use advice::{Advice, Gain, Rule, advise};
pub use bombyx_base::profile::{Clock, Costs, Gap, Machine, Profile, SiteProfile, Times, Usage, VERSION};
pub use cilkscale::cilkscale_csv;
pub use comparison::{Cause, Comparison, Growth};
pub use error::ReadError;
pub use nodes::add_node;
pub use reader::{MAX_BYTES, read};
pub use scaling::{Band, Beside, Prediction, SPAN_COEFFICIENT, Scaling};
