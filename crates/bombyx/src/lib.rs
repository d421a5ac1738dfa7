//! A fork-join runtime for Rust.
