//! What a workload forks on. A workload is written once, generic over [`Fork`]. The implementations here are the serial
//! elision, Bombyx, and (feature `peers`) rayon and chili. They rely only on the `join` of their runtime, and add
//! nothing to it: the handles are zero-sized or a reference that the runtime hands out anyway, and every `join` is
//! inlined into its caller.

/// A way to run two closures, perhaps in parallel.
///
/// The handle is passed down the recursion because one peer (chili) needs it; for the others it is zero-sized.
///
/// ```
/// use bombyx_workloads::{Fork, Serial};
///
/// fn fib<F: Fork>(fork: &mut F, n: u64) -> u64 {
///     if n < 2 {
///         return n;
///     }
///     let (a, b) = fork.join(|fork| fib(fork, n - 1), |fork| fib(fork, n - 2));
///     a + b
/// }
/// assert_eq!(fib(&mut Serial, 20), 6765);
/// ```
pub trait Fork: Sized {
    /// Runs `a` and `b`, perhaps in parallel, and returns both results once both have ended.
    fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(&mut Self) -> RA + Send,
        B: FnOnce(&mut Self) -> RB + Send,
        RA: Send,
        RB: Send;

    /// Announces that the calling thread is about to allocate a large block. Runtimes that bound memory may let others
    /// go first.
    #[inline(always)]
    fn reserve(&mut self, bytes: usize) {
        let _ = bytes;
    }

    /// Whether [`touch`](Self::touch) does anything, which it does only if accesses to memory are recorded. A constant,
    /// so that what a workload does only for the record is compiled away elsewhere.
    const TOUCHES: bool = false;

    /// The present strand reads or writes all of `data`.
    #[inline(always)]
    fn touch<T>(data: &[T]) {
        let _ = data;
    }
}

/// Implements [`Fork`] for a zero-sized handle by a function that joins two closures.
macro_rules! forks_with {
    ($handle:ident, $join:path $(, { $($more:item)* })?) => {
        impl Fork for $handle {
            // Profiles name the workload's line, not this one.
            #[inline(always)]
            #[track_caller]
            fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
            where
                A: FnOnce(&mut Self) -> RA + Send,
                B: FnOnce(&mut Self) -> RB + Send,
                RA: Send,
                RB: Send,
            {
                $join(|| a(&mut $handle), || b(&mut $handle))
            }

            $($($more)*)?
        }
    };
}

/// The serial elision: a fork is a call, so `a` runs before `b` on the caller's stack.
#[derive(Debug, Default)]
pub struct Serial;

#[inline(always)]
fn in_order<RA, RB>(a: impl FnOnce() -> RA, b: impl FnOnce() -> RB) -> (RA, RB) {
    let ra = a();
    (ra, b())
}

forks_with!(Serial, in_order);

/// Forks on the Bombyx pool that the calling thread belongs to.
#[derive(Debug, Default)]
pub struct Bombyx;

forks_with!(Bombyx, bombyx::join, {
    #[inline(always)]
    fn reserve(&mut self, bytes: usize) {
        bombyx::reserve(bytes);
    }
});

#[cfg(feature = "peers")]
pub use peers::{Chili, Rayon};

#[cfg(feature = "peers")]
mod peers {
    use super::Fork;

    /// Forks on the rayon pool that the calling thread belongs to.
    #[derive(Debug, Default)]
    pub struct Rayon;

    forks_with!(Rayon, rayon::join);

    /// Forks on a chili scope. [`Runtime::Chili`](crate::Runtime::Chili) makes one.
    #[derive(Debug)]
    #[repr(transparent)]
    pub struct Chili(chili::Scope<'static>);

    impl Chili {
        /// Runs `f` in a new scope of `pool`.
        pub fn enter<R>(pool: &chili::ThreadPool, f: impl FnOnce(&mut Chili) -> R) -> R {
            f(Chili::from_scope(&mut pool.scope()))
        }

        /// chili gives each half of a join a scope with a separate lifetime, while [`Fork`] wants one type for all of
        /// them. So this forgets the lifetime.
        #[inline(always)]
        fn from_scope<'a>(scope: &'a mut chili::Scope<'_>) -> &'a mut Chili {
            let scope: *mut chili::Scope<'_> = scope;
            // SAFETY: `Chili` is a transparent wrapper of the scope, so the layouts agree, and the result borrows
            // the scope for as long as `scope` did. The forgotten lifetime cannot be observed: the field is
            // private and only lent to `Scope::join`, no function returns a `Chili` by value, and a workload
            // holds one `&mut Chili` at a time, so two scopes cannot be swapped.
            unsafe { &mut *scope.cast::<Chili>() }
        }
    }

    impl Fork for Chili {
        #[inline(always)]
        fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
        where
            A: FnOnce(&mut Self) -> RA + Send,
            B: FnOnce(&mut Self) -> RB + Send,
            RA: Send,
            RB: Send,
        {
            self.0.join(|scope| a(Chili::from_scope(scope)), |scope| b(Chili::from_scope(scope)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serial_runs_left_before_right() {
        let mut order = Vec::new();
        let log = std::sync::Mutex::new(&mut order);
        let (a, b) = Serial.join(
            |_| {
                log.lock().unwrap().push('a');
                1
            },
            |_| {
                log.lock().unwrap().push('b');
                2
            },
        );
        assert_eq!((a, b), (1, 2));
        assert_eq!(order, ['a', 'b']);
    }
}
