//! Each thread's [`Shadow`], and how hooks get hold of it: by a pointer that the thread keeps, without counting or
//! looking anything up. Hooks that allocate do so *uncharged* ([`crate::alloc`]).

use super::heap::Uncharged;
use super::shadow::Shadow;
use std::cell::{Cell, OnceCell, UnsafeCell};
use std::ops::{Deref, DerefMut};
use std::ptr;

thread_local! {
    /// What the calling thread's [`Owner`] owns. Null before there is an owner, and after.
    static SHADOW: Cell<*const Slot> = const { Cell::new(ptr::null()) };
    static OWNER: Owner = const { Owner(OnceCell::new()) };
}

struct Owner(OnceCell<Box<Slot>>);

/// A shadow, and whether a hook holds it, which debug builds check.
struct Slot {
    shadow: UnsafeCell<Shadow>,
    held: Cell<bool>,
}

impl Drop for Owner {
    fn drop(&mut self) {
        let _uncharged = Uncharged::begin();
        SHADOW.set(ptr::null());
        drop(self.0.take());
    }
}

/// Makes the calling thread's shadow. `None` if the thread is ending.
#[cold]
#[inline(never)]
fn first_shadow() -> Option<*const Slot> {
    let _uncharged = Uncharged::begin();
    let new = || Box::new(Slot { shadow: UnsafeCell::new(Shadow::new()), held: Cell::new(false) });
    let slot = OWNER.try_with(|owner| ptr::from_ref(&**owner.0.get_or_init(new))).ok()?;
    SHADOW.set(slot);
    Some(slot)
}

/// Calls `f` with the calling thread's shadow, and charges nobody for what it allocates. `None` if the thread is ending
/// and has no shadow any more.
pub(crate) fn with<R>(f: impl FnOnce(&mut Shadow) -> R) -> Option<R> {
    let _uncharged = Uncharged::begin();
    hold().map(|mut shadow| f(&mut shadow))
}

/// The calling thread's shadow, for hooks that make sure themselves that nobody is charged for what they allocate.
/// `None` if the thread is ending and has no shadow any more.
#[inline(always)]
pub(crate) fn hold() -> Option<Held> {
    let mut slot = SHADOW.get();
    if slot.is_null() {
        slot = first_shadow()?;
    }
    // SAFETY: the thread owns the slot until it ends, which does not happen inside a hook.
    let slot = unsafe { &*slot };
    debug_assert!(!slot.held.replace(true), "no hook calls another one");
    Some(Held(slot))
}

/// The calling thread's shadow, inside a hook. Nothing that hooks do (count, allocate, lock) calls a hook, so there is
/// one at a time.
pub(crate) struct Held(&'static Slot);

impl Deref for Held {
    type Target = Shadow;

    #[inline(always)]
    fn deref(&self) -> &Shadow {
        // SAFETY: only the calling thread has the address, and there is no other `Held`.
        unsafe { &*self.0.shadow.get() }
    }
}

impl DerefMut for Held {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Shadow {
        // SAFETY: as above.
        unsafe { &mut *self.0.shadow.get() }
    }
}

impl Drop for Held {
    #[inline(always)]
    fn drop(&mut self) {
        if cfg!(debug_assertions) {
            self.0.held.set(false);
        }
    }
}
