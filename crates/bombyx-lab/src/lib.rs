//! The laboratory of Bombyx: benchmarks against other runtimes, reproductions of the papers' figures, checks of every
//! workload on every scheduler, and what they share: contenders, the host's description, tables and plots.
//!
//! **Not here:** command lines (`bombyx-cli`), and the programs that are measured (`bombyx-workloads`).

#![allow(missing_docs, rustdoc::private_intra_doc_links)]

pub mod bench;
pub mod check;
pub mod child;
pub mod contender;
pub mod files;
pub mod heap;
pub mod host;
pub mod launch;
#[cfg(target_os = "linux")]
pub mod live;
pub mod plot;
pub mod prediction;
pub mod profiled;
pub mod programs;
pub mod progress;
pub mod reproduce;
pub mod resources;
pub mod sample;
pub mod statistics;
pub mod table;
pub mod text;

/// The tests look at memory as the program does.
#[cfg(test)]
#[global_allocator]
static ALLOCATOR: heap::Counting = heap::Counting;

/// Whatever goes wrong is reported to the user in one line.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;
