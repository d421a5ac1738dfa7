//! Where the figures come from: workloads run on this machine, or recorded once and run in the simulator on as many
//! processors as the paper had. Everything is made at most once per command, because several exhibits show the same
//! runs.

use crate::bench::case::{Case, Entry};
use crate::bench::workload::{Setup, measure};
use crate::contender::Contender;
use crate::host::cores;
use crate::progress::Progress;
use crate::statistics::middle;
use crate::{Result, heap};
use bombyx_dag::{Accesses, Computation, Measures};
use bombyx_sim::{Metering, Outcome, Scheduler, Simulation, SpaceUse};
use bombyx_workloads::{Grain, Meter, Prepared, Reading, Size, find};
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Instant;

/// Seed of inputs and of random choices.
pub(super) const SEED: u64 = 42;

/// The frames of recorded threads: the smallest stack of the threads of Narlikar's library (DFD §5.2).
const FRAME: u64 = 8 << 10;

/// How long a steal, or a visit of a shared queue, takes in the simulator, in nanoseconds. About as long as a steal in
/// the runtime.
pub(super) const STEAL: u64 = 500;

/// How many seeds there are for random choices. The medians of all figures count.
const SEEDS: u64 = 5;

type Cache<K, V> = RefCell<HashMap<K, Rc<V>>>;

/// Makes runs and remembers them.
pub struct Lab {
    quick: bool,
    recorded: Cache<(String, Grain), Recorded>,
    simulated: Cache<(String, Grain, String, usize), Simulated>,
    measured: Cache<(String, Grain, String), Case>,
    touched: Cache<String, Touched>,
    /// Runs by name, and the file that they are kept in, if there is one.
    journal: RefCell<serde_json::Map<String, serde_json::Value>>,
    journal_file: Option<PathBuf>,
}

/// A recorded workload.
pub(super) struct Recorded {
    pub(super) computation: Computation,
    pub(super) measures: Measures,
}

/// A workload recorded with the memory that its strands touch.
pub(super) struct Touched {
    pub(super) computation: Computation,
    pub(super) accesses: Accesses,
    /// Bytes that it touches, in whole lines.
    pub(super) footprint: u64,
}

/// The result of a simulated run.
pub(super) struct Simulated {
    /// T1 over the time.
    pub(super) speedup: f64,
    /// In the unit of weights: nanoseconds for recorded computations.
    pub(super) time: f64,
    /// The most living threads.
    pub(super) threads: u64,
    /// The most heap memory, and the most of heap and frames together, in bytes.
    pub(super) heap: u64,
    pub(super) memory: u64,
    /// Work from one steal to the next (DFD §6), and threads from the processor's own deque per steal (DFD §5.3). Both
    /// without dummies.
    pub(super) granularity: f64,
    pub(super) threads_per_steal: f64,
}

impl Lab {
    /// A laboratory for figures, or for a quick look.
    pub fn new(quick: bool) -> Self {
        Self {
            quick,
            recorded: RefCell::default(),
            simulated: RefCell::default(),
            measured: RefCell::default(),
            touched: RefCell::default(),
            journal: RefCell::default(),
            journal_file: None,
        }
    }

    /// Keeps runs in a file, and skips those that it already holds.
    pub fn with_journal(mut self, file: Option<PathBuf>) -> Result<Self> {
        if let Some(file) = file.as_ref().filter(|file| file.exists()) {
            let held = serde_json::from_str(&std::fs::read_to_string(file)?)
                .map_err(|error| format!("{} is not a journal: {error}", file.display()))?;
            self.journal = RefCell::new(held);
        }
        self.journal_file = file;
        Ok(self)
    }

    /// The result of `make`, from now or from before: from this command, or from one with the same journal.
    pub(super) fn journaled<T>(&self, key: &str, make: impl FnOnce() -> Result<T>) -> Result<T>
    where
        T: serde::Serialize + serde::de::DeserializeOwned,
    {
        if let Some(known) = self.journal.borrow().get(key) {
            return Ok(T::deserialize(known)?);
        }
        let made = make()?;
        self.journal.borrow_mut().insert(key.to_owned(), serde_json::to_value(&made)?);
        if let Some(file) = &self.journal_file {
            let text = format!("{:#}\n", serde_json::Value::from(self.journal.borrow().clone()));
            crate::files::write(file, text.as_bytes())?;
        }
        Ok(made)
    }

    /// One of two parameters: for a quick look, or for figures.
    pub(super) fn pick<T>(&self, quick: T, full: T) -> T {
        if self.quick { quick } else { full }
    }

    /// Processors of measured runs.
    pub(super) fn processors(&self) -> usize {
        cores().max(2)
    }

    /// How large workloads are.
    pub(super) fn size(&self) -> Size {
        self.pick(Size::Small, Size::Default)
    }

    /// A workload as a computation.
    pub(super) fn recorded(&self, workload: &str, grain: Grain) -> Result<Rc<Recorded>> {
        cached(&self.recorded, (workload.to_owned(), grain), || {
            let progress = Progress::new(1);
            progress.doing(format!("{workload}, {grain} grain: recording"));
            let mut prepared = find(workload)?.prepare(self.size(), grain, SEED);
            let computation = record(&mut *prepared)?;
            prepared.check().map_err(|wrong| format!("{workload}, recorded, is wrong: {wrong}"))?;
            let measures = Measures::of(&computation);
            Ok(Recorded { computation, measures })
        })
    }

    /// A workload at fine grain with the memory that it touches: `dense-mm` as it is measured, and others on small
    /// inputs, because they report what they touch word by word.
    pub(super) fn touched(&self, workload: &str) -> Result<Rc<Touched>> {
        cached(&self.touched, workload.to_owned(), || {
            let progress = Progress::new(1);
            progress.doing(format!("{workload}: recording what it touches"));
            let size = if workload == "dense-mm" { self.size() } else { Size::Small };
            let mut prepared = find(workload)?.prepare(size, Grain::Fine, SEED);
            let start = Instant::now();
            let mut read = || {
                let (allocated, freed) = heap::of_this_thread();
                Reading { nanoseconds: start.elapsed().as_nanos() as u64, allocated, freed }
            };
            let (computation, accesses) = prepared.record_accesses(Meter::new(&mut read, FRAME))?;
            let footprint = accesses.footprint(64);
            Ok(Touched { computation, accesses, footprint })
        })
    }

    /// A workload in the simulator.
    pub(super) fn simulated(
        &self,
        workload: &str,
        grain: Grain,
        scheduler: &str,
        processors: usize,
    ) -> Result<Rc<Simulated>> {
        let key = (workload.to_owned(), grain, scheduler.to_owned(), processors);
        cached(&self.simulated, key, || {
            let recorded = self.recorded(workload, grain)?;
            let progress = Progress::new(1);
            progress
                .doing(format!("{workload}, {grain} grain: {scheduler}, {processors} simulated processors"));
            simulate(&recorded.computation, recorded.measures.work, scheduler, processors, STEAL)
        })
    }

    /// A workload on this machine: the serial elision, and each of these schedulers (or peers) that exists, on
    /// [`processors`](Self::processors).
    pub(super) fn measured(&self, workload: &str, grain: Grain, lanes: &[&str]) -> Result<Rc<Case>> {
        cached(&self.measured, (workload.to_owned(), grain, lanes.join(" ")), || {
            let processors = self.processors();
            let mut contenders = vec![Contender::serial()];
            for lane in lanes {
                contenders.extend(contender(lane, processors)?);
            }
            let (rounds, counts) = self.pick((1, 1), (3, 5));
            let setup = Setup { size: self.size(), grain, seed: SEED, rounds, counts };
            measure(find(workload)?, &setup, &contenders)
        })
    }
}

/// Records a workload twice and gives every strand the lesser of both times. A disturbance seldom meets the same strand
/// twice, and a single interrupted strand would become the span.
fn record(prepared: &mut dyn Prepared) -> Result<Computation> {
    let start = Instant::now();
    let mut first = Vec::new();
    prepared.record(Meter::new(
        &mut || {
            let nanoseconds = start.elapsed().as_nanos() as u64;
            first.push(nanoseconds);
            Reading { nanoseconds, ..Reading::default() }
        },
        FRAME,
    ))?;
    let mut lengths = first.windows(2).map(|pair| pair[1] - pair[0]);
    let mut last = None;
    let mut lesser = 0;
    let computation = prepared.record(Meter::new(
        &mut || {
            let now = start.elapsed().as_nanos() as u64;
            if let Some(last) = last.replace(now) {
                lesser += lengths.next().unwrap_or(u64::MAX).min(now - last);
            }
            let (allocated, freed) = heap::of_this_thread();
            Reading { nanoseconds: lesser, allocated, freed }
        },
        FRAME,
    ))?;
    Ok(computation)
}

/// The pool of a scheduler, or rayon's. `None` if this build lacks rayon.
pub(super) fn contender(lane: &str, processors: usize) -> Result<Option<Contender>> {
    if lane == "rayon" {
        return Ok(Contender::peers(processors)?.into_iter().find(|peer| peer.name() == "rayon"));
    }
    Ok(Some(Contender::bombyx(processors, Some(lane.parse()?))?))
}

/// The entry of a scheduler or peer.
pub(super) fn lane<'c>(case: &'c Case, lane: &str) -> Option<&'c Entry> {
    case.entries.iter().find(|entry| match entry.scheduler {
        Some(scheduler) => scheduler.to_string() == lane,
        None => entry.runtime == lane,
    })
}

/// Runs a computation of `work` in the simulator: with the papers' unit steps, or with a steal that takes more steps,
/// and then a visit of a shared queue takes as many.
pub(super) fn simulate(
    computation: &Computation,
    work: u64,
    scheduler: &str,
    processors: usize,
    steal: u64,
) -> Result<Simulated> {
    let scheduler = scheduler.parse()?;
    // With one queue, or one processor, nothing is random.
    let chance = processors > 1 && !matches!(scheduler, Scheduler::Fifo | Scheduler::DepthFirst(_));
    let mut outcomes = Vec::new();
    for seed in (SEED..).take(if chance { SEEDS as usize } else { 1 }) {
        let mut simulation = Simulation::new(computation, scheduler).processors(processors).seed(seed);
        if steal > 1 {
            // Recorded programs: the quota counts what an allocator sees, as in the paper's library (DFD §5).
            simulation = simulation.visits().metering(Metering::Heap);
        }
        outcomes.push(simulation.steal_cost(steal).run().map_err(|error| error.to_string())?);
    }
    let time = median_of(&outcomes, Outcome::time);
    let peak = |of: fn(&SpaceUse) -> u64| median_of(&outcomes, |outcome| of(&outcome.peak));
    Ok(Simulated {
        speedup: work as f64 / time,
        time,
        threads: peak(|space| space.threads),
        heap: peak(|space| space.heap),
        memory: peak(|space| space.total),
        granularity: median_of(&outcomes, Outcome::granularity),
        threads_per_steal: median_of(&outcomes, |outcome| outcome.threads_per_steal),
    })
}

fn median_of<T: PartialOrd + Copy>(outcomes: &[Outcome], of: impl Fn(&Outcome) -> T) -> T {
    middle(outcomes.iter().map(of)).expect("something was simulated")
}

fn cached<K: std::hash::Hash + Eq, V>(
    cache: &Cache<K, V>,
    key: K,
    make: impl FnOnce() -> Result<V>,
) -> Result<Rc<V>> {
    if let Some(known) = cache.borrow().get(&key) {
        return Ok(Rc::clone(known));
    }
    let made = Rc::new(make()?);
    cache.borrow_mut().insert(key, Rc::clone(&made));
    Ok(made)
}
