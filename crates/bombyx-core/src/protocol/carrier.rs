//! Carriers: OS threads. Everything runs on their stacks.
//!
//! A stack never leaves its carrier; processors do. At any time a carrier
//!
//! - **holds a processor** and runs jobs, searches, or waits for a join;
//! - **waits without one**: parked at a latch (its join missed), in [`crate::blocking`], or as a ready carrier
//!   in a deque or the pool's queue;
//! - or is a **spare** in the pool's list.
//!
//! A processor changes hands by [`Carrier::give`]. The giver stores it into the receiver's `given` word (release), and
//! the receiver takes it out (acquire). So everything the giver did with the processor happens before what the receiver
//! does. Nobody gives to a carrier that was not found in exactly one place (a latch, an entry, the spare list), and
//! leaving that place is atomic. So `given` never holds two processors.
//!
//! **The receiver takes the giver's place.** A carrier that gives its processor away goes to sleep, so the receiver
//! should run where the giver did. But when the kernel wakes the receiver, it sees two busy cores. It may queue the
//! receiver behind another processor's carrier. There it may leave the receiver for milliseconds while the giver's core is
//! idle, because it does not like to move a thread that has just run. So [`Carrier::succeed`] confines the receiver to the
//! giver's CPU while the receiver still sleeps. The receiver lifts that restriction as soon as it runs. So waking it needs
//! no other core. `confined` holds the CPUs that it may use again. It is written before `given` is stored, and read after
//! `given` is seen.
//!
//! If processors are pinned to CPUs, the receiver's place is the processor's CPU ([`WakeOn::PinnedTo`]). If it woke up
//! elsewhere, the kernel would have to move it first, which takes some hundred microseconds.

use crate::protocol::resolution::WatchList;
use crate::system::affinity::{self, CpuSet};
use crate::system::fault::{Fault, planted};
use crate::system::primitive::{
    AtomicBool, AtomicPtr, AtomicUsize, Deadline, Thread, UnsafeCell, current_thread, park, park_timeout,
    yield_now,
};
use std::cell::Cell;
use std::ptr::{self, NonNull};
use std::sync::OnceLock;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Duration;

/// Where the receiver of a processor wakes up if it is asleep.
#[derive(Clone, Copy)]
pub(crate) enum WakeOn {
    /// Wherever the kernel finds room.
    Anywhere,
    /// On this CPU. After that it may run wherever it could before.
    FirstOn(usize),
    /// On the processor's own CPU. The receiver pins itself there again as soon as it holds the processor.
    PinnedTo(usize),
}

/// What carriers hand over: a processor. This protocol knows only its address.
pub(crate) enum Baton {}

/// The carrier that the end of a job made ready, if any. It must be given a processor.
pub(crate) type Enabled = Option<NonNull<Carrier>>;

/// See the module text.
pub(crate) struct Carrier {
    /// Set before anybody can find the carrier waiting.
    thread: OnceLock<Thread>,
    /// The number that the system gave the thread, or 0 until the thread runs.
    number: AtomicUsize,
    given: AtomicPtr<Baton>,
    /// Whether the thread sleeps until it is given something, or is about to. A hint.
    asleep: AtomicBool,
    /// The CPU where the thread last fell asleep. A hint.
    slept_on: AtomicUsize,
    /// The CPUs that the thread may use, if the giver has confined it to the giver's CPU meanwhile.
    confined: UnsafeCell<Option<CpuSet>>,
    /// The ancestor of the code on top of this carrier's stack ([`crate::protocol::deque::Deque::set_root`]).
    root: Cell<usize>,
    /// Whether the carrier is the sentry of its pool from now on, or will be when it sleeps.
    pub(crate) is_sentry: Cell<bool>,
    /// What the carrier watches while it holds no processor. Written by the carrier, or by the one that is about to
    /// give it a processor.
    pub(crate) watching: WatchList,
}

// SAFETY: any thread may read the handle, which is set once, and the atomics `number`, `asleep`, `slept_on` and `given`.
// Only the carrier's own thread uses `root` and `is_sentry`. `watching` and `confined` belong to the carrier's thread
// while it runs. While it waits, they belong to the one thread that has found it waiting.
unsafe impl Sync for Carrier {}

/// Given in place of a processor: the carrier has nothing more to do.
const STOP: *mut Baton = ptr::without_provenance_mut(1);

impl Carrier {
    /// The calling thread as a carrier.
    pub(crate) fn here() -> Carrier {
        let carrier = Carrier::to_be_started();
        carrier.begin(&current_thread());
        carrier
    }

    /// A carrier whose thread has yet to be started.
    pub(crate) fn to_be_started() -> Carrier {
        Carrier {
            thread: OnceLock::new(),
            number: AtomicUsize::new(0),
            given: AtomicPtr::new(ptr::null_mut()),
            asleep: AtomicBool::new(false),
            slept_on: AtomicUsize::new(usize::MAX),
            confined: UnsafeCell::new(None),
            root: Cell::new(0),
            is_sentry: Cell::new(false),
            watching: WatchList::default(),
        }
    }

    /// Called by the carrier's own thread; `thread` is its handle.
    pub(crate) fn begin(&self, thread: &Thread) {
        self.number.store(affinity::Thread::current().number() as usize, Relaxed);
        self.started(thread);
    }

    /// Called by the carrier's own thread in a child process, where the thread has another number. The thread does not
    /// wait anywhere.
    pub(crate) fn leave_parent(&self) {
        self.number.store(affinity::Thread::current().number() as usize, Relaxed);
        self.given.store(ptr::null_mut(), Relaxed);
        self.asleep.store(false, Relaxed);
        self.root.set(0);
        self.watching.take();
    }

    /// Tells the carrier its thread. Both the starter and the thread itself do this; the first one counts.
    pub(crate) fn started(&self, thread: &Thread) {
        self.thread.get_or_init(|| thread.clone());
    }

    /// Hands `processor` to `carrier`, which continues at once, where `on` says.
    ///
    /// # Safety
    /// The carrier was found waiting and was removed from where it was found. The caller gives up its hold on the
    /// processor. The carrier may be gone after the call.
    pub(crate) unsafe fn give(carrier: NonNull<Carrier>, processor: NonNull<Baton>, on: WakeOn) {
        // SAFETY: a waiting carrier is alive until it is given something.
        let receiver = unsafe { carrier.as_ref() };
        let number = receiver.number.load(Relaxed) as u32;
        let confined = match on {
            // A carrier that does not sleep yet is best left where it runs: two carriers may be giving to each other.
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

    /// Like [`Carrier::give`], from this carrier, which is the caller's and sleeps next. The receiver takes its place.
    ///
    /// # Safety
    /// As for [`Carrier::give`].
    pub(crate) unsafe fn succeed(&self, carrier: NonNull<Carrier>, processor: NonNull<Baton>) {
        // A carrier that has already been given another processor will not sleep.
        let sleeps = self.given.load(Relaxed).is_null();
        let on = sleeps.then(affinity::here).flatten().map_or(WakeOn::Anywhere, WakeOn::FirstOn);
        // This is nearly true: the receiver, once woken, is likely to run before this thread does.
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

    /// Gives to a carrier that may have been confined. `confined` holds the CPUs that it may use again once it has
    /// received.
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
        // Clone the handle first: the carrier's thread may see the word, run on and end before `unpark`.
        let thread = receiver.thread.get().cloned();
        if confined.is_some() {
            // SAFETY: the caller has found the carrier waiting, so this cell is the caller's until the carrier is given
            // something.
            receiver.confined.with_mut(|cell| unsafe { *cell = confined });
        }
        // This is the last access.
        receiver.given.store(processor, if planted(Fault::GiveWithoutOrder) { Relaxed } else { Release });
        thread.expect("a waiting carrier has a thread").unpark();
    }

    /// Waits to be given a processor. `None` means stop.
    pub(crate) fn receive(&self) -> Option<NonNull<Baton>> {
        if planted(Fault::ForgetEarlyProcessor) {
            self.given.store(ptr::null_mut(), Relaxed);
        }
        loop {
            if let Some(received) = self.take_given() {
                return received;
            }
            self.fall_asleep();
            park(self.thread.get().expect("a waiting carrier has a thread"));
        }
    }

    /// Waits this long to be given a processor. `None` if nothing was given meanwhile.
    pub(crate) fn receive_within(&self, time: Duration) -> Option<Option<NonNull<Baton>>> {
        let deadline = Deadline::after(time);
        loop {
            if let Some(received) = self.take_given() {
                return Some(received);
            }
            let left = deadline.left()?;
            self.fall_asleep();
            park_timeout(self.thread.get().expect("a waiting carrier has a thread"), left);
        }
    }

    /// Called on the carrier's own thread: notes that it is about to sleep.
    pub(crate) fn fall_asleep(&self) {
        self.slept_on.store(affinity::here().unwrap_or(usize::MAX), Relaxed);
        self.asleep.store(true, Relaxed);
    }

    /// Whether the thread fell asleep on the CPU of the caller.
    pub(crate) fn sleeps_here(&self) -> bool {
        affinity::here().is_some_and(|cpu| cpu == self.slept_on.load(Relaxed))
    }

    /// What was given, if anything: a processor, or the order to stop.
    fn take_given(&self) -> Option<Option<NonNull<Baton>>> {
        let given = self.given.load(Acquire);
        if given.is_null() {
            return None;
        }
        self.asleep.store(false, Relaxed);
        // Nobody gives again before this carrier is found waiting again, so a plain store is enough.
        self.given.store(ptr::null_mut(), Relaxed);
        // SAFETY: the giver wrote the cell before it gave, and no longer touches it.
        if let Some(cpus) = self.confined.with_mut(|cell| unsafe { (*cell).take() }) {
            affinity::Thread::HERE.allow(&cpus);
            // Let the giver fall asleep now. Then, when it is given something, it is woken where there is room.
            yield_now();
        }
        Some(if given == STOP { None } else { NonNull::new(given) })
    }

    /// Wakes the thread if it is in a sleep of limited time.
    pub(crate) fn nudge(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }

    pub(crate) fn root(&self) -> usize {
        self.root.get()
    }

    /// Changes the root and returns the previous one.
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

    /// Where a sleeper runs, and where it may run, after it was given something to wake up there.
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
            // SAFETY: the carrier waits, nobody else has found it, and it does not look at what it is given.
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
