//! [`Remote`]: a result that stays where it was made.

use crate::cluster::{Cluster, open};
use crate::codec;
use crate::error::Error;
use crate::key::Key;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// The result of a call, kept on the node that made it.
///
/// It is there, or will be: [`Cluster::keep`] does not wait. Put it into the arguments of other calls, and it goes
/// directly to the nodes that run them. [`get`](Self::get) fetches it to the caller. It is forgotten when the last
/// clone is dropped.
///
/// A remote function may get and pass on the `Remote`s in its argument, and may make its own, but may not return one.
///
/// ```
/// use bombyx_cluster::{Cluster, Remote, remote};
///
/// #[remote]
/// fn squares(n: u64) -> Vec<u64> {
///     (0..n).map(|i| i * i).collect()
/// }
///
/// #[remote]
/// fn sum((of, offset): (Remote<Vec<u64>>, u64)) -> u64 {
///     offset + of.get().unwrap().iter().sum::<u64>()
/// }
///
/// let cluster = Cluster::builder().address("local:2").start()?;
/// let squares = cluster.keep(squares, 4)?;                  // stays there
/// assert_eq!(cluster.call(sum, (squares, 100))?, 114);      // only the sum comes back
/// # Ok::<(), bombyx_cluster::Error>(())
/// ```
pub struct Remote<T> {
    held: Arc<Held>,
    of: PhantomData<fn() -> T>,
}

struct Held {
    key: Key,
    /// `None` in a remote function that got it as an argument, because the caller owns it.
    owner: Option<Cluster>,
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(cluster) = &self.owner {
            cluster.engine().release(&self.key);
        }
    }
}

impl<T> Remote<T> {
    pub(crate) fn new(cluster: &Cluster, key: Key) -> Self {
        Self { held: Arc::new(Held { key, owner: Some(cluster.clone()) }), of: PhantomData }
    }

    /// Its name on the cluster.
    pub fn key(&self) -> &Key {
        &self.held.key
    }
}

impl<T: DeserializeOwned> Remote<T> {
    /// Fetches the value. Waits until it is there.
    ///
    /// # Errors
    /// If the call that makes it was lost, or the cluster is gone.
    ///
    /// # Panics
    /// If the function that makes it panicked.
    #[track_caller]
    pub fn get(&self) -> Result<T, Error> {
        let cluster = match &self.held.owner {
            Some(cluster) => cluster.clone(),
            None => Cluster::current(),
        };
        let (send, receive) = std::sync::mpsc::channel();
        cluster.engine().fetch(&self.held.key, Box::new(move |outcome| drop(send.send(outcome))));
        let outcome = cluster.wait(|| receive.recv()).unwrap_or(Err(Error::Cancelled))?;
        open(&outcome, self.held.key.function(), "a result that stays on its node")
    }
}

impl<T> Clone for Remote<T> {
    fn clone(&self) -> Self {
        Self { held: self.held.clone(), of: PhantomData }
    }
}

impl<T> fmt::Debug for Remote<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Remote({})", self.held.key)
    }
}

impl<T> Serialize for Remote<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        codec::need(&self.held.key);
        self.held.key.serialize(serializer)
    }
}

impl<'de, T> Deserialize<'de> for Remote<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let key = Key::deserialize(deserializer)?;
        Ok(Self { held: Arc::new(Held { key, owner: None }), of: PhantomData })
    }
}
