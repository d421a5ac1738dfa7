//! Luggage: what a spawned closure takes along from the place of its spawn, and what it brings back.
//!
//! A closure of a scope takes the spawner's context, and a *place* in the serial order. In the serial elision a closure
//! runs where it is spawned. So its views belong between what the spawner added before the spawn and what it added after
//! ([`crate::machine::views`]). If there are no reducers, there is no place, and the spawn only reads a counter.

use crate::machine::chain::{self, Begun};
use crate::machine::context::Binding;
use crate::machine::views::{Later, Views};
use std::ptr;
use std::sync::Arc;

/// See the module text.
#[derive(Default)]
pub(crate) struct Luggage {
    context: Option<Arc<Binding>>,
    place: Option<Arc<Later>>,
}

impl Luggage {
    /// For a detached closure: it gets the calling chain's context, and no place.
    #[inline]
    pub(crate) fn detached() -> Luggage {
        Luggage { context: Binding::share_current(), place: None }
    }

    /// For a closure that is spawned in a scope, here and now.
    #[inline]
    pub(crate) fn spawned() -> Luggage {
        Luggage { context: Binding::share_current(), place: Later::here() }
    }

    fn begin(&self, root: bool) -> Begun {
        chain::begin(self.context.as_ref().map_or(ptr::null(), Arc::as_ptr).cast(), root)
    }

    /// Runs `f`, which does not unwind, as a chain whose views go to the place of the spawn.
    pub(crate) fn run(&self, f: impl FnOnce()) {
        let begun = self.begin(false);
        f();
        // SAFETY: these are the views of the chain that has ended.
        let views = unsafe { Views::from_raw(begun.end()) };
        match &self.place {
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
