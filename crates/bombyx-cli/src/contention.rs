//! How much slower a core gets when all the others work too: measured, because a profile cannot tell it.
//!
//! Every core adds to the words of an array, once while the others are idle and then all at once: to a large array of its own,
//! which shows what memory has for each; and to a small one that another core has just added to, which shows what it costs that
//! data changes hands. Programs that work like that all the time are slowed down by so much, all others by less.
//! (A lock that everybody wants can be worse.)

use crate::host;
use bombyx_profile::Contention;
use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Instant;

/// Bytes for all cores together, and for one: beyond its caches, where there are not very many cores.
const ALL: usize = 512 << 20;
const ONE: usize = 32 << 20;
/// Bytes that a core's own cache holds.
const SMALL: usize = 256 << 10;
/// Of so many passes over a large array and over a small one, the best one counts when a core is alone, and the one in the middle
/// when all work: the best one may have met the others while they waited.
const PASSES: usize = 15;
const SMALL_PASSES: usize = 301;

/// Measures this machine in less than half a second; none if it has one core.
pub(crate) fn measured() -> Option<Contention> {
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
    })
}

/// Seconds of so many passes by several threads, over an array each, shortest first, each by the slowest of them. From one
/// pass to the next the arrays stay where they are, or go to the next thread.
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
            // Word by word, as most programs do, not as the vectors that the compiler would make of it.
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
    fn a_pass_takes_time() {
        for changing_hands in [false, true] {
            let passes = passes(3, 1000, 5, changing_hands);
            assert!(passes.len() == 5 && passes[0] > 0.0 && passes.is_sorted(), "{passes:?}");
        }
    }
}
