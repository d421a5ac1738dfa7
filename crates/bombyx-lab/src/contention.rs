//! How much slower or faster a core gets when all the others work too. It is measured, because a profile cannot show
//! it.
//!
//! Every core adds to the words of an array, once while the others are idle and then all at once. With a large array
//! per core, this shows how much memory bandwidth each gets. With a small array that another core has just added to, it
//! shows what it costs when data changes hands. Programs that do only this are slowed down by as much, and all others
//! by less. (A lock that everybody wants can be worse.)
//!
//! Every core also has its own caches, of data and of addresses. Comparing random reads of a large array by one core
//! with reads by all cores, each from its part, shows how much faster the same reads can get.

use crate::host;
use bombyx_profile::Contention;
use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Instant;

/// Bytes for all cores together, and for one core. More than its caches hold, unless there are very many cores.
const ALL: usize = 512 << 20;
const ONE: usize = 32 << 20;
/// Bytes that a core's own cache holds.
const SMALL: usize = 256 << 10;
/// How many passes over a large array and over a small one. When a core is alone, the best pass counts. When all work,
/// the median counts, because the best one may have met the others while they waited.
const PASSES: usize = 15;
const SMALL_PASSES: usize = 301;
/// Bytes of the smallest and the largest array that is read at random. Each is twice the one before. The gain is
/// largest where a part fits a cache and the whole does not. Then the number of reads, and the number of reads of which
/// each waits for the one before. One core and all cores take turns, and the best times count.
const NARROWEST: usize = 1 << 20;
const WIDEST: usize = 64 << 20;
const READS: usize = 1 << 18;
const CHAINED_READS: usize = 1 << 15;
const TURNS: usize = 9;

/// Measures this machine in less than a second. `None` if it has one core.
pub fn measured() -> Option<Contention> {
    let cores = host::cores();
    if cores < 2 {
        return None;
    }
    let slowdown = |bytes: usize, number: usize, changing_hands| {
        let length = bytes / size_of::<u64>();
        let alone = passes(1, length, number, false)[0];
        (passes(cores, length, number, changing_hands)[number / 2] / alone).max(1.0)
    };
    Some(Contention {
        cores: cores as u32,
        memory: slowdown((ALL / cores).min(ONE), PASSES, false),
        sharing: slowdown(SMALL, SMALL_PASSES, true),
        caches: gain(cores, WIDEST),
    })
}

/// The most by which reads get faster if every core has a part of an array to itself. At least 1.
fn gain(cores: usize, widest: usize) -> f64 {
    // Not zeros, because pages of zeros are all the same page.
    let words = vec![1; widest / size_of::<u64>()];
    let sizes =
        std::iter::successors(Some(widest), |bytes| Some(bytes / 2)).take_while(|&bytes| bytes >= NARROWEST);
    let arrays: Vec<&[u64]> = sizes.map(|bytes| &words[..bytes / size_of::<u64>()]).collect();
    let mut best = vec![[f64::INFINITY; 4]; arrays.len()];
    // All sizes in each turn: a temporary disturbance then affects few turns of each.
    for _ in 0..TURNS {
        for (array, best) in arrays.iter().zip(&mut best) {
            let times = [
                reads::<false>(1, array),
                reads::<false>(cores, array),
                reads::<true>(1, array),
                reads::<true>(cores, array),
            ];
            best.iter_mut().zip(times).for_each(|(best, time)| *best = best.min(time));
        }
    }
    let gains = best.iter().flat_map(|times| [times[0] / times[1], times[2] / times[3]]);
    gains.map(|gain| gain / cores as f64).fold(1.0, f64::max)
}

/// Seconds until the slowest of several threads has read at random, each from a part of `words`, which are ones.
fn reads<const CHAINED: bool>(threads: usize, words: &[u64]) -> f64 {
    let barrier = Barrier::new(threads);
    let work = &|part: &[u64]| {
        barrier.wait();
        let start = Instant::now();
        // Marsaglia's xorshift: cheap, and the next place does not wait for the last word, unless it should.
        let mut random = 0x2545_F491_4F6C_DD1D_u64;
        let mut sum = 0_u64;
        for _ in 0..(if CHAINED { CHAINED_READS } else { READS }) / threads {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let word = part[(((random >> 32) * part.len() as u64) >> 32) as usize];
            sum = sum.wrapping_add(word);
            if CHAINED {
                random ^= word ^ 1;
            }
        }
        black_box(sum);
        start.elapsed().as_secs_f64()
    };
    let part = |nth: usize| &words[nth * words.len() / threads..(nth + 1) * words.len() / threads];
    thread::scope(|scope| {
        let parts: Vec<_> = (0..threads).map(|nth| scope.spawn(move || work(part(nth)))).collect();
        parts.into_iter().filter_map(|part| part.join().ok()).fold(0.0, f64::max)
    })
}

/// Seconds of this many passes by several threads, over an array each, by the slowest thread, shortest pass first. From
/// one pass to the next the arrays stay where they are, or go to the next thread.
fn passes(threads: usize, length: usize, number: usize, changing_hands: bool) -> Vec<f64> {
    let arrays: Vec<Vec<AtomicU64>> =
        (0..threads).map(|_| (0..length).map(|_| AtomicU64::new(1)).collect()).collect();
    let barrier = Barrier::new(threads);
    let (arrays, barrier) = (&arrays, &barrier);
    let work = move |thread: usize| -> Vec<f64> {
        let one = |pass| {
            let array = &arrays[(thread + if changing_hands { pass } else { 0 }) % threads];
            barrier.wait();
            let start = Instant::now();
            // Word by word, as most programs do, and not with the vectors that the compiler would use.
            black_box(array).iter().for_each(|word| word.store(word.load(Relaxed).wrapping_add(1), Relaxed));
            start.elapsed().as_secs_f64()
        };
        (0..number).map(one).collect()
    };
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|thread| scope.spawn(move || work(thread))).collect();
        let mut slowest = work(0);
        for other in others.into_iter().filter_map(|other| other.join().ok()) {
            slowest.iter_mut().zip(other).for_each(|(slowest, other)| *slowest = slowest.max(other));
        }
        slowest.sort_by(f64::total_cmp);
        slowest
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_take_time() {
        assert!(
            [1, 3, 7].map(|threads| reads::<false>(threads, &[1; 31])).iter().all(|&seconds| seconds > 0.0)
        );
        assert!(
            [1, 3, 7].map(|threads| reads::<true>(threads, &[1; 31])).iter().all(|&seconds| seconds > 0.0)
        );
        assert!(gain(2, 2 * NARROWEST) >= 1.0);
    }

    #[test]
    fn a_pass_takes_time() {
        for changing_hands in [false, true] {
            let passes = passes(3, 1000, 5, changing_hands);
            assert!(passes.len() == 5 && passes[0] > 0.0 && passes.is_sorted(), "{passes:?}");
        }
    }
}
