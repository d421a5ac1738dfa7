//! How much slower a core gets when all the others work too: measured, because a profile cannot tell it.
//!
//! Every core adds to a large array of its own, once while the others are idle and then all at once. Nothing uses
//! memory harder than that, so this is the most that a program's strands can be slowed down by sharing the machine, short
//! of sharing cache lines.

use crate::host;
use bombyx_profile::Contention;
use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

/// Bytes for all cores together, and for one: beyond its caches, where there are not very many cores.
const ALL: usize = 512 << 20;
const ONE: usize = 32 << 20;
/// Of so many passes the best one counts when a core is alone, and the one in the middle when all work: the best one may have met
/// the others while they waited.
const PASSES: usize = 15;

/// Measures this machine in less than half a second; none if it has one core.
pub(crate) fn measured() -> Option<Contention> {
    let cores = host::cores();
    if cores < 2 {
        return None;
    }
    let length = (ALL / cores).min(ONE) / size_of::<u64>();
    let alone = passes(1, length)[0];
    let together = passes(cores, length)[PASSES / 2];
    Some(Contention { cores: cores as u32, slowdown: (together / alone).max(1.0) })
}

/// Seconds of passes over an array by several threads, shortest first, each by the slowest of them.
fn passes(threads: usize, length: usize) -> [f64; PASSES] {
    let barrier = Barrier::new(threads);
    let pass = || {
        let mut array = vec![1_u64; length];
        [(); PASSES].map(|()| {
            barrier.wait();
            let start = Instant::now();
            black_box(&mut array).iter_mut().for_each(|word| *word = word.wrapping_add(1));
            start.elapsed().as_secs_f64()
        })
    };
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(pass)).collect();
        let mut slowest = pass();
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
        let passes = passes(2, 1000);
        assert!(passes[0] > 0.0 && passes.is_sorted(), "{passes:?}");
    }
}
