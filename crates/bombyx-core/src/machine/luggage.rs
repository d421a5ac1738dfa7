//! Luggage: what a spawned closure takes along from the place of its spawn, and what it brings back.
//!
//! A closure of a scope takes the spawner's context, and a *place* in the serial order. In the serial elision a closure
//! runs where it is spawned. So its views belong between what the spawner added before the spawn and what it added after
//! ([`crate::machine::views`]). If there are no reducers, there is no place. A spawn with nothing to carry looks twice, at
//! its thread's context and at the number of reducers, and allocates nothing.

use crate::machine::chain::{self, Begun};
use crate::machine::context::Binding;
use crate::machine::views::{Later, Views};
use std::ptr;
use std::sync::Arc;

/// See the module text. One word, which is null if there is nothing to carry.
#[derive(Default)]
pub(crate) struct Luggage(Option<Box<Carried>>);

struct Carried {
    context: Option<Arc<Binding>>,
    place: Option<Arc<Later>>,
}

impl Luggage {
    /// For a detached closure: it gets the calling chain's context, and no place.
    #[inline]
    pub(crate) fn detached() -> Luggage {
        if chain::context().is_null() { Luggage(None) } else { Luggage::pack(false) }
    }

    /// For a closure that is spawned in a scope, here and now.
    #[inline]
    pub(crate) fn spawned() -> Luggage {
        let places = Later::needed();
        if chain::context().is_null() && !places { Luggage(None) } else { Luggage::pack(places) }
    }

    #[cold]
    #[inline(never)]
    fn pack(place: bool) -> Luggage {
        let context = Binding::share_current();
        Luggage(Some(Box::new(Carried { context, place: place.then(Later::here) })))
    }

    #[inline]
    fn begin(&self, root: bool) -> Begun {
        chain::begin(self.0.as_ref().map_or(ptr::null(), |carried| carried.context()), root)
    }

    /// Runs `f`, which does not unwind, as a chain whose views go to the place of the spawn.
    #[inline]
    pub(crate) fn run(&self, f: impl FnOnce()) {
        let begun = self.begin(false);
        f();
        let left = begun.end();
        if self.0.is_some() || !left.is_null() {
            // SAFETY: these are the views of the chain that has ended.
            self.deliver(unsafe { Views::from_raw(left) });
        }
    }

    #[cold]
    #[inline(never)]
    fn deliver(&self, views: Option<Box<Views>>) {
        match self.0.as_ref().and_then(|carried| carried.place.as_ref()) {
            Some(place) => place.bring(views),
            // Nobody can use a reducer below that was not there at the spawn, except by a detour around the scope.
            None => drop(views),
        }
    }

    /// Runs `f` as a root.
    pub(crate) fn run_root<R>(&self, f: impl FnOnce() -> R) -> R {
        /// Runs even when `f` unwinds.
        struct End(Option<Begun>);
        impl Drop for End {
            fn drop(&mut self) {
                // A root refuses views. So there are none but those of a scope that the user's code broke off.
                // SAFETY: these are the views of the chain that has ended.
                drop(self.0.take().map(|begun| unsafe { Views::from_raw(begun.end()) }));
            }
        }
        let _end = End(Some(self.begin(true)));
        f()
    }
}

impl Carried {
    fn context(&self) -> *const () {
        self.context.as_ref().map_or(ptr::null(), Arc::as_ptr).cast()
    }
}
