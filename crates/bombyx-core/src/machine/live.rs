//! What the board says of the holder of a processor ([`super::board`]): how many of its frames wait, whether it blocks,
//! and which closure it runs.
//!
//! These belong to the carrier, because they are facts about its stack. So the carrier keeps them, and writes them onto
//! the board when they change and when it takes hold of a processor.

pub(crate) use crate::machine::board::note_site;

use crate::machine::current;
use crate::machine::pool::PoolCore;
use crate::machine::processor::Processor;
use bombyx_base::live;
use std::cell::Cell;
use std::panic::Location;

thread_local! {
    static WAITS: Cell<u64> = const { Cell::new(0) };
    static CLOSURE: Cell<Running> = const { Cell::new(Running { name: 0, code: 0 }) };
}

/// Holder. It has just taken hold of the processor.
pub(crate) fn show(processor: &Processor) {
    processor.stats.set_waits(WAITS.get());
    CLOSURE.get().show(processor);
}

/// Holder. It is about to leave the processor.
pub(crate) fn hide(processor: &Processor) {
    processor.stats.set_waits(0);
    Running { name: 0, code: 0 }.show(processor);
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
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Running {
    name: u64,
    code: u64,
}

impl Running {
    #[inline]
    pub(crate) fn now() -> Running {
        CLOSURE.get()
    }

    #[inline]
    fn show(self, processor: &Processor) {
        processor.stats.set_closure(self.name, self.code);
    }

    /// From now on the carrier runs this one (again).
    #[inline]
    pub(crate) fn again(self) {
        if CLOSURE.replace(self) != self {
            if let Some(processor) = current::processor() {
                self.show(processor);
            }
        }
    }
}

/// From now on the calling carrier runs the closure with this name. The address of its code stands for its site
/// ([`note_site`]).
#[inline]
pub(crate) fn run(name: &'static str, code: usize) {
    Running { name: live::closure(name.as_ptr().addr() as u64, name.len()), code: code as u64 }.again();
}

/// Like [`run`], for a closure that was called, queued or spawned at this place.
#[inline]
pub(crate) fn run_from(name: &'static str, code: usize, place: &'static Location<'static>) {
    note_site(code, place);
    run(name, code);
}

/// Until this is dropped, the calling thread runs a closure in a pool that it has entered. Frames below it do not count.
pub(crate) struct Region(Running, u64);

impl Region {
    #[inline]
    pub(crate) fn begin(name: &'static str, code: usize, place: &'static Location<'static>) -> Region {
        let before = Region(Running::now(), WAITS.get());
        run_from(name, code, place);
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
