//! Cooperative steals: a thief leaves a request with a victim, and the victim puts its answer into the thief's mailbox.
//!
//! # Protocol
//!
//! *Request word* of the victim: 0, or the address of the thief's [`Post`].
//! *Mailbox* of the thief: empty, declined, or an entry.
//!
//! 1. The thief empties its mailbox, says what it wants, and **posts**: request 0 → thief (compare-and-swap,
//!    release). Then it poisons the victim's limit.
//! 2. The victim, at its next fork, **claims**: request thief → 0 (swap, acquire). From here on it owes an
//!    answer. It stores the oldest entry, or *declined*, into the mailbox (release).
//! 3. The thief polls its mailbox (acquire) and **picks up** (compare-and-swap entry → empty).
//! 4. A thief that loses patience **cancels**: request thief → 0 (compare-and-swap). If that fails, the
//!    victim has claimed the request, an answer is certain, and the thief waits for it.
//! 5. The join of a job that lies in a mailbox **takes it back**: mailbox entry → declined
//!    (compare-and-swap). So a thief that was descheduled delays nobody.
//!
//! Why nothing is lost: the request word changes from a thief's address to 0 exactly once per post, by the victim or by
//! the thief, and both know by whom. If it was the victim, the mailbox is empty (1) and only the victim stores into it.
//! The entry then leaves it exactly once, by (3) or (5). A thief posts again only after it has cancelled its request or
//! got its answer. So a mailbox never holds two entries, and a late answer cannot be mistaken for the answer to another
//! request.
//!
//! An [`Offer`] is a mailbox that its owner fills for the first thief that comes. Taking back works in the same way.
//!
//! The waker of a sleeping processor uses the same mailbox for a **gift**. This is safe: a sleeping processor has no
//! request outstanding and no holder. Only the waker touches it, until the waker gives the processor to a carrier.

use crate::protocol::job::Entry;
use crate::system::fault::{Fault, planted};
use crate::system::primitive::{AtomicUsize, spin_until};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// Where answers and gifts arrive. See the module text.
#[repr(align(128))]
pub(crate) struct Mailbox {
    content: AtomicUsize,
    /// Whether the owner, when woken, would rather be given an entry than ask for one. A hint.
    wish: AtomicUsize,
}

const EMPTY: usize = 0;
/// No entry has these bits: addresses of jobs and carriers are not that small.
const DECLINED: usize = 3;

/// What a thief finds in its mailbox.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Mail {
    /// No answer yet.
    None,
    /// The victim had nothing, or a join took the entry back.
    Declined,
    /// The entry is the thief's.
    Entry(Entry),
}

impl Mail {
    pub(crate) fn entry(self) -> Option<Entry> {
        match self {
            Mail::Entry(entry) => Some(entry),
            Mail::Declined | Mail::None => None,
        }
    }
}

impl Mailbox {
    pub(crate) fn new() -> Mailbox {
        Mailbox { content: AtomicUsize::new(EMPTY), wish: AtomicUsize::new(0) }
    }

    /// Says whether the owner wants a gift. The owner calls this before it rests.
    pub(crate) fn ask_for_gift(&self, wants: bool) {
        self.wish.store(usize::from(wants), Relaxed);
    }

    /// Whether the owner wants a gift.
    pub(crate) fn wants_gift(&self) -> bool {
        self.wish.load(Relaxed) != 0
    }

    /// Puts the victim's answer, or a gift, into the mailbox.
    pub(crate) fn deliver(&self, entry: Option<Entry>) {
        self.content.store(entry.map_or(DECLINED, Entry::bits), Release);
    }

    /// The thief looks into its mailbox, and empties it.
    pub(crate) fn pick_up(&self) -> Mail {
        let content = self.content.load(Acquire);
        if content == EMPTY {
            return Mail::None;
        }
        // A join may take its job back at the same time. Nothing else changes the content now, so one try decides.
        let won = self.content.compare_exchange(content, EMPTY, AcqRel, Acquire).is_ok();
        if !won {
            self.content.store(EMPTY, Relaxed);
        }
        match Entry::from_bits(content) {
            Some(entry) if won && content != DECLINED => Mail::Entry(entry),
            _ => Mail::Declined,
        }
    }

    /// Whether an answer has arrived.
    pub(crate) fn has_mail(&self) -> bool {
        self.content.load(Relaxed) != EMPTY
    }

    /// Takes back a job, for its join. Returns false if the job has been picked up, or is still on its way here. In the
    /// second case the join may try again.
    #[must_use]
    pub(crate) fn take_back(&self, entry: Entry) -> bool {
        if planted(Fault::TakeBackBlindly) {
            let here = self.content.load(Acquire) == entry.bits();
            self.content.store(DECLINED, Release);
            return here;
        }
        self.content.load(Relaxed) == entry.bits()
            && self.content.compare_exchange(entry.bits(), DECLINED, AcqRel, Relaxed).is_ok()
    }
}

/// Where a processor puts its oldest entry ahead of demand, for the first thief that comes. Unlike with a mailbox,
/// several thieves may reach for the entry: the one that changes the content has it.
pub(crate) struct Offer {
    mailbox: Mailbox,
}

impl Offer {
    pub(crate) fn new() -> Offer {
        Offer { mailbox: Mailbox::new() }
    }

    /// Where the join can take back an offered job.
    pub(crate) fn mailbox(&self) -> &Mailbox {
        &self.mailbox
    }

    /// Whether there is an entry.
    pub(crate) fn stands(&self) -> bool {
        !matches!(self.mailbox.content.load(Relaxed), EMPTY | DECLINED)
    }

    /// The owner offers an entry. The offer must be empty.
    pub(crate) fn make(&self, entry: Entry) {
        self.mailbox.deliver(Some(entry));
    }

    /// Takes the entry. Anyone may call this.
    pub(crate) fn take(&self) -> Option<Entry> {
        if !self.stands() {
            return None;
        }
        let content = self.mailbox.content.load(Acquire);
        let taken = content != DECLINED
            && self.mailbox.content.compare_exchange(content, EMPTY, AcqRel, Relaxed).is_ok();
        Entry::from_bits(content).filter(|_| taken)
    }
}

/// What a thief shows its victim.
pub(crate) struct Post {
    pub(crate) mailbox: Mailbox,
    /// The thief wants only descendants of this root ([`crate::protocol::deque::Deque::set_root`]). 0 means anything.
    want: AtomicUsize,
}

impl Post {
    pub(crate) fn new() -> Post {
        Post { mailbox: Mailbox::new(), want: AtomicUsize::new(0) }
    }

    /// What the thief wants.
    pub(crate) fn want(&self) -> usize {
        self.want.load(Relaxed)
    }
}

/// The request word of a victim. See the module text.
pub(crate) struct Requests {
    thief: AtomicUsize,
}

impl Requests {
    pub(crate) fn new() -> Requests {
        Requests { thief: AtomicUsize::new(0) }
    }

    /// The thief asks for an entry. Its mailbox must be empty. Returns false if another thief already waits here.
    #[must_use]
    pub(crate) fn post(&self, thief: &Post, want: usize) -> bool {
        if self.thief.load(Relaxed) != 0 {
            return false;
        }
        thief.want.store(want, Relaxed);
        // Release: the victim that claims this sees the empty mailbox and the want.
        self.thief.compare_exchange(0, address(thief), Release, Relaxed).is_ok()
    }

    /// The thief withdraws its request. If the victim has claimed it, the thief waits for the answer, which is a few
    /// instructions away, and returns it: an entry or [`Mail::Declined`].
    pub(crate) fn cancel(&self, thief: &Post) -> Mail {
        let withdrawn = planted(Fault::LeaveWithoutCancel)
            || self.thief.compare_exchange(address(thief), 0, Relaxed, Relaxed).is_ok();
        if withdrawn {
            return Mail::None;
        }
        spin_until(|| thief.mailbox.has_mail());
        thief.mailbox.pick_up()
    }

    /// Whether a request waits here.
    pub(crate) fn pending(&self) -> bool {
        self.thief.load(Relaxed) != 0
    }

    /// The victim claims the request. It then owes the thief an answer.
    ///
    /// The pointer is valid for as long as the pool's processors live.
    #[inline]
    pub(crate) fn claim(&self) -> Option<*const Post> {
        if planted(Fault::ServeWithoutClaim) {
            let thief = self.thief.load(Acquire);
            self.thief.store(0, Relaxed);
            return (thief != 0).then_some(thief as *const Post);
        }
        if !self.pending() {
            return None;
        }
        let thief = self.thief.swap(0, Acquire);
        (thief != 0).then_some(thief as *const Post)
    }
}

fn address(post: &Post) -> usize {
    std::ptr::from_ref(post) as usize
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::system::primitive::tests::gives_way;

    /// The victim has claimed the request, and is descheduled before it answers.
    #[test]
    fn who_waits_for_a_claimed_request_gives_way() {
        let (requests, thief) = (Requests::new(), Post::new());
        assert!(requests.post(&thief, 0));
        assert!(requests.claim().is_some());
        let mail = gives_way(|| requests.cancel(&thief), || thief.mailbox.deliver(None));
        assert_eq!(mail, Mail::Declined);
    }
}
