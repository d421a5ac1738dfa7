//! [`Cluster`]: an engine, and the calls that go to it. What users do with it is in `calls`.

use crate::codec;
use crate::current::{self, with_running};
use crate::dask;
use crate::engine::{Call, Engine};
use crate::error::Error;
use crate::key::Key;
use crate::local::Local;
use crate::outcome::{Outcome, Panic, Tagged};
use crate::processes::Processes;
use crate::record;
use crate::registry;
use crate::settings::{Address, Settings};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use std::sync::mpsc::Sender;
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

/// An answer to one of several calls.
pub(crate) type Answer = (usize, Outcome);

impl Cluster {
    /// The cluster of the remote function that calls this. Elsewhere, the oldest cluster of this process that has not
    /// ended.
    ///
    /// Closures that a remote function forks run on other threads, which do not know the function. In a process with
    /// several clusters, get the cluster before you fork, and use it in the closures.
    ///
    /// # Panics
    /// If there is no cluster.
    pub fn current() -> Cluster {
        let engine = current::engine();
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
        current::set_default(&engine);
        Ok(Cluster { _owner: Some(Arc::new(Owner(engine.clone()))), engine })
    }

    /// A cluster that somebody else owns.
    pub(crate) fn of(engine: Arc<dyn Engine>) -> Cluster {
        Cluster { engine, _owner: None }
    }

    pub(crate) fn engine(&self) -> &dyn Engine {
        &*self.engine
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
