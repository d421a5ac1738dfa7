//! `join_all`: any number of closures, as a tree of joins.

use crate::api::join::join_at;
use crate::profile::{Kind, Site};

/// Closures that [`join_all`] can run: a tuple of two to eight closures with different types, or an array or a vector
/// of closures with the same type.
pub trait Closures: sealed::Sealed {
    /// What the closures return, in the same order: a tuple, an array or a vector.
    type Results;

    #[doc(hidden)]
    #[track_caller]
    fn join(self) -> Self::Results;
}

/// Runs all closures, perhaps in parallel, and returns their results in order.
///
/// Like a tree of [`join`](crate::join())s: all closures end before this returns, and if several panic, the panic of
/// the first one is resumed.
///
/// ```
/// let (a, b, c) = bombyx::join_all((|| 1 + 1, || "two", || vec![2]));
/// assert_eq!((a, b, c), (2, "two", vec![2]));
///
/// let squares = bombyx::join_all([1, 2, 3].map(|n| move || n * n));
/// assert_eq!(squares, [1, 4, 9]);
/// ```
#[track_caller]
pub fn join_all<C: Closures>(closures: C) -> C::Results {
    closures.join()
}

/// Runs three closures, perhaps in parallel, and returns their results. Like [`join_all`] of three closures.
///
/// ```
/// assert_eq!(bombyx::join3(|| 1, || "two", || 3.0), (1, "two", 3.0));
/// ```
#[inline]
#[track_caller]
pub fn join3<A, B, C, RA, RB, RC>(a: A, b: B, c: C) -> (RA, RB, RC)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    C: FnOnce() -> RC + Send,
    RA: Send,
    RB: Send,
    RC: Send,
{
    join_all((a, b, c))
}

impl<F, R, const N: usize> Closures for [F; N]
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    type Results = [R; N];

    fn join(self) -> [R; N] {
        let mut closures = self.map(Some);
        let mut results = [const { None }; N];
        halves(Site::here(Kind::Join), &mut closures, &mut results);
        results.map(|result| result.expect("every closure has run"))
    }
}

impl<F, R> Closures for Vec<F>
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    type Results = Vec<R>;

    fn join(self) -> Vec<R> {
        let mut closures: Vec<_> = self.into_iter().map(Some).collect();
        let mut results: Vec<_> = closures.iter().map(|_| None).collect();
        halves(Site::here(Kind::Join), &mut closures, &mut results);
        results.into_iter().map(|result| result.expect("every closure has run")).collect()
    }
}

/// Runs the closures, and leaves their results in the same places.
fn halves<F, R>(site: Site, closures: &mut [Option<F>], results: &mut [Option<R>])
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    if let ([closure], [result]) = (&mut *closures, &mut *results) {
        *result = closure.take().map(|closure| closure());
    } else if !closures.is_empty() {
        let middle = closures.len() / 2;
        let (left, right) = closures.split_at_mut(middle);
        let (left_results, right_results) = results.split_at_mut(middle);
        join_at(site, |_| halves(site, left, left_results), |_| halves(site, right, right_results));
    }
}

macro_rules! tuples {
    ($($first:ident $first_result:ident, $($rest:ident $rest_result:ident),+;)*) => {$(
        impl<$first, $first_result, $($rest, $rest_result),+> Closures for ($first, $($rest),+)
        where
            $first: FnOnce() -> $first_result + Send,
            $first_result: Send,
            $($rest: FnOnce() -> $rest_result + Send, $rest_result: Send),+
        {
            type Results = ($first_result, $($rest_result),+);

            #[allow(non_snake_case)]
            fn join(self) -> Self::Results {
                let site = Site::here(Kind::Join);
                let ($first, $($rest),+) = self;
                tuples!(@nest site, $first, $($rest),+)
            }
        }

        impl<$first, $($rest),+> sealed::Sealed for ($first, $($rest),+) {}
    )*};
    (@nest $site:expr, $a:ident, $b:ident) => { join_at($site, |_| $a(), |_| $b()) };
    (@nest $site:expr, $a:ident, $($rest:ident),+) => {{
        let ($a, ($($rest),+)) = join_at($site, |_| $a(), |_| tuples!(@nest $site, $($rest),+));
        ($a, $($rest),+)
    }};
}

tuples! {
    A RA, B RB;
    A RA, B RB, C RC;
    A RA, B RB, C RC, D RD;
    A RA, B RB, C RC, D RD, E RE;
    A RA, B RB, C RC, D RD, E RE, G RG;
    A RA, B RB, C RC, D RD, E RE, G RG, H RH;
    A RA, B RB, C RC, D RD, E RE, G RG, H RH, I RI;
}

mod sealed {
    pub trait Sealed {}
    impl<F, const N: usize> Sealed for [F; N] {}
    impl<F> Sealed for Vec<F> {}
}
