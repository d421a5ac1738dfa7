//! Compares the cores by `slice.par_iter().map(…).sum()`, started by `main` again and again, over slices of 100 to
//! 1,000,000 numbers. The time is that of a series of calls, which is longer for short slices.

use cores::{Program, Subject};
use rayon::prelude::*;
use std::hint::black_box;
use std::process::ExitCode;

/// The lengths of the slices.
const LENGTHS: [usize; 9] = [100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000];
/// A series adds about so many numbers.
const SERIES: usize = 1_000_000;

struct Sum {
    numbers: Vec<u64>,
    sum: u64,
}

fn square(number: &u64) -> u64 {
    number * number
}

impl Subject for Sum {
    fn compute(&mut self) {
        for _ in 0..SERIES.div_ceil(self.numbers.len()) {
            self.sum = black_box(&self.numbers).par_iter().map(square).sum();
        }
    }

    fn digest(&self) -> String {
        self.sum.to_string()
    }

    fn check(&self) -> Result<(), String> {
        let expected: u64 = self.numbers.iter().map(square).sum();
        if self.sum == expected { Ok(()) } else { Err(format!("{} instead of {expected}", self.sum)) }
    }
}

fn main() -> ExitCode {
    let programs = LENGTHS.map(|len| Program {
        name: format!("sum-{len}"),
        about: format!("sums of the squares of {len} numbers"),
        counts: true,
        prepare: Box::new(move || Box::new(Sum { numbers: (0..len as u64).collect(), sum: 0 })),
    });
    cores::main(&programs)
}
