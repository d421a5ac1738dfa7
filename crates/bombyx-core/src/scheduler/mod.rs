//! Schedulers: what idle, waiting and polled processors do. The fork path and joins are common to all; a
//! scheduler is a strategy on the slow path (design: "Fast path and joins are common").

pub(crate) mod dfdeques;
mod give_up;
pub(crate) mod heterogeneous;
pub(crate) mod private_deques;
pub(crate) mod quota;
mod shared_pool;
pub(crate) mod work_stealing;

pub use heterogeneous::{Beta, BetaError};
pub use quota::{Quota, QuotaError};
pub(crate) use work_stealing::{Patience, Wait};

use crate::Error;
use crate::machine::pool::PoolCore;
use crate::machine::processor::Processor;
use crate::machine::stats::Stats;
use crate::protocol::carrier::Carrier;
use crate::protocol::deque::Steal;
use crate::protocol::job::{Enabled, Entry};
use crate::protocol::mailbox::Mailbox;
use crate::protocol::ready::list::Node;
use dfdeques::{Dfdeques, tuner};
use private_deques::{private_cas, read_write};
use shared_pool::{Shared, busy_leaves, depth_first, fifo};
use std::fmt;
use std::ptr::{self, NonNull};
use std::str::FromStr;

/// Which scheduler a pool uses. Parsed from, and printed as, its name.
///
/// ```
/// use bombyx::Scheduler;
/// let scheduler: Scheduler = "work-stealing".parse()?;
/// assert_eq!(scheduler, Scheduler::WorkStealing);
/// assert_eq!(scheduler.to_string(), "work-stealing");
/// let scheduler: Scheduler = "heterogeneous:1.25".parse()?;
/// assert_eq!(scheduler.to_string(), "heterogeneous:1.25");
/// assert!("wrok-stealing".parse::<Scheduler>().unwrap_err().to_string().contains("work-stealing"));
/// # Ok::<(), bombyx::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scheduler {
    /// Random victim, oldest entry: Blumofe and Leiserson, §4.
    #[default]
    WorkStealing,
    /// A list of deques in the order of the serial execution, and a memory quota: Narlikar, §3. Without a quota, work
    /// stealing.
    DfDeques(Quota),
    /// One list of ready threads in the order of the serial execution, and a memory quota: Narlikar, §2.2 and §5.
    DepthFirst(Quota),
    /// One queue of ready threads: Narlikar, §5.
    Fifo,
    /// One pool of living threads whose leaves are always worked on: Blumofe and Leiserson, §3.
    BusyLeaves,
    /// The same as work stealing on CPUs of different speeds: an idle processor that is more than β times as fast as a busy one with
    /// an empty deque exchanges CPUs with it. Bender and Rabin, §3. Processors are [pinned](crate::Builder::pin).
    Heterogeneous(Beta),
    /// Random victim, oldest entry, with loads and stores only: a thief leaves a query, its victim answers when it polls;
    /// the sides of a join exchange messages. Acar, Charguéraud, Muller and Rainey, §4.
    ReadWrite,
    /// The same steals (§4.3), with joins as in the other schedulers.
    ReadWriteSteals,
    /// The baseline that they compare with: the same with queries left by compare-and-swap.
    PrivateCas,
}

impl Scheduler {
    /// The names of all schedulers.
    pub const NAMES: &[&str] = &[
        "work-stealing",
        "dfdeques:K",
        "depth-first:K",
        "fifo",
        "busy-leaves",
        "heterogeneous:BETA",
        "read-write",
        "read-write-steals",
        "private-cas",
    ];

    /// Whether a pool with this scheduler can have [fixed threads](crate::Threads::Fixed). The other schedulers give a
    /// processor to another thread when a quota is used up, or when it is another thread's turn.
    ///
    /// ```
    /// use bombyx::Scheduler;
    /// assert!(Scheduler::WorkStealing.allows_fixed_threads());
    /// assert!(!Scheduler::BusyLeaves.allows_fixed_threads());
    /// ```
    pub fn allows_fixed_threads(self) -> bool {
        matches!(self, Scheduler::WorkStealing | Scheduler::DfDeques(Quota::Infinite))
    }

    /// Whether nobody but its holder touches the deque of a processor.
    pub(crate) fn has_private_deques(self) -> bool {
        matches!(self, Scheduler::ReadWrite | Scheduler::ReadWriteSteals | Scheduler::PrivateCas)
    }
}

impl FromStr for Scheduler {
    type Err = Error;

    fn from_str(name: &str) -> Result<Scheduler, Error> {
        let (kind, parameter) = match name.trim().split_once(':') {
            Some((kind, parameter)) => (kind, Some(parameter)),
            None => (name.trim(), None),
        };
        match (kind, parameter) {
            ("work-stealing", None) => Ok(Scheduler::WorkStealing),
            ("read-write", None) => Ok(Scheduler::ReadWrite),
            ("read-write-steals", None) => Ok(Scheduler::ReadWriteSteals),
            ("private-cas", None) => Ok(Scheduler::PrivateCas),
            ("fifo", None) => Ok(Scheduler::Fifo),
            ("busy-leaves", None) => Ok(Scheduler::BusyLeaves),
            ("dfdeques", k) => k.unwrap_or_default().parse().map(Scheduler::DfDeques).map_err(Error::Quota),
            ("depth-first", Some("auto")) => Err(Error::Quota(QuotaError::no_auto())),
            ("depth-first", k) => {
                k.unwrap_or_default().parse().map(Scheduler::DepthFirst).map_err(Error::Quota)
            }
            ("heterogeneous", beta) => {
                beta.unwrap_or_default().parse().map(Scheduler::Heterogeneous).map_err(Error::Beta)
            }
            _ => Err(Error::UnknownScheduler(name.to_owned())),
        }
    }
}

impl fmt::Display for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scheduler::WorkStealing => f.write_str("work-stealing"),
            Scheduler::ReadWrite => f.write_str("read-write"),
            Scheduler::ReadWriteSteals => f.write_str("read-write-steals"),
            Scheduler::PrivateCas => f.write_str("private-cas"),
            Scheduler::DfDeques(quota) => write!(f, "dfdeques:{quota}"),
            Scheduler::DepthFirst(quota) => write!(f, "depth-first:{quota}"),
            Scheduler::Fifo => f.write_str("fifo"),
            Scheduler::BusyLeaves => f.write_str("busy-leaves"),
            Scheduler::Heterogeneous(beta) => write!(f, "heterogeneous:{beta}"),
        }
    }
}

// ---- The strategies: which scheduler answers when the runtime asks ------------------------------------

/// Where ready entries wait.
pub(crate) enum Ready {
    /// In the deques of the processors alone.
    Deques,
    /// The same, and nobody but its holder touches the deque of a processor.
    Private(Talk),
    /// In one pool.
    Shared(Shared),
    /// In the deques of the processors, and in others without an owner, all in one list.
    Ranked(Dfdeques),
}

impl Ready {
    pub(crate) fn of(scheduler: Scheduler, processors: usize) -> Ready {
        match scheduler {
            Scheduler::WorkStealing | Scheduler::Heterogeneous(_) | Scheduler::DfDeques(Quota::Infinite) => {
                Ready::Deques
            }
            Scheduler::ReadWrite => Ready::Private(Talk::QueriesAndJoins),
            Scheduler::ReadWriteSteals => Ready::Private(Talk::Queries),
            Scheduler::PrivateCas => Ready::Private(Talk::Cas),
            Scheduler::DfDeques(quota) => Ready::Ranked(Dfdeques::new(quota, processors)),
            Scheduler::DepthFirst(_) => Ready::Shared(Shared::new(depth_first::RULES, processors)),
            Scheduler::Fifo => Ready::Shared(Shared::new(fifo::RULES, processors)),
            Scheduler::BusyLeaves => Ready::Shared(Shared::new(busy_leaves::RULES, processors)),
        }
    }

    /// Whether there seems to be something outside of the deques of the processors.
    pub(crate) fn looks_full(&self) -> bool {
        match self {
            Ready::Deques | Ready::Private(_) => false,
            Ready::Shared(shared) => shared.pool.len() > 0,
            Ready::Ranked(dfdeques) => dfdeques.ranks.has_left(),
        }
    }

    pub(crate) fn tell(&self, stats: &mut Stats) {
        if let Ready::Ranked(dfdeques) = self {
            stats.peak_deques = dfdeques.ranks.peak() as u64;
        }
    }

    pub(crate) fn forget_peak(&self) {
        if let Ready::Ranked(dfdeques) = self {
            dfdeques.ranks.forget_peak();
        }
    }
}

/// How thieves and victims talk where deques are private.
#[derive(Clone, Copy)]
pub(crate) enum Talk {
    /// By queries; joins are those of all schedulers.
    Queries,
    /// By queries, and so do the two sides of a join.
    QueriesAndJoins,
    /// By compare-and-swap.
    Cas,
}

impl Talk {
    pub(crate) fn attend(self, processor: &Processor) {
        match self {
            Talk::Queries => read_write::attend_steals(processor),
            Talk::QueriesAndJoins => read_write::attend(processor),
            Talk::Cas => private_cas::attend(processor),
        }
    }

    fn cease(self, processor: &Processor) {
        match self {
            Talk::Queries => read_write::cease_steals(processor),
            Talk::QueriesAndJoins => read_write::cease(processor),
            Talk::Cas => private_cas::cease(processor),
        }
    }

    fn search(self, processor: &Processor) -> Option<Entry> {
        match self {
            Talk::Queries => read_write::search_steals(processor),
            Talk::QueriesAndJoins => read_write::search(processor),
            Talk::Cas => private_cas::search(processor),
        }
    }

    fn take_anything(self, processor: &Processor) -> Option<Entry> {
        match self {
            Talk::Queries => read_write::take_anything_steals(processor),
            Talk::QueriesAndJoins => read_write::take_anything(processor),
            Talk::Cas => private_cas::take_anything(processor),
        }
    }

    fn wait(
        self,
        patience: &mut Patience,
        processor: &Processor,
        key: usize,
        done: &dyn Fn() -> bool,
    ) -> Wait {
        match self {
            Talk::Queries => read_write::wait_steals(patience, processor, key, done),
            Talk::QueriesAndJoins => read_write::wait(patience, processor, key, done),
            Talk::Cas => private_cas::wait(patience, processor, key, done),
        }
    }
}

/// The next entry for an idle processor, or None when it has searched long enough. The caller is counted as a
/// searcher, and no longer when an entry is found.
pub(crate) fn search(processor: &Processor) -> Option<Entry> {
    match &processor.pool().ready {
        Ready::Deques => work_stealing::search(processor),
        Ready::Private(talk) => talk.search(processor),
        Ready::Shared(shared) => shared.search(processor),
        Ready::Ranked(dfdeques) => dfdeques.search(processor),
    }
}

/// One round of waiting for something whose descendants have the root `key`.
pub(crate) fn wait(
    patience: &mut Patience,
    processor: &Processor,
    key: usize,
    done: impl Fn() -> bool,
) -> Wait {
    match &processor.pool().ready {
        Ready::Deques => patience.wait(processor, key, done),
        Ready::Private(talk) => talk.wait(patience, processor, key, &done),
        Ready::Shared(shared) => shared.wait(patience, processor, key),
        Ready::Ranked(dfdeques) => dfdeques.wait(patience, processor, key, done),
    }
}

/// What a processor still has itself.
pub(crate) fn take_own(processor: &Processor) -> Option<Entry> {
    match &processor.pool().ready {
        Ready::Deques | Ready::Ranked(_) => work_stealing::take_own(processor),
        Ready::Private(_) => private_deques::take_own(processor),
        Ready::Shared(_) => processor.private.take(|_| true),
    }
}

/// Whatever can be had now, for a carrier that cannot hand its processor over.
pub(crate) fn take_anything(processor: &Processor) -> Option<Entry> {
    match &processor.pool().ready {
        Ready::Deques => work_stealing::take_anything(processor),
        Ready::Private(talk) => talk.take_anything(processor),
        Ready::Shared(shared) => shared.take_anything(processor),
        Ready::Ranked(dfdeques) => dfdeques.take_anything(processor),
    }
}

/// What a processor goes on with after an entry, if it has something itself and need not look elsewhere first.
pub(crate) fn take_next(processor: &Processor) -> Option<Entry> {
    match &processor.pool().ready {
        Ready::Deques => work_stealing::take_own(processor),
        Ready::Private(_) | Ready::Shared(_) | Ready::Ranked(_) => None,
    }
}

/// The oldest entry of a processor's own deque, for an idle holder.
pub(crate) fn take_oldest_own(processor: &Processor) -> Option<Entry> {
    match &processor.pool().ready {
        Ready::Deques if !processor.deque.looks_empty() => {
            processor.deque.take_top(|entry| entry.taken(crate::protocol::job::Place::Nowhere))
        }
        _ => None,
    }
}

/// What [`take_next`] takes, if it was spawned in the scope with this key.
#[inline]
pub(crate) fn take_next_of_scope(processor: &Processor, key: usize) -> Option<Entry> {
    match &processor.pool().ready {
        Ready::Deques if !processor.deque.looks_empty() => {
            processor.deque.take_bottom(|entry| crate::api::scope::belongs_to(entry, key))
        }
        _ => None,
    }
}

/// Of what a waiting processor has itself, the youngest that was spawned in the scope with this key, if there may be
/// more of it.
#[inline]
pub(crate) fn take_sibling(processor: &Processor, key: usize) -> Option<Entry> {
    match &processor.pool().ready {
        Ready::Deques if !processor.deque.looks_empty() => work_stealing::take_of_scope(processor, key),
        _ => None,
    }
}

/// The processor's carrier waits.
pub(crate) fn cease(processor: &Processor) {
    match &processor.pool().ready {
        // Busy as long as there are entries of its own.
        Ready::Deques => {}
        Ready::Private(talk) => talk.cease(processor),
        Ready::Shared(_) | Ready::Ranked(_) => processor.set_busy(false),
    }
}

/// Takes the oldest entry of `victim`, if it can be had without the heavy barrier. Loose ones in ordered pools only:
/// elsewhere a processor that spawns without end serves its thieves now and then, and is not held up by their lock.
fn steal_free(victim: &Processor, want: usize) -> Option<Entry> {
    match &victim.pool().ready {
        Ready::Deques => victim.deque.steal_free(want, victim.pool().config.ordered),
        Ready::Private(_) | Ready::Shared(_) | Ready::Ranked(_) => None,
    }
}

/// The end of a job on `processor`, which has nothing else to do, has made this carrier ready. Returns it if it is to
/// have the processor at once.
pub(crate) fn enabled(processor: &Processor, carrier: NonNull<Carrier>) -> Enabled {
    match &processor.pool().ready {
        Ready::Deques | Ready::Private(_) | Ready::Ranked(_) => Some(carrier),
        Ready::Shared(shared) => shared.enabled(processor, carrier),
    }
}

/// The join of a listed job takes it back. False if it is gone or, with `in_turn`, if others come first.
#[must_use]
pub(crate) fn take_back(processor: &Processor, entry: Entry, node: Node, in_turn: bool) -> bool {
    match &processor.pool().ready {
        Ready::Deques | Ready::Private(_) => unreachable!("nothing is listed where there is no list"),
        Ready::Shared(shared) => shared.take_back(entry, node, in_turn),
        Ready::Ranked(dfdeques) => dfdeques.ranks.withdraw(entry, node),
    }
}

/// Robs `victim` without its help, by `steal`.
fn rob(thief: &Processor, victim: &Processor, steal: impl FnOnce() -> Steal) -> Steal {
    match &victim.pool().ready {
        Ready::Deques | Ready::Private(_) | Ready::Shared(_) => steal(),
        Ready::Ranked(dfdeques) => dfdeques.ranks.rob(victim.index, thief.index, steal),
    }
}

/// `victim` has taken its oldest entry for the processor with this mailbox, and will deliver it.
pub(crate) fn served(victim: &Processor, mailbox: &Mailbox) {
    let pool = victim.pool();
    if let Ready::Ranked(dfdeques) = &pool.ready
        && let Some(thief) = pool.processors().iter().find(|thief| ptr::eq(&thief.post.mailbox, mailbox))
    {
        dfdeques.ranks.follow(victim.index, thief.index);
    }
}

/// A frame of the pool goes on, or begins, on `processor`, which did not find it by a search.
pub(crate) fn arrived(processor: &Processor) {
    if let Ready::Ranked(dfdeques) = &processor.pool().ready {
        dfdeques.ranks.arrive(processor.index);
    }
}

/// The processor is about to enter the idle list.
pub(crate) fn retiring(processor: &Processor) {
    match &processor.pool().ready {
        Ready::Deques | Ready::Private(_) => {}
        Ready::Shared(shared) => shared.pool.leave(processor.index),
        Ready::Ranked(_) if !processor.deque.looks_empty() => {}
        Ready::Ranked(dfdeques) => dfdeques.ranks.leave(processor.index),
    }
}

/// At a fork, a spawn or a checkpoint: gives way if the quota is used up. The carrier may hold another processor
/// afterwards.
#[inline]
pub(crate) fn heed_quota(processor: &Processor) {
    match &processor.pool().ready {
        Ready::Deques | Ready::Private(_) => {}
        Ready::Shared(shared) => shared.heed_quota(processor),
        Ready::Ranked(dfdeques) => dfdeques.heed_quota(processor),
    }
}

/// The quota in force, if there is one.
pub(crate) fn quota(pool: &PoolCore) -> Option<i64> {
    let quota = match &pool.ready {
        Ready::Ranked(dfdeques) => dfdeques.quota(),
        Ready::Deques | Ready::Private(_) | Ready::Shared(_) => first_quota(pool.config.scheduler),
    };
    (quota != i64::MAX).then_some(quota)
}

/// The quota that a processor begins with, `i64::MAX` if there is none.
pub(crate) fn first_quota(scheduler: Scheduler) -> i64 {
    match scheduler {
        Scheduler::DfDeques(Quota::Bytes(k)) | Scheduler::DepthFirst(Quota::Bytes(k)) => {
            i64::try_from(k.get()).unwrap_or(i64::MAX)
        }
        Scheduler::DfDeques(Quota::Auto) => tuner::FIRST_QUOTA,
        _ => i64::MAX,
    }
}

/// How many entries wait for each processor.
pub(crate) fn pending(processor: &Processor) -> usize {
    let pool = processor.pool();
    match &pool.ready {
        Ready::Deques | Ready::Private(_) | Ready::Ranked(_) => processor.deque.len(),
        Ready::Shared(shared) => shared.pool.len() / pool.processors().len(),
    }
}

/// A processor has taken a thread from its own deque, or a join its own half from a pool.
#[inline]
pub(crate) fn count_own(processor: &Processor) {
    if processor.pool().config.counts.is_some() {
        processor.stats.own.add(1);
    }
}
