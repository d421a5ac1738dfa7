//! Every rule of the model: a computation that breaks it is refused, with the right error.

use bombyx_dag::{BuildError, Builder, Class, Draft, StrandId, ThreadId};

const fn v(label: u32) -> StrandId {
    StrandId(label - 1)
}

const fn thread(label: u32) -> ThreadId {
    ThreadId(label - 1)
}

fn broken(tell: impl FnOnce(&mut Builder)) -> BuildError {
    let mut b = Builder::new(0);
    tell(&mut b);
    b.build().expect_err("the rule was broken")
}

#[test]
fn builder_refuses() {
    assert_eq!(broken(|_| {}), BuildError::EmptyThread(thread(1)));
    assert_eq!(
        broken(|b| {
            b.strand(0);
        }),
        BuildError::ZeroWeight(v(1))
    );
    assert_eq!(
        broken(|b| {
            b.spawn(0);
        }),
        BuildError::SpawnWithoutStrand(thread(1))
    );
    assert_eq!(
        broken(|b| {
            b.end();
        }),
        BuildError::EndOfRoot
    );
    assert_eq!(broken(|b| b.wait_for(v(1))), BuildError::WaitWithoutStrand(thread(1)));
    assert_eq!(broken(|b| b.allocate(1)), BuildError::EmptyThread(thread(1)));
    let forked = |b: &mut Builder| {
        b.strand(1);
        b.spawn(0);
        b.strand(1);
        b.end()
    };
    assert_eq!(
        broken(|b| {
            forked(b);
        }),
        BuildError::SpawnAtEnd(v(1))
    );
    let rest = |b: &mut Builder, then: &dyn Fn(&mut Builder, StrandId)| {
        let child = forked(b);
        b.strand(1);
        then(b, child);
    };
    assert_eq!(broken(|b| rest(b, &|_, _| {})), BuildError::Detached(thread(2)));
    assert_eq!(
        broken(|b| rest(b, &|b, child| b.wait_for(child))),
        BuildError::JoinAfterSpawn { from: v(2), to: v(3) }
    );
    let joined = |b: &mut Builder, then: &dyn Fn(&mut Builder, StrandId)| {
        rest(b, &|b, child| {
            b.strand(1);
            b.wait_for(child);
            then(b, child);
        });
    };
    assert_eq!(
        broken(|b| joined(b, &|b, child| b.wait_for(child))),
        BuildError::DuplicateJoin { from: v(2), to: v(4) }
    );
    assert_eq!(
        broken(|b| joined(b, &|b, _| b.wait_for(v(1)))),
        BuildError::JoinWithinThread { from: v(1), to: v(4) }
    );
    assert_eq!(broken(|b| joined(b, &|b, _| b.wait_for(v(9)))), BuildError::UnknownStrand(v(9)));
    assert_eq!(broken(|b| joined(b, &|b, _| b.free(1))), BuildError::FreesTooMuch(v(4)));
    assert_eq!(
        broken(|b| joined(b, &|b, _| {
            b.strand(u64::MAX);
        })),
        BuildError::Overflow
    );
    assert_eq!(
        broken(|b| {
            joined(b, &|b, _| {
                b.allocate(u64::MAX);
                b.allocate(1);
            })
        }),
        BuildError::Overflow
    );
    assert_eq!(
        broken(|b| {
            b.strand(1);
            b.spawn(0);
            b.strand(1);
        }),
        BuildError::Unfinished(thread(2))
    );
    assert_eq!(
        broken(|b| {
            b.strand(1);
            b.spawn(0);
        }),
        BuildError::Unfinished(thread(2))
    );
    assert_eq!(
        broken(|b| {
            forked(b);
            b.spawn(0);
            b.strand(1);
            b.end();
        }),
        BuildError::SecondSpawn(v(1))
    );
}

/// Two threads: the root v1 v2 v3 spawns Γ2 at v1, which is v4 and joins v3.
fn draft() -> Draft {
    let mut draft = Draft::new();
    let (root, child) = (draft.thread(8), draft.thread(8));
    for _ in 0..3 {
        draft.strand(root, 1);
    }
    draft.strand(child, 1);
    draft.spawn(v(1), child);
    draft.join(v(4), v(3));
    draft
}

#[test]
fn draft_renumbers_in_serial_order() {
    let mut b = Builder::new(8);
    b.strand(1);
    b.spawn(8);
    b.strand(1);
    let end = b.end();
    b.strand(1);
    b.strand(1);
    b.wait_for(end);
    assert_eq!(draft().build(), b.build());
}

#[test]
fn draft_refuses() {
    let with = |change: &dyn Fn(&mut Draft)| {
        let mut d = draft();
        change(&mut d);
        d.build().expect_err("the rule was broken")
    };
    assert_eq!(Draft::new().build(), Err(BuildError::NotATree(thread(1))));
    assert_eq!(with(&|d| d.spawn(v(2), thread(7))), BuildError::UnknownThread(thread(7)));
    assert_eq!(with(&|d| d.spawn(v(4), thread(1))), BuildError::NotATree(thread(1)));
    assert_eq!(with(&|d| d.spawn(v(2), thread(2))), BuildError::TwoParents(thread(2)));
    assert_eq!(
        with(&|d| {
            d.thread(0);
        }),
        BuildError::NotATree(thread(3))
    );
    assert_eq!(
        with(&|d| {
            let ring = d.thread(0);
            let strand = d.strand(ring, 1);
            d.spawn(strand, ring);
        }),
        BuildError::NotATree(thread(3))
    );
    assert_eq!(with(&|d| d.join(v(4), v(9))), BuildError::UnknownStrand(v(9)));
    assert_eq!(with(&|d| d.join(v(4), v(2))), BuildError::JoinAfterSpawn { from: v(4), to: v(2) });
    assert_eq!(with(&|d| d.join(v(4), v(1))), BuildError::Cycle(v(1)));
    assert_eq!(with(&|d| d.join(v(3), v(4))), BuildError::Cycle(v(3)));
    assert_eq!(with(&|d| d.join(v(2), v(4))), BuildError::JoinBackwards { from: v(2), to: v(4) });
    assert_eq!(with(&|d| d.join(v(4), v(3))), BuildError::DuplicateJoin { from: v(4), to: v(3) });
    assert_eq!(
        with(&|d| {
            let second = d.thread(0);
            d.spawn(v(2), second);
        }),
        BuildError::EmptyThread(thread(3))
    );
    assert_eq!(
        with(&|d| {
            let second = d.thread(0);
            d.strand(second, 1);
            d.spawn(v(1), second);
        }),
        BuildError::SecondSpawn(v(1))
    );
    assert_eq!(
        with(&|d| {
            let second = d.thread(0);
            d.strand(second, 0);
            d.spawn(v(2), second);
        }),
        BuildError::ZeroWeight(v(5))
    );
    assert_eq!(with(&|d| d.heap(v(4), 1, 2)), BuildError::FreesTooMuch(v(4)));
}

#[test]
fn classes_by_join_edges() {
    // Two children joined in the order of their spawns: fully strict, but not nested.
    let mut b = Builder::new(0);
    b.strand(1);
    b.spawn(0);
    b.strand(1);
    let first = b.end();
    b.strand(1);
    b.spawn(0);
    b.strand(1);
    let second = b.end();
    b.strand(1);
    b.strand(1);
    b.wait_for(first);
    b.strand(1);
    b.wait_for(second);
    assert_eq!(b.build().unwrap().class(), Class::FullyStrict);

    // A value from one sibling to the next: one processor can run it, but it is not strict.
    let mut b = Builder::new(0);
    b.strand(1);
    b.spawn(0);
    b.strand(1);
    let first = b.end();
    b.strand(1);
    b.spawn(0);
    b.strand(1);
    b.wait_for(first);
    let second = b.end();
    b.strand(1);
    b.strand(1);
    b.wait_for(second);
    assert_eq!(b.build().unwrap().class(), Class::General);
}
