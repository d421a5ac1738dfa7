#![doc = include_str!("README.md")]

mod private;
mod slots;

pub(crate) use self::slots::Slot;

use self::slots::Slots;
use crate::protocol::job::{Entry, Place};
use crate::system::barrier::{self, Side};
use crate::system::fault::{Fault, planted};
use crate::system::primitive::{AtomicBool, AtomicPtr, AtomicUsize, MODELLED, Mutex, lock, try_lock};
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// Slots of a new deque. Small enough to stay in the first-level cache, large enough that few programs grow it.
const INITIAL_SLOTS: usize = if MODELLED { 4 } else { 256 };

/// Where the owner pushed an entry. Valid for a pop while the entry is untouched: an entry is exposed before it moves.
#[derive(Clone, Copy)]
pub(crate) struct Pushed(NonNull<Slot>);

impl Pushed {
    #[inline(always)]
    pub(crate) fn slot(self) -> *mut Slot {
        self.0.as_ptr()
    }

    #[inline(always)]
    pub(crate) fn from_slot(slot: *mut Slot) -> Option<Pushed> {
        NonNull::new(slot).map(Pushed)
    }
}

/// How a steal ended.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Steal {
    /// The oldest entry is the thief's, and its job has been told so.
    Success(Entry),
    /// There was nothing to take, or nothing that the thief wanted.
    Empty,
    /// Somebody else held the lock, or the owner took the entry while the thief reached for it.
    Retry,
}

/// The ready deque of one processor. See the module text for the protocol.
#[repr(align(128))]
pub(crate) struct Deque {
    /// One past the youngest entry. Written by the owner only.
    bottom: AtomicPtr<Slot>,
    /// Where the owner leaves its fast path: the last slot of the buffer, or null to ask for attention.
    limit: AtomicPtr<Slot>,
    /// The oldest entry. Written under the lock only.
    top: AtomicPtr<Slot>,
    /// The common ancestor of all entries, or 0 if unknown. Written under the lock only.
    root: AtomicUsize,
    /// The last slot of the buffer. The limit is here when nobody wants the owner's attention. Written by the owner
    /// only.
    last: AtomicPtr<Slot>,
    /// Whether there may be loose entries. Written by the owner only.
    loose: AtomicBool,
    /// Whether the owner relies on the heavy barrier. Changed by the owner only.
    pub(crate) side: Side,
    /// No entry below this is untouched or kept. Written by the owner only, under the lock.
    exposed: AtomicPtr<Slot>,
    /// The context of all untouched entries. Written by the owner only, under the lock.
    context: AtomicPtr<()>,
    /// Whether nobody but the owner touches the entries.
    private: bool,
    /// The buffer; its lock protects all of the above against everyone but the owner's push and pop.
    slots: Mutex<Slots>,
}

impl Deque {
    /// A deque that anyone may take from, or a private one that only its owner touches.
    pub(crate) fn new(private: bool) -> Deque {
        let slots = Slots::new(INITIAL_SLOTS);
        let base = slots.base();
        Deque {
            bottom: AtomicPtr::new(base),
            limit: AtomicPtr::new(slots.last()),
            top: AtomicPtr::new(base),
            root: AtomicUsize::new(0),
            last: AtomicPtr::new(slots.last()),
            loose: AtomicBool::new(false),
            side: Side::new(),
            exposed: AtomicPtr::new(base),
            context: AtomicPtr::new(ptr::null_mut()),
            private,
            slots: Mutex::new(slots),
        }
    }

    // ---- The owner's fast path ------------------------------------------------------------------------

    /// Where the next entry goes. Only the owner may call this.
    #[inline(always)]
    pub(crate) fn next(&self) -> Pushed {
        // SAFETY: bottom points into the buffer.
        Pushed(unsafe { NonNull::new_unchecked(self.bottom.load(Relaxed)) })
    }

    /// Pushes `entry` at the bottom, which is at `next`. If [`Deque::wants_attention`] says so, the owner must
    /// [attend](Deque::attend) before it goes on: that guarantees room for one more entry.
    ///
    /// Only the owner may call this.
    #[inline(always)]
    pub(crate) fn push(&self, next: Pushed, entry: Entry) {
        debug_assert_eq!(self.bottom.load(Relaxed), next.slot(), "entries are pushed at the bottom");
        // SAFETY: bottom points into the buffer, with room for one more entry. The owner never passes the last slot
        // without `attend`, which makes room. Only the owner replaces the buffer, and the owner is here.
        unsafe { next.0.as_ref() }.store(entry.bits(), Relaxed);
        // Release: a thief that sees the entry sees the job it names.
        self.bottom.store(next.slot().wrapping_add(1), Release);
    }

    /// Whether the owner, after a push, must leave the fast path.
    #[inline(always)]
    #[must_use]
    pub(crate) fn wants_attention(&self, pushed: Pushed) -> bool {
        // Pairs with `heavy` in the pool's sleep protocol: either this fork sees the poisoned limit, or the
        // sleeper's second look sees the entry.
        barrier::light();
        !planted(Fault::ForkWithoutCheck) && pushed.slot() >= self.limit.load(Relaxed)
    }

    /// Takes back the youngest entry. False if a thief has it.
    ///
    /// Only the owner may call this. Since its last push or pop, it must have seen that its youngest entry, the one
    /// pushed there, is untouched ([`crate::protocol::job::Job::untouched`]). The place comes from the push and not
    /// from a load of the bottom, which keeps the bottom out of the chain of dependent loads and stores.
    #[inline(always)]
    #[must_use]
    pub(crate) fn pop(&self, pushed: Pushed) -> bool {
        debug_assert_eq!(
            self.bottom.load(Relaxed),
            pushed.slot().wrapping_add(1),
            "the youngest entry is popped"
        );
        // Release, as in `push`: a thief may learn of older entries from this store.
        self.bottom.store(pushed.slot(), Release);
        // Pairs with `heavy` in `steal`: either the thief's second look sees the lowered bottom, or this load
        // sees the raised top.
        if !planted(Fault::PopWithoutBarrier) {
            barrier::light();
        }
        self.top.load(Relaxed) <= pushed.slot() || self.pop_contended(pushed)
    }

    /// A thief has raised the top past our entry. The lock tells who has it.
    #[cold]
    #[inline(never)]
    fn pop_contended(&self, pushed: Pushed) -> bool {
        let _slots = lock(&self.slots);
        let ours = self.top.load(Relaxed) <= pushed.slot();
        if !ours {
            self.bottom.store(pushed.slot().wrapping_add(1), Release);
        }
        ours
    }

    // ---- The owner's slow path ------------------------------------------------------------------------

    /// Answers a poisoned limit: makes room for the next push and lifts the poison.
    ///
    /// The swap reads the value of the last `poison`, so it sees what the caller of `poison` wrote before.
    pub(crate) fn attend(&self) {
        self.make_room(&mut lock(&self.slots));
        self.limit.swap(self.last.load(Relaxed), AcqRel);
    }

    /// Makes room for the next push and leaves the limit as it is. For owners that attend at every push.
    #[inline]
    pub(crate) fn attend_always(&self) {
        if self.bottom.load(Relaxed) >= self.last.load(Relaxed) {
            self.make_room(&mut lock(&self.slots));
        }
    }

    /// Turns the youngest entry into a *kept* one ([`crate::protocol::job`]), unless a thief has it. The entry belongs
    /// to a join and was pushed just now. Returns whether the entry was kept. No lock is needed: while the entry is
    /// popped, only the owner has it.
    #[inline]
    pub(crate) fn keep_youngest(&self) -> bool {
        let pushed = self.youngest_place();
        if !planted(Fault::KeepWithoutPop) && !self.pop(pushed) {
            return false;
        }
        // SAFETY: the slot is in the buffer. Only the owner replaces the buffer, and the owner is here.
        let bits = unsafe { pushed.0.as_ref() }.load(Relaxed);
        let kept = Entry::from_bits(bits).is_some_and(|entry| {
            self.tell_context(entry);
            entry.keep(self)
        });
        // Release: as in `push`.
        self.bottom.store(pushed.slot().wrapping_add(1), Release);
        kept
    }

    /// Where the youngest entry is. Only the owner may call this, after a push.
    fn youngest_place(&self) -> Pushed {
        // SAFETY: bottom points into the buffer, behind the entry.
        Pushed(unsafe { NonNull::new_unchecked(self.bottom.load(Relaxed).wrapping_sub(1)) })
    }

    /// Takes back the youngest entry, which is kept. Returns false if a thief has it. Only the owner may call this.
    #[inline]
    #[must_use]
    pub(crate) fn pop_kept(&self) -> bool {
        self.pop(self.youngest_place())
    }

    /// Takes the youngest entry that `wanted` accepts, under the lock, and tells its job that it is taken.
    pub(crate) fn take_youngest(&self, wanted: impl FnMut(Entry) -> bool) -> Option<Entry> {
        let _slots = lock(&self.slots);
        self.youngest(wanted, |entry| entry.taken(Place::Nowhere))
    }

    /// Takes the youngest entry, if it lies directly below the bottom and `wanted` accepts it.
    pub(crate) fn take_bottom(&self, wanted: impl FnOnce(Entry) -> bool) -> Option<Entry> {
        let _slots = lock(&self.slots);
        let bottom = self.bottom.load(Relaxed);
        let at = bottom.wrapping_sub(1);
        if bottom <= self.top.load(Relaxed) {
            return None;
        }
        let entry = entry_at(at).filter(|&entry| wanted(entry))?;
        self.tell_context(entry);
        entry.taken(Place::Nowhere);
        self.lower_bottom(at);
        Some(entry)
    }

    fn youngest(&self, mut wanted: impl FnMut(Entry) -> bool, taken: impl FnOnce(Entry)) -> Option<Entry> {
        let top = self.top.load(Relaxed);
        let mut bottom = self.bottom.load(Relaxed);
        // Holes at the bottom belong to nobody. If they stayed, the deque would always look as if it had something to
        // take.
        while bottom > top && entry_at(bottom.wrapping_sub(1)).is_none() {
            bottom = bottom.wrapping_sub(1);
            self.lower_bottom(bottom);
        }
        if bottom == top {
            self.loose.store(false, Relaxed);
        }
        let mut at = bottom;
        while at > top {
            at = at.wrapping_sub(1);
            if let Some(entry) = entry_at(at).filter(|&entry| wanted(entry)) {
                self.tell_context(entry);
                taken(entry);
                self.vacate(at, bottom);
                return Some(entry);
            }
        }
        None
    }

    /// Takes the entry out of the slot at `at`, as the owner, under the lock.
    fn vacate(&self, at: *mut Slot, bottom: *mut Slot) {
        if at.wrapping_add(1) == bottom {
            self.lower_bottom(at);
        } else {
            // SAFETY: `at` lies between the ends, in the buffer, which stays while the lock is held.
            unsafe { (*at).store(0, Relaxed) };
        }
    }

    /// Lowers the bottom as the owner, under the lock. An entry that is pushed there next is not exposed.
    fn lower_bottom(&self, bottom: *mut Slot) {
        if self.exposed.load(Relaxed) > bottom && !planted(Fault::KeepExposedMark) {
            self.exposed.store(bottom, Relaxed);
        }
        self.bottom.store(bottom, Release);
    }

    /// Pushes a loose entry, that is, one that is not the second half of a join. When a join below pops, it must find
    /// its own entry at the bottom, or know that it has to look for it. So if the youngest entry belongs to a join, all
    /// entries are exposed first.
    ///
    /// This looks at the slot without the lock and without regard to the top: a thief that has raised the top may not
    /// yet have told the job. If the slot holds something else, even a stale entry, there is no untouched job below.
    #[inline]
    pub(crate) fn push_over(&self, entry: Entry) -> Pushed {
        let youngest = self.bottom.load(Relaxed).wrapping_sub(1);
        // SAFETY: the slot is in the buffer, which begins with a slot that is always empty. Only the owner replaces the
        // buffer, and the owner is here.
        let bits = unsafe { (*youngest).load(Relaxed) };
        let trusted = planted(Fault::TrustRaisedTop) && self.looks_empty() || planted(Fault::PushOverBlindly);
        if Entry::from_bits(bits).is_some_and(Entry::is_stack) && !trusted {
            self.expose_all();
        }
        if !self.loose.load(Relaxed) {
            self.loose.store(true, Relaxed);
        }
        let next = self.next();
        // Release: a thief that finds a loose entry in its slot may have learned of it through nothing else.
        // SAFETY: as in `push`.
        unsafe { next.0.as_ref() }.store(entry.bits(), Release);
        self.bottom.store(next.slot().wrapping_add(1), Release);
        next
    }

    /// Takes the oldest entry for somebody else, and calls `taken` while the lock is held.
    ///
    /// For the owner, which is not popping at the same time. Thieves use [`Deque::steal`].
    pub(crate) fn take_top(&self, taken: impl FnOnce(Entry)) -> Option<Entry> {
        self.take_top_if(|_| true, taken)
    }

    /// Like [`Deque::take_top`], if `wanted` accepts the oldest entry.
    pub(crate) fn take_top_if(
        &self,
        wanted: impl FnOnce(Entry) -> bool,
        taken: impl FnOnce(Entry),
    ) -> Option<Entry> {
        let _slots = lock(&self.slots);
        self.oldest(wanted).inspect(|&entry| taken(entry))
    }

    /// Whether there is an oldest entry, and `what` holds for it. For the owner.
    pub(crate) fn oldest_is(&self, what: impl FnOnce(Entry) -> bool) -> bool {
        let mut is = false;
        let none = self.take_top_if(
            |entry| {
                is = what(entry);
                false
            },
            |_| {},
        );
        debug_assert!(none.is_none(), "nothing is wanted");
        is
    }

    fn oldest(&self, wanted: impl FnOnce(Entry) -> bool) -> Option<Entry> {
        let bottom = self.bottom.load(Relaxed);
        let mut top = self.top.load(Relaxed);
        while top < bottom && entry_at(top).is_none() {
            top = top.wrapping_add(1);
        }
        let found = if top < bottom { entry_at(top).filter(|&entry| wanted(entry)) } else { None };
        self.top.store(if found.is_some() { top.wrapping_add(1) } else { top }, Relaxed);
        found.inspect(|&entry| self.tell_context(entry))
    }

    /// Exposes all untouched entries. From then on, their joins look for them under the lock.
    pub(crate) fn expose_all(&self) {
        let _slots = lock(&self.slots);
        self.expose_locked();
    }

    fn expose_locked(&self) {
        // Entries are exposed all at once, and before an entry that belongs to no join is pushed on top of them. So
        // below an exposed entry, or one of another kind, no entry is untouched.
        self.each(|entry| self.expose(entry));
        self.exposed.store(self.bottom.load(Relaxed), Relaxed);
    }

    /// Exposes an entry, under the lock. Returns whether older ones may have to be exposed, too.
    fn expose(&self, entry: Entry) -> bool {
        self.tell_context(entry);
        entry.expose(self)
    }

    /// Tells the job of an entry its context, if it is untouched. Under the lock, or for the owner of a popped entry.
    #[inline]
    fn tell_context(&self, entry: Entry) {
        entry.forked_in(self.context.load(Relaxed));
    }

    /// Says in which context the owner forks from now on.
    #[inline]
    pub(crate) fn set_context(&self, context: *mut ()) {
        // Only the owner changes the context, and the owner is here.
        if self.context.load(Relaxed) != context {
            self.change_context(context);
        }
    }

    #[cold]
    #[inline(never)]
    fn change_context(&self, context: *mut ()) {
        let _slots = lock(&self.slots);
        if !planted(Fault::ChangeContextBlindly) {
            self.expose_locked();
        }
        self.context.store(context, Relaxed);
    }

    /// Calls `f` for every entry from the youngest to the oldest until it returns false. Under the lock.
    fn each(&self, mut f: impl FnMut(Entry) -> bool) {
        let top = self.top.load(Relaxed);
        let mut at = self.bottom.load(Relaxed);
        while at > top {
            at = at.wrapping_sub(1);
            if entry_at(at).is_some_and(|entry| !f(entry)) {
                return;
            }
        }
    }

    /// How many slots lie between the two ends. This counts the entries and the holes between them.
    pub(crate) fn len(&self) -> usize {
        let (bottom, top) = (self.bottom.load(Relaxed), self.top.load(Relaxed));
        (bottom as usize).saturating_sub(top as usize) / size_of::<Slot>()
    }

    /// Says what the next entries descend from. If the deque is empty now, its root is `root`; otherwise it becomes
    /// unknown.
    #[inline]
    pub(crate) fn set_root(&self, root: usize) {
        // Only the owner changes the root, and the owner is here. Others only take entries away.
        let before = self.root();
        if before != root && (before != 0 || self.looks_empty()) {
            if self.private { self.store_root(root) } else { self.change_root(root) }
        }
    }

    #[inline(never)]
    fn change_root(&self, root: usize) {
        let _slots = lock(&self.slots);
        self.store_root(root);
    }

    fn store_root(&self, root: usize) {
        self.root.store(if self.looks_empty() { root } else { 0 }, Relaxed);
    }

    /// Moves the entries to the start of the buffer, or to a larger one, so that a push has room. Untouched jobs are
    /// exposed first, because their joins find them by their place.
    fn make_room(&self, slots: &mut Slots) {
        if self.bottom.load(Relaxed) < slots.last() {
            return;
        }
        let mut entries = Vec::with_capacity(slots.room());
        self.each(|entry| {
            if !planted(Fault::MoveUntouched) {
                self.expose(entry);
            }
            entries.push(entry);
            true
        });
        if entries.len() * 2 > slots.room() {
            *slots = Slots::new(slots.room() * 2);
            self.last.store(slots.last(), Relaxed);
        }
        for (slot, entry) in slots[1..].iter().zip(entries.iter().rev()) {
            slot.store(entry.bits(), Relaxed);
        }
        let base = slots.base();
        let bottom = base.wrapping_add(entries.len());
        self.top.store(base, Relaxed);
        self.exposed.store(bottom, Relaxed);
        self.bottom.store(bottom, Release);
    }

    // ---- Anyone ---------------------------------------------------------------------------------------

    /// A guess without the lock.
    pub(crate) fn looks_empty(&self) -> bool {
        self.top.load(Relaxed) >= self.bottom.load(Relaxed)
    }

    /// The common ancestor of all entries, or 0 if unknown. Exact for the owner, a guess for others.
    #[inline]
    pub(crate) fn root(&self) -> usize {
        self.root.load(Relaxed)
    }

    /// Whether the owner is asked to attend.
    #[inline]
    pub(crate) fn poisoned(&self) -> bool {
        self.limit.load(Relaxed).is_null()
    }

    /// Asks the owner to attend at its next fork.
    pub(crate) fn poison(&self) {
        // Release: whoever reads this in `attend` sees why it was called.
        self.limit.store(ptr::null_mut(), Release);
    }

    /// Takes the oldest entry without the owner's help, and calls `taken` while the lock is held. The owner must have
    /// said that its entries descend from `want` (0 accepts any). From an owner that does not rely on the heavy
    /// barrier, this takes only an entry that no pop can take.
    pub(crate) fn steal(&self, want: usize, taken: impl FnOnce(Entry)) -> Steal {
        let Some(_slots) = try_lock(&self.slots) else { return Steal::Retry };
        if want != 0 && self.root() != want && !planted(Fault::StealWhatever) {
            return Steal::Empty;
        }
        // An owner that stops relying on the barrier meanwhile needs the lock before it goes on.
        if !self.side.relies() {
            return self.oldest_free(true).map_or(Steal::Empty, |entry| {
                taken(entry);
                Steal::Success(entry)
            });
        }
        loop {
            let top = self.top.load(Relaxed);
            if top >= self.bottom.load(Acquire) {
                return Steal::Empty;
            }
            self.top.store(top.wrapping_add(1), Relaxed);
            // Pairs with `light` in `pop`. If the barrier is refused, the bottom proves nothing, and the owner may have
            // the entry.
            let reached = barrier::heavy(std::iter::once(&self.side));
            if !reached || top >= self.bottom.load(Acquire) && !planted(Fault::StealWithoutSecondLook) {
                self.top.store(top, Relaxed);
                return Steal::Retry;
            }
            if let Some(entry) = entry_at(top) {
                self.tell_context(entry);
                taken(entry);
                return Steal::Success(entry);
            }
        }
    }

    /// Takes the oldest entry if no pop can take it: an exposed entry or, with `loose`, a loose one. The owner must
    /// have said that its entries descend from `want` (0 accepts any). Needs neither the owner's help nor the heavy
    /// barrier: see the module text.
    pub(crate) fn steal_free(&self, want: usize, loose: bool) -> Option<Entry> {
        let loose = loose && self.loose.load(Relaxed);
        if self.looks_empty() || !(loose || self.exposed.load(Relaxed) > self.top.load(Relaxed)) {
            return None;
        }
        let _slots = try_lock(&self.slots)?;
        if want != 0 && self.root() != want {
            return None;
        }
        self.oldest_free(loose).inspect(|entry| entry.stolen(Place::Nowhere, self))
    }

    /// Takes the oldest entry out, under the lock, if no pop can take it. The caller must tell its job.
    fn oldest_free(&self, loose: bool) -> Option<Entry> {
        let exposed = self.exposed.load(Relaxed);
        let mut top = self.top.load(Relaxed);
        let mut found = None;
        while found.is_none() && (top < exposed || (loose && top < self.bottom.load(Acquire))) {
            // SAFETY: the slot is between the ends, in the buffer, which is replaced only under the lock. Acquire: see
            // `push_over`.
            match Entry::from_bits(unsafe { (*top).load(Acquire) }) {
                Some(entry) if top >= exposed && entry.is_stack() && !planted(Fault::StealForksAsLoose) => {
                    break;
                }
                entry => found = entry,
            }
            top = top.wrapping_add(1);
        }
        self.top.store(top, Relaxed);
        found
    }

    /// Withdraws `entry` from wherever it is in the deque. Returns false if it is gone.
    ///
    /// For entries that the owner does not pop by its fast path ([`Entry::expose`]), so the lock alone protects this.
    /// With `owner`, the caller owns the deque and the bottom may be lowered.
    pub(crate) fn take_back(&self, entry: Entry, owner: bool) -> bool {
        if self.private {
            return self.remove(entry, true);
        }
        let _slots = (!planted(Fault::WithdrawWithoutLock)).then(|| lock(&self.slots));
        self.remove(entry, owner)
    }

    fn remove(&self, entry: Entry, owner: bool) -> bool {
        let top = self.top.load(Relaxed);
        let bottom = self.bottom.load(Acquire);
        let mut at = bottom;
        while at > top {
            at = at.wrapping_sub(1);
            if entry_at(at) == Some(entry) {
                // Only the owner may lower the bottom. Anyone else leaves a hole, as if younger entries followed.
                self.vacate(at, if owner { bottom } else { ptr::null_mut() });
                return true;
            }
        }
        false
    }
}

/// The entry in the slot, if it was not taken back. The caller holds the lock, or owns a [private] deque, and
/// `slot` is between the ends.
fn entry_at(slot: *mut Slot) -> Option<Entry> {
    // SAFETY: slots between the ends lie in the buffer, which is replaced only under the lock.
    Entry::from_bits(unsafe { (*slot).load(Relaxed) })
}
