//! What the machine asks a scheduler.
//!
//! Forks, joins and hand-overs are common to all schedulers. A scheduler decides the rest: what an idle processor
//! takes, what a waiting one does, who gets a processor when a frame becomes ready, whether a join may take back its
//! half, and when a quota is used up. A scheduler is a type that implements [`Strategy`]. The existing ones are in
//! `scheduler`.
//!
//! Only [`search`](Strategy::search), [`wait`](Strategy::wait), [`take_own`](Strategy::take_own) and
//! [`take_anything`](Strategy::take_anything) must be written. The other methods have defaults for a scheduler whose ready
//! entries wait in the deques of the processors, where anybody may take them.
//!
//! A pool asks its scheduler through a trait object, because this floor does not know the schedulers above it. A fork
//! that stays on its fast path, and its join, ask nobody. Each spawn in a scope asks [`pending`](Strategy::pending).

use crate::machine::patience::{Patience, Wait, Waited};
use crate::machine::pool::PoolCore;
use crate::machine::processor::Processor;
use crate::machine::stats::Stats;
use crate::protocol::carrier::{Carrier, Enabled};
use crate::protocol::job::{Entry, Job};
use crate::protocol::latch::Latch;
use crate::protocol::mailbox::Mailbox;
use crate::protocol::ready::list::Node;
use crate::protocol::resolution::Resolution;
use crate::system::affinity;
use std::io;
use std::ptr::NonNull;
use std::sync::Arc;

/// Which closure of a join is the child thread of the papers. The other closure is what its parent does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Child {
    /// The first closure, which preempts its parent: all schedulers except `fifo`.
    First,
    /// The second closure, which goes to the end of the queue while its parent goes on: `fifo`.
    Second,
}

/// Whether the living threads of a pool are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    /// If the builder asks for it.
    OnRequest(Child),
    /// Always, at no further cost.
    Always(Child),
    /// Never: entries leave their deques without passing a place where they could be counted.
    Never,
}

/// A scheduler. See the module text. The caller holds `processor` in all these methods.
pub(crate) trait Strategy: Send + Sync {
    // ---- What an idle processor does -------------------------------------------------------------------------

    /// The next entry for an idle processor, or `None` when the processor has searched long enough. The caller is counted
    /// as a searcher. If this finds an entry, it takes the caller out of that count.
    fn search(&self, processor: &Processor) -> Option<Entry>;

    /// An entry that the processor still has itself.
    fn take_own(&self, processor: &Processor) -> Option<Entry>;

    /// The entry that the processor continues with after another one, if it has one itself and need not look elsewhere
    /// first.
    fn take_next(&self, _processor: &Processor) -> Option<Entry> {
        None
    }

    /// Like [`Strategy::take_next`], if that entry was spawned in the scope with this root.
    fn take_next_of_scope(&self, _processor: &Processor, _root: usize) -> Option<Entry> {
        None
    }

    /// The oldest entry of the processor's own deque. Asked now and then, so that no entry waits there for ever.
    fn take_oldest_own(&self, _processor: &Processor) -> Option<Entry> {
        None
    }

    /// The end of a job has made this carrier ready, and the processor has nothing else to do. Returns the carrier if
    /// it should have the processor at once.
    fn enabled(&self, _processor: &Processor, carrier: NonNull<Carrier>) -> Enabled {
        Some(carrier)
    }

    // ---- What a waiting processor does -----------------------------------------------------------------------

    /// The processor's carrier begins to wait, or has helped and waits again.
    fn cease(&self, processor: &Processor) {
        processor.set_busy(false);
    }

    /// One round of waiting for something whose descendants have the root `root`. `done` says whether it has ended.
    fn wait(
        &self,
        patience: &mut Patience,
        processor: &Processor,
        root: usize,
        done: &dyn Fn() -> bool,
    ) -> Wait;

    /// The youngest of a waiting processor's own entries that was spawned in the scope with this root.
    fn take_sibling(&self, _processor: &Processor, _root: usize) -> Option<Entry> {
        None
    }

    /// Any entry that can be taken now, for a carrier that cannot hand its processor over.
    fn take_anything(&self, processor: &Processor) -> Option<Entry>;

    /// What the carrier waited for has ended elsewhere.
    fn waited(&self, _processor: &Processor) {}

    /// Waits until `latch` is set, in a pool with [fixed threads](crate::Threads::Fixed).
    fn wait_fixed(&self, _latch: &Latch, _root: usize, _job: Option<&Job>) -> Waited {
        unreachable!("the builder refuses fixed threads")
    }

    // ---- Joins -----------------------------------------------------------------------------------------------

    /// The join of a listed job takes it back. Returns false if it is gone or, with `in_turn`, if others come first.
    fn take_back(&self, _entry: Entry, _node: Node, _in_turn: bool) -> bool {
        unreachable!("nothing is listed where there is no list")
    }

    /// Waits until a job that was taken as a branch has ended.
    fn wait_for_branch(&self, _job: &Job, _resolution: NonNull<Resolution>) -> Waited {
        unreachable!("jobs end by latches here")
    }

    /// A job that was taken as a branch has ended. Returns the carrier that waits for a processor, if one does.
    fn end_branch(&self, _resolution: &Resolution) -> Enabled {
        unreachable!("jobs end by latches here")
    }

    // ---- What a fork that left the fast path does ------------------------------------------------------------

    /// Makes room, answers the thief that waits here, and wakes a sleeper.
    fn attend(&self, processor: &Processor) {
        processor.begin_service();
        processor.expose_if_needed(false);
        processor.end_service();
    }

    /// `victim` has taken its oldest entry for the processor with this mailbox, and will deliver it.
    fn served(&self, _victim: &Processor, _mailbox: &Mailbox) {}

    /// How many entries wait for each processor.
    fn pending(&self, processor: &Processor) -> usize {
        processor.deque.len()
    }

    /// The quota in force, in bytes, or `i64::MAX` if there is none.
    fn quota(&self) -> i64 {
        i64::MAX
    }

    /// At a fork, a spawn or a checkpoint: gives way if the quota is used up. The carrier may hold another processor
    /// afterwards.
    fn heed_quota(&self, _processor: &Processor) {}

    // ---- How processors change hands, rest and wake ----------------------------------------------------------

    /// A frame of the pool goes on, or begins, on the processor. No search found the frame.
    fn arrived(&self, _processor: &Processor) {}

    /// The calling carrier lets the processor go.
    fn lets_go(&self, _processor: &Processor) {}

    /// The processor is about to enter the idle list.
    fn retiring(&self, _processor: &Processor) {}

    /// Counts the processor as a searcher, before its holder searches or before it is given to a carrier that will
    /// search.
    fn start_search(&self, processor: &Processor) {
        processor.pool().sleepers.start_search();
    }

    /// The holder has searched in vain. The caller holds the lock of the pool.
    fn give_up_search(&self, pool: &PoolCore) {
        pool.sleepers.stop_search();
    }

    /// How many processors search.
    fn searchers(&self, pool: &PoolCore) -> usize {
        pool.sleepers.searching()
    }

    /// The last look before a processor rests: whether there is something to take. With `look_is_enough`, all processors
    /// are idle, so nobody can fork meanwhile, or the caller is the sentry.
    fn look_before_rest(&self, pool: &PoolCore, look_is_enough: bool) -> bool {
        if look_is_enough { pool.work_visible() } else { pool.look_unless_searched() }
    }

    /// Whether forks leave their wake-ups to a sentry while regions are short. The strategy tells the rhythm what wake-ups
    /// were worth ([`Beat::found`](crate::machine::rhythm::Beat::found)).
    fn posts_sentries(&self) -> bool {
        false
    }

    /// Whether entries seem to wait outside the deques of the processors.
    fn looks_full(&self) -> bool {
        false
    }

    // ---- What a pool with this scheduler is like -------------------------------------------------------------

    /// Which CPUs the processors run on.
    fn cpus(&self) -> &dyn Cpus {
        &AnyCpus
    }

    /// Whether only its holder touches the deque of a processor.
    fn has_private_deques(&self) -> bool {
        false
    }

    /// Whether the pool can have [fixed threads](crate::Threads::Fixed).
    fn allows_fixed_threads(&self) -> bool {
        false
    }

    /// Whether living threads are counted, and which half of a join is a thread.
    fn counted(&self) -> Counted {
        Counted::OnRequest(Child::First)
    }

    /// Adds what the scheduler knows to the pool's figures.
    fn tell(&self, _stats: &mut Stats) {}

    /// From now on peaks count anew.
    fn forget_peaks(&self) {}
}

/// Decides on which CPUs processors run. The defaults are for a pool whose processors stay where they are: pinned if
/// its [builder](crate::Builder::pin) says so, else wherever the kernel puts their carriers.
pub(crate) trait Cpus: Send + Sync {
    /// The least number of CPUs to which processors must be pinned, or 0 if they need not be pinned.
    fn least(&self) -> usize {
        0
    }

    /// The calling carrier has taken hold of the processor.
    fn took_hold(&self, processor: &Processor) {
        if processor.pool().config.pin {
            affinity::pin(processor.index);
        }
    }

    /// The calling carrier lets the processor go.
    fn lets_go(&self, _processor: &Processor) {}

    /// The calling thread has let its processor go, and leaves the pool.
    fn left(&self) {}

    /// The CPU on which the next holder of the processor should wake up, if the processor is pinned.
    fn cpu_of(&self, processor: &Processor) -> Option<usize> {
        if processor.pool().config.pin { affinity::cpu_of(processor.index) } else { None }
    }

    /// The pool begins. Starts whatever is needed beside the carriers.
    fn start(&self, _pool: Arc<PoolCore>) -> io::Result<()> {
        Ok(())
    }

    /// The pool ends. Stops what [`Cpus::start`] started, and waits for its end.
    fn stop(&self) {}

    /// The latest estimate of how fast the processors are, relative to the fastest CPU.
    fn speeds(&self, processors: usize) -> Vec<f64> {
        vec![1.0; processors]
    }
}

/// See the defaults of [`Cpus`].
pub(crate) struct AnyCpus;

impl Cpus for AnyCpus {}
