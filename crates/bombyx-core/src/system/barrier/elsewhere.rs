//! Systems without such a call: no processor ever relies on it.

pub(crate) fn offered() -> bool {
    false
}

pub(crate) fn prepare() {}

pub(crate) fn prepare_beside() {}

pub(crate) fn wait_for_stores() {}

pub(super) fn interrupt() -> bool {
    unreachable!("nobody relies on a barrier that was never offered")
}
