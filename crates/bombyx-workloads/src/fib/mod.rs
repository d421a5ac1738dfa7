//! The exponential Fibonacci recursion: nothing but forks, so its time is the price of a fork.

mod continuations;

use crate::workload::{Bound, Checksum, Entry, Kernel, Suite, ensure, prepared};
use crate::{Fork, Serial};
use bombyx_rw::{Discipline, Pool};

pub(crate) static FIB: Entry = Entry {
    name: "fib",
    about: "Fibonacci number by the exponential recursion",
    suite: Suite::ReadWrite,
    bound: Bound::Compute,
    prepare: |size, grain, _seed| {
        prepared(Fib { n: size.pick(20, 42, 45), cutoff: grain.pick(16, 1), result: 0 })
    },
};

struct Fib {
    n: u32,
    /// Calls up to here do not fork.
    cutoff: u32,
    result: u64,
}

fn fib<F: Fork>(fork: &mut F, n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (a, b) = fork.join(move |fork| fib(fork, n - 1), move |fork| fib(fork, n - 2));
    a + b
}

fn fib_above<F: Fork>(fork: &mut F, n: u32, cutoff: u32) -> u64 {
    if n <= cutoff {
        return fib(&mut Serial, n);
    }
    let (a, b) =
        fork.join(move |fork| fib_above(fork, n - 1, cutoff), move |fork| fib_above(fork, n - 2, cutoff));
    a + b
}

impl Kernel for Fib {
    fn input(&self) -> String {
        format!("n = {}, serial up to {}", self.n, self.cutoff)
    }

    fn reset(&mut self) {
        self.result = 0;
    }

    fn compute<F: Fork>(&mut self, fork: &mut F) {
        self.result = if self.cutoff <= 1 { fib(fork, self.n) } else { fib_above(fork, self.n, self.cutoff) };
    }

    fn continue_on<K: Discipline>(&mut self, pool: &mut Pool<K>) -> bool {
        let (n, cutoff) = (self.n, self.cutoff);
        self.result = pool.run(|task| continuations::fib_above(task, n, cutoff));
        true
    }

    fn checksum(&self) -> Checksum {
        Checksum::of([self.result])
    }

    fn check(&self) -> Result<(), String> {
        let (expected, _) = (0..self.n).fold((0u64, 1u64), |(a, b), _| (b, a + b));
        ensure(self.result == expected, || format!("fib({}) is {expected}, not {}", self.n, self.result))
    }
}
