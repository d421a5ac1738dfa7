//! The smallest programs that measure a runtime, written once for all runtimes so that only the runtime differs: only
//! forks ([`fib`]), a tree of leaves of a known length ([`tree`]), only spawns ([`spawns`]).

use bombyx_workloads::{Bombyx, Fork, Runtime, Serial};
use std::hint::{black_box, spin_loop};
use std::time::{Duration, Instant};

/// Fibonacci by the exponential recursion. The closures own their number, as those of most programs own slices. A
/// number that is captured by reference would have to be kept in memory, in any runtime.
fn fork_fib<F: Fork>(fork: &mut F, n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (a, b) = fork.join(move |fork| fork_fib(fork, n - 1), move |fork| fork_fib(fork, n - 2));
    a + b
}

/// The same for chili, whose scopes have one type per lifetime.
#[cfg(feature = "peers")]
fn chili_fib(scope: &mut chili::Scope<'_>, n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (a, b) = scope.join(move |scope| chili_fib(scope, n - 1), move |scope| chili_fib(scope, n - 2));
    a + b
}

/// The same without the trait, with closures that capture by reference.
pub fn bombyx_fib(n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (a, b) = bombyx::join(|| bombyx_fib(n - 1), || bombyx_fib(n - 2));
    a + b
}

/// The recursion as a programmer without parallelism in mind would write it.
pub fn plain_fib(n: u32) -> u64 {
    if n < 2 { u64::from(n) } else { plain_fib(n - 1) + plain_fib(n - 2) }
}

/// Fibonacci on a runtime, forking down to the last call.
pub fn fib(on: Runtime<'_>, n: u32) -> u64 {
    let n = black_box(n);
    match on {
        Runtime::Serial => fork_fib(&mut Serial, n),
        Runtime::Bombyx(pool) | Runtime::Timed(pool, _) => pool.run(|| fork_fib(&mut Bombyx, n)),
        #[cfg(feature = "peers")]
        Runtime::Rayon(pool) => pool.install(|| fork_fib(&mut bombyx_workloads::Rayon, n)),
        #[cfg(feature = "peers")]
        Runtime::Chili(pool) => chili_fib(&mut pool.scope(), n),
    }
}

/// What [`wide_fib`] returns: more than two registers hold.
#[derive(Clone, Copy)]
struct Tally {
    value: u64,
    leaves: u64,
    depth: u32,
}

fn fork_tally<F: Fork>(fork: &mut F, n: u32, depth: u32, values: &[u64], factor: u64) -> Tally {
    if n < 2 {
        return Tally { value: factor * values[n as usize], leaves: 1, depth };
    }
    let (a, b) = fork.join(
        move |fork| fork_tally(fork, n - 1, depth + 1, values, factor),
        move |fork| fork_tally(fork, n - 2, depth + 1, values, factor),
    );
    Tally { value: a.value + b.value, leaves: a.leaves + b.leaves, depth: a.depth.max(b.depth) }
}

/// [`fib`] with more to carry, as in a search: closures of four words on the way down, results of three on the way up.
/// `None` if it counted wrong.
pub fn wide_fib(on: Runtime<'_>, n: u32) -> Option<u64> {
    let (n, values, factor) = (black_box(n), &black_box([0, 1]), black_box(1));
    let tally = match on {
        Runtime::Serial => fork_tally(&mut Serial, n, 0, values, factor),
        Runtime::Bombyx(pool) | Runtime::Timed(pool, _) => {
            pool.run(|| fork_tally(&mut Bombyx, n, 0, values, factor))
        }
        #[cfg(feature = "peers")]
        Runtime::Rayon(pool) => {
            pool.install(|| fork_tally(&mut bombyx_workloads::Rayon, n, 0, values, factor))
        }
        #[cfg(feature = "peers")]
        Runtime::Chili(pool) => {
            bombyx_workloads::Chili::enter(pool, |fork| fork_tally(fork, n, 0, values, factor))
        }
    };
    let right = tally.leaves == fib_forks(n) + 1 && tally.depth == n.saturating_sub(1);
    right.then_some(tally.value)
}

/// What [`fib`] must return.
pub fn fib_value(n: u32) -> u64 {
    (0..n).fold((0, 1), |(a, b), _| (b, a + b)).0
}

/// How many forks [`fib`] makes: one for each call above the leaves.
pub fn fib_forks(n: u32) -> u64 {
    fib_value(n + 1) - 1
}

/// A leaf: looks at the clock until the time is over.
pub fn busy(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        spin_loop();
    }
}

/// A leaf of so many steps, each of which waits for the one before.
#[inline(always)]
pub fn leaf(steps: u64) {
    let mut x = 0x2545_f491_4f6c_dd1d_u64;
    for _ in 0..steps {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    black_box(x);
}

/// How long a step of [`leaf`] takes here, in seconds.
pub fn step_seconds() -> f64 {
    const STEPS: u32 = 100_000;
    let times = (0..20).map(|_| {
        let start = Instant::now();
        leaf(u64::from(STEPS));
        start.elapsed().as_secs_f64() / f64::from(STEPS)
    });
    times.fold(f64::MAX, f64::min)
}

fn fork_tree<F: Fork>(fork: &mut F, depth: u32, leaf: Duration) {
    if depth == 0 {
        return busy(leaf);
    }
    fork.join(|fork| fork_tree(fork, depth - 1, leaf), |fork| fork_tree(fork, depth - 1, leaf));
}

#[cfg(feature = "peers")]
fn chili_tree(scope: &mut chili::Scope<'_>, depth: u32, leaf: Duration) {
    if depth == 0 {
        return busy(leaf);
    }
    scope.join(|scope| chili_tree(scope, depth - 1, leaf), |scope| chili_tree(scope, depth - 1, leaf));
}

/// Balanced join trees of 2^`depth` leaves, one after the other, inside the pool.
pub fn tree(on: Runtime<'_>, trees: u32, depth: u32, leaf: Duration) {
    match on {
        Runtime::Serial => (0..trees).for_each(|_| fork_tree(&mut Serial, depth, leaf)),
        Runtime::Bombyx(pool) | Runtime::Timed(pool, _) => {
            pool.run(|| (0..trees).for_each(|_| fork_tree(&mut Bombyx, depth, leaf)))
        }
        #[cfg(feature = "peers")]
        Runtime::Rayon(pool) => {
            pool.install(|| (0..trees).for_each(|_| fork_tree(&mut bombyx_workloads::Rayon, depth, leaf)));
        }
        #[cfg(feature = "peers")]
        Runtime::Chili(pool) => {
            let mut scope = pool.scope();
            (0..trees).for_each(|_| chili_tree(&mut scope, depth, leaf));
        }
    }
}

/// One task spawns `count` empty ones in one scope. Does nothing for runtimes without spawns.
pub fn spawns(on: Runtime<'_>, count: u64) {
    match on {
        Runtime::Bombyx(pool) => pool.run(|| bombyx::scope(|s| (0..count).for_each(|_| s.spawn(|_| ())))),
        #[cfg(feature = "peers")]
        Runtime::Rayon(pool) => {
            pool.install(|| rayon::scope(|s| (0..count).for_each(|_| s.spawn(|_| ()))));
        }
        _ => {}
    }
}

/// Enters the pool and leaves it again.
pub fn enter(on: Runtime<'_>) {
    match on {
        Runtime::Bombyx(pool) => pool.run(|| ()),
        #[cfg(feature = "peers")]
        Runtime::Rayon(pool) => pool.install(|| ()),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_recursions_agree() {
        let pool = bombyx::Pool::builder().processors(2).build().unwrap();
        for n in [0, 1, 2, 15] {
            assert_eq!(fib(Runtime::Serial, n), fib_value(n));
            assert_eq!(fib(Runtime::Bombyx(&pool), n), fib_value(n));
            assert_eq!(pool.run(|| bombyx_fib(n)), fib_value(n));
            assert_eq!(plain_fib(n), fib_value(n));
        }
        assert_eq!(fib_value(38), 39_088_169);
        assert_eq!(fib_forks(38), 63_245_985);
    }
}
