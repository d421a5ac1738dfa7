//! The sieve of Eratosthenes in blocks: first the primes up to the root, serially, then every block of odd numbers by
//! itself.

use super::{Demo, Program};
use crate::Checksum;
use crate::workload::ensure;
use rayon::prelude::*;

pub(super) const SIEVE: Program = Program {
    name: "sieve",
    about: "Eratosthenes in blocks, par_chunks_mut",
    prepare: |size, _| {
        let limit: usize = size.pick(100_000, 8_000_000, 100_000_000);
        Box::new(Sieve { limit, prime: vec![true; limit / 2] })
    },
};

/// Odd numbers in a block: fits into the first-level cache.
const BLOCK: usize = 16 << 10;

struct Sieve {
    limit: usize,
    /// Whether 2i + 1 is prime.
    prime: Vec<bool>,
}

/// Whether 2i + 1 is prime, for the first `count` i.
fn small(count: usize) -> Vec<bool> {
    let mut prime = vec![true; count];
    prime.iter_mut().take(1).for_each(|one| *one = false);
    for i in 1..count {
        let p = 2 * i + 1;
        if p * p / 2 >= count {
            break;
        }
        if prime[i] {
            prime[p * p / 2..].iter_mut().step_by(p).for_each(|multiple| *multiple = false);
        }
    }
    prime
}

impl Demo for Sieve {
    fn compute(&mut self) {
        let roots = small(self.limit.isqrt() / 2 + 1);
        let roots: Vec<usize> = (1..roots.len()).filter(|&i| roots[i]).map(|i| 2 * i + 1).collect();
        self.prime.par_chunks_mut(BLOCK).enumerate().for_each(|(block, prime)| {
            prime.fill(true);
            let start = block * BLOCK;
            for &p in &roots {
                // The first odd multiple of p in the block that is not below p².
                let first = if p * p / 2 >= start {
                    p * p / 2 - start
                } else {
                    let past = (start + p - p / 2 - 1) % p;
                    (p - 1) - past
                };
                if first >= prime.len() && p * p / 2 >= start + prime.len() {
                    break;
                }
                prime.iter_mut().skip(first).step_by(p).for_each(|multiple| *multiple = false);
            }
            if block == 0 {
                prime[0] = false;
            }
        });
    }

    fn checksum(&self) -> Checksum {
        Checksum::of([self.prime.iter().filter(|&&prime| prime).count() as u64])
    }

    fn check(&self) -> Result<(), String> {
        let expected = small(self.prime.len());
        let wrong = expected.iter().zip(&self.prime).position(|(expected, found)| expected != found);
        ensure(wrong.is_none(), || format!("{} is wrong", 2 * wrong.unwrap_or_default() + 1))
    }
}
