//! `critical-path`: the i-th fastest processor runs the thread that is i-th farthest from the end (HET Claim 3).
//!
//! Distances shrink while threads run, so the order can change with every instruction, and the policy settles after
//! each. Among processors of equal speed a thread stays where it is. Time is at most W1/(p·π_ave) + [Σ
//! i·π_{i+1}/(π1+…+πi)]·W∞/(p·π_ave), at the price of many migrations.

use super::{Policy, Ready, Setup};
use crate::ProcessorId;
use crate::machine::Machine;
use bombyx_dag::{ThreadId, distances_to_end};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Farthest first, then in the order of becoming ready.
type Rank = (Reverse<u128>, u64, ThreadId);

#[derive(Default)]
struct CriticalPath {
    distances: Vec<u64>,
    pool: BTreeSet<Rank>,
    /// Running threads count as ready first, so places begin with 1.
    next_place: u64,
}

pub(super) fn policy(_: &Setup) -> Box<dyn Policy> {
    Box::new(CriticalPath::default())
}

impl CriticalPath {
    fn put(&mut self, m: &Machine<'_>, thread: ThreadId) {
        self.next_place += 1;
        self.pool.insert((Reverse(self.distance(m, thread)), self.next_place, thread));
    }

    /// Quanta from the thread's present place to the end of the computation.
    fn distance(&self, m: &Machine<'_>, thread: ThreadId) -> u128 {
        let strand = m.next_strand(thread).expect("a ready thread has a strand");
        let beyond = self.distances[strand.index()] - m.computation().weight(strand);
        u128::from(beyond) * u128::from(m.quanta_per_instruction()) + u128::from(m.quanta_left(thread))
    }

    /// The threads that should run, farthest first, at most one per processor. They leave the pool.
    fn farthest(&mut self, m: &Machine<'_>, processors: usize) -> Vec<ThreadId> {
        let running = m.processors().filter_map(|p| m.thread_of(p));
        let mut ranks: Vec<Rank> = running.map(|t| (Reverse(self.distance(m, t)), 0, t)).collect();
        ranks.extend(self.pool.iter().take(processors));
        ranks.sort_unstable();
        ranks.truncate(processors);
        for rank in &ranks {
            self.pool.remove(rank);
        }
        ranks.into_iter().map(|(.., thread)| thread).collect()
    }
}

impl Policy for CriticalPath {
    fn begin(&mut self, m: &mut Machine<'_>) {
        self.distances = distances_to_end(m.computation());
        self.put(m, m.computation().root());
    }

    fn spawned(&mut self, m: &mut Machine<'_>, p: ProcessorId, parent: ThreadId, child: ThreadId) {
        self.put(m, parent);
        m.work(p, child);
    }

    fn stalled(&mut self, m: &mut Machine<'_>, p: ProcessorId, _: ThreadId) {
        m.rest(p);
    }

    fn died(&mut self, m: &mut Machine<'_>, p: ProcessorId, _: ThreadId) {
        m.rest(p);
    }

    fn enabled(&mut self, m: &mut Machine<'_>, _: ProcessorId, thread: ThreadId) {
        self.put(m, thread);
    }

    fn settle(&mut self, m: &mut Machine<'_>) {
        let mut processors: Vec<ProcessorId> = m.processors().collect();
        processors.sort_by_key(|&p| Reverse(m.estimate(p)));
        let threads = self.farthest(m, processors.len());
        let mut place = 0;
        let mut moves: Vec<(ProcessorId, ThreadId)> = Vec::new();
        for class in processors.chunk_by(|&p, &q| m.estimate(p) == m.estimate(q)) {
            let due = &threads[place.min(threads.len())..(place + class.len()).min(threads.len())];
            let stays = |p: &ProcessorId| m.thread_of(*p).is_some_and(|t| due.contains(&t));
            let here = |t: &ThreadId| class.iter().any(|&p| m.thread_of(p) == Some(*t));
            let vacant = class.iter().copied().filter(|p| !stays(p));
            moves.extend(vacant.zip(due.iter().copied().filter(|t| !here(t))));
            place += class.len();
        }
        let wanted: BTreeSet<ThreadId> = threads.iter().copied().collect();
        for p in m.processors() {
            let Some(thread) = m.thread_of(p) else { continue };
            if !wanted.contains(&thread) || moves.iter().any(|&(_, moved)| moved == thread) {
                m.interrupt(p);
                if !wanted.contains(&thread) {
                    self.put(m, thread);
                }
            }
        }
        for (p, thread) in moves {
            m.acquire(p, thread);
        }
    }

    fn settles_every_instruction(&self) -> bool {
        true
    }

    fn ready(&self) -> Ready {
        Ready::Pool(self.pool.iter().map(|&(.., thread)| thread).collect())
    }
}
