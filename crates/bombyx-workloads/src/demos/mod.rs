//! Programs on the interface of rayon: its parallel iterators and sorts, and seven programs of the kind that rayon is
//! demonstrated with, written for this crate. They call nothing of Bombyx, so they run on whichever rayon-core they are
//! linked with; `scripts/rayon-bench` builds them with both and compares.
//!
//! Inputs depend on the seed only, and results do not depend on the schedule, so that checksums can be compared across
//! cores. Everything runs in the pool that the caller is in, or the global one.

mod iterators;
mod life;
mod matmul;
mod mergesort;
mod nbody;
mod quicksort;
mod sieve;
mod spawns;
mod tsp;

use crate::{Checksum, Size};

/// A program with its input in memory, to be run any number of times.
pub trait Demo {
    /// Puts everything back as it was before the first computation. Not to be timed.
    fn reset(&mut self) {}

    /// Runs the computation once. This is what to time.
    fn compute(&mut self);

    /// Digests the result of the last computation.
    fn checksum(&self) -> Checksum;

    /// Checks the result of the last computation by an independent method.
    ///
    /// # Errors
    /// Says what is wrong with the result.
    fn check(&self) -> Result<(), String>;
}

/// A line of the list of programs.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// Its name.
    pub name: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
    /// Generates the input. Equal arguments give equal inputs.
    pub prepare: fn(Size, u64) -> Box<dyn Demo>,
}

/// All programs: what rayon has itself, then programs on top of it.
///
/// ```
/// use bombyx_workloads::{Size, demos};
///
/// for program in demos::ALL {
///     let mut demo = (program.prepare)(Size::Small, 42);
///     demo.reset();
///     demo.compute();
///     demo.check().unwrap();
/// }
/// ```
pub const ALL: &[Program] = &[
    iterators::SORT,
    iterators::SORT_UNSTABLE,
    iterators::MAP_SUM,
    iterators::COLLECT,
    iterators::PAR_CHUNKS,
    iterators::PAR_BRIDGE,
    quicksort::QUICKSORT,
    mergesort::MERGESORT,
    matmul::MATMUL,
    nbody::NBODY,
    sieve::SIEVE,
    tsp::TSP,
    life::LIFE,
    spawns::SPAWNS,
];

/// Checks that `sorted` is `input` in ascending order.
fn check_sorted<T: Ord + Copy + std::fmt::Debug>(input: &[T], sorted: &[T]) -> Result<(), String> {
    let mut expected = input.to_vec();
    expected.sort_unstable();
    match expected.iter().zip(sorted).position(|(expected, found)| expected != found) {
        None if expected.len() == sorted.len() => Ok(()),
        None => Err(format!("{} elements became {}", expected.len(), sorted.len())),
        Some(at) => Err(format!("element {at} is {:?} instead of {:?}", sorted[at], expected[at])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_right_and_repeatable() {
        for program in ALL {
            let mut demo = (program.prepare)(Size::Small, 7);
            let mut checksums = (0..3).map(|_| {
                demo.reset();
                demo.compute();
                demo.check().unwrap_or_else(|wrong| panic!("{}: {wrong}", program.name));
                demo.checksum()
            });
            let first = checksums.next();
            assert!(checksums.all(|checksum| Some(checksum) == first), "{}", program.name);
        }
    }

    #[test]
    fn a_wrong_order_is_noticed() {
        assert_eq!(check_sorted(&[3, 1, 2], &[1, 2, 3]), Ok(()));
        assert_eq!(check_sorted(&[3, 1], &[3, 1]), Err("element 0 is 3 instead of 1".to_string()));
        assert_eq!(check_sorted(&[3, 1], &[1]), Err("2 elements became 1".to_string()));
    }
}
