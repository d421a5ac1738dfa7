//! [`Class`]: which theorems apply to a computation, depending on its join edges.

use crate::{Computation, StrandId};
use std::fmt;

/// The classes of BL §2 and DFD §2, each containing the ones before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Fully strict, and every thread joins its parent once, with its last strand, youngest child first: the
    /// series-parallel dags of nested fork-join programs, which DFDeques assumes.
    NestedParallel,
    /// Every join edge leads to the parent of the thread it leaves: what work stealing's bounds assume.
    FullyStrict,
    /// Every join edge leads to an ancestor of the thread it leaves, and the last strand of every thread has one to its
    /// parent. So a parent outlives its children. The busy-leaves bounds assume this.
    Strict,
    /// Any computation that one processor can execute depth first. Only the greedy bound applies.
    General,
}

impl Class {
    pub(crate) fn of(c: &Computation) -> Self {
        let mut class = Self::NestedParallel;
        for strand in c.strands() {
            for &to in c.joins_from(strand) {
                let (thread, target) = (c.thread_of(strand), c.thread_of(to));
                if c.parent(thread) == Some(target) {
                    continue;
                }
                if !c.is_ancestor(target, thread) {
                    return Self::General;
                }
                class = Self::Strict;
            }
        }
        match class {
            Self::NestedParallel if !is_nested(c) => Self::FullyStrict,
            Self::Strict if c.outlives_parent().is_some() => Self::General,
            class => class,
        }
    }
}

/// Whether, in a fully strict computation, every child joins once, at its end, youngest first. The strands are visited
/// in serial order, which meets a child's end before its join. One stack holds the joins that are still awaited.
fn is_nested(c: &Computation) -> bool {
    let mut awaited: Vec<StrandId> = Vec::new();
    for strand in c.strands() {
        for _ in 0..c.waits(strand) {
            if awaited.pop() != Some(strand) {
                return false;
            }
        }
        match c.joins_from(strand) {
            [] => {}
            &[to] if c.next(strand).is_none() => awaited.push(to),
            _ => return false,
        }
    }
    true
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NestedParallel => "nested-parallel",
            Self::FullyStrict => "fully strict",
            Self::Strict => "strict",
            Self::General => "general",
        })
    }
}
