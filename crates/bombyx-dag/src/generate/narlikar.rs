//! Examples of DFD: `dfd-figure2`, `dfd-figure4`, and `hoard`, a computation that needs the space that its Theorem 4.3 allows.

use super::{FRAME, Generator, bytes, parameter, weight};
use crate::{BuildError, Builder, Computation, StrandId};

/// DFD Figure 2. Its text fixes the shape: 16 threads, of which a depth-first execution has at most 5 active and a
/// breadth-first one all. The root forks t1, t2, t3 and t4, and the first of them that forks is t2, once. That is the
/// binomial tree: the j-th child of a thread has j − 1 children.
pub(super) const FIGURE2: Generator = Generator {
    name: "dfd-figure2",
    about: "the example of DFD Figure 2: 16 threads, at most 5 active in serial order",
    parameters: &[
        parameter("order", 4, 0, 20, "children of the root; 2^order threads in all"),
        weight("work", 1, "weight of the strand that ends a thread's own part"),
        FRAME,
    ],
    size: |values| 3.0 * 2f64.powf(values[0] as f64),
    build: |values| {
        let mut b = Builder::new(values[2]);
        binomial(&mut b, values[0], values[1], values[2]);
        b.build()
    },
};

/// A thread with this many children: one strand for each fork, its own part, and one strand for each join, the youngest
/// child first.
fn binomial(b: &mut Builder, children: u64, work: u64, frame: u64) {
    let mut ends: Vec<StrandId> = Vec::new();
    for child in 0..children {
        b.strand(1);
        b.spawn(frame);
        binomial(b, child, work, frame);
        ends.push(b.end());
    }
    b.strand(work);
    for end in ends.into_iter().rev() {
        b.strand(1);
        b.wait_for(end);
    }
}

/// DFD Figure 4: a nested-parallel computation of 11 actions and depth 6, in its serial order. The text that we have
/// gives these two numbers, but not the drawing.
pub(super) const FIGURE4: Generator = Generator {
    name: "dfd-figure4",
    about: "a nested-parallel computation with the work 11 and the depth 6 of DFD Figure 4",
    parameters: &[bytes("frame", 1, "bytes of every frame")],
    size: |_| 11.0,
    build: |values| figure4(values[0]),
};

fn figure4(frame: u64) -> Result<Computation, BuildError> {
    let mut b = Builder::new(frame);
    let leaf = |b: &mut Builder, actions: usize| {
        b.spawn(frame);
        for _ in 0..actions {
            b.strand(1);
        }
        b.end()
    };
    b.strand(1); // 1 forks a thread …
    b.spawn(frame);
    b.strand(1); // 2, which forks one …
    let inner = leaf(&mut b, 2); // 3, 4
    b.strand(1); // 5
    b.strand(1); // 6 joins it
    b.wait_for(inner);
    let left = b.end();
    b.strand(1); // 7 forks another one
    let right = leaf(&mut b, 1); // 8
    b.strand(1); // 9
    b.strand(1); // 10 joins that
    b.wait_for(right);
    b.strand(1); // 11 joins the first
    b.wait_for(left);
    b.build()
}

/// Chains of forks whose continuations each allocate a block and keep it until everything below has ended. When the
/// serial execution comes to a continuation, everything below *has* ended, so it holds one block at a time. Thieves
/// take the oldest continuations while the chain goes down, and hold a block for every level.
pub(super) const HOARD: Generator = Generator {
    name: "hoard",
    about: "chains whose continuations hold memory until the chain returns: the space that DFD Theorem 4.3 allows",
    parameters: &[
        parameter("spines", 2, 1, 1 << 20, "chains side by side"),
        parameter("levels", 20, 1, 1 << 20, "forks in each"),
        bytes("bytes", 100, "heap bytes that every continuation holds"),
        weight("slow", 3, "weight of every forking strand"),
        weight("wait", 10, "weight of the strand at the end of a chain"),
        bytes("frame", 0, "bytes of every frame"),
        parameter("blocks", 1, 1, 1 << 20, "such blocks in every continuation, one after the other"),
    ],
    size: |values| values[0] as f64 * ((2.0 + values[6] as f64) * values[1] as f64 + 3.0) + 1.0,
    build: |values| {
        let &[spines, levels, block, slow, wait, frame, blocks] = values else {
            unreachable!("a spec holds every parameter")
        };
        let mut b = Builder::new(frame);
        let mut ends = Vec::new();
        for _ in 0..spines {
            b.strand(1);
            b.spawn(frame);
            for _ in 0..levels {
                b.strand(slow);
                b.spawn(frame);
            }
            b.strand(wait);
            let mut below = b.end();
            for _ in 0..levels {
                for _ in 0..blocks {
                    b.strand(1);
                    b.allocate(block);
                }
                b.strand(1);
                b.wait_for(below);
                b.free(blocks * block);
                below = b.end();
            }
            ends.push(below);
        }
        b.strand(1);
        for end in ends.into_iter().rev() {
            b.strand(1);
            b.wait_for(end);
        }
        b.build()
    },
};

#[cfg(test)]
mod tests {
    use crate::generate::Spec;
    use crate::{Class, Computation, Measures};

    fn build(spec: &str) -> Computation {
        spec.parse::<Spec>().unwrap().build().unwrap()
    }

    #[test]
    fn figure_2_has_sixteen_threads_five_deep() {
        let c = build("dfd-figure2:frame=1");
        assert_eq!((c.thread_count(), c.class()), (16, Class::NestedParallel));
        assert_eq!(Measures::of(&c).stack, 5, "at most 5 threads are active in serial order");
        let children = |t| c.threads().filter(|&child| c.parent(child) == Some(t)).count();
        let of_root = c.threads().filter(|&t| c.parent(t) == Some(c.root()));
        assert_eq!(of_root.map(children).collect::<Vec<_>>(), [0, 1, 2, 3], "t2 forks t5");
    }

    #[test]
    fn figure_4_has_the_paper_s_work_and_depth() {
        let c = build("dfd-figure4");
        let m = Measures::of(&c);
        assert_eq!((m.work, m.span, c.class()), (11, 6, Class::NestedParallel));
    }

    #[test]
    fn a_hoard_is_small_in_serial_order() {
        let c = build("hoard:spines=4,levels=30,bytes=100");
        let m = Measures::of(&c);
        assert_eq!((m.serial_space, c.class()), (100, Class::NestedParallel));
        assert_eq!(m.allocated, 4 * 30 * 100);
    }
}
