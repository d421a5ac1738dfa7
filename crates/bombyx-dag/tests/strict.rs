//! Bushy computations are of the class asked for, and any computation can be made strict without losing an order.

use bombyx_dag::generate::Spec;
use bombyx_dag::{Class, Computation, Measures, StrandId, made_fully_strict, made_strict};

fn build(text: &str) -> Computation {
    text.parse::<Spec>().unwrap().build().unwrap()
}

#[test]
fn bushy_computations_have_their_class_unequal_frames_and_parallelism() {
    for (class, expected) in
        [Class::NestedParallel, Class::FullyStrict, Class::Strict, Class::General].into_iter().enumerate()
    {
        let (mut exact, mut parallelism) = (0, 0.0);
        for seed in 0..50 {
            let c = build(&format!("bushy:threads=80,class={class},seed={seed}"));
            assert!(
                c.class() <= expected && c.thread_count() == 80,
                "class {class}, seed {seed}: {}",
                c.class()
            );
            exact += usize::from(c.class() == expected);
            let m = Measures::of(&c);
            parallelism += m.parallelism() / 50.0;
            let frames: std::collections::BTreeSet<u64> = c.threads().map(|t| c.frame(t)).collect();
            assert!(frames.len() > 20 && m.largest_frame > 128);
            assert!(class == 0 || m.joins_to_parent > 1, "seed {seed}");
        }
        assert!(exact > 45, "class {class}: {exact} of 50");
        assert!(parallelism > [4.0, 3.0, 3.0, 2.0][class], "class {class}: parallelism {parallelism}");
    }
}

/// Which strands each strand of a computation comes after, among those given.
fn before(c: &Computation) -> Vec<Vec<bool>> {
    let mut before = vec![vec![false; c.strand_count()]; c.strand_count()];
    for u in c.strands() {
        let edges = c.spawned(u).into_iter().chain(c.next(u)).chain(c.joins_from(u).iter().copied());
        for to in edges.collect::<Vec<StrandId>>() {
            let mut row = before[u.index()].clone();
            row[u.index()] = true;
            before[to.index()].iter_mut().zip(row).for_each(|(known, new)| *known |= new);
        }
    }
    before
}

#[test]
fn made_strict_every_order_is_kept() {
    for seed in 0..40 {
        let c = build(&format!("bushy:threads=25,class=3,seed={seed}"));
        for (made, class) in [(made_strict(&c), Class::Strict), (made_fully_strict(&c), Class::FullyStrict)] {
            assert!(made.class() <= class, "seed {seed}: {}", made.class());
            assert!(made.outlives_parent().is_none());
            // The order of the serial execution distinguishes the inserted strands from the others.
            let kept = strands_of_both(&c, &made);
            let after = before(&made);
            for u in c.strands() {
                for v in c.spawned(u).into_iter().chain(c.next(u)).chain(c.joins_from(u).iter().copied()) {
                    assert!(
                        after[kept[v.index()].index()][kept[u.index()].index()],
                        "seed {seed}: {u} before {v}"
                    );
                }
            }
            let (was, is) = (Measures::of(&c), Measures::of(&made));
            assert!(
                is.work - was.work == (made.strand_count() - c.strand_count()) as u64 && is.span >= was.span
            );
            assert_eq!((is.stack, is.largest_frame), (was.stack, was.largest_frame));
        }
    }
}

/// The strand of `made` that each strand of `c` became. Threads keep their order. Within a thread, an inserted strand
/// comes before a strand that waits and follows a spawn.
fn strands_of_both(c: &Computation, made: &Computation) -> Vec<StrandId> {
    let mut kept = vec![StrandId(0); c.strand_count()];
    for thread in c.threads() {
        let mut theirs: Vec<StrandId> = made.strands_of(thread).collect();
        let ours: Vec<StrandId> = c.strands_of(thread).collect();
        while theirs.len() > ours.len() {
            let put_in = (0..ours.len()).find(|&i| {
                made.weight(theirs[i]) == 1
                    && made.waits(theirs[i]) == 0
                    && made.child(theirs[i]).is_none()
                    && i > 0
                    && made.child(theirs[i - 1]).is_some()
                    && made.waits(theirs[i + 1]) > 0
                    && (c.waits(ours[i]) > 0
                        || c.weight(ours[i]) > 1
                        || c.child(ours[i]).is_some()
                        || theirs.len() - ours.len() >= ours.len() - i)
            });
            theirs.remove(put_in.unwrap_or(ours.len()));
        }
        for (&ours, theirs) in ours.iter().zip(theirs) {
            kept[ours.index()] = theirs;
        }
    }
    kept
}

#[test]
fn what_is_strict_stays_as_it_is() {
    let c = build("bushy:threads=40,class=1,seed=3");
    assert_eq!(made_strict(&c), c);
    assert_eq!(made_fully_strict(&c), c);
}
