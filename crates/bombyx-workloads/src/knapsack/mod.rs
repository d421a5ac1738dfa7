//! The knapsack problem by branch and bound: both halves of a fork may end early because of what the other side
//! found, so the work depends on the schedule, and only the answer is determined.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::inputs::Rng;
use crate::workload::{Bound, Checksum, Entry, Kernel, Suite, ensure, prepared};
use crate::{Fork, Serial};

pub(crate) static KNAPSACK: Entry = Entry {
    name: "knapsack",
    about: "0/1 knapsack by branch and bound",
    suite: Suite::Classics,
    bound: Bound::Compute,
    prepare: |size, grain, seed| prepared(Knapsack::new(size.pick(14, 29, 31), grain.pick(12, 4), seed)),
};

#[derive(Clone, Copy, Debug)]
struct Item {
    weight: u64,
    value: u64,
}

struct Knapsack {
    /// In order of falling value per weight.
    items: Vec<Item>,
    capacity: u64,
    /// How many of the last items are decided serially.
    serial_items: usize,
    best: AtomicU64,
}

impl Knapsack {
    /// Values equal to weights, weights even, capacity odd: no sack ever reaches the bound, so only the capacity prunes
    /// (the even-odd instances of Pisinger, Computers & Operations Research 2005).
    fn new(n: usize, serial_items: usize, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let items: Vec<Item> =
            (0..n).map(|_| 2 * (500 + rng.below(500))).map(|weight| Item { weight, value: weight }).collect();
        let capacity = (items.iter().map(|i| i.weight).sum::<u64>() / 2) | 1;
        Knapsack { items, capacity, serial_items, best: AtomicU64::new(0) }
    }

    /// The optimum by dynamic programming over capacities.
    fn optimum(&self) -> u64 {
        let mut best = vec![0; self.capacity as usize + 1];
        for item in &self.items {
            for room in (item.weight as usize..best.len()).rev() {
                best[room] = best[room].max(best[room - item.weight as usize] + item.value);
            }
        }
        best[self.capacity as usize]
    }
}

/// What is in the sack.
#[derive(Clone, Copy)]
struct Sack {
    room: u64,
    value: u64,
}

/// Raises `best` to the value of the best sack that `items` can make of `sack`.
fn decide<F: Fork>(fork: &mut F, items: &[Item], serial_items: usize, sack: Sack, best: &AtomicU64) {
    let known = best.load(Relaxed);
    let Some(item) = items.first() else {
        if sack.value > known {
            best.fetch_max(sack.value, Relaxed);
        }
        return;
    };
    // Nothing beats filling all of the room with the best item left.
    if sack.value * item.weight + sack.room * item.value <= known * item.weight {
        return;
    }
    if items.len() <= serial_items {
        return branch(&mut Serial, items, 0, sack, best);
    }
    branch(fork, items, serial_items, sack, best);
}

/// Takes the first item if it fits, or leaves it.
fn branch<F: Fork>(fork: &mut F, items: &[Item], serial_items: usize, sack: Sack, best: &AtomicU64) {
    let (item, rest) = (items[0], &items[1..]);
    let leave = move |fork: &mut F| decide(fork, rest, serial_items, sack, best);
    if item.weight > sack.room {
        return leave(fork);
    }
    let taken = Sack { room: sack.room - item.weight, value: sack.value + item.value };
    fork.join(move |fork| decide(fork, rest, serial_items, taken, best), leave);
}

impl Kernel for Knapsack {
    fn input(&self) -> String {
        format!("{} items, the last {} serial", self.items.len(), self.serial_items)
    }

    fn reset(&mut self) {
        *self.best.get_mut() = 0;
    }

    fn compute<F: Fork>(&mut self, fork: &mut F) {
        let empty = Sack { room: self.capacity, value: 0 };
        decide(fork, &self.items, self.serial_items, empty, &self.best);
    }

    fn checksum(&self) -> Checksum {
        Checksum::of([self.best.load(Relaxed)])
    }

    fn check(&self) -> Result<(), String> {
        let (got, expected) = (self.best.load(Relaxed), self.optimum());
        ensure(got == expected, || format!("the best sack is worth {expected}, not {got}"))
    }
}
