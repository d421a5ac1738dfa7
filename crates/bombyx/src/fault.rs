//! Planted bugs. Each loom model comes with at least one fault that it must catch; a model that stays green
//! with its fault planted proves nothing. In ordinary builds `planted` is the constant `false` and vanishes.

/// A bug that a model can plant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(loom), allow(dead_code))]
#[repr(usize)]
pub(crate) enum Fault {
    /// The owner's side of the asymmetric barrier is missing when it pops.
    PopWithoutBarrier = 1,
    /// A thief does not look at the bottom again after it moved the top.
    StealWithoutSecondLook,
    /// A thief takes a fork as it may take a loose entry: without barrier and second look.
    StealForksAsLoose,
    /// A victim serves a request that it did not claim first.
    ServeWithoutClaim,
    /// A thief walks away from its request without withdrawing it.
    LeaveWithoutCancel,
    /// The finishing side stores "done" instead of swapping, so it never sees who waits.
    SetWithoutSwap,
    /// A sleeper does not look for work again after it made its intent visible.
    SleepWithoutSecondLook,
    /// A fork does not test its limit after the push.
    ForkWithoutCheck,
    /// A gift is taken back without looking whether it has been picked up.
    TakeBackBlindly,
    /// A carrier that pinned itself does not look whether its CPU was exchanged meanwhile.
    ArriveWithoutSecondLook,
    /// Whoever exchanges CPUs does not look whether the carrier that it pinned has left meanwhile.
    ExchangeWithoutSecondLook,
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
