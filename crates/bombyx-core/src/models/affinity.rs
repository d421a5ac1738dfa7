//! What the models know of CPUs: that a carrier was confined, and to be let go.

/// Stands for a set of CPUs.
#[derive(Clone, Copy)]
pub(crate) struct CpuSet;

/// Stands for the system's number of a thread.
pub(crate) struct Thread;

impl Thread {
    pub(crate) const HERE: Thread = Thread;

    pub(crate) fn current() -> Thread {
        Thread
    }

    pub(crate) fn number(&self) -> u32 {
        1
    }

    pub(crate) fn allow(&self, _: &CpuSet) {}
}

pub(crate) fn here() -> Option<usize> {
    Some(0)
}

pub(crate) fn confine(_: u32, _: usize) -> Option<CpuSet> {
    Some(CpuSet)
}

pub(crate) fn pin_sleeper(_: u32, _: usize) {}
