//! A ring of the newest events, with one writer that never waits and readers that copy it at any time.
//!
//! Event number n is in slot n mod N. Every slot has a few words, and `head` is the number of complete events.
//!
//! **The writer** of event n does this: a release fence, the words of the slot (relaxed), `head = n + 1` (release).
//!
//! **A reader** loads `head` (acquire) and gets h. It copies the last N slots before h (relaxed). After an acquire fence it
//! loads `head` again, and gets h'. It keeps the events from h' − N + 1 up to h.
//!
//! **What it keeps is whole.** Take an event n that it keeps.
//!
//! - *Written:* n < h, so the words of event n happen before the reader's first load of `head`. So the reader finds
//!   these words or later ones.
//! - *Not overwritten:* later words in the slot belong to event n + N or to one after it. If the reader had found such a
//!   word of event m ≥ n + N, then the writer's fence before that word synchronises with the reader's fence. Before its
//!   fence, the writer had stored `head = m`. So the second load of `head` returns at least m, and h' ≥ n + N. But then
//!   n ≤ h' − N, and the reader does not keep n.
//!
//! The writer may be about to fill the slot of event h' − N. So the reader gives up this event even if it is still complete.
//!
//! The writer pays a few plain stores. On x86-64 neither fence is an instruction.

use crate::system::fault::{Fault, planted};
use crate::system::primitive::{AtomicU64, fence};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// How many words an event has.
pub(crate) const WORDS: usize = 4;

/// See the module text.
pub(crate) struct Ring<S> {
    /// How many events there have been. The writer's own. It does not read `head`, because loom hardly explores what
    /// follows when a thread reads a word that it stores to.
    next: AtomicU64,
    /// How many events are whole.
    head: AtomicU64,
    slots: S,
}

/// What a reader copied.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Copied {
    /// How many events came before those in `events`.
    pub(crate) lost: u64,
    pub(crate) events: Vec<[u64; WORDS]>,
}

impl<S: AsRef<[[AtomicU64; WORDS]]>> Ring<S> {
    /// An empty ring with these slots. Their number is a power of two.
    pub(crate) fn new(slots: S) -> Ring<S> {
        assert!(slots.as_ref().len().is_power_of_two(), "so that a mask finds the slot");
        Ring { next: AtomicU64::new(0), head: AtomicU64::new(0), slots }
    }

    /// Writes an event. Only one thread at a time may call this; it sees what the thread before it has done.
    #[inline]
    pub(crate) fn push(&self, event: [u64; WORDS]) {
        let slots = self.slots.as_ref();
        let number = self.next.load(Relaxed);
        self.next.store(number + 1, Relaxed);
        if !planted(Fault::OverwriteWithoutFence) {
            fence(Release);
        }
        let slot = &slots[number as usize & (slots.len() - 1)];
        for (word, value) in slot.iter().zip(event) {
            word.store(value, Relaxed);
        }
        self.head.store(number + 1, if planted(Fault::PublishWithoutOrder) { Relaxed } else { Release });
    }

    /// How many events there have been. Exact for the writer; others may see an earlier number.
    pub(crate) fn written(&self) -> u64 {
        self.next.load(Relaxed)
    }

    /// Copies the newest events. Any thread may call this at any time.
    pub(crate) fn copy(&self) -> Copied {
        let slots = self.slots.as_ref();
        let room = slots.len() as u64;
        let end = self.head.load(Acquire);
        let begin = end.saturating_sub(room);
        let mut events: Vec<_> = (begin..end)
            .map(|number| {
                slots[number as usize & (slots.len() - 1)].each_ref().map(|word| word.load(Relaxed))
            })
            .collect();
        fence(Acquire);
        let now = self.head.load(Relaxed);
        // An event that is being written may lie in the slot of the oldest.
        let about = if planted(Fault::KeepTheOldest) { now } else { now + 1 };
        let kept = about.saturating_sub(room).clamp(begin, end);
        events.drain(..(kept - begin) as usize);
        Copied { lost: kept, events }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    fn ring(slots: usize) -> Ring<Vec<[AtomicU64; WORDS]>> {
        Ring::new((0..slots).map(|_| [const { AtomicU64::new(0) }; WORDS]).collect())
    }

    #[test]
    fn the_newest_are_kept_and_the_rest_is_counted() {
        let ring = ring(4);
        assert_eq!(ring.copy(), Copied { lost: 0, events: vec![] });
        for n in 0..3 {
            ring.push([n; WORDS]);
        }
        assert_eq!(ring.copy(), Copied { lost: 0, events: vec![[0; WORDS], [1; WORDS], [2; WORDS]] });
        for n in 3..10 {
            ring.push([n; WORDS]);
        }
        // One slot may be about to be filled.
        assert_eq!(ring.copy(), Copied { lost: 7, events: vec![[7; WORDS], [8; WORDS], [9; WORDS]] });
    }

    /// Events carry their number in every word, so a mixture of two events shows.
    #[test]
    fn a_reader_beside_a_writer_gets_whole_events_in_order() {
        const EVENTS: u64 = if cfg!(miri) { 2_000 } else { 200_000 };
        let (ring, done) = (ring(64), AtomicBool::new(false));
        let looks = std::thread::scope(|threads| {
            let reader = threads.spawn(|| {
                let mut looks = 0;
                loop {
                    let last = done.load(Acquire);
                    let Copied { lost, events } = ring.copy();
                    for (at, event) in events.iter().enumerate() {
                        assert_eq!(*event, [lost + at as u64; WORDS]);
                    }
                    looks += 1;
                    if last {
                        assert_eq!(lost + events.len() as u64, EVENTS);
                        return looks;
                    }
                }
            });
            for number in 0..EVENTS {
                ring.push([number; WORDS]);
            }
            done.store(true, Release);
            reader.join().unwrap()
        });
        assert!(looks > 0);
    }
}
