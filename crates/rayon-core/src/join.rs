//! `join` and `join_context`. The fork path is the runtime's own, inlined; all that is added is the look whether
//! the global pool must be built first.
//!
//! `join_context` is not inlined into its callers, which are rayon's iterators: they fork seldom, and their leaf loops,
//! in the same function, lose more by sharing registers with a fork than the fork gains (a tenth in an n-body step).
//!
//! As everything here that forks or enters a pool, both are `track_caller`: a profile names the place where they are called.

use crate::builder::ensure_global;
use std::marker::PhantomData;

/// Tells a closure of [`join_context`] how it came to run.
#[derive(Debug)]
pub struct FnContext {
    migrated: bool,
    /// Not `Send`, not `Sync`.
    marker: PhantomData<*mut ()>,
}

impl FnContext {
    #[inline(always)]
    fn new(context: bombyx_core::Context) -> FnContext {
        FnContext { migrated: context.migrated(), marker: PhantomData }
    }

    /// Whether the closure runs elsewhere than where `join_context` was called: always so when that was outside of
    /// a pool, and never inside of a [deterministic](crate::ThreadPoolBuilder::deterministic) one.
    #[inline]
    pub fn migrated(&self) -> bool {
        self.migrated
    }
}

/// Runs both closures, perhaps in parallel, and returns both results.
///
/// The first one runs here; the second one too, after it, unless another thread has taken it by then. In that case
/// this thread waits, and does or runs nothing meanwhile but parts of the second closure.
///
/// # Panics
/// If a closure panics, the other one still comes to its end first. The first closure's panic is preferred.
///
/// ```
/// let mut numbers = [5, 1, 8, 22, 0, 44];
/// let (left, right) = numbers.split_at_mut(3);
/// rayon_core::join(|| left.sort(), || right.sort());
/// assert_eq!(numbers, [1, 5, 8, 0, 22, 44]);
/// ```
#[inline(always)]
#[track_caller]
pub fn join<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    ensure_global();
    bombyx_core::join(oper_a, oper_b)
}

/// Like [`join`], for closures that want to know whether they were taken by another thread.
///
/// ```
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
/// let migrated = pool.install(|| rayon_core::join_context(|a| a.migrated(), |b| b.migrated()));
/// assert_eq!(migrated, (false, false));
/// ```
#[inline(never)]
#[track_caller]
pub fn join_context<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    ensure_global();
    bombyx_core::join_context(
        |context| oper_a(FnContext::new(context)),
        |context| oper_b(FnContext::new(context)),
    )
}
