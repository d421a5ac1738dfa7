//! [`Error`]: what can go wrong on a cluster, apart from a panic of the function.

use std::fmt;

/// Why a cluster could not start, or could not finish a call.
///
/// A panic of a remote function is not an `Error`: it is a panic at the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The address of a cluster makes no sense.
    Address {
        /// What was given.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The cluster did not start.
    Start(String),
    /// The function is not in the table of remote functions.
    NotRemote(String),
    /// An argument or a result cannot be turned into bytes or back.
    Codec {
        /// The function.
        function: String,
        /// Which of its calls.
        place: String,
        /// What is wrong.
        reason: String,
    },
    /// Workers failed under the call again and again.
    Lost {
        /// The function.
        function: String,
        /// Which of its calls.
        place: String,
        /// How many workers failed under it, and how the last one did.
        reason: String,
    },
    /// A worker runs another build of the program.
    Build(String),
    /// The cluster is gone: its scheduler died, or the connection to it.
    Gone(String),
    /// The caller gave up.
    Cancelled,
    /// The engine cannot do what was asked for.
    Unsupported(String),
    /// The other side said something that this side does not understand.
    Protocol(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Address { text, reason } => {
                write!(f, "`{text}` is not the address of a cluster: {reason}")
            }
            Error::Start(reason) => write!(f, "the cluster did not start: {reason}"),
            Error::NotRemote(function) => write!(
                f,
                "`{function}` is not a remote function: put #[bombyx_cluster::remote] before it, and pass the function itself"
            ),
            Error::Codec { function, place, reason } => write!(f, "`{function}`, {place}: {reason}"),
            Error::Lost { function, place, reason } => write!(f, "`{function}`, {place}, is lost: {reason}"),
            Error::Build(reason) => write!(f, "a worker runs another build: {reason}"),
            Error::Gone(reason) => write!(f, "the cluster is gone: {reason}"),
            Error::Cancelled => write!(f, "the call was cancelled"),
            Error::Unsupported(what) => write!(f, "{what}"),
            Error::Protocol(what) => write!(f, "the other side of the cluster sent {what}"),
        }
    }
}

impl std::error::Error for Error {}
