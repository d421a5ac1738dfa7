//! Hand-over: how a processor changes hands. This is the central move of the runtime: stacks stay on their carriers,
//! and processors move ([`crate::protocol::carrier`]).
//!
//! Every carrier that gives its processor away calls [`hand_over`], and every carrier that gets one calls
//! [`take_hold`]. These two functions do what a change of hands requires for everything that belongs to a processor:
//! credits of scopes, private deques, watch lists, CPUs. Between the two, in [`Parted::resume`], the carrier sleeps
//! until somebody gives it a processor again.

use crate::machine::chain;
use crate::machine::current;
use crate::machine::handlers::PoolEvent;
use crate::machine::live;
use crate::machine::observer::State;
use crate::machine::pool::PoolCore;
use crate::machine::processor::Processor;
use crate::machine::tracer::Event;
use crate::protocol::carrier::{Carrier, WakeOn};
use crate::protocol::job::Entry;
use crate::protocol::latch::Latch;
use crate::protocol::stranded::{LooksUp, Then, find_carrier};
use crate::system::affinity::Thread;
use crate::system::guard::tripwire;
use std::iter;
use std::ptr::{self, NonNull};
use std::time::Duration;

/// How long a carrier without a processor sleeps before it checks whether the pool needs it: the first time, and at
/// most.
const LOOKS_UP: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(80));

/// Who gets a processor that its carrier gives away.
#[derive(Clone, Copy)]
pub(crate) enum Heir {
    /// A carrier that is ready to go on.
    Ready(NonNull<Carrier>),
    /// A spare, which will search for work.
    Spare(NonNull<Carrier>),
    /// Nobody: the processor goes to the idle list.
    Nobody,
}

/// What a carrier does after it has given its processor away.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// It sleeps. Somebody will find it where it has already named itself: at a latch, or in a list.
    Waits,
    /// It sleeps, in the pool's queue, until its turn comes.
    Queues,
    /// It sleeps, among the spares.
    IsSpare,
    /// It goes on without a processor: it blocks, or leaves the pool.
    Leaves,
}

/// Proof that the calling carrier has given its processor away.
#[must_use = "a carrier without a processor must be given one before it goes on"]
pub(crate) struct Parted<'a>(&'a PoolCore);

impl Parted<'_> {
    /// Sleeps until the carrier is given a processor.
    pub(crate) fn resume(self) {
        match current::carrier().receive() {
            Some(processor) => go_on(processor.cast()),
            None => unreachable!("only spares are stopped"),
        }
    }

    /// Like [`Parted::resume`], for a carrier that is parked at `latch`. This returns before the latch is set if a
    /// processor rests although there is work, and the pool can start no other carrier for that processor: the thread
    /// that held it has blocked, or came from outside and has left. Then the carrier takes that processor, and goes on
    /// waiting with it.
    ///
    /// If the latch is set and no processor comes, the carrier may be [stranded](crate::protocol::stranded).
    pub(crate) fn resume_or_help(self, latch: &Latch) {
        let carrier = current::carrier();
        let mut patience = LOOKS_UP.0;
        let mut looks_up = LooksUp::default();
        let processor = loop {
            if let Some(received) = carrier.receive_within(patience) {
                break received.unwrap_or_else(|| unreachable!("only spares are stopped")).cast();
            }
            patience = (patience * 2).min(LOOKS_UP.1);
            let Some(starved) = self.0.starved_without_reserve() else { continue };
            match looks_up.with_processor(latch, NonNull::from(carrier)) {
                Then::Help => break starved,
                Then::Rest => self.0.retire(starved, None, None),
                Then::FindCarrier => self.0.queue_a_ready_carrier(starved),
            }
        };
        go_on(processor);
    }

    /// The carrier needs no processor for what it does next: it is a spare, it blocks, or it leaves the pool.
    pub(crate) fn stay_without(self) {}
}

/// Gives the processor of the calling carrier to `heir`.
///
/// # Safety
/// If the heir is a carrier, it was found waiting in exactly one place (a latch, the cells of a join, an entry, the
/// list of spares), and the caller took it out of there. So nobody else gives it a processor, and it is alive until it
/// gets this one.
pub(crate) unsafe fn hand_over(heir: Heir, next: Next) -> Parted<'static> {
    let processor = current::held();
    let pool = processor.pool();
    let carrier = current::carrier();
    let this = NonNull::from(carrier);
    if next == Next::Waits && !matches!(heir, Heir::Nobody) {
        processor.stats.hand_overs.add(1);
        pool.handlers().tell(PoolEvent::HandOver(processor.index));
    }
    if let Heir::Spare(_) = heir {
        pool.start_search(processor);
    }
    release();
    let processor = NonNull::from(processor);
    let (Heir::Ready(receiver) | Heir::Spare(receiver)) = heir else {
        let spare = (next == Next::IsSpare).then_some(this);
        pool.retire(processor, spare, (next != Next::Leaves).then_some(carrier));
        return Parted(pool);
    };
    match next {
        Next::IsSpare => pool.add_spare(this),
        Next::Queues => pool.readmit(this),
        Next::Waits | Next::Leaves => {}
    }
    // SAFETY: as the caller promises. `release` has ended the caller's hold on the processor.
    unsafe { pool.pass_on(carrier, receiver, processor) };
    Parted(pool)
}

/// Takes hold of a processor that was given to the calling thread, or that the thread took out of the idle list.
pub(crate) fn take_hold(processor: NonNull<Processor>) {
    tripwire("adopt");
    current::set_processor(processor.as_ptr());
    let processor = current::held();
    let carrier = current::carrier();
    processor.deque.set_root(carrier.root());
    chain::tell();
    processor.watching.append(carrier.watching.take());
    processor.trace(Event::TakesHold);
    live::show(processor);
    processor.set_busy(true);
    processor.note_cpu();
    processor.strategy().cpus().took_hold(processor);
}

/// Takes hold of a processor and goes on with a frame that no search found: the frame was there before, or comes from
/// outside.
pub(crate) fn go_on(processor: NonNull<Processor>) {
    take_hold(processor);
    let processor = current::held();
    processor.strategy().arrived(processor);
}

/// Ends the calling carrier's hold on its processor. The caller then lists the processor or gives it to somebody.
pub(super) fn release() {
    let processor = current::held();
    let pool = processor.pool();
    if let Some(enabled) = processor.return_credits() {
        pool.readmit(enabled);
    }
    processor.set_busy(false);
    processor.beat.ends(&pool.rhythm);
    processor.enter(State::HandOver);
    processor.strategy().lets_go(processor);
    if !processor.watching.is_empty() {
        current::carrier().watching.append(processor.watching.take());
    }
    processor.strategy().cpus().lets_go(processor);
    if pool.config.pin {
        // Let the thread begin its next turn wherever there is room. If it stayed pinned, it would first wait for its
        // old CPU, which another thread may keep busy.
        Thread::HERE.unpin();
    }
    processor.trace(Event::LetsGo);
    live::hide(processor);
    current::set_processor(ptr::null());
}

impl PoolCore {
    /// Moves a ready carrier to the queue, with the help of a processor that has rested
    /// ([`crate::protocol::stranded`]).
    #[cold]
    fn queue_a_ready_carrier(&self, rested: NonNull<Processor>) {
        go_on(rested);
        let processor = current::held();
        // Only a holder of this processor may run these, so they must not get into the queue.
        let private: Vec<Entry> = iter::from_fn(|| processor.private.take(|_| true)).collect();
        let mut others = Vec::new();
        let ready = find_carrier(|| processor.strategy().take_anything(processor), &mut others);
        self.put_back(others);
        private.into_iter().for_each(|entry| processor.private.post(entry));
        if let Some(ready) = ready {
            self.readmit(ready);
        }
        // SAFETY: there is no heir, so there is nothing to promise.
        unsafe { hand_over(Heir::Nobody, Next::Leaves) }.stay_without();
    }

    /// Gives a processor to a carrier on behalf of `leaving`, the caller's carrier, which sleeps next. The receiver
    /// takes over the CPU of `leaving`, except in these cases:
    ///
    /// - A pinned processor has its own CPU.
    /// - If a processor rests, there is room elsewhere.
    /// - If another processor was seen on the same CPU, the two would stay there together although a core is idle.
    /// - With more processors than cores, every core is busy anyway.
    ///
    /// # Safety
    /// As for [`Carrier::give`].
    pub(super) unsafe fn pass_on(
        &self,
        leaving: &Carrier,
        receiver: NonNull<Carrier>,
        processor: NonNull<Processor>,
    ) {
        // SAFETY: the pool owns the processor, and it is the caller's to give.
        let passed = unsafe { processor.as_ref() };
        let crosses = |other: &Processor| other.index != passed.index && other.shares_cpu(passed);
        let room_elsewhere = || {
            self.crowded() || self.has_fixed_threads() || self.sleepers.any_resting() || {
                passed.note_cpu();
                self.processors().iter().any(crosses)
            }
        };
        let processor = processor.cast();
        // SAFETY: as the caller promises.
        unsafe {
            match self.config.strategy.cpus().cpu_of(passed) {
                Some(cpu) => Carrier::give(receiver, processor, WakeOn::PinnedTo(cpu)),
                None if room_elsewhere() => Carrier::give(receiver, processor, WakeOn::Anywhere),
                None => leaving.succeed(receiver, processor),
            }
        }
    }

    /// Which CPU to wake a sleeping carrier on when it gets a processor from the idle list. The caller has taken the
    /// processor out of the list.
    ///
    /// # Safety
    /// The carrier waits, and the caller has taken it out of where it was found.
    pub(super) unsafe fn wake_on(&self, carrier: NonNull<Carrier>, processor: &Processor) -> WakeOn {
        if let Some(cpu) = self.config.strategy.cpus().cpu_of(processor) {
            return WakeOn::PinnedTo(cpu);
        }
        // SAFETY: a waiting carrier is alive until it is given something.
        let elsewhere = || self.room_beside_caller(unsafe { carrier.as_ref() });
        let left = if self.has_fixed_threads() { None } else { processor.left_lately() };
        left.or_else(elsewhere).map_or(WakeOn::Anywhere, WakeOn::FirstOn)
    }

    /// A free CPU for a carrier that fell asleep on the caller's CPU, where the caller goes on. If all CPUs were busy a
    /// moment ago, the kernel does not look for an idle one. It would queue the carrier behind the caller until its
    /// next tick. With fixed threads the kernel does this even if the carrier fell asleep elsewhere.
    fn room_beside_caller(&self, carrier: &Carrier) -> Option<usize> {
        let caller = current::processor()?;
        if !(self.has_fixed_threads() || carrier.sleeps_here()) {
            return None;
        }
        caller.note_cpu();
        self.free_cpu()
    }
}

#[cfg(test)]
mod tests {
    use crate::Pool;
    use crate::machine::current;
    use crate::protocol::carrier::Carrier;
    use crate::system::affinity;

    /// Whether there is another CPU to go to.
    fn room() -> bool {
        affinity::cpus().len() > 1
    }

    /// A sleeper that is woken by a caller on the same CPU wakes up elsewhere. One that fell asleep elsewhere is left to the
    /// kernel.
    #[test]
    fn a_carrier_that_slept_beside_its_waker_is_woken_elsewhere() {
        let pool = Pool::builder().processors(2).build().unwrap();
        // The kernel may move this thread between two steps, but not always.
        let elsewhere = (0..1000).any(|_| {
            pool.run(|| {
                let sleeper = Carrier::here();
                sleeper.fall_asleep();
                let room = current::held().pool().room_beside_caller(&sleeper);
                assert!(room.is_none() || room != current::held().seen_on(), "behind its waker");
                room.is_some()
            })
        });
        assert_eq!(elsewhere, room());
        let not_here = Carrier::to_be_started();
        assert_eq!(pool.run(|| current::held().pool().room_beside_caller(&not_here)), None);
    }

    /// A thief moves away from a CPU on which another processor was seen busy.
    #[test]
    fn a_thief_makes_room_for_a_busy_processor() {
        let pool = Pool::builder().processors(2).build().unwrap();
        let moved = (0..1000).any(|_| {
            pool.run(|| {
                let thief = current::held();
                let other =
                    thief.pool().processors().iter().find(|other| other.index != thief.index).unwrap();
                thief.note_cpu();
                let before = thief.seen_on();
                // As if the other's holder were on this CPU. It rests, so nobody else writes this.
                other.note_cpu();
                other.set_busy(true);
                thief.set_busy(false);
                thief.make_room();
                thief.set_busy(true);
                other.set_busy(false);
                before.is_some() && thief.seen_on() != before
            })
        });
        assert_eq!(moved, room());
    }
}
