//! Recordings: the computation of a program as it ran.

use super::*;
use bombyx_sim::{Scheduler, Simulation};

/// Records `f` on this many processors, within this many bytes, and reads it back.
fn recorded(processors: usize, limit: usize, grain: i64, f: impl Fn() + Sync) -> Computation {
    let profiler = Arc::new(Profiler::bare(Clock::Virtual, NOTHING, Some(Recorder::new(limit, grain))));
    let pool = Builder::measuring(processors, Some(Arc::clone(&profiler))).build().unwrap();
    pool.run(&f);
    let mut file = Vec::new();
    crate::profile::dag::write(
        profiler.recorder().unwrap(),
        1.0,
        &[("program", "test".to_owned())],
        &mut file,
    )
    .unwrap();
    bombyx_dag::format::read(&file[..]).unwrap_or_else(|error| panic!("on {processors} processors: {error}"))
}

/// The recording equals the measurement, whatever the schedule. No strand is shorter than a tick, and what is added to
/// one is taken from others. So work and span of the dag may be wrong by one for each strand.
fn check_recording(f: impl Fn() + Sync) {
    let profile = profile(NOTHING, &f);
    let first = recorded(1, usize::MAX, 1, &f);
    for processors in [1, 2, 8] {
        for _ in 0..4 {
            let dag = recorded(processors, usize::MAX, 1, &f);
            let measures = Measures::of(&dag);
            let more = dag.strand_count() as u64;
            let expected = profile.work_ns + profile.blocked_ns;
            assert!(measures.work.abs_diff(expected) <= more, "{measures:?} of {profile}");
            assert!(measures.span.abs_diff(profile.span_ns) <= more, "{measures:?} of {profile}");
            assert_eq!(measures, Measures::of(&first), "on {processors} processors");
        }
    }
}

#[test]
fn recorded_forks() {
    check_recording(|| tree(5, 1000));
    check_recording(|| {
        advance(500);
        join(
            || leaf(3000),
            || {
                join(|| leaf(100), || leaf(200));
                advance(70);
            },
        );
        join(|| leaf(10), || leaf(400));
    });
}

#[test]
fn recorded_scopes() {
    check_recording(|| {
        advance(300);
        scope(|outer| {
            advance(100);
            outer.spawn(|s| {
                leaf(1000);
                s.spawn(|_| leaf(2000));
                leaf(50);
            });
            scope(|inner| {
                inner.spawn(|_| {
                    leaf(20);
                    outer.spawn(|_| leaf(5000));
                    join(|| leaf(30), || leaf(40));
                });
            });
            join(|| leaf(7), || outer.spawn(|_| leaf(11)));
        });
        scope(|_| advance(60));
    });
}

#[test]
fn recorded_spawns_from_another_run() {
    let profiler = Arc::new(Profiler::bare(Clock::Virtual, NOTHING, Some(Recorder::new(usize::MAX, 1))));
    let pool = || Builder::measuring(2, Some(Arc::clone(&profiler))).build().unwrap();
    let (outer, inner) = (pool(), pool());
    outer.run(|| {
        scope(|s| {
            inner.run(|| {
                leaf(10);
                s.spawn(|_| leaf(300));
            });
            leaf(20);
        });
    });
    let mut file = Vec::new();
    crate::profile::dag::write(profiler.recorder().unwrap(), 1.0, &[], &mut file).unwrap();
    let dag = bombyx_dag::format::read(&file[..]).unwrap();
    assert!(
        Measures::of(&dag).work.abs_diff(330) <= dag.strand_count() as u64 + 30,
        "{:?}",
        Measures::of(&dag)
    );
}

#[test]
fn recorded_blocking_and_panics() {
    check_recording(|| {
        join(|| blocking(|| advance(700)), || leaf(80));
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            join(|| std::panic::resume_unwind(Box::new(1)), || leaf(500));
        }));
        assert!(panicked.is_err());
    });
}

/// A recorded loop has all of its iterations, and so does not depend on what was split for how many processors.
#[test]
fn recorded_loops_can_be_simulated_on_many_processors() {
    const EACH: u64 = 100_000;
    let equal = || for_each(0..4096, |_| instant(EACH));
    let one_long = || for_each(0..4096, |i| instant(if i == 1000 { 50 * EACH } else { EACH }));
    let programs: [(fn(), u64, u64); 2] = [(equal, 4096 * EACH, EACH), (one_long, 4145 * EACH, 50 * EACH)];
    for (program, work, span) in programs {
        let measured = profile(NOTHING, program);
        assert_eq!((measured.work_ns, measured.span_ns), (work, span));
        let first = recorded(1, usize::MAX, 1, program);
        for processors in [1, 2, 16] {
            let dag = recorded(processors, usize::MAX, 1, program);
            let measures = Measures::of(&dag);
            assert_eq!(measures, Measures::of(&first), "on {processors} processors");
            // No strand is shorter than a tick.
            let more = dag.strand_count() as u64;
            assert!(measures.work.abs_diff(work) <= more, "{measures:?}");
            // There are twelve levels, and each has a strand before its fork and one after.
            assert!(measures.span.abs_diff(span) <= 2 * 12 + 1, "{measures:?}");
            // Four iterations for each processor, or the long one.
            let simulation = Simulation::new(&dag, Scheduler::WorkStealing).processors(1024).seed(1);
            let time = simulation.run().unwrap().time();
            let least = (work as f64 / 1024.0).max(span as f64);
            assert!((least..=1.5 * least).contains(&time), "{time} steps, and at least {least}");
        }
    }
}

#[test]
fn recorded_allocations() {
    let program = || {
        charge(100);
        join(
            || {
                charge(1000);
                leaf(300);
                release(400);
                join(|| charge(7), || release(7));
            },
            || {
                // In use for a while, and gone when the strand ends.
                charge(5000);
                leaf(200);
                release(5000);
            },
        );
        scope(|s| {
            s.spawn(|_| {
                charge(30);
                leaf(100);
            });
            release(600);
        });
        // This frees memory that was there before the run.
        release(1_000_000);
        blocking(|| advance(10));
    };
    check_recording(program);
    let measures = Measures::of(&recorded(2, usize::MAX, 1, program));
    assert_eq!(measures.allocated, 100 + 1000 + 7 + 5000 + 30);
    // With the frames of the root and of the second half.
    assert_eq!(measures.serial_space, 700 + 5000 + 2);
}

#[test]
fn coarse_recordings_have_the_same_peak() {
    fn tree(depth: u32) {
        if depth == 0 {
            charge(64);
            leaf(5);
            release(50);
        } else {
            join(|| tree(depth - 1), || tree(depth - 1));
            release(7);
        }
    }
    let in_scope = || scope(|s| (0..64).for_each(|_| s.spawn(|_| tree(5))));
    let forks = || tree(10);
    let space = |limit, f: &(dyn Fn() + Sync)| {
        let measures = Measures::of(&recorded(2, limit, 8, f));
        measures.serial_space - measures.stack
    };
    for program in [&forks as &(dyn Fn() + Sync), &in_scope] {
        let whole = space(usize::MAX, program);
        let coarse = space(2 << 10, program);
        assert!(whole.abs_diff(coarse) <= 64, "{coarse} of {whole}");
        let none = space(0, program);
        assert!(whole.abs_diff(none) <= 64, "{none} of {whole}");
    }
}

#[test]
fn sites_of_recorded_strands() {
    let dag = recorded(1, usize::MAX, 1, || {
        join(|| leaf(300), || leaf(200));
        advance(50);
    });
    let mut at_site = 0;
    for thread in dag.threads() {
        if dag.site(thread).is_some() {
            at_site += dag.strands_of(thread).map(|strand| dag.weight(strand)).sum::<u64>();
        }
    }
    assert!((495..=500).contains(&at_site), "{at_site}");
}

#[test]
fn recordings_are_coarsened_when_memory_is_short() {
    let whole = recorded(2, usize::MAX, 1, || tree(14, 5));
    let coarse = recorded(2, 16 << 10, 8, || tree(14, 5));
    assert!(coarse.strand_count() * 2 < whole.strand_count(), "{}", coarse.strand_count());
    let (whole, coarse) = (Measures::of(&whole), Measures::of(&coarse));
    assert!(coarse.work <= whole.work && coarse.work * 100 >= whole.work * 95, "{coarse:?} of {whole:?}");
    let tiny = recorded(2, 0, 8, || {
        scope(|s| (0..1000).for_each(|_| s.spawn(|_| tree(3, 5))));
    });
    assert!(Measures::of(&tiny).work.abs_diff(1000 * (8 * 5 + 7 * 3)) <= 10, "{:?}", Measures::of(&tiny));
}
