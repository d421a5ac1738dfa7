//! Perfetto's trace format: what <https://ui.perfetto.dev> and `trace_processor` read.
//!
//! **Not here:** what the slices and arrows mean. See [`Timeline`].
//!
//! A trace is a series of packets, each a protocol buffer. There are two groups of tracks (processors and threads) and one
//! track per counter. Names are interned: the first packet has them all, and events give their numbers. Every arrow has
//! its own identity. If a slice begins at a point of an arrow, the arrow is tied to that slice there. Otherwise it is tied to
//! an event without duration.

mod proto;

use crate::timeline::{Category, Point, Timeline, TrackKind};
use proto::Message;
use std::collections::HashMap;

/// The numbers of the fields that are written, by message.
mod field {
    /// Of `Trace`.
    pub(super) const PACKET: u32 = 1;
    /// Of `TracePacket`.
    pub(super) const TIMESTAMP: u32 = 8;
    pub(super) const SEQUENCE: u32 = 10;
    pub(super) const TRACK_EVENT: u32 = 11;
    pub(super) const INTERNED: u32 = 12;
    pub(super) const FLAGS: u32 = 13;
    pub(super) const TRACK_DESCRIPTOR: u32 = 60;
    /// Of `InternedData`.
    pub(super) const CATEGORY_NAMES: u32 = 1;
    pub(super) const EVENT_NAMES: u32 = 2;
    /// Of the interned names.
    pub(super) const IID: u32 = 1;
    pub(super) const NAME: u32 = 2;
    /// Of `TrackDescriptor`.
    pub(super) const UUID: u32 = 1;
    pub(super) const TRACK_NAME: u32 = 2;
    pub(super) const PROCESS: u32 = 3;
    pub(super) const PARENT: u32 = 5;
    pub(super) const COUNTER: u32 = 8;
    pub(super) const CHILD_ORDERING: u32 = 11;
    pub(super) const RANK: u32 = 12;
    /// Of `ProcessDescriptor`.
    pub(super) const PID: u32 = 1;
    pub(super) const PROCESS_NAME: u32 = 6;
    /// Of `TrackEvent`.
    pub(super) const CATEGORY: u32 = 3;
    pub(super) const TYPE: u32 = 9;
    pub(super) const EVENT_NAME: u32 = 10;
    pub(super) const TRACK: u32 = 11;
    pub(super) const COUNTER_VALUE: u32 = 30;
    pub(super) const FLOW: u32 = 47;
    pub(super) const LAST_FLOW: u32 = 48;
}

const BEGIN: u64 = 1;
const END: u64 = 2;
const INSTANT: u64 = 3;
const COUNT: u64 = 4;

/// The sequence of packets that every packet belongs to.
const ONLY_SEQUENCE: u64 = 1;
/// The first packet forgets all names; the others need them.
const FORGET: u64 = 1;
const NEEDS_NAMES: u64 = 2;
/// Tracks stand in the order of their ranks.
const EXPLICIT: u64 = 3;

/// The tracks that the others are children of.
const PROCESS: u64 = 1;
const PROCESSORS: u64 = 2;
const THREADS: u64 = 3;
/// The identities of the timeline's tracks begin here.
const TRACKS: u64 = 16;

/// The categories of arrows and marks come after those of slices.
const ARROWS: u64 = Category::ALL.len() as u64 + 1;
const MARKS: u64 = ARROWS + 1;

/// The timeline as a file for Perfetto.
pub fn encode(timeline: &Timeline) -> Vec<u8> {
    let mut out = Encoder { out: Message::new(), names: Names::of(timeline) };
    out.names_packet(timeline);
    out.tracks(timeline);
    let mut flows = Flows::of(timeline);
    for (at, track) in timeline.tracks.iter().enumerate() {
        let mut open: Vec<u64> = Vec::new();
        let uuid = TRACKS + at as u64;
        for slice in &track.slices {
            while let Some(end) = open.pop_if(|end| *end <= slice.start) {
                out.event(end, END, uuid, None, &[]);
            }
            let through = flows.at(Point { track: at, time: slice.start });
            let name = (out.names.slice(slice.name), category(slice.category));
            out.event(slice.start, BEGIN, uuid, Some(name), &through);
            open.push(slice.end);
        }
        while let Some(end) = open.pop() {
            out.event(end, END, uuid, None, &[]);
        }
    }
    for (point, through) in flows.rest() {
        for (flow, last, name) in through {
            let name = (out.names.arrows[name], ARROWS);
            out.event(point.time, INSTANT, TRACKS + point.track as u64, Some(name), &[(flow, last, "")]);
        }
    }
    for mark in &timeline.marks {
        let name = (out.names.slice(mark.name), MARKS);
        out.event(mark.at.time, INSTANT, TRACKS + mark.at.track as u64, Some(name), &[]);
    }
    for (at, counter) in timeline.counters.iter().enumerate() {
        for &(time, value) in &counter.values {
            out.count(time, TRACKS + (timeline.tracks.len() + at) as u64, value);
        }
    }
    out.out.into_bytes()
}

fn category(category: Category) -> u64 {
    Category::ALL.iter().position(|one| *one == category).expect("all are there") as u64 + 1
}

/// An arrow that goes through an event: its identity, whether it ends there, and its name.
type Through = (u64, bool, &'static str);

/// Which arrows go through which points.
struct Flows(HashMap<Point, Vec<Through>>);

impl Flows {
    fn of(timeline: &Timeline) -> Flows {
        let mut flows: HashMap<Point, Vec<Through>> = HashMap::new();
        for (at, arrow) in timeline.arrows.iter().enumerate() {
            let last = arrow.points.len() - 1;
            for (nth, point) in arrow.points.iter().enumerate() {
                flows.entry(*point).or_default().push((at as u64 + 1, nth == last, arrow.name));
            }
        }
        Flows(flows)
    }

    /// The arrows through the slice that begins here.
    fn at(&mut self, point: Point) -> Vec<Through> {
        self.0.remove(&point).unwrap_or_default()
    }

    /// The others.
    fn rest(self) -> Vec<(Point, Vec<Through>)> {
        let mut rest: Vec<_> = self.0.into_iter().collect();
        rest.sort_unstable_by_key(|(point, _)| (point.time, point.track));
        rest
    }
}

/// The numbers of interned names: first the timeline's, then those of arrows.
struct Names {
    slices: usize,
    arrows: HashMap<&'static str, u64>,
}

impl Names {
    fn of(timeline: &Timeline) -> Names {
        let mut arrows = HashMap::new();
        for arrow in &timeline.arrows {
            let next = (timeline.names.len() + arrows.len()) as u64 + 1;
            arrows.entry(arrow.name).or_insert(next);
        }
        Names { slices: timeline.names.len(), arrows }
    }

    fn slice(&self, name: u32) -> u64 {
        debug_assert!((name as usize) < self.slices, "the timeline knows its names");
        u64::from(name) + 1
    }
}

struct Encoder {
    out: Message,
    names: Names,
}

impl Encoder {
    fn packet(&mut self, fill: impl FnOnce(&mut Message)) {
        self.out.message(field::PACKET, |packet| {
            packet.number(field::SEQUENCE, ONLY_SEQUENCE);
            fill(packet);
        });
    }

    fn names_packet(&mut self, timeline: &Timeline) {
        let name = |data: &mut Message, of: u32, number: u64, name: &str| {
            data.message(of, |entry| {
                entry.number(field::IID, number);
                entry.text(field::NAME, name);
            });
        };
        let arrows: Vec<_> = self.names.arrows.iter().map(|(name, number)| (*name, *number)).collect();
        self.packet(|packet| {
            packet.number(field::FLAGS, FORGET);
            packet.message(field::INTERNED, |data| {
                for one in Category::ALL {
                    name(data, field::CATEGORY_NAMES, category(one), one.name());
                }
                name(data, field::CATEGORY_NAMES, ARROWS, "arrow");
                name(data, field::CATEGORY_NAMES, MARKS, "mark");
                for (at, text) in timeline.names.iter().enumerate() {
                    name(data, field::EVENT_NAMES, at as u64 + 1, text);
                }
                for (text, number) in arrows {
                    name(data, field::EVENT_NAMES, number, text);
                }
            });
        });
    }

    fn tracks(&mut self, timeline: &Timeline) {
        self.packet(|packet| {
            packet.message(field::TRACK_DESCRIPTOR, |track| {
                track.number(field::UUID, PROCESS);
                track.message(field::PROCESS, |process| {
                    process.number(field::PID, u64::from(timeline.process.max(1)));
                    process.text(field::PROCESS_NAME, &timeline.program);
                });
                track.number(field::CHILD_ORDERING, EXPLICIT);
            });
        });
        self.track(PROCESSORS, PROCESS, "processors", 0, false);
        self.track(THREADS, PROCESS, "threads", 1, false);
        for (at, track) in timeline.tracks.iter().enumerate() {
            let parent = match track.kind {
                TrackKind::Processor { .. } => PROCESSORS,
                TrackKind::Thread { .. } => THREADS,
            };
            self.track(TRACKS + at as u64, parent, &track.name, at as u64, false);
        }
        for (at, counter) in timeline.counters.iter().enumerate() {
            let at = (timeline.tracks.len() + at) as u64;
            self.track(TRACKS + at, PROCESS, &counter.name, 2 + at, true);
        }
    }

    fn track(&mut self, uuid: u64, parent: u64, name: &str, rank: u64, counts: bool) {
        self.packet(|packet| {
            packet.message(field::TRACK_DESCRIPTOR, |track| {
                track.number(field::UUID, uuid);
                track.text(field::TRACK_NAME, name);
                track.number(field::PARENT, parent);
                track.number(field::CHILD_ORDERING, EXPLICIT);
                track.number(field::RANK, rank);
                if counts {
                    track.message(field::COUNTER, |_| {});
                }
            });
        });
    }

    fn event(&mut self, time: u64, kind: u64, track: u64, name: Option<(u64, u64)>, through: &[Through]) {
        self.packet(|packet| {
            packet.number(field::TIMESTAMP, time);
            packet.number(field::FLAGS, NEEDS_NAMES);
            packet.message(field::TRACK_EVENT, |event| {
                event.number(field::TYPE, kind);
                event.number(field::TRACK, track);
                if let Some((name, category)) = name {
                    event.number(field::CATEGORY, category);
                    event.number(field::EVENT_NAME, name);
                }
                for &(flow, last, _) in through {
                    event.fixed(if last { field::LAST_FLOW } else { field::FLOW }, flow);
                }
            });
        });
    }

    fn count(&mut self, time: u64, track: u64, value: i64) {
        self.packet(|packet| {
            packet.number(field::TIMESTAMP, time);
            packet.message(field::TRACK_EVENT, |event| {
                event.number(field::TYPE, COUNT);
                event.number(field::TRACK, track);
                event.number(field::COUNTER_VALUE, value as u64);
            });
        });
    }
}
