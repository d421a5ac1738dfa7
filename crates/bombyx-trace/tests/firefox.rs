//! The Firefox Profiler's file, read back by a decoder of the documented tables (`src/types/profile.ts` in the repository
//! firefox-devtools/profiler, version 55 of the processed format): every column has its length, every index its table, every
//! stack ends, and the samples say what the slices say.

mod common;

use bombyx_trace::{Category, Slice, Timeline, Track, TrackKind, firefox, read};
use common::{everything, traced};
use serde_json::Value;
use std::collections::BTreeMap;

fn length(table: &Value) -> usize {
    table["length"].as_u64().expect("a table has a length") as usize
}

/// A column of a table, as long as the table.
fn column<'a>(table: &'a Value, name: &str) -> &'a [Value] {
    let column = table[name].as_array().unwrap_or_else(|| panic!("no column `{name}`"));
    assert_eq!(column.len(), length(table), "the column `{name}`");
    column
}

/// Every entry of a column is null or an index below the limit.
fn within(column: &[Value], limit: usize, nullable: bool) {
    for value in column {
        match value.as_u64() {
            Some(index) => assert!((index as usize) < limit, "{index} of {limit}"),
            None => assert!(nullable && value.is_null(), "{value} is no index"),
        }
    }
}

/// What the stacks of a thread weigh, by the names on them, in microseconds.
type Weights = BTreeMap<Vec<String>, i64>;

/// Checks a thread, and returns the weights of its stacks.
fn thread(thread: &Value, categories: usize, length_ms: f64) -> Weights {
    let strings = thread["stringArray"].as_array().unwrap();
    assert!(strings.iter().all(Value::is_string));
    let (functions, frames) = (&thread["funcTable"], &thread["frameTable"]);
    let (stacks, samples, markers) = (&thread["stackTable"], &thread["samples"], &thread["markers"]);
    within(column(functions, "name"), strings.len(), false);
    within(column(frames, "func"), length(functions), false);
    within(column(frames, "category"), categories, true);
    within(column(stacks, "frame"), length(frames), false);
    for (at, prefix) in column(stacks, "prefix").iter().enumerate() {
        assert!(prefix.as_u64().is_none_or(|prefix| (prefix as usize) < at), "a stack follows its prefix");
    }
    within(column(samples, "stack"), length(stacks), true);
    assert_eq!(samples["weightType"], "samples");
    let mut now = 0.0;
    for delta in column(samples, "timeDeltas") {
        let delta = delta.as_f64().unwrap();
        assert!(delta >= 0.0, "samples are in order");
        now += delta;
    }
    assert!(now <= length_ms + 1e-6, "{now} ms of {length_ms}");
    within(column(markers, "name"), strings.len(), false);
    within(column(markers, "category"), categories, false);
    let ends = column(markers, "endTime");
    for ((phase, start), end) in column(markers, "phase").iter().zip(column(markers, "startTime")).zip(ends) {
        match phase.as_u64() {
            // Its end means nothing.
            Some(0) => assert!(start.is_number(), "a moment"),
            Some(1) => assert!(start.as_f64().unwrap() <= end.as_f64().unwrap(), "an interval"),
            _ => panic!("a phase of {phase}"),
        }
    }
    assert!(column(markers, "data").iter().all(|data| data["type"] == "Event"));
    let name = |stack: usize| {
        let frame = stacks["frame"][stack].as_u64().unwrap() as usize;
        let function = frames["func"][frame].as_u64().unwrap() as usize;
        strings[functions["name"][function].as_u64().unwrap() as usize].as_str().unwrap().to_owned()
    };
    let mut weights = Weights::new();
    for (stack, weight) in column(samples, "stack").iter().zip(column(samples, "weight")) {
        let (mut names, mut next) = (Vec::new(), stack.as_u64());
        while let Some(stack) = next {
            names.push(name(stack as usize));
            next = stacks["prefix"][stack as usize].as_u64();
        }
        names.reverse();
        *weights.entry(names).or_default() += weight.as_i64().expect("a weight");
    }
    weights
}

/// Checks a file against its timeline.
fn check(timeline: &Timeline) -> Vec<Weights> {
    let file: Value = serde_json::from_str(&firefox::encode(timeline)).expect("this is JSON");
    let meta = &file["meta"];
    assert_eq!(meta["preprocessedProfileVersion"], 55);
    assert_eq!(meta["interval"].as_f64(), Some(0.001), "a microsecond, in milliseconds");
    let schema = meta["markerSchema"].as_array().unwrap();
    assert!(schema.iter().any(|schema| schema["name"] == "Event"), "{schema:?}");
    let categories = meta["categories"].as_array().unwrap();
    for category in Category::ALL {
        assert!(categories.iter().any(|one| one["name"] == category.name()), "{category:?}");
    }
    let threads = file["threads"].as_array().unwrap();
    assert_eq!(threads.len(), timeline.tracks.len());
    let length = timeline.length as f64 / 1e6;
    let find = |track: &Track| {
        let mut same = threads.iter().filter(|thread| thread["name"] == track.name.as_str());
        let thread = same.next().unwrap_or_else(|| panic!("no thread is called {}", track.name));
        assert!(same.next().is_none(), "two threads are called {}", track.name);
        thread
    };
    timeline.tracks.iter().map(|track| thread(find(track), categories.len(), length)).collect()
}

/// How long each stack of names is at the top of a track, in nanoseconds.
fn expected(timeline: &Timeline, track: &Track) -> BTreeMap<Vec<String>, i64> {
    let mut own: BTreeMap<Vec<String>, i64> = BTreeMap::new();
    let mut open: Vec<Slice> = Vec::new();
    let name = |slice: &Slice| timeline.names[slice.name as usize].clone();
    for slice in &track.slices {
        while open.pop_if(|outer| outer.end <= slice.start).is_some() {}
        let long = (slice.end - slice.start) as i64;
        if !open.is_empty() {
            *own.entry(open.iter().map(name).collect()).or_default() -= long;
        }
        open.push(*slice);
        *own.entry(open.iter().map(name).collect()).or_default() += long;
    }
    own
}

#[test]
fn samples_weigh_what_slices_last() {
    let slice = |start, end, name, category, depth| Slice { start, end, name, category, depth };
    let timeline = Timeline {
        program: "</script>".to_owned(),
        length: 10_000_500,
        tracks: vec![Track {
            name: "thread 1".to_owned(),
            kind: TrackKind::Thread { number: 1 },
            slices: vec![
                slice(1_000_000, 9_000_000, 0, Category::Run, 0),
                slice(2_000_000, 4_000_000, 1, Category::Wait, 1),
                slice(2_500_000, 3_000_000, 0, Category::Run, 2),
                slice(9_000_000, 9_000_700, 1, Category::Search, 0),
            ],
        }],
        names: vec!["outer".to_owned(), "wait".to_owned()],
        ..Timeline::default()
    };
    let weights = check(&timeline).remove(0);
    let of = |names: &[&str]| weights[&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()];
    assert_eq!(of(&["outer"]), 6000);
    assert_eq!(of(&["outer", "wait"]), 1500);
    assert_eq!(of(&["outer", "wait", "outer"]), 500);
    assert_eq!(of(&[]), 0, "nothing ran there");
}

#[test]
fn real_traces_of_every_scheduler() {
    let bytes = traced("real_traces_of_every_scheduler", "64", everything);
    let timeline = Timeline::of(&read(&bytes).unwrap());
    for (track, weights) in timeline.tracks.iter().zip(check(&timeline)) {
        for (names, ns) in expected(&timeline, track) {
            let samples = weights.get(&names).copied().unwrap_or(0);
            // Weights are whole microseconds. What is cut off one goes to the next.
            let changes = 2 * track.slices.len() as i64;
            assert!(
                (samples - ns / 1000).abs() <= changes,
                "{}: {names:?}: {samples} µs, {ns} ns",
                track.name
            );
        }
        let all: i64 = weights.values().sum();
        let ours: i64 = expected(&timeline, track).values().sum::<i64>() / 1000;
        assert!((all - ours).abs() <= 1 + track.slices.len() as i64, "{}: {all} and {ours} µs", track.name);
    }
}
