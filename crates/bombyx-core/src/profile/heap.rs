//! What a piece of a computation does to the heap: how much more is in use when it ends, and the most in between.
//!
//! A strand of a dag file can say just this: it allocates its peak when it begins, and frees what is not left of that
//! when it ends. The figures come from [`crate::alloc`], where the calling thread counts what it allocates. So, like
//! times, they are differences of two readings on one thread.

use std::cell::Cell;

/// See the module text. In bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Heap {
    /// The most in use, beyond what was in use when the piece began. Never negative.
    pub(crate) high: i64,
    /// How much more is in use when it ends, or, if negative, how much less.
    pub(crate) net: i64,
}

impl Heap {
    pub(crate) const NONE: Heap = Heap { high: 0, net: 0 };

    /// One block that is allocated or, if negative, freed.
    pub(crate) fn block(bytes: i64) -> Heap {
        Heap { high: bytes.max(0), net: bytes }
    }

    /// `self`, then `next`.
    pub(crate) fn then(self, next: Heap) -> Heap {
        Heap {
            high: self.high.max(self.net.saturating_add(next.high)),
            net: self.net.saturating_add(next.net),
        }
    }

    /// The part of the peak that is not left at the end.
    pub(crate) fn freed(self) -> i64 {
        self.high.saturating_sub(self.net)
    }
}

thread_local! {
    /// What the calling thread has allocated since the last question.
    static STRAND: Cell<Heap> = const { Cell::new(Heap::NONE) };
    /// Whether the calling thread runs the profiler, whose memory does not belong to the program.
    static TOOL: Cell<bool> = const { Cell::new(false) };
}

/// Counts a block that the calling thread has allocated or, if negative, freed. Returns false if the profiler did it.
pub(crate) fn note_block(bytes: i64) -> bool {
    let counts = !TOOL.get();
    if counts {
        STRAND.set(STRAND.get().then(Heap::block(bytes)));
    }
    counts
}

/// What the calling thread has allocated since the last call.
pub(crate) fn take_strand() -> Heap {
    STRAND.take()
}

/// While this lives, nothing is charged for what the calling thread allocates and frees. What the profiler allocates
/// this way, it must also free this way.
pub(crate) struct Uncharged {
    before: bool,
}

impl Uncharged {
    #[inline(always)]
    pub(crate) fn begin() -> Uncharged {
        Uncharged { before: TOOL.replace(true) }
    }
}

impl Drop for Uncharged {
    #[inline(always)]
    fn drop(&mut self) {
        TOOL.set(self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_in_use_is_that_of_the_whole() {
        let blocks = [40, -10, 100, -100, 50, -80];
        let whole = blocks.into_iter().fold(Heap::NONE, |heap, bytes| heap.then(Heap::block(bytes)));
        assert_eq!(whole, Heap { high: 130, net: 0 });
        assert_eq!(whole.freed(), 130);
        let (first, second) = blocks.split_at(3);
        let of =
            |blocks: &[i64]| blocks.iter().fold(Heap::NONE, |heap, &bytes| heap.then(Heap::block(bytes)));
        assert_eq!(of(first).then(of(second)), whole, "however it is cut");
    }

    #[test]
    fn what_others_had_allocated_may_be_freed() {
        let heap = Heap::block(-100).then(Heap::block(30));
        assert_eq!((heap, heap.freed()), (Heap { high: 0, net: -70 }, 70));
    }
}
