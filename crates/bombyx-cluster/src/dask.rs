//! The engine `dask`: a Python shim between this program and Dask.distributed. The shim is part of this program; Python and
//! `distributed` must be installed.
//!
//! Dask has the scheduler, the transport, and the workers that come and go, and it runs tasks again when a worker dies.
//! This file only starts the shim, as the client's child or as a worker.

use crate::build;
use crate::engine::Engine;
use crate::error::Error;
use crate::key::Key;
use crate::link::Link;
use crate::outcome::{Reply, Tagged};
use crate::pipe::{self, Frames};
use crate::settings::{Address, Settings};
use crate::wire::{self, Header, PROTOCOL};
use sha1::{Digest, Sha1};
use std::ffi::OsString;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Makes a program a worker of the Dask scheduler at this address.
pub(crate) const WORKER_OF: &str = "BOMBYX_CLUSTER_WORKER";

/// The Python package `bombyx_shim`.
const SHIM: [(&str, &str); 5] = [
    ("__init__.py", include_str!("shim/__init__.py")),
    ("caller.py", include_str!("shim/caller.py")),
    ("client.py", include_str!("shim/client.py")),
    ("frames.py", include_str!("shim/frames.py")),
    ("worker.py", include_str!("shim/worker.py")),
];

/// How long the shim may take to start a local cluster, or to connect.
const START: Duration = Duration::from_secs(120);
/// How long it may take to end everything. It gives itself 11 s.
const END: Duration = Duration::from_secs(15);
/// How long it may say nothing. It reports twice a second, and notices after some 20 s that its scheduler is silent.
const SILENCE: Duration = Duration::from_secs(25);
/// How often this is checked.
const ROUND: Duration = Duration::from_secs(1);

/// The shim and the link to it.
struct Dask {
    link: Arc<Link>,
    /// Whether the workers belong to this process.
    own: bool,
    shim: Arc<Mutex<Child>>,
}

/// Starts the shim and waits until it is connected.
pub(crate) fn connect(address: &Address, settings: &Settings) -> Result<Arc<dyn Engine>, Error> {
    let wrong = |error: std::io::Error| Error::Start(error.to_string());
    let (scheduler, workers, threads) = match address {
        Address::Dask { scheduler } => (scheduler.as_str(), 0, 0),
        Address::DaskLocal { workers, threads } => ("", *workers, *threads),
        _ => unreachable!("other addresses have other engines"),
    };
    let program = if cfg!(target_os = "linux") {
        format!("/proc/{}/exe", std::process::id()).into()
    } else {
        build::program().map_err(wrong)?
    };
    let dashboard = std::env::var("BOMBYX_CLUSTER_DASHBOARD").ok();
    let dashboard = dashboard.map(|port| {
        port.parse::<u16>()
            .map_err(|_| Error::Start(format!("BOMBYX_CLUSTER_DASHBOARD is `{port}`, but must be a port")))
    });
    let options = serde_json::json!({
        "scheduler": scheduler,
        "workers": workers,
        "threads": threads,
        "program": program,
        "build": build::id().map_err(wrong)?,
        "allowed_failures": settings.allowed_failures,
        "patience": settings.patience.as_secs(),
        "dashboard": dashboard.transpose()?,
        "memory": std::env::var("BOMBYX_CLUSTER_MEMORY").unwrap_or_else(|_| "auto".to_owned()),
    });
    let mut command = python("client")?;
    if std::env::var_os("DASK_LOGGING__DISTRIBUTED").is_none() {
        // Dask reports every worker that dies. This crate does so too, where it matters.
        command.env("DASK_LOGGING__DISTRIBUTED", "critical");
    }
    command.arg(options.to_string()).stdin(Stdio::null());
    // The shim must outlive the thread that connects, because the kernel ends it with the thread that starts it.
    let (send, receive) = channel();
    let (heard, hear) = channel();
    std::thread::Builder::new()
        .name("bombyx-cluster-keeper".to_owned())
        .spawn(move || {
            let spawned = pipe::spawn(&mut command).map(|(child, to, frames)| {
                let link = Arc::new(Link::new(to, false));
                (link, Arc::new(Mutex::new(child)), frames)
            });
            let watched = spawned.as_ref().ok().map(|(link, shim, _)| (link.clone(), shim.clone()));
            let _ = send.send(spawned);
            if let Some((link, shim)) = watched {
                watch(&link, &shim, &hear);
            }
        })
        .map_err(wrong)?;
    let spawned = receive.recv().expect("the keeper sends before it ends");
    let (link, shim, frames) =
        spawned.map_err(|error| Error::Start(format!("{}: {error}", interpreter().display())))?;
    let dask = Arc::new(Dask { link: link.clone(), own: scheduler.is_empty(), shim });
    let (ready, began) = channel();
    std::thread::spawn(move || listen(&link, frames, &ready, &heard));
    match began.recv_timeout(START) {
        Ok(Ok(())) => Ok(dask),
        Ok(Err(reason)) => Err(Error::Start(reason)),
        Err(RecvTimeoutError::Disconnected) => Err(Error::Start(format!(
            "{} ended before it was connected; does it have `distributed`? (BOMBYX_PYTHON names another Python)",
            interpreter().display()
        ))),
        Err(RecvTimeoutError::Timeout) => {
            Err(Error::Start(format!("nothing happened for {} s", START.as_secs())))
        }
    }
}

/// Ends the shim if it stands still after it has connected. Returns when the shim has ended.
fn watch(link: &Link, shim: &Mutex<Child>, hear: &Receiver<()>) {
    // Before its first frame, the shim may take its time.
    let Ok(()) = hear.recv() else { return };
    let (mut heard, mut last) = (Instant::now(), Instant::now());
    loop {
        match hear.recv_timeout(ROUND) {
            Ok(()) => heard = Instant::now(),
            Err(RecvTimeoutError::Disconnected) => return,
            // This process itself stood still, and could not hear anybody.
            Err(RecvTimeoutError::Timeout) if last.elapsed() > 3 * ROUND => heard = Instant::now(),
            Err(RecvTimeoutError::Timeout) => {}
        }
        last = Instant::now();
        if heard.elapsed() > SILENCE {
            let reason =
                format!("the process that speaks with Dask said nothing for {} s", SILENCE.as_secs());
            link.lose(&Error::Gone(reason));
            let _ = shim.lock().unwrap_or_else(PoisonError::into_inner).kill();
            return;
        }
    }
}

/// Takes frames from the shim until it ends. The first frame says whether it is connected.
fn listen(link: &Link, mut frames: Frames, ready: &Sender<Result<(), String>>, heard: &Sender<()>) {
    let mut connected = false;
    while let Ok(Some(frame)) = wire::read(&mut frames) {
        let _ = heard.send(());
        match &frame.header {
            Header::Gone { message } if !connected => {
                let _ = ready.send(Err(message.clone()));
                break;
            }
            Header::Hello { protocol, .. } => {
                connected = true;
                let agreed = *protocol == PROTOCOL;
                let _ = ready.send(if agreed {
                    Ok(())
                } else {
                    Err(format!("the shim speaks protocol {protocol}"))
                });
                continue;
            }
            _ => {}
        }
        if let Some(frame) = link.receive(frame) {
            link.lose(&Error::Protocol(format!("{:?}", frame.header)));
            break;
        }
    }
    link.lose(&Error::Gone("the process that speaks with Dask ended".to_owned()));
}

impl Drop for Dask {
    fn drop(&mut self) {
        self.close();
    }
}

impl Engine for Dask {
    fn submit(&self, call: crate::engine::Call, reply: Reply) {
        self.link.submit(call, reply);
    }

    fn keep(&self, call: crate::engine::Call) {
        self.link.keep(call);
    }

    fn put(&self, key: &Key, value: Tagged) {
        self.link.put(key, value);
    }

    fn fetch(&self, key: &Key, reply: Reply) {
        self.link.fetch(key, reply);
    }

    fn release(&self, key: &Key) {
        self.link.release(key);
    }

    fn cancel(&self, key: &Key) {
        self.link.cancel(key);
    }

    fn pause(&self) -> bool {
        self.link.pause()
    }

    fn resume(&self) {
        self.link.resume();
    }

    fn slots(&self) -> usize {
        self.link.slots()
    }

    fn resize(&self, workers: usize) -> Result<(), Error> {
        if !self.own {
            return Err(Error::Unsupported(
                "the workers of a Dask scheduler do not belong to this program: start or end them there"
                    .to_owned(),
            ));
        }
        if workers == 0 {
            return Err(Error::Unsupported("a cluster needs at least one worker".to_owned()));
        }
        self.link.resize(workers)
    }

    fn processes(&self) -> Vec<u32> {
        self.link.processes()
    }

    /// Asks the shim to end everything, and ends the shim if it does not.
    fn close(&self) {
        self.link.close();
        let mut shim = self.shim.lock().unwrap_or_else(PoisonError::into_inner);
        let end = Instant::now() + END;
        while Instant::now() < end && matches!(shim.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = shim.kill();
        let _ = shim.wait();
    }
}

fn interpreter() -> PathBuf {
    std::env::var_os("BOMBYX_PYTHON").unwrap_or_else(|| "python3".into()).into()
}

/// A command that runs the main function of a module of the shim.
fn python(module: &str) -> Result<Command, Error> {
    let folder = unpack().map_err(|error| Error::Start(format!("cannot write the Python shim: {error}")))?;
    let mut command = Command::new(interpreter());
    command.arg("-c").arg(format!("from bombyx_shim import {module}; {module}.main()"));
    let path = std::env::var_os("PYTHONPATH").filter(|path| !path.is_empty());
    let folders = std::iter::once(folder).chain(path.iter().flat_map(std::env::split_paths));
    let joined = std::env::join_paths(folders).map_err(|error| Error::Start(error.to_string()))?;
    command.env("PYTHONPATH", joined);
    Ok(command)
}

/// Writes the shim into a folder of this user, named by its content, and returns the folder.
fn unpack() -> std::io::Result<PathBuf> {
    let caches = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let caches = caches.or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache")));
    let caches = caches.ok_or_else(|| std::io::Error::other("neither HOME nor XDG_CACHE_HOME is set"))?;
    let mut hash = Sha1::new();
    SHIM.iter().for_each(|(name, text)| {
        hash.update(name);
        hash.update(text);
    });
    let hash: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    let folder = caches.join("bombyx").join(format!("shim-{hash}"));
    let package = folder.join("bombyx_shim");
    for (name, text) in SHIM {
        let file = package.join(name);
        if std::fs::read_to_string(&file).is_ok_and(|found| found == text) {
            continue;
        }
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&package)?;
        // Several processes may do this at once. Each puts a whole file in place.
        let part = folder.join(format!(".part-{}-{name}", std::process::id()));
        std::fs::write(&part, text)?;
        std::fs::rename(&part, &file)?;
    }
    Ok(folder)
}

/// Turns this process into a Dask worker whose child is this program. Returns only if that fails.
pub(crate) fn work_for(scheduler: &str, options: impl Iterator<Item = OsString>) -> Result<i32, Error> {
    let program = std::env::current_exe().map_err(|error| Error::Start(error.to_string()))?;
    let scheduler =
        if scheduler.contains("://") { scheduler.to_owned() } else { format!("tcp://{scheduler}") };
    let mut command = python("worker")?;
    command.arg(scheduler).args(options).env("BOMBYX_CLUSTER_PROGRAM", program).env_remove(WORKER_OF);
    let error = command.exec();
    Err(Error::Start(format!("{}: {error}", interpreter().display())))
}

/// Turns this process into a worker of a Dask scheduler, whose child is `program`. Returns only if that fails.
///
/// `options` are those of `dask worker`: threads, memory, certificates. Calls cannot ask for Dask's resources.
pub fn run_worker(scheduler: &str, program: &Path, options: &[OsString]) -> Error {
    let error = Command::new(program).args(options).env(WORKER_OF, scheduler).exec();
    Error::Start(format!("{}: {error}", program.display()))
}
