//! What a fork leaves behind for others: a [`Job`] on the forker's stack (or a [`HeapJob`], for spawned closures), and
//! the [`Entry`] that stands for it in deques and mailboxes.
//!
//! # Who may touch which field, and when
//!
//! A stack job is in one of these states; `pushed` and `place` tell which:
//!
//! | state | `pushed` | `place` | where it is | who may run it |
//! |---|---|---|---|---|
//! | untouched | set | – | the deque it was pushed on, owned by the carrier that forked it | its join, by a plain pop; a thief, under the deque's lock |
//! | kept | null | its deque, kept | that deque, still owned by the carrier that forked it | its join, by a plain pop; a thief, under the deque's lock |
//! | exposed | null | a deque | that deque | its join, by taking it back; a thief; both under the deque's lock |
//! | queued | null | the pool | the pool's queue | its join, by taking it back; anyone; all under the lock of the pool |
//! | listed | null | a node | a pool or a list of deques ([`crate::protocol::ready`]) | its join, by taking it back; a searcher; both under the list's lock |
//! | offered | null | a mailbox | on its way into, or in, a mailbox or an offer | its join or a thief: one compare-and-swap |
//! | taken | null | nowhere | nowhere | the taker alone |
//! | branch | null | branch | on its way to a thief, or nowhere | the taker alone; it ends by [resolution](crate::protocol::resolution) |
//!
//! The fork writes only `exec`, `pushed` and the closure. The first to take or expose the job writes [`Taken`], with
//! the deque's lock held, and *then* clears `pushed` with release. So a reader of null, with acquire, finds `Taken`
//! filled in. `pushed` is cleared at most once. Only the carrier that forked a job can make it *kept*. It does so while
//! the job is out of the deque: it pops the job, writes [`Taken`], and pushes the job again. Kept jobs work like
//! untouched ones, except that their joins take the slow path. Only profiled pools keep jobs.
//!
//! **While `pushed` is set, or the job is kept, the carrier that forked the job still holds the same processor.** Older
//! entries are taken first. So an inner join can miss, and its carrier move to another processor, only after this job
//! was taken. Code that gives the processor away with entries in its deque, such as [`crate::blocking`], exposes them
//! first.
//!
//! A [private deque](crate::protocol::deque::Deque::private) has no lock. Only its owner takes entries out, so the
//! owner counts as the lock's holder.
//!
//! # What a taken job carries
//!
//! A job that its own join runs carries nothing: it runs as a part of the frame that forked it. Any other job takes the
//! context of its fork along, and brings back what its join must merge ([`crate::machine::chain`]). One word, `carried`,
//! holds the context first, and later what the join must merge:
//!
//! 1. When the job ceases to be untouched, and before `pushed` is cleared, the context is written
//!    ([`crate::protocol::deque`]).
//! 2. The carrier that runs the job reads the context. Before the job ends, it writes what the job leaves.
//! 3. The join reads that after it has learned of the end.
//!
//! Taking the job orders the first two steps, and its latch or its resolution orders the last two. The same things order
//! the accesses to the closure and the result.

use crate::protocol::carrier::{Carrier, Enabled};
use crate::protocol::deque::{Deque, Pushed, Slot};
use crate::protocol::latch::Latch;
use crate::protocol::mailbox::Mailbox;
use crate::protocol::ready::list::Node;
use crate::protocol::resolution::Resolution;
use crate::system::fault::{Fault, planted};
use crate::system::guard::guarded;
use crate::system::primitive::{AtomicPtr, AtomicUsize, UnsafeCell};
use std::mem::{ManuallyDrop, MaybeUninit};
use std::num::NonZeroUsize;
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Runs the job at this address to its end, and returns the carrier that this enabled. Must not unwind: [`Job::run`]
/// would abort.
pub(crate) type Exec = unsafe fn(*const Job) -> Enabled;

/// The second half of a `join`.
#[repr(C)]
pub(crate) struct Job {
    exec: Exec,
    /// Where in the deque the fork pushed the job. Null once the job was taken, kept or exposed.
    pushed: AtomicPtr<Slot>,
    taken: UnsafeCell<MaybeUninit<Taken>>,
    carried: UnsafeCell<MaybeUninit<*mut ()>>,
}

/// The part of a job that is written when the job is no longer untouched.
struct Taken {
    end: End,
    /// Where the join can still get the job back: a [`Place`].
    place: AtomicUsize,
    /// The job's ancestor: the root of the deque that the job left last, or 0 if unknown
    /// ([`crate::protocol::lineage`]).
    origin: AtomicUsize,
}

impl Taken {
    fn new(end: End, place: usize) -> Taken {
        Taken { end, place: AtomicUsize::new(place), origin: AtomicUsize::new(0) }
    }
}

/// How the join learns that the job has ended.
union End {
    /// If the job is not a branch.
    latch: ManuallyDrop<Latch>,
    /// If the job is a branch.
    resolution: NonNull<Resolution>,
}

/// Where the join can get back a job that is not untouched.
#[derive(Clone, Copy)]
pub(crate) enum Place {
    /// Nowhere: somebody runs it, or has run it.
    Nowhere,
    /// Nowhere, and the job ends by resolution.
    Branch,
    /// The deque, by taking it back.
    Deque(*const Deque),
    /// The deque, by popping it: it is the youngest entry, and the carrier that forked it owns the deque.
    Kept(*const Deque),
    /// The mailbox.
    Mailbox(*const Mailbox),
    /// The queue of the pool at this address.
    Queue(*const ()),
    /// The node of the pool's list of ready entries.
    Listed(Node),
}

/// Addresses of deques, mailboxes and pools have these bits clear.
pub(crate) const PLACE: usize = 7;
const _: () = assert!(align_of::<Deque>() > PLACE && align_of::<Mailbox>() > PLACE);
const DEQUE: usize = 1;
const QUEUE: usize = 2;
const BRANCH: usize = 3;
const LISTED: usize = 4;
const KEPT: usize = 5;

impl Place {
    fn to_bits(self) -> usize {
        match self {
            Place::Nowhere => 0,
            Place::Branch => BRANCH,
            Place::Deque(deque) => deque as usize | DEQUE,
            Place::Kept(deque) => deque as usize | KEPT,
            Place::Mailbox(mailbox) => mailbox as usize,
            Place::Queue(pool) => pool as usize | QUEUE,
            Place::Listed(node) => node.number() << 3 | LISTED,
        }
    }

    fn from_bits(bits: usize) -> Place {
        match bits {
            0 => Place::Nowhere,
            BRANCH => Place::Branch,
            _ if bits & PLACE == DEQUE => Place::Deque((bits & !PLACE) as *const Deque),
            _ if bits & PLACE == KEPT => Place::Kept((bits & !PLACE) as *const Deque),
            _ if bits & PLACE == QUEUE => Place::Queue((bits & !PLACE) as *const ()),
            _ if bits & PLACE == LISTED => Place::Listed(Node::numbered(bits >> 3)),
            _ => Place::Mailbox(bits as *const Mailbox),
        }
    }
}

/// For models, whose jobs exist before the fork.
#[cfg(loom)]
impl Job {
    /// A job that was not pushed yet.
    pub(crate) fn unpushed(exec: Exec) -> Job {
        Job {
            exec,
            pushed: AtomicPtr::new(ptr::null_mut()),
            taken: UnsafeCell::new(MaybeUninit::uninit()),
            carried: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// Puts a job that nobody has seen into state *untouched*.
    pub(crate) fn fork_at(&self, pushed: Pushed) {
        self.pushed.store(pushed.slot(), Relaxed);
    }
}

impl Job {
    /// A job in state *untouched*, which the caller is about to push at `pushed`.
    #[inline(always)]
    pub(crate) fn forked(exec: Exec, pushed: Pushed) -> Job {
        Job {
            exec,
            pushed: AtomicPtr::new(pushed.slot()),
            taken: UnsafeCell::new(MaybeUninit::uninit()),
            carried: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// Where the job was pushed, if it is untouched. For the join, on the carrier that forked it, and under the lock.
    #[inline(always)]
    pub(crate) fn untouched(&self) -> Option<Pushed> {
        Pushed::from_slot(self.pushed.load(Acquire))
    }

    /// Whether the job is untouched or kept. The caller holds the lock of the job's deque.
    pub(crate) fn is_poppable(&self) -> bool {
        // SAFETY: evaluated only if the job is not untouched.
        self.untouched().is_some() || matches!(unsafe { self.place() }, Place::Kept(_))
    }

    /// Moves a job that nobody has started to the state that `place` says. Returns whether the job was *untouched*.
    ///
    /// # Safety
    /// One of these holds:
    ///
    /// - The job is in a deque whose lock the caller holds. Unless `place` is that deque, the caller takes the job out
    ///   under the same lock.
    /// - The caller has just taken the job out of an offer or out of its own private deque, or has popped it untouched.
    /// - The caller holds the lock of the queue or the list that the job is in.
    #[inline]
    unsafe fn take(&self, place: Place) -> bool {
        if self.pushed.load(Relaxed).is_null() {
            // SAFETY: `pushed` is null, so the job is not untouched.
            unsafe { self.taken() }.place.store(place.to_bits(), Release);
            return false;
        }
        let end = End { latch: ManuallyDrop::new(Latch::new()) };
        self.fill_in(Taken::new(end, place.to_bits()));
        true
    }

    /// Takes a job that will end by resolution.
    ///
    /// # Safety
    /// The caller has just taken the job out of its own private deque.
    pub(crate) unsafe fn take_as_branch(&self, resolution: NonNull<Resolution>) {
        self.fill_in(Taken::new(End { resolution }, BRANCH));
    }

    /// Only the caller may change the job now: it holds the deque's lock, or owns the deque.
    fn fill_in(&self, taken: Taken) {
        // SAFETY: either `pushed` is still set, so nobody reads `taken`; or the job was exposed in a private deque.
        // Then only the owner of that deque, which also runs the job's join, accesses `taken`.
        self.taken.with_mut(|cell| unsafe { (*cell).write(taken) });
        // Release: the join that reads null finds `taken` filled in.
        self.pushed.store(ptr::null_mut(), Release);
    }

    /// # Safety
    /// The job is not untouched.
    unsafe fn taken(&self) -> &Taken {
        // SAFETY: the job is not untouched, so `taken` was written before that became visible. Only the owner of a
        // private deque, which also runs the join, may write it again.
        self.taken.with(|cell| unsafe { (*cell).assume_init_ref() })
    }

    /// # Safety
    /// The job is not untouched, and not a branch.
    pub(crate) unsafe fn latch(&self) -> &Latch {
        // SAFETY: as the caller promises.
        unsafe { &self.taken().end.latch }
    }

    /// # Safety
    /// The job is a branch.
    pub(crate) unsafe fn resolution(&self) -> NonNull<Resolution> {
        // SAFETY: as the caller promises.
        unsafe { self.taken().end.resolution }
    }

    /// # Safety
    /// The job is not untouched.
    pub(crate) unsafe fn place(&self) -> Place {
        // SAFETY: as the caller promises.
        Place::from_bits(unsafe { self.taken().place.load(Acquire) })
    }

    /// The job's ancestor, or 0 if unknown.
    ///
    /// # Safety
    /// The job is not untouched.
    pub(crate) unsafe fn origin(&self) -> usize {
        // SAFETY: as the caller promises.
        unsafe { self.taken().origin.load(Relaxed) }
    }

    /// The deque that keeps the job, if the job is kept.
    ///
    /// # Safety
    /// The job is not untouched.
    #[inline(always)]
    pub(crate) unsafe fn kept_in(&self) -> Option<*const Deque> {
        // SAFETY: as the caller promises.
        let bits = unsafe { self.taken().place.load(Acquire) };
        (bits & PLACE == KEPT).then_some((bits & !PLACE) as *const Deque)
    }

    /// The function that runs the job, also if only a [`HeapJob`] lies there.
    ///
    /// # Safety
    /// The job is alive.
    #[inline(always)]
    unsafe fn exec_of(job: *const Job) -> Exec {
        // SAFETY: the job is alive, and every job begins with this word. Nothing behind it is touched.
        unsafe { *job.cast::<Exec>() }
    }

    /// The address of the function that runs the job: a name for what it does.
    ///
    /// # Safety
    /// The job is alive.
    pub(crate) unsafe fn code(job: *const Job) -> usize {
        // SAFETY: as the caller promises.
        unsafe { Job::exec_of(job) as *const () as usize }
    }

    /// Writes what the job carries.
    ///
    /// # Safety
    /// Either the job is untouched and the caller may take it, or the caller has taken it and it has not ended.
    pub(crate) unsafe fn carry(&self, word: *mut ()) {
        // SAFETY: as the caller promises, nobody else accesses the word now.
        self.carried.with_mut(|cell| unsafe {
            (*cell).write(word);
        });
    }

    /// What the job carries.
    ///
    /// # Safety
    /// The job was in a deque. Either the caller has taken it and it has not ended, or the caller is its join and it has
    /// ended.
    pub(crate) unsafe fn carried(&self) -> *mut () {
        // SAFETY: the deque wrote the word when the job was taken, and the carrier that ran the job wrote it after
        // that. The caller comes after both.
        self.carried.with(|cell| unsafe { (*cell).assume_init() })
    }

    /// Leaves `word` for the join of this job, and then ends the job by `end`.
    ///
    /// # Safety
    /// The caller has taken the job and run it. The job may be gone when `end` returns.
    pub(crate) unsafe fn leave(job: *const Job, word: *mut (), end: impl FnOnce() -> Enabled) -> Enabled {
        if planted(Fault::LeaveAfterEnd) {
            let enabled = end();
            // SAFETY: none. A model must notice this.
            unsafe { (*job).carry(word) };
            return enabled;
        }
        // SAFETY: as the caller promises, and the job has not ended yet.
        unsafe { (*job).carry(word) };
        end()
    }

    /// Runs the job.
    ///
    /// # Safety
    /// Only the caller has taken the job, and the job is alive. It may be gone after the call.
    pub(crate) unsafe fn run(job: *const Job) -> Enabled {
        // SAFETY: the job is alive until it has run.
        let exec = unsafe { Job::exec_of(job) };
        // SAFETY: as the caller promises.
        guarded(|| unsafe { exec(job) })
    }
}

/// The first part of every job on the heap. It begins as a [`Job`] does, and has nothing of the rest: a heap job has no
/// join, so nobody asks where it is. Its address is passed around as that of a job.
#[repr(C)]
pub(crate) struct HeapJob {
    exec: Exec,
    /// The ancestor of the closure's forks: the root of its scope or broadcast, or 0 ([`crate::protocol::lineage`]).
    root: usize,
}

impl HeapJob {
    pub(crate) fn new(exec: Exec, root: usize) -> HeapJob {
        HeapJob { exec, root }
    }

    /// The root of a heap job.
    ///
    /// # Safety
    /// The job is on the heap, and alive.
    pub(crate) unsafe fn root_of(job: *const Job) -> usize {
        // SAFETY: every job on the heap begins with a `HeapJob`.
        unsafe { (*job.cast::<HeapJob>()).root }
    }
}

/// Whether the entry was spawned in the scope with this root. If the entry is in a deque, the caller holds the deque's
/// lock.
pub(crate) fn belongs_to(entry: Entry, root: usize) -> bool {
    match entry.kind() {
        // SAFETY: a heap job is alive until it has run. Nobody runs it while the caller holds the lock or the entry.
        Kind::Heap(job) => unsafe { HeapJob::root_of(job) == root },
        _ => false,
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
    /// A carrier that waits for a processor: a *ready carrier* (Blumofe and Leiserson, §4, rule 4).
    Carrier(NonNull<Carrier>),
}

const HEAP: usize = 1;
const CARRIER: usize = 2;
const TAG: usize = 3;

/// The address of `pointer`, with its provenance exposed. Callers make the pointer from a whole object that begins with
/// a `Job`, because the object is larger than the `Job`.
#[inline(always)]
fn exposed<T>(pointer: NonNull<T>) -> NonZeroUsize {
    // SAFETY: the pointer is not null.
    unsafe { NonZeroUsize::new_unchecked(pointer.as_ptr().expose_provenance()) }
}

impl Entry {
    #[inline(always)]
    pub(crate) fn stack(job: NonNull<Job>) -> Entry {
        Entry(exposed(job))
    }

    pub(crate) fn heap(job: NonNull<Job>) -> Entry {
        Entry(exposed(job) | HEAP)
    }

    pub(crate) fn carrier(carrier: NonNull<Carrier>) -> Entry {
        Entry(exposed(carrier) | CARRIER)
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
            // SAFETY: `Entry::carrier` made the address from a non-null pointer.
            CARRIER => Kind::Carrier(unsafe { NonNull::new_unchecked(address as *mut Carrier) }),
            _ => Kind::Stack(address as *const Job),
        }
    }

    /// Writes the context of the fork into the job of this entry, if the job is still untouched. The caller may take the
    /// entry out of the deque, and is about to take, keep or expose it.
    #[inline]
    pub(crate) fn forked_in(self, context: *mut ()) {
        if let Kind::Stack(job) = self.kind() {
            // SAFETY: the job is alive, as in `taken`. While it is untouched, only the caller may access the word.
            unsafe {
                if (*job).untouched().is_some() {
                    (*job).carry(context);
                }
            }
        }
    }

    /// Tells the job of this entry that its place is now `place`. The entry leaves a deque, a list or an offer, or is
    /// exposed in its deque. Deques and lists are locked meanwhile.
    #[inline]
    pub(crate) fn taken(self, place: Place) {
        if let Kind::Stack(job) = self.kind() {
            // SAFETY: the caller holds the lock of the entry's deque or list, or took the entry from an offer. The join
            // cannot return before it has held the same lock, or before the latch is set. So the job is alive.
            unsafe { (*job).take(place) };
        }
    }

    /// Like [`Entry::taken`], when the entry leaves `deque` for a thief. The job remembers its ancestor.
    #[inline]
    pub(crate) fn stolen(self, place: Place, deque: &Deque) {
        self.taken(place);
        if let Kind::Stack(job) = self.kind() {
            // SAFETY: the job was taken, so it is not untouched, and it is alive for the same reason as in `taken`.
            unsafe { (*job).taken().origin.store(deque.root(), Relaxed) };
        }
    }

    /// Keeps the job of this entry in `deque`. The entry belongs to a join, and the deque's owner has just popped the
    /// entry. Returns whether the job was untouched.
    #[inline(always)]
    pub(crate) fn keep(self, deque: &Deque) -> bool {
        debug_assert!(self.is_stack(), "only the jobs of joins are kept");
        // SAFETY: the owner has popped the job, so nobody else has it, and its join is a frame on this stack.
        unsafe { (*(self.bits() as *const Job)).take(Place::Kept(deque)) }
    }

    /// Tells the job of this entry that the owner of a private deque has taken it out of that deque. No thread is
    /// counted here, because pools with private deques do not count threads.
    pub(crate) fn taken_out(self) {
        if let Kind::Stack(job) = self.kind() {
            // SAFETY: as in `taken`. Only the owner touches a private deque, so it needs no lock.
            unsafe { (*job).take(Place::Nowhere) };
        }
    }

    /// Exposes the job of this entry, which is in `deque`. The caller holds the deque's lock. Returns false if there
    /// was nothing to expose. Then no older entry is left to expose either ([`Deque::expose_all`]).
    pub(crate) fn expose(self, deque: &Deque) -> bool {
        let Kind::Stack(job) = self.kind() else { return false };
        // SAFETY: as in `taken`.
        let poppable = unsafe { (*job).is_poppable() };
        if poppable {
            self.taken(Place::Deque(deque));
        }
        poppable
    }

    /// The cells by which the taken job of this entry tells its join that it has ended, if it is a branch.
    pub(crate) fn resolution(&self) -> Option<&Resolution> {
        let Kind::Stack(job) = self.kind() else { return None };
        // SAFETY: a stack job that was taken out of a deque is not untouched, and lives until it has run. The cells
        // live as long.
        unsafe {
            match (*job).place() {
                Place::Branch => Some((*job).resolution().as_ref()),
                _ => None,
            }
        }
    }

    #[inline(always)]
    pub(crate) fn bits(self) -> usize {
        self.0.get()
    }

    pub(crate) fn from_bits(bits: usize) -> Option<Entry> {
        NonZeroUsize::new(bits).map(Entry)
    }
}
