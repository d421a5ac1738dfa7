//! Benchmark programs, written once and run on every runtime.
//!
//! Each program is generic over [`Fork`], so that the serial elision, Bombyx and the peers (feature `peers`) run
//! the same source. [`all`] and [`find`] give [`Workload`]s by name; [`Workload::prepare`] makes the inputs from a
//! seed, and the [`Prepared`] instance is run as often as wanted, each result checked:
//!
//! ```
//! use bombyx_workloads::{Grain, Runtime, Size, find};
//!
//! let mut cilksort = find("cilksort-random")?.prepare(Size::Small, Grain::Medium, 42);
//! let run = cilksort.run(Runtime::Serial);
//! cilksort.check()?;
//! println!("{}: {:?}, checksum {}", cilksort.input(), run.time, run.checksum);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod complex;
mod fork;
mod inputs;
mod par;
mod registry;
mod reservations;
mod tiles;
mod workload;

mod barneshut;
mod cilksort;
mod densemm;
mod dtree;
mod fft;
mod fib;
mod fmm;
mod heat;
mod knapsack;
mod lu;
mod mandelbrot;
mod matching;
mod matmul;
mod mis;
mod nqueens;
mod quickhull;
mod samplesort;
mod spmv;
mod strassen;
mod uts;
mod volume;

pub use fork::{Bombyx, Fork, Serial};
#[cfg(feature = "peers")]
pub use fork::{Chili, Rayon};
pub use par::Par;
pub use registry::{UnknownWorkload, all, find, select};
pub use workload::{Bound, Checksum, Grain, Prepared, Run, Runtime, Size, Suite, UnknownName, Workload};
