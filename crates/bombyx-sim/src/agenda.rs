//! [`Agenda`]: pending events in the order of tick, phase and processor.
//!
//! Most events are due at the very next tick: unit instructions and steal attempts on processors of speed 1. Those are
//! kept in a list, and only the others go through a heap. An event is not taken back when its processor is interrupted.
//! The engine recognises it as stale when it comes up.

use crate::ProcessorId;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Which part of an instant an event belongs to, in the order in which they are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// A strand or instruction ends.
    Work,
    /// A steal attempt arrives.
    Attempt,
    /// Nothing ends, but speeds change and policies may want to settle.
    Pause,
}

/// Pending events. Events of one tick come in the order of phase and processor.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    /// The tick after the one taken last, and the events due then, unordered.
    next: u64,
    soon: Vec<u32>,
    later: BinaryHeap<Reverse<(u64, u32)>>,
    taken: Vec<u32>,
}

const PHASE: u32 = 30;

impl Agenda {
    pub(crate) fn push(&mut self, tick: u64, p: ProcessorId, phase: Phase) {
        let key = (phase as u32) << PHASE | p.0;
        if tick == self.next {
            self.soon.push(key);
        } else {
            self.later.push(Reverse((tick, key)));
        }
    }

    /// When the next event is due.
    pub(crate) fn next_tick(&self) -> Option<u64> {
        let later = self.later.peek().map(|Reverse((tick, _))| *tick);
        if self.soon.is_empty() { later } else { Some(later.map_or(self.next, |tick| tick.min(self.next))) }
    }

    /// If only attempts are due at the next tick: who makes them, and when something else is due.
    pub(crate) fn lull(&self) -> Option<(Vec<ProcessorId>, u64)> {
        let Reverse((until, _)) = *self.later.peek()?;
        let only_attempts = self.soon.iter().all(|key| key >> PHASE == Phase::Attempt as u32);
        let processor = |key: &u32| ProcessorId(key & ((1 << PHASE) - 1));
        (only_attempts && until > self.next).then(|| (self.soon.iter().map(processor).collect(), until))
    }

    /// What was due at the next tick is now due at `tick`. Nothing else is due before that.
    pub(crate) fn postpone(&mut self, tick: u64) {
        self.next = tick;
    }

    /// Takes the events of a tick, which must be the next one. Returns how many there are.
    pub(crate) fn take(&mut self, tick: u64) -> usize {
        self.taken.clear();
        if tick == self.next {
            std::mem::swap(&mut self.taken, &mut self.soon);
        } else {
            let passed_over = self.soon.drain(..).map(|key| Reverse((self.next, key)));
            self.later.extend(passed_over);
        }
        while let Some(Reverse((due, _))) = self.later.peek()
            && *due == tick
        {
            let Reverse((_, key)) = self.later.pop().expect("it was there");
            self.taken.push(key);
        }
        self.taken.sort();
        self.next = tick + 1;
        self.taken.len()
    }

    /// One of the events taken last.
    pub(crate) fn taken(&self, i: usize) -> (ProcessorId, Phase) {
        let key = self.taken[i];
        let phase = match key >> PHASE {
            0 => Phase::Work,
            1 => Phase::Attempt,
            _ => Phase::Pause,
        };
        (ProcessorId(key & ((1 << PHASE) - 1)), phase)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bombyx_base::Random;

    /// Against a sorted list: whatever is pushed, events come out in the order of tick, phase and processor.
    #[test]
    fn events_come_in_order() {
        let mut random = Random::stream(3, 0);
        let mut agenda = Agenda::default();
        let mut model: Vec<(u64, u32, u32)> = Vec::new();
        let mut tick = 0;
        for _ in 0..2000 {
            for _ in 0..random.below(4) {
                let (due, p) = (tick + 1 + random.below(4), random.below(50) as u32);
                let phase = [Phase::Work, Phase::Attempt, Phase::Pause][random.index(3)];
                agenda.push(due, ProcessorId(p), phase);
                model.push((due, phase as u32, p));
            }
            model.sort_unstable();
            assert_eq!(agenda.next_tick(), model.first().map(|e| e.0));
            let Some(due) = agenda.next_tick() else { continue };
            tick = due;
            for i in 0..agenda.take(tick) {
                let (p, phase) = agenda.taken(i);
                assert_eq!((tick, phase as u32, p.0), model.remove(0));
            }
            assert!(model.first().is_none_or(|e| e.0 > tick));
        }
    }
}
