//! A thread that calls a function again and again, until its owner is dropped.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use std::{io, mem, process};

/// See the module text.
pub(super) struct Ticker {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
    /// The process that has the thread.
    process: u32,
}

impl Ticker {
    /// Calls `tick` at once, and again after the time that `tick` returns. At the end it calls `end`.
    pub(super) fn start<S: Send + 'static>(
        name: &str,
        mut state: S,
        mut tick: impl FnMut(&mut S) -> Duration + Send + 'static,
        end: impl FnOnce(S) + Send + 'static,
    ) -> io::Result<Ticker> {
        let (stop, stopped) = mpsc::channel();
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
            loop {
                let pause = tick(&mut state);
                if stopped.recv_timeout(pause) != Err(RecvTimeoutError::Timeout) {
                    return end(state);
                }
            }
        })?;
        Ok(Ticker { stop: Some(stop), thread: Some(thread), process: process::id() })
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        if process::id() != self.process {
            // In a child of fork(2) there is no such thread. Its result never comes, and `join` would panic.
            return mem::forget((self.stop.take(), self.thread.take()));
        }
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // The thread may wait until the processor that the caller holds has finished, so the caller gives it away while it
            // blocks. If the thread panicked, the panic hook has said so.
            let _ = bombyx_core::blocking(|| thread.join());
        }
    }
}
