//! The arrows of a timeline: from a steal to the thief's slice and to the join, from a hand-over to the receiver, from a
//! wake-up to the woken processor, and from a queued call to its run.

use crate::replay::{Processor, Replay};
use crate::timeline::{Arrow, Point};
use std::collections::{BTreeMap, HashMap};

/// When and where something happened to a key.
struct Times<K>(HashMap<K, Vec<Point>>);

impl<K: std::hash::Hash + Eq> Times<K> {
    fn new(all: impl Iterator<Item = (K, Point)>) -> Times<K> {
        let mut times: HashMap<K, Vec<Point>> = HashMap::new();
        for (key, point) in all {
            times.entry(key).or_default().push(point);
        }
        times.values_mut().for_each(|points| points.sort_unstable_by_key(|point| point.time));
        Times(times)
    }

    /// The points from this time on.
    fn from(&self, key: &K, time: u64) -> &[Point] {
        let points = self.0.get(key).map_or(&[][..], Vec::as_slice);
        &points[points.partition_point(|point| point.time < time)..]
    }
}

fn begins(replays: &[Replay]) -> Times<u64> {
    let of = |replay: &Replay| {
        let track = replay.track;
        replay.began.iter().map(move |&(job, time)| (job, Point { track, time })).collect::<Vec<_>>()
    };
    Times::new(replays.iter().flat_map(of))
}

/// All arrows.
pub(crate) fn of(replays: &[Replay], processors: &BTreeMap<Processor, usize>) -> Vec<Arrow> {
    let begins = begins(replays);
    let joins = Times::new(replays.iter().flat_map(|replay| {
        let end = |&(job, _, time): &(u64, u64, u64)| (job, Point { track: replay.track, time });
        replay.waited.iter().map(end).collect::<Vec<_>>()
    }));
    let holds = Times::new(replays.iter().flat_map(|replay| {
        let track = replay.track;
        replay.holds.iter().map(move |hold| (hold.processor, Point { track, time: hold.from }))
    }));
    let mut arrows = Vec::new();
    let mut add = |name, points: Vec<Point>| {
        if points.len() > 1 {
            arrows.push(Arrow { name, points });
        }
    };
    for replay in replays {
        let track = replay.track;
        let here = |time| Point { track, time };
        for steal in &replay.steals {
            let victim = steal.from.and_then(|from| processors.get(&from));
            let mut points: Vec<Point> =
                victim.map(|&track| Point { track, time: steal.time }).into_iter().collect();
            let begun = begins.from(&steal.job, steal.time);
            if let Some(begin) = begun.first().filter(|begin| begin.track == track) {
                points.push(*begin);
                // The address may name another job from the next beginning on.
                let next = begun.get(1).map_or(u64::MAX, |next| next.time);
                points.extend(joins.from(&steal.job, begin.time).first().filter(|join| join.time <= next));
            }
            add("steal", points);
        }
        for hold in replay.holds.iter().filter(|hold| !hold.rested) {
            if let Some(time) = hold.to
                && let Some(next) = holds.from(&hold.processor, time).first()
                && next.track != track
            {
                add("hand-over", vec![here(time), *next]);
            }
        }
        for &(time, processor) in &replay.wakes {
            if let Some(next) = holds.from(&processor, time).first() {
                add("wake", vec![here(time), *next]);
            }
        }
        for &(time, job) in &replay.queued {
            if let Some(begin) = begins.from(&job, time).first() {
                add("queue", vec![here(time), *begin]);
            }
        }
    }
    arrows
}

/// From when to when calls are queued.
pub(crate) fn queue(replays: &[Replay]) -> Vec<(u64, u64)> {
    let begins = begins(replays);
    let queued = replays.iter().flat_map(|replay| &replay.queued);
    let both = |&(time, job): &(u64, u64)| {
        let begin = begins.from(&job, time).first()?;
        Some((time, begin.time))
    };
    queued.filter_map(both).collect()
}
