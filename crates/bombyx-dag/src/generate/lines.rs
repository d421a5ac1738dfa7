//! `chain` and `fan`: the extremes of spawn trees, as deep and as wide as they can be.

use super::{Builder, FRAME, Generator, parameter, weight};

pub(super) const CHAIN: Generator = Generator {
    name: "chain",
    about: "a spawn chain: every thread spawns one child, works, and waits for it",
    parameters: &[
        parameter("length", 100, 1, 1 << 30, "threads, one inside the other"),
        weight("work", 10, "weight of what a parent does beside its child"),
        FRAME,
    ],
    size: |values| values[0] as f64 * 3.0 - 2.0,
    build: |values| {
        let (length, work, frame) = (values[0], values[1], values[2]);
        let mut b = Builder::new(frame);
        for _ in 1..length {
            b.strand(1);
            b.spawn(frame);
        }
        b.strand(work);
        for _ in 1..length {
            let child = b.end();
            b.strand(work);
            b.strand(1);
            b.wait_for(child);
        }
        b.build()
    },
};

pub(super) const FAN: Generator = Generator {
    name: "fan",
    about: "one thread that spawns all the others and waits for them at the end",
    parameters: &[
        parameter("children", 100, 1, 1 << 30, "threads besides the root"),
        weight("work", 10, "weight of a child"),
        FRAME,
    ],
    size: |values| values[0] as f64 * 2.0 + 2.0,
    build: |values| {
        let (children, work, frame) = (values[0], values[1], values[2]);
        let mut b = Builder::new(frame);
        let mut ends = Vec::new();
        for _ in 0..children {
            b.strand(1);
            b.spawn(frame);
            b.strand(work);
            ends.push(b.end());
        }
        b.strand(1);
        b.strand(1);
        for end in ends {
            b.wait_for(end);
        }
        b.build()
    },
};
