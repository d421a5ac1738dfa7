//! What the calling thread holds: its processor, its carrier, and the pools that wait for its return from blocking calls.
//! [`super::chain`] has the thread-local state of the code that runs on the thread.

use crate::machine::board;
use crate::machine::pool::PoolCore;
use crate::machine::processor::Processor;
use crate::protocol::carrier::Carrier;
use crate::protocol::job::Entry;
use crate::system::process::{Generation, Hooks};
use std::cell::{Cell, OnceCell};
use std::ptr::{self, NonNull};

thread_local! {
    static PROCESSOR: Cell<*const Processor> = const { Cell::new(ptr::null()) };
    static CARRIER: Cell<Option<NonNull<Carrier>>> = const { Cell::new(None) };
    /// The pools whose processors this thread gave up for blocking calls, the latest first.
    static HOME: Cell<*const Home> = const { Cell::new(ptr::null()) };
    /// For threads that no pool started.
    static VISITOR: Visitor = const { Visitor(OnceCell::new()) };
}

/// Dropped when the thread ends. Then clears the pointer to the thread's carrier.
struct Visitor(OnceCell<Box<Carrier>>);

impl Drop for Visitor {
    fn drop(&mut self) {
        CARRIER.set(None);
    }
}

/// The processor that the calling thread holds, if any.
#[inline(always)]
pub(crate) fn processor() -> Option<&'static Processor> {
    // SAFETY: the pointer is set only while the thread holds the processor, and the processor's pool lives as long. The
    // reference is used only during that time.
    unsafe { PROCESSOR.get().as_ref() }
}

/// The processor that the calling thread holds, without a check.
///
/// # Safety
/// The thread does hold one.
#[inline(always)]
pub(crate) unsafe fn held_unchecked() -> &'static Processor {
    // SAFETY: not null, as the caller promises. Otherwise as in `processor`.
    unsafe { &*PROCESSOR.get() }
}

/// The processor that the calling thread is known to hold.
#[inline]
pub(crate) fn held() -> &'static Processor {
    processor().expect("the calling thread holds a processor")
}

/// Notes that the calling thread holds `processor` from now on, or none if it is null. For [`super::hand_over`].
pub(super) fn set_processor(processor: *const Processor) {
    PROCESSOR.set(processor);
}

/// The calling thread as a carrier.
#[inline]
pub(crate) fn carrier() -> &'static Carrier {
    let carrier = CARRIER.get().unwrap_or_else(visitor);
    // SAFETY: the carrier lives as long as the thread, and only this thread gets the reference.
    unsafe { carrier.as_ref() }
}

/// The carrier of a thread that no pool started. Made the first time that the thread needs one.
#[cold]
#[inline(never)]
fn visitor() -> NonNull<Carrier> {
    let here = || Box::new(Carrier::here());
    let carrier = VISITOR
        .try_with(|visitor| NonNull::from(&**visitor.0.get_or_init(here)))
        // The thread is ending, in a destructor that joins. Nothing is left that could own a carrier.
        .unwrap_or_else(|_| NonNull::from(Box::leak(here())));
    CARRIER.set(Some(carrier));
    carrier
}

/// A pool whose processor a thread gave up for a blocking call. It lies in the frame of that call.
pub(crate) struct Home {
    pool: *const PoolCore,
    outer: *const Home,
}

impl Home {
    /// A home inside those that the calling thread already has.
    pub(crate) fn inside(pool: &PoolCore) -> Home {
        Home { pool, outer: HOME.get() }
    }

    pub(crate) fn outer(&self) -> *const Home {
        self.outer
    }
}

/// The pools whose processors the calling thread gave up for blocking calls, the latest first.
fn homes() -> impl Iterator<Item = &'static PoolCore> {
    // SAFETY: the homes lie in older frames of this thread, each inside a job of its pool, and the job keeps the pool
    // alive.
    let at = |home: *const Home| unsafe { home.as_ref() };
    // SAFETY: as above.
    std::iter::successors(at(HOME.get()), move |home| at(home.outer)).map(|home| unsafe { &*home.pool })
}

/// The pool whose processor the calling thread gave up for a blocking call, if it is inside one.
pub(crate) fn home() -> Option<&'static PoolCore> {
    homes().next()
}

/// Runs `f` on a thread that holds no processor and belongs to this pool: joins in `f` run there.
pub(crate) fn at_home(pool: &PoolCore, f: impl FnOnce()) {
    /// Runs even when `f` unwinds.
    struct Leave(*const Home);
    impl Drop for Leave {
        fn drop(&mut self) {
            set_home(self.0);
        }
    }
    let home = Home::inside(pool);
    let _leave = Leave(home.outer());
    set_home(&home);
    f();
}

/// Sets the latest home. It lies in a frame of the calling thread that lives until the home is set again; or it is
/// null.
pub(crate) fn set_home(home: *const Home) {
    HOME.set(home);
}

/// Whether the calling thread runs, or blocks, inside a job of this pool.
pub(crate) fn is_carrier_of(pool: &PoolCore) -> bool {
    processor().is_some_and(|processor| ptr::eq(processor.pool(), pool))
        || homes().any(|home| ptr::eq(home, pool))
}

pub(crate) fn set_carrier(carrier: Option<NonNull<Carrier>>) {
    CARRIER.set(carrier);
}

/// The generation of this process. Children of this process will know that they are another one.
pub(crate) fn begin_generation() -> Generation {
    static HOOKS: Hooks = Hooks {
        before: || {
            // No join on this stack may pop blindly in the child.
            if let Some(processor) = processor() {
                processor.deque.expose_all();
            }
        },
        in_child: leave_parent,
        is_lost: || processor().is_none(),
    };
    Generation::begin(&HOOKS)
}

/// The calling thread is in a child process. Whatever it held belongs to the parent.
fn leave_parent() {
    board::leave_parent();
    PROCESSOR.set(ptr::null());
    HOME.set(ptr::null());
    if let Some(carrier) = CARRIER.get() {
        // SAFETY: as in `carrier`.
        unsafe { carrier.as_ref() }.leave_parent();
    }
}

impl PoolCore {
    /// Pushes an entry on the deque of the calling thread's processor, if that processor belongs to this pool.
    /// Otherwise queues the entry.
    ///
    /// If what runs now descends from none of `roots`, the entry is no part of it. Then a carrier that waits for what
    /// runs now must not help with what is in the deque from now on.
    #[inline]
    pub(crate) fn submit(&self, entry: Entry, roots: &[usize]) {
        let Some(processor) = processor().filter(|processor| std::ptr::eq(processor.pool(), self)) else {
            return self.inject(entry);
        };
        processor.submit_under(entry, roots);
    }
}
