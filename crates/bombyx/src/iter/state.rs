//! `with_state`: one value for each processor that takes part.

use super::plumbing::{Consumer, Extent, UnindexedConsumer, as_base};
use super::{ParallelIterator, delegate};
use std::mem;
use std::sync::{Mutex, MutexGuard};

/// A parallel iterator whose closures share a value per processor. From [`ParallelIterator::with_state`].
#[derive(Clone)]
#[must_use = "iterators do nothing unless they are used"]
pub struct WithState<I, INIT> {
    pub(crate) base: I,
    pub(crate) init: INIT,
}

delegate::debug!(WithState<I> [INIT] base);

impl<I, S, INIT> WithState<I, INIT>
where
    I: ParallelIterator,
    INIT: Fn() -> S + Sync + Send,
    S: Send,
{
    /// Calls `op` for every item, and hands the values back.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let sums = (0..100u64).into_par_iter().with_state(|| 0).for_each(|sum, n| *sum += n);
    /// assert_eq!(sums.into_iter().sum::<u64>(), 4950);
    /// ```
    #[track_caller]
    pub fn for_each<F>(self, op: F) -> Vec<S>
    where
        F: Fn(&mut S, I::Item) + Sync + Send,
    {
        let mut states = Vec::new();
        self.map(op).hand_back(&mut states).for_each(drop);
        states
    }

    /// Maps every item with `op`.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let mut scratches = Vec::new();
    /// let lengths: Vec<usize> = (0..100usize).into_par_iter()
    ///     .with_state(Vec::new)
    ///     .map(|scratch, n| { scratch.clear(); scratch.resize(n, 0u8); scratch.len() })
    ///     .hand_back(&mut scratches)
    ///     .collect();
    /// assert_eq!(lengths[99], 99);
    /// assert!(!scratches.is_empty());
    /// ```
    pub fn map<'s, F, R>(self, op: F) -> MapState<'s, I, S, INIT, F>
    where
        S: 's,
        F: Fn(&mut S, I::Item) -> R + Sync + Send,
        R: Send,
    {
        MapState { base: self.base, init: self.init, op, states: None }
    }
}

/// From [`WithState::map`].
#[must_use = "iterators do nothing unless they are used"]
pub struct MapState<'s, I, S, INIT, F> {
    base: I,
    init: INIT,
    op: F,
    states: Option<&'s mut Vec<S>>,
}

impl<I: std::fmt::Debug, S, INIT, F> std::fmt::Debug for MapState<'_, I, S, INIT, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MapState").field("base", &self.base).finish_non_exhaustive()
    }
}

impl<I, S, INIT, F> MapState<'_, I, S, INIT, F> {
    /// Puts the values into `states` when the loop has ended.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// let mut buffers = Vec::new();
    /// let lengths: Vec<usize> = (0..100)
    ///     .into_par_iter()
    ///     .with_state(String::new)
    ///     .map(|buffer, i: u32| {
    ///         buffer.clear();
    ///         buffer.push_str(&i.to_string());
    ///         buffer.len()
    ///     })
    ///     .hand_back(&mut buffers)
    ///     .collect();
    /// assert_eq!(lengths[9..11], [1, 2]);
    /// assert!(!buffers.is_empty());
    /// ```
    pub fn hand_back(self, states: &mut Vec<S>) -> MapState<'_, I, S, INIT, F> {
        MapState { base: self.base, init: self.init, op: self.op, states: Some(states) }
    }
}

impl<I, S, INIT, F, R> ParallelIterator for MapState<'_, I, S, INIT, F>
where
    I: ParallelIterator,
    INIT: Fn() -> S + Sync + Send,
    S: Send,
    F: Fn(&mut S, I::Item) -> R + Sync + Send,
    R: Send,
{
    type Item = R;

    fn drive_unindexed<C: UnindexedConsumer<R>>(self, consumer: C) -> C::Result {
        let idle = Mutex::new(Vec::new());
        let stateful = Stateful { base: consumer, init: self.init, op: self.op, idle: &idle };
        let result = self.base.drive_unindexed(stateful);
        if let Some(states) = self.states {
            states.append(&mut lock(&idle));
        }
        result
    }

    fn opt_len(&self) -> Option<usize> {
        self.base.opt_len()
    }
}

fn lock<S>(idle: &Mutex<Vec<S>>) -> MutexGuard<'_, Vec<S>> {
    idle.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// A run takes a value that no other run has, and gives it back at its end. So there are as many values as there were runs
/// at a time. If closures neither join nor block, a processor has one run at a time. A closure that waits, for the
/// other half of a join or for anything else, keeps the value of its run, and meanwhile its processor may begin another
/// run.
struct Stateful<'s, C, S, INIT, F> {
    base: C,
    init: INIT,
    op: F,
    idle: &'s Mutex<Vec<S>>,
}

/// A run's value. It goes back when the run ends, even by a panic.
struct Taken<'s, S> {
    state: Option<S>,
    idle: &'s Mutex<Vec<S>>,
}

impl<S> Drop for Taken<'_, S> {
    fn drop(&mut self) {
        lock(self.idle).extend(mem::take(&mut self.state));
    }
}

impl<'s, T, C, S, INIT, F, R> Consumer<T> for Stateful<'s, C, S, INIT, F>
where
    C: Consumer<R>,
    INIT: Fn() -> S + Sync + Send,
    S: Send,
    F: Fn(&mut S, T) -> R + Sync + Send,
    R: Send,
{
    type Folder = (Taken<'s, S>, C::Folder);
    type Result = C::Result;

    fn start(&self, extent: Extent) -> Self::Folder {
        let idle = lock(self.idle).pop();
        let state = Some(idle.unwrap_or_else(&self.init));
        (Taken { state, idle: self.idle }, self.base.start(extent))
    }
    #[inline]
    fn consume_iter<I: Iterator<Item = T>>(
        &self,
        (mut taken, folder): Self::Folder,
        iter: I,
    ) -> Self::Folder {
        let state = taken.state.as_mut().expect("taken until the end");
        let folder = self.base.consume_iter(folder, iter.map(|item| (self.op)(state, item)));
        (taken, folder)
    }
    fn complete(&self, (taken, folder): Self::Folder) -> C::Result {
        drop(taken);
        self.base.complete(folder)
    }
    fn narrow(&self, (_, folder): &mut Self::Folder, end: usize) {
        self.base.narrow(folder, end);
    }
    fn full(&self, (_, folder): &Self::Folder) -> bool {
        self.base.full(folder)
    }
    as_base!(results);
}
