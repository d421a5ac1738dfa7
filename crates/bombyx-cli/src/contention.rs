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
/// The best of so many passes counts.
const PASSES: usize = 5;

/// Measures this machine in about a tenth of a second; none if it has one core.
pub(crate) fn measured() -> Option<Contention> {
    let cores = host::cores();
    if cores < 2 {
        return None;
    }
    let length = (ALL / cores).min(ONE) / size_of::<u64>();
    let alone = passes(1, length);
    let together = passes(cores, length);
    Some(Contention { cores: cores as u32, slowdown: (together / alone).max(1.0) })
}

/// Seconds of the best pass over an array by the slowest of several threads.
fn passes(threads: usize, length: usize) -> f64 {
    let barrier = Barrier::new(threads);
    let pass = || {
        let mut array = vec![1_u64; length];
        let mut best = f64::INFINITY;
        for _ in 0..PASSES {
            barrier.wait();
            let start = Instant::now();
            black_box(&mut array).iter_mut().for_each(|word| *word = word.wrapping_add(1));
            best = best.min(start.elapsed().as_secs_f64());
        }
        best
    };
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(pass)).collect();
        let mine = pass();
        others.into_iter().filter_map(|other| other.join().ok()).fold(mine, f64::max)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_takes_time() {
        assert!(passes(2, 1000) > 0.0);
    }
}
