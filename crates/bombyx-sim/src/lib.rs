//! Every scheduler of the papers in virtual time.

pub mod tso;
