//! What a timeline keeps, on real traces of every scheduler, and what the files for other programs keep.

mod common;

use bombyx_trace::{Category, Slice, Timeline, TrackKind, chrome, perfetto, read};
use common::{everything, traced, traced_with};
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// A slice stands before those in it, and none crosses another.
fn check_nesting(slices: &[Slice]) {
    let mut open: Vec<u64> = Vec::new();
    for pair in slices.windows(2) {
        assert!(pair[0].start <= pair[1].start, "in order of their beginnings: {pair:?}");
    }
    for slice in slices {
        assert!(slice.start <= slice.end, "{slice:?}");
        while open.pop_if(|end| *end <= slice.start).is_some() {}
        assert!(open.last().is_none_or(|end| slice.end <= *end), "{slice:?} crosses the one around it");
        open.push(slice.end);
    }
}

fn check(timeline: &Timeline) {
    for track in &timeline.tracks {
        check_nesting(&track.slices);
        if let TrackKind::Processor { .. } = track.kind {
            assert!(track.slices.windows(2).all(|pair| pair[0].end <= pair[1].start), "one at a time");
        }
        for slice in &track.slices {
            assert!((slice.name as usize) < timeline.names.len() && slice.end <= timeline.length);
        }
    }
    for arrow in &timeline.arrows {
        assert!(arrow.points.len() >= 2);
        assert!(arrow.points.windows(2).all(|pair| pair[0].time <= pair[1].time), "{arrow:?}");
        assert!(arrow.points.iter().all(|point| point.track < timeline.tracks.len()));
    }
    for counter in &timeline.counters {
        assert!(counter.values.iter().all(|(_, value)| *value >= 0), "{}", counter.name);
        assert_eq!(counter.values.last().map_or(0, |value| value.1), 0, "{}", counter.name);
    }
}

#[test]
fn a_run_under_every_scheduler() {
    let bytes = traced("a_run_under_every_scheduler", "512", everything);
    let trace = read(&bytes).unwrap();
    let timeline = Timeline::of(&trace);
    assert_eq!(timeline.lost, 0);
    check(&timeline);
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
    let text = |text: &str| timeline.names.iter().any(|name| name == text);
    assert!(text("begin") && text("blocked") && text("<script>alert(1)</script>"));
    decode_perfetto(&timeline);
    decode_chrome(&timeline);
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
    check(&timeline);
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
    check(&timeline);
    let outer = timeline.tracks.iter().flat_map(|track| &track.slices).filter(|slice| slice.depth == 0);
    assert!(outer.clone().count() >= 1);
    let around = |slice: &Slice| timeline.names[slice.name as usize] == "around everything";
    assert_eq!(
        timeline.tracks.iter().flat_map(|track| &track.slices).filter(|slice| around(slice)).count(),
        1
    );
}

// ---- Perfetto ------------------------------------------------------------------------------------------------

/// A field of a protocol buffer.
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Field<'a> {
    fn number(&self) -> u64 {
        match self {
            Field::Number(number) => *number,
            Field::Bytes(_) => panic!("a number"),
        }
    }

    fn bytes(&self) -> &'a [u8] {
        match self {
            Field::Bytes(bytes) => bytes,
            Field::Number(_) => panic!("bytes"),
        }
    }
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let (byte, rest) = bytes.split_first().expect("a whole number");
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            break;
        }
    }
    value
}

/// The fields of a message, in order.
fn fields(mut bytes: &[u8]) -> Vec<(u64, Field<'_>)> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        let field = match tag & 7 {
            0 => Field::Number(varint(&mut bytes)),
            1 => {
                let (number, rest) = bytes.split_at(8);
                bytes = rest;
                Field::Number(u64::from_le_bytes(number.try_into().unwrap()))
            }
            2 => {
                let length = varint(&mut bytes) as usize;
                let (inner, rest) = bytes.split_at(length);
                bytes = rest;
                Field::Bytes(inner)
            }
            wire => panic!("wire type {wire}"),
        };
        fields.push((tag >> 3, field));
    }
    fields
}

fn of<'a, 'b>(fields: &'b [(u64, Field<'a>)], number: u64) -> impl Iterator<Item = &'b Field<'a>> {
    fields.iter().filter(move |field| field.0 == number).map(|field| &field.1)
}

fn one(fields: &[(u64, Field<'_>)], number: u64) -> Option<u64> {
    of(fields, number).next().map(Field::number)
}

/// Reads the file as its readers do: on each track, beginnings and ends form slices; names and tracks are known; every
/// arrow ends, once.
fn decode_perfetto(timeline: &Timeline) {
    let bytes = perfetto::encode(timeline);
    let (mut tracks, mut names): (HashMap<u64, String>, HashSet<u64>) = Default::default();
    let mut events: Vec<(u64, u64, u64)> = Vec::new();
    let (mut flows, mut ends): (HashMap<u64, usize>, HashSet<u64>) = Default::default();
    let (mut counts, mut instants) = (0, 0);
    for (number, packet) in fields(&bytes) {
        assert_eq!(number, 1, "a trace has only packets");
        let packet = fields(packet.bytes());
        assert_eq!(one(&packet, 10), Some(1), "all packets are of one sequence");
        if let Some(track) = of(&packet, 60).next() {
            let track = fields(track.bytes());
            let uuid = one(&track, 1).unwrap();
            assert!(uuid == 1 || one(&track, 5).is_some_and(|parent| tracks.contains_key(&parent)));
            let name = of(&track, 2).next().map_or("", |name| std::str::from_utf8(name.bytes()).unwrap());
            assert!(tracks.insert(uuid, name.to_owned()).is_none(), "every track is described once");
        }
        if let Some(interned) = of(&packet, 12).next() {
            let interned = fields(interned.bytes());
            names.extend(of(&interned, 2).map(|name| one(&fields(name.bytes()), 1).unwrap()));
        }
        let Some(event) = of(&packet, 11).next() else { continue };
        let (event, time) = (fields(event.bytes()), one(&packet, 8).unwrap());
        let (kind, track) = (one(&event, 9).unwrap(), one(&event, 11).unwrap());
        assert!(tracks.contains_key(&track));
        match kind {
            1 | 3 => assert!(names.contains(&one(&event, 10).unwrap()), "the name is known"),
            2 => assert!(one(&event, 10).is_none()),
            4 => counts += 1,
            kind => panic!("an event of type {kind}"),
        }
        instants += usize::from(kind == 3);
        events.push((time, track, kind));
        of(&event, 47).for_each(|flow| *flows.entry(flow.number()).or_default() += 1);
        of(&event, 48).for_each(|flow| assert!(ends.insert(flow.number()), "a flow ends once"));
    }
    assert_eq!(flows.keys().copied().collect::<HashSet<_>>(), ends, "every flow ends");
    assert_eq!(ends.len(), timeline.arrows.len());
    // Readers sort by time, and keep the order of events with the same time.
    events.sort_by_key(|event| event.0);
    let mut open: HashMap<u64, usize> = HashMap::new();
    let mut slices = 0;
    for (_, track, kind) in events {
        let depth = open.entry(track).or_default();
        match kind {
            1 => *depth += 1,
            2 => {
                *depth = depth.checked_sub(1).expect("what ends has begun");
                slices += 1;
            }
            _ => {}
        }
    }
    assert!(open.values().all(|depth| *depth == 0), "what begins ends");
    assert_eq!(slices, timeline.tracks.iter().map(|track| track.slices.len()).sum::<usize>());
    assert_eq!(counts, timeline.counters.iter().map(|counter| counter.values.len()).sum::<usize>());
    assert!(instants >= timeline.marks.len());
}

fn decode_chrome(timeline: &Timeline) {
    let json: Value = serde_json::from_str(&chrome::encode(timeline)).expect("this is JSON");
    let events = json["traceEvents"].as_array().unwrap();
    let of = |phase: &str| events.iter().filter(|event| event["ph"] == phase).count();
    assert_eq!(of("X"), timeline.tracks.iter().map(|track| track.slices.len()).sum::<usize>());
    assert_eq!((of("s"), of("f")), (timeline.arrows.len(), timeline.arrows.len()));
    assert_eq!(of("i"), timeline.marks.len());
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
