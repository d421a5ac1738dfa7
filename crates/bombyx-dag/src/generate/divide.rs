//! `dnc` and `skewed`: divide and conquer whose parts are equal, or in a fixed proportion.

use super::tree::{Node, divide_and_conquer};
use super::{FRAME, Generator, bytes, parameter, weight};

pub(super) const BALANCED: Generator = Generator {
    name: "dnc",
    about: "balanced divide and conquer",
    parameters: &[
        parameter("depth", 10, 0, 60, "levels of division"),
        weight("work", 100, "weight of a leaf"),
        parameter("branch", 2, 2, 1 << 20, "parts of every division"),
        weight("divide", 1, "weight of every spawning strand"),
        weight("combine", 1, "weight of the strand after the join"),
        bytes("memory", 0, "heap bytes that every thread holds while it lives"),
        FRAME,
    ],
    size: |values| {
        let (depth, branch) = (values[0], values[2] as f64);
        let leaves = branch.powf(depth as f64);
        leaves + (leaves - 1.0) / (branch - 1.0) * (branch + 2.0)
    },
    build: |values| {
        let &[depth, work, branch, divide, combine, memory, frame] = values else {
            unreachable!("a spec holds every parameter")
        };
        divide_and_conquer(depth, frame, |&levels| match levels {
            0 => Node::Leaf { weight: work, memory },
            _ => Node::Split { parts: vec![levels - 1; branch as usize], divide, combine, memory },
        })
    },
};

pub(super) const SKEWED: Generator = Generator {
    name: "skewed",
    about: "divide and conquer in a fixed proportion: lopsided trees",
    parameters: &[
        parameter("leaves", 1024, 1, 1 << 40, "how many leaves"),
        parameter("percent", 90, 1, 99, "share of the leaves in the first part"),
        weight("work", 100, "weight of a leaf"),
        weight("divide", 1, "weight of every spawning strand"),
        weight("combine", 1, "weight of the strand after the join"),
        bytes("memory", 0, "heap bytes that every thread holds while it lives"),
        FRAME,
    ],
    size: |values| values[0] as f64 * 5.0 - 4.0,
    build: |values| {
        let &[leaves, percent, work, divide, combine, memory, frame] = values else {
            unreachable!("a spec holds every parameter")
        };
        divide_and_conquer(leaves, frame, |&leaves| match leaves {
            1 => Node::Leaf { weight: work, memory },
            _ => {
                let first = (leaves * percent / 100).clamp(1, leaves - 1);
                Node::Split { parts: vec![first, leaves - first], divide, combine, memory }
            }
        })
    },
};
