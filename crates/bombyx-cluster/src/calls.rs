//! What users do with a [`Cluster`]: calls of remote functions.

use crate::builder::Builder;
use crate::cluster::{Cluster, open, prepare, rethrow};
use crate::codec;
use crate::engine::Call;
use crate::error::Error;
use crate::key::Key;
use crate::map::Map;
use crate::outcome::Tagged;
use crate::record;
use crate::remote::Remote;
use crate::worker::work_if_worker;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::panic::Location;
use std::sync::mpsc::channel;

/// Starts the cluster that `BOMBYX_CLUSTER` names. Default: `local`. Call it first in `main`.
///
/// In a process that was started as a worker, this works for the cluster and never returns. So what follows the call
/// happens only in the client.
///
/// # Errors
/// If the address makes no sense, or if the cluster does not start.
pub fn start() -> Result<Cluster, Error> {
    work_if_worker();
    Cluster::builder().start()
}

impl Cluster {
    /// A cluster with other settings than those of the environment.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Calls a remote function and waits for its result.
    ///
    /// ```
    /// #[bombyx_cluster::remote]
    /// fn double(n: u64) -> u64 { 2 * n }
    ///
    /// let cluster = bombyx_cluster::start()?;
    /// assert_eq!(cluster.call(double, 21)?, 42);
    /// # Ok::<(), bombyx_cluster::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the function is not remote, if the call is lost, or if the cluster is gone.
    ///
    /// # Panics
    /// If the function panics, with its message and backtrace.
    #[track_caller]
    pub fn call<F, A, R>(&self, function: F, argument: A) -> Result<R, Error>
    where
        F: Fn(A) -> R + 'static,
        A: Serialize,
        R: DeserializeOwned,
    {
        let at = Location::caller();
        let call = prepare(&function, &argument, format!("the call at {}:{}", at.file(), at.line()))?;
        let (name, place) = (call.function.clone(), call.place.clone());
        let [result] = self.gather([call])?;
        open(&result, &name, &place)
    }

    /// Calls two remote functions at the same time and waits for both.
    ///
    /// ```
    /// #[bombyx_cluster::remote]
    /// fn double(n: u64) -> u64 { 2 * n }
    /// #[bombyx_cluster::remote]
    /// fn shout(text: String) -> String { text.to_uppercase() }
    ///
    /// let cluster = bombyx_cluster::start()?;
    /// let (n, text) = cluster.join((double, 21), (shout, "silk".to_owned()))?;
    /// assert_eq!((n, &*text), (42, "SILK"));
    /// # Ok::<(), bombyx_cluster::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`call`](Self::call). If one half fails, the other is cancelled.
    ///
    /// # Panics
    /// If one of the functions panics.
    #[track_caller]
    pub fn join<F, A, RA, G, B, RB>(&self, a: (F, A), b: (G, B)) -> Result<(RA, RB), Error>
    where
        F: Fn(A) -> RA + 'static,
        G: Fn(B) -> RB + 'static,
        A: Serialize,
        B: Serialize,
        RA: DeserializeOwned,
        RB: DeserializeOwned,
    {
        let at = Location::caller();
        let place = |half: &str| format!("the {half} half of the join at {}:{}", at.file(), at.line());
        let first = prepare(&a.0, &a.1, place("first"))?;
        let second = prepare(&b.0, &b.1, place("second"))?;
        let names =
            [(first.function.clone(), first.place.clone()), (second.function.clone(), second.place.clone())];
        let [first, second] = self.gather([first, second])?;
        Ok((open(&first, &names[0].0, &names[0].1)?, open(&second, &names[1].0, &names[1].1)?))
    }

    /// Calls a remote function with every item. The results come in the order of the items, as an iterator that works ahead:
    /// see [`Map`].
    ///
    /// ```
    /// #[bombyx_cluster::remote]
    /// fn double(n: u64) -> u64 { 2 * n }
    ///
    /// let cluster = bombyx_cluster::start()?;
    /// let doubled: Vec<u64> = cluster.map(double, 0..4).collect::<Result<_, _>>()?;
    /// assert_eq!(doubled, [0, 2, 4, 6]);
    /// # Ok::<(), bombyx_cluster::Error>(())
    /// ```
    #[track_caller]
    pub fn map<F, R, I>(&self, function: F, items: I) -> Map<F, R, I::IntoIter>
    where
        F: Fn(I::Item) -> R + 'static,
        I: IntoIterator,
        I::Item: Serialize,
        R: DeserializeOwned,
    {
        Map::new(self, function, items.into_iter(), Location::caller())
    }

    /// Calls a remote function with every item and combines the results here, in the order of the items.
    ///
    /// ```
    /// #[bombyx_cluster::remote]
    /// fn double(n: u64) -> u64 { 2 * n }
    ///
    /// let cluster = bombyx_cluster::start()?;
    /// assert_eq!(cluster.map_reduce(double, 0..4, 0, |a, b| a + b)?, 12);
    /// # Ok::<(), bombyx_cluster::Error>(())
    /// ```
    ///
    /// # Errors
    /// The first one of the calls; those that have not ended are cancelled.
    ///
    /// # Panics
    /// If the function panics.
    #[track_caller]
    pub fn map_reduce<F, R, I, C>(&self, function: F, items: I, identity: R, combine: C) -> Result<R, Error>
    where
        F: Fn(I::Item) -> R + 'static,
        I: IntoIterator,
        I::Item: Serialize,
        R: DeserializeOwned,
        C: Fn(R, R) -> R,
    {
        let mut map = Map::new(self, function, items.into_iter(), Location::caller());
        map.try_fold(identity, |sum, result| Ok(combine(sum, result?)))
    }

    /// Calls a remote function and leaves its result where it is made. Does not wait.
    ///
    /// # Errors
    /// If the function is not remote or its argument cannot be written. [`Remote::get`] reports everything else that
    /// goes wrong.
    #[track_caller]
    pub fn keep<F, A, R>(&self, function: F, argument: A) -> Result<Remote<R>, Error>
    where
        F: Fn(A) -> R + 'static,
        A: Serialize,
    {
        let at = Location::caller();
        let call = prepare(&function, &argument, format!("the kept call at {}:{}", at.file(), at.line()))?;
        let key = call.key.clone();
        self.engine().keep(call);
        Ok(Remote::new(self, key))
    }

    /// Puts a value on the cluster once, for many calls to refer to.
    ///
    /// # Errors
    /// If the value cannot be written, or contains a `Remote`.
    pub fn put<T: Serialize>(&self, value: &T) -> Result<Remote<T>, Error> {
        let wrong = |reason: String| Error::Codec {
            function: "put".to_owned(),
            place: std::any::type_name::<T>().to_owned(),
            reason,
        };
        let (bytes, needs) = codec::encode(value).map_err(|error| wrong(error.to_string()))?;
        if !needs.is_empty() {
            return Err(wrong("the value holds a `Remote`".to_owned()));
        }
        let key = Key::new("put");
        self.engine().put(&key, Tagged::value(bytes));
        Ok(Remote::new(self, key))
    }

    /// Submits the calls and waits for all of them. The first failure cancels the others.
    #[track_caller]
    fn gather<const N: usize>(&self, calls: [Call; N]) -> Result<[Tagged; N], Error> {
        let region = record::Region::begin(&calls[0].function);
        let labels =
            calls.each_ref().map(|call| (call.key.clone(), call.function.clone(), call.place.clone()));
        let bytes = calls.each_ref().map(|call| call.argument.len());
        let (to, answers) = channel();
        for (number, call) in calls.into_iter().enumerate() {
            self.submit(call, number, &to);
        }
        let rest = Rest { cluster: self, keys: labels.iter().map(|label| label.0.clone()).collect() };
        let mut results = [const { None }; N];
        for _ in 0..N {
            let (number, outcome) = self.wait(|| answers.recv()).unwrap_or((0, Err(Error::Cancelled)));
            let tagged = outcome?;
            let (key, function, place) = &labels[number];
            if let Err(panic) = tagged.open() {
                drop(rest);
                rethrow(function, place, &panic);
            }
            region.call(key, bytes[number], &tagged);
            results[number] = Some(tagged);
        }
        drop(region);
        std::mem::forget(rest);
        Ok(results.map(|result| result.expect("every call has one answer")))
    }
}

/// Cancels calls when it is dropped.
struct Rest<'a> {
    cluster: &'a Cluster,
    keys: Vec<Key>,
}

impl Drop for Rest<'_> {
    fn drop(&mut self) {
        self.keys.iter().for_each(|key| self.cluster.engine().cancel(key));
    }
}
