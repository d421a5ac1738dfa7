//! Why a pool could not be built.

use std::error::Error;
use std::fmt;
use std::io;

/// Why a pool could not be built.
#[derive(Debug)]
pub struct ThreadPoolBuildError(Kind);

#[derive(Debug)]
enum Kind {
    GlobalPoolExists,
    CurrentThreadInPool,
    Io(io::Error),
}

impl From<bombyx_core::Error> for ThreadPoolBuildError {
    fn from(error: bombyx_core::Error) -> ThreadPoolBuildError {
        ThreadPoolBuildError(match error {
            bombyx_core::Error::GlobalPoolExists => Kind::GlobalPoolExists,
            bombyx_core::Error::CurrentThreadInPool => Kind::CurrentThreadInPool,
            bombyx_core::Error::Thread(error) => Kind::Io(error),
            other => Kind::Io(io::Error::new(io::ErrorKind::InvalidInput, other)),
        })
    }
}

impl ThreadPoolBuildError {
    pub(crate) fn global_pool_exists() -> ThreadPoolBuildError {
        ThreadPoolBuildError(Kind::GlobalPoolExists)
    }
}

impl Error for ThreadPoolBuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0 {
            Kind::Io(error) => Some(error),
            Kind::GlobalPoolExists | Kind::CurrentThreadInPool => None,
        }
    }
}

impl fmt::Display for ThreadPoolBuildError {
    /// The first two messages are those of the original, because programs compare them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::GlobalPoolExists => f.write_str("The global thread pool has already been initialized."),
            Kind::CurrentThreadInPool => {
                f.write_str("The current thread is already part of another thread pool.")
            }
            Kind::Io(error) => error.fmt(f),
        }
    }
}
