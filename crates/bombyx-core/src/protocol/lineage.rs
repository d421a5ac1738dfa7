//! Which entry descends from which. A waiting carrier of a [fixed](crate::machine::fixed) pool helps only with
//! descendants of what it waits for.
//!
//! A *root* names an ancestor of entries. The root of a `join`'s job is its address. The root of a scope is the address
//! of its [`Ancestor`], with [`SCOPE`]. The root of a broadcast is its address, with [`BROADCAST`]. 0 names nothing. A
//! processor that runs an entry sets the entry's root as the *root* of its deque. A thief that takes the job of a
//! `join` notes the root of the deque as the *origin* of the job, under the lock of the deque. A scope knows the root
//! under which it was opened. So the roots form a chain from every entry to its ancestors, and [`descends`] walks it.
//!
//! **Why the walk may read the jobs and scopes of the chain.** An entry that was taken and has not run keeps all of its
//! ancestors alive. Its join is a frame inside its origin, so the origin cannot end before the entry has run. The origin
//! itself was taken, its join is a frame inside *its* origin, and so on. Frames of scopes wait for their closures likewise.

use crate::protocol::job::{Entry, HeapJob, Job, Kind};

/// Set in the roots of scopes.
const SCOPE: usize = 1;
/// Set in the roots of broadcasts.
pub(crate) const BROADCAST: usize = 2;
const TAG: usize = 3;

/// What a scope says about its own descent.
pub(crate) struct Ancestor {
    /// The root under which the scope was opened.
    pub(crate) opened_under: usize,
}

impl Ancestor {
    /// The root of the scope that this ancestor is part of.
    pub(crate) fn root(&self) -> usize {
        std::ptr::from_ref(self).expose_provenance() | SCOPE
    }
}

/// The root of an entry, which is the ancestor of the entry's forks.
pub(crate) fn root_of(entry: Entry) -> usize {
    match entry.kind() {
        Kind::Stack(job) => job as usize,
        // SAFETY: a heap entry that was taken is alive until it is run.
        Kind::Heap(job) => unsafe { HeapJob::root_of(job) },
        Kind::Carrier(_) => 0,
    }
}

/// The ancestor of an entry, or 0 if unknown. The caller has taken the entry and has not run it.
pub(crate) fn origin_of(entry: Entry) -> usize {
    match entry.kind() {
        // SAFETY: the caller has taken the job, so it is alive and not untouched.
        Kind::Stack(job) => unsafe { (*job).origin() },
        Kind::Heap(_) => root_of(entry),
        Kind::Carrier(_) => 0,
    }
}

/// Whether an entry descends from `root`, as far as is known. The caller has taken the entry and has not run it.
pub(crate) fn descends(entry: Entry, root: usize) -> bool {
    let mut ancestor = origin_of(entry);
    while ancestor != 0 && ancestor != root {
        // SAFETY: the entry has not run, so its ancestors are alive: see the module text.
        ancestor = unsafe { above(ancestor) };
    }
    ancestor == root && root != 0
}

/// The ancestor of the job or scope with this root, or 0 if unknown.
///
/// # Safety
/// The job or scope is alive, and its root was the root of a deque.
unsafe fn above(root: usize) -> usize {
    match root & TAG {
        // SAFETY: an entry becomes the root of a deque when somebody runs it, so its job was taken.
        0 => unsafe { (*(root as *const Job)).origin() },
        // SAFETY: as the caller promises.
        SCOPE => unsafe { (*((root & !TAG) as *const Ancestor)).opened_under },
        _ => 0,
    }
}
