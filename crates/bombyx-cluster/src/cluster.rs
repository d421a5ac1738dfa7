//! [`Cluster`]: what a program calls.

use crate::codec;
use crate::dask;
use crate::engine::{Call, Engine};
use crate::error::Error;
use crate::execute::with_running;
use crate::key::Key;
use crate::local::Local;
use crate::map::Map;
use crate::outcome::{Outcome, Panic, Tagged};
use crate::processes::Processes;
use crate::record;
use crate::registry;
use crate::remote::Remote;
use crate::settings::{Address, Builder, Settings};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::panic::Location;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// A cluster, or its stand-in in this process. Clones are the same cluster; its workers end when the last clone is dropped.
#[derive(Clone)]
pub struct Cluster {
    engine: Arc<dyn Engine>,
    /// Ends the workers. `None` in a remote function, because the cluster belongs to the caller.
    _owner: Option<Arc<Owner>>,
}

struct Owner(Arc<dyn Engine>);

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.close();
        record::finish();
    }
}

static DEFAULT: Mutex<Option<std::sync::Weak<dyn Engine>>> = Mutex::new(None);

/// Makes this cluster the current one wherever there is no other, unless an older one still is.
pub(crate) fn set_default(cluster: &Cluster) {
    let mut default = DEFAULT.lock().unwrap_or_else(PoisonError::into_inner);
    if default.as_ref().is_none_or(|engine| engine.strong_count() == 0) {
        *default = Some(Arc::downgrade(&cluster.engine));
    }
}

/// Starts the cluster that `BOMBYX_CLUSTER` names. Default: `local`. Call it first in `main`.
///
/// In a process that was started as a worker, this works for the cluster and never returns. So what follows the call
/// happens only in the client.
///
/// # Errors
/// If the address makes no sense, or if the cluster does not start.
pub fn start() -> Result<Cluster, Error> {
    crate::work_if_worker();
    Cluster::builder().start()
}

/// An answer to one of several calls.
pub(crate) type Answer = (usize, Outcome);

impl Cluster {
    /// A cluster with other settings than those of the environment.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The cluster of the remote function that calls this. Elsewhere, the oldest cluster of this process that has not
    /// ended.
    ///
    /// Closures that a remote function forks run on other threads, which do not know the function. In a process with
    /// several clusters, get the cluster before you fork, and use it in the closures.
    ///
    /// # Panics
    /// If there is no cluster.
    pub fn current() -> Cluster {
        if let Some(cluster) = with_running(|running| running.map(|running| running.cluster.clone())) {
            return cluster;
        }
        let default = DEFAULT.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let engine = default.and_then(|engine| engine.upgrade());
        Cluster::of(
            engine.expect("there is no cluster: call bombyx_cluster::start first, and keep what it returns"),
        )
    }

    pub(crate) fn connect(address: &Address, settings: &Settings) -> Result<Cluster, Error> {
        let engine: Arc<dyn Engine> = match address {
            Address::Local { slots } => Local::start(*slots),
            Address::Processes { workers, threads } => Processes::start(*workers, *threads, settings)?,
            Address::DaskLocal { .. } | Address::Dask { .. } => dask::connect(address, settings)?,
        };
        let cluster = Cluster { _owner: Some(Arc::new(Owner(engine.clone()))), engine };
        set_default(&cluster);
        Ok(cluster)
    }

    /// A cluster that somebody else owns.
    pub(crate) fn of(engine: Arc<dyn Engine>) -> Cluster {
        Cluster { engine, _owner: None }
    }

    pub(crate) fn engine(&self) -> &dyn Engine {
        &*self.engine
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
        self.engine.keep(call);
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
        self.engine.put(&key, Tagged::value(bytes));
        Ok(Remote::new(self, key))
    }

    /// How many calls run at a time, as far as known.
    pub fn slots(&self) -> usize {
        self.engine.slots()
    }

    /// Starts or ends workers of this cluster until there are this many. Workers of `processes` first finish what they
    /// run. Workers of `dask-local` may leave calls, which then run again elsewhere.
    ///
    /// # Errors
    /// If the engine does not own its workers.
    pub fn resize(&self, workers: usize) -> Result<(), Error> {
        self.engine.resize(workers)
    }

    /// The worker processes of this cluster on this machine, as far as known. Tests kill them.
    pub fn processes(&self) -> Vec<u32> {
        self.engine.processes()
    }

    /// Submits a call whose answer goes to `to` with a number.
    pub(crate) fn submit(&self, call: Call, number: usize, to: &Sender<Answer>) {
        let to = to.clone();
        // If the receiver no longer listens, nobody wants the answer.
        self.engine.submit(call, Box::new(move |outcome| drop(to.send((number, outcome)))));
    }

    /// Waits. Meanwhile another call has this one's slot, and another closure has its processor.
    pub(crate) fn wait<R>(&self, f: impl FnOnce() -> R) -> R {
        let began = Instant::now();
        let paused = self.engine.pause();
        let result = bombyx::blocking(f);
        if paused {
            self.engine.resume();
        }
        with_running(|running| {
            if let Some(running) = running {
                running.waited += began.elapsed();
            }
        });
        result
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
        region.end();
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
        self.keys.iter().for_each(|key| self.cluster.engine.cancel(key));
    }
}

/// A call of the function, ready to submit.
pub(crate) fn prepare<F: 'static, A: Serialize>(_: &F, argument: &A, place: String) -> Result<Call, Error> {
    let function = registry::name_of::<F>()?;
    let (argument, needs) = codec::encode(argument).map_err(|error| Error::Codec {
        function: function.to_owned(),
        place: place.clone(),
        reason: format!("the argument cannot be written: {error}"),
    })?;
    let depth = with_running(|running| running.map_or(0, |running| running.depth + 1));
    Ok(Call { key: Key::new(function), function: function.to_owned(), argument, needs, depth, place })
}

/// The value of a result.
#[track_caller]
pub(crate) fn open<R: DeserializeOwned>(result: &Tagged, function: &str, place: &str) -> Result<R, Error> {
    match result.open() {
        Ok(bytes) => codec::decode(bytes).map_err(|reason| Error::Codec {
            function: function.to_owned(),
            place: place.to_owned(),
            reason: format!("the result cannot be read: {reason}"),
        }),
        Err(panic) => rethrow(function, place, &panic),
    }
}

/// Resumes a panic that began in a remote function.
#[track_caller]
pub(crate) fn rethrow(function: &str, place: &str, panic: &Panic) -> ! {
    panic!(
        "{}\nin the remote function `{function}`, {place}\nremote backtrace:\n{}",
        panic.message,
        panic.backtrace.trim_end()
    )
}
