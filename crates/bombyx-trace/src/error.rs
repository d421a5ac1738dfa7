//! [`ReadError`]: why a file is not a trace.

use bombyx_base::trace::MAGIC;
use std::fmt;

/// What is wrong with a trace, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReadError {
    /// The file is empty: the program ended before it wrote.
    Empty,
    /// The file does not begin like a trace.
    NotATrace,
    /// A version that this reader does not know.
    Version(String),
    /// The file stops before its end.
    Truncated,
    /// The checksum is wrong.
    Damaged,
    /// Something that the runtime never writes.
    Absurd {
        /// Where in the file, in bytes.
        at: usize,
        /// What is wrong there.
        reason: String,
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "the trace is empty; the program was stopped before it could write it"),
            Self::NotATrace => write!(f, "this is not a trace; make one with `bombyx trace --format native`"),
            Self::Version(version) => write!(
                f,
                "the trace has version {}, and this program reads version {}; use the `bombyx` that belongs to the \
                 program's runtime",
                quoted(version),
                char::from(MAGIC[MAGIC.len() - 2])
            ),
            Self::Truncated => write!(f, "the trace stops early; is it a part of a file?"),
            Self::Damaged => write!(f, "the checksum is wrong; the trace is damaged"),
            Self::Absurd { at, reason } => {
                let reason = quoted(reason);
                write!(f, "at byte {at}: {reason}; the trace is damaged or was not written by Bombyx")
            }
        }
    }
}

/// What comes from the file, or quotes it. A terminal obeys control characters.
fn quoted(text: &str) -> String {
    text.chars().take(200).map(|one| if one.is_control() { '?' } else { one }).collect()
}

impl std::error::Error for ReadError {}
