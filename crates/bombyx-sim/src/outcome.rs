//! [`Outcome`]: what a run measured.

use crate::trace::Trace;
use crate::{Contention, Ratio, Scheduler, WithDummies};

/// BL §6's accounting: at every step every processor puts one dollar into one of the buckets. A processor of speed
/// π puts in π dollars per unit of time (HET §3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dollars {
    /// Instructions executed. Exactly T1 (BL Lemma 7).
    pub work: u64,
    /// Steal attempts initiated, and visits of a shared queue if they take time. If a thief that succeeds executes in
    /// the step of its attempt, only those that failed.
    pub steal: u64,
    /// Steps spent waiting for a steal request to be served.
    pub wait: u64,
    /// Steps without anything to do. 0 for work-stealing schedulers.
    pub idle: u64,
}

/// Space in use: now, or the most there was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpaceUse {
    /// Bytes of the frames of living threads.
    pub frames: u64,
    /// Bytes of heap memory.
    pub heap: u64,
    /// `frames + heap`. Its peak is the peak of the sum.
    pub total: u64,
    /// Living threads, without those that were inserted before large allocations (DFD §3.3).
    pub threads: u64,
    /// Deques that exist.
    pub deques: u64,
}

/// Space in use from a time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpaceSample {
    /// The tick from which on this was so.
    pub tick: u64,
    /// What was in use.
    pub space: SpaceUse,
}

/// Counts space while a run goes on. The peak is taken between steps, so what a step allocates and frees at once does
/// not show.
#[derive(Clone, Debug, Default)]
pub(crate) struct Space {
    now: SpaceUse,
    /// Heap memory in use. If one thread frees what another allocates, a schedule may free first. Then this is negative
    /// for a while and shows as 0.
    heap: i128,
    peak: SpaceUse,
    series: Option<Vec<SpaceSample>>,
}

impl Space {
    pub(crate) fn record_series(&mut self) {
        self.series = Some(Vec::new());
    }

    #[inline]
    pub(crate) fn allocate(&mut self, bytes: u64) {
        self.heap += i128::from(bytes);
    }

    #[inline]
    pub(crate) fn free(&mut self, bytes: u64) {
        self.heap -= i128::from(bytes);
    }

    #[inline]
    pub(crate) fn begin_thread(&mut self, frame: u64, counted: u64) {
        self.now.frames += frame;
        self.now.threads += counted;
    }

    #[inline]
    pub(crate) fn end_thread(&mut self, frame: u64, counted: u64) {
        self.now.frames -= frame;
        self.now.threads -= counted;
    }

    #[inline]
    pub(crate) fn sample(&mut self, tick: u64, deques: usize) {
        let now = &mut self.now;
        now.deques = deques as u64;
        now.heap = u64::try_from(self.heap).unwrap_or(0);
        now.total = now.frames + now.heap;
        let peak = &mut self.peak;
        peak.frames = peak.frames.max(now.frames);
        peak.heap = peak.heap.max(now.heap);
        peak.total = peak.total.max(now.total);
        peak.threads = peak.threads.max(now.threads);
        peak.deques = peak.deques.max(now.deques);
        if let Some(series) = &mut self.series
            && series.last().is_none_or(|last| last.space != self.now)
        {
            series.push(SpaceSample { tick, space: self.now });
        }
    }

    pub(crate) fn finish(self) -> (SpaceUse, Vec<SpaceSample>) {
        (self.peak, self.series.unwrap_or_default())
    }
}

/// Numbers that only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    pub(crate) work: u64,
    pub(crate) attempts: u64,
    pub(crate) wait: u64,
    pub(crate) steals: u64,
    pub(crate) muggings: u64,
    pub(crate) migrations: u64,
    pub(crate) acquisitions: u64,
    pub(crate) bytes: u64,
    pub(crate) events: u64,
    pub(crate) preemptions: u64,
    /// Migrations that a processor paid for.
    pub(crate) tolls: u64,
    /// Moments that were rounded up to a tick.
    pub(crate) rounded: u64,
    /// Quanta spent on strands, and on threads that have moved.
    pub(crate) executed: u128,
    /// Quanta spent on steal attempts.
    pub(crate) stealing: u128,
}

/// The integral of all speeds over the run, in quanta, and what it was spent on. The parts add up to the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capacity {
    /// Quanta in one instruction.
    pub instruction: u64,
    /// What all processors together could have executed.
    pub total: u128,
    /// Strands that ended: T1 instructions.
    pub work: u128,
    /// The cost of migrations ([`Simulation::migration_cost`](crate::Simulation::migration_cost)).
    pub migrations: u128,
    /// What crashed processors had done of their strands. It was done again.
    pub lost: u128,
    /// Steal attempts and waiting for them to be served, completed or not.
    pub stealing: u128,
    /// The rest: processors that had nothing to do.
    pub idle: u128,
}

impl Capacity {
    /// Quanta as instructions.
    pub fn instructions(&self, quanta: u128) -> f64 {
        quanta as f64 / self.instruction as f64
    }
}

/// What a run measured. Times are in ticks; divide by [`ticks_per_unit`](Self::ticks_per_unit) for units of time.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The scheduler that ran.
    pub scheduler: Scheduler,
    /// Number of processors.
    pub processors: usize,
    /// The seed of all random choices.
    pub seed: u64,
    /// How simultaneous steal requests were treated.
    pub contention: Contention,
    /// When the last instruction ended, in ticks.
    pub makespan: u64,
    /// Ticks in one unit of time; 1 if all processors have speed 1.
    pub ticks_per_unit: u64,
    /// BL's accounting.
    pub dollars: Dollars,
    /// Steal attempts, successful or not, and visits of a shared queue if they take time.
    pub attempts: u64,
    /// Steal attempts that got a thread from a deque, or visits that got one from a shared queue.
    pub steals: u64,
    /// Threads taken from a processor in the middle of its work (HET §3).
    pub muggings: u64,
    /// How often a thread's frame moved to another processor (HET §1.5).
    pub migrations: u64,
    /// How often a processor was interrupted in the middle of a strand that was resumed later (HET §1.5).
    pub preemptions: u64,
    /// Bytes sent between processors by the accounting of BL Theorem 14: the frame for every migration, and
    /// [`JOIN_BYTES`](crate::JOIN_BYTES) for every join edge to a thread on another processor.
    pub bytes: u64,
    /// How often a processor got a thread from another processor's deque or from a shared pool, the root included.
    pub acquisitions: u64,
    /// How many of the acquisitions got a thread of the program, not one that was inserted before a large allocation.
    pub program_acquisitions: u64,
    /// DFD §5.3's scheduling granularity: how many threads a processor takes from its own deque for each one that it
    /// gets elsewhere, averaged over the processors. Dummy threads do not count.
    pub threads_per_steal: f64,
    /// The computation that ran in place of the given one, if the quota demanded dummy threads (DFD §3.3). The trace
    /// and WORK refer to it.
    pub with_dummies: Option<Box<WithDummies>>,
    /// The most space that was in use between two steps.
    pub peak: SpaceUse,
    /// Space over time, if it was asked for. There is an entry for every change.
    pub space: Vec<SpaceSample>,
    /// What the processors could have executed, and what became of it.
    pub capacity: Capacity,
    /// How many moments were rounded up to a tick. 0 means that every time is exact.
    pub rounded: u64,
    /// What happened, if it was asked for.
    pub trace: Option<Trace>,
    /// How many events the engine handled: its own measure of effort.
    pub events: u64,
}

impl Outcome {
    /// The makespan in units of time: with speeds of 1, the number of steps.
    pub fn time(&self) -> f64 {
        self.makespan as f64 / self.ticks_per_unit as f64
    }

    /// The makespan in units of time, exactly, unless a moment was [rounded](Self::rounded).
    pub fn exact_time(&self) -> Option<Ratio> {
        if self.rounded > 0 {
            return None;
        }
        let g = bombyx_base::gcd(self.makespan, self.ticks_per_unit);
        Ratio::new(self.makespan / g, self.ticks_per_unit / g)
    }

    /// Steal attempts, successful or not.
    pub fn attempts(&self) -> u64 {
        self.attempts
    }

    /// DFD §6's scheduling granularity: the mean number of instructions that a processor executes from one
    /// acquisition of a thread to its next. Dummy threads count neither as instructions nor as threads.
    pub fn granularity(&self) -> f64 {
        let inserted = self.with_dummies.as_ref().map_or(0, |with| {
            let strands = with.computation.strands().zip(&with.origin).filter(|(_, origin)| origin.is_none());
            strands.map(|(strand, _)| with.computation.weight(strand)).sum()
        });
        self.dollars.work.saturating_sub(inserted) as f64 / self.program_acquisitions.max(1) as f64
    }

    /// The fraction of the processors' capacity that went into instructions.
    pub fn utilisation(&self) -> f64 {
        self.capacity.work as f64 / self.capacity.total.max(1) as f64
    }
}
