//! Planted bugs. Each loom model comes with at least one fault that it must catch. A model that stays green with its
//! fault planted proves nothing. In ordinary builds [`planted`] is always false, and vanishes.

use crate::system::primitive::MODELLED;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A bug that a model can plant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code, reason = "only models plant them")]
#[repr(usize)]
pub(crate) enum Fault {
    /// The owner's side of the asymmetric barrier is missing when it pops.
    PopWithoutBarrier = 1,
    /// A processor begins to rely on the heavy barrier without a fence.
    RelyWithoutFence,
    /// A caller of the heavy barrier looks who relies on it before its own fence.
    LookBeforeFence,
    /// A caller of the heavy barrier goes on as if it had reached everyone, although the system refused it.
    TrustRefusal,
    /// A processor that does not rely on the heavy barrier attends without issuing a fence.
    AttendWithoutFence,
    /// A processor stops relying on the heavy barrier, and does not order that after what it did while it relied.
    CeaseWithoutOrder,
    /// A thief does not look at the bottom again after it moved the top.
    StealWithoutSecondLook,
    /// A loose entry is pushed over a join's entry, which is not exposed first.
    PushOverBlindly,
    /// A thief takes an entry that does not descend from what it wants.
    StealWhatever,
    /// An exposed entry is taken back without the deque's lock.
    WithdrawWithoutLock,
    /// A deque moves its entries and leaves their jobs untouched, so that joins look for them at their old places.
    MoveUntouched,
    /// A push over a join's entry believes a raised top before the thief has said that it keeps the entry.
    TrustRaisedTop,
    /// A job is kept while thieves can take it.
    KeepWithoutPop,
    /// A thief takes a fork in the way that is allowed only for loose entries: without barrier and second look.
    StealForksAsLoose,
    /// An owner that takes an exposed entry back does not lower the mark up to which entries are exposed.
    KeepExposedMark,
    /// An owner changes its context, and leaves older entries untouched.
    ChangeContextBlindly,
    /// A carrier leaves what the join must merge only after the job has ended.
    LeaveAfterEnd,
    /// A carrier that retires a processor reads how many are in service before it has the lock of the pool.
    ReadTheNumberEarly,
    /// A caller that puts a processor back into service leaves it to others to wake it.
    RaiseWithoutWake,
    /// A thread that posts an entry to a processor does not look among those that are out of service.
    ForgetTheShut,
    /// A victim serves a request that it did not claim first.
    ServeWithoutClaim,
    /// A thief walks away from its request without withdrawing it.
    LeaveWithoutCancel,
    /// Credits of a scope are given back without an order after the ends of the closures.
    SettleWithoutOrder,
    /// The finishing side stores "done" instead of swapping, so it never sees who waits.
    SetWithoutSwap,
    /// Two threads that may set one latch look who comes first, and only then say that they have come.
    ComeTwice,
    /// A fixed carrier that falls asleep does not look at its latch again under the lock of the pool.
    DozeWithoutLook,
    /// A carrier that leaves a latch does not check whether the latch was set meanwhile.
    LeaveLatchBlindly,
    /// The giver of a processor does not order what it has left for the receiver before the gift.
    GiveWithoutOrder,
    /// A carrier that waits for a processor forgets one that it was given before it began to wait.
    ForgetEarlyProcessor,
    /// A thread that waits outside is woken before what it waits for is there.
    UnparkBeforeSetting,
    /// An entry is posted to a processor, and nothing tells those that look without the lock.
    PostWithoutCount,
    /// A caller is content with a barrier that began before it called.
    ShareRunningBarrier,
    /// A sentry that ends looks around before it takes its mark away.
    SentryLooksFirst,
    /// A thread that posts an entry to a processor looks for it among the idle ones before, not after.
    LookBeforePosting,
    /// The last to come to the queue goes first.
    QueueLastFirst,
    /// A join believes that it has taken an entry back from the queue that was taken before.
    WithdrawWhatIsGone,
    /// A thread that queues an entry looks for searchers without a fence.
    QueueWithoutFence,
    /// A carrier that becomes a spare does not check whether a processor rests because it has no carrier.
    SpareWithoutLook,
    /// A spare that nobody has needed for long ends without looking whether it is still listed.
    EndWithoutLook,
    /// A ready carrier that nobody would find does not look for ready carriers itself.
    RestThoughStranded,
    /// A carrier that looks for ready carriers drops the other entries that it meets.
    ForgetWhatElseIsFound,
    /// A ticket runs the youngest closure of its queue.
    YoungestTicketFirst,
    /// The last searcher that finds work tells nobody to look out in its place.
    FindWithoutPassingOn,
    /// A sleeper does not look for work again after it has made its intent visible.
    SleepWithoutSecondLook,
    /// A fork does not compare with its limit after the push.
    ForkWithoutCheck,
    /// A gift is taken back without a check whether it has been picked up.
    TakeBackBlindly,
    /// A carrier that has pinned itself does not check whether its CPU was exchanged meanwhile.
    ArriveWithoutSecondLook,
    /// A job that is moved from a deque into a list is not told where it is.
    ListWithoutPlace,
    /// A join takes its job back from a list without a check whether it is still there.
    TakeBackFromNode,
    /// A thief that finds a victim gone from its deque robs it without the list's lock.
    RobWithoutRanks,
    /// A frame takes memory although something, perhaps a dummy thread, comes before it.
    OutOfTurn,
    /// A thief that exchanges CPUs and is refused leaves them exchanged.
    KeepRefusedExchange,
    /// A thief that exchanges CPUs does not check whether the carrier that it pinned has left meanwhile.
    ExchangeWithoutSecondLook,
    /// Nobody checks after a pin whether the processor's CPU was exchanged meanwhile.
    PinWithoutSecondLook,
    /// A thief mugs although somebody else is mugging the same victim.
    MugWithoutClaim,
    /// A thief decides from speeds that it read before it claimed its victim.
    DecideBeforeClaim,
    /// A victim answers any query that it finds, of any round.
    ServeStaleQuery,
    /// A victim opens the next round before it hands the entry over.
    RoundBeforeAnswer,
    /// A thief does not repeat a query that an older one overwrote.
    NoResend,
    /// A thief walks away from its query without making sure that nobody heard it.
    LeaveQuery,
    /// A victim does not look at its query again after it claimed the round.
    ServeWithoutSecondLook,
    /// A sleeper among private deques poisons their limits before it has made sure that they see it.
    PoisonBeforeBarrier,
    /// A left side hands over an empty watch list.
    TransferNothing,
    /// A left side that leaves unanswered does not make sure that the right side sees it.
    LeaveWithoutBarrier,
    /// A right side acknowledges although nobody asked.
    EarlyAck,
    /// A right side that ends does not announce it before it looks at the left side for the last time.
    EndWithoutSecondLook,
    /// A right side that ends leaves the join to a left side that has left.
    TieToNone,
    /// A right side that ends while the left side wants to leave says nothing.
    SilentTie,
    /// A right side that ends after its acknowledgement does not wait for the left side's list.
    EndBeforeTransfer,
    /// A writer of events overwrites the oldest one, and does not order that after the events that it has published.
    OverwriteWithoutFence,
    /// A writer publishes an event before its words are there.
    PublishWithoutOrder,
    /// Two threads that want something look whether it is there, and only then say that they make it.
    MakeTwice,
    /// Whoever has made something shows it before it is finished.
    MakeWithoutOrder,
    /// An entry of a board is posted before its words are there.
    PostWithoutOrder,
    /// The words of an entry change, and its number may still be there.
    ReuseWithoutFence,
    /// A reader of a board looks at the number again before it has read the words.
    LookWithoutFence,
    /// A reader of events keeps the one that may be overwritten meanwhile.
    KeepTheOldest,
}

static PLANTED: AtomicUsize = AtomicUsize::new(0);

/// Whether this fault is planted. Outside of the models the compiler knows that none is.
#[inline(always)]
pub(crate) fn planted(fault: Fault) -> bool {
    MODELLED && PLANTED.load(Relaxed) == fault as usize
}

/// Plants `fault`, or none, in this process.
#[allow(dead_code, reason = "only models call it")]
pub(crate) fn plant(fault: Option<Fault>) {
    PLANTED.store(fault.map_or(0, |fault| fault as usize), Relaxed);
}
