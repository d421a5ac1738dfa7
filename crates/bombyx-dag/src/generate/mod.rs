//! Generators of computations. Each is a file and a line in [`GENERATORS`].
//!
//! **Not here:** computations of real programs. The runtime records those.
//!
//! A generator is a function of whole-number parameters. Random ones take their randomness from a `seed` parameter, so
//! a [`Spec`] names the same computation on every platform. Generators feed the serial execution to a [`Builder`] with
//! an explicit stack, so deep computations need no deep recursion.

mod bushy;
mod dfd;
mod divide;
mod fib;
mod figure1;
mod geometric;
mod greedy_trap;
mod lines;
mod parallel_loop;
mod random;
mod spec;
mod tree;
mod wavefront;

pub use figure1::figure1;
pub use spec::{Spec, SpecError};

use crate::{BuildError, Builder, Computation};

/// A number that a generator takes.
#[derive(Debug)]
pub struct Parameter {
    /// Its name in a spec.
    pub name: &'static str,
    /// The value if the spec does not give one.
    pub default: u64,
    /// The least it can be.
    pub min: u64,
    /// The most it can be.
    pub max: u64,
    /// What it means.
    pub about: &'static str,
}

/// A family of computations.
#[derive(Debug)]
pub struct Generator {
    /// Its name in a spec.
    pub name: &'static str,
    /// What it makes, in one line.
    pub about: &'static str,
    /// The parameters. A spec may give the first one without its name.
    pub parameters: &'static [Parameter],
    /// How many strands or join edges it makes, whichever are more. Exact, or an upper bound for random shapes.
    size: fn(&[u64]) -> f64,
    build: fn(&[u64]) -> Result<Computation, BuildError>,
}

/// All generators, in the order in which they are listed to people.
pub static GENERATORS: &[Generator] = &[
    figure1::GENERATOR,
    fib::GENERATOR,
    divide::BALANCED,
    divide::SKEWED,
    parallel_loop::GENERATOR,
    lines::CHAIN,
    lines::FAN,
    random::GENERATOR,
    bushy::GENERATOR,
    geometric::GENERATOR,
    greedy_trap::GENERATOR,
    wavefront::GENERATOR,
    dfd::FIGURE2,
    dfd::FIGURE4,
    dfd::HOARD,
];

const fn parameter(name: &'static str, default: u64, min: u64, max: u64, about: &'static str) -> Parameter {
    Parameter { name, default, min, max, about }
}

/// A strand weight.
const fn weight(name: &'static str, default: u64, about: &'static str) -> Parameter {
    parameter(name, default, 1, 1 << 40, about)
}

/// A number of bytes.
const fn bytes(name: &'static str, default: u64, about: &'static str) -> Parameter {
    parameter(name, default, 0, 1 << 40, about)
}

const FRAME: Parameter = bytes("frame", 64, "bytes of every frame");
const SEED: Parameter = parameter("seed", 1, 0, u64::MAX, "of the random choices");
