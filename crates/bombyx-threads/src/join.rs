//! `join` and `join_context`. The fork path is the runtime's own, inlined. Only one check is added: whether the global
//! pool must be built first.
//!
//! `join_context` is not inlined into its callers, which are rayon's iterators. They fork seldom. Their leaf loops, in
//! the same function, lose more by sharing registers with a fork than the fork gains (a tenth in an n-body step).
//!
//! Like everything here that forks or enters a pool, both are `track_caller`, so a profile names the place where they
//! are called.

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

    /// Whether the closure runs on another thread than the one that called `join_context`. Always true for a call from
    /// outside a pool, and always false in a [deterministic](crate::ThreadPoolBuilder::deterministic) pool.
    #[inline]
    pub fn migrated(&self) -> bool {
        self.migrated
    }
}

/// Runs both closures, perhaps in parallel, and returns both results.
///
/// The first closure runs here. The second also runs here, after the first, unless another thread has taken it by then.
/// In that case this thread waits, and runs parts of the second closure meanwhile. With
/// [moving threads](crate::ThreadPoolBuilder::moving_threads) it runs nothing else. With fixed threads, the default, it
/// also runs other tasks if no other thread comes for them.
///
/// # Panics
/// If a closure panics, the other one still runs to its end first. If both panic, the first closure's panic is resumed.
///
/// ```
/// let mut numbers = [5, 1, 8, 22, 0, 44];
/// let (left, right) = numbers.split_at_mut(3);
/// bombyx_threads::join(|| left.sort(), || right.sort());
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

/// Like [`join`], for closures that want to know whether another thread has taken them.
///
/// ```
/// let pool = bombyx_threads::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
/// let migrated = pool.install(|| bombyx_threads::join_context(|a| a.migrated(), |b| b.migrated()));
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
