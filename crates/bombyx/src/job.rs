//! What a fork leaves behind for others: a [`Job`] on the forker's stack (or, for spawned closures, on the
//! heap), and the [`Entry`] that stands for it in deques and mailboxes.
//!
//! # Who may touch which field, and when
//!
//! A stack job is in one of these states; `exec` and `place` tell which:
//!
//! | state | `exec` | `place` | where it is | who may run it |
//! |---|---|---|---|---|
//! | untouched | set | – | the deque it was pushed on, owned by the carrier that forked it | its join, by a plain pop; a thief, under the deque's lock |
//! | kept | null | its deque, kept | that deque, still owned by the carrier that forked it | its join, by a plain pop; a thief, under the deque's lock |
//! | exposed | null | a deque | that deque | its join, by withdrawing it; a thief; both under the deque's lock |
//! | offered | null | a cell | on its way into, or in, a mailbox | its join or the mailbox's owner: one compare-and-swap |
//! | taken | null | nowhere | nowhere | the taker alone |
//!
//! The fork writes `exec` and the closure and nothing else. [`Taken`] is written, with the deque's lock held,
//! by whoever first takes or exposes the job, *before* `exec` is cleared with release; so whoever reads null
//! with acquire finds it filled in. `exec` is cleared at most once. A job is *kept* while it is out of the deque, by
//! the carrier that forked it alone: it pops the job, writes [`Taken`], and pushes it again. Kept jobs are as good as
//! untouched ones, except that their joins take the slow path (profiled pools).
//!
//! **While `exec` is set, or the job is kept, the carrier that forked the job still holds the same processor.** Older entries are
//! taken first, so an inner join can miss (and its carrier be moved to another processor) only after this job
//! was taken; and [`crate::blocking`], which gives the processor away with entries in its deque, exposes them
//! first.

use crate::carrier::Carrier;
use crate::deque::Deque;
use crate::latch::Latch;
use crate::mailbox::Mailbox;
use crate::primitive::{AtomicPtr, AtomicUsize, UnsafeCell};
use std::mem::MaybeUninit;
use std::num::NonZeroUsize;
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// The carrier that the end of a job made ready, if any: it must be given a processor.
pub(crate) type Enabled = Option<NonNull<Carrier>>;

/// Runs the job at this address to its end, and tells whom that enabled. Never unwinds.
pub(crate) type Exec = unsafe fn(*const Job) -> Enabled;

/// The part of a job that all kinds share.
#[repr(C)]
pub(crate) struct Job {
    /// The [`Exec`] function; null once the job was taken or exposed.
    exec: AtomicPtr<()>,
    taken: UnsafeCell<MaybeUninit<Taken>>,
}

/// The part of a job that only a taken one needs.
struct Taken {
    exec: Exec,
    /// How the join learns that the job has ended.
    latch: Latch,
    /// Where the join can still get the job back: a [`Place`].
    place: AtomicUsize,
}

/// Where a job that is not untouched can be got back from.
#[derive(Clone, Copy)]
pub(crate) enum Place {
    /// Nowhere: somebody runs it, or has run it.
    Nowhere,
    /// The deque, by withdrawing it.
    Deque(*const Deque),
    /// The deque, by popping it: it is the youngest entry, and the carrier that forked it owns the deque.
    Kept(*const Deque),
    /// The mailbox.
    Mailbox(*const Mailbox),
}

impl Place {
    fn to_bits(self) -> usize {
        match self {
            Place::Nowhere => 0,
            Place::Deque(deque) => deque as usize | 1,
            Place::Kept(deque) => deque as usize | 2,
            Place::Mailbox(mailbox) => mailbox as usize,
        }
    }

    fn from_bits(bits: usize) -> Place {
        match bits {
            0 => Place::Nowhere,
            _ if bits & 1 == 1 => Place::Deque((bits & !1) as *const Deque),
            _ if bits & 2 == 2 => Place::Kept((bits & !2) as *const Deque),
            _ => Place::Mailbox(bits as *const Mailbox),
        }
    }
}

impl Job {
    /// A job in state *untouched*.
    #[inline(always)]
    pub(crate) fn new(exec: Exec) -> Job {
        Job { exec: AtomicPtr::new(exec as *mut ()), taken: UnsafeCell::new(MaybeUninit::uninit()) }
    }

    /// Whether the job is untouched. For its join, on the carrier that forked it.
    #[inline(always)]
    pub(crate) fn untouched(&self) -> bool {
        !self.exec.load(Acquire).is_null()
    }

    /// Whether the job is untouched or kept. Under the lock of the deque that it is in.
    pub(crate) fn is_poppable(&self) -> bool {
        // SAFETY: if it is not untouched.
        self.untouched() || matches!(unsafe { self.place() }, Place::Kept(_))
    }

    /// Leaves state *untouched*, *kept* or *exposed* for the state that `place` says.
    ///
    /// # Safety
    /// The job is in a deque whose lock the caller holds, and which it is taken out of under the same lock,
    /// unless `place` is that deque; or the caller has just taken it out of an offer; or the caller has just
    /// popped it, untouched.
    pub(crate) unsafe fn take(&self, place: Place) {
        let exec = self.exec.load(Relaxed);
        if exec.is_null() {
            // SAFETY: exec is null, so the job is not untouched.
            unsafe { self.taken() }.place.store(place.to_bits(), Release);
            return;
        }
        let taken = Taken {
            // SAFETY: a non-null `exec` is the function pointer that `new` stored.
            exec: unsafe { std::mem::transmute::<*mut (), Exec>(exec) },
            latch: Latch::new(),
            place: AtomicUsize::new(place.to_bits()),
        };
        // SAFETY: only the holder of the deque's lock, or whoever popped the job, writes `taken`, and only while exec
        // is set, when nobody reads it.
        self.taken.with_mut(|cell| unsafe { (*cell).write(taken) });
        // Release: the join that reads null finds `taken` filled in.
        self.exec.store(ptr::null_mut(), Release);
    }

    /// # Safety
    /// The job is not untouched.
    unsafe fn taken(&self) -> &Taken {
        // SAFETY: the job is not untouched, so `taken` was written before that became visible, and is not written
        // again.
        self.taken.with(|cell| unsafe { (*cell).assume_init_ref() })
    }

    /// # Safety
    /// The job is not untouched.
    pub(crate) unsafe fn latch(&self) -> &Latch {
        // SAFETY: as the caller promises.
        unsafe { &self.taken().latch }
    }

    /// # Safety
    /// The job is not untouched.
    pub(crate) unsafe fn place(&self) -> Place {
        // SAFETY: as the caller promises.
        Place::from_bits(unsafe { self.taken().place.load(Acquire) })
    }

    /// Runs the job.
    ///
    /// # Safety
    /// The caller has taken the job, alone, and the job is alive. It may be gone after the call.
    pub(crate) unsafe fn run(job: *const Job) -> Enabled {
        // SAFETY: the job is alive until it has run.
        let exec = unsafe {
            let exec = (*job).exec.load(Relaxed);
            if exec.is_null() {
                (*job).taken().exec
            } else {
                // SAFETY: a non-null `exec` is the function pointer that `new` stored.
                std::mem::transmute::<*mut (), Exec>(exec)
            }
        };
        // SAFETY: as the caller promises.
        unsafe { exec(job) }
    }
}

/// What stands in a deque or a mailbox: a job, or a carrier that is ready to go on and lacks a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry(NonZeroUsize);

/// What an [`Entry`] stands for.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    /// The second closure of a `join`, on the stack of the carrier that forked it.
    Stack(*const Job),
    /// A spawned closure, on the heap.
    Heap(*const Job),
    /// A carrier that waits for a processor (design: "ready carrier"; Blumofe and Leiserson's rule 4).
    Carrier(NonNull<Carrier>),
}

const HEAP: usize = 1;
const CARRIER: usize = 2;
const TAG: usize = 3;

impl Entry {
    #[inline(always)]
    pub(crate) fn stack(job: &Job) -> Entry {
        // SAFETY: a reference is not null.
        Entry(unsafe { NonZeroUsize::new_unchecked(ptr::from_ref(job) as usize) })
    }

    pub(crate) fn heap(job: NonNull<Job>) -> Entry {
        Entry(job.addr() | HEAP)
    }

    pub(crate) fn carrier(carrier: NonNull<Carrier>) -> Entry {
        Entry(carrier.addr() | CARRIER)
    }

    /// Whether this is the second half of a join.
    pub(crate) fn is_stack(self) -> bool {
        matches!(self.kind(), Kind::Stack(_))
    }

    pub(crate) fn kind(self) -> Kind {
        let bits = self.0.get();
        let address = bits & !TAG;
        match bits & TAG {
            HEAP => Kind::Heap(address as *const Job),
            // SAFETY: made from a non-null pointer in `carrier`.
            CARRIER => Kind::Carrier(unsafe { NonNull::new_unchecked(address as *mut Carrier) }),
            _ => Kind::Stack(address as *const Job),
        }
    }

    /// Tells the job of this entry that it leaves the deque for `place`, under the deque's lock; or an offer.
    pub(crate) fn taken(self, place: Place) {
        if let Kind::Stack(job) = self.kind() {
            // SAFETY: the entry is being taken out of a deque under its lock; its join cannot return before
            // it has looked at the deque under the same lock, or the latch is set, so the job is alive.
            unsafe { (*job).take(place) };
        }
    }

    /// Exposes the job of this entry, which is in `deque`. To be called under the deque's lock. False if there was
    /// nothing to expose, here and therefore below ([`Deque::expose_all`]).
    pub(crate) fn expose(self, deque: &Deque) -> bool {
        let Kind::Stack(job) = self.kind() else { return false };
        // SAFETY: as in `taken`.
        let poppable = unsafe { (*job).is_poppable() };
        if poppable {
            // SAFETY: as in `taken`; the job stays in the deque.
            unsafe { (*job).take(Place::Deque(deque)) };
        }
        poppable
    }

    #[inline(always)]
    pub(crate) fn bits(self) -> usize {
        self.0.get()
    }

    pub(crate) fn from_bits(bits: usize) -> Option<Entry> {
        NonZeroUsize::new(bits).map(Entry)
    }
}
