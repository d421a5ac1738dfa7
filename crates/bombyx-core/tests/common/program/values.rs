//! The reducer that all nodes of a random program share, and leaves that have values of their own: state that closures
//! take turns with, and a reducer whose operation panics. Which closure does what in such a leaf is not determined, but
//! nothing is lost or leaked.

use super::{Affine, How, Run};
use crate::common::Counted;
use bombyx::{Monoid, PerProcessor, Reducer, blocking, checkpoint, for_each, join, scope};
use std::panic::{self, AssertUnwindSafe};
use std::thread;

/// Composes maps, and does something else meanwhile.
pub(super) struct Compose(pub(super) Meanwhile);

/// What an operation does beside its work.
#[derive(Clone, Copy, Debug)]
pub(super) enum Meanwhile {
    Nothing,
    Forks,
    Blocks,
}

impl Monoid for Compose {
    type View = Affine;

    fn identity(&self) -> Affine {
        Affine::IDENTITY
    }

    fn combine(&self, left: &mut Affine, right: Affine) {
        *left = left.then(right);
        match self.0 {
            // The last views are merged outside of the pool.
            _ if bombyx::current_processor().is_none() => {}
            Meanwhile::Nothing => {}
            Meanwhile::Forks => drop(join(thread::yield_now, checkpoint)),
            Meanwhile::Blocks => blocking(thread::yield_now),
        }
    }
}

/// Appends lists, and panics when it sees this number on the right.
struct Touchy(usize);

impl Monoid for Touchy {
    type View = Vec<Counted<usize>>;

    fn identity(&self) -> Self::View {
        Vec::new()
    }

    fn combine(&self, left: &mut Self::View, right: Self::View) {
        if right.iter().any(|number| number.0 == self.0) {
            panic::resume_unwind(Box::new("touchy"));
        }
        left.extend(right);
    }
}

impl Run<'_> {
    /// So many iterations keep their numbers in values that nobody else has meanwhile, even while they fork.
    pub(super) fn per_processor(&self, iterations: usize) {
        let kept = PerProcessor::new(|| self.census.count(Vec::new()));
        for_each(0..iterations, |number| {
            kept.with(|kept| {
                let before = kept.0.len();
                join(|| kept.0.push(number), || self.census.count(()));
                assert_eq!(kept.0[before..], [number], "nobody else has the value");
            });
        });
        let mut all: Vec<usize> = kept.into_iter().flat_map(|kept| kept.0.clone()).collect();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..iterations), "every iteration has kept its number");
    }

    /// A scope with so many closures beside a reducer whose operation panics when it meets the number `at`. The spawns or
    /// the end of the scope may panic, or what comes after.
    pub(super) fn touchy(&self, closures: usize, at: usize, how: How) {
        let list = Reducer::new(Touchy(at));
        let add = |number| list.with(|list| list.push(self.census.count(number)));
        let add = &add;
        let spawning = panic::catch_unwind(AssertUnwindSafe(|| {
            scope(|s| {
                for number in 0..closures {
                    add(2 * number);
                    how.spawn(s, move |_| add(2 * number + 1));
                }
            });
        }));
        let merged = panic::catch_unwind(AssertUnwindSafe(|| list.into_inner()));
        let complete = spawning.is_ok() && merged.is_ok();
        if let Ok(list) = merged {
            let numbers: Vec<usize> = list.iter().map(|number| number.0).collect();
            assert!(numbers.is_sorted_by(|a, b| a < b), "the list is in serial order: {numbers:?}");
            assert!(
                !complete || numbers.into_iter().eq(0..2 * closures),
                "nothing is missing without a panic"
            );
        }
        assert!(complete || at < 2 * closures, "nobody has panicked");
    }
}
