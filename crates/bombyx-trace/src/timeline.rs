//! [`Timeline`]: what a trace shows, as slices, arrows, marks and counters.
//!
//! There is one track per processor and one per thread. A thread's slices nest like the calls on its stack, and stay
//! there. A processor's slices follow one another, and move with the processor from thread to thread. So a hand-over
//! shows as a processor that leaves one stack and goes on with another.

use crate::arrows;
use crate::reader::Trace;
use crate::replay::{Labels, Processor, Replay, Rest};
use std::collections::BTreeMap;

/// See the module text. All times are nanoseconds since the beginning of the trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// The program's name.
    pub program: String,
    /// The number of the process.
    pub process: u32,
    /// When the trace began, in nanoseconds since 1970.
    pub began_unix_ns: u128,
    /// How long the trace is.
    pub length: u64,
    /// First the processors, then the threads.
    pub tracks: Vec<Track>,
    /// The names that slices and marks give by their place here.
    pub names: Vec<String>,
    /// What led to what.
    pub arrows: Vec<Arrow>,
    /// Moments.
    pub marks: Vec<Mark>,
    /// How many there are of something.
    pub counters: Vec<Counter>,
    /// Events that were overwritten or had no room.
    pub lost: u64,
    /// Whether a signal ended the program.
    pub interrupted: bool,
    /// What had not ended when the file was written: the innermost of each thread.
    pub unfinished: Vec<Unfinished>,
}

/// A row of slices.
#[derive(Clone, Debug, PartialEq)]
pub struct Track {
    /// What it is called.
    pub name: String,
    /// Whose it is.
    pub kind: TrackKind,
    /// In order of their beginnings; a slice stands before those in it.
    pub slices: Vec<Slice>,
}

/// Whose track it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrackKind {
    /// A processor's.
    Processor {
        /// The number of its pool.
        pool: u16,
        /// Its number in the pool.
        index: u16,
    },
    /// A thread's.
    Thread {
        /// The number that the system gave it.
        number: u64,
    },
}

/// Something that takes time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// When it begins.
    pub start: u64,
    /// When it ends.
    pub end: u64,
    /// Its name, in [`Timeline::names`].
    pub name: u32,
    /// What kind of thing it is.
    pub category: Category,
    /// In how many others it lies.
    pub depth: u16,
}

/// What kind of thing takes time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Category {
    /// A closure runs.
    Run,
    /// A scope, a loop, a run in a pool.
    Region,
    /// A phase that the program named.
    Phase,
    /// A frame waits, and its thread looks around or helps.
    Wait,
    /// A frame waits, and its thread has no processor.
    Parked,
    /// Code that may block.
    Blocked,
    /// A processor looks for work.
    Search,
}

impl Category {
    /// All of them.
    pub const ALL: [Category; 7] = [
        Category::Run,
        Category::Region,
        Category::Phase,
        Category::Wait,
        Category::Parked,
        Category::Blocked,
        Category::Search,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Category::Run => "run",
            Category::Region => "region",
            Category::Phase => "phase",
            Category::Wait => "wait",
            Category::Parked => "parked",
            Category::Blocked => "blocked",
            Category::Search => "search",
        }
    }
}

/// A place on a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Point {
    /// Which track, in [`Timeline::tracks`].
    pub track: usize,
    /// When.
    pub time: u64,
}

/// One thing that leads to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrow {
    /// `steal`, `hand-over`, `wake` or `queue`.
    pub name: &'static str,
    /// Two or more points, in order of time.
    pub points: Vec<Point>,
}

/// A moment that has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Where and when.
    pub at: Point,
    /// Its name, in [`Timeline::names`].
    pub name: u32,
}

/// What a thread was in the middle of when the file was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// The thread's track, in [`Timeline::tracks`].
    pub track: usize,
    /// Since when.
    pub since: u64,
    /// What it is called, in [`Timeline::names`].
    pub name: u32,
    /// What kind of thing it is.
    pub category: Category,
    /// If it waits for a job that a thread runs: that thread's track.
    pub waits_for: Option<usize>,
}

impl Unfinished {
    /// One sentence, without a full stop.
    pub fn describe(&self, timeline: &Timeline) -> String {
        let track = |track: usize| &timeline.tracks[track].name;
        let (who, name) = (track(self.track), &timeline.names[self.name as usize]);
        match (self.category, self.waits_for) {
            (Category::Wait, Some(other)) => format!("{who} waits for a job that {} runs", track(other)),
            (Category::Wait, None) => format!("{who} waits, and no thread runs what it waits for"),
            (Category::Blocked, _) => format!("{who} is in `blocking`"),
            _ => format!("{who} is in {name}"),
        }
    }
}

/// How many there are of something, over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Of what.
    pub name: String,
    /// When the number changed, and to what.
    pub values: Vec<(u64, i64)>,
}

impl Timeline {
    /// What a trace shows.
    pub fn of(trace: &Trace) -> Timeline {
        let mut tracks = Vec::new();
        let mut processors = BTreeMap::new();
        let mut pools: Vec<_> = trace.pools.iter().collect();
        pools.sort_unstable_by_key(|(number, _)| **number);
        for (&pool, known) in pools {
            for index in 0..known.processors {
                processors.insert((pool, index), tracks.len());
                let several = if trace.pools.len() > 1 { format!("pool {pool}, ") } else { String::new() };
                let name = format!("{several}processor {index}");
                tracks.push(Track { name, kind: TrackKind::Processor { pool, index }, slices: vec![] });
            }
        }
        let first_thread = tracks.len();
        for (at, thread) in trace.threads.iter().enumerate() {
            let again = trace.threads[..at].iter().any(|earlier| earlier.number == thread.number);
            let name = match thread.name.as_str() {
                "" => format!("thread {}", thread.number),
                name => format!("{name} ({})", thread.number),
            };
            let name = if again { format!("{name} #{at}") } else { name };
            tracks.push(Track { name, kind: TrackKind::Thread { number: thread.number }, slices: vec![] });
        }
        let mut labels = Labels::default();
        let replays: Vec<Replay> = trace
            .threads
            .iter()
            .enumerate()
            .map(|(at, thread)| Replay::of(trace, thread, first_thread + at, &mut labels))
            .collect();
        for replay in &replays {
            tracks[replay.track].slices.clone_from(&replay.slices);
            for &(processor, slice) in &replay.segments {
                if let Some(&track) = processors.get(&processor) {
                    tracks[track].slices.push(slice);
                }
            }
        }
        for track in &mut tracks[..first_thread] {
            one_after_the_other(&mut track.slices);
        }
        let arrows = arrows::of(&replays, &processors);
        let length = tracks
            .iter()
            .flat_map(|track| &track.slices)
            .map(|slice| slice.end)
            .chain([trace.ns(trace.ended)])
            .max()
            .unwrap_or(0);
        let counters = counters(&tracks, &replays, first_thread, length);
        Timeline {
            program: trace.program.clone(),
            process: trace.process,
            began_unix_ns: trace.began_unix_ns,
            length,
            arrows,
            marks: marks(&replays, &processors),
            counters,
            lost: trace.threads.iter().map(|thread| thread.lost).fold(trace.untold, u64::saturating_add),
            interrupted: trace.interrupted,
            unfinished: unfinished(&replays),
            tracks,
            names: labels.names,
        }
    }
}

/// Marks of threads, and exchanges of CPUs. An exchange is on the tracks of both processors: the thread that made it does nothing
/// else, and has no slices.
fn marks(replays: &[Replay], processors: &BTreeMap<Processor, usize>) -> Vec<Mark> {
    let exchanges = replays.iter().flat_map(|replay| &replay.exchanges).flat_map(|exchange| {
        let tracks = exchange.between.iter().filter_map(|processor| processors.get(processor));
        tracks.map(|&track| Mark { at: Point { track, time: exchange.time }, name: exchange.name })
    });
    replays.iter().flat_map(|replay| &replay.marks).copied().chain(exchanges).collect()
}

/// The innermost of what each thread has not ended, and who runs what it waits for.
fn unfinished(replays: &[Replay]) -> Vec<Unfinished> {
    let runs = |job: u64| {
        let holds = |replay: &&Replay| {
            replay.open.iter().any(|open| open.category == Category::Run && open.job == job)
        };
        replays.iter().find(holds).map(|replay| replay.track)
    };
    let innermost = |replay: &Replay| {
        let open = replay.open.last()?;
        let waits_for = if open.category == Category::Wait { runs(open.job) } else { None };
        let (name, category) = (open.name, open.category);
        Some(Unfinished { track: replay.track, since: open.since, name, category, waits_for })
    };
    replays.iter().filter_map(innermost).collect()
}

/// Sorts the slices of a processor. Those of different threads overlap at most by what the clocks of two CPUs differ.
fn one_after_the_other(slices: &mut [Slice]) {
    slices.sort_by_key(|slice| (slice.start, slice.end));
    for at in 1..slices.len() {
        let next = slices[at].start;
        slices[at - 1].end = slices[at - 1].end.min(next);
    }
}

fn counters(tracks: &[Track], replays: &[Replay], first_thread: usize, end: u64) -> Vec<Counter> {
    let count = |name: &str, spans: Vec<Span>| {
        let changes = spans.into_iter().flat_map(|(from, to)| [(from, 1), (to, -1)]);
        Counter { name: name.to_owned(), values: sum(changes.collect()) }
    };
    let of = |tracks: &[Track], wanted: fn(Category) -> bool| {
        let slices = tracks.iter().flat_map(|track| &track.slices).filter(|slice| wanted(slice.category));
        slices.map(|slice| (slice.start, slice.end)).collect()
    };
    let (processors, threads) = tracks.split_at(first_thread);
    let busy = |category| matches!(category, Category::Run | Category::Region | Category::Phase);
    vec![
        count("busy processors", of(processors, busy)),
        count("searching processors", of(processors, |category| category == Category::Search)),
        count("sleeping processors", sleeps(replays, end)),
        count("carriers in use", replays.iter().flat_map(|replay| in_use(replay, end)).collect()),
        count("waiting frames", of(threads, |category| category == Category::Wait)),
        count("queued calls", arrows::queue(replays)),
    ]
}

/// When something begins and ends.
type Span = (u64, u64);

/// When processors sleep: each until a thread takes hold of it.
fn sleeps(replays: &[Replay], end: u64) -> Vec<Span> {
    let mut held: BTreeMap<Processor, Vec<u64>> = BTreeMap::new();
    for hold in replays.iter().flat_map(|replay| &replay.holds) {
        held.entry(hold.processor).or_default().push(hold.from);
    }
    held.values_mut().for_each(|times| times.sort_unstable());
    let until = |rest: &Rest| {
        let times = held.get(&rest.processor).map_or(&[][..], Vec::as_slice);
        let next = times.get(times.partition_point(|time| *time < rest.from));
        rest.to.or(next.copied()).unwrap_or(end)
    };
    replays.iter().flat_map(|replay| &replay.rests).map(|rest| (rest.from, until(rest))).collect()
}

/// When a carrier holds a processor, or has frames on its stack.
fn in_use(replay: &Replay, end: u64) -> Vec<Span> {
    if replay.holds.is_empty() {
        return Vec::new();
    }
    let holds = replay.holds.iter().map(|hold| (hold.from, hold.to.unwrap_or(end)));
    let outermost = replay.slices.iter().filter(|slice| slice.depth == 0);
    let mut spans: Vec<Span> = holds.chain(outermost.map(|slice| (slice.start, slice.end))).collect();
    spans.sort_unstable();
    spans.dedup_by(|next, before| {
        let one = next.0 <= before.1;
        if one {
            before.1 = before.1.max(next.1);
        }
        one
    });
    spans
}

/// Adds up changes. There is one value per moment, and only if it is another one.
fn sum(mut changes: Vec<(u64, i64)>) -> Vec<(u64, i64)> {
    changes.sort_unstable();
    let (mut values, mut now): (Vec<(u64, i64)>, i64) = (vec![(0, 0)], 0);
    for (time, change) in changes {
        now += change;
        match values.last_mut() {
            Some(last) if last.0 == time => last.1 = now,
            _ => values.push((time, now)),
        }
    }
    values.dedup_by_key(|value| value.1);
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::{Pool, Thread};
    use bombyx_base::trace::{Event, Kind, NONE, State};

    #[test]
    fn changes_add_up() {
        let values = sum(vec![(5, 1), (7, -1), (5, 1), (7, 1), (9, -2)]);
        assert_eq!(values, [(0, 0), (5, 2), (9, 0)]);
    }

    /// The thread that exchanges the CPUs of two processors holds neither. Viewers leave out a track without slices, so the
    /// exchange is on the tracks of the processors.
    #[test]
    fn an_exchange_of_cpus_is_on_the_tracks_of_both_processors() {
        let exchange = Event { time: 40, kind: Kind::Mugs, pool: 0, processor: 2, other: 0, a: 0, b: 0 };
        let pool = Pool { processors: 3, fixed: false, scheduler: String::new() };
        let trace = Trace {
            ns_per_tick: 1.0,
            ended: 100,
            pools: [(0, pool)].into(),
            threads: vec![Thread { number: 1, name: String::new(), lost: 0, events: vec![exchange] }],
            ..Trace::default()
        };
        let timeline = Timeline::of(&trace);
        let tracks: Vec<_> =
            timeline.marks.iter().map(|mark| &*timeline.tracks[mark.at.track].name).collect();
        assert_eq!(tracks, ["processor 2", "processor 0"]);
        for mark in &timeline.marks {
            assert_eq!(mark.at.time, 40);
            assert_eq!(timeline.names[mark.name as usize], "processor 2 exchanges CPUs with processor 0");
        }
    }

    /// One processor, which sleeps twice: while no thread holds it, and in a nap of its holder.
    #[test]
    fn sleeping_processors_and_carriers_are_counted() {
        let event = |time, kind, state: State| {
            let other = if kind == Kind::State { state as u16 } else { NONE };
            Event { time, kind, pool: 0, processor: 0, other, a: 0, b: 0 }
        };
        let thread = |number, events| Thread { number, name: String::new(), lost: 0, events };
        let first = vec![
            event(10, Kind::TakesHold, State::Busy),
            event(30, Kind::LetsGo, State::Busy),
            event(31, Kind::State, State::Idle),
        ];
        let second = vec![
            event(50, Kind::TakesHold, State::Busy),
            event(60, Kind::State, State::Idle),
            event(70, Kind::State, State::Search),
            event(80, Kind::LetsGo, State::Busy),
        ];
        let pool = Pool { processors: 1, fixed: false, scheduler: String::new() };
        let trace = Trace {
            ns_per_tick: 1.0,
            ended: 100,
            pools: [(0, pool)].into(),
            threads: vec![thread(1, first), thread(2, second)],
            ..Trace::default()
        };
        let timeline = Timeline::of(&trace);
        let values = |name: &str| {
            let counter = timeline.counters.iter().find(|counter| counter.name == name);
            counter.expect("it is there").values.clone()
        };
        assert_eq!(values("sleeping processors"), [(0, 0), (31, 1), (50, 0), (60, 1), (70, 0)]);
        assert_eq!(
            values("searching processors"),
            [(0, 0), (10, 1), (30, 0), (50, 1), (60, 0), (70, 1), (80, 0)]
        );
        assert_eq!(values("carriers in use"), [(0, 0), (10, 1), (30, 0), (50, 1), (80, 0)]);
        let slices = timeline.tracks[0].slices.iter().map(|slice| (slice.start, slice.end));
        assert_eq!(slices.collect::<Vec<_>>(), [(10, 30), (50, 60), (70, 80)], "a gap means that it rests");
    }
}
