//! Chains: the values that code carries with it, so that it means the same wherever it runs.
//!
//! A *chain* is what one carrier runs from the start of a taken closure to its end. Everything that the closure calls
//! belongs to the same chain, and so do the second halves that its own joins run. So one chain runs one thing at a time, on
//! one stack, and its data need no lock. A chain has
//!
//! - a **context**: values that everything below inherits ([`crate::machine::context`]);
//! - **views** of reducers: partial results ([`crate::machine::views`]).
//!
//! An unstolen fork does nothing for either. A job that is taken carries the context of its fork
//! ([`crate::protocol::deque`]), and begins a chain without views. At its end it leaves its views in the job. The join
//! then puts them behind the views of its own chain. In the serial program, everything in that chain comes before the
//! second half. So the views have the serial order.
//!
//! Suppose the runtime calls code that is no part of the frame below it on the stack. Then that code begins a chain with
//! [`begin`], and ends it. A chain stays on its carrier, as the stack does, whatever processor the carrier holds. Only the
//! deque must know the context, for thieves. So whenever the context or the processor of a carrier changes, the carrier
//! tells the deque ([`tell`]).
//!
//! | what begins | its context | its views |
//! |---|---|---|
//! | a taken half of a join | that of the fork, which outlives the half | go to the join |
//! | a closure of a scope | shared with the spawn | go to the scope, to the place of the spawn ([`crate::machine::luggage`]) |
//! | a task, a detached closure | shared with the spawn | none: it is a *root* |
//! | a part of a broadcast | that of the call | none: it is a root |
//! | a call from outside, queued | it goes on with the caller's chain, which waits ([`Lent`]) | |
//!
//! A thread that runs no closure of a pool is a root, too. A root refuses views of reducers that were made elsewhere,
//! because there is no join to merge them.

use crate::machine::current;
use std::cell::Cell;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// What the calling thread's chain carries.
#[derive(Clone, Copy)]
pub(crate) struct State {
    /// The number of the chain, or 0 if nobody has asked for it. A chain without a number has used no reducer: it has no
    /// views, was not cut, and no view was used last.
    number: u64,
    /// Which part of the chain this is. It changes where the chain is cut by a spawn.
    epoch: u64,
    /// 1 if this is a root, otherwise 0. A `bool` would cost a test at each access to the thread-local, because the
    /// standard library's code uses values that a `bool` has not.
    root: u8,
    /// The boxed [views](crate::machine::views::Views), or null.
    views: *mut (),
    /// The [binding](crate::machine::context::Binding) that was made last, or null.
    context: *const (),
}

impl State {
    /// A chain that has done nothing yet.
    const fn blank(root: bool, context: *const ()) -> State {
        State { number: 0, epoch: 0, root: root as u8, views: ptr::null_mut(), context }
    }
}

thread_local! {
    static STATE: Cell<State> = const { Cell::new(State::blank(true, ptr::null())) };
    /// The view that was used last: the number of its reducer, and the view. Valid as long as the chain is not cut, and
    /// its views are not merged.
    static RECENT: Cell<(u64, *const ())> = const { Cell::new((0, ptr::null())) };
}

/// Changes the state of the calling thread, and forgets the view that was used last.
fn change(change: impl FnOnce(&mut State)) {
    RECENT.set((0, ptr::null()));
    let mut state = STATE.get();
    change(&mut state);
    STATE.set(state);
}

/// The view that the chain used last.
#[inline(always)]
pub(crate) fn recent() -> (u64, *const ()) {
    RECENT.get()
}

/// Notes that the chain uses this view of this reducer.
pub(super) fn set_recent(reducer: u64, view: *const ()) {
    number();
    RECENT.set((reducer, view));
}

/// The number of the calling chain. No other chain has or had this number.
pub(super) fn number() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let mut state = STATE.get();
    if state.number == 0 {
        state.number = LAST.fetch_add(1, Relaxed) + 1;
        STATE.set(state);
    }
    state.number
}

/// The part of the calling chain that runs now.
pub(super) fn epoch() -> u64 {
    STATE.get().epoch
}

/// A new part of the calling chain begins.
pub(super) fn begin_part() {
    static LAST: AtomicU64 = AtomicU64::new(0);
    number();
    change(|state| state.epoch = LAST.fetch_add(1, Relaxed) + 1);
}

/// This part of the calling chain goes on.
pub(super) fn resume_part(epoch: u64) {
    change(|state| state.epoch = epoch);
}

/// Forgets the view that was used last.
pub(super) fn forget_recent() {
    RECENT.set((0, ptr::null()));
}

/// Whether the calling chain is a root.
pub(super) fn is_root() -> bool {
    STATE.get().root != 0
}

/// The views of the calling chain, if it has any.
pub(super) fn views() -> *mut () {
    STATE.get().views
}

/// Gives the calling chain these views.
pub(super) fn set_views(views: *mut ()) {
    number();
    change(|state| state.views = views);
}

/// The context of the calling chain.
#[inline]
pub(crate) fn context() -> *const () {
    STATE.get().context
}

/// Changes the context of the calling chain. The context must live until it is changed again, and as long as anything
/// that is forked meanwhile.
pub(super) fn set_context(context: *const ()) {
    change(|state| state.context = context);
    tell();
}

/// Tells the deque of the processor that the calling thread holds, if any, in which context the thread forks.
#[inline]
pub(super) fn tell() {
    if let Some(processor) = current::processor() {
        processor.deque.set_context(context().cast_mut());
    }
}

/// What somebody wants to do whenever a chain with a context begins on a thread, and before it ends there.
static FOLLOWER: OnceLock<Follower> = OnceLock::new();

struct Follower {
    begin: fn(),
    end: fn(),
}

/// From now on, `begin` is called whenever a chain with a context begins on a thread, and `end` before it ends there.
/// Neither may panic or fork. Only the first call counts.
pub(crate) fn follow(begin: fn(), end: fn()) {
    let _ = FOLLOWER.set(Follower { begin, end });
}

/// Tells the follower, if there is one, that a chain has begun or is about to end.
#[inline]
fn tell_follower(choose: impl FnOnce(&Follower) -> fn()) {
    if !context().is_null() {
        if let Some(follower) = FOLLOWER.get() {
            choose(follower)();
        }
    }
}

/// A chain has begun on the calling thread, on top of another one.
#[must_use = "a chain that has begun must be ended"]
pub(crate) enum Begun {
    /// The outer chain has no number, and the same context. All that differs is whether it is a root.
    OnBlank { root: u8 },
    /// Anything else. This is the outer chain.
    On(State),
}

/// Begins a chain in this context, on top of what runs on the calling thread. The context must outlive the chain.
///
/// Most chains use no reducer and begin on top of one that has used none. Then the state of the thread can stay: a chain
/// without a number has no views either. Each of the two chains is given a number of its own if it asks for one, because
/// [`Begun::end`] takes the upper chain's number away.
#[inline]
pub(crate) fn begin(context: *const (), root: bool) -> Begun {
    let outer = STATE.get();
    let begun = if outer.number == 0 && outer.context == context {
        debug_assert!(
            outer.views.is_null() && outer.epoch == 0 && RECENT.get().0 == 0,
            "used without a number"
        );
        STATE.set(State { root: root.into(), ..outer });
        Begun::OnBlank { root: outer.root }
    } else {
        Begun::On(replace(State::blank(root, context)))
    };
    tell_follower(|follower| follower.begin);
    begun
}

/// Changes the state of the calling thread, and returns what it was.
#[inline(never)]
fn replace(next: State) -> State {
    RECENT.set((0, ptr::null()));
    let before = STATE.replace(next);
    if before.context != next.context {
        tell();
    }
    before
}

impl Begun {
    /// Ends the chain. What runs below on the stack goes on with its own. Returns the views that the chain leaves.
    #[inline]
    pub(crate) fn end(self) -> *mut () {
        tell_follower(|follower| follower.end);
        let ended = STATE.get();
        match self {
            Begun::OnBlank { root } if ended.number == 0 => {
                STATE.set(State { root, ..ended });
                ptr::null_mut()
            }
            Begun::OnBlank { root } => replace(State { root, ..State::blank(false, ended.context) }).views,
            Begun::On(outer) => replace(outer).views,
        }
    }
}

/// The chain of a caller that waits while somebody else goes on with it.
pub(crate) struct Lent(Cell<State>);

// SAFETY: one thread at a time uses it: its maker, then the carrier that runs the call, then the maker again. The
// call's signal orders them.
unsafe impl Sync for Lent {}
// SAFETY: as above.
unsafe impl Send for Lent {}

impl Lent {
    /// The calling chain. The caller does not go on with it before [`Lent::take_back`].
    pub(crate) fn new() -> Lent {
        Lent(Cell::new(STATE.get()))
    }

    /// Runs `f`, which does not unwind, as a part of the lent chain.
    pub(crate) fn go_on(&self, f: impl FnOnce()) {
        let outer = replace(self.0.get());
        tell_follower(|follower| follower.begin);
        f();
        tell_follower(|follower| follower.end);
        self.0.set(STATE.get());
        let _ = replace(outer);
    }

    /// The caller goes on with its chain.
    pub(crate) fn take_back(&self) {
        let _ = replace(self.0.get());
    }
}
