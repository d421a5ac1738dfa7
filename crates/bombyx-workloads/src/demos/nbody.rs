//! Bodies under gravity, every pair computed: a parallel loop over bodies for each step.

use super::{Demo, Program};
use crate::Checksum;
use crate::inputs::Rng;
use crate::workload::ensure;
use rayon::prelude::*;

pub(super) const NBODY: Program = Program {
    name: "nbody",
    about: "all pairs of bodies, a parallel loop for each step",
    prepare: |size, seed| {
        let (count, steps) = size.pick((50, 3), (800, 8), (4000, 8));
        let mut rng = Rng::new(seed);
        let bodies: Vec<Body> = (0..count)
            .map(|_| Body { place: [rng.unit(), rng.unit(), rng.unit()], speed: [0.0; 3], mass: rng.unit() })
            .collect();
        Box::new(Nbody { start: bodies.clone(), bodies, steps })
    },
};

#[derive(Clone, Copy, PartialEq)]
struct Body {
    place: [f64; 3],
    speed: [f64; 3],
    mass: f64,
}

/// Keeps close encounters finite.
const SOFTENING: f64 = 1e-3;
const STEP: f64 = 1e-4;

struct Nbody {
    start: Vec<Body>,
    bodies: Vec<Body>,
    steps: usize,
}

impl Body {
    /// The body after one step among `others`.
    fn moved(mut self, others: &[Body]) -> Body {
        let mut pull = [0.0; 3];
        for other in others {
            let way: [f64; 3] = std::array::from_fn(|i| other.place[i] - self.place[i]);
            let square = way.iter().map(|x| x * x).sum::<f64>() + SOFTENING;
            let strength = other.mass / (square * square.sqrt());
            for (pull, way) in pull.iter_mut().zip(way) {
                *pull += strength * way;
            }
        }
        for (i, pull) in pull.into_iter().enumerate() {
            self.speed[i] += pull * STEP;
            self.place[i] += self.speed[i] * STEP;
        }
        self
    }
}

impl Demo for Nbody {
    fn reset(&mut self) {
        self.bodies.copy_from_slice(&self.start);
    }

    fn compute(&mut self) {
        for _ in 0..self.steps {
            self.bodies = self.bodies.par_iter().map(|body| body.moved(&self.bodies)).collect();
        }
    }

    fn checksum(&self) -> Checksum {
        Checksum::of_floats(self.bodies.iter().flat_map(|body| &body.place))
    }

    fn check(&self) -> Result<(), String> {
        let mut bodies = self.start.clone();
        for _ in 0..self.steps {
            bodies = bodies.iter().map(|body| body.moved(&bodies)).collect();
        }
        ensure(bodies == self.bodies, || "a body is not where it should be".to_string())
    }
}
