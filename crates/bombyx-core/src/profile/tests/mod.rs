//! Programs of known work and span, in virtual time: exact on any number of processors.
//!
//! **Not here:** programs whose answers depend on real time. `scripts/known-answers` profiles those.

mod known;
#[cfg(test)]
mod recordings;

use crate::api::builder::Builder;
use crate::api::costs::measure;
use crate::api::pool::Pool;
use crate::dropin::BuilderExt as _;
use crate::lab::BuilderExt as _;
use crate::machine::current;
use crate::machine::observer::Aside;
use crate::profile::Profiler;
use crate::profile::algebra::Burden;
use crate::profile::chain::Report;
use crate::profile::costs::Costs;
use crate::profile::record::Recorder;
use crate::profile::sites::SiteId;
use crate::profile::{Profile, SiteProfile};
use crate::system::clock::{Clock, advance};
use crate::{blocking, charge, for_each, join, release, scope};
use bombyx_dag::{Computation, Measures};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn pool(processors: usize, burden: Burden) -> Pool {
    let profiler = Arc::new(Profiler::bare(Clock::Virtual, burden, None));
    Builder::measuring(processors, Some(profiler)).build().unwrap()
}

/// What `f` measures on pools of several sizes, and without `membarrier`. It is always the same.
fn profile(burden: Burden, f: impl Fn() + Sync) -> Profile {
    let measured = |pool: Pool| {
        pool.run(&f);
        let mut profile = pool.profile().unwrap();
        profile.sites.sort_by_key(|site| (site.line, site.column));
        profile
    };
    let first = measured(pool(1, burden));
    for processors in [1, 2, 3, 8] {
        for _ in 0..6 {
            let other = measured(pool(processors, burden));
            assert_eq!(key(&other), key(&first), "on {processors} processors, {} steals", other.steals);
        }
    }
    let profiler = Arc::new(Profiler::bare(Clock::Virtual, burden, None));
    let fenced = Builder::measuring(2, Some(profiler)).fence(true).build().unwrap();
    assert_eq!(key(&measured(fenced)), key(&first));
    first
}

/// What must not depend on the schedule.
fn key(profile: &Profile) -> (u64, u64, u64, u64, u64, u64, u64, Vec<SiteProfile>) {
    (
        profile.work_ns,
        profile.span_ns,
        profile.burdened_span_ns,
        profile.blocked_ns,
        profile.forks,
        profile.strands,
        profile.peak_frames,
        profile.sites.clone(),
    )
}

/// Takes some real time, so that there is something to steal, and `ticks` of virtual time.
fn leaf(ticks: u64) {
    for _ in 0..ticks * 20 {
        std::hint::spin_loop();
    }
    advance(ticks);
}

const NOTHING: Burden = Burden { steal: 0, hand_over: 0 };
const BURDEN: Burden = Burden { steal: 100, hand_over: 10 };

fn tree(depth: u32, ticks: u64) {
    if depth == 0 {
        leaf(ticks);
    } else {
        advance(1);
        join(|| tree(depth - 1, ticks), || tree(depth - 1, ticks));
        advance(2);
    }
}

/// Names are looked up when the report is made, which takes a while, in virtual time, too ([`crate::profile::sites::all`]).
#[test]
fn making_the_report_is_no_part_of_the_program() {
    let profiler = Profiler::bare(Clock::Virtual, NOTHING, None);
    for (site, gap, run) in [(1, 300, 50), (2, 20, 60)] {
        advance(gap);
        let before = profiler.begin_run(SiteId::from_index(site));
        advance(run);
        profiler.end_run(before, Report::default());
    }
    advance(7);
    let profile = profiler.profile();
    let gaps: Vec<u64> = profile.gaps.iter().map(|gap| gap.ns).collect();
    assert_eq!((gaps, profile.wall_ns), (vec![300, 20, 7], 110), "before, between and after the runs");
}

#[test]
fn a_balanced_tree() {
    let profile = profile(BURDEN, || tree(6, 50));
    assert_eq!(profile.work_ns, 64 * 50 + 63 * 3);
    assert_eq!(profile.span_ns, 50 + 6 * 3);
    assert_eq!(profile.burdened_span_ns, 50 + 6 * (3 + 110));
    assert_eq!((profile.forks, profile.peak_frames), (63, 7));
    // A leaf is a strand; an inner node is one before its fork and one after.
    assert_eq!(profile.strands, 64 + 2 * 63);
    assert_eq!(profile.sites.iter().map(|site| site.span_ns).sum::<u64>(), profile.span_ns);
}

/// If the hooks cost less than what was measured before, strands measure less than nothing. The laws still hold.
#[test]
fn what_is_subtracted_does_not_break_the_laws() {
    for cost in [10, 40, 1_000] {
        let costs = Costs { fork: cost, middle: cost, join: cost, ..Costs::NONE };
        let profiler = Arc::new(Profiler::subtracting(Clock::Virtual, costs));
        let pool = Builder::measuring(2, Some(profiler)).build().unwrap();
        for before in [0, 1_000, 100_000] {
            pool.run(|| {
                advance(before);
                tree(6, 20);
            });
            let profile = pool.profile().unwrap();
            assert!(profile.span_ns <= profile.work_ns + profile.blocked_ns, "{profile:?}");
            assert!(profile.span_ns > 0 || profile.work_ns == 0, "{profile:?}");
            assert!(profile.burdened_span_ns >= profile.span_ns, "{profile:?}");
        }
    }
}

#[test]
fn unbalanced_halves_and_their_sites() {
    let profile = profile(NOTHING, || {
        advance(5);
        join(
            || leaf(300),
            || {
                join(|| leaf(10), || leaf(20));
                advance(7);
            },
        );
        join(|| leaf(1), || leaf(40));
    });
    assert_eq!(profile.work_ns, 5 + 300 + 30 + 7 + 41);
    assert_eq!(profile.span_ns, 5 + 300 + 40);
    let [run, outer, inner, second] = &profile.sites[..] else { panic!("{:?}", profile.sites) };
    assert_eq!((run.work_ns, run.span_ns), (5, 5));
    assert_eq!((outer.work_ns, outer.span_ns, outer.forks), (307, 300, 1));
    assert_eq!((inner.work_ns, inner.span_ns, inner.strands), (30, 0, 2));
    assert_eq!((second.work_ns, second.span_ns), (41, 40));
}

#[test]
fn scopes_end_with_their_longest_closure() {
    let profile = profile(NOTHING, || {
        advance(3);
        scope(|s| {
            advance(10);
            s.spawn(|s| {
                leaf(100);
                s.spawn(|_| leaf(200));
                leaf(5);
            });
            advance(10);
            s.spawn(|_| leaf(250));
            leaf(40);
        });
        advance(1);
    });
    assert_eq!(profile.work_ns, 3 + 20 + 305 + 250 + 40 + 1);
    assert_eq!(profile.span_ns, 3 + 10 + 100 + 200 + 1);
    assert_eq!(profile.forks, 3);
    assert_eq!(profile.sites.iter().map(|site| site.span_ns).sum::<u64>(), profile.span_ns);
}

#[test]
fn spawns_from_halves_that_may_be_stolen() {
    let profile = profile(BURDEN, || {
        scope(|s| {
            advance(4);
            join(
                || leaf(60),
                || {
                    leaf(30);
                    join(
                        || leaf(8),
                        || {
                            leaf(50);
                            s.spawn(|_| leaf(500));
                        },
                    );
                },
            );
            leaf(2);
        });
    });
    assert_eq!(profile.work_ns, 4 + 60 + 30 + 8 + 50 + 500 + 2);
    assert_eq!(profile.span_ns, 4 + 30 + 50 + 500);
    assert_eq!(profile.burdened_span_ns, 4 + 100 + 30 + 100 + 50 + 100 + 500 + 10);
    assert_eq!(profile.sites.iter().map(|site| site.span_ns).sum::<u64>(), profile.span_ns);
}

#[test]
fn many_spawned_closures() {
    let profile = profile(NOTHING, || {
        scope(|s| {
            for i in 0..1000 {
                advance(1);
                s.spawn(move |_| advance(i % 7));
            }
        });
    });
    let closures: u64 = (0..1000).map(|i| i % 7).sum();
    assert_eq!(profile.work_ns, 1000 + closures);
    assert_eq!(profile.span_ns, (0..1000).map(|i| i + 1 + i % 7).max().unwrap());
}

#[test]
fn loops_are_forks_of_the_place_where_they_stand() {
    let profiler = Arc::new(Profiler::bare(Clock::Virtual, NOTHING, None));
    let pool = Builder::measuring(2, Some(profiler)).deterministic(true).build().unwrap();
    pool.run(|| for_each(0..64, |_| leaf(10)));
    let profile = pool.profile().unwrap();
    assert_eq!((profile.work_ns, profile.span_ns, profile.forks), (640, 10, 63));
    let site = profile.sites.iter().find(|site| site.forks == 63).unwrap();
    assert!(site.file.ends_with("tests/mod.rs") && site.kind == "for_each", "{site:?}");
}

/// Like [`leaf`], without the real time.
fn instant(ticks: u64) {
    advance(ticks);
}

#[test]
fn the_span_of_a_loop_is_that_of_its_longest_iteration() {
    let equal = profile(NOTHING, || for_each(0..256, |_| instant(100_000)));
    assert_eq!((equal.work_ns, equal.span_ns, equal.forks), (25_600_000, 100_000, 255));
    let one_long =
        profile(NOTHING, || for_each(0..100, |i| instant(if i == 7 { 300_000_000 } else { 2_000_000 })));
    assert_eq!((one_long.work_ns, one_long.span_ns), (498_000_000, 300_000_000));
}

#[test]
fn short_iterations_are_not_forked_one_by_one_and_are_parallel_all_the_same() {
    for processors in [1, 2, 8] {
        let pool = pool(processors, NOTHING);
        pool.run(|| for_each(0..1 << 20, |_| instant(1)));
        let profile = pool.profile().unwrap();
        assert_eq!(profile.work_ns, 1 << 20);
        assert!(profile.span_ns <= 2, "{} on {processors} processors", profile.span_ns);
        assert!(profile.forks < 1 << 11, "{} forks", profile.forks);
    }
}

#[test]
fn a_long_iteration_among_short_ones_is_seen() {
    for processors in [1, 2, 8] {
        let pool = pool(processors, NOTHING);
        pool.run(|| for_each(0..1 << 16, |i| instant(if i == 40_000 { 1_000_000 } else { 10 })));
        let profile = pool.profile().unwrap();
        assert_eq!(profile.work_ns, (1 << 16) * 10 - 10 + 1_000_000);
        assert!((996_000..=1_004_000).contains(&profile.span_ns), "{}", profile.span_ns);
    }
}

#[test]
fn forks_inside_of_iterations_are_part_of_the_span() {
    let profile = profile(NOTHING, || {
        for_each(0..16, |_| {
            join(|| instant(50_000), || instant(70_000));
        })
    });
    assert_eq!((profile.work_ns, profile.span_ns), (16 * 120_000, 70_000));
    assert_eq!(profile.sites.iter().map(|site| site.span_ns).sum::<u64>(), 70_000);
}

#[test]
fn libraries_that_split_where_work_was_stolen_split_by_the_clock() {
    /// Splits as rayon does: as often as there are processors, and further if a half has migrated.
    fn split(length: u64, splits: usize, migrated: bool) {
        if length == 1 || splits == 0 && !migrated {
            return instant(length * 100_000);
        }
        let fresh = if migrated { current::held().pool().processors().len() } else { 0 };
        let splits = fresh.max(splits / 2);
        let half = length / 2;
        crate::join_context(
            |context| split(half, splits, context.migrated()),
            |context| split(length - half, splits, context.migrated()),
        );
    }
    for processors in [1, 2, 8] {
        let pool = pool(processors, NOTHING);
        pool.run(|| split(1024, processors, false));
        let profile = pool.profile().unwrap();
        assert_eq!((profile.work_ns, profile.span_ns), (102_400_000, 100_000), "on {processors} processors");
    }
}

#[test]
fn blocking_is_span_and_no_work() {
    let profile = profile(NOTHING, || {
        join(
            || {
                leaf(10);
                blocking(|| advance(70));
                leaf(10);
            },
            || leaf(80),
        );
    });
    assert_eq!((profile.work_ns, profile.blocked_ns, profile.span_ns), (100, 70, 90));
}

#[test]
fn panics_are_measured_up_to_where_they_happen() {
    let profile = profile(NOTHING, || {
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            join(
                || {
                    leaf(30);
                    join(|| std::panic::resume_unwind(Box::new(1)), || leaf(5))
                },
                || leaf(20),
            );
        }));
        assert!(panicked.is_err());
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            scope(|s| {
                s.spawn(|_| {
                    leaf(40);
                    std::panic::resume_unwind(Box::new(2))
                });
                join(|| leaf(1), || std::panic::resume_unwind(Box::new(3)))
            });
        }));
        assert!(panicked.is_err());
        leaf(2);
    });
    assert_eq!((profile.work_ns, profile.span_ns), (55 + 41 + 2, 35 + 40 + 2));
}

#[test]
fn runs_add_up_one_after_another() {
    let pool = pool(2, NOTHING);
    for _ in 0..10 {
        pool.run(|| tree(3, 20));
    }
    let profile = pool.profile().unwrap();
    assert_eq!((profile.runs, profile.work_ns, profile.span_ns), (10, 10 * (160 + 21), 10 * (20 + 9)));
}

#[test]
fn runs_at_the_same_time_are_parallel() {
    let pool = pool(2, NOTHING);
    let (started, go_on) = (AtomicBool::new(false), AtomicBool::new(false));
    let wait = |flag: &AtomicBool| {
        while !flag.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
    };
    std::thread::scope(|threads| {
        threads.spawn(|| {
            pool.run(|| {
                started.store(true, Ordering::Release);
                wait(&go_on);
                advance(50);
            });
        });
        wait(&started);
        pool.run(|| advance(20));
        pool.run(|| advance(20));
        go_on.store(true, Ordering::Release);
    });
    let profile = pool.profile().unwrap();
    assert_eq!((profile.runs, profile.work_ns, profile.span_ns), (3, 90, 50));
}

#[test]
fn pools_inside_of_pools_are_measured_apart() {
    let (outer, inner) = (pool(2, NOTHING), pool(2, NOTHING));
    outer.run(|| {
        join(
            || {
                leaf(5);
                inner.run(|| tree(2, 10));
                leaf(5);
            },
            || leaf(3),
        );
    });
    let (outer, inner) = (outer.profile().unwrap(), inner.profile().unwrap());
    assert_eq!((inner.work_ns, inner.span_ns), (40 + 9, 10 + 6));
    assert_eq!((outer.work_ns, outer.forks), (13, 1));
    // Whoever ran the inner pool's root on its own stack saw its time pass.
    assert!(outer.blocked_ns <= inner.work_ns && outer.span_ns == 10 + outer.blocked_ns, "{outer:?}");
}

#[test]
fn a_thread_that_holds_a_processor_for_good() {
    std::thread::spawn(|| {
        let profiler = Arc::new(Profiler::bare(Clock::Virtual, NOTHING, None));
        let pool = Builder::measuring(2, Some(profiler)).use_current_thread().build().unwrap();
        advance(1000);
        tree(3, 20);
        join(|| leaf(7), || leaf(7));
        let profile = pool.profile().unwrap();
        assert_eq!(profile.runs, 2);
        // What happens between two forks at the foot of such a thread belongs to no run.
        assert_eq!((profile.work_ns, profile.span_ns), (160 + 18 + 14, 20 + 6 + 7));
        pool.handle().close();
        std::mem::forget(pool);
    })
    .join()
    .unwrap();
}

// ---- Recording ----------------------------------------------------------------------------------------------

#[test]
fn the_heap_is_in_the_profile_if_it_is_metered() {
    let pool = pool(2, NOTHING);
    pool.run(|| tree(3, 1));
    assert_eq!(pool.profile().unwrap().peak_heap_bytes, None);
    pool.run(|| {
        charge(100_000);
        release(60_000);
    });
    assert_eq!(pool.profile().unwrap().peak_heap_bytes, Some(100_000));
}

/// A tree whose leaves, where they run on the thread `waiter`, run on top of a frame that waits.
fn helped_tree(depth: u32, waiter: std::thread::ThreadId) {
    if depth > 0 {
        join(|| helped_tree(depth - 1, waiter), || helped_tree(depth - 1, waiter));
        return;
    }
    leaf(3);
    if std::thread::current().id() == waiter {
        assert!(crate::profile::held::with(|shadow| shadow.helping).unwrap() > 0, "this is help");
    }
}

#[test]
fn help_is_told_apart_under_every_scheduler() {
    for scheduler in ["work-stealing", "read-write", "read-write-steals", "private-cas"] {
        let builder = Builder::measuring(2, Some(Arc::new(Profiler::measured(measure))));
        let pool = builder.scheduler(scheduler.parse().unwrap()).build().unwrap();
        for _ in 0..50 {
            pool.run(|| {
                let (waiter, taken) = (std::thread::current().id(), AtomicBool::new(false));
                let until_taken = || {
                    while !taken.load(Ordering::Acquire) {
                        crate::checkpoint();
                        std::thread::yield_now();
                    }
                };
                join(until_taken, || {
                    taken.store(true, Ordering::Release);
                    helped_tree(9, waiter);
                });
            });
        }
    }
}

#[test]
fn processors_account_for_their_time() {
    let pool = Builder::measuring(2, Some(Arc::new(Profiler::measured(measure)))).build().unwrap();
    pool.run(|| tree(8, 100));
    let profile = pool.profile().unwrap();
    assert_eq!(profile.per_processor.len(), 2);
    let busy: u64 = profile.per_processor.iter().map(|times| times.busy_ns + times.help_ns).sum();
    assert!(busy > 0 && profile.wall_ns > 0);
    for times in &profile.per_processor {
        let sum = times.busy_ns + times.search_ns + times.help_ns + times.hand_over_ns + times.idle_ns;
        assert!(sum >= profile.wall_ns, "{times:?} of {}", profile.wall_ns);
    }
}

#[test]
fn what_is_done_for_the_scheduler_is_no_work() {
    let profile = profile(NOTHING, || {
        advance(1);
        join(
            || {
                advance(2);
                let aside = Aside::begin(current::held().pool());
                advance(1000);
                drop(aside);
                leaf(3);
            },
            || leaf(4),
        );
    });
    assert_eq!((profile.work_ns, profile.span_ns), (10, 6));
    assert_eq!(profile.strands, 4, "the strand that stepped aside is one");
}
