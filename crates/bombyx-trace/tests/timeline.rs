//! What a timeline keeps, on real traces of every scheduler, and what the files for other programs keep.

#[path = "../check/mod.rs"]
mod check;
mod common;

use bombyx_trace::{Category, Slice, Timeline, TrackKind, read};
use check::{decode_chrome, decode_perfetto};
use common::{everything, traced, traced_with};
use std::collections::HashSet;

#[test]
fn a_run_under_every_scheduler() {
    let bytes = traced("a_run_under_every_scheduler", "512", everything);
    let trace = read(&bytes).unwrap();
    let timeline = Timeline::of(&trace);
    assert_eq!(timeline.lost, 0);
    check::timeline(&timeline);
    for category in Category::ALL {
        let of = |slice: &&Slice| slice.category == category;
        let found = timeline.tracks.iter().flat_map(|track| &track.slices).filter(of).count();
        assert!(found > 0, "no slice is of the kind {}", category.name());
    }
    let arrows: HashSet<_> = timeline.arrows.iter().map(|arrow| arrow.name).collect();
    assert_eq!(arrows, HashSet::from(["steal", "hand-over", "wake", "queue"]));
    let whole = |arrow: &&bombyx_trace::Arrow| arrow.name == "steal" && arrow.points.len() == 3;
    assert!(timeline.arrows.iter().any(|arrow| whole(&arrow)), "from the victim to the thief to the join");
    assert!(timeline.names.iter().any(|name| name == "timeline::common::tree"), "{:?}", timeline.names);
    let most = |counter: &str| {
        let counter = timeline.counters.iter().find(|one| one.name == counter).unwrap();
        counter.values.iter().map(|value| value.1).max().unwrap()
    };
    let processors = timeline.tracks.iter().filter(|track| matches!(track.kind, TrackKind::Processor { .. }));
    assert!(most("sleeping processors") <= processors.count() as i64);
    assert!(
        most("carriers in use") >= 2 && most("busy processors") >= 2,
        "both halves of a join run at once"
    );
    assert!(most("waiting frames") >= 1 && most("queued calls") >= 1);
    let text = |text: &str| timeline.names.iter().any(|name| name == text);
    assert!(text("begin") && text("blocked") && text("<script>alert(1)</script>"));
    decode_chrome(&timeline);
    let decoded = decode_perfetto(&timeline);
    assert!(decoded.slices > 100 && decoded.flows > 3 && decoded.instants > 50 && decoded.counts > 10);
}

/// In a profiled program, strands are slices. Every strand is one here, however short, and phases begin and end in their
/// middle.
#[test]
fn strands_nest_with_everything_else() {
    let test = "strands_nest_with_everything_else";
    let environment = [("BOMBYX_PROFILE", "/dev/null"), ("BOMBYX_TRACE_STRANDS", "0")];
    let bytes = traced_with(test, &environment, || {
        let pool = bombyx::Pool::builder().processors(2).build().unwrap();
        pool.run(|| {
            let across = bombyx::phase("across");
            bombyx::join(
                || {
                    let _inside = bombyx::phase("inside");
                    bombyx::mark("in the middle");
                },
                || std::thread::sleep(std::time::Duration::from_millis(1)),
            );
            drop(across);
            bombyx::mark("after");
        });
        everything();
    });
    let timeline = Timeline::of(&read(&bytes).unwrap());
    check::timeline(&timeline);
    let strands = timeline.names.iter().filter(|name| name.starts_with("strand "));
    assert!(strands.clone().any(|name| name.starts_with("strand timeline.rs:")), "{:?}", timeline.names);
    assert!(strands.count() > 5, "{:?}", timeline.names);
    decode_perfetto(&timeline);
    decode_chrome(&timeline);
}

/// The oldest events are overwritten: what is left still nests.
#[test]
fn a_run_whose_beginning_is_lost() {
    let bytes = traced("a_run_whose_beginning_is_lost", "64", || {
        let pool = bombyx::Pool::builder().processors(2).build().unwrap();
        pool.run(|| {
            let _phase = bombyx::phase("around everything");
            bombyx::scope(|_| (0..200_000).for_each(|_| drop(bombyx::phase("inside"))));
        });
    });
    let timeline = Timeline::of(&read(&bytes).unwrap());
    assert!(timeline.lost > 100_000, "{}", timeline.lost);
    check::timeline(&timeline);
    let outer = timeline.tracks.iter().flat_map(|track| &track.slices).filter(|slice| slice.depth == 0);
    assert!(outer.clone().count() >= 1);
    let around = |slice: &Slice| timeline.names[slice.name as usize] == "around everything";
    assert_eq!(
        timeline.tracks.iter().flat_map(|track| &track.slices).filter(|slice| around(slice)).count(),
        1
    );
}

/// With the layer of `bombyx::spans`, spans are phases, also where a thief runs a part of their work.
#[test]
fn spans_are_phases() {
    let bytes = traced("spans_are_phases", "64", || {
        use tracing_subscriber::layer::SubscriberExt as _;
        let subscriber = tracing_subscriber::registry().with(bombyx::spans::Phases);
        tracing::subscriber::set_global_default(subscriber).unwrap();
        let pool = bombyx::Pool::builder().processors(2).build().unwrap();
        let both = std::sync::Barrier::new(2);
        let half = || {
            let _inner = tracing::info_span!("inner").entered();
            both.wait();
        };
        pool.run(|| bombyx::spans::follow(tracing::info_span!("request"), || bombyx::join(half, half)));
    });
    let timeline = Timeline::of(&read(&bytes).unwrap());
    check::timeline(&timeline);
    let threads = timeline.tracks.iter().filter(|track| matches!(track.kind, TrackKind::Thread { .. }));
    let (mut halves, names) = (0, &timeline.names);
    for track in threads {
        let of = |name: &'static str| {
            let called = move |slice: &&Slice| names[slice.name as usize] == name;
            track.slices.iter().filter(|slice| slice.category == Category::Phase).filter(called)
        };
        for inner in of("inner") {
            let around = |outer: &Slice| outer.start <= inner.start && inner.end <= outer.end;
            assert!(of("request").any(around), "{inner:?} of {} is not in its request", track.name);
            halves += 1;
        }
    }
    assert_eq!(halves, 2, "{:?}", timeline.names);
    decode_perfetto(&timeline);
}

/// Ends the process when the other half has ended, and its frame waits without a processor. Until the halves meet, both
/// processors are busy, and none falls asleep.
fn write_when_waited_for(pool: &bombyx::Pool, both: &std::sync::Barrier) {
    let before = pool.stats().sleeps;
    both.wait();
    while pool.stats().sleeps == before {
        std::thread::yield_now();
    }
    std::process::exit(0);
}

/// A thread waits for a job that another thread runs, and that one does not end before the trace is written.
#[test]
fn who_waits_for_what() {
    let bytes = traced("who_waits_for_what", "64", || {
        let pool = bombyx::Pool::builder().processors(2).build().unwrap();
        let both = std::sync::Barrier::new(2);
        pool.run(|| bombyx::join(|| _ = both.wait(), || write_when_waited_for(&pool, &both)));
    });
    let timeline = Timeline::of(&read(&bytes).unwrap());
    let waits: Vec<_> = timeline.unfinished.iter().filter(|one| one.category == Category::Wait).collect();
    assert_eq!(waits.len(), 1, "{:?}", timeline.unfinished);
    let other = waits[0].waits_for.expect("a thread runs what it waits for");
    let runs = timeline.unfinished.iter().find(|one| one.track == other).unwrap();
    assert_eq!(timeline.names[runs.name as usize], "timeline::who_waits_for_what");
    assert!(waits[0].describe(&timeline).contains("waits for a job that"));
}
