//! [`ReadError`]: why bytes are not a dag file.

use crate::BuildError;
use std::{fmt, io};

/// What is wrong with a dag file, and where.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// The bytes could not be read.
    Io(io::Error),
    /// The file does not begin like a dag file.
    NotADagFile,
    /// A version that this reader does not know.
    Version(u64),
    /// The file stops early.
    Truncated {
        /// Where it stops.
        offset: u64,
    },
    /// A record of unknown kind or with unknown flags.
    BadRecord {
        /// Where it begins.
        offset: u64,
        /// Its first byte.
        byte: u8,
    },
    /// A number above 2^64 − 1, or spelled with superfluous bytes.
    BadNumber {
        /// Where it begins.
        offset: u64,
    },
    /// A string longer than the format allows.
    LongString {
        /// Where it begins.
        offset: u64,
        /// How long it claims to be.
        length: u64,
    },
    /// A string that is not UTF-8.
    NotUtf8 {
        /// Where it begins.
        offset: u64,
    },
    /// A weight unit that the version does not define.
    UnknownUnit {
        /// Where it is.
        offset: u64,
        /// Its number.
        unit: u64,
    },
    /// A join edge comes from before the first strand, or a strand announces join edges and has none.
    BadJoin {
        /// Where it is.
        offset: u64,
    },
    /// The records break a rule of the model.
    Invalid {
        /// Where the reader noticed.
        offset: u64,
        /// Which rule.
        error: BuildError,
    },
    /// More strands than the caller allows.
    TooManyStrands {
        /// How many that is.
        limit: u64,
    },
    /// More sites or notes than any program has.
    TooManyNames {
        /// Where the first surplus one is.
        offset: u64,
    },
    /// The counts at the end disagree with the records.
    WrongCounts,
    /// The bytes were changed after they were written.
    WrongChecksum,
    /// Bytes after the end.
    TrailingBytes {
        /// Where they begin.
        offset: u64,
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "cannot read: {error}"),
            Self::NotADagFile => {
                write!(f, "this is not a dag file (or a text-mode transfer has changed its line ends)")
            }
            Self::Version(version) => write!(
                f,
                "the file has version {version} of the dag format and this program reads version {}; use a newer one",
                super::VERSION
            ),
            Self::Truncated { offset } => write!(f, "the file stops early, at byte {offset}"),
            Self::BadRecord { offset, byte } => {
                write!(f, "byte {offset} begins an unknown record (0x{byte:02x}); the file is damaged")
            }
            Self::BadNumber { offset } => {
                write!(f, "byte {offset} begins a malformed number; the file is damaged")
            }
            Self::LongString { offset, length } => write!(
                f,
                "byte {offset} begins a string of {length} bytes; at most {} are allowed",
                super::bytes::MAX_STRING
            ),
            Self::NotUtf8 { offset } => write!(f, "the string at byte {offset} is not UTF-8"),
            Self::UnknownUnit { offset, unit } => {
                write!(f, "byte {offset} names an unknown weight unit, {unit}")
            }
            Self::BadJoin { offset } => {
                write!(f, "byte {offset} tells a join edge from a strand that does not exist")
            }
            Self::Invalid { offset, error } => write!(f, "up to byte {offset}: {error}"),
            Self::TooManyStrands { limit } => write!(f, "the file has more than {limit} strands"),
            Self::TooManyNames { offset } => write!(f, "too many sites or notes, from byte {offset} on"),
            Self::WrongCounts => {
                write!(f, "the counts at the end of the file disagree with its records; the file is damaged")
            }
            Self::WrongChecksum => {
                write!(f, "the checksum is wrong; the file was changed after it was written")
            }
            Self::TrailingBytes { offset } => {
                write!(f, "there are bytes after the end, from byte {offset} on")
            }
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            Self::Invalid { error, .. } => Some(error),
            _ => None,
        }
    }
}
