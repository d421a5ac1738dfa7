//! `geometric`: DFD §6's synthetic benchmark. It is a binary divide and conquer whose memory and grain shrink
//! geometrically down the tree. Each is drawn uniformly at random with the mean of its level.

use super::tree::{Node, divide_and_conquer};
use super::{FRAME, Generator, SEED, bytes, parameter, weight};
use crate::rng::Rng;

pub(super) const GENERATOR: Generator = Generator {
    name: "geometric",
    about: "DFD §6: memory and grain shrink geometrically down the tree, random at each level",
    parameters: &[
        parameter("depth", 14, 0, 60, "levels of division"),
        bytes("memory", 65536, "mean heap bytes of the root"),
        weight("grain", 64, "mean weight of each of the root's strands"),
        parameter("shrink", 70, 1, 100, "percent of memory left from one level to the next"),
        parameter("grain-shrink", 85, 1, 100, "percent of grain left from one level to the next"),
        SEED,
        FRAME,
    ],
    size: |values| {
        let leaves = 2_f64.powf(values[0] as f64);
        leaves + 4.0 * (leaves - 1.0)
    },
    build: |values| {
        let &[depth, memory, grain, shrink, grain_shrink, seed, frame] = values else {
            unreachable!("a spec holds every parameter")
        };
        let mut rng = Rng::new(seed);
        let level_means = |top: u64, percent: u64| -> Vec<u64> {
            std::iter::successors(Some(top), |&mean| Some(mean * percent / 100))
                .take(depth as usize + 1)
                .collect()
        };
        let (memory, grain) = (level_means(memory, shrink), level_means(grain, grain_shrink));
        divide_and_conquer(0, frame, |&level: &usize| {
            let (memory, weight) = (rng.around(memory[level]), rng.around(grain[level].max(1)));
            match level as u64 == depth {
                true => Node::Leaf { weight, memory },
                false => Node::Split { parts: vec![level + 1; 2], divide: weight, combine: weight, memory },
            }
        })
    },
};
