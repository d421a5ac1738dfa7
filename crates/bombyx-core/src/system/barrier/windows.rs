//! `FlushProcessWriteBuffers`: see [`super`].

use crate::system::primitive::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

static OFFERED: AtomicBool = AtomicBool::new(false);

#[link(name = "kernel32")]
unsafe extern "system" {
    safe fn FlushProcessWriteBuffers();
}

/// Relaxed: nothing has to be done before the first call.
#[inline]
pub(crate) fn offered() -> bool {
    OFFERED.load(Relaxed)
}

pub(crate) fn prepare() {
    if !super::unwanted() {
        OFFERED.store(true, Relaxed);
    }
}

pub(crate) fn prepare_beside() {
    prepare();
}

pub(super) fn interrupt() -> bool {
    FlushProcessWriteBuffers();
    true
}

#[cfg(test)]
pub(super) fn is_settled() -> bool {
    offered()
}

/// Only after a refusal, and there are none.
pub(crate) fn wait_for_stores() {}
