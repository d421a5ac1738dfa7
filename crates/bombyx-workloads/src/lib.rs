#![doc = include_str!("../README.md")]

mod complex;
mod continuations;
mod fork;
mod inputs;
mod par;
mod partition;
mod record;
mod registry;
mod reservations;
mod tiles;
mod timed;
mod unknown_name;
mod workload;

#[cfg(feature = "rayon")]
pub mod demos;

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

pub use continuations::{RwLane, RwPool};
pub use fork::{Bombyx, Fork, Serial};
#[cfg(feature = "peers")]
pub use fork::{Chili, Rayon};
pub use par::Par;
pub use record::{Meter, Reading};
pub use registry::{UnknownWorkload, all, find, select};
pub use timed::StrandTime;
pub use unknown_name::UnknownName;
pub use workload::{Bound, Checksum, Grain, Prepared, Run, Runtime, Size, Suite, Workload};
