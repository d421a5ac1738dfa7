//! `fib`: the recursion that spawns both its calls, with strands of one instruction: BL's finest grain.

use super::tree::{Node, divide_and_conquer};
use super::{FRAME, Generator, parameter};

pub(super) const GENERATOR: Generator = Generator {
    name: "fib",
    about: "fib(n), spawning both recursive calls, every strand one instruction",
    parameters: &[parameter("n", 20, 0, 60, "which Fibonacci number"), FRAME],
    size: |values| {
        // fib(n + 1) leaves of one strand, one fewer inner calls of four.
        let (mut leaves, mut next) = (1.0, 1.0);
        for _ in 0..values[0] {
            (leaves, next) = (next, leaves + next);
        }
        leaves + 4.0 * (leaves - 1.0)
    },
    build: |values| {
        divide_and_conquer(values[0], values[1], |&n| match n {
            0 | 1 => Node::Leaf { weight: 1, memory: 0 },
            n => Node::Split { parts: vec![n - 1, n - 2], divide: 1, combine: 1, memory: 0 },
        })
    },
};
