//! Counts the ways to put n queens on an n × n board so that none attacks another: a search tree whose shape is
//! not known in advance.

use crate::workload::{Bound, Checksum, Entry, Kernel, Suite, ensure, prepared};
use crate::{Fork, Serial};

pub(crate) static NQUEENS: Entry = Entry {
    name: "nqueens",
    about: "number of placements of n queens that do not attack each other",
    suite: Suite::Classics,
    bound: Bound::Compute,
    prepare: |size, grain, _seed| {
        prepared(Queens { n: size.pick(10, 15, 16), serial_rows: grain.pick(8, 5), solutions: 0 })
    },
};

/// The number of solutions for 0, 1, 2, … queens (OEIS A000170).
const SOLUTIONS: [u64; 17] =
    [1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2_680, 14_200, 73_712, 365_596, 2_279_184, 14_772_512];

struct Queens {
    n: u32,
    /// With this many rows left, the search no longer forks.
    serial_rows: u32,
    solutions: u64,
}

/// The rows filled so far, as what they forbid in the next row.
#[derive(Clone, Copy)]
struct Board {
    rows_left: u32,
    columns: u32,
    /// Diagonals that move one column up, and down, with each row.
    rising: u32,
    falling: u32,
}

impl Board {
    fn free(self, all: u32) -> u32 {
        all & !(self.columns | self.rising | self.falling)
    }

    fn place(self, queen: u32) -> Board {
        Board {
            rows_left: self.rows_left - 1,
            columns: self.columns | queen,
            rising: (self.rising | queen) << 1,
            falling: (self.falling | queen) >> 1,
        }
    }
}

/// Solutions that extend `board`.
fn solve<F: Fork>(fork: &mut F, all: u32, serial_rows: u32, board: Board) -> u64 {
    if board.rows_left == 0 {
        return 1;
    }
    let free = board.free(all);
    if free == 0 {
        return 0;
    }
    if board.rows_left <= serial_rows {
        return try_each(&mut Serial, all, 0, board, free);
    }
    try_each(fork, all, serial_rows, board, free)
}

/// Solutions that extend `board` by a queen on one of the `free` columns, of which there is at least one.
fn try_each<F: Fork>(fork: &mut F, all: u32, serial_rows: u32, board: Board, free: u32) -> u64 {
    let queen = free & free.wrapping_neg();
    let others = free ^ queen;
    if others == 0 {
        return solve(fork, all, serial_rows, board.place(queen));
    }
    let (a, b) = fork.join(
        move |fork| solve(fork, all, serial_rows, board.place(queen)),
        move |fork| try_each(fork, all, serial_rows, board, others),
    );
    a + b
}

impl Kernel for Queens {
    fn input(&self) -> String {
        format!("n = {}, last {} rows serial", self.n, self.serial_rows)
    }

    fn reset(&mut self) {
        self.solutions = 0;
    }

    fn compute<F: Fork>(&mut self, fork: &mut F) {
        let empty = Board { rows_left: self.n, columns: 0, rising: 0, falling: 0 };
        self.solutions = solve(fork, (1 << self.n) - 1, self.serial_rows, empty);
    }

    fn checksum(&self) -> Checksum {
        Checksum::of([self.solutions])
    }

    fn check(&self) -> Result<(), String> {
        let expected = SOLUTIONS[self.n as usize];
        ensure(self.solutions == expected, || format!("{} solutions instead of {expected}", self.solutions))
    }
}
