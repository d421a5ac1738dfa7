//! [`Key`]: the name of a call and of its result. It is unique on the cluster.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// The function's name, a random number of this process, and a count. Dask's dashboard groups calls by the part before `-`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Key(Arc<str>);

impl Key {
    /// A key that nobody has used.
    pub(crate) fn new(function: &str) -> Key {
        static PROCESS: OnceLock<u64> = OnceLock::new();
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let process = PROCESS.get_or_init(|| RandomState::new().hash_one(std::process::id()));
        Key(format!("{function}-{process:016x}-{}", COUNT.fetch_add(1, Relaxed)).into())
    }

    /// The function's name.
    pub(crate) fn function(&self) -> &str {
        self.0.rsplitn(3, '-').last().unwrap_or_default()
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Key {
    fn from(text: &str) -> Key {
        Key(text.into())
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
