//! Ordinary iterators that several processors take from ([`ParallelBridge`]).
//!
//! While there is only one run, it takes items straight from the iterator, as an ordinary loop does. Before a second run
//! joins, the first one takes a batch and compares two times: how long did the iterator need to supply the batch, and how
//! long did the loop need to use it up? The iterator supplies one batch at a time. So if supplying takes longer than using,
//! nobody can help, and the first run goes on alone for a while. Otherwise both runs take batches from then on.
//!
//! An iterator that promises no items has no batches: it may wait until its earlier items have been used. So runs take single
//! items from it, and disturb each other with each one. Help pays only if using an item takes longer than that.

use super::ParallelIterator;
use super::driver::{Source, drive};
use super::plumbing::{Folder, UnindexedConsumer};
use super::supply::{LARGEST, cut_batch};
use bombyx_core::loop_plumbing::BlockClock;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Mutex, MutexGuard};

/// Makes parallel iterators from ordinary ones. See [`par_bridge`](ParallelBridge::par_bridge).
pub trait ParallelBridge: Sized {
    /// A parallel iterator over the items of this ordinary one. Processors take batches from it by turns.
    ///
    /// The items come in any order. If order matters, see [`par_stream`](super::ParallelStream::par_stream).
    ///
    /// A batch has no more items than the iterator promises by its [`size_hint`](Iterator::size_hint). If it promises none, as
    /// the receiver of a channel does, each item is used before the same processor takes the next one. So such an iterator may
    /// wait until the items that it has yielded are used.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// (0..10).for_each(|i| sender.send(i).unwrap());
    /// drop(sender);
    /// assert_eq!(receiver.into_iter().par_bridge().map(|i| i * i).sum::<i32>(), 285);
    /// ```
    fn par_bridge(self) -> IterBridge<Self>;
}

impl<I: Iterator<Item: Send> + Send> ParallelBridge for I {
    fn par_bridge(self) -> IterBridge<I> {
        IterBridge { iter: self }
    }
}

/// From [`ParallelBridge::par_bridge`].
#[derive(Clone, Debug)]
#[must_use = "iterators do nothing unless they are used"]
pub struct IterBridge<I> {
    iter: I,
}

impl<I: Iterator<Item: Send> + Send> ParallelIterator for IterBridge<I> {
    type Item = I::Item;

    fn drive_unindexed<C: UnindexedConsumer<I::Item>>(self, consumer: C) -> C::Result {
        let left = AtomicUsize::new(upper_bound(&self.iter));
        let shared = Shared {
            left,
            clock: BlockClock::get(),
            promises: AtomicBool::new(self.iter.size_hint().0 > 0),
            together: AtomicBool::new(false),
            trial: AtomicUsize::new(NEW),
            iter: Mutex::new(Some(self.iter)),
        };
        drive(Bridged::More(&shared), &consumer)
    }
}

fn upper_bound<I: Iterator>(iter: &I) -> usize {
    iter.size_hint().1.unwrap_or(usize::MAX).min(usize::MAX / 2)
}

/// An ordinary iterator that processors take from by turns. `None` if it has ended.
struct Shared<I> {
    iter: Mutex<Option<I>>,
    /// How many items it may still have.
    left: AtomicUsize,
    /// Whether it promises another item.
    promises: AtomicBool,
    clock: BlockClock,
    /// Whether more than one run takes items.
    together: AtomicBool,
    /// While one run takes items: after how many further blocks it may try a batch, or one of the following.
    trial: AtomicUsize,
}

/// No item has been taken yet. The loop wants help from the beginning only if its items are not known to be short.
const NEW: usize = usize::MAX;
/// The next block is a trial.
const TRY: usize = usize::MAX - 1;
/// A trial has shown that help is welcome.
const HELPS: usize = usize::MAX - 2;
/// For how many blocks a loop that nobody can help stays alone.
const ALONE: usize = 256;
/// For how many blocks a loop with short items stays alone before the first trial.
const FIRST: usize = 8;
/// How many single items a trial takes at most.
const TRIED: usize = 16;

impl<I: Iterator<Item: Send>> Shared<I> {
    /// Puts the iterator back that was taken from this place, unless it has ended. An iterator that panics never comes
    /// back.
    fn put_back(&self, iter: I, ended: bool, mut place: MutexGuard<'_, Option<I>>) {
        self.left.store(if ended { 0 } else { upper_bound(&iter) }, Relaxed);
        self.promises.store(iter.size_hint().0 > 0, Relaxed);
        if !ended {
            *place = Some(iter);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<I>> {
        self.iter.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The next items: as many as the iterator promises, but at most `count`. If it promises none, the next one. To supply a
    /// further item, the iterator may have to wait until this one is used.
    fn pull(&self, count: usize) -> Vec<I::Item> {
        let mut place = self.lock();
        let Some(mut iter) = place.take() else { return Vec::new() };
        let count = count.min(iter.size_hint().0).max(1);
        let mut batch = Vec::with_capacity(count);
        iter.by_ref().take(count).for_each(|item| batch.push(item));
        self.put_back(iter, batch.len() < count, place);
        batch
    }

    /// The next item.
    fn next(&self) -> Option<I::Item> {
        let mut place = self.lock();
        let mut iter = place.take()?;
        let item = iter.next();
        self.put_back(iter, item.is_none(), place);
        item
    }

    /// Whether another run may join.
    fn share(&self) -> bool {
        match self.trial.load(Relaxed) {
            NEW | HELPS => {
                self.together.store(true, Relaxed);
                true
            }
            TRY => false,
            0 => {
                self.trial.store(TRY, Relaxed);
                false
            }
            blocks => {
                self.trial.store(blocks - 1, Relaxed);
                false
            }
        }
    }

    /// Uses up to `count` items of the iterator, and learns from the time of that whether others can help.
    fn attempt<F: Folder<I::Item>>(&self, mut iter: I, count: usize, mut folder: F) -> F {
        let promised = count.min(iter.size_hint().0);
        let (mut supplying, mut using, mut ended) = (0, 0, false);
        if promised > 0 {
            let start = self.clock.now();
            let batch: Vec<_> = iter.by_ref().take(promised).collect();
            let supplied = self.clock.now();
            ended = batch.len() < promised;
            folder = folder.consume_iter(batch);
            supplying = supplied.wrapping_sub(start);
            using = self.clock.now().wrapping_sub(supplied);
        } else {
            // Taking turns at the iterator costs each item some hundred nanoseconds; a block takes two microseconds.
            let turn = self.clock.block / 6;
            for _ in 0..count {
                let start = self.clock.now();
                let Some(item) = iter.next() else {
                    ended = true;
                    break;
                };
                let supplied = self.clock.now();
                folder = folder.consume(item);
                supplying += supplied.wrapping_sub(start) + turn;
                using += self.clock.now().wrapping_sub(supplied);
                if folder.full() {
                    break;
                }
            }
        }
        self.trial.store(if supplying <= using { HELPS } else { ALONE }, Relaxed);
        self.put_back(iter, ended, self.lock());
        folder
    }
}

/// The iterator, or items from it.
enum Bridged<'a, I: Iterator> {
    More(&'a Shared<I>),
    /// This many items, not yet taken. Only while one run takes items.
    Next(&'a Shared<I>, usize),
    /// Like `Next`, to learn whether others can help.
    Trial(&'a Shared<I>, usize),
    /// This many items, not yet taken, while several runs take single items.
    Each(&'a Shared<I>, usize),
    Batch(Vec<I::Item>),
}

impl<I: Iterator<Item: Send> + Send> Source for Bridged<'_, I> {
    type Item = I::Item;

    fn weight(&self) -> usize {
        match self {
            Bridged::More(shared) => shared.left.load(Relaxed),
            Bridged::Next(_, count) | Bridged::Trial(_, count) | Bridged::Each(_, count) => *count,
            Bridged::Batch(items) => items.len(),
        }
    }

    fn cut(self, weight: usize) -> (Self, Option<Self>) {
        let shared = match self {
            Bridged::More(shared) => shared,
            Bridged::Batch(items) => {
                let (items, rest) = cut_batch(items, weight);
                return (Bridged::Batch(items), rest.map(Bridged::Batch));
            }
            Bridged::Next(..) | Bridged::Trial(..) | Bridged::Each(..) => return (self, None),
        };
        let count = weight.clamp(1, LARGEST);
        if shared.left.load(Relaxed) == 0 {
            return (Bridged::Batch(Vec::new()), None);
        }
        let promises = shared.promises.load(Relaxed);
        let block = if shared.together.load(Relaxed) {
            if promises {
                // Runs should seldom meet at the iterator, but end at the same time.
                return self.batch((4 * count).min(shared.left.load(Relaxed) / 16).clamp(1, LARGEST));
            }
            Bridged::Each(shared, count)
        } else if shared.trial.load(Relaxed) == TRY {
            Bridged::Trial(shared, if promises { count } else { count.min(TRIED) })
        } else {
            Bridged::Next(shared, count)
        };
        (block, Some(Bridged::More(shared)))
    }

    fn batch(self, weight: usize) -> (Self, Option<Self>) {
        let Bridged::More(shared) = self else { return self.cut(weight) };
        let batch = shared.pull(weight);
        let rest = (!batch.is_empty()).then_some(self);
        (Bridged::Batch(batch), rest)
    }

    fn halve(self) -> (Self, Option<Self>) {
        match self {
            Bridged::More(shared) => (self, shared.share().then_some(Bridged::More(shared))),
            Bridged::Batch(_) => {
                let half = self.weight() / 2;
                self.cut(half)
            }
            all => (all, None),
        }
    }

    fn has_positions(&self) -> bool {
        false
    }

    fn fold_with<F: Folder<I::Item>>(self, mut folder: F) -> F {
        match self {
            Bridged::Batch(items) => folder.consume_iter(items),
            Bridged::Next(shared, count) => {
                // Nobody else wants it, so the lock is not held while the items are used.
                let Some(mut iter) = shared.lock().take() else { return folder };
                if shared.trial.load(Relaxed) == NEW {
                    shared.trial.store(FIRST, Relaxed);
                }
                let mut taken = 0;
                folder = folder.consume_iter(iter.by_ref().take(count).inspect(|_| taken += 1));
                shared.put_back(iter, taken < count && !folder.full(), shared.lock());
                folder
            }
            Bridged::Trial(shared, count) => {
                // As in `Next`.
                let Some(iter) = shared.lock().take() else { return folder };
                shared.attempt(iter, count, folder)
            }
            Bridged::Each(shared, count) => {
                for _ in 0..count {
                    let Some(item) = shared.next() else { break };
                    folder = folder.consume(item);
                    if folder.full() {
                        break;
                    }
                }
                folder
            }
            Bridged::More(shared) => loop {
                let batch = shared.pull(64);
                if batch.is_empty() || folder.full() {
                    return folder;
                }
                folder = folder.consume_iter(batch);
            },
        }
    }
}
