//! Reducers: the result is that of the serial program, whatever was stolen, on every scheduler; views are dropped once.
//! Random programs are in the conformance suite.

mod common;

use bombyx::dropin::ScopeExt as _;
use bombyx::reducers::{Append, First, Fold, Last, Max, Merge, Min, Sum};
use bombyx::{Monoid, Pool, Reducer, Scope, Threads, blocking, current_processor, for_each, join, scope};
use common::{Census, Counted, Rng, builder, bump, pool, seed, wait_until, watchdog, with_every_scheduler};
use std::collections::{BTreeMap, HashMap, LinkedList, VecDeque};
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc;
use std::thread;

type List = Append<Vec<usize>>;

/// Every scheduler, and fixed threads.
fn everywhere(processors: usize, check: impl Fn(&Pool)) {
    with_every_scheduler(processors, &check);
    check(&builder(processors).threads(Threads::Fixed).build().unwrap());
}

/// Now and then gives thieves time.
fn dawdle(n: usize) {
    if n % 13 == 0 {
        thread::yield_now();
    }
}

/// A tree of joins over the numbers from `from` to `to`, in order.
fn walk(from: usize, to: usize, list: &Reducer<List>) {
    if to - from == 1 {
        dawdle(from);
        return list.with(|list| list.push(from));
    }
    let middle = from + (to - from) / 2;
    join(|| walk(from, middle, list), || walk(middle, to, list));
}

#[test]
fn joins_keep_the_order() {
    for processors in [1, 2, 5] {
        watchdog("joins", || {
            everywhere(processors, |pool| {
                let list = Reducer::new(List::new());
                pool.run(|| walk(0, 1_000, &list));
                // Made and used on a carrier.
                let made_inside = pool.run(|| {
                    let list = Reducer::new(List::new());
                    join(|| walk(0, 500, &list), || walk(500, 1_000, &list));
                    list.into_inner()
                });
                assert_eq!(list.into_inner(), (0..1_000).collect::<Vec<_>>());
                assert_eq!(made_inside, (0..1_000).collect::<Vec<_>>());
            });
        });
    }
}

#[test]
fn loops_keep_the_order() {
    watchdog("loops", || {
        everywhere(3, |pool| {
            let list = Reducer::new(List::new());
            pool.run(|| {
                for_each(0..2_000, |n| {
                    dawdle(n);
                    list.with(|list| list.push(n));
                });
            });
            assert_eq!(list.into_inner(), (0..2_000).collect::<Vec<_>>());
        });
    });
}

/// A closure of a scope counts where it is spawned: also if closures spawn others, if halves of joins spawn, and if so
/// many wait that some run in place.
#[test]
fn scopes_keep_the_order_of_spawning() {
    fn chain<'s>(s: &bombyx::Scope<'s>, left: usize, list: &'s Reducer<List>) {
        list.with(|list| list.push(2 * left));
        if left > 0 {
            s.spawn(move |s| chain(s, left - 1, list));
        }
        list.with(|list| list.push(2 * left + 1));
    }
    for processors in [1, 2, 4] {
        watchdog("scopes", || {
            everywhere(processors, |pool| {
                let list = Reducer::new(List::new());
                let push = |n| list.with(|list: &mut Vec<usize>| list.push(n));
                pool.run(|| {
                    scope(|s| {
                        for n in 0..700 {
                            push(2 * n);
                            let push = &push;
                            s.spawn(move |_| {
                                dawdle(n);
                                push(2 * n + 1);
                            });
                        }
                    });
                });
                assert_eq!(list.into_inner(), (0..1_400).collect::<Vec<_>>());

                let list = Reducer::new(List::new());
                pool.run(|| scope(|s| chain(s, 2_000, &list)));
                let down = (0..=2_000).rev().map(|n| 2 * n);
                assert_eq!(list.into_inner(), down.chain((0..=2_000).map(|n| 2 * n + 1)).collect::<Vec<_>>());

                let list = Reducer::new(List::new());
                let push = |n| list.with(|list: &mut Vec<usize>| list.push(n));
                pool.run(|| {
                    scope(|outer| {
                        push(0);
                        let push = &push;
                        join(
                            || outer.spawn(move |_| push(1)),
                            || {
                                push(2);
                                scope(|inner| {
                                    inner.spawn(move |_| push(3));
                                    outer.spawn(move |_| push(4));
                                    push(5);
                                    inner.spawn(move |_| push(6));
                                });
                                push(7);
                                outer.spawn(move |_| push(8));
                            },
                        );
                        push(9);
                    });
                    push(10);
                });
                assert_eq!(list.into_inner(), (0..=10).collect::<Vec<_>>());
            });
        });
    }
}

/// Half a million spawns leave no long list behind, and a chain of closures that spawn each other uses no deep stack.
#[test]
fn many_spawns_need_little_memory() {
    watchdog("many", || {
        let sum = Reducer::new(Sum::<usize>::new());
        pool(2).run(|| {
            scope(|s| {
                for n in 0..500_000 {
                    let sum = &sum;
                    s.spawn(move |_| sum.with(|sum| *sum += n));
                }
            });
        });
        assert_eq!(sum.into_inner(), 500_000 * 499_999 / 2);
    });
}

/// What a reducer collects inside of `with` comes after what the outer closure adds, stolen or not.
#[test]
fn forks_inside_of_with_come_after() {
    watchdog("with", || {
        everywhere(2, |pool| {
            for _ in 0..20 {
                let list = Reducer::new(List::new());
                pool.run(|| {
                    list.with(|outer| {
                        outer.push(0);
                        join(|| walk(3, 40, &list), || walk(40, 80, &list));
                        outer.push(1);
                        list.with(|inner| {
                            inner.push(80);
                            join(|| walk(82, 90, &list), || walk(90, 100, &list));
                            inner.push(81);
                        });
                        outer.push(2);
                    });
                });
                assert_eq!(list.into_inner(), (0..100).collect::<Vec<_>>());
            }
        });
    });
}

/// What was added before a panic stays, and what the others add too.
#[test]
fn panics_change_nothing_but_what_they_cut_off() {
    watchdog("panics", || {
        everywhere(2, |pool| {
            for _ in 0..20 {
                let list = Reducer::new(List::new());
                let add = |n| list.with(|list: &mut Vec<usize>| list.push(n));
                let fail = || panic::resume_unwind(Box::new(()));
                let caught =
                    |f: &(dyn Fn() + Sync)| assert!(panic::catch_unwind(AssertUnwindSafe(f)).is_err());
                pool.run(|| {
                    caught(&|| {
                        join(
                            || {
                                add(0);
                                fail()
                            },
                            || walk(1, 20, &list),
                        );
                    });
                    caught(&|| {
                        join(
                            || walk(20, 40, &list),
                            || {
                                add(40);
                                dawdle(0);
                                fail()
                            },
                        );
                    });
                    caught(&|| {
                        let add = &add;
                        scope(|s| {
                            (41..60).for_each(|n| {
                                s.spawn(move |_| {
                                    add(n);
                                    if n == 50 {
                                        fail()
                                    }
                                });
                            });
                            add(60);
                            fail()
                        });
                    });
                    caught(&|| {
                        list.with(|list| {
                            list.push(61);
                            fail()
                        })
                    });
                    add(62);
                });
                assert_eq!(list.into_inner(), (0..=62).collect::<Vec<_>>());
            }
        });
    });
}

/// Combines lists and panics when it sees a certain number on the right.
struct Touchy;

impl Monoid for Touchy {
    type View = Vec<Counted<usize>>;

    fn identity(&self) -> Self::View {
        Vec::new()
    }

    fn combine(&self, left: &mut Self::View, right: Self::View) {
        assert!(right.iter().all(|n| n.0 != 13), "touchy");
        left.extend(right);
    }
}

/// If `combine` panics, whoever merges panics, and every value is dropped once.
#[test]
fn a_panic_while_merging_arrives() {
    let seed = seed();
    watchdog("touchy", || {
        everywhere(2, |pool| {
            let mut rng = Rng::new(seed);
            for round in 0..8 {
                let census = Census::default();
                let list = Reducer::new(Touchy);
                let add = |n| list.with(|list| list.push(census.count(n)));
                let spawned = 1 + rng.below(30);
                let result = pool.run(|| {
                    panic::catch_unwind(AssertUnwindSafe(|| {
                        let add = &add;
                        if round % 2 == 0 {
                            join(|| (0..400).for_each(dawdle), || add(13));
                        } else {
                            scope(|s| (0..spawned).for_each(|n| s.spawn(move |_| add(n))));
                        }
                    }))
                });
                // A view that is the first of its chain is not combined with another.
                assert!(result.is_ok() || round % 2 == 0 || spawned > 13);
                drop(panic::catch_unwind(AssertUnwindSafe(|| drop(list.into_inner()))));
                assert_eq!(census.alive(), 0);
            }
        });
    });
}

/// The ways to spawn a closure in a scope.
#[derive(Clone, Copy, Debug)]
enum How {
    Spawn,
    Defer,
    Fifo,
}

const WAYS: [How; 3] = [How::Spawn, How::Defer, How::Fifo];

impl How {
    fn spawn<'s>(self, s: &Scope<'s>, f: impl FnOnce(&Scope<'s>) + Send + 's) {
        match self {
            How::Spawn => s.spawn(f),
            How::Defer => s.defer(f),
            How::Fifo => s.spawn_fifo(f),
        }
    }
}

/// So many spawns make a list that the spawner settles.
const LONG: usize = 100;

/// If `combine` panics while a spawn settles a long list, the spawn panics. Nothing else is lost.
#[test]
fn a_panic_while_a_spawn_merges_arrives() {
    watchdog("touchy spawns", || {
        for how in WAYS {
            everywhere(2, |pool| {
                let census = Census::default();
                let list = Reducer::new(Touchy);
                let (refused, ran) = (AtomicUsize::new(0), AtomicUsize::new(0));
                pool.run(|| {
                    scope(|s| {
                        for n in 0..LONG {
                            list.with(|list| list.push(census.count(n)));
                            let (ran, carried) = (&ran, census.count(n));
                            let before = ran.load(SeqCst);
                            let spawn = || how.spawn(s, move |_| drop((bump(ran), carried)));
                            match panic::catch_unwind(AssertUnwindSafe(spawn)) {
                                // The other processor takes the closure.
                                Ok(()) => wait_until(|| ran.load(SeqCst) > before),
                                Err(_) => bump(&refused),
                            }
                        }
                    });
                });
                let numbers: Vec<usize> = list.into_inner().iter().map(|n| n.0).collect();
                // What lay in the view that was refused is missing: the number 13.
                assert!(numbers.iter().copied().eq((0..LONG).filter(|&n| n != 13)), "{how:?}: {numbers:?}");
                assert_eq!(refused.into_inner(), 1, "{how:?}: one spawn panicked");
                assert_eq!(ran.into_inner(), LONG - 1, "{how:?}: every other closure ran");
                assert_eq!(census.alive(), 0, "{how:?}");
            });
        }
    });
}

/// While a spawn settles a long list, `combine` blocks, and its carrier comes back on the other processor. The spawn
/// goes on there.
#[test]
fn a_spawn_goes_on_where_merging_ends() {
    for how in WAYS {
        let pool = pool(2);
        let flags = [const { AtomicBool::new(false) }; 5];
        let [armed, occupied, free, taken, back] = flags.each_ref();
        let occupy = |begun: &AtomicBool, until: &AtomicBool| {
            begun.store(true, SeqCst);
            wait_until(|| until.load(SeqCst));
        };
        let moves = AtomicUsize::new(0);
        let combine = |left: &mut Vec<usize>, right: Vec<usize>| {
            if armed.swap(false, SeqCst) {
                let before = current_processor();
                scope(|s| {
                    // The other processor is busy. So only the one that this carrier leaves can take this closure.
                    s.spawn(|_| occupy(taken, back));
                    blocking(|| {
                        wait_until(|| taken.load(SeqCst));
                        free.store(true, SeqCst);
                    });
                    moves.fetch_add(usize::from(current_processor() != before), SeqCst);
                    back.store(true, SeqCst);
                });
            }
            left.extend(right);
        };
        let ((), list) = watchdog(&format!("{how:?} after a move"), || {
            pool.run(|| {
                Reducer::scoped(Fold::new(Vec::new, combine), |list| {
                    let push = |n| list.with(|list: &mut Vec<usize>| list.push(n));
                    let ended = AtomicUsize::new(0);
                    scope(|s| {
                        let (push, ended) = (&push, &ended);
                        let next = |n: usize| {
                            push(2 * n);
                            how.spawn(s, move |_| {
                                push(2 * n + 1);
                                bump(ended);
                            });
                        };
                        for n in 0..20 {
                            next(n);
                            wait_until(|| ended.load(SeqCst) > n);
                        }
                        s.defer(|_| occupy(occupied, free));
                        wait_until(|| occupied.load(SeqCst));
                        armed.store(true, SeqCst);
                        (20..LONG).for_each(next);
                    });
                })
            })
        });
        assert_eq!(moves.into_inner(), 1, "{how:?}: the carrier came back on the other processor");
        assert!(list.iter().copied().eq(0..2 * LONG), "{how:?}: {list:?}");
    }
}

/// `combine` may fork and block.
#[test]
fn combine_may_fork_and_block() {
    watchdog("busy operations", || {
        for how in WAYS {
            everywhere(2, |pool| {
                let combine = |left: &mut Vec<usize>, right: Vec<usize>| {
                    let (mut right, ()) = join(|| right, || blocking(thread::yield_now));
                    left.append(&mut right);
                };
                let list = Reducer::new(Fold::new(Vec::new, combine));
                pool.run(|| {
                    scope(|s| {
                        for n in 0..700 {
                            let push = |n| list.with(|list: &mut Vec<usize>| list.push(n));
                            push(2 * n);
                            dawdle(n);
                            how.spawn(s, move |_| push(2 * n + 1));
                        }
                    });
                });
                assert!(list.into_inner().into_iter().eq(0..1_400), "{how:?}");
            });
        }
    });
}

/// Views that borrow.
#[test]
fn scoped_reducers_may_borrow() {
    watchdog("scoped", || {
        everywhere(3, |pool| {
            let census = Census::default();
            let values: Vec<_> = (0..500).map(|n| census.count(n)).collect();
            let (count, list) = pool.run(|| {
                Reducer::scoped(Append::<Vec<&Counted<usize>>>::new(), |list| {
                    for_each(0..500, |n| list.with(|list| list.push(&values[n])));
                    values.len()
                })
            });
            assert_eq!(count, 500);
            assert!(list.iter().map(|value| value.0).eq(0..500));
            let unwound = panic::catch_unwind(AssertUnwindSafe(|| {
                pool.run(|| {
                    Reducer::scoped(Append::<Vec<&Counted<usize>>>::new(), |list| {
                        for_each(0..500, |n| list.with(|list| list.push(&values[n])));
                        panic::resume_unwind(Box::new(7));
                    })
                })
            }));
            assert!(unwound.is_err());
        });
    });
}

/// Tasks, other threads and broadcasts are no part of the serial order.
#[test]
fn whoever_has_no_place_in_the_order_is_refused() {
    watchdog("strays", || {
        let pool = pool(2);
        let sum: &'static Reducer<Sum<u32>> = Box::leak(Box::new(Reducer::new(Sum::new())));
        let refused = |payload: Box<dyn std::any::Any + Send>| {
            payload.downcast_ref::<&str>().is_some_and(|text| text.contains("does not end in a join"))
                || payload
                    .downcast_ref::<String>()
                    .is_some_and(|text| text.contains("does not end in a join"))
        };
        let add = move || sum.with(|sum| *sum += 1);
        assert!(refused(pool.spawn(add).join().unwrap_err().into_panic().unwrap()));
        let forks = move || {
            join(add, add);
        };
        assert!(refused(pool.spawn(forks).join().unwrap_err().into_panic().unwrap()));
        assert!(refused(thread::spawn(add).join().unwrap_err()));
        // Inside of a task, everything works as usual.
        let inside = pool.spawn(|| {
            let list = Reducer::new(List::new());
            walk(0, 300, &list);
            list.into_inner()
        });
        assert_eq!(inside.join().unwrap(), (0..300).collect::<Vec<_>>());
    });
}

/// A pool in which the caller's closure waits in the queue goes on with the caller's chain, and so does another pool.
#[test]
fn calls_from_outside_belong_to_the_caller() {
    watchdog("calls", || {
        let (first, second) = (pool(1), builder(2).stack_size(1 << 20).build().unwrap());
        let (sender, receiver) = mpsc::channel::<()>();
        // The only processor is busy, so the call below is queued.
        let blocker = first.spawn(move || receiver.recv().unwrap());
        let list = Reducer::new(List::new());
        list.with(|list| list.push(0));
        thread::scope(|threads| {
            let list = &list;
            threads.spawn(move || {
                thread::sleep(std::time::Duration::from_millis(20));
                sender.send(()).unwrap();
                let _ = list;
            });
            first.run(|| walk(1, 100, list));
            second.run(|| {
                walk(100, 200, list);
                first.run(|| walk(200, 300, list));
            });
        });
        blocker.join().unwrap();
        assert_eq!(list.into_inner(), (0..300).collect::<Vec<_>>());
    });
}

#[test]
fn ready_made_operations() {
    let numbers: Vec<i64> = (0..3_000).map(|n| (n * 7919) % 1_000).collect();
    watchdog("operations", || {
        let pool = pool(3);
        macro_rules! reduce {
            ($operation:expr, $add:expr) => {{
                let reducer = Reducer::new($operation);
                let add = $add;
                pool.run(|| {
                    for_each(0..numbers.len(), |i| {
                        dawdle(i);
                        reducer.with(|view| add(view, i, numbers[i]))
                    })
                });
                reducer.into_inner()
            }};
        }
        let at = |wanted| numbers.iter().position(|&n| n == wanted).unwrap();
        let sum = reduce!(Sum::<i64>::new(), |sum: &mut i64, _, n| *sum += n);
        assert_eq!(sum, numbers.iter().sum::<i64>());
        let min = reduce!(Min::new(), |min: &mut bombyx::reducers::Best<_, _, false>, i, n| min.offer(n, i));
        assert_eq!(min.get(), Some((0, at(0))));
        let max = reduce!(Max::new(), |max: &mut bombyx::reducers::Best<_, _, true>, i, n| max.offer(n, i));
        assert_eq!(max.get(), Some((999, at(999))));
        let text =
            reduce!(Append::<String>::new(), |text: &mut String, _, n: i64| text.push_str(&n.to_string()));
        assert_eq!(text, numbers.iter().map(i64::to_string).collect::<String>());
        let deque = reduce!(Append::<VecDeque<_>>::new(), |deque: &mut VecDeque<_>, _, n| deque.push_back(n));
        assert!(deque.iter().eq(&numbers));
        let list =
            reduce!(Append::<LinkedList<_>>::new(), |list: &mut LinkedList<_>, _, n| list.push_back(n));
        assert!(list.iter().eq(&numbers));
        let join = |old: &mut Vec<usize>, new: Vec<usize>| old.extend(new);
        let push = |map: &mut HashMap<i64, Vec<usize>>, i, n| map.entry(n).or_default().push(i);
        let map = reduce!(Merge::<HashMap<i64, Vec<usize>>, _>::new(join), push);
        let indices = |n| (0..3_000).filter(|&i| numbers[i] == n).collect::<Vec<_>>();
        assert!(map.iter().all(|(&n, found)| *found == indices(n)) && map.len() == 1_000);
        let count = |map: &mut BTreeMap<i64, u32>, _, n| *map.entry(n).or_insert(0) += 1;
        let map = reduce!(Merge::<BTreeMap<i64, u32>, _>::new(|a: &mut u32, b| *a += b), count);
        assert!(map.values().all(|&count| count == 3));
        let first = reduce!(First::<usize>::new(), |first: &mut Option<usize>, i, n| {
            if n == 500 {
                first.get_or_insert(i);
            }
        });
        assert_eq!(first, Some(at(500)));
        let last = reduce!(Last::<usize>::new(), |last: &mut Option<usize>, i, n| {
            if n == 500 {
                *last = Some(i);
            }
        });
        assert_eq!(last, numbers.iter().rposition(|&n| n == 500));
        let fold = Fold::new(Vec::new, |left: &mut Vec<i64>, right| left.extend(right));
        assert_eq!(reduce!(fold, |list: &mut Vec<i64>, _, n| list.push(n)), numbers);
    });
}
