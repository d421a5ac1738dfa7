//! Private deques: the same buffer, for schedulers under which only the owner touches it. Thieves ask, and the owner
//! hands entries out (the scheduler does both). So the owner's slow path needs no lock, no fence and no
//! read-modify-write either. Owners push and pop by the common fast path: nobody else moves the top, so the comparison
//! with the top never fails.
//!
//! Without the owner, others may poison the limit, and look at both ends and the root, for a guess.
//!
//! A plain store lifts the limit, so a poison that arrives at that very moment may be lost. A thief that waits for its
//! answer poisons again when it finds the poison gone. A sleeper makes sure with the heavy barrier
//! ([`crate::protocol::sleep`]).
//!
//! A deque is emptied when its processor changes hands. So the entry of a join is in the deque of the processor that
//! the join's carrier holds, or in no deque at all.

use super::Deque;
use crate::protocol::job::Entry;
use crate::system::primitive::lock;
use std::sync::atomic::Ordering::Relaxed;

/// The owner of a private deque. See the module text.
#[derive(Clone, Copy)]
pub(crate) struct Owner<'a>(&'a Deque);

impl Deque {
    /// Whether only the owner touches the entries.
    pub(crate) fn is_private(&self) -> bool {
        self.private
    }

    /// Access for the owner of a deque that nobody else touches.
    pub(crate) fn private(&self) -> Owner<'_> {
        Owner(self)
    }
}

impl Owner<'_> {
    /// Makes room for the next push and lifts the poison.
    pub(crate) fn attend(self) {
        if self.0.bottom.load(Relaxed) >= self.0.last.load(Relaxed) {
            self.make_room();
        }
        self.0.limit.store(self.0.last.load(Relaxed), Relaxed);
    }

    /// Moves or allocates memory. Only the owner uses the lock.
    #[cold]
    #[inline(never)]
    fn make_room(self) {
        self.0.make_room(&mut lock(&self.0.slots));
    }

    /// Takes the oldest entry out. The caller must tell its job.
    pub(crate) fn take_oldest(self) -> Option<Entry> {
        self.0.oldest(|_| true)
    }

    /// Takes the youngest entry that `wanted` accepts, and tells its job that it is taken.
    pub(crate) fn take_youngest(self, wanted: impl FnMut(Entry) -> bool) -> Option<Entry> {
        self.0.youngest(wanted, Entry::taken_out)
    }
}
