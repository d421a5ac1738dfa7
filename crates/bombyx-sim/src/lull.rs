//! [`Lull`]: passes over a stretch of time in which thieves queue for deques that are all empty.
//!
//! In the atomic-access model (BL §5) even requests that must fail delay each other. So their attempts have to be
//! played out: how many there are, and who waits where when work appears, depends on every choice. But while no strand
//! ends, nothing else happens. This plays BL's recycling game on a few flat tables, an order of magnitude faster than
//! the engine's events. It leaves the thieves exactly as the engine would: the conformance suite compares them. A
//! single thief delays nobody, so its attempts are only counted.
//!
//! This relies on steps that are single ticks, attempts of one step, and first-in-first-out queues.

use crate::ProcessorId;
use crate::machine::{Attempt, Machine};
use crate::scheduler::Policy;

const NONE: u32 = u32::MAX;

/// The tables of the game. Lists are linked through the thieves; sets are bitmaps, whose order is that of the ids.
#[derive(Debug, Default)]
pub(crate) struct Lull {
    /// The queue behind each slot, or `NONE`.
    queue_of: Vec<u32>,
    first: Vec<u32>,
    last: Vec<u32>,
    behind: Vec<u32>,
    /// Queues that someone waits in.
    busy: Vec<u64>,
    /// Thieves whose request arrives at the next tick.
    arriving: Vec<u64>,
    waiting: u64,
}

impl Lull {
    /// Plays the ticks after `m.now` and before `until`, in which only the attempts of `thieves` are due and none of
    /// them can succeed. Returns false, with nothing done, if somebody waits in a queue that no processor answers for.
    pub(crate) fn pass(
        &mut self,
        m: &mut Machine<'_>,
        policy: &dyn Policy,
        thieves: &[ProcessorId],
        until: u64,
    ) -> bool {
        let processors = m.processor_count();
        let waits_elsewhere = |p: &ProcessorId| {
            m.processors[p.index()].attempt.queue.is_some_and(|queue| queue as usize >= processors)
        };
        if thieves.iter().any(waits_elsewhere) {
            return false;
        }
        self.set_up(m, policy, thieves);
        for tick in m.now + 1..until {
            if let [alone] = thieves
                && self.waiting == 0
            {
                self.pass_alone(m, *alone, tick, until);
                break;
            }
            m.counters.wait += self.waiting;
            m.counters.events += thieves.len() as u64;
            self.play(m, tick);
        }
        self.hand_back(m, thieves, until);
        true
    }

    /// A single thief that waits nowhere fails once in every tick. The ticks from `tick` on are counted, not played.
    fn pass_alone(&self, m: &mut Machine<'_>, thief: ProcessorId, tick: u64, until: u64) {
        let (failed, processors) = (until - tick, m.processor_count() as u32);
        m.counters.attempts += failed;
        let processor = &mut m.processors[thief.index()];
        processor.random.skip(failed - 1);
        let slot = processor.random.below(u64::from(processors)) as u32;
        processor.attempt = Attempt { initiated: until - 1, slot, queue: None, ..processor.attempt };
    }

    fn set_up(&mut self, m: &Machine<'_>, policy: &dyn Policy, thieves: &[ProcessorId]) {
        let processors = m.processor_count();
        let queue = |slot| policy.queue(slot).filter(|&queue| (queue as usize) < processors).unwrap_or(NONE);
        self.queue_of.clear();
        self.queue_of.extend((0..processors as u32).map(queue));
        for table in [&mut self.first, &mut self.last, &mut self.behind] {
            table.clear();
            table.resize(processors, NONE);
        }
        for set in [&mut self.busy, &mut self.arriving] {
            set.clear();
            set.resize(processors.div_ceil(64), 0);
        }
        self.waiting = 0;
        let mut queued: Vec<(u64, u32, u32)> = Vec::new();
        for &p in thieves {
            let Attempt { initiated, queue, .. } = m.processors[p.index()].attempt;
            match queue {
                Some(queue) => queued.push((initiated, p.0, queue)),
                None => insert(&mut self.arriving, p.0),
            }
        }
        queued.sort_unstable();
        for (_, thief, queue) in queued {
            self.join(thief, queue);
        }
    }

    /// One step of the recycling game: requests arrive, then every queue serves one of them, in vain.
    fn play(&mut self, m: &mut Machine<'_>, tick: u64) {
        let processors = m.processor_count() as u32;
        let again = |m: &mut Machine<'_>, thief: u32| {
            m.counters.attempts += 1;
            let processor = &mut m.processors[thief as usize];
            processor.attempt = Attempt {
                initiated: tick,
                slot: processor.random.below(u64::from(processors)) as u32,
                ..Attempt::default()
            };
        };
        for word in 0..self.arriving.len() {
            let mut bits = std::mem::take(&mut self.arriving[word]);
            while bits != 0 {
                let thief = word as u32 * 64 + bits.trailing_zeros();
                bits &= bits - 1;
                match self.queue_of[m.processors[thief as usize].attempt.slot as usize] {
                    NONE => {
                        again(m, thief);
                        insert(&mut self.arriving, thief);
                    }
                    queue => self.join(thief, queue),
                }
            }
        }
        for word in 0..self.busy.len() {
            let mut bits = self.busy[word];
            while bits != 0 {
                let queue = word as u32 * 64 + bits.trailing_zeros();
                bits &= bits - 1;
                let thief = self.leave(queue);
                again(m, thief);
                insert(&mut self.arriving, thief);
            }
        }
    }

    fn join(&mut self, thief: u32, queue: u32) {
        let at = queue as usize;
        match self.first[at] {
            NONE => {
                self.first[at] = thief;
                insert(&mut self.busy, queue);
            }
            _ => self.behind[self.last[at] as usize] = thief,
        }
        self.last[at] = thief;
        self.waiting += 1;
    }

    fn leave(&mut self, queue: u32) -> u32 {
        let at = queue as usize;
        let thief = self.first[at];
        self.first[at] = std::mem::replace(&mut self.behind[thief as usize], NONE);
        if self.first[at] == NONE {
            self.busy[at / 64] &= !(1 << (at % 64));
        }
        self.waiting -= 1;
        thief
    }

    /// Gives the thieves back to the engine, each with a request due at `until`.
    fn hand_back(&mut self, m: &mut Machine<'_>, thieves: &[ProcessorId], until: u64) {
        for queue in 0..self.first.len() {
            let mut thief = self.first[queue];
            while thief != NONE {
                m.processors[thief as usize].attempt.queue = Some(queue as u32);
                thief = self.behind[thief as usize];
            }
        }
        for &p in thieves {
            let processor = &mut m.processors[p.index()];
            processor.since = until - 1;
            processor.until = until;
        }
    }
}

fn insert(set: &mut [u64], id: u32) {
    set[id as usize / 64] |= 1 << (id % 64);
}
