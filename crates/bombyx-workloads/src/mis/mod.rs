//! A maximal independent set: the one the sequential greedy algorithm finds, by deterministic reservations, as in
//! the Problem Based Benchmark Suite.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use crate::Fork;
use crate::inputs::graphs::{self, Adjacency, Edges};
use crate::reservations::{Speculative, grain_of, on_graphs, speculative_for, speculative_on};
use crate::workload::{Checksum, Kernel, Prepared, ensure, prepared};
use bombyx_rw::{Discipline, Pool};

on_graphs!("mis", "maximal independent set", prepare,
    fine: 4,
    grid2d: [30, 3200, 5500],
    grid3d: [10, 190, 280],
    rlg: [1000, 4_000_000, 12_000_000],
    rmat: [5000, 20_000_000, 60_000_000]
);

fn prepare(edges: Edges, _seed: u64, grain: usize) -> Box<dyn Prepared> {
    let graph = edges.adjacency();
    let state = (0..graph.vertices()).map(|_| AtomicU8::new(UNDECIDED)).collect();
    prepared(Mis { graph, grain, state })
}

const UNDECIDED: u8 = 0;
const IN: u8 = 1;
const OUT: u8 = 2;

/// Rounds that the loop would take if every vertex were decided at its first try.
const ROUNDS: usize = 20;

struct Mis {
    graph: Adjacency,
    /// Vertices in a serial piece.
    grain: usize,
    state: Vec<AtomicU8>,
}

struct Step<'a> {
    graph: &'a Adjacency,
    state: &'a [AtomicU8],
}

impl Speculative for Step<'_> {
    type Plan = u8;

    /// In if all earlier neighbours are out, out if one is in, undecided while that is open.
    fn reserve(&self, vertex: u32) -> u8 {
        let mut plan = IN;
        for &neighbour in self.graph.of(vertex) {
            if neighbour < vertex {
                match self.state[neighbour as usize].load(Relaxed) {
                    IN => return OUT,
                    UNDECIDED => plan = UNDECIDED,
                    _ => {}
                }
            }
        }
        plan
    }

    fn commit(&self, vertex: u32, plan: u8) -> bool {
        if plan == UNDECIDED {
            return false;
        }
        self.state[vertex as usize].store(plan, Relaxed);
        true
    }
}

impl Kernel for Mis {
    fn input(&self) -> String {
        format!("{} vertices, {} a leaf", self.graph.vertices(), self.grain)
    }

    fn reset(&mut self) {
        self.state.iter_mut().for_each(|s| *s.get_mut() = UNDECIDED);
    }

    fn compute<F: Fork>(&mut self, fork: &mut F) {
        let n = self.graph.vertices();
        let step = Step { graph: &self.graph, state: &self.state };
        speculative_for(fork, &step, n as u32, n / ROUNDS + 1, self.grain);
    }

    fn continue_on<K: Discipline>(&mut self, pool: &mut Pool<K>) -> bool {
        let n = self.graph.vertices();
        let step = Step { graph: &self.graph, state: &self.state };
        speculative_on(pool, &step, n as u32, n / ROUNDS + 1, self.grain);
        true
    }

    fn checksum(&self) -> Checksum {
        Checksum::of(self.state.iter().map(|s| u64::from(s.load(Relaxed))))
    }

    fn check(&self) -> Result<(), String> {
        let mut expected = vec![IN; self.graph.vertices()];
        for vertex in 0..self.graph.vertices() {
            if expected[vertex] == IN {
                self.graph.of(vertex as u32).iter().for_each(|&n| expected[n as usize] = OUT);
            }
        }
        match (0..expected.len()).find(|&v| self.state[v].load(Relaxed) != expected[v]) {
            None => Ok(()),
            Some(v) => ensure(false, || format!("vertex {v} differs from the greedy set")),
        }
    }
}
