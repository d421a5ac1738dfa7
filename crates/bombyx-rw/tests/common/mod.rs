//! Random small computations, and what they must give.

use bombyx_rw::{Count, Discipline, Ended, Pool, Task};

/// A random number from another.
pub(crate) fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// A computation that follows from a seed: a thread ends, calls, or forks, as its seed says, with at most `size` forks. Its
/// value depends on every thread below it, in order.
pub(crate) fn grow<'w, K: Discipline>(task: Task<'w, '_, u64, K>, seed: u64, size: u32) -> Ended<'w> {
    let drawn = mix(seed);
    // A body takes its time, so that others can take part.
    (0..6).for_each(|nth| K::pause(|| mix(drawn ^ nth)));
    match drawn % 8 {
        _ if size == 0 => task.end(drawn),
        0 => task.end(drawn),
        1 => task.call(move |task| grow(task, drawn, size - 1), move |task, a| grow(task, a, size / 2)),
        _ => {
            let left = (drawn >> 8) as u32 % size;
            let right = (size - 1 - left) * ((drawn >> 40) as u32 % 3) / 2;
            task.fork(
                move |task| grow(task, drawn ^ 1, left),
                move |task| grow(task, drawn ^ 2, right),
                move |task, a, b| match drawn >> 60 {
                    0 => grow(task, a ^ b.rotate_left(9), size / 4),
                    _ => task.end(mix(a ^ mix(b))),
                },
            )
        }
    }
}

/// The same value by plain recursion, and how many threads come after the one that begins.
pub(crate) fn expected(seed: u64, size: u32) -> (u64, u64) {
    let drawn = mix(seed);
    match drawn % 8 {
        _ if size == 0 => (drawn, 0),
        0 => (drawn, 0),
        1 => {
            let (first, before) = expected(drawn, size - 1);
            let (value, after) = expected(first, size / 2);
            (value, before + 1 + after)
        }
        _ => {
            let left = (drawn >> 8) as u32 % size;
            let right = (size - 1 - left) * ((drawn >> 40) as u32 % 3) / 2;
            let ((a, more), (b, others)) = (expected(drawn ^ 1, left), expected(drawn ^ 2, right));
            let (value, after) = match drawn >> 60 {
                0 => expected(a ^ b.rotate_left(9), size / 4),
                _ => (mix(a ^ mix(b)), 0),
            };
            (value, 3 + more + others + after)
        }
    }
}

/// Runs the computations of these seeds, and checks their values and that every thread ran once.
pub(crate) fn check<K: Discipline>(pool: &mut Pool<K>, seeds: std::ops::Range<u64>, size: u32) {
    for seed in seeds {
        let (expected, threads) = expected(seed, size);
        let before = pool.counted(Count::Threads);
        let value = pool.run(|task| grow(task, seed, size));
        let of = format!("{}, {} processors, seed {seed}", K::NAME, pool.processors());
        assert_eq!(value, expected, "{of}");
        assert_eq!(pool.counted(Count::Threads) - before, threads + 1, "threads run: {of}");
    }
}
