//! `loop`: parallel loops one after another, each halved down to a grain.

use super::{BuildError, Builder, Computation, FRAME, Generator, SEED, parameter, weight};
use crate::{StrandId, rng::Rng};

pub(super) const GENERATOR: Generator = Generator {
    name: "loop",
    about: "parallel loops, halved down to a grain, one after another",
    parameters: &[
        parameter("n", 1024, 1, 1 << 40, "iterations"),
        weight("work", 100, "mean weight of an iteration"),
        parameter("grain", 1, 1, 1 << 40, "most iterations in one strand"),
        parameter("repeat", 1, 1, 1 << 30, "how many loops run one after another"),
        parameter(
            "jitter",
            0,
            0,
            1,
            "1 draws every strand's weight uniformly around its mean, 0 takes the mean",
        ),
        FRAME,
        SEED,
    ],
    size: |values| {
        let (n, grain, repeat) = (values[0] as f64, values[2] as f64, values[3] as f64);
        // A range stops at half the grain or above, so there are at most 2n / grain leaves.
        let leaves = if grain == 1.0 { n } else { (2.0 * n / grain).ceil() };
        1.0 + repeat * (5.0 * leaves)
    },
    build,
};

enum Step {
    Enter(u64),
    EndChild,
    Combine,
}

fn build(values: &[u64]) -> Result<Computation, BuildError> {
    let &[n, work, grain, repeat, jitter, frame, seed] = values else {
        unreachable!("a spec holds every parameter")
    };
    let mut rng = Rng::new(seed);
    let mut b = Builder::new(frame);
    b.strand(1);
    for _ in 0..repeat {
        let mut steps = vec![Step::Enter(n)];
        let mut ended: Vec<StrandId> = Vec::new();
        while let Some(step) = steps.pop() {
            match step {
                Step::Enter(n) if n <= grain => {
                    let mean = work.saturating_mul(n);
                    b.strand(if jitter == 1 { rng.around(mean) } else { mean });
                }
                // The first half is the child's, the second stays in this thread.
                Step::Enter(n) => {
                    b.strand(1);
                    b.spawn(frame);
                    steps.extend([Step::Combine, Step::Enter(n - n / 2), Step::EndChild, Step::Enter(n / 2)]);
                }
                Step::EndChild => ended.push(b.end()),
                Step::Combine => {
                    b.strand(1);
                    b.wait_for(ended.pop().expect("every split has a child"));
                }
            }
        }
    }
    b.build()
}
