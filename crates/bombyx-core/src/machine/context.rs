//! Contexts: values that everything below inherits.
//!
//! A context is a list of bindings, the latest first. The frame that binds a value owns the binding, together with the
//! closures that were spawned below it. Nobody changes a binding, so any number of threads may read it.
//!
//! Whoever ends last drops the value: the frame or one of the closures. That depends on the schedule, and a closure ends in
//! the runtime's own code. So nobody receives the panic of the value's destructor.

use crate::machine::chain;
use crate::machine::handlers::drop_unwanted;
use std::any::Any;
use std::mem;
use std::ptr;
use std::sync::Arc;

/// A value that is bound to a key.
pub(crate) struct Binding {
    key: *const (),
    value: Box<dyn Any + Send + Sync>,
    outer: Option<Arc<Binding>>,
}

// SAFETY: the key is only compared, never followed.
unsafe impl Send for Binding {}
// SAFETY: as above.
unsafe impl Sync for Binding {}

impl Binding {
    /// A share of the calling chain's context.
    #[inline]
    pub(crate) fn share_current() -> Option<Arc<Binding>> {
        let context = chain::context().cast::<Binding>();
        if context.is_null() {
            return None;
        }
        // SAFETY: contexts are kept in `Arc`s, and the calling thread is in this one, so it is alive.
        unsafe {
            Arc::increment_strong_count(context);
            Some(Arc::from_raw(context))
        }
    }

    /// Runs `f` in the caller's context, in which `key` is also bound to `value`.
    pub(crate) fn bound<R>(key: *const (), value: Box<dyn Any + Send + Sync>, f: impl FnOnce() -> R) -> R {
        /// Runs even when `f` unwinds.
        struct Leave(*const ());
        impl Drop for Leave {
            fn drop(&mut self) {
                chain::set_context(self.0);
            }
        }
        let outer = chain::context();
        // Declared first, so dropped last: the context is left before the binding goes.
        let binding = Arc::new(Binding { key, value, outer: Binding::share_current() });
        let _leave = Leave(outer);
        chain::set_context(Arc::as_ptr(&binding).cast());
        f()
    }

    /// Calls `f` with the value that `key` is bound to in the caller's context.
    pub(crate) fn lookup<T: 'static, R>(key: *const (), f: impl FnOnce(Option<&T>) -> R) -> R {
        // SAFETY: a context is alive as long as the calling thread is in it, and the thread is in this one until `f` has
        // returned. Each binding keeps the next.
        let mut at = unsafe { chain::context().cast::<Binding>().as_ref() };
        while let Some(binding) = at {
            let value = if ptr::eq(binding.key, key) { binding.value.downcast_ref() } else { None };
            if value.is_some() {
                return f(value);
            }
            at = binding.outer.as_deref();
        }
        f(None)
    }
}

impl Drop for Binding {
    fn drop(&mut self) {
        drop_unwanted(|| mem::replace(&mut self.value, Box::new(())));
        // A closure may bind a value and spawn the next closure, which does the same, and so on. This frees such a long
        // list without recursion.
        let mut outer = self.outer.take();
        while let Some(mut binding) = outer.and_then(Arc::into_inner) {
            outer = binding.outer.take();
        }
    }
}
