//! Joins, scopes and loops that stop early when a [token](CancelToken) says so.
//!
//! Nothing here is on the path of a plain fork. These calls ask the token before each closure, and before each iteration.
//! What has not started is dropped; what has started goes on, and can ask the token itself.

use crate::api::join::join_at;
use crate::api::loops::integer::{Integer, parts};
use crate::api::loops::plumbing::LoopSite;
use crate::api::loops::reduce_positions;
use crate::api::loops::stop::Stop;
use crate::api::scope::{Scope, scope_until};
use crate::api::token::{CancelToken, Cancelled};
use crate::profile::{Kind, Site};
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

impl CancelToken {
    /// Like [`join`](crate::join()), unless the token is cancelled before both closures have started.
    ///
    /// # Errors
    /// If a closure was not started. The result of the other one is dropped.
    ///
    /// ```
    /// use bombyx::{CancelToken, Cancelled};
    /// let token = CancelToken::new();
    /// assert_eq!(token.join(|| 1, || 2), Ok((1, 2)));
    /// token.cancel();
    /// assert_eq!(token.join(|| 1, || 2), Err(Cancelled));
    /// ```
    #[track_caller]
    pub fn join<A, B, RA, RB>(&self, a: A, b: B) -> Result<(RA, RB), Cancelled>
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.check()?;
        let second = |_| self.check().ok().map(|()| b());
        match join_at(Site::here(Kind::Join), |_| a(), second) {
            (ra, Some(rb)) => Ok((ra, rb)),
            (_, None) => Err(Cancelled),
        }
    }

    /// Like [`scope`](crate::scope()), until the token is cancelled. From then on, no closure of the scope starts, and all
    /// that have not started are dropped. [`Scope::cancel`] cancels this scope alone.
    ///
    /// # Errors
    /// If the body or a spawned closure was not started. The result of the body is dropped.
    ///
    /// ```
    /// use bombyx::{CancelToken, Cancelled};
    /// let pool = bombyx::Pool::builder().processors(1).build()?;
    /// let result = pool.run(|| CancelToken::new().scope(|s| {
    ///     s.spawn(|_| unreachable!("the only processor is busy with the body"));
    ///     s.cancel();
    /// }));
    /// assert_eq!(result, Err(Cancelled));
    /// # Ok::<(), bombyx::Error>(())
    /// ```
    #[track_caller]
    pub fn scope<'scope, F, R>(&self, f: F) -> Result<R, Cancelled>
    where
        F: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        self.check()?;
        let (result, complete) = scope_until(Site::here(Kind::Scope), Some(self), f);
        if complete { Ok(result) } else { Err(Cancelled) }
    }

    /// Like [`for_each`](crate::for_each), until the token is cancelled. From then on, no iteration starts.
    ///
    /// # Errors
    /// If an iteration was not started.
    #[track_caller]
    pub fn for_each<N, F>(&self, range: Range<N>, f: F) -> Result<(), Cancelled>
    where
        N: Integer,
        F: Fn(N) + Sync,
    {
        self.reduce(LoopSite::for_each(), range, f, || (), |(), ()| ())
    }

    /// Like [`map_reduce`](crate::map_reduce), until the token is cancelled. From then on, no iteration starts.
    ///
    /// # Errors
    /// If an iteration was not started. The results of the others are dropped.
    #[track_caller]
    pub fn map_reduce<N, T, M, I, C>(
        &self,
        range: Range<N>,
        map: M,
        identity: I,
        combine: C,
    ) -> Result<T, Cancelled>
    where
        N: Integer,
        T: Send,
        M: Fn(N) -> T + Sync,
        I: Fn() -> T + Sync,
        C: Fn(T, T) -> T + Sync,
    {
        self.reduce(LoopSite::map_reduce(), range, map, identity, combine)
    }

    fn reduce<N: Integer, T: Send>(
        &self,
        site: LoopSite,
        range: Range<N>,
        map: impl Fn(N) -> T + Sync,
        identity: impl Fn() -> T + Sync,
        combine: impl Fn(T, T) -> T + Sync,
    ) -> Result<T, Cancelled> {
        let stop = Until { token: self, skipped: AtomicBool::new(false) };
        let mut sum = None;
        for (start, count) in parts(range) {
            let map = |position| map(start.plus(position));
            let next = reduce_positions(site, count, map, &identity, &combine, &stop);
            if stop.skipped.load(Relaxed) {
                return Err(Cancelled);
            }
            sum = Some(match sum {
                Some(sum) => combine(sum, next),
                None => next,
            });
        }
        Ok(sum.unwrap_or_else(identity))
    }
}

/// Stops a loop when the token is cancelled, and notes that something was left out.
struct Until<'a> {
    token: &'a CancelToken,
    skipped: AtomicBool,
}

impl Until<'_> {
    /// Relaxed: the loop reads the note when all its parts have been joined.
    fn skip(&self) -> bool {
        self.skipped.store(true, Relaxed);
        true
    }
}

impl Stop for Until<'_> {
    #[inline(always)]
    fn is_reached(&self, _: usize) -> bool {
        self.token.is_known_cancelled() && self.skip()
    }

    #[inline]
    fn is_reached_by_block(&self, _: usize) -> bool {
        self.token.is_cancelled() && self.skip()
    }
}
