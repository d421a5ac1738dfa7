//! `PerProcessor`: values that closures take turns with, one for each closure that runs at the same time.
//!
//! Processors move between threads, and a closure that waits may go on with another processor. So a value belongs to
//! the running closure, not to the processor: [`PerProcessor::with`] takes a value out, and puts it back when the
//! closure has ended. There is one shelf per processor, so that a processor usually finds the value that it used last,
//! still in its cache. A closure that finds its shelf empty looks at the others before it makes a new value.
//! Therefore there are never more values than closures that were inside [`PerProcessor::with`] at the same time.

use crate::api::pool::{current_processor, processor_count};
use crate::system::primitive::lock;
use std::fmt;
use std::sync::Mutex;

/// Values of which each running closure gets one to itself: scratch buffers, tallies, handles. They are made when
/// needed, and can be collected at the end.
///
/// ```
/// use bombyx::PerProcessor;
/// let tallies = PerProcessor::new(|| [0usize; 10]);
/// bombyx::for_each(0..100_000, |n| tallies.with(|tally| tally[n % 10] += 1));
/// let mut total = [0; 10];
/// for tally in tallies {
///     (0..10).for_each(|digit| total[digit] += tally[digit]);
/// }
/// assert_eq!(total, [10_000; 10]);
/// ```
///
/// In a loop without nested forks there is at most one value for each processor that took part. If the closure forks, or
/// blocks, other closures that call [`PerProcessor::with`] may run meanwhile, and get other values.
///
/// Do not use [`current_processor`] as an index instead: it may change across any `join`, `scope` or
/// [`blocking`](crate::blocking).
pub struct PerProcessor<T, F = fn() -> T> {
    shelves: Box<[Shelf<T>]>,
    make: F,
}

/// On its own cache lines, so that processors do not disturb each other.
#[repr(align(128))]
struct Shelf<T>(Mutex<Vec<T>>);

impl<T, F> PerProcessor<T, F>
where
    T: Send,
    F: Fn() -> T + Sync,
{
    /// No values yet. `make` makes them when they are needed.
    pub fn new(make: F) -> PerProcessor<T, F> {
        let processors =
            processor_count().or_else(|| std::thread::available_parallelism().ok().map(usize::from));
        let shelves = (0..processors.unwrap_or(1)).map(|_| Shelf(Mutex::new(Vec::new()))).collect();
        PerProcessor { shelves, make }
    }

    /// Calls `f` with a value. No other closure has this value until `f` has ended, whatever `f` does.
    ///
    /// If `f` panics, its value is kept as `f` left it.
    pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        let value = self.take().unwrap_or_else(&self.make);
        let mut taken = Taken { value: Some(value), of: self };
        f(taken.value.as_mut().expect("the value goes back when this ends"))
    }

    /// A value from the shelf of the caller's processor, or else from any shelf.
    fn take(&self) -> Option<T> {
        let own = self.own();
        let (before, after) = self.shelves.split_at(own);
        after.iter().chain(before).find_map(|shelf| lock(&shelf.0).pop())
    }
}

impl<T, F> PerProcessor<T, F> {
    /// The number of the caller's shelf. Threads outside of all pools share the first one.
    fn own(&self) -> usize {
        current_processor().unwrap_or(0) % self.shelves.len()
    }

    /// Takes all values out.
    ///
    /// ```
    /// let mut counts = bombyx::PerProcessor::new(|| 0u64);
    /// bombyx::for_each(0..1000, |_| counts.with(|count| *count += 1));
    /// assert_eq!(counts.drain().sum::<u64>(), 1000);
    /// assert_eq!(counts.drain().count(), 0);
    /// ```
    pub fn drain(&mut self) -> impl Iterator<Item = T> + '_ {
        self.shelves
            .iter_mut()
            .flat_map(|shelf| shelf.0.get_mut().unwrap_or_else(|poisoned| poisoned.into_inner()).drain(..))
    }
}

/// The values, in no particular order.
impl<T, F> IntoIterator for PerProcessor<T, F> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(mut self) -> std::vec::IntoIter<T> {
        self.drain().collect::<Vec<T>>().into_iter()
    }
}

impl<T, F> fmt::Debug for PerProcessor<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let idle: usize = self.shelves.iter().map(|shelf| lock(&shelf.0).len()).sum();
        f.debug_struct("PerProcessor").field("idle", &idle).finish_non_exhaustive()
    }
}

/// A value that a closure has. It goes back when the closure ends, even by a panic.
struct Taken<'a, T, F> {
    value: Option<T>,
    of: &'a PerProcessor<T, F>,
}

impl<T, F> Drop for Taken<'_, T, F> {
    fn drop(&mut self) {
        lock(&self.of.shelves[self.of.own()].0).extend(self.value.take());
    }
}
