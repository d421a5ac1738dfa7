//! Locality (half of DFD's title): a separate cache for every processor, and what a run misses in them.
//!
//! A run's trace says which strands each processor executed in which order, and [`Accesses`] says which memory each
//! strand touches. [`Caches::replay`] puts the two together. Every processor has a set-associative cache with
//! least-recently-used replacement that begins empty. Caches do not invalidate each other, so this counts what a
//! schedule loses by *where* strands run, not what writers lose to each other. Fetching a line from memory costs the
//! same wherever the line was last.

use crate::{EventKind, Trace};
use bombyx_dag::{Accesses, Computation, StrandId, ThreadId};
use std::collections::HashMap;

/// The shape of every processor's cache.
///
/// ```
/// use bombyx_dag::{Accesses, generate};
/// use bombyx_sim::{Caches, Scheduler, Simulation};
///
/// let computation = generate::figure1(1);
/// let mut accesses = Accesses::default();
/// for strand in computation.strands() {
///     accesses.touch(4096 + u64::from(strand.0) * 8, 8);
///     accesses.end_strand();
/// }
/// let run = Simulation::new(&computation, Scheduler::BusyLeaves).trace().run()?;
/// let misses = Caches::of_bytes(1024).replay(run.trace.as_ref().unwrap(), 1, &accesses, |strand| Some(strand));
/// assert_eq!((misses.lookups, misses.misses), (23, 3)); // 23 words lie in 3 lines
/// # Ok::<(), bombyx_sim::SimulationError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caches {
    /// Bytes in a line.
    pub line: u64,
    /// Lines in a set.
    pub ways: usize,
    /// Sets, a power of two.
    pub sets: usize,
}

/// How often processors looked for a line in their caches, and did not find it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Misses {
    /// Lines that strands touched. Each stretch counts separately.
    pub lookups: u64,
    /// Lookups that did not find the line in the processor's cache.
    pub misses: u64,
}

impl Misses {
    /// Misses in a hundred lookups.
    pub fn rate(&self) -> f64 {
        100.0 * self.misses as f64 / self.lookups.max(1) as f64
    }
}

/// Lines on the same page have neighbouring numbers. Pages are numbered in the order in which they are first touched,
/// so runs do not depend on where the system has put the program's memory.
const PAGE: u64 = 4096;

impl Caches {
    /// Caches of at least this many bytes, with lines of 64 bytes in sets of eight.
    pub fn of_bytes(bytes: u64) -> Self {
        let (line, ways) = (64, 8);
        let sets = (bytes / (line * ways as u64)).max(1).next_power_of_two() as usize;
        Self { line, ways, sets }
    }

    /// How many bytes each holds.
    pub fn bytes(&self) -> u64 {
        self.line * (self.ways * self.sets) as u64
    }

    /// What processors miss when they execute what `trace` says. `origin` gives the recorded strand for each strand of
    /// the trace, or `None` for what a scheduler inserted ([`WithDummies::origin`](crate::WithDummies)).
    pub fn replay(
        &self,
        trace: &Trace,
        processors: usize,
        accesses: &Accesses,
        origin: impl Fn(StrandId) -> Option<StrandId>,
    ) -> Misses {
        let mut pages: HashMap<u64, u64> = HashMap::new();
        let mut caches: Vec<Cache> = (0..processors).map(|_| Cache::new(self)).collect();
        let mut total = Misses::default();
        for event in trace.events() {
            let EventKind::Execute { strand, complete: true } = event.kind else { continue };
            let Some(strand) = origin(strand) else { continue };
            let cache = &mut caches[event.processor.index()];
            for stretch in accesses.of(strand).iter().filter(|stretch| stretch.bytes > 0) {
                let last = stretch.at + u64::from(stretch.bytes) - 1;
                for line in stretch.at / self.line..=last / self.line {
                    let next = pages.len() as u64;
                    let page = *pages.entry(line * self.line / PAGE).or_insert(next);
                    total.lookups += 1;
                    total.misses +=
                        u64::from(!cache.touch(page * (PAGE / self.line) + line % (PAGE / self.line)));
                }
            }
        }
        total
    }
}

/// One processor's cache: the lines of each set, the most recently used first.
struct Cache {
    lines: Vec<u64>,
    ways: usize,
    mask: u64,
}

const EMPTY: u64 = u64::MAX;

impl Cache {
    fn new(shape: &Caches) -> Self {
        Self { lines: vec![EMPTY; shape.ways * shape.sets], ways: shape.ways, mask: shape.sets as u64 - 1 }
    }

    /// Uses a line. Returns whether it was there.
    fn touch(&mut self, line: u64) -> bool {
        let at = (line & self.mask) as usize * self.ways;
        let set = &mut self.lines[at..at + self.ways];
        let found = set.iter().position(|&other| other == line);
        let from = found.unwrap_or(self.ways - 1);
        set[..=from].rotate_right(1);
        set[0] = line;
        found.is_some()
    }
}

/// Accesses for a computation that comes without any. Its threads, in serial order, are the pieces of an array, and
/// each strand touches the piece of its thread, `bytes` each. "If the i-th thread accesses the i-th block of an array,
/// scheduling consecutive threads on the same processor provides better cache locality" (DFD Figure 3).
pub fn array_accesses(c: &Computation, bytes: u32) -> Accesses {
    let mut accesses = Accesses::default();
    let at = |thread: ThreadId| u64::from(thread.0) * u64::from(bytes);
    for strand in c.strands() {
        accesses.touch(at(c.thread_of(strand)), bytes);
        accesses.end_strand();
    }
    accesses
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Quota, Scheduler, Simulation};
    use bombyx_dag::generate::Spec;

    #[test]
    fn the_least_recently_used_line_leaves() {
        let mut cache = Cache::new(&Caches { line: 64, ways: 2, sets: 1 });
        let seen: Vec<bool> = [1, 2, 1, 3, 1, 2].map(|line| cache.touch(line)).to_vec();
        assert_eq!(seen, [false, false, true, false, true, false]);
        let mut cache = Cache::new(&Caches { line: 64, ways: 1, sets: 2 });
        assert_eq!([2, 3, 2, 3].map(|line| cache.touch(line)), [false, false, true, true], "each in its set");
    }

    #[test]
    fn sizes_are_rounded_up() {
        let caches = Caches::of_bytes(500_000);
        assert_eq!((caches.sets, caches.bytes()), (1024, 512 << 10));
    }

    /// DFD Figure 3 in shape: neighbours that run on one processor share lines. So work stealing misses less than the
    /// depth-first scheduler, which deals them out.
    #[test]
    fn work_stealing_has_better_locality_than_depth_first() {
        let c = "dnc:depth=10,work=20,frame=0".parse::<Spec>().unwrap().build().unwrap();
        let accesses = array_accesses(&c, 16);
        let misses = |scheduler| {
            let outcome = Simulation::new(&c, scheduler).processors(8).seed(1).trace().run().unwrap();
            Caches::of_bytes(4096).replay(outcome.trace.as_ref().unwrap(), 8, &accesses, Some).misses
        };
        let (stealing, depth_first) =
            (misses(Scheduler::WorkStealing), misses(Scheduler::DepthFirst(Quota::Infinite)));
        assert!(2 * stealing < depth_first, "work stealing {stealing}, depth first {depth_first}");
    }
}
