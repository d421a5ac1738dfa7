//! What must hold of every timeline, and of the files that are made of it. The tests use it, and so does the program that
//! `scripts/traces` runs. Everything here panics at the first thing that is wrong.

use bombyx_trace::{Slice, Timeline, TrackKind, chrome, perfetto};
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// A slice stands before those in it, and none crosses another.
fn nesting(slices: &[Slice]) {
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

/// The timeline itself.
pub(crate) fn timeline(timeline: &Timeline) {
    for track in &timeline.tracks {
        nesting(&track.slices);
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

/// What a reader finds in a file for Perfetto.
pub(crate) struct Decoded {
    /// Slices, flows, instants, values of counters.
    pub(crate) slices: usize,
    pub(crate) flows: usize,
    pub(crate) instants: usize,
    pub(crate) counts: usize,
}

/// Begins, ends, and the name of a slice.
type Shown = (u64, u64, u64);

/// Reads the file for Perfetto as its readers do. Names and tracks are known, every arrow ends, once, and the slices of a
/// track are those of the timeline.
pub(crate) fn decode_perfetto(timeline: &Timeline) -> Decoded {
    let bytes = perfetto::encode(timeline);
    let (mut tracks, mut names): (HashMap<u64, String>, HashSet<u64>) = Default::default();
    let mut events: Vec<(u64, u64, u64, u64)> = Vec::new();
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
        let name = one(&event, 10);
        match kind {
            1 | 3 => assert!(names.contains(&name.unwrap()), "the name is known"),
            2 => assert!(name.is_none()),
            4 => counts += 1,
            kind => panic!("an event of type {kind}"),
        }
        instants += usize::from(kind == 3);
        events.push((time, track, kind, name.unwrap_or(0)));
        of(&event, 47).for_each(|flow| *flows.entry(flow.number()).or_default() += 1);
        of(&event, 48).for_each(|flow| assert!(ends.insert(flow.number()), "a flow ends once"));
    }
    assert_eq!(flows.keys().copied().collect::<HashSet<_>>(), ends, "every flow ends");
    assert_eq!(ends.len(), timeline.arrows.len());
    let slices = slices(events);
    for (at, track) in timeline.tracks.iter().enumerate() {
        let mut wanted: Vec<Shown> =
            track.slices.iter().map(|slice| (slice.start, slice.end, u64::from(slice.name) + 1)).collect();
        let mut found = slices.get(&(16 + at as u64)).cloned().unwrap_or_default();
        wanted.sort_unstable();
        found.sort_unstable();
        assert!(found == wanted, "the file shows other slices on the track {}", track.name);
    }
    assert_eq!(counts, timeline.counters.iter().map(|counter| counter.values.len()).sum::<usize>());
    assert!(instants >= timeline.marks.len());
    Decoded { slices: slices.values().map(Vec::len).sum(), flows: ends.len(), instants, counts }
}

/// The slices of each track. What begins ends, and what ends has begun. Readers sort by time, and keep the order of events
/// with the same time.
fn slices(mut events: Vec<(u64, u64, u64, u64)>) -> HashMap<u64, Vec<Shown>> {
    events.sort_by_key(|event| event.0);
    let mut open: HashMap<u64, Vec<(u64, u64)>> = HashMap::new();
    let mut slices: HashMap<u64, Vec<Shown>> = HashMap::new();
    for (time, track, kind, name) in events {
        let open = open.entry(track).or_default();
        match kind {
            1 => open.push((time, name)),
            2 => {
                let (begun, name) = open.pop().expect("what ends has begun");
                slices.entry(track).or_default().push((begun, time, name));
            }
            _ => {}
        }
    }
    assert!(open.values().all(Vec::is_empty), "what begins ends");
    slices
}

/// Chrome's trace events have as many of everything as the timeline.
pub(crate) fn decode_chrome(timeline: &Timeline) {
    let json: Value = serde_json::from_str(&chrome::encode(timeline)).expect("this is JSON");
    let events = json["traceEvents"].as_array().unwrap();
    let of = |phase: &str| events.iter().filter(|event| event["ph"] == phase).count();
    assert_eq!(of("X"), timeline.tracks.iter().map(|track| track.slices.len()).sum::<usize>());
    assert_eq!((of("s"), of("f")), (timeline.arrows.len(), timeline.arrows.len()));
    assert_eq!(of("i"), timeline.marks.len());
}
