#![doc = include_str!("README.md")]
//!
//! **Not here:** recording. The runtime writes this format with its own code.

mod bytes;
mod error;
mod reader;
mod writer;

pub use error::ReadError;
pub use reader::{DEFAULT_STRAND_LIMIT, Reader, Record, read, read_at_most};
pub use writer::{Writer, write};

const MAGIC: [u8; 8] = *b"\x89DAG\r\n\x1a\n";
const VERSION: u64 = 1;

/// The bits of a record's first byte that hold its kind.
const KIND: u8 = 7;

mod kind {
    pub(super) const STRAND: u8 = 0;
    pub(super) const SPAWN: u8 = 1;
    pub(super) const END: u8 = 2;
    pub(super) const SITE: u8 = 3;
    pub(super) const NOTE: u8 = 4;
    pub(super) const UNIT: u8 = 6;
    pub(super) const FINISH: u8 = 7;
}

const ALLOCATES: u8 = 8;
const FREES: u8 = 16;
const WAITS: u8 = 32;
const FRAME: u8 = 8;
const SITE: u8 = 16;
