//! Ready carriers that nobody would find.
//!
//! A carrier waits at a latch, without a processor. The setter of the latch gives the carrier a processor, or puts the
//! carrier among the ready entries, where the holder of a processor finds it. But a guest of the pool (a thread that the
//! pool did not start) may set the latch and leave. Suppose that the pool can start no more carriers, and all of them wait
//! like this one. Then nobody holds a processor, and the carrier is *stranded*.
//!
//! **A stranded carrier goes on.** Carriers that wait look up now and then. One that finds a processor at rest, although
//! there is work, takes that processor and tries to [leave](Latch::leave) its latch. Three things can happen
//! ([`LooksUp::with_processor`]):
//!
//! - It leaves the latch. It goes on waiting, with the processor, and helps.
//! - The latch is set, and the carrier sees this for the first time. The setter may be about to give it
//!   another processor, so it lets this one rest again.
//! - The latch was set when it last looked, too. Now it searches the ready entries until it meets a carrier, and moves
//!   that carrier to the queue ([`find_carrier`]). A carrier that lets its processor rest gives it to a carrier in the
//!   queue ([`crate::protocol::commons::Commons::pair`]). So the carrier that was met needs no holder to find it.
//!
//! The search may meet another ready carrier first. But that carrier then has a processor, and finds the others.
//!
//! **A ready carrier begins nothing else,** because its frame may hold a lock. So it queues the other entries that it
//! meets. They run later, on a carrier that waits or has nothing to do.

use crate::protocol::carrier::Carrier;
use crate::protocol::job::{Entry, Kind};
use crate::protocol::latch::Latch;
use crate::system::fault::{Fault, planted};
use std::ptr::NonNull;

/// What a carrier remembers while it waits at a latch and looks up now and then.
#[derive(Default)]
pub(crate) struct LooksUp {
    /// Whether it has seen that the latch is set.
    is_ready: bool,
}

/// What a carrier does with a processor that it has found at rest.
#[must_use]
pub(crate) enum Then {
    /// It has left its latch. It keeps the processor, and waits with it.
    Help,
    /// It lets the processor rest again.
    Rest,
    /// It looks for a ready carrier, and then lets the processor rest.
    FindCarrier,
}

impl LooksUp {
    /// `this`, the caller's carrier, has found a processor that rests although there is work. It waits at `latch`.
    pub(crate) fn with_processor(&mut self, latch: &Latch, this: NonNull<Carrier>) -> Then {
        if latch.leave(this) {
            return Then::Help;
        }
        let again = std::mem::replace(&mut self.is_ready, true);
        if again && !planted(Fault::RestThoughStranded) { Then::FindCarrier } else { Then::Rest }
    }
}

/// Takes ready entries until one is a carrier. The caller queues the carrier, and the `others` before it.
pub(crate) fn find_carrier(
    mut take: impl FnMut() -> Option<Entry>,
    others: &mut Vec<Entry>,
) -> Option<NonNull<Carrier>> {
    loop {
        let entry = take()?;
        match entry.kind() {
            Kind::Carrier(ready) => return Some(ready),
            Kind::Stack(_) | Kind::Heap(_) if planted(Fault::ForgetWhatElseIsFound) => {}
            Kind::Stack(_) | Kind::Heap(_) => others.push(entry),
        }
    }
}
