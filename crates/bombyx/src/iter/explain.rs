//! `explain`: what a loop did.

use super::modes::{Change, Planned};
use super::plumbing::UnindexedConsumer;
use super::{ParallelIterator, delegate};
use bombyx_core::current_processor;
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// What a loop did. From [`ParallelIterator::explain`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Explanation {
    /// How often a part of the loop was cut in two because somebody wanted work.
    pub splits: u64,
    /// How many of the halves another processor took.
    pub steals: u64,
    /// How many blocks there were.
    pub blocks: u64,
    /// The items of all blocks. For strings, bytes.
    pub items: u64,
    /// The items of an average block.
    pub grain: f64,
    /// For every processor that took part: its index, and its share of the time that all processors spent in blocks.
    pub shares: Vec<(usize, f64)>,
    /// The largest share divided by an equal share. 1 means perfectly balanced.
    pub imbalance: f64,
    /// The time from beginning to end.
    pub elapsed: Duration,
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} items in {} blocks (grain {:.1}), {} splits, {} steals, {} processors, imbalance {:.2}, {:?}",
            self.items,
            self.blocks,
            self.grain,
            self.splits,
            self.steals,
            self.shares.len(),
            self.imbalance,
            self.elapsed
        )
    }
}

/// What the runs of a loop report.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    splits: AtomicU64,
    steals: AtomicU64,
    blocks: AtomicU64,
    items: AtomicU64,
    /// Ticks by processor.
    ticks: Mutex<Vec<(usize, u64)>>,
}

/// One run.
pub(crate) struct Visit<'a> {
    trace: &'a Trace,
    blocks: u64,
    items: u64,
    ticks: u64,
}

impl Trace {
    pub(crate) fn begin_run(&self) -> Visit<'_> {
        Visit { trace: self, blocks: 0, items: 0, ticks: 0 }
    }

    pub(crate) fn steal(&self) {
        self.steals.fetch_add(1, Relaxed);
    }

    fn explanation(&self, elapsed: Duration) -> Explanation {
        let mut ticks = lock(&self.ticks).clone();
        ticks.sort_unstable();
        let all: u64 = ticks.iter().map(|&(_, ticks)| ticks).sum();
        let shares: Vec<_> =
            ticks.iter().map(|&(index, ticks)| (index, ticks as f64 / all.max(1) as f64)).collect();
        let largest = shares.iter().map(|&(_, share)| share).fold(0.0, f64::max);
        let (blocks, items) = (self.blocks.load(Relaxed), self.items.load(Relaxed));
        Explanation {
            splits: self.splits.load(Relaxed),
            steals: self.steals.load(Relaxed),
            blocks,
            items,
            grain: items as f64 / blocks.max(1) as f64,
            imbalance: largest * shares.len() as f64,
            shares,
            elapsed,
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Visit<'_> {
    pub(crate) fn split(&mut self) {
        self.trace.splits.fetch_add(1, Relaxed);
        // The frame of the run stays while both halves run. What it has done so far belongs to the processor that did
        // it.
        self.report();
    }

    pub(crate) fn block(&mut self, items: usize, ticks: u64) {
        self.blocks += 1;
        self.items += items as u64;
        self.ticks += ticks;
    }

    fn report(&mut self) {
        if self.blocks == 0 {
            return;
        }
        self.trace.blocks.fetch_add(std::mem::take(&mut self.blocks), Relaxed);
        self.trace.items.fetch_add(std::mem::take(&mut self.items), Relaxed);
        let (index, spent) = (current_processor().unwrap_or(0), std::mem::take(&mut self.ticks));
        let mut ticks = lock(&self.trace.ticks);
        match ticks.iter_mut().find(|(known, _)| *known == index) {
            Some((_, ticks)) => *ticks += spent,
            None => ticks.push((index, spent)),
        }
    }
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        self.report();
    }
}

/// From [`ParallelIterator::explain`].
#[derive(Clone)]
#[must_use = "iterators do nothing unless they are used"]
pub struct Explain<I, F> {
    pub(crate) base: I,
    pub(crate) tell: F,
}

delegate::debug!(Explain<I> [F] base);

impl<I, F> ParallelIterator for Explain<I, F>
where
    I: ParallelIterator,
    F: FnOnce(Explanation) + Send,
{
    type Item = I::Item;

    fn drive_unindexed<C: UnindexedConsumer<I::Item>>(self, consumer: C) -> C::Result {
        let (trace, start) = (Trace::default(), Instant::now());
        let result = self.base.drive_unindexed(Planned { base: consumer, change: Change::Trace(&trace) });
        (self.tell)(trace.explanation(start.elapsed()));
        result
    }

    fn opt_len(&self) -> Option<usize> {
        self.base.opt_len()
    }
}
