//! Every item is dropped exactly once, whatever panics, and wherever.

use bombyx::Pool;
use bombyx::iter::plumbing::{Folder, UnindexedConsumer, UnindexedProducer, bridge_unindexed};
use bombyx::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicIsize;
use std::sync::atomic::Ordering::Relaxed;

/// Counts itself.
struct Counted<'a> {
    alive: &'a AtomicIsize,
    number: usize,
}

impl<'a> Counted<'a> {
    fn new(alive: &'a AtomicIsize, number: usize) -> Counted<'a> {
        alive.fetch_add(1, Relaxed);
        Counted { alive, number }
    }
}

impl Clone for Counted<'_> {
    fn clone(&self) -> Self {
        Counted::new(self.alive, self.number)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Relaxed);
    }
}

const LEN: usize = 60;

fn items(alive: &AtomicIsize) -> Vec<Counted<'_>> {
    (0..LEN).map(|number| Counted::new(alive, number)).collect()
}

/// Runs `f` with a check that panics at each position in turn, and at none.
fn at_every_position<F>(f: F)
where
    F: Fn(&AtomicIsize, &(dyn Fn(&Counted<'_>) + Sync)) + Sync,
{
    std::panic::set_hook(Box::new(|_| ()));
    for processors in [1, 2, 4] {
        let pool = Pool::builder().processors(processors).build().unwrap();
        for position in 0..=LEN {
            let alive = AtomicIsize::new(0);
            let check = |item: &Counted<'_>| assert!(item.number != position, "planned");
            let result = catch_unwind(AssertUnwindSafe(|| pool.run(|| f(&alive, &check))));
            assert_eq!(result.is_err(), position < LEN, "position {position}");
            assert_eq!(alive.into_inner(), 0, "position {position}, {processors} processors");
        }
    }
}

#[test]
fn collect_in_place() {
    at_every_position(|alive, check| {
        let kept: Vec<_> = items(alive).into_par_iter().inspect(check).collect();
        assert_eq!(kept.len(), LEN);
    });
}

#[test]
fn collect_in_pieces() {
    at_every_position(|alive, check| {
        let kept: Vec<_> =
            items(alive).into_par_iter().inspect(check).filter(|item| item.number % 2 == 0).collect();
        assert_eq!(kept.len(), LEN / 2);
    });
}

#[test]
fn unzip_and_partition() {
    at_every_position(|alive, check| {
        let pairs = items(alive).into_par_iter().map(|item| {
            check(&item);
            (item.clone(), item)
        });
        let (a, b): (Vec<_>, Vec<_>) = pairs.unzip();
        assert_eq!(a.len(), b.len());
        let (a, b): (Vec<_>, Vec<_>) = a.into_par_iter().partition(|item| item.number < 7);
        assert_eq!((a.len(), b.len()), (7, LEN - 7));
    });
}

#[test]
fn drain() {
    at_every_position(|alive, check| {
        let mut all = items(alive);
        let rest = catch_unwind(AssertUnwindSafe(|| all.par_drain(10..50).for_each(|item| check(&item))));
        assert_eq!(all.len(), LEN - 40);
        all.iter().for_each(check);
        rest.unwrap_or_else(|payload| std::panic::resume_unwind(payload));
    });
}

#[test]
fn adapters_with_values_of_their_own() {
    at_every_position(|alive, check| {
        let chunks: Vec<_> =
            items(alive).into_par_iter().inspect(check).chunks(7).map(|chunk| chunk.len()).collect();
        assert_eq!(chunks.iter().sum::<usize>(), LEN);
        let state = Counted::new(alive, LEN);
        let both = items(alive).into_par_iter().zip(items(alive)).map_with(state, |_, (a, _b)| a);
        assert_eq!(both.rev().count(), LEN);
        let last = items(alive).into_par_iter().max_by_key(|item| item.number);
        assert_eq!(last.map(|item| item.number), Some(LEN - 1));
        let found = items(alive).into_par_iter().find_first(|item| item.number == 30);
        assert_eq!(found.map(|item| item.number), Some(30));
        let states = items(alive)
            .into_par_iter()
            .with_state(|| Counted::new(alive, 0))
            .for_each(|state, item| state.number += item.number);
        assert_eq!(states.iter().map(|state| state.number).sum::<usize>(), LEN * (LEN - 1) / 2);
    });
}

#[test]
fn bridges_and_streams() {
    at_every_position(|alive, check| {
        let kept: Vec<_> = items(alive).into_iter().par_bridge().inspect(check).collect();
        assert_eq!(kept.len(), LEN);
        let mut stream = kept.into_iter().par_stream(8).map(|item| item.clone());
        assert!(stream.next().is_some());
        assert_eq!(stream.fold(0, |n, _| n + 1), LEN - 1);
    });
}

#[test]
fn sorts() {
    std::panic::set_hook(Box::new(|_| ()));
    let pool = Pool::builder().processors(3).build().unwrap();
    // Panics in the sorts of parts, in merges into the buffer, and in merges from there.
    for step in (1..150_000).step_by(5_003).chain([usize::MAX]) {
        for stable in [true, false] {
            let alive = AtomicIsize::new(0);
            let mut all: Vec<_> = (0..10_000).map(|i| Counted::new(&alive, i * 7919 % 10_000)).collect();
            let calls = std::sync::atomic::AtomicUsize::new(0);
            let compare = |a: &Counted<'_>, b: &Counted<'_>| {
                assert!(calls.fetch_add(1, Relaxed) != step, "planned");
                a.number.cmp(&b.number)
            };
            let result = catch_unwind(AssertUnwindSafe(|| {
                pool.run(
                    || if stable { all.par_sort_by(compare) } else { all.par_sort_unstable_by(compare) },
                );
            }));
            assert_eq!(result.is_err(), step < calls.into_inner());
            assert!(result.is_err() || all.is_sorted_by_key(|item| item.number));
            let mut numbers: Vec<_> = all.iter().map(|item| item.number).collect();
            numbers.sort_unstable();
            assert!(numbers.into_iter().eq(0..10_000));
            drop(all);
            assert_eq!(alive.into_inner(), 0);
        }
    }
}

/// Counts how many of ten thousand items of a millisecond are visited. All of them would take seconds, so the bound leaves the
/// failing item a lot of time.
fn visited(run: impl Fn(&(dyn Fn(usize) + Sync)) + Sync) -> usize {
    std::panic::set_hook(Box::new(|_| ()));
    let visited = AtomicIsize::new(0);
    let visit = |_| {
        visited.fetch_add(1, Relaxed);
        std::thread::sleep(std::time::Duration::from_millis(1));
    };
    let pool = Pool::builder().processors(2).build().unwrap();
    let _ = catch_unwind(AssertUnwindSafe(|| pool.run(|| run(&visit))));
    visited.into_inner() as usize
}

#[test]
fn a_failing_item_stops_the_others() {
    let panic = |visit: &(dyn Fn(usize) + Sync)| {
        (0..10_000usize).into_par_iter().for_each(|i| if i == 0 { panic!("planned") } else { visit(i) });
    };
    let error = |visit: &(dyn Fn(usize) + Sync)| {
        let result = (0..10_000usize).into_par_iter().try_for_each(|i| {
            visit(i);
            if i == 0 { Err(()) } else { Ok(()) }
        });
        assert!(result.is_err());
    };
    let found = |visit: &(dyn Fn(usize) + Sync)| {
        let found = (0..10_000usize).into_par_iter().find_first(|i| {
            visit(*i);
            *i == 1
        });
        assert_eq!(found, Some(1));
    };
    assert!(visited(panic) < 2_500);
    assert!(visited(error) < 2_500);
    assert!(visited(found) < 2_500);
}

/// How many of a million items are visited on one processor.
fn visited_alone(run: impl Fn(&(dyn Fn(usize) + Sync)) + Sync) -> usize {
    std::panic::set_hook(Box::new(|_| ()));
    let visited = AtomicIsize::new(0);
    let visit = |_| {
        visited.fetch_add(1, Relaxed);
    };
    let pool = Pool::builder().processors(1).build().unwrap();
    let _ = catch_unwind(AssertUnwindSafe(|| pool.run(|| run(&visit))));
    visited.into_inner() as usize
}

#[test]
fn on_one_processor_nothing_follows_what_ends_a_loop() {
    const ITEMS: usize = 1_000_000;
    for last in [0, 1, 77, 40_000] {
        let panic = |visit: &(dyn Fn(usize) + Sync)| {
            (0..ITEMS).into_par_iter().for_each(|i| {
                visit(i);
                assert!(i != last, "planned");
            });
        };
        let error = |visit: &(dyn Fn(usize) + Sync)| {
            let result = (0..ITEMS).into_par_iter().try_for_each(|i| {
                visit(i);
                if i == last { Err(i) } else { Ok(()) }
            });
            assert_eq!(result, Err(last));
        };
        let collected = |visit: &(dyn Fn(usize) + Sync)| {
            let result: Result<Vec<_>, _> = (0..ITEMS)
                .into_par_iter()
                .map(|i| {
                    visit(i);
                    if i == last { Err(i) } else { Ok(i) }
                })
                .collect();
            assert_eq!(result, Err(last));
        };
        let found = |visit: &(dyn Fn(usize) + Sync)| {
            let found = (0..ITEMS).into_par_iter().find_first(|i| {
                visit(*i);
                *i == last
            });
            assert_eq!(found, Some(last));
        };
        assert_eq!(visited_alone(panic), last + 1);
        assert_eq!(visited_alone(error), last + 1);
        assert_eq!(visited_alone(collected), last + 1);
        assert_eq!(visited_alone(found), last + 1);
    }
}

/// A producer that does not know how long it is, and can be cut once.
struct Halves {
    items: std::ops::Range<usize>,
    whole: bool,
}

impl UnindexedProducer for Halves {
    type Item = usize;

    fn split(self) -> (Self, Option<Self>) {
        let std::ops::Range { start, end } = self.items;
        if !self.whole {
            return (self, None);
        }
        let half = |items| Halves { items, whole: false };
        (half(start..end / 2), Some(half(end / 2..end)))
    }

    fn fold_with<F: Folder<usize>>(self, folder: F) -> F {
        folder.consume_iter(self.items)
    }
}

impl ParallelIterator for Halves {
    type Item = usize;

    fn drive_unindexed<C: UnindexedConsumer<usize>>(self, consumer: C) -> C::Result {
        bridge_unindexed(self, consumer)
    }
}

/// The half that does not fail has ten thousand items of a millisecond, and it has begun when the other one fails.
#[test]
fn a_failing_item_stops_a_leaf_of_unknown_length() {
    let begun = std::sync::Barrier::new(2);
    let stopped = visited(|visit| {
        Halves { items: 0..20_000, whole: true }.for_each(|i| match i {
            0 => {
                begun.wait();
                panic!("planned")
            }
            10_000 => drop(begun.wait()),
            i => visit(i),
        });
    });
    assert!(stopped < 2_500, "{stopped} items were visited");
    // The items and their order stay as they were.
    let all: Vec<_> = Halves { items: 0..20_000, whole: true }.collect();
    assert!(all.into_iter().eq(0..20_000));
    assert_eq!(Halves { items: 0..20_000, whole: true }.find_first(|i| *i > 700), Some(701));
}
