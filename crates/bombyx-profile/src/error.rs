//! [`ReadError`]: why a file is not a profile.

use crate::VERSION;
use std::{fmt, io};

/// What is wrong with a profile, and what to do about it.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// The bytes could not be read.
    Io(io::Error),
    /// The file is empty: the program ended before it wrote.
    Empty,
    /// More bytes than any profile has.
    TooLong,
    /// The file stops before its end.
    Truncated,
    /// Not JSON, or not with the fields of a profile.
    Malformed {
        /// Where and what.
        reason: String,
    },
    /// JSON, but without the field that marks profiles.
    NotAProfile,
    /// A version that this reader does not know.
    Version(u64),
    /// A number or text that no program can have produced.
    Absurd {
        /// Which field.
        field: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "cannot read: {error}"),
            Self::Empty => {
                write!(f, "the profile is empty; the program was stopped before it could write it")
            }
            Self::TooLong => {
                write!(
                    f,
                    "the file is longer than {} MiB and no profile is; is it another file?",
                    crate::MAX_BYTES >> 20
                )
            }
            Self::Truncated => {
                write!(f, "the profile stops early; the program was stopped while it wrote it")
            }
            Self::Malformed { reason } => write!(f, "this is not a profile: {reason}"),
            Self::NotAProfile => {
                write!(
                    f,
                    "this is JSON but not a profile: it has no field `bombyx_profile`; make one with `bombyx profile -o`"
                )
            }
            Self::Version(version) => write!(
                f,
                "the profile has version {version} and this program reads version {VERSION}; use the `bombyx` that \
                 belongs to the program's runtime"
            ),
            Self::Absurd { field, reason } => {
                write!(f, "`{field}` {reason}; the profile is damaged or was not written by Bombyx")
            }
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}
