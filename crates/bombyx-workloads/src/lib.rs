//! Benchmark programs, written once and run on every runtime.
