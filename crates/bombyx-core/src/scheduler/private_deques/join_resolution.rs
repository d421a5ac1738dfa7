//! Joins under `read-write`: what the carrier of a frame does while the right branch is elsewhere, and what the
//! processor that ends the right branch does. The protocol between the two is [`crate::protocol::resolution`]. This
//! file has what they do besides: help, watch, hand processors over.
//!
//! [`wait`] and [`end`] contain no locked instruction and no fence, except in the functions at the end of this file, in
//! which a processor changes hands.

use super::read_write::{StealsAndJoins, fence_for_want_of_membarrier};
use crate::machine::current;
use crate::machine::hand_over::{Heir, Next, hand_over};
use crate::machine::observer::Helping;
use crate::machine::patience::{Patience, Wait, Waited};
use crate::machine::processor::Processor;
use crate::machine::wait::{exchange_processor, nap, run_entry};
use crate::protocol::carrier::{Carrier, Enabled};
use crate::protocol::job::{Entry, Job, Kind};
use crate::protocol::resolution::{GoesOn, Reply, Resolution};
use crate::system::primitive::pause;
use std::ptr::{self, NonNull};

/// How often a left side that wants to leave looks for an answer before it leaves without one.
const LOOKS_FOR_ANSWER: u32 = 500;

/// The right branch of a join has ended on this thread. Returns the carrier that waits for a processor, if one does.
#[inline(never)]
pub(super) fn end(resolution: &Resolution) -> Enabled {
    let processor = current::held();
    // A helper of this branch may have a query here. It must not wait for the end of the round after the branch has
    // ended.
    super::cease::<StealsAndJoins>(processor);
    let fence = || {
        if !processor.relies() {
            fence_for_want_of_membarrier();
        }
    };
    match resolution.end(&processor.watching, fence) {
        GoesOn::Left => {
            debug_assert!(processor.watching.is_empty(), "what is watched belongs to a branch that runs");
            None
        }
        GoesOn::Right(carrier) => {
            // What the left side watched goes with its carrier, to the processor that the carrier is given.
            // SAFETY: the carrier waits until this caller gives it a processor.
            unsafe { carrier.as_ref() }.watching.append(processor.watching.take());
            Some(carrier)
        }
    }
}

/// Waits until the right branch, `job`, has ended. Runs on the carrier of the frame, which holds a processor before and
/// after.
#[inline(never)]
pub(super) fn wait(job: &Job, resolution: NonNull<Resolution>) -> Waited {
    // SAFETY: the cells belong to this join until it returns them.
    let cells = unsafe { resolution.as_ref() };
    stay_until_ended(cells, ptr::from_ref(job) as usize);
    let processor = current::held();
    processor.set_busy(true);
    // SAFETY: the right side has had its last access to them.
    unsafe { processor.free_cells.put(resolution) };
    Waited::Done
}

fn stay_until_ended(resolution: &Resolution, root: usize) {
    let mut patience = Patience::new();
    super::cease::<StealsAndJoins>(current::held());
    loop {
        let processor = current::held();
        if resolution.is_ended() {
            processor.stats.joins_tied.add(1);
            return;
        }
        let left =
            match super::wait::<StealsAndJoins>(&mut patience, processor, root, &|| resolution.is_ended()) {
                Wait::Again => false,
                Wait::Help(entry) => help(entry, resolution),
                Wait::Carrier(_) => unreachable!("private deques are not searched for carriers"),
                Wait::OtherWork => leave_to_spare(processor, resolution),
                Wait::Nothing => retire(processor, resolution),
            };
        if left {
            return;
        }
    }
}

/// Runs a descendant of the right branch on top of the waiting frame. Returns whether the frame has left meanwhile, and
/// was continued.
fn help(entry: Entry, resolution: &Resolution) -> bool {
    let enabled = match entry.kind() {
        Kind::Stack(_) | Kind::Heap(_) => {
            let _helping = Helping::begin(current::held().pool());
            current::held().set_busy(true);
            let enabled = run_entry(entry);
            super::cease::<StealsAndJoins>(current::held());
            enabled
        }
        Kind::Carrier(ready) => Some(ready),
    };
    enabled.is_some_and(|enabled| make_way(enabled, resolution))
}

// ---- Ways to the kernel -----------------------------------------------------------------------------------

/// The frame leaves its processor, if the right branch has not ended. It does so with the right side's consent, or else
/// without.
#[inline(never)]
fn leave(processor: &Processor, resolution: &Resolution) -> bool {
    let carrier = NonNull::from(current::carrier());
    resolution.want_to_leave(carrier);
    for other in processor.pool().processors() {
        if other.is_busy() {
            other.deque.poison();
        }
    }
    for _ in 0..LOOKS_FOR_ANSWER {
        match resolution.reply() {
            Reply::None => pause(processor.pool().crowded()),
            Reply::Ended => return false,
            Reply::Acknowledged => {
                processor.stats.joins_acknowledged.add(1);
                resolution.transfer(&processor.watching);
                return true;
            }
        }
    }
    leave_unanswered(processor, resolution)
}

fn leave_unanswered(processor: &Processor, resolution: &Resolution) -> bool {
    let sides = processor.pool().processors().iter().map(|processor| &processor.deque.side);
    let left = resolution.leave_unanswered(NonNull::from(current::carrier()), &processor.watching, sides);
    if left {
        processor.stats.joins_unanswered.add(1);
    }
    left
}

/// There is other work: gives the processor to a spare carrier for it. Returns whether the frame has left, and was
/// continued.
#[cold]
#[inline(never)]
fn leave_to_spare(processor: &'static Processor, resolution: &Resolution) -> bool {
    let pool = processor.pool();
    let Some(spare) = pool.spare() else {
        // No thread can be started, so run what there is on this stack rather than wait for nothing.
        let Some(entry) = super::take_anything::<StealsAndJoins>(processor) else {
            exchange_processor(processor);
            return false;
        };
        processor.stats.in_place.add(1);
        return help(entry, resolution);
    };
    if !leave(processor, resolution) {
        pool.add_spare(spare);
        return false;
    }
    // SAFETY: the spare came out of the pool's list.
    unsafe { hand_over(Heir::Spare(spare), Next::Waits) }.resume();
    true
}

/// There has been nothing to do for long: returns the processor to the pool. Returns whether the frame has left, and
/// was continued.
#[cold]
#[inline(never)]
fn retire(processor: &'static Processor, resolution: &Resolution) -> bool {
    let pool = processor.pool();
    if !pool.has_reserve() {
        // If somebody has work for the processor later, there would be no thread for it.
        nap(processor);
        return false;
    }
    if !leave(processor, resolution) {
        return false;
    }
    // SAFETY: no carrier is named.
    unsafe { hand_over(Heir::Nobody, Next::Waits) }.resume();
    true
}

/// A carrier that descends from what this frame waits for has become ready. Gives it the processor or, if the frame
/// goes on itself, a place in the deque. Returns whether the frame has left, and was continued.
#[cold]
#[inline(never)]
fn make_way(enabled: NonNull<Carrier>, resolution: &Resolution) -> bool {
    let processor = current::held();
    if !leave_unanswered(processor, resolution) {
        processor.submit(Entry::carrier(enabled));
        return false;
    }
    // SAFETY: the cells or the entry named the carrier once, to this caller.
    unsafe { hand_over(Heir::Ready(enabled), Next::Waits) }.resume();
    true
}
