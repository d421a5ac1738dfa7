//! Programs that hang, overflow or fail on the original rayon-core, by the numbers of its issues.
//!
//! Each test forces the bad interleaving with flags instead of hoping for it. So it always fails there
//! (`scripts/rayon-suite --upstream --suites issues` shows that), and must always pass here if threads move.

mod buried;
mod par_bridge;
mod stack;

use std::ops::Not;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Something that others wait for.
#[derive(Default)]
struct Flag(AtomicBool);

impl Flag {
    fn raise(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Waits like a task that computes: without telling the pool.
    fn wait(&self) {
        while !self.0.load(Ordering::Acquire) {
            thread::yield_now();
        }
    }
}

/// Runs `test`, and fails if it hangs. The limit is for failures only: nothing depends on it when the test passes.
fn must_end<R: Send + 'static>(test: impl FnOnce() -> R + Send + 'static) -> R {
    let (sender, receiver) = mpsc::channel();
    let thread = thread::spawn(move || {
        let result = test();
        // The receiver is gone if the limit has passed.
        let _ = sender.send(());
        result
    });
    if let Err(mpsc::RecvTimeoutError::Timeout) = receiver.recv_timeout(Duration::from_secs(100)) {
        panic!("the test hangs");
    }
    thread.join().unwrap_or_else(|payload| std::panic::resume_unwind(payload))
}

/// The original has one kind of pool, and no such method. On Bombyx, the method of the builder comes first.
#[allow(dead_code)]
trait MovingThreads: Sized {
    fn moving_threads(self, _moving: bool) -> Self {
        self
    }
}

impl MovingThreads for rayon_core::ThreadPoolBuilder {}

/// A pool whose threads move, unless `BOMBYX_THREADS=fixed`. With fixed threads most of these tests cannot pass: what
/// a task waits for can begin only on a thread that itself waits. docs/rayon.md says for each what holds there.
fn pool(threads: usize) -> rayon_core::ThreadPool {
    let moving = std::env::var("BOMBYX_THREADS").is_ok_and(|threads| threads == "fixed").not();
    rayon_core::ThreadPoolBuilder::new().num_threads(threads).moving_threads(moving).build().unwrap()
}
