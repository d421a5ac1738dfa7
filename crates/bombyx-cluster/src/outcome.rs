//! What becomes of a call: [`Tagged`] bytes of the function, or an [`Error`] of the cluster.
//!
//! Engines pass the bytes on and never look into them. They begin with a tag (did the function return or panic?) and
//! the time that the function took. So a panic travels like a result, and nobody runs the function again because of it.

use crate::error::Error;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// How a call ended.
pub(crate) type Outcome = Result<Tagged, Error>;

/// Receives an outcome. Called once, on any thread. Must not block.
pub(crate) type Reply = Box<dyn FnOnce(Outcome) + Send>;

const VALUE: u8 = 0;
const PANIC: u8 = 1;
const HEAD: usize = 9;

/// The result of a function or its panic, as bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tagged(Arc<Vec<u8>>);

/// What a function said when it panicked, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Panic {
    pub(crate) message: String,
    pub(crate) backtrace: String,
}

impl Tagged {
    /// A result.
    pub(crate) fn value(mut bytes: Vec<u8>) -> Tagged {
        bytes.splice(0..0, [VALUE; HEAD]);
        Tagged(Arc::new(bytes))
    }

    pub(crate) fn panic(panic: &Panic) -> Tagged {
        let bytes = postcard::to_stdvec(panic).expect("two strings can be written");
        let mut tagged = Tagged::value(bytes);
        Arc::make_mut(&mut tagged.0)[0] = PANIC;
        tagged
    }

    /// Adds the time that the function took.
    pub(crate) fn took(mut self, time: Duration) -> Tagged {
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        Arc::make_mut(&mut self.0)[1..HEAD].copy_from_slice(&nanoseconds.to_le_bytes());
        self
    }

    /// What arrived from another process.
    pub(crate) fn from_bytes(bytes: Vec<u8>) -> Result<Tagged, Error> {
        match bytes.first() {
            Some(&(VALUE | PANIC)) if bytes.len() >= HEAD => Ok(Tagged(Arc::new(bytes))),
            _ => Err(Error::Protocol("a result without a head".to_owned())),
        }
    }

    /// All bytes, for another process.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        Arc::unwrap_or_clone(self.0)
    }

    /// How many bytes the value has.
    pub(crate) fn len(&self) -> usize {
        self.0.len() - HEAD
    }

    /// The time that the function took.
    pub(crate) fn time(&self) -> Duration {
        Duration::from_nanos(u64::from_le_bytes(self.0[1..HEAD].try_into().expect("eight bytes")))
    }

    /// The bytes of the value, or the panic.
    pub(crate) fn open(&self) -> Result<&[u8], Panic> {
        match self.0[0] {
            VALUE => Ok(&self.0[HEAD..]),
            _ => Err(postcard::from_bytes(&self.0[HEAD..]).unwrap_or_else(|error| Panic {
                message: format!("a panic that cannot be read: {error}"),
                backtrace: String::new(),
            })),
        }
    }
}
