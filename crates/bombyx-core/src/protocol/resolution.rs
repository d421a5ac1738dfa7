//! Join resolution with loads and stores only: the status cells of a join, and the watch lists of processors (Acar,
//! Charguéraud, Muller and Rainey, §4.4 and Figure 7; RW below).
//!
//! # The question
//!
//! In RW, the branch of a join that ends last runs what comes after. Here the frame stays on the stack of its carrier,
//! which runs the left branch. So the question is which *processor* continues the frame. If the frame's carrier still
//! holds a processor when the right branch ends, it is that one. Otherwise it is the processor of the right branch,
//! which is given to the carrier. A carrier that waits may help with descendants of the right branch and keep its
//! processor. Only a carrier that gives its processor away needs the other side's promise. So:
//!
//! - A **left branch that ends first** need not say so. As long as its carrier keeps its processor, it counts as
//!   working. When the carrier wants to leave, it writes READY and waits for ACK.
//! - A **right branch that ends first**, or at the same time (the tie), leaves the join to the left side. It need not
//!   wait for an ACK, because nobody else could go on. Its READY is its last access to the cells.
//! - Only right branches are watched. Their watchers look whether the left side wants to leave.
//!
//! The shortcut for a right branch that nobody took (RW Figure 5, lines 61 to 65) is the plain pop of every join.
//!
//! # Cells
//!
//! | `left`, written by the carrier of the frame | means |
//! |---|---|
//! | WORK | it has a processor: it runs the left branch, or waits |
//! | READY | it waits, and wants to give its processor away |
//! | TRANSFER { list } | it has none, or is giving it away; the right side goes on, and watches what is in the list |
//!
//! | `right`, written by the watcher of the right branch | means |
//! |---|---|
//! | WORK | the branch has not ended |
//! | ACK | the branch has not ended, and the right side will go on; the list is still to come |
//! | TAKEN | the branch has not ended, the right side will go on, and has taken the list |
//! | ENDING | the branch has ended, the watcher is about to look at `left` for the last time |
//! | READY | the left side goes on; the watcher has let go of the join |
//!
//! One watcher at a time writes the cells of a right branch: the processor that is leftmost in the branch (RW §2.2),
//! and has the join in its watch list. A list moves in a TRANSFER. Or it moves with a carrier that loses its processor
//! in another way (it blocks), to the processor that the carrier is given later. Both synchronise.
//!
//! # Steps
//!
//! 1. The victim of a steal makes the cells, both WORK, before it hands the entry out. The thief enters the join in its
//!    watch list when it begins to run the branch.
//! 2. *Watch* (every poll). If `right` is WORK and `left` is READY: write ACK. If `right` is ACK or WORK and `left` is
//!    TRANSFER: write TAKEN, take the join off the list, and add the transferred list to the watcher's list.
//! 3. *The right branch ends.* If `right` is ACK: wait for the TRANSFER, which is on its way, and take the list. If it
//!    is TAKEN, or has become TAKEN this way: the processor is given to the carrier of the frame, with the list. If it
//!    is WORK: write ENDING, look at `left` once more (5), then write READY and go away.
//! 4. *The left side wants to leave.* It writes READY and waits. On ACK, it writes TRANSFER with its own watch list and
//!    gives its processor away. On READY, it goes on itself; that is the tie.
//! 5. *No answer comes*: the right branch is in a long serial piece, or blocks. Giving a processor to another carrier
//!    goes through the kernel anyway, so there the left side may do without the answer. It writes TRANSFER, issues the
//!    heavy barrier, and reads `right`. On WORK, ACK or TAKEN, it has left. The right side will see the TRANSFER,
//!    because it reads `left` after ENDING (`light` between), and so after the barrier. On READY, the left side goes on
//!    itself. On ENDING, the right side is between two instructions, and what it writes next, TAKEN or READY, decides.
//!    If the system refuses the barrier, only TAKEN proves that the left side has left: it waits for TAKEN or READY, as
//!    in RW.
//!
//! # Orderings
//!
//! | what must hold | TSO gave | we use |
//! |---|---|---|
//! | the side that goes on sees the results of the right branch | store before store, load before load | `right` = READY is a release store, loaded with acquire; or the processor is given ([`crate::protocol::carrier`]) |
//! | a side that sees TRANSFER sees the list, and the carrier | the same | release and acquire of `left` |
//! | the cells are reused only after the right side's last access | load before store | READY is that access, and its release store comes after all its loads |
//! | the right side sees a left side that left unanswered, or the left side sees the end | a fence, which RW avoids by waiting | the asymmetric barrier, on the way into the kernel |

use crate::protocol::carrier::Carrier;
use crate::system::barrier::{self, Side};
use crate::system::fault::{Fault, planted};
use crate::system::primitive::{AtomicPtr, AtomicUsize, Spin, nap};
use crate::system::shake::shake;
use std::cell::Cell;
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

const WORK: usize = 0;
const READY: usize = 1;
/// A value of `left`, or-ed with the head of the list.
const TRANSFER: usize = 2;
const ACK: usize = 3;
const TAKEN: usize = 4;
const ENDING: usize = 5;

/// The cells of one join. See the module text.
#[repr(align(64))]
pub(crate) struct Resolution {
    left: AtomicUsize,
    right: AtomicUsize,
    /// The carrier of the frame. Written before `left` becomes READY or TRANSFER.
    carrier: AtomicPtr<Carrier>,
    /// The next cells in the list that these are in: that of the watcher, or that of free cells.
    next: Cell<Link>,
}

// SAFETY: the atomics are for both sides. `next` belongs to the watcher, or to the holder of the free list.
unsafe impl Sync for Resolution {}
// SAFETY: as above.
unsafe impl Send for Resolution {}

type Link = Option<NonNull<Resolution>>;

/// The answer to a left side that wants to leave.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Reply {
    /// Nothing yet.
    None,
    /// The right side goes on: transfer the list and leave.
    Acknowledged,
    /// The right side has ended: stay.
    Ended,
}

/// Who goes on after the right branch has ended.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum GoesOn {
    /// The left side, by itself. The cells may be gone.
    Left,
    /// The right side gives its processor to this carrier.
    Right(NonNull<Carrier>),
}

impl Resolution {
    pub(crate) fn new() -> Resolution {
        Resolution {
            left: AtomicUsize::new(WORK),
            right: AtomicUsize::new(WORK),
            carrier: AtomicPtr::new(ptr::null_mut()),
            next: Cell::new(None),
        }
    }

    /// Resets the cells for another join. Only the caller knows the cells.
    fn reset(&self) {
        self.left.store(WORK, Relaxed);
        self.right.store(WORK, Relaxed);
    }

    // ---- The left side --------------------------------------------------------------------------------

    /// Whether the right branch has ended and the left side goes on.
    pub(crate) fn is_ended(&self) -> bool {
        shake();
        self.right.load(Acquire) == READY
    }

    /// The carrier of the frame wants to give its processor away.
    pub(crate) fn want_to_leave(&self, carrier: NonNull<Carrier>) {
        self.carrier.store(carrier.as_ptr(), Relaxed);
        shake();
        self.left.store(READY, Release);
    }

    /// What the right side answers.
    pub(crate) fn reply(&self) -> Reply {
        shake();
        match self.right.load(Acquire) {
            ACK => Reply::Acknowledged,
            READY => Reply::Ended,
            _ => Reply::None,
        }
    }

    /// The left side leaves, after an acknowledgement, and hands `list` over.
    pub(crate) fn transfer(&self, list: &WatchList) {
        let sent = if planted(Fault::TransferNothing) { None } else { list.head.take() };
        list.head.set(None);
        shake();
        self.left.store(address(sent) | TRANSFER, Release);
    }

    /// The left side leaves without an answer, and hands `list` over. Returns false if the right branch has ended: then
    /// the left side stays, and so does the list. Called on the way into the kernel.
    #[cold]
    #[inline(never)]
    pub(crate) fn leave_unanswered<'a>(
        &self,
        carrier: NonNull<Carrier>,
        list: &WatchList,
        sides: impl Iterator<Item = &'a Side>,
    ) -> bool {
        self.carrier.store(carrier.as_ptr(), Relaxed);
        shake();
        self.left.store(address(list.head.get()) | TRANSFER, Release);
        // Pairs with `light` in `end`. If the barrier is refused, only an answer proves anything.
        let reached = planted(Fault::LeaveWithoutBarrier) || barrier::heavy(sides);
        let mut spin = Spin::default();
        loop {
            shake();
            match self.right.load(Acquire) {
                ENDING => spin.pause(),
                READY => return false,
                WORK | ACK if !reached => nap(),
                _ => {
                    list.head.set(None);
                    return true;
                }
            }
        }
    }

    // ---- The right side -------------------------------------------------------------------------------

    /// The watcher looks at the left side. If the left side has left, returns its list, and the join is no longer
    /// watched.
    fn watch(&self) -> Option<WatchList> {
        shake();
        let left = self.left.load(Acquire);
        if left & TRANSFER != 0 {
            self.right.store(TAKEN, Release);
            return Some(list_at(left));
        }
        if left == READY && self.right.load(Relaxed) == WORK || planted(Fault::EarlyAck) {
            shake();
            self.right.store(ACK, Release);
        }
        None
    }

    /// The right branch has ended, on the processor that watches with `list`. If the left side has left, `list`
    /// receives the left side's list. `fence` runs between a store and a load where the heavy barrier does not reach.
    pub(crate) fn end(&self, list: &WatchList, fence: impl FnOnce()) -> GoesOn {
        match self.right.load(Relaxed) {
            TAKEN => {}
            ACK => {
                list.remove(self);
                list.append(self.await_transfer());
            }
            _ => {
                list.remove(self);
                if !planted(Fault::EndWithoutSecondLook) {
                    shake();
                    self.right.store(ENDING, Relaxed);
                    // Pairs with `heavy` in `leave_unanswered`.
                    barrier::light();
                    fence();
                }
                shake();
                let left = self.left.load(Acquire);
                if left & TRANSFER == 0 || planted(Fault::TieToNone) {
                    if left == READY && planted(Fault::SilentTie) {
                        return GoesOn::Left;
                    }
                    shake();
                    // The last access. Release: the left side sees the result, and may reuse the cells.
                    self.right.store(READY, Release);
                    return GoesOn::Left;
                }
                list.append(list_at(left));
                shake();
                self.right.store(TAKEN, Release);
            }
        }
        // The left side keeps the cells until its carrier is given a processor.
        let carrier =
            NonNull::new(self.carrier.load(Relaxed)).expect("a side that has left names its carrier");
        GoesOn::Right(carrier)
    }

    /// The list of a left side to which the right side has promised to go on. The list is on its way.
    fn await_transfer(&self) -> WatchList {
        let mut spin = Spin::default();
        loop {
            shake();
            let left = self.left.load(Acquire);
            if left & TRANSFER != 0 {
                return list_at(left);
            }
            if planted(Fault::EndBeforeTransfer) {
                return WatchList::default();
            }
            spin.pause();
        }
    }
}

fn address(link: Link) -> usize {
    link.map_or(0, |first| first.as_ptr() as usize)
}

/// The list in a TRANSFER.
fn list_at(left: usize) -> WatchList {
    WatchList { head: Cell::new(NonNull::new((left & !TRANSFER) as *mut Resolution)) }
}

/// The joins that a processor watches, or a carrier that has no processor. Linked through the cells. All
/// lists of a pool together hold fewer joins than there are processors (RW, Lemma C.1), unless carriers block.
#[derive(Default)]
pub(crate) struct WatchList {
    head: Cell<Link>,
}

// SAFETY: the holder of the list may use the joins in it, and there is one holder at a time.
unsafe impl Send for WatchList {}

impl WatchList {
    /// Enters a join.
    pub(crate) fn push(&self, join: &Resolution) {
        join.next.set(self.head.replace(Some(NonNull::from(join))));
    }

    /// Moves all joins of `other` here.
    pub(crate) fn append(&self, other: WatchList) {
        let Some(first) = other.head.get() else { return };
        let mut last = first;
        // SAFETY: joins in a list are alive, because their right branches have not ended.
        while let Some(next) = unsafe { last.as_ref() }.next.get() {
            last = next;
        }
        // SAFETY: as above.
        unsafe { last.as_ref() }.next.set(self.head.replace(Some(first)));
    }

    /// Takes all joins out.
    pub(crate) fn take(&self) -> WatchList {
        WatchList { head: Cell::new(self.head.take()) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.head.get().is_none()
    }

    /// Looks at every join: acknowledges, and takes lists over (RW Figure 7, `watch`).
    pub(crate) fn watch(&self) {
        let mut link = &self.head;
        while let Some(join) = link.get() {
            // SAFETY: as in `append`.
            let join = unsafe { join.as_ref() };
            match join.watch() {
                Some(list) => {
                    link.set(join.next.get());
                    self.append(list);
                    link = &self.head;
                }
                None => link = &join.next,
            }
        }
    }

    fn remove(&self, join: &Resolution) {
        let mut link = &self.head;
        while let Some(found) = link.get() {
            // SAFETY: as in `append`.
            let found = unsafe { found.as_ref() };
            if ptr::eq(found, join) {
                link.set(found.next.get());
                return;
            }
            link = &found.next;
        }
        debug_assert!(planted(Fault::TransferNothing), "whoever ends a branch watches it");
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        let mut len = 0;
        let mut link = self.head.get();
        while let Some(join) = link {
            len += 1;
            // SAFETY: as in `append`.
            link = unsafe { join.as_ref() }.next.get();
        }
        len
    }
}

/// The cells of one processor that no join uses.
#[derive(Default)]
pub(crate) struct FreeCells(Cell<Link>);

// SAFETY: no join uses the cells, so they belong to the holder of the list.
unsafe impl Send for FreeCells {}

impl FreeCells {
    /// Cells for a join. They must be [returned](FreeCells::put), to any processor.
    pub(crate) fn get(&self) -> NonNull<Resolution> {
        let Some(first) = self.0.get() else { return new_cells() };
        // SAFETY: free cells are alive, and nobody else knows them.
        let cells = unsafe { first.as_ref() };
        self.0.set(cells.next.get());
        cells.reset();
        first
    }

    /// Takes cells back.
    ///
    /// # Safety
    /// The cells came from [`FreeCells::get`] of a processor of the same pool, and nobody uses them any more.
    pub(crate) unsafe fn put(&self, cells: NonNull<Resolution>) {
        // SAFETY: as the caller promises.
        unsafe { cells.as_ref() }.next.set(self.0.replace(Some(cells)));
    }
}

/// Allocates new cells. There are never more cells than the most joins that were open at a time.
#[cold]
#[inline(never)]
fn new_cells() -> NonNull<Resolution> {
    NonNull::from(Box::leak(Box::new(Resolution::new())))
}

impl Drop for FreeCells {
    fn drop(&mut self) {
        while let Some(first) = self.0.take() {
            // SAFETY: made from a box in `new_cells`, and in one list only.
            let cells = unsafe { Box::from_raw(first.as_ptr()) };
            self.0.set(cells.next.get());
        }
    }
}
