//! Cancel tokens: whether some work is still wanted.
//!
//! The flag of a token publishes nothing, so it needs no order: a closure that misses it by a moment just runs.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// Says that some work is no longer wanted. Clones share their state.
///
/// The token's own [`join`](CancelToken::join), [`scope`](CancelToken::scope), [`for_each`](CancelToken::for_each) and
/// [`map_reduce`](CancelToken::map_reduce) stop early when the token is cancelled. They drop what they have not started,
/// wait for what they have started, and return [`Cancelled`]. Closures that run see [`CancelToken::is_cancelled`]. For
/// parallel iterators, see `ParallelIterator::cancellable` in the crate `bombyx`.
///
/// ```
/// use bombyx::{CancelToken, Cancelled};
/// let token = CancelToken::new();
/// let search = token.for_each(0..u64::MAX, |n| if n * n > 1_000_000 { token.cancel() });
/// assert_eq!(search, Err(Cancelled));
/// ```
#[derive(Clone, Default)]
pub struct CancelToken(Arc<State>);

#[derive(Default)]
struct State {
    cancelled: AtomicBool,
    deadline: Option<Instant>,
    parent: Option<CancelToken>,
}

impl CancelToken {
    /// A token that somebody must [cancel](CancelToken::cancel).
    pub fn new() -> CancelToken {
        CancelToken::default()
    }

    /// A token that is cancelled from this time on, or earlier by [`CancelToken::cancel`].
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// let token = bombyx::CancelToken::with_deadline(Instant::now() + Duration::from_millis(1));
    /// let endless = token.for_each(0..u64::MAX, |_| ());
    /// assert!(endless.is_err());
    /// ```
    pub fn with_deadline(deadline: Instant) -> CancelToken {
        CancelToken(Arc::new(State { deadline: Some(deadline), ..State::default() }))
    }

    /// A token that is cancelled after this time, counted from now.
    pub fn with_timeout(time: Duration) -> CancelToken {
        // A deadline that the clock cannot express never comes.
        CancelToken(Arc::new(State { deadline: Instant::now().checked_add(time), ..State::default() }))
    }

    /// A token that is cancelled with this one, and can be cancelled alone.
    ///
    /// ```
    /// let request = bombyx::CancelToken::new();
    /// let (thumbnail, text) = (request.child(), request.child());
    /// thumbnail.cancel();
    /// assert!(thumbnail.is_cancelled() && !text.is_cancelled());
    /// request.cancel();
    /// assert!(text.is_cancelled());
    /// ```
    pub fn child(&self) -> CancelToken {
        CancelToken(Arc::new(State { parent: Some(self.clone()), ..State::default() }))
    }

    /// Like [`CancelToken::child`], with an additional deadline.
    pub fn child_with_deadline(&self, deadline: Instant) -> CancelToken {
        CancelToken(Arc::new(State {
            deadline: Some(deadline),
            parent: Some(self.clone()),
            ..State::default()
        }))
    }

    /// Cancels the token and its children, for ever.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Relaxed);
    }

    /// Whether the token is cancelled. Closures that run long should ask now and then. This reads the clock if the token
    /// has a deadline.
    pub fn is_cancelled(&self) -> bool {
        let state = &*self.0;
        if state.cancelled.load(Relaxed) {
            return true;
        }
        let over = state.deadline.is_some_and(|deadline| Instant::now() >= deadline)
            || state.parent.as_ref().is_some_and(CancelToken::is_cancelled);
        if over {
            state.cancelled.store(true, Relaxed);
        }
        over
    }

    /// [`Cancelled`] if the token is cancelled, for use with `?`.
    ///
    /// # Errors
    /// If the token is cancelled.
    ///
    /// ```
    /// use bombyx::{CancelToken, Cancelled};
    /// fn nodes(depth: u32, token: &CancelToken) -> Result<u64, Cancelled> {
    ///     token.check()?;
    ///     if depth == 0 {
    ///         return Ok(1);
    ///     }
    ///     let (left, right) = bombyx::join(|| nodes(depth - 1, token), || nodes(depth - 1, token));
    ///     Ok(left? + right? + 1)
    /// }
    /// let token = CancelToken::new();
    /// assert_eq!(nodes(4, &token), Ok(31));
    /// token.cancel();
    /// assert_eq!(nodes(4, &token), Err(Cancelled));
    /// ```
    pub fn check(&self) -> Result<(), Cancelled> {
        if self.is_cancelled() { Err(Cancelled) } else { Ok(()) }
    }

    /// Whether somebody has already seen that the token is cancelled. Never reads the clock.
    pub(super) fn is_known_cancelled(&self) -> bool {
        self.0.cancelled.load(Relaxed)
    }
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelToken").field("cancelled", &self.is_cancelled()).finish_non_exhaustive()
    }
}

/// Some of the work was not done, because it was cancelled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Cancelled;

impl fmt::Display for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the work was cancelled before it was done")
    }
}

impl Error for Cancelled {}
