//! A maximal matching: the one the sequential greedy algorithm finds, by deterministic reservations, as in the
//! Problem Based Benchmark Suite.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use crate::Fork;
use crate::inputs::graphs::{self, Edges};
use crate::reservations::{Speculative, grain_of, on_graphs, speculative_for, speculative_on};
use crate::workload::{Checksum, Kernel, Prepared, ensure, prepared};
use bombyx_rw::{Discipline, Pool};

on_graphs!("matching", "maximal matching", prepare,
    fine: 16,
    grid2d: [30, 2800, 5000],
    grid3d: [10, 170, 250],
    rlg: [1000, 3_000_000, 10_000_000],
    rmat: [5000, 16_000_000, 50_000_000]
);

fn prepare(edges: Edges, seed: u64, grain: usize) -> Box<dyn Prepared> {
    let edges = edges.shuffled(seed);
    let owner = (0..edges.vertices).map(|_| AtomicU32::new(NOBODY)).collect();
    let matched = (0..edges.vertices).map(|_| AtomicBool::new(false)).collect();
    let chosen = (0..edges.list.len()).map(|_| AtomicBool::new(false)).collect();
    prepared(Matching { edges, grain, owner, matched, chosen })
}

const NOBODY: u32 = u32::MAX;

/// Rounds that the loop would take if every edge were decided at its first try.
const ROUNDS: usize = 50;

struct Matching {
    edges: Edges,
    /// Edges in a serial piece.
    grain: usize,
    /// The earliest edge that reserved a vertex.
    owner: Vec<AtomicU32>,
    /// Vertices that have a partner.
    matched: Vec<AtomicBool>,
    /// Edges of the matching.
    chosen: Vec<AtomicBool>,
}

/// Whether an edge reserved its ends or found one of them matched.
#[derive(Clone, Copy, Default)]
enum Plan {
    #[default]
    Drop,
    Try,
}

impl Matching {
    fn reserve_vertex(&self, vertex: u32, edge: u32) {
        let owner = &self.owner[vertex as usize];
        if owner.load(Relaxed) > edge {
            owner.fetch_min(edge, Relaxed);
        }
    }

    /// Gives up a reservation if it held. Returns whether it did.
    fn release_if_held(&self, vertex: u32, edge: u32) -> bool {
        let owner = &self.owner[vertex as usize];
        let held = owner.load(Relaxed) == edge;
        if held {
            owner.store(NOBODY, Relaxed);
        }
        held
    }

    fn is_matched(&self, vertex: u32) -> bool {
        self.matched[vertex as usize].load(Relaxed)
    }
}

impl Speculative for Matching {
    type Plan = Plan;

    fn reserve(&self, edge: u32) -> Plan {
        let [u, v] = self.edges.list[edge as usize];
        if self.is_matched(u) || self.is_matched(v) {
            return Plan::Drop;
        }
        self.reserve_vertex(u, edge);
        self.reserve_vertex(v, edge);
        Plan::Try
    }

    fn commit(&self, edge: u32, plan: Plan) -> bool {
        if let Plan::Drop = plan {
            return true;
        }
        let [u, v] = self.edges.list[edge as usize];
        let holds_both = self.release_if_held(u, edge) & self.release_if_held(v, edge);
        if holds_both {
            self.matched[u as usize].store(true, Relaxed);
            self.matched[v as usize].store(true, Relaxed);
            self.chosen[edge as usize].store(true, Relaxed);
        }
        holds_both
    }
}

impl Kernel for Matching {
    fn input(&self) -> String {
        format!("{} vertices, {} edges, {} a leaf", self.edges.vertices, self.edges.list.len(), self.grain)
    }

    fn reset(&mut self) {
        self.owner.iter_mut().for_each(|o| *o.get_mut() = NOBODY);
        self.matched.iter_mut().for_each(|m| *m.get_mut() = false);
        self.chosen.iter_mut().for_each(|c| *c.get_mut() = false);
    }

    fn compute<F: Fork>(&mut self, fork: &mut F) {
        let n = self.edges.list.len();
        speculative_for(fork, &*self, n as u32, n / ROUNDS + 1, self.grain);
    }

    fn continue_on<K: Discipline>(&mut self, pool: &mut Pool<K>) -> bool {
        let n = self.edges.list.len();
        speculative_on(pool, &*self, n as u32, n / ROUNDS + 1, self.grain);
        true
    }

    fn checksum(&self) -> Checksum {
        Checksum::of(self.chosen.iter().map(|c| u64::from(c.load(Relaxed))))
    }

    fn check(&self) -> Result<(), String> {
        let mut matched = vec![false; self.edges.vertices];
        for (edge, &[u, v]) in self.edges.list.iter().enumerate() {
            let choose = !matched[u as usize] && !matched[v as usize];
            if choose {
                matched[u as usize] = true;
                matched[v as usize] = true;
            }
            ensure(self.chosen[edge].load(Relaxed) == choose, || {
                format!("edge {edge} differs from the greedy matching")
            })?;
        }
        Ok(())
    }
}
