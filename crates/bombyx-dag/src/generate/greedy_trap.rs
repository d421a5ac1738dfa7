//! `greedy-trap`: HET §1.3's bad case for greedy schedules on processors of different speeds.
//!
//! Every round spawns short threads and one long one, and then waits for all of them. A greedy schedule may put the
//! long thread on the slowest processor and then let the fast ones idle. The best schedule puts it on the fastest. The
//! ratio between the two grows with the ratio of speeds, without bound.

use super::{Builder, FRAME, Generator, parameter, weight};

pub(super) const GENERATOR: Generator = Generator {
    name: "greedy-trap",
    about: "HET §1.3: rounds of short threads beside one long one, bad for greedy schedules on unequal speeds",
    parameters: &[
        parameter("processors", 4, 1, 1 << 20, "threads of every round: one long, the others short"),
        weight("long", 1000, "weight of the long thread"),
        weight("short", 10, "weight of a short thread"),
        parameter("rounds", 1, 1, 1 << 30, "how often"),
        parameter("last", 1, 0, 1, "1 spawns the long thread after the short ones, 0 before"),
        FRAME,
    ],
    size: |values| values[3] as f64 * (values[0] as f64 * 2.0 + 2.0),
    build: |values| {
        let &[processors, long, short, rounds, last, frame] = values else {
            unreachable!("a spec holds every parameter")
        };
        let long_at = if last == 1 { processors - 1 } else { 0 };
        let mut b = Builder::new(frame);
        for _ in 0..rounds {
            let mut ends = Vec::new();
            for nth in 0..processors {
                b.strand(1);
                b.spawn(frame);
                b.strand(if nth == long_at { long } else { short });
                ends.push(b.end());
            }
            b.strand(1);
            b.strand(1);
            for end in ends {
                b.wait_for(end);
            }
        }
        b.build()
    },
};
