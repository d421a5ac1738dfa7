//! Pictures of small computations in the style of BL Figure 1, as SVG and as Graphviz DOT: threads are rounded
//! blocks, strands are circles from left to right, spawn edges lead down, join edges lead up, dashed.
//!
//! **Not here:** pictures of schedules. `bombyx-cli` draws those.

mod dot;
mod layout;
mod svg;

pub use dot::dot;
pub use svg::svg;

use crate::Computation;
use std::fmt;

/// The most strands a picture shows.
pub const MAX_DRAWN_STRANDS: usize = 2000;

/// A computation has too many strands for a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLargeToDraw {
    /// How many strands it has.
    pub strands: usize,
}

impl TooLargeToDraw {
    fn check(c: &Computation) -> Result<(), Self> {
        let strands = c.strand_count();
        if strands > MAX_DRAWN_STRANDS { Err(Self { strands }) } else { Ok(()) }
    }
}

impl fmt::Display for TooLargeToDraw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a picture shows at most {MAX_DRAWN_STRANDS} strands and this computation has {}; draw a smaller one",
            self.strands
        )
    }
}

impl std::error::Error for TooLargeToDraw {}
