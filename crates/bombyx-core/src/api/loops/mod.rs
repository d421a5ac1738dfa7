//! Parallel loops that find their grain by themselves.
//!
//! **Not here:** parallel iterators. They are in the crate `bombyx`, and use [`plumbing`].
//!
//! Lazy binary splitting (Tzannes, Caragea, Barua and Vishkin, "Lazy binary-splitting: a run-time adaptive
//! work-stealing scheduler", PPoPP 2010): a loop runs block by block. Between blocks, it splits the rest in two if its
//! processor has no entry that a thief could take, and if the rest is worth a thief's effort. The first block has one
//! iteration. Blocks grow until they take two microseconds ([`pace`]). So a loop with a cheap body spends little time
//! between blocks, and a loop with an expensive body is shared promptly.
//!
//! The way through this file:
//!
//! 1. [`for_each`] and [`map_reduce`] call [`reduce_positions`], which numbers the iterations from 0.
//! 2. If the iterations were short when the loop last ran, [`Body::alone`] runs the first blocks on the calling thread,
//!    without looking for thieves, because waking a thief costs more than a thousand additions. Otherwise the loop asks for
//!    help at once.
//! 3. [`plumbing::enter`] enters a pool, if the thread is not in one.
//! 4. [`Body::lazy`] runs blocks, and forks where somebody wants work. [`plumbing::fork`] is a `join`.
//!
//! With [`crate::Builder::deterministic`], the tree of halves depends only on the number of iterations. So results that
//! depend on the order of combination (sums of floats) are the same in every run.
//!
//! In a profiled pool, only the clock decides how a loop is split (`profile::Loop`). So the profile shows the loop,
//! and not the splits that thieves happened to ask for.

pub(crate) mod integer;
mod pace;
#[doc(hidden)]
pub mod plumbing;
pub(crate) mod stop;

use crate::machine::current;
use integer::{Integer, parts};
use pace::{BlockClock, Costs, Cuts, Pace};
use plumbing::LoopSite;
use std::mem::needs_drop;
use std::ops::Range;
use stop::{FirstError, Never, Stop};

/// Calls `f` for every number of the range, in parallel where that helps.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// let sum = AtomicUsize::new(0);
/// bombyx::for_each(0..1000, |i| { sum.fetch_add(i, Ordering::Relaxed); });
/// assert_eq!(sum.into_inner(), 499_500);
/// ```
///
/// The range may have any integer type:
///
/// ```
/// use std::sync::atomic::{AtomicI64, Ordering};
/// let sum = AtomicI64::new(0);
/// bombyx::for_each(-1000i64..10, |i| { sum.fetch_add(i, Ordering::Relaxed); });
/// assert_eq!(sum.into_inner(), -500_455);
/// ```
#[track_caller]
pub fn for_each<N, F>(range: Range<N>, f: F)
where
    N: Integer,
    F: Fn(N) + Sync,
{
    reduce_at(LoopSite::for_each(), range, f, || (), |(), ()| ());
}

/// Maps every number of the range and combines the results in order. `combine` must be associative, with `identity` as
/// its neutral element. The range may have any integer type.
///
/// ```
/// let squares = bombyx::map_reduce(0..100, |i| i * i, || 0, |a, b| a + b);
/// assert_eq!(squares, 328_350);
/// ```
#[track_caller]
pub fn map_reduce<N, T, M, I, C>(range: Range<N>, map: M, identity: I, combine: C) -> T
where
    N: Integer,
    T: Send,
    M: Fn(N) -> T + Sync,
    I: Fn() -> T + Sync,
    C: Fn(T, T) -> T + Sync,
{
    reduce_at(LoopSite::map_reduce(), range, map, identity, combine)
}

/// Like [`for_each`], until `f` fails. Returns the error that the serial loop would return: that of the first number for
/// which `f` fails.
///
/// All numbers before that one are passed to `f`. Some numbers after it may be, too.
///
/// # Errors
/// If `f` fails.
///
/// ```
/// let words = ["1", "2", "three", "four"];
/// let parsed = bombyx::try_for_each(0..words.len(), |i| match words[i].parse::<u32>() {
///     Ok(_) => Ok(()),
///     Err(_) => Err(words[i]),
/// });
/// assert_eq!(parsed, Err("three"));
/// ```
#[track_caller]
pub fn try_for_each<N, F, E>(range: Range<N>, f: F) -> Result<(), E>
where
    N: Integer,
    F: Fn(N) -> Result<(), E> + Sync,
    E: Send,
{
    let site = LoopSite::for_each();
    for (start, count) in parts(range) {
        let stop = FirstError::new();
        let map = |position| f(start.plus(position)).inspect_err(|_| stop.note(position));
        reduce_positions(site, count, map, || Ok(()), |first, second| first.and(second), &stop)?;
    }
    Ok(())
}

/// [`map_reduce`], with its forks at `site`.
#[inline]
fn reduce_at<N: Integer, T: Send>(
    site: LoopSite,
    range: Range<N>,
    map: impl Fn(N) -> T + Sync,
    identity: impl Fn() -> T + Sync,
    combine: impl Fn(T, T) -> T + Sync,
) -> T {
    let part = |(start, count): (N, usize)| {
        reduce_positions(site, count, |position| map(start.plus(position)), &identity, &combine, &Never)
    };
    parts(range).map(part).reduce(&combine).unwrap_or_else(&identity)
}

/// Maps the positions from 0 to `count`, and combines the results, until `stop` says that no more are needed.
#[inline]
pub(crate) fn reduce_positions<T, M, I, C, S>(
    site: LoopSite,
    count: usize,
    map: M,
    identity: I,
    combine: C,
    stop: &S,
) -> T
where
    T: Send,
    M: Fn(usize) -> T + Sync,
    I: Fn() -> T + Sync,
    C: Fn(T, T) -> T + Sync,
    S: Stop,
{
    let body =
        Body { site, clock: BlockClock::get(), map: &map, identity: &identity, combine: &combine, stop };
    body.begin(0..count)
}

struct Body<'a, M, I, C, S> {
    site: LoopSite,
    clock: BlockClock,
    map: &'a M,
    identity: &'a I,
    combine: &'a C,
    stop: &'a S,
}

impl<T, M, I, C, S> Body<'_, M, I, C, S>
where
    T: Send,
    M: Fn(usize) -> T + Sync,
    I: Fn() -> T + Sync,
    C: Fn(T, T) -> T + Sync,
    S: Stop,
{
    fn begin(&self, range: Range<usize>) -> T {
        let cuts = Cuts::of_pool(range.len(), needs_drop::<T>());
        let short = cuts.is_none() && Costs::are_short(self.site.key(), self.clock);
        if !(short && (current::processor().is_some() || plumbing::lends())) {
            return plumbing::enter(self.site, || self.start(range));
        }
        let (first, rest, pace) = self.alone(range);
        if self.is_over(&rest) {
            return first;
        }
        plumbing::enter(self.site, || self.lazy(rest, first, pace))
    }

    /// In a pool.
    fn start(&self, range: Range<usize>) -> T {
        match Cuts::of_pool(range.len(), needs_drop::<T>()) {
            Some(cuts) => self.planned(range, &cuts),
            None => self.lazy(range, (self.identity)(), Pace::UNKNOWN),
        }
    }

    /// Runs blocks without looking for thieves, until the rest is known to be worth sharing. Returns their result, the
    /// rest, and the pace.
    fn alone(&self, mut range: Range<usize>) -> (T, Range<usize>, Pace) {
        let (mut sum, mut pace, mut spent) = ((self.identity)(), Pace::UNKNOWN, 0);
        while !self.is_over(&range) {
            if spent > self.clock.block / 4 && pace.is_worth_sharing(range.len(), self.clock) {
                return (sum, range, pace);
            }
            sum = self.block(&mut range, sum, &mut pace);
            spent += pace.ticks;
        }
        Costs::note(self.site.key(), pace);
        (sum, range, pace)
    }

    /// Runs one block, and takes it off the front of the range.
    #[inline]
    fn block(&self, range: &mut Range<usize>, sum: T, pace: &mut Pace) -> T {
        let block = range.start..range.start + pace.block.min(range.len());
        range.start = block.end;
        let (count, start) = (block.len(), self.clock.now());
        let sum = self.serial(block, sum);
        *pace = Pace::after(count, self.clock.now().wrapping_sub(start), self.clock);
        sum
    }

    /// A plain loop, and the only place that calls `map`. A closure with one caller is inlined here even if it is large,
    /// so the compiler can vectorise the loop.
    #[inline(never)]
    fn serial(&self, range: Range<usize>, first: T) -> T {
        let mut sum = first;
        for position in range {
            if self.stop.is_reached(position) {
                break;
            }
            sum = (self.combine)(sum, (self.map)(position));
        }
        sum
    }

    /// Runs blocks, and splits when somebody wants work. `sum` is the result of what came before the range.
    fn lazy(&self, mut range: Range<usize>, mut sum: T, mut pace: Pace) -> T {
        while !self.is_over(&range) {
            let worth = range.len() > 1 && pace.is_worth_sharing(range.len(), self.clock);
            if worth && nothing_to_steal() {
                let middle = range.start + range.len() / 2;
                let (left, right) = plumbing::fork(
                    self.site,
                    || self.lazy(range.start..middle, sum, pace),
                    |_| self.lazy(middle..range.end, (self.identity)(), pace),
                );
                return (self.combine)(left, right);
            }
            sum = self.block(&mut range, sum, &mut pace);
        }
        Costs::note(self.site.key(), pace);
        sum
    }

    /// Whether nothing of the range needs to run.
    #[inline]
    fn is_over(&self, range: &Range<usize>) -> bool {
        range.is_empty() || self.stop.is_reached_by_block(range.start)
    }

    /// Splits where `cuts` says, whether or not somebody wants work.
    fn planned(&self, range: Range<usize>, cuts: &Cuts) -> T {
        if self.is_over(&range) {
            return (self.identity)();
        }
        if !cuts.cut(range.len()) {
            return cuts.piece(range.len(), || self.serial(range, (self.identity)()));
        }
        let middle = range.start + range.len() / 2;
        let (left, right) = plumbing::fork(
            self.site,
            || self.planned(range.start..middle, cuts),
            |_| self.planned(middle..range.end, cuts),
        );
        (self.combine)(left, right)
    }
}

/// Returns whether the processor has no entry that a thief could take. If it has one, a waiting thief gets it here.
///
/// If there is no entry, this does not answer the thief: that would send it away, although the fork that follows serves it.
fn nothing_to_steal() -> bool {
    current::processor().is_none_or(|processor| {
        if !processor.deque.looks_empty() {
            processor.poll();
        }
        processor.deque.looks_empty()
    })
}
