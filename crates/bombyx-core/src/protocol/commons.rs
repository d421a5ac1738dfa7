//! What the carriers of a pool share under its lock: the processors that rest, the spare carriers, and the queue.
//!
//! A processor that nobody holds is *idle*. A carrier without a processor and without a frame to continue is a *spare*.
//! To wake somebody means to [pair](Commons::pair) a processor that rests with a carrier: with a ready one from the
//! queue, or with a spare, which then searches.
//!
//! **Processor, carrier and entry never wait for each other.** A thread that finds no carrier for a processor leaves the
//! processor in the list and notes that the pool is *starved*. A thread that lists a spare reads this note
//! ([`Commons::was_starved`]) under the same lock, and wakes somebody. So whichever comes second pairs the two.
//!
//! **Nobody is given a processor after it has left.** A spare that ends because nobody needed it, and a carrier that goes
//! to sleep in the middle of a wait, decide under the lock: the spare ends only if it is still listed
//! ([`Commons::end_spare`]), and the carrier sleeps only if its latch is not set ([`Commons::doze`]).
//!
//! **Processors out of service.** A pool can be told to use fewer processors. Those that are surplus are *shut* when they
//! would rest: they go to a list from which nobody takes a processor to work. There is one exception: a processor that is shut
//! may get entries that nobody else may run. Then it is taken out until it would rest again. So [`Commons::take_wanted`] looks
//! in that list, too.
//!
//! The number of processors that rest can be read without the lock ([`Sleepers::any_resting`]); so can the number of
//! queued entries ([`Queued`]).

use crate::protocol::carrier::Carrier;
use crate::protocol::job::Entry;
use crate::protocol::latch::Latch;
use crate::protocol::queue::{Queue, Queued};
use crate::protocol::sleep::Sleepers;
use crate::system::fault::{Fault, planted};
use std::ptr::NonNull;

/// See the module text. `P` is a processor, of which this protocol knows only the address.
pub(crate) struct Commons<P> {
    /// Processors that nobody holds.
    idle: Vec<NonNull<P>>,
    /// With fixed threads: the processors of carriers that sleep in the middle of a wait.
    waiting: Vec<NonNull<P>>,
    /// Processors out of service, which nobody holds.
    shut: Vec<NonNull<P>>,
    spares: Vec<NonNull<Carrier>>,
    pub(crate) queue: Queue,
    /// Whether a processor stayed in the list because there was no carrier for it.
    starved: bool,
}

/// A processor that was taken out of its list in order to be given to somebody.
pub(crate) struct Rested<P> {
    pub(crate) processor: NonNull<P>,
    list: List,
}

impl<P> Rested<P> {
    /// Whether its carrier sleeps in the middle of a wait.
    pub(crate) fn waits(&self) -> bool {
        self.list == List::Waiting
    }
}

/// The lists of processors that somebody can be given.
#[derive(Clone, Copy, PartialEq, Eq)]
enum List {
    Idle,
    Waiting,
    Shut,
}

/// Who gets a processor that has rested.
#[must_use]
pub(crate) enum Paired<P> {
    /// A carrier that was ready.
    Ready(NonNull<Carrier>, NonNull<P>),
    /// A carrier that searches.
    Searcher(NonNull<Carrier>, Rested<P>),
    /// Nobody. The processor is in its list again.
    Nobody,
}

impl<P> Commons<P> {
    pub(crate) fn new() -> Commons<P> {
        Commons {
            idle: Vec::new(),
            waiting: Vec::new(),
            shut: Vec::new(),
            spares: Vec::new(),
            queue: Queue::default(),
            starved: false,
        }
    }

    // ---- Processors -----------------------------------------------------------------------------------

    /// Lists processors that nobody holds.
    pub(crate) fn rest(&mut self, processors: impl IntoIterator<Item = NonNull<P>>, sleepers: &Sleepers) {
        self.idle.extend(processors);
        self.count(sleepers);
    }

    /// Lists a surplus processor that nobody holds.
    pub(crate) fn shut(&mut self, processor: NonNull<P>) {
        self.shut.push(processor);
    }

    /// The number of processors in service has changed: sorts those that nobody holds. Returns how many were put back
    /// into service.
    pub(crate) fn sort_out(&mut self, is_surplus: impl Fn(NonNull<P>) -> bool, sleepers: &Sleepers) -> usize {
        let (surplus, mut idle): (Vec<_>, Vec<_>) = self.idle.drain(..).partition(|&one| is_surplus(one));
        let (mut shut, back): (Vec<_>, Vec<_>) = self.shut.drain(..).partition(|&one| is_surplus(one));
        let count = back.len();
        idle.extend(back);
        shut.extend(surplus);
        (self.idle, self.shut) = (idle, shut);
        self.count(sleepers);
        count
    }

    /// Lists the processor of a carrier that sleeps until its `latch` is set or somebody has work. Returns false if the
    /// latch is set already.
    pub(crate) fn doze(&mut self, processor: NonNull<P>, latch: &Latch, sleepers: &Sleepers) -> bool {
        let sleeps = planted(Fault::DozeWithoutLook) || !latch.is_done();
        if sleeps {
            self.waiting.push(processor);
            self.count(sleepers);
        }
        sleeps
    }

    /// Takes out the processor of a carrier that sleeps in the middle of a wait, if it is listed. `own` knows it.
    pub(crate) fn rouse(
        &mut self,
        own: impl Fn(NonNull<P>) -> bool,
        sleepers: &Sleepers,
    ) -> Option<NonNull<P>> {
        let at = self.waiting.iter().position(|&processor| own(processor))?;
        let processor = self.waiting.swap_remove(at);
        self.count(sleepers);
        Some(processor)
    }

    /// Takes out an idle processor.
    pub(crate) fn take_idle(&mut self, sleepers: &Sleepers) -> Option<NonNull<P>> {
        let processor = self.idle.pop()?;
        self.count(sleepers);
        Some(processor)
    }

    /// Takes out a processor that rests. One that nobody holds goes first.
    pub(crate) fn take_rested(&mut self, sleepers: &Sleepers) -> Option<Rested<P>> {
        let idle = self.idle.pop().map(|processor| Rested { processor, list: List::Idle });
        let waiting = || self.waiting.pop().map(|processor| Rested { processor, list: List::Waiting });
        let rested = idle.or_else(waiting)?;
        self.count(sleepers);
        Some(rested)
    }

    /// Like [`Commons::take_rested`], for processors that are `wanted`.
    pub(crate) fn take_wanted(
        &mut self,
        wanted: impl Fn(NonNull<P>) -> bool,
        sleepers: &Sleepers,
    ) -> Option<Rested<P>> {
        let place = |list: &[NonNull<P>]| list.iter().position(|&processor| wanted(processor));
        let found = |list: &[NonNull<P>], kind| place(list).map(|at| (at, kind));
        let shut = || found(&self.shut, List::Shut).filter(|_| !planted(Fault::ForgetTheShut));
        let (at, list) =
            found(&self.idle, List::Idle).or_else(|| found(&self.waiting, List::Waiting)).or_else(shut)?;
        let processor = self.list(list).remove(at);
        self.count(sleepers);
        Some(Rested { processor, list })
    }

    fn list(&mut self, list: List) -> &mut Vec<NonNull<P>> {
        match list {
            List::Idle => &mut self.idle,
            List::Waiting => &mut self.waiting,
            List::Shut => &mut self.shut,
        }
    }

    /// Puts back a processor for which there is no carrier.
    pub(crate) fn starve(&mut self, rested: Rested<P>, sleepers: &Sleepers) {
        self.list(rested.list).push(rested.processor);
        self.count(sleepers);
        self.starved = true;
    }

    /// Makes sure that the next idle processor to be taken is one that is `wanted`, if there is one.
    pub(crate) fn bring_forward(&mut self, wanted: impl Fn(NonNull<P>) -> bool) -> bool {
        if let Some(at) = self.shut.iter().position(|&processor| wanted(processor)) {
            self.idle.push(self.shut.remove(at));
            return true;
        }
        let Some(at) = self.idle.iter().position(|&processor| wanted(processor)) else { return false };
        let last = self.idle.len() - 1;
        self.idle.swap(at, last);
        true
    }

    /// The processors in all lists: those that rest, those whose carriers sleep in the middle of a wait, and those that are shut.
    pub(crate) fn listed(&self) -> impl Iterator<Item = NonNull<P>> {
        self.idle.iter().chain(&self.waiting).chain(&self.shut).copied()
    }

    /// How many processors are shut.
    pub(crate) fn count_shut(&self) -> usize {
        self.shut.len()
    }

    pub(crate) fn any_idle(&self) -> bool {
        !self.idle.is_empty()
    }

    fn count(&self, sleepers: &Sleepers) {
        sleepers.set_resting(self.idle.len() + self.waiting.len());
    }

    // ---- Carriers -------------------------------------------------------------------------------------

    /// Lists a spare. The caller then asks whether the pool [was starved](Commons::was_starved).
    pub(crate) fn list_spare(&mut self, carrier: NonNull<Carrier>) {
        self.spares.push(carrier);
    }

    /// Takes a spare out of the list. The one that was listed last goes first.
    pub(crate) fn take_spare(&mut self) -> Option<NonNull<Carrier>> {
        self.spares.pop()
    }

    /// The calling carrier has long been a spare, and ends. Returns false if it must not: because it is no longer
    /// listed, so that a processor is on its way to it, or because at most `kept` spares are left.
    pub(crate) fn end_spare(&mut self, this: NonNull<Carrier>, kept: usize) -> bool {
        if planted(Fault::EndWithoutLook) {
            return true;
        }
        let listed = self.spares.iter().position(|&spare| spare == this);
        let listed = listed.filter(|_| self.spares.len() > kept);
        listed.map(|at| self.spares.remove(at)).is_some()
    }

    /// The processor and the spare that were listed last are the last to be taken.
    pub(crate) fn put_last(&mut self) {
        let (processors, carriers) = (self.idle.len(), self.spares.len());
        self.idle.rotate_right(processors.min(1));
        self.spares.rotate_right(carriers.min(1));
    }

    pub(crate) fn any_spare(&self) -> bool {
        !self.spares.is_empty()
    }

    pub(crate) fn spares(&self) -> usize {
        self.spares.len()
    }

    /// Whether a processor has stayed in the list for want of a carrier since the last call. Then the caller wakes
    /// somebody.
    #[must_use]
    pub(crate) fn was_starved(&mut self) -> bool {
        std::mem::take(&mut self.starved) && !planted(Fault::SpareWithoutLook)
    }

    // ---- Pairs ----------------------------------------------------------------------------------------

    /// A processor for a carrier that is ready: an idle one if nobody waits for it. Otherwise the carrier is queued behind
    /// those that wait already.
    pub(crate) fn idle_or_queue(
        &mut self,
        carrier: NonNull<Carrier>,
        queued: &Queued,
        sleepers: &Sleepers,
    ) -> Option<NonNull<P>> {
        let idle = if self.queue.is_empty() { self.take_idle(sleepers) } else { None };
        if idle.is_none() {
            self.queue.push(Entry::carrier(carrier), queued);
        }
        idle
    }

    /// Whether the next in the queue is a ready carrier. It needs a processor, and no spare.
    pub(crate) fn ready_is_next(&self) -> bool {
        self.queue.first_carrier().is_some_and(|(at, _)| at == 0)
    }

    /// Decides who gets a processor. `spare` is the carrier for it, unless [a ready one](Commons::ready_is_next) is
    /// next or none can be had.
    ///
    /// The queue is served in the order of arrival. But if there is no carrier for its front, a ready carrier further
    /// back goes first, because it needs no other carrier.
    pub(crate) fn pair(
        &mut self,
        rested: Rested<P>,
        spare: Option<NonNull<Carrier>>,
        queued: &Queued,
        sleepers: &Sleepers,
    ) -> Paired<P> {
        match (spare, self.queue.first_carrier()) {
            (Some(spare), _) => Paired::Searcher(spare, rested),
            (None, Some((at, ready))) => {
                self.queue.remove(at, queued);
                Paired::Ready(ready, rested.processor)
            }
            (None, None) => {
                self.starve(rested, sleepers);
                Paired::Nobody
            }
        }
    }
}
