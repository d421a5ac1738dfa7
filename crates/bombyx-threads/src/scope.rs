//! Scopes. Both kinds are the runtime's scope under another name and with other methods.

use crate::BroadcastContext;
use crate::builder::{ensure_global, here};
use bombyx_core::dropin::{HandleExt as _, ScopeExt as _};
use std::fmt;

/// A scope: the closures that are spawned in it may borrow from outside it. See [`scope`].
#[repr(transparent)]
pub struct Scope<'scope>(bombyx_core::Scope<'scope>);

/// Like [`Scope`], for closures that start in the order of their spawns. See [`scope_fifo`].
#[repr(transparent)]
pub struct ScopeFifo<'scope>(bombyx_core::Scope<'scope>);

/// Calls `op` with a scope, in the pool of the caller or the global one, and returns when `op` and everything spawned
/// in the scope have ended.
///
/// # Panics
/// If `op` or a spawned closure panics. The panic is resumed when all have ended.
///
/// ```
/// let mut words = ["a", "b"];
/// let (first, rest) = words.split_at_mut(1);
/// bombyx_threads::scope(|s| {
///     s.spawn(|_| first[0] = "x");
///     s.spawn(|_| rest[0] = "y");
/// });
/// assert_eq!(words, ["x", "y"]);
/// ```
#[track_caller]
pub fn scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    ensure_global();
    bombyx_core::scope(|scope| op(Scope::wrap(scope)))
}

/// Like [`scope`], but closures that are spawned on one thread start in the order of their spawns.
///
/// ```
/// let pool = bombyx_threads::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
/// let order = std::sync::Mutex::new(Vec::new());
/// pool.scope_fifo(|s| {
///     s.spawn_fifo(|_| order.lock().unwrap().push(1));
///     s.spawn_fifo(|_| order.lock().unwrap().push(2));
/// });
/// assert_eq!(order.into_inner().unwrap(), [1, 2]);
/// ```
#[track_caller]
pub fn scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
    R: Send,
{
    ensure_global();
    bombyx_core::scope(|scope| op(ScopeFifo::wrap(scope)))
}

/// Like [`scope`], but calls `op` on the calling thread. Only what is spawned runs in the pool.
///
/// ```
/// let here = std::thread::current().id();
/// bombyx_threads::in_place_scope(|s| {
///     s.spawn(move |_| assert_ne!(std::thread::current().id(), here));
///     assert_eq!(std::thread::current().id(), here);
/// });
/// ```
#[track_caller]
pub fn in_place_scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R,
{
    here().in_place_scope(|scope| op(Scope::wrap(scope)))
}

/// Like [`scope_fifo`], but calls `op` on the calling thread. Only what is spawned runs in the pool.
#[track_caller]
pub fn in_place_scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R,
{
    here().in_place_scope(|scope| op(ScopeFifo::wrap(scope)))
}

impl<'scope> Scope<'scope> {
    pub(crate) fn wrap<'a>(scope: &'a bombyx_core::Scope<'scope>) -> &'a Scope<'scope> {
        // SAFETY: `Scope` is transparent.
        unsafe { &*std::ptr::from_ref(scope).cast() }
    }

    /// Spawns `body`, which ends before the scope does. It does not run before `spawn` returns, except on another
    /// thread.
    #[track_caller]
    pub fn spawn<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        self.0.defer(|scope| body(Scope::wrap(scope)));
    }

    /// Calls `body` once on every thread of the pool before the scope ends.
    #[track_caller]
    pub fn spawn_broadcast<BODY>(&self, body: BODY)
    where
        BODY: Fn(&Scope<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        self.0.spawn_broadcast(move |scope, place| body(Scope::wrap(scope), BroadcastContext::new(place)));
    }
}

impl<'scope> ScopeFifo<'scope> {
    pub(crate) fn wrap<'a>(scope: &'a bombyx_core::Scope<'scope>) -> &'a ScopeFifo<'scope> {
        // SAFETY: `ScopeFifo` is transparent.
        unsafe { &*std::ptr::from_ref(scope).cast() }
    }

    /// Spawns `body`, which ends before the scope does. It starts after those that were spawned earlier on the same
    /// thread.
    #[track_caller]
    pub fn spawn_fifo<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&ScopeFifo<'scope>) + Send + 'scope,
    {
        self.0.spawn_fifo(|scope| body(ScopeFifo::wrap(scope)));
    }

    /// Calls `body` once on every thread of the pool before the scope ends.
    #[track_caller]
    pub fn spawn_broadcast<BODY>(&self, body: BODY)
    where
        BODY: Fn(&ScopeFifo<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        self.0
            .spawn_broadcast(move |scope, place| body(ScopeFifo::wrap(scope), BroadcastContext::new(place)));
    }
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for ScopeFifo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ScopeFifo").field(&self.0).finish()
    }
}
