//! Visits: a guest, which is a thread that the pool did not start, holds one of the pool's processors for a while.
//!
//! [`crate::Pool::run`] on an idle pool is such a visit: the calling thread does the work itself, without a switch. A
//! thread that waits outside the pool also visits when the pool cannot serve it: a processor rests, there is work, and
//! the pool can start no carrier ([`crate::Builder::max_carriers`], or the system refuses threads). The waiting thread
//! then takes a carrier's place. Otherwise it would wait for ever if all carriers block for something that only this
//! work would bring about. If the pool runs nothing on its callers' stacks, the waiting thread starts another thread for
//! the visit.

use crate::machine::current;
use crate::machine::hand_over::{Heir, Next, go_on, hand_over, release};
use crate::machine::pool::PoolCore;
use crate::machine::processor::Processor;
use crate::machine::wait::run_on_top;
use crate::protocol::job::Kind;
use crate::system::affinity::{CpuSet, Thread};
use crate::system::guard::guarded;
use crate::system::primitive::lock;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

/// How long work waits for a carrier before a thread that waits for the work looks itself.
pub(crate) const STARVED: Duration = Duration::from_millis(10);

/// The name of a thread that visits in place of one that waits.
const HELPER: &str = "bombyx-helper";

/// The calling thread holds a processor of the pool until this is dropped. Then it returns the processor that it holds at
/// that time, which may be another one.
pub(crate) struct Visit<'a> {
    pool: &'a PoolCore,
    root: usize,
    /// The CPUs that the thread may run on, if the processors are pinned.
    cpus: Option<CpuSet>,
}

impl<'a> Visit<'a> {
    /// Begins a visit of the calling thread, which holds no processor. The processor was taken out of the idle list for
    /// it.
    pub(crate) fn begin(pool: &'a PoolCore, processor: NonNull<Processor>) -> Visit<'a> {
        let cpus = pool.config.pin.then(|| Thread::HERE.allowed()).flatten();
        let visit = Visit { pool, root: current::carrier().set_root(0), cpus };
        go_on(processor);
        visit
    }
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        // In a child of fork(2), the processor belongs to the parent.
        if !self.pool.generation().is_current() {
            return;
        }
        guarded(|| {
            current::carrier().set_root(self.root);
            self.pool.expect_visit_at(current::held());
            current::held().beat.region_ends(&self.pool.rhythm);
            // SAFETY: no carrier is named.
            unsafe { hand_over(Heir::Nobody, Next::Leaves) }.stay_without();
            if let Some(cpus) = &self.cpus {
                self.pool.config.strategy.cpus().left();
                Thread::HERE.allow(cpus);
            }
        });
    }
}

/// If a processor rests because it has no carrier, works on it until `done` or until there is nothing to take. For a
/// thread that holds no processor.
pub(crate) fn lend_a_hand(pool: &PoolCore, done: impl Fn() -> bool + Sync) {
    if pool.config.lends {
        if let Some(processor) = pool.starved_processor() {
            work_as_guest(pool, processor, done);
        }
        return;
    }
    let Some(processor) = pool.starved_without_reserve() else { return };
    // SAFETY: the pool owns the processor.
    let index = unsafe { processor.as_ref() }.index;
    thread::scope(|threads| {
        let work = || work_as_guest(pool, NonNull::from(&pool.processors()[index]), &done);
        // If the system refuses the thread, the caller looks again later.
        if pool.config.thread(Some(HELPER)).spawn_scoped(threads, work).is_err() {
            pool.retire(processor, None, None);
        }
    });
}

/// Works on a processor, which was taken out of the idle list for this, until `done` or until there is nothing to take.
fn work_as_guest(pool: &PoolCore, processor: NonNull<Processor>, done: impl Fn() -> bool) {
    let _visit = Visit::begin(pool, processor);
    while !done() {
        let Some(entry) = pool.config.strategy.take_anything(current::held()) else { return };
        match entry.kind() {
            // The carrier gets this processor when the visit ends, or another one before.
            Kind::Carrier(ready) => return pool.readmit(ready),
            Kind::Stack(_) | Kind::Heap(_) => run_on_top(entry),
        }
    }
}

impl PoolCore {
    /// Notes that a thread outside the pool is about to give `processor` back. If it comes again soon, it will get the same
    /// one: the idle list is last in, first out.
    fn expect_visit_at(&self, processor: &Processor) {
        let mark = processor.index + 1;
        if self.visited.load(Relaxed) != mark {
            self.visited.store(mark, Relaxed);
        }
    }

    /// The processor that the next visitor is likely to hold.
    pub(crate) fn expected_visit(&self) -> Option<&Processor> {
        self.processors().get(self.visited.load(Relaxed).wrapping_sub(1))
    }

    /// Makes the calling thread hold processor 0 of this new pool. Nobody may free the pool before the thread is
    /// dismissed.
    pub(crate) fn adopt_current_thread(&self) {
        lock(&self.shared).numbered = 1;
        let first = match self.fixed_carriers.first() {
            Some(carrier) => {
                carrier.begin(&std::thread::current());
                current::set_carrier(Some(NonNull::from(&**carrier)));
                NonNull::from(&self.processors()[0])
            }
            None => self.borrow_processor().expect("the processors of a new pool rest"),
        };
        go_on(first);
    }

    /// Takes back the processor with which the calling thread was adopted.
    pub(crate) fn dismiss_current_thread(&self) {
        if self.has_fixed_threads() {
            release();
            current::set_carrier(None);
        } else {
            // SAFETY: no carrier is named.
            unsafe { hand_over(Heir::Nobody, Next::Leaves) }.stay_without();
        }
    }
}
