//! Planted bugs. Each loom model comes with at least one fault that it must catch; a model that stays green
//! with its fault planted proves nothing. In ordinary builds `planted` is the constant `false` and vanishes.

/// A bug that a model can plant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(loom), allow(dead_code))]
#[repr(usize)]
pub(crate) enum Fault {
    /// The owner's side of the asymmetric barrier is missing when it pops.
    PopWithoutBarrier = 1,
    /// A processor begins to rely on the heavy barrier without a fence.
    RelyWithoutFence,
    /// Who calls the heavy barrier looks who relies on it before its own fence.
    LookBeforeFence,
    /// Who calls the heavy barrier goes on as if it had reached everyone although the system refused it.
    TrustRefusal,
    /// A processor that does not rely on the heavy barrier attends without a fence of its own.
    AttendWithoutFence,
    /// A processor ceases to rely on the heavy barrier and does not order that after what it did while it relied.
    CeaseWithoutOrder,
    /// A thief does not look at the bottom again after it moved the top.
    StealWithoutSecondLook,
    /// A loose entry is pushed over a join's, which stays as it is.
    PushOverBlindly,
    /// A thief takes what does not descend from what it wants.
    StealWhatever,
    /// An exposed entry is withdrawn without the deque's lock.
    WithdrawWithoutLock,
    /// A deque moves its entries and leaves their jobs untouched, so that joins look for them where they were.
    MoveUntouched,
    /// A push over a join's entry believes a raised top before the thief has said that it keeps the entry.
    TrustRaisedTop,
    /// A job is kept while thieves can take it.
    KeepWithoutPop,
    /// A thief takes a fork as it may take a loose entry: without barrier and second look.
    StealForksAsLoose,
    /// An owner that takes an exposed entry back leaves the mark that says how far entries are exposed.
    KeepExposedMark,
    /// A victim serves a request that it did not claim first.
    ServeWithoutClaim,
    /// A thief walks away from its request without withdrawing it.
    LeaveWithoutCancel,
    /// Who gives credits of a scope back does not order that after the ends of the closures.
    SettleWithoutOrder,
    /// The finishing side stores "done" instead of swapping, so it never sees who waits.
    SetWithoutSwap,
    /// A fixed carrier that falls asleep does not look at its latch again under the lock of the pool.
    DozeWithoutLook,
    /// A carrier that leaves a latch does not look whether that was set meanwhile.
    LeaveLatchBlindly,
    /// Who gives a processor to a carrier does not order what it has left for it before that.
    GiveWithoutOrder,
    /// A carrier that waits to be given a processor forgets one that it was given before it waited.
    ForgetEarlyProcessor,
    /// A thread that waits outside is woken before what it waits for is there.
    UnparkBeforeSetting,
    /// An entry is posted to a processor, and nothing tells who looks without the lock.
    PostWithoutCount,
    /// Who posts an entry to a processor looks for it among the idle ones before, not after.
    LookBeforePosting,
    /// Who comes last to the queue goes first.
    QueueLastFirst,
    /// A join believes that it has withdrawn from the queue what was taken before.
    WithdrawWhatIsGone,
    /// Who queues an entry looks for searchers without a fence.
    QueueWithoutFence,
    /// A carrier that becomes a spare does not look whether a processor rests for want of one.
    SpareWithoutLook,
    /// A spare that nobody has needed for long ends without looking whether it is still listed.
    EndWithoutLook,
    /// A ticket runs the youngest closure of its queue.
    YoungestTicketFirst,
    /// The last searcher that finds work tells nobody to look out in its place.
    FindWithoutPassingOn,
    /// A sleeper does not look for work again after it made its intent visible.
    SleepWithoutSecondLook,
    /// A fork does not test its limit after the push.
    ForkWithoutCheck,
    /// A gift is taken back without looking whether it has been picked up.
    TakeBackBlindly,
    /// A carrier that pinned itself does not look whether its CPU was exchanged meanwhile.
    ArriveWithoutSecondLook,
    /// A job that is moved from a deque into a list is not told where it is.
    ListWithoutPlace,
    /// A join takes its job back from a list without looking whether it is still there.
    TakeBackFromNode,
    /// A thief that finds a victim gone from its deque robs it without the list's lock.
    RobWithoutRanks,
    /// A frame takes memory although something, perhaps a dummy thread, comes before it.
    OutOfTurn,
    /// Whoever exchanges CPUs and is refused leaves them exchanged.
    KeepRefusedExchange,
    /// Whoever exchanges CPUs does not look whether the carrier that it pinned has left meanwhile.
    ExchangeWithoutSecondLook,
    /// Whoever pins a carrier does not look whether somebody else has exchanged its processor's CPU meanwhile.
    PinWithoutSecondLook,
    /// A thief mugs although somebody else is mugging the same victim.
    MugWithoutClaim,
    /// A thief decides from speeds that it read before it claimed its victim.
    DecideBeforeClaim,
    /// A victim answers whatever query it finds, of whatever round.
    ServeStaleQuery,
    /// A victim opens the next round before it hands the entry over.
    RoundBeforeAnswer,
    /// A thief does not repeat a query that an older one overwrote.
    NoResend,
    /// A thief walks away from its query without making sure that it was not heard.
    LeaveQuery,
    /// A victim does not look at its query again after it claimed the round.
    ServeWithoutSecondLook,
    /// A sleeper among private deques poisons their limits before it has made sure that it is seen.
    PoisonBeforeBarrier,
    /// A left side hands over an empty watch list.
    TransferNothing,
    /// A left side that leaves unanswered does not make sure that it is seen.
    LeaveWithoutBarrier,
    /// A right side acknowledges what nobody asked.
    EarlyAck,
    /// A right side that ends does not announce it before it looks at the left one for the last time.
    EndWithoutSecondLook,
    /// A right side that ends leaves the join to a left side that has left.
    TieToNone,
    /// A right side that ends while the left one wants to leave says nothing.
    SilentTie,
    /// A right side that ends after its acknowledgement does not wait for the left side's list.
    EndBeforeTransfer,
}

#[cfg(not(loom))]
#[inline(always)]
pub(crate) const fn planted(_: Fault) -> bool {
    false
}

#[cfg(loom)]
static PLANTED: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

#[cfg(loom)]
pub(crate) fn planted(fault: Fault) -> bool {
    PLANTED.load(std::sync::atomic::Ordering::Relaxed) == fault as usize
}

/// Plants `fault`, or none, in this process.
#[cfg(all(loom, test))]
pub(crate) fn plant(fault: Option<Fault>) {
    PLANTED.store(fault.map_or(0, |fault| fault as usize), std::sync::atomic::Ordering::Relaxed);
}
