//! [`made_strict`] and [`made_fully_strict`]: a computation with other join edges that make it strict (BL §2).
//!
//! "Any multithreaded computation that can be executed in a depth-first manner on a single processor can be made either
//! strict or fully strict by altering the dependency structure, possibly affecting the achievable parallelism, but not
//! affecting the semantics." Every computation of this crate can be executed depth first. Of a join edge u → v, whose
//! threads are A and B:
//!
//! - If B is an ancestor of A, the edge stays. For fully strict, the last strand of B's child on the way to A joins in
//!   place of u.
//! - If A is an ancestor of B, other edges imply it: B was spawned after u.
//! - Otherwise let L be their nearest common ancestor. The strand of L that spawns towards B waits for u (fully strict:
//!   for the end of L's child towards A). So B begins when its argument is there.
//!
//! In addition, every thread's last strand joins its parent, at the latest at the parent's last strand, so that parents
//! outlive their children. If a strand that now waits follows a spawn, an instruction is put before it.

use crate::{Builder, Class, Computation, StrandId, ThreadId};
use std::collections::BTreeSet;

/// The computation with join edges that make it strict, or itself if it is.
///
/// ```
/// use bombyx_dag::{Class, generate::Spec, made_strict};
/// let general = "bushy:threads=30,class=3".parse::<Spec>()?.build()?;
/// assert_eq!(general.class(), Class::General);
/// assert_eq!(made_strict(&general).class(), Class::Strict);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn made_strict(c: &Computation) -> Computation {
    made(c, Class::Strict)
}

/// The computation with join edges that make it fully strict, or itself if it is.
pub fn made_fully_strict(c: &Computation) -> Computation {
    made(c, Class::FullyStrict)
}

fn made(c: &Computation, class: Class) -> Computation {
    if c.class() <= class {
        return c.clone();
    }
    let waits = new_waits(c, class);
    let mut b = Builder::new(c.frame(c.root()));
    b.weight_unit(c.weight_unit());
    let mut moved = Vec::with_capacity(c.strand_count());
    let mut spawned_before = vec![false; c.strand_count()];
    for strand in c.strands() {
        if spawned_before[strand.index()] && !waits[strand.index()].is_empty() {
            b.strand(1);
        }
        moved.push(b.strand(c.weight(strand)));
        for &from in &waits[strand.index()] {
            b.wait_for(moved[from.index()]);
        }
        if c.allocated(strand) > 0 {
            b.allocate(c.allocated(strand));
        }
        if c.freed(strand) > 0 {
            b.free(c.freed(strand));
        }
        match (c.child(strand), c.next(strand)) {
            (Some(child), Some(next)) => {
                spawned_before[next.index()] = true;
                b.spawn(c.frame(child));
            }
            (None, None) if c.thread_of(strand) != c.root() => drop(b.end()),
            _ => {}
        }
    }
    b.build().expect("edges to ancestors that come later keep a computation legal")
}

/// For every strand, the strands that it must wait for.
fn new_waits(c: &Computation, class: Class) -> Vec<BTreeSet<StrandId>> {
    let mut waits = vec![BTreeSet::new(); c.strand_count()];
    for u in c.strands() {
        for &v in c.joins_from(u) {
            let (a, b) = (c.thread_of(u), c.thread_of(v));
            if c.is_ancestor(a, b) {
                continue;
            }
            let common = nearest_common(c, a, b);
            let to = if common == b { v } else { c.spawner(child_towards(c, common, b)).expect("a child") };
            let from = match class {
                Class::FullyStrict if c.parent(a) != Some(common) => {
                    c.last_strand(child_towards(c, common, a))
                }
                _ => u,
            };
            waits[to.index()].insert(from);
        }
    }
    let mut joined = vec![false; c.thread_count()];
    for (to, from) in c.strands().zip(&waits).flat_map(|(to, from)| from.iter().map(move |&from| (to, from)))
    {
        let thread = c.thread_of(from);
        joined[thread.index()] |= c.next(from).is_none() && c.parent(thread) == Some(c.thread_of(to));
    }
    for thread in c.threads().skip(1).filter(|thread| !joined[thread.index()]) {
        let parent = c.parent(thread).expect("not the root");
        waits[c.last_strand(parent).index()].insert(c.last_strand(thread));
    }
    waits
}

fn nearest_common(c: &Computation, a: ThreadId, b: ThreadId) -> ThreadId {
    let mut common = b;
    while !c.is_ancestor(common, a) {
        common = c.parent(common).expect("the root is an ancestor of all");
    }
    common
}

/// The child of `ancestor` that is `thread` or one of its ancestors.
fn child_towards(c: &Computation, ancestor: ThreadId, thread: ThreadId) -> ThreadId {
    let mut at = thread;
    while c.parent(at) != Some(ancestor) {
        at = c.parent(at).expect("the ancestor lies on the way to the root");
    }
    at
}
