//! Measurements and how they are taken. A [`Sample`] is one run, an [`Entry`] has the runs of one runtime, and a
//! [`Case`] is one thing measured on all of them. [`interleave`] makes the runtimes take turns, so that a change in the
//! machine's state affects all of them alike.

use crate::Result;
use crate::contender::Contender;
use crate::progress::Progress;
use crate::resources::Memory;
use crate::sample::{Counts, Sample};
use crate::statistics::{median, middle};
use bombyx::Scheduler;
use std::fmt::Display;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

/// The runs of one runtime.
#[derive(Clone)]
pub struct Entry {
    pub runtime: String,
    pub scheduler: Option<Scheduler>,
    pub processors: usize,
    /// In the order of the rounds, at least one.
    samples: Vec<Sample>,
    /// The most living threads at a time, if they were counted, in the median of runs. These are the same runs if the
    /// pool counts anyway, and other runs if not, because counting takes time.
    pub threads: Option<u64>,
}

impl Entry {
    pub fn new(runtime: &str, scheduler: Option<Scheduler>, processors: usize, samples: Vec<Sample>) -> Self {
        assert!(!samples.is_empty(), "nothing was measured");
        let mut entry = Self { runtime: runtime.to_owned(), scheduler, processors, samples, threads: None };
        entry.threads = entry.counted_threads();
        entry
    }

    /// Adds the runs of another measurement.
    fn add(&mut self, more: Self) {
        self.samples.extend(more.samples);
        self.threads = self.counted_threads().or(self.threads).or(more.threads);
    }

    /// The median of what the pool counted in these runs.
    fn counted_threads(&self) -> Option<u64> {
        middle(self.samples.iter().filter_map(|sample| Some(sample.counts?.peak_threads)).filter(|&n| n > 0))
    }

    /// The runs, shortest first.
    fn sorted(&self) -> Vec<&Sample> {
        let mut samples: Vec<&Sample> = self.samples.iter().collect();
        samples.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        samples
    }

    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    pub fn best(&self) -> f64 {
        self.sorted()[0].seconds
    }

    pub fn median(&self) -> f64 {
        median(&self.sorted().iter().map(|sample| sample.seconds).collect::<Vec<_>>())
    }

    /// This runtime's time over that of another, in the median of the rounds in which both ran. What changes from round
    /// to round changes for both.
    pub fn over(&self, other: &Self) -> f64 {
        let pairs = self.samples.iter().zip(&other.samples);
        let mut ratios: Vec<f64> = pairs.map(|(ours, theirs)| ours.seconds / theirs.seconds).collect();
        ratios.sort_by(f64::total_cmp);
        median(&ratios)
    }

    /// The most memory of all runs.
    pub fn memory(&self) -> Option<Memory> {
        self.samples.iter().filter_map(|sample| sample.memory).reduce(Memory::max)
    }

    /// The most carriers of all runs, if the pool is one of Bombyx.
    pub fn peak_carriers(&self) -> Option<u64> {
        self.samples.iter().filter_map(|sample| Some(sample.counts?.peak_carriers)).max()
    }

    /// What the pool counted in the run in the middle.
    pub fn counts(&self) -> Option<Counts> {
        self.sorted()[self.samples.len() / 2].counts
    }
}

/// One thing measured on several runtimes.
pub struct Case {
    pub name: String,
    /// What exactly was measured.
    pub about: String,
    pub entries: Vec<Entry>,
}

impl Case {
    /// The entry of a runtime. The serial elision has the same one for every number of processors.
    pub fn entry(&self, runtime: &str, processors: usize) -> Option<&Entry> {
        self.entries
            .iter()
            .find(|entry| entry.runtime == runtime && (entry.processors == processors || runtime == "serial"))
    }

    /// `entry` over another runtime on as many processors.
    pub fn ratio(&self, entry: &Entry, runtime: &str) -> Option<f64> {
        Some(entry.over(self.entry(runtime, entry.processors)?))
    }

    /// Adds another measurement of the same, on the same runtimes.
    pub fn add(&mut self, more: Self) {
        for (entry, more) in self.entries.iter_mut().zip(more.entries) {
            entry.add(more);
        }
    }

    /// Bombyx's entry for a scheduler on `processors`.
    pub fn scheduled(&self, scheduler: Scheduler, processors: usize) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.scheduler == Some(scheduler) && entry.processors == processors)
    }

    /// Bombyx over another runtime on `processors`.
    pub fn against(&self, runtime: &str, processors: usize) -> Option<f64> {
        self.ratio(self.entry("bombyx", processors)?, runtime)
    }
}

/// Lets all contenders run once to warm up, then `rounds` times in turn. The order differs in each round, so that none
/// always comes after the same other one.
///
/// `once` learns whether it is the warm-up, whose sample is dropped.
pub fn interleave<T: Display>(
    what: &str,
    rounds: usize,
    contenders: &[T],
    mut once: impl FnMut(&T, bool) -> Result<Sample>,
) -> Result<Vec<Vec<Sample>>> {
    let progress = Progress::new((rounds + 1) * contenders.len());
    let mut samples = vec![Vec::with_capacity(rounds); contenders.len()];
    let mut order: Vec<usize> = (0..contenders.len()).collect();
    for round in 0..=rounds {
        for &nth in &order {
            let contender = &contenders[nth];
            progress.doing(match round {
                0 => format!("{what}: {contender}, warming up"),
                _ => format!("{what}: {contender}, round {round} of {rounds}"),
            });
            let sample = once(contender, round == 0)?;
            if round > 0 {
                samples[nth].push(sample);
            }
            progress.step();
        }
        shuffle(&mut order, round);
    }
    Ok(samples)
}

/// Puts the contenders in another order: by a hash of themselves and the round.
fn shuffle(order: &mut [usize], round: usize) {
    order.sort_by_key(|&nth| BuildHasherDefault::<DefaultHasher>::default().hash_one((round, nth)));
}

/// [`interleave`] for contenders, as the entries of a [`Case`].
pub fn compete(
    what: &str,
    rounds: usize,
    contenders: &[Contender],
    once: impl FnMut(&Contender, bool) -> Result<Sample>,
) -> Result<Vec<Entry>> {
    let samples = interleave(what, rounds, contenders, once)?;
    let entry = |(contender, samples): (&Contender, Vec<Sample>)| {
        Entry::new(contender.name(), contender.scheduler(), contender.processors, samples)
    };
    Ok(contenders.iter().zip(samples).map(entry).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn further_rounds_count_as_the_first_ones_do() {
        let case = |seconds: &[f64]| {
            let entries = vec![entry("bombyx", 1, seconds)];
            Case { name: "x".into(), about: String::new(), entries }
        };
        let mut all = case(&[5.0, 1.0]);
        all.add(case(&[2.0, 3.0, 4.0]));
        assert_eq!((all.entries[0].median(), all.entries[0].best()), (3.0, 1.0));
    }

    fn entry(runtime: &str, processors: usize, seconds: &[f64]) -> Entry {
        Entry::new(runtime, None, processors, seconds.iter().copied().map(Sample::seconds).collect())
    }

    #[test]
    fn medians_of_odd_and_even_numbers() {
        assert_eq!(entry("bombyx", 1, &[3.0, 1.0, 2.0]).median(), 2.0);
        assert_eq!(entry("bombyx", 1, &[4.0, 1.0, 2.0, 3.0]).median(), 2.5);
        assert_eq!(entry("bombyx", 1, &[4.0, 1.0]).best(), 1.0);
    }

    #[test]
    fn threads_are_the_median_of_the_runs_that_counted() {
        let counted = |threads| {
            let counts = Counts { peak_threads: threads, ..Counts::from(bombyx::Stats::default()) };
            Sample { counts: Some(counts), ..Sample::seconds(1.0) }
        };
        assert_eq!(Entry::new("bombyx", None, 2, [9, 3, 5].map(counted).to_vec()).threads, Some(5));
        assert_eq!(Entry::new("bombyx", None, 2, [0, 0, 7].map(counted).to_vec()).threads, Some(7));
        assert_eq!(Entry::new("bombyx", None, 2, [0].map(counted).to_vec()).threads, None);
    }

    #[test]
    fn ratios_are_those_of_rounds() {
        // In the second and the third round the machine was slower.
        let (ours, theirs) = (entry("bombyx", 2, &[1.0, 3.0, 5.5]), entry("rayon", 2, &[2.0, 6.0, 6.0]));
        assert_eq!(ours.over(&theirs), 0.5);
    }

    #[test]
    fn runtimes_take_turns_and_warm_up_is_dropped() {
        let (mut order, mut clock) = (String::new(), 0.0);
        let samples = interleave("test", 20, &["a", "b", "c"], |who, warm_up| {
            order += if warm_up { "-" } else { who };
            clock += 1.0;
            Ok(Sample::seconds(clock))
        });
        let rounds: Vec<&str> = (0..=20).map(|round| &order[3 * round..3 * round + 3]).collect();
        assert_eq!(rounds[0], "---");
        for turn in ["abc", "acb", "bac", "bca", "cab", "cba"] {
            assert!(rounds.contains(&turn), "{turn} never came: {order}");
        }
        for (who, samples) in ["a", "b", "c"].iter().zip(samples.unwrap()) {
            assert_eq!(samples.len(), 20);
            for (round, sample) in samples.iter().enumerate() {
                assert_eq!(
                    &order[sample.seconds as usize - 1..sample.seconds as usize],
                    *who,
                    "round {round}"
                );
            }
        }
    }

    #[test]
    fn ratios_compare_equal_numbers_of_processors() {
        let entries = vec![
            entry("serial", 1, &[4.0]),
            entry("bombyx", 1, &[5.0]),
            entry("bombyx", 2, &[2.0]),
            entry("rayon", 2, &[8.0]),
        ];
        let case = Case { name: "x".into(), about: String::new(), entries };
        assert_eq!(case.against("serial", 1), Some(1.25));
        assert_eq!(case.against("serial", 2), Some(0.5));
        assert_eq!(case.against("rayon", 2), Some(0.25));
        assert_eq!(case.against("rayon", 1), None);
    }
}
