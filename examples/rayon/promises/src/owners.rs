//! Things that one thread owns: a pool of one thread stands for that thread.

use crate::{Outcome, ensure, pool};
use rayon::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

/// Tasks of a pool of one thread, which wait for another pool.
pub(crate) fn one_thread(threads: usize) -> Outcome {
    const TASKS: usize = 200;
    let owner = pool(threads)?;
    let helpers = Arc::new(pool(2)?);
    let home = owner.install(|| thread::current().id());
    let strayed = Arc::new(AtomicUsize::new(0));
    let (done, ended) = channel();
    for _ in 0..TASKS {
        let (helpers, strayed, done) = (Arc::clone(&helpers), Arc::clone(&strayed), done.clone());
        owner.spawn(move || {
            strayed.fetch_add(usize::from(thread::current().id() != home), SeqCst);
            helpers
                .install(|| (0..64).into_par_iter().for_each(|_| thread::sleep(Duration::from_micros(50))));
            done.send(()).expect("the receiver waits for all");
        });
    }
    drop(done);
    ensure(ended.iter().count() == TASKS, || "a task has panicked".to_string())?;
    let strayed = strayed.load(SeqCst);
    ensure(strayed == 0, || format!("{strayed} of {TASKS} tasks ran on another thread"))
}
