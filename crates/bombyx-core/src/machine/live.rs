//! What the board says of the holder of a processor ([`super::board`]): how many of its frames wait, whether it blocks,
//! and which closure it runs.
//!
//! These belong to the carrier, because they are facts about its stack. So the carrier keeps them, and writes them onto
//! the board when they change and when it takes hold of a processor.

use crate::machine::current;
use crate::machine::pool::PoolCore;
use crate::machine::processor::Processor;
use bombyx_base::live;
use std::cell::Cell;

thread_local! {
    static WAITS: Cell<u64> = const { Cell::new(0) };
    static CLOSURE: Cell<u64> = const { Cell::new(0) };
}

/// Holder. It has just taken hold of the processor.
pub(crate) fn show(processor: &Processor) {
    processor.stats.set_waits(WAITS.get());
    processor.stats.set_closure(CLOSURE.get());
}

/// Holder. It is about to leave the processor.
pub(crate) fn hide(processor: &Processor) {
    processor.stats.set_waits(0);
    processor.stats.set_closure(0);
}

fn set_waits(waits: u64) {
    WAITS.set(waits);
    if let Some(processor) = current::processor() {
        processor.stats.set_waits(waits);
    }
}

/// Until this is dropped, a frame of the calling carrier waits.
pub(crate) struct Waiting(());

impl Waiting {
    #[inline]
    pub(crate) fn begin() -> Waiting {
        set_waits(WAITS.get().wrapping_add(1));
        Waiting(())
    }
}

impl Drop for Waiting {
    #[inline]
    fn drop(&mut self) {
        set_waits(WAITS.get().wrapping_sub(1));
    }
}

/// Until this is dropped, the calling carrier blocks. It may keep its processor meanwhile.
pub(crate) struct Blocking<'a>(&'a PoolCore, u64);

impl Blocking<'_> {
    pub(crate) fn begin(pool: &PoolCore) -> Blocking<'_> {
        pool.notice.count_blocked(true);
        let before = WAITS.get();
        set_waits(before | live::BLOCKED);
        Blocking(pool, before)
    }
}

impl Drop for Blocking<'_> {
    fn drop(&mut self) {
        set_waits(self.1);
        // In a child of fork(2), this is the parent's pool.
        if self.0.generation().is_current() {
            self.0.notice.count_blocked(false);
        }
    }
}

/// The closure that the calling carrier runs. What runs on top of it may name itself, so it is named again afterwards.
#[derive(Clone, Copy)]
pub(crate) struct Running(u64);

impl Running {
    #[inline]
    pub(crate) fn now() -> Running {
        Running(CLOSURE.get())
    }

    /// From now on the carrier runs this one (again).
    #[inline]
    pub(crate) fn again(self) {
        if CLOSURE.replace(self.0) != self.0 {
            if let Some(processor) = current::processor() {
                processor.stats.set_closure(self.0);
            }
        }
    }
}

/// From now on the calling carrier runs the closure with this name.
#[inline]
pub(crate) fn run(name: &'static str) {
    Running(live::closure(name.as_ptr().addr() as u64, name.len())).again();
}

/// Until this is dropped, the calling thread runs a closure in a pool that it has entered. Frames below it do not count.
pub(crate) struct Region(Running, u64);

impl Region {
    #[inline]
    pub(crate) fn begin(name: &'static str) -> Region {
        let before = Region(Running::now(), WAITS.get());
        run(name);
        if before.1 != 0 {
            set_waits(0);
        }
        before
    }
}

impl Drop for Region {
    #[inline]
    fn drop(&mut self) {
        self.0.again();
        if self.1 != 0 {
            set_waits(self.1);
        }
    }
}
