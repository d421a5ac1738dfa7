//! Who waits for what, as far as the rings tell: a line for each thread that is in the middle of something.
//!
//! `bombyx trace --read` tells the same from the file, with more detail. This is for a program that hangs where nobody
//! has that file at hand.

use super::names;
use super::rings::{Seen, Thread};
use crate::protocol::ring::WORDS;
use bombyx_base::trace::{Event, Kind, NONE};
use std::collections::HashMap;
use std::fmt::Write as _;

/// How many threads are told of.
const TOLD: usize = 64;

/// What a thread is in the middle of.
struct Open<'a> {
    thread: &'a Thread,
    /// The processor that it holds, with its pool.
    held: Option<(u16, u16)>,
    /// What has begun and not ended, the outermost first.
    open: Vec<Event>,
}

/// See the module text. `now` and the events count ticks.
pub(super) fn tell(seen: &Seen, now: u64, ns_per_tick: f64) -> String {
    let all: Vec<_> = seen.by_thread().map(|(thread, events)| Open::of(thread, events)).collect();
    let runs =
        |open: &Open, job: u64| open.open.iter().any(|event| event.kind == Kind::Begins && event.a == job);
    let codes: HashMap<_, _> = names::codes().into_iter().collect();
    let mut lines = String::new();
    let unfinished: Vec<_> = all.iter().filter(|open| !open.open.is_empty()).collect();
    for open in unfinished.iter().take(TOLD) {
        let last = open.open.last().expect("filtered above");
        let what = match last.kind {
            Kind::Waits => match all.iter().find(|other| runs(other, last.a)) {
                Some(other) => format!("waits for a job that {} runs", other.name()),
                None => "waits, and no thread runs what it waits for: a scope, a queue, or a job that nobody has begun"
                    .to_owned(),
            },
            Kind::Blocks => "is in `blocking`".to_owned(),
            Kind::Begins => match codes.get(&(last.b as usize)) {
                Some(name) => format!("runs {name}"),
                None => "runs a closure".to_owned(),
            },
            Kind::Opens => match names::texts().get(last.a as usize) {
                Some(text) => format!("is in the phase `{}`", text.replace(char::is_control, "?")),
                None => "is in a phase".to_owned(),
            },
            _ => "runs a region of the program".to_owned(),
        };
        let holds = match open.held {
            Some((pool, processor)) => format!("holds processor {processor} of pool {pool} and "),
            None => String::new(),
        };
        let seconds = now.saturating_sub(last.time) as f64 * ns_per_tick * 1e-9;
        let _ = write!(lines, "\n  {} {holds}{what}, for {seconds:.1} s", open.name());
    }
    if unfinished.len() > TOLD {
        let _ = write!(lines, "\n  and {} more threads", unfinished.len() - TOLD);
    }
    if unfinished.is_empty() {
        lines.push_str("\n  no thread is in the middle of anything that the trace has kept");
    }
    lines
}

impl Open<'_> {
    fn of<'a>(thread: &'a Thread, events: &[[u64; WORDS]]) -> Open<'a> {
        let (mut held, mut open) = (None, Vec::<Event>::new());
        for event in events.iter().filter_map(|words| Event::from_words(*words)) {
            let begun = match event.kind {
                Kind::TakesHold => {
                    held = Some((event.pool, event.processor)).filter(|&(pool, _)| pool != NONE);
                    continue;
                }
                Kind::LetsGo => {
                    held = None;
                    continue;
                }
                Kind::Begins | Kind::Waits | Kind::Blocks | Kind::Enters | Kind::Opens => {
                    open.push(event);
                    continue;
                }
                Kind::Ends => Kind::Begins,
                Kind::GoesOn => Kind::Waits,
                Kind::Unblocks => Kind::Blocks,
                Kind::Leaves => Kind::Enters,
                Kind::Closes => Kind::Opens,
                _ => continue,
            };
            // What began before the oldest event that was kept is not in the list.
            if let Some(at) = open.iter().rposition(|known| known.kind == begun) {
                open.truncate(at);
            }
        }
        Open { thread, held, open }
    }

    fn name(&self) -> String {
        match self.thread.name.as_str() {
            "" => format!("thread {}", self.thread.number),
            name => format!("thread {} ({})", self.thread.number, name.replace(char::is_control, "?")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::ring::Copied;

    fn event(time: u64, kind: Kind, a: u64) -> [u64; WORDS] {
        Event { time, kind, pool: 0, processor: 1, other: 0, a, b: 0 }.to_words()
    }

    fn thread(number: u64, ring: usize, first: u64) -> Thread {
        Thread { number, name: String::new(), ring, first }
    }

    #[test]
    fn it_says_who_waits_for_whom() {
        let waits = vec![event(1, Kind::TakesHold, 0), event(5, Kind::Waits, 77), event(6, Kind::LetsGo, 0)];
        let runs = vec![
            // Of a thread that has ended, and of what began before the ring's oldest event.
            event(1, Kind::Begins, 1),
            event(1, Kind::Ends, 1),
            event(2, Kind::TakesHold, 0),
            event(3, Kind::Begins, 77),
            event(4, Kind::Blocks, 0),
        ];
        let rings = vec![Copied { lost: 0, events: waits }, Copied { lost: 10, events: runs }];
        let threads = vec![thread(100, 0, 0), thread(101, 1, 3), thread(102, 1, 12)];
        let text = tell(&Seen { rings, threads, untold: 0 }, 2_000_000_005, 1.0);
        let lines: Vec<_> = text.lines().skip(1).map(str::trim).collect();
        let first = "thread 100 waits for a job that thread 102 runs, for 2.0 s";
        let second = "thread 102 holds processor 1 of pool 0 and is in `blocking`, for 2.0 s";
        assert_eq!(lines, [first, second]);
    }

    #[test]
    fn a_flight_recorder_keeps_the_newest() {
        let ring = |times: &[u64]| Copied {
            lost: 2,
            events: times.iter().map(|&time| event(time, Kind::Mark, 0)).collect(),
        };
        let rings = vec![ring(&[10, 90, 100]), ring(&[10, 20]), ring(&[])];
        let mut seen = Seen { rings, threads: vec![], untold: 0 };
        seen.keep_last(10);
        let kept: Vec<_> = seen.rings.iter().map(|ring| (ring.lost, ring.events.len())).collect();
        assert_eq!(kept, [(3, 2), (4, 0), (2, 0)]);
    }
}
