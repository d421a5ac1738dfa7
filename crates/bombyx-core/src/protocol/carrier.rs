//! Carriers: the OS threads on whose stacks everything runs.
//!
//! A stack never leaves its carrier; processors do. At any time a carrier
//!
//! - **holds a processor** and runs jobs, searches, or waits for a join;
//! - **waits without one**: parked at a latch (its join missed), in [`crate::blocking`], or as a ready carrier
//!   in a deque or the pool's queue;
//! - or is a **spare** in the pool's list.
//!
//! A processor changes hands by [`Carrier::give`]: the giver stores it into the receiver's `given` word
//! (release), the receiver takes it out (acquire), so everything the giver did with the processor happens
//! before what the receiver does. Nobody gives to a carrier that has not been found in exactly one place (a
//! latch, an entry, the spare list), and leaving that place is atomic, so `given` never holds two.
//!
//! **The receiver takes the giver's place.** Who gives its own processor away goes to sleep, so the receiver should run where
//! the giver did. Left to itself, the kernel sees two busy cores when it wakes the receiver, may queue it up behind
//! another processor's carrier, and leaves it there for milliseconds while the giver's core is idle: a fresh thread
//! counts as too warm to be moved. So [`Carrier::succeed`] confines the receiver, while it still sleeps, to the giver's CPU,
//! and the first thing that the receiver does is to lift that again. Waking needs no other core then, either. What
//! the receiver needs for that is in `confined`, written before `given` is stored and read after it is seen.
//! Where processors are pinned to CPUs, the receiver's place is the processor's ([`WakeOn::PinnedTo`]): woken elsewhere, it
//! would have to be moved first, and the kernel takes some hundred microseconds for that.

use crate::protocol::resolution::WatchList;
use crate::system::affinity::{self, CpuSet};
use crate::system::fault::{Fault, planted};
use crate::system::primitive::{
    AtomicBool, AtomicPtr, AtomicUsize, Thread, UnsafeCell, current_thread, park, yield_now,
};
use std::cell::Cell;
use std::ptr::{self, NonNull};
use std::sync::OnceLock;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Where the receiver of a processor wakes up, if it sleeps.
#[derive(Clone, Copy)]
pub(crate) enum WakeOn {
    /// Wherever the kernel sees room.
    Anywhere,
    /// On this CPU; from there on it may run wherever it could before.
    FirstOn(usize),
    /// On the processor's own CPU, to which it pins itself again as soon as it has taken hold of it.
    PinnedTo(usize),
}

/// What carriers hand over: a processor. This protocol knows its address only.
pub(crate) enum Baton {}

/// The carrier that the end of a job made ready, if any: it must be given a processor.
pub(crate) type Enabled = Option<NonNull<Carrier>>;

/// See the module text.
pub(crate) struct Carrier {
    /// Set before anybody can find the carrier waiting.
    thread: OnceLock<Thread>,
    /// The thread's number for the system, 0 until it runs.
    number: AtomicUsize,
    given: AtomicPtr<Baton>,
    /// Whether the thread sleeps until it is given something, or is about to; a hint.
    asleep: AtomicBool,
    /// The CPUs that the thread may use, if the giver has confined it to its own meanwhile.
    confined: UnsafeCell<Option<CpuSet>>,
    /// What the code on top of this carrier's stack descends from ([`crate::protocol::deque::Deque::set_root`]).
    root: Cell<usize>,
    /// What the carrier watches while it holds no processor: left by itself, or by whoever is about to give it one.
    pub(crate) watching: WatchList,
}

// SAFETY: others touch the thread's handle, set once, and `number`, `asleep` and `given`, atomics; `root` is used by the carrier's
// own thread alone, `watching` and `confined` by that and, while it waits, by the one who has found it waiting.
unsafe impl Sync for Carrier {}

/// Given in place of a processor: there is nothing more to do.
const STOP: *mut Baton = ptr::without_provenance_mut(1);

impl Carrier {
    /// The calling thread as a carrier.
    pub(crate) fn here() -> Carrier {
        let carrier = Carrier::to_be_started();
        carrier.begin(&current_thread());
        carrier
    }

    /// A carrier whose thread is still to be started.
    pub(crate) fn to_be_started() -> Carrier {
        Carrier {
            thread: OnceLock::new(),
            number: AtomicUsize::new(0),
            given: AtomicPtr::new(ptr::null_mut()),
            asleep: AtomicBool::new(false),
            confined: UnsafeCell::new(None),
            root: Cell::new(0),
            watching: WatchList::default(),
        }
    }

    /// The calling thread, whose handle this is, is the carrier's.
    pub(crate) fn begin(&self, thread: &Thread) {
        self.number.store(affinity::Thread::current().number() as usize, Relaxed);
        self.started(thread);
    }

    /// The calling thread, the carrier's, is the one of a child process and has another number there. It waits nowhere.
    pub(crate) fn leave_parent(&self) {
        self.number.store(affinity::Thread::current().number() as usize, Relaxed);
        self.given.store(ptr::null_mut(), Relaxed);
        self.asleep.store(false, Relaxed);
        self.root.set(0);
        self.watching.take();
    }

    /// Tells the carrier its thread. Both the starter and the thread itself do that; whoever comes first.
    pub(crate) fn started(&self, thread: &Thread) {
        self.thread.get_or_init(|| thread.clone());
    }

    /// Hands `processor` to `carrier`, which continues at once, there.
    ///
    /// # Safety
    /// The carrier was found waiting, and was taken out of where it was found; the caller gives up its hold on
    /// the processor. The carrier may be gone after the call.
    pub(crate) unsafe fn give(carrier: NonNull<Carrier>, processor: NonNull<Baton>, on: WakeOn) {
        // SAFETY: a waiting carrier is alive until it is given something.
        let receiver = unsafe { carrier.as_ref() };
        let number = receiver.number.load(Relaxed) as u32;
        let confined = match on {
            // One that does not sleep yet is best left where it runs: two carriers may be giving to each other.
            _ if !receiver.asleep.load(Relaxed) => None,
            WakeOn::Anywhere => None,
            WakeOn::FirstOn(cpu) => affinity::confine(number, cpu),
            WakeOn::PinnedTo(cpu) => {
                affinity::pin_sleeper(number, cpu);
                None
            }
        };
        // SAFETY: as the caller promises.
        unsafe { Carrier::give_raw(carrier, processor.as_ptr(), confined) }
    }

    /// The same by this carrier, the caller's, which sleeps next: the other one takes its place.
    ///
    /// # Safety
    /// As for [`Carrier::give`].
    pub(crate) unsafe fn succeed(&self, carrier: NonNull<Carrier>, processor: NonNull<Baton>) {
        // Who has been given another processor already will not sleep.
        let sleeps = self.given.load(Relaxed).is_null();
        let on = sleeps.then(affinity::here).flatten().map_or(WakeOn::Anywhere, WakeOn::FirstOn);
        // As good as: the receiver, once woken, is likely to come before this thread.
        self.asleep.store(true, Relaxed);
        // SAFETY: as the caller promises.
        unsafe { Carrier::give(carrier, processor, on) }
    }

    /// Tells a spare to end.
    ///
    /// # Safety
    /// As for [`Carrier::give`].
    pub(crate) unsafe fn stop(carrier: NonNull<Carrier>) {
        // SAFETY: as the caller promises.
        unsafe { Carrier::give_raw(carrier, STOP, None) }
    }

    /// Gives to a carrier that has perhaps been confined, and may use these CPUs again when it has received.
    ///
    /// # Safety
    /// As for [`Carrier::give`].
    pub(crate) unsafe fn give_raw(
        carrier: NonNull<Carrier>,
        processor: *mut Baton,
        confined: Option<CpuSet>,
    ) {
        // SAFETY: a waiting carrier is alive until it is given something.
        let receiver = unsafe { carrier.as_ref() };
        // The handle is cloned first: the carrier's thread may see the word, run on and end before unpark.
        let thread = receiver.thread.get().cloned();
        if confined.is_some() {
            // SAFETY: the caller has found the carrier waiting; until it is given something, this is the caller's.
            receiver.confined.with_mut(|cell| unsafe { *cell = confined });
        }
        // This is the last access.
        receiver.given.store(processor, if planted(Fault::GiveWithoutOrder) { Relaxed } else { Release });
        thread.expect("a waiting carrier has a thread").unpark();
    }

    /// Waits to be given a processor. None: to stop.
    pub(crate) fn receive(&self) -> Option<NonNull<Baton>> {
        if planted(Fault::ForgetEarlyProcessor) {
            self.given.store(ptr::null_mut(), Relaxed);
        }
        loop {
            if let Some(received) = self.take_given() {
                return received;
            }
            self.asleep.store(true, Relaxed);
            park(self.thread.get().expect("a waiting carrier has a thread"));
        }
    }

    /// The same for this long. None if nothing was given meanwhile.
    #[cfg(not(loom))]
    pub(crate) fn receive_within(&self, time: std::time::Duration) -> Option<Option<NonNull<Baton>>> {
        let start = std::time::Instant::now();
        loop {
            if let Some(received) = self.take_given() {
                return Some(received);
            }
            let left = time.checked_sub(start.elapsed())?;
            self.asleep.store(true, Relaxed);
            std::thread::park_timeout(left);
        }
    }

    /// What was given, if anything: a processor, or nothing more to do.
    fn take_given(&self) -> Option<Option<NonNull<Baton>>> {
        let given = self.given.load(Acquire);
        if given.is_null() {
            return None;
        }
        self.asleep.store(false, Relaxed);
        // Nobody gives again before this carrier is found waiting again, so a plain store will do.
        self.given.store(ptr::null_mut(), Relaxed);
        // SAFETY: the giver has written it before it gave, and is done with it.
        if let Some(cpus) = self.confined.with_mut(|cell| unsafe { (*cell).take() }) {
            affinity::Thread::HERE.allow(&cpus);
            // The giver shall fall asleep now, so that it is woken where there is room when it is given something.
            yield_now();
        }
        Some(if given == STOP { None } else { NonNull::new(given) })
    }

    /// Wakes the thread if it sleeps for a while.
    pub(crate) fn nudge(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }

    pub(crate) fn root(&self) -> usize {
        self.root.get()
    }

    /// Changes the root; returns the one before.
    pub(crate) fn set_root(&self, root: usize) -> usize {
        self.root.replace(root)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Carrier, WakeOn};
    use crate::system::affinity::{Thread, cpus, here};
    use crate::system::primitive::current_thread;
    use std::ptr::NonNull;
    use std::sync::atomic::Ordering::Relaxed;
    use std::thread;

    /// Where a sleeper runs, and may run, that was given something to wake up there.
    fn wakes_up(on: WakeOn) -> (Option<usize>, Vec<usize>) {
        let carrier = Carrier::to_be_started();
        thread::scope(|scope| {
            let receiver = scope.spawn(|| {
                carrier.begin(&current_thread());
                carrier.receive();
                (here(), Thread::HERE.allowed().expect("Linux tells").cpus().collect())
            });
            while !carrier.asleep.load(Relaxed) {
                thread::yield_now();
            }
            // SAFETY: the carrier waits, nobody else has found it, and it does not look into what it is given.
            unsafe { Carrier::give(NonNull::from(&carrier), NonNull::dangling(), on) };
            receiver.join().unwrap()
        })
    }

    #[test]
    fn a_receiver_wakes_up_where_it_is_told_and_stays_only_if_pinned() {
        let all = cpus();
        if all.len() < 2 {
            return; // Nothing to choose from.
        }
        for &cpu in all {
            assert_eq!(wakes_up(WakeOn::PinnedTo(cpu)), (Some(cpu), vec![cpu]));
            assert_eq!(wakes_up(WakeOn::FirstOn(cpu)).1, all);
        }
        assert_eq!(wakes_up(WakeOn::Anywhere).1, all);
    }
}
