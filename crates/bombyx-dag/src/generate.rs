//! Generators of computations.

mod figure1;

pub use figure1::figure1;
