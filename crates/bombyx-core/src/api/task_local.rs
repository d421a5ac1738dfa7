//! `TaskLocal`: a value that every fork, spawn and iteration below inherits.

use crate::machine::chain;
use crate::machine::context::Binding;
use std::fmt;
use std::marker::PhantomData;
use std::ptr;

/// A key for a value that everything below inherits: both halves of a join, spawned closures and tasks, iterations of
/// loops, on whichever thread they run.
///
/// ```
/// use bombyx::TaskLocal;
///
/// static REQUEST: TaskLocal<u64> = TaskLocal::new();
///
/// fn log(text: &str) -> String {
///     REQUEST.with(|request| format!("{request:?} {text}"))
/// }
///
/// let lines = REQUEST.scope(17, || bombyx::join(|| log("left"), || log("right")));
/// assert_eq!(lines, ("Some(17) left".to_string(), "Some(17) right".to_string()));
/// assert_eq!(REQUEST.get(), None);
/// ```
///
/// A fork does nothing for this. A thief learns the values when it takes the other half. [`TaskLocal::scope`] takes an
/// uncontended lock and makes an allocation. If it runs inside the first halves of joins, each of these joins takes a slow
/// path, once.
///
/// Declare a key as a `static`. A `const` has no fixed address, so two of them may be one key.
///
/// A future does not inherit values, because any thread may poll it. Bind the value inside the closure that polls.
pub struct TaskLocal<T> {
    /// Gives each key an address of its own.
    _place: u8,
    value: PhantomData<fn() -> T>,
}

impl<T: Send + Sync + 'static> TaskLocal<T> {
    /// A key that is not bound.
    pub const fn new() -> TaskLocal<T> {
        TaskLocal { _place: 0, value: PhantomData }
    }

    /// Runs `f` with the key bound to `value`.
    ///
    /// The value is dropped when `f` and everything that was spawned below have ended, on the thread that ends last. If its
    /// destructor panics, only the panic hook sees it.
    pub fn scope<R>(&'static self, value: T, f: impl FnOnce() -> R) -> R {
        Binding::bound(self.key(), Box::new(value), f)
    }

    /// Calls `f` with the value that the key is bound to, if it is bound.
    pub fn with<R>(&'static self, f: impl FnOnce(Option<&T>) -> R) -> R {
        Binding::lookup(self.key(), f)
    }

    /// A copy of the value that the key is bound to, if it is bound.
    pub fn get(&'static self) -> Option<T>
    where
        T: Clone,
    {
        self.with(|value| value.cloned())
    }

    fn key(&'static self) -> *const () {
        ptr::from_ref(self).cast()
    }
}

/// Calls `begin` whenever a closure with a bound [`TaskLocal`] begins on another thread's behalf, and `end` when it ends
/// there. For the crate `bombyx` only.
#[doc(hidden)]
pub fn follow(begin: fn(), end: fn()) {
    chain::follow(begin, end);
}

impl<T: Send + Sync + 'static> Default for TaskLocal<T> {
    fn default() -> TaskLocal<T> {
        TaskLocal::new()
    }
}

impl<T: Send + Sync + fmt::Debug + 'static> fmt::Debug for TaskLocal<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskLocal").finish_non_exhaustive()
    }
}
