//! The Firefox Profiler's processed profile, for <https://profiler.firefox.com> and for people who use samply. The crate
//! `fxprof-processed-profile`, which samply writes its own files with, makes the tables.
//!
//! That profiler shows samples of stacks. A timeline has more: it knows when each slice begins and ends. So there is one
//! sample per change, and its weight is the time up to the next change, in microseconds. Call tree and flame graph add up
//! weights, and the stack chart has the slices as they are. Waits, blocked calls, regions, phases, marks and arrows are
//! markers, too. The profiler has no place for counters like ours, so they are left out.

use crate::timeline::{Category, Slice, Timeline, Track, TrackKind};
use fxprof_processed_profile::{
    CategoryColor, CategoryHandle, CpuDelta, Frame, FrameFlags, FrameInfo, MarkerFieldFlags,
    MarkerFieldFormat, MarkerTiming, Profile, ReferenceTimestamp, SamplingInterval, StackHandle,
    StaticSchemaMarker, StaticSchemaMarkerField, StringHandle, ThreadHandle, Timestamp,
};
use std::time::Duration;

/// The unit of weights.
const MICROSECOND: u64 = 1000;

/// The timeline as JSON.
pub fn encode(timeline: &Timeline) -> String {
    let began = Duration::from_nanos(u64::try_from(timeline.began_unix_ns).unwrap_or(0));
    let began = ReferenceTimestamp::from_duration_since_unix_epoch(began);
    let interval = SamplingInterval::from_nanos(MICROSECOND);
    let mut writer = Writer::new(Profile::new(&timeline.program, began, interval), timeline);
    // Two processes, because threads are sorted within a process: the processors, and the threads.
    let number = timeline.process.max(1);
    let processes = ["processors", "threads"]
        .map(|kind| writer.profile.add_process(&format!("{}: {kind}", timeline.program), number, time(0)));
    let mut threads = Vec::with_capacity(timeline.tracks.len());
    for (at, track) in timeline.tracks.iter().enumerate() {
        let process = processes[usize::from(matches!(track.kind, TrackKind::Thread { .. }))];
        let thread = writer.profile.add_thread(process, at as u32 + 1, time(0), false);
        writer.profile.set_thread_name(thread, &track.name);
        writer.profile.set_thread_end_time(thread, time(timeline.length));
        writer.profile.set_thread_show_markers_in_timeline(thread, true);
        writer.profile.add_initial_visible_thread(thread);
        writer.samples(thread, track, timeline.length);
        threads.push(thread);
    }
    for mark in &timeline.marks {
        let name = writer.names[mark.name as usize];
        let marker = Event { name, category: writer.other, to: writer.empty };
        writer.profile.add_marker(threads[mark.at.track], MarkerTiming::Instant(time(mark.at.time)), marker);
    }
    for arrow in &timeline.arrows {
        let (Some(from), Some(to)) = (arrow.points.first(), arrow.points.last()) else { continue };
        let name = writer.profile.intern_string(arrow.name);
        let to_name = writer.profile.intern_string(&timeline.tracks[to.track].name);
        let marker = Event { name, category: writer.other, to: to_name };
        writer.profile.add_marker(
            threads[from.track],
            MarkerTiming::Interval(time(from.time), time(to.time)),
            marker,
        );
    }
    serde_json::to_string(&writer.profile).expect("tables of numbers and texts are JSON")
}

fn time(ns: u64) -> Timestamp {
    Timestamp::from_nanos_since_reference(ns)
}

struct Writer {
    profile: Profile,
    /// The names of the timeline.
    names: Vec<StringHandle>,
    empty: StringHandle,
    other: CategoryHandle,
    categories: [CategoryHandle; Category::ALL.len()],
}

impl Writer {
    fn new(mut profile: Profile, timeline: &Timeline) -> Writer {
        // Nothing in the file needs symbols.
        profile.set_symbolicated(true);
        let categories = Category::ALL.map(|category| profile.add_category(category.name(), color(category)));
        let names = timeline.names.iter().map(|name| profile.intern_string(name)).collect();
        let empty = profile.intern_string("");
        Writer { profile, names, empty, other: CategoryHandle::OTHER, categories }
    }

    fn category(&self, category: Category) -> CategoryHandle {
        self.categories[Category::ALL.iter().position(|one| *one == category).expect("all are there")]
    }

    /// A sample at each change of what a track is in, and markers for what is not a closure.
    fn samples(&mut self, thread: ThreadHandle, track: &Track, length: u64) {
        let mut samples = Samples { thread, open: Vec::new(), last: 0, busy: false, rest: 0, pending: None };
        for slice in &track.slices {
            samples.end_until(self, slice.start);
            samples.change(self, slice.start);
            let name = self.names[slice.name as usize];
            let category = self.category(slice.category);
            let frame = FrameInfo {
                frame: Frame::Label(name),
                category_pair: category.into(),
                flags: FrameFlags::empty(),
            };
            let frame = self.profile.intern_frame(thread, frame);
            let parent = samples.open.last().map(|(_, stack)| *stack);
            let stack = self.profile.intern_stack(thread, parent, frame);
            samples.open.push((*slice, stack));
            if slice.category != Category::Run && slice.category != Category::Search {
                let marker = Event { name, category, to: self.empty };
                let interval = MarkerTiming::Interval(time(slice.start), time(slice.end));
                self.profile.add_marker(thread, interval, marker);
            }
        }
        samples.end_until(self, u64::MAX);
        samples.change(self, length);
        samples.finish(self);
    }
}

/// The stack of a track while time goes on.
struct Samples {
    thread: ThreadHandle,
    open: Vec<(Slice, StackHandle)>,
    /// Up to when there are samples.
    last: u64,
    /// Whether the time before the pending sample was spent computing, for the activity graph.
    busy: bool,
    /// Nanoseconds that are not in the weights yet, because weights are microseconds.
    rest: u64,
    /// The sample that began last: when, and how long the thread had computed before.
    pending: Option<(u64, u64)>,
}

impl Samples {
    /// Ends all slices that end until then.
    fn end_until(&mut self, writer: &mut Writer, until: u64) {
        while let Some(end) = self.open.last().map(|(slice, _)| slice.end).filter(|end| *end <= until) {
            self.change(writer, end);
            self.open.pop();
        }
    }

    /// Tells what the track was in up to now.
    fn change(&mut self, writer: &mut Writer, now: u64) {
        if now <= self.last {
            return;
        }
        let length = now - self.last + self.rest;
        let weight = i32::try_from(length / MICROSECOND).unwrap_or(i32::MAX);
        self.rest = length % MICROSECOND;
        let stack = self.open.last().map(|(_, stack)| *stack);
        let before = self.pending.take().filter(|_| self.busy).map_or(0, |(_, length)| length);
        let weight = if stack.is_some() { weight } else { 0 };
        let delta = CpuDelta::from_nanos(before);
        writer.profile.add_sample(self.thread, time(self.last), stack, delta, weight);
        self.busy = self.open.last().is_some_and(|(slice, _)| {
            matches!(slice.category, Category::Run | Category::Region | Category::Phase | Category::Search)
        });
        self.pending = Some((self.last, now - self.last));
        self.last = now;
    }

    /// The last sample has nothing on its stack: there the trace ends.
    fn finish(self, writer: &mut Writer) {
        let before = self.pending.filter(|_| self.busy).map_or(0, |(_, length)| length);
        writer.profile.add_sample(self.thread, time(self.last), None, CpuDelta::from_nanos(before), 0);
    }
}

fn color(category: Category) -> CategoryColor {
    match category {
        Category::Run => CategoryColor::Blue,
        Category::Region => CategoryColor::Purple,
        Category::Phase => CategoryColor::Magenta,
        Category::Wait => CategoryColor::Yellow,
        Category::Parked => CategoryColor::Brown,
        Category::Blocked => CategoryColor::Red,
        Category::Search => CategoryColor::Gray,
    }
}

/// What a marker says.
struct Event {
    name: StringHandle,
    category: CategoryHandle,
    /// Where an arrow leads.
    to: StringHandle,
}

impl StaticSchemaMarker for Event {
    const UNIQUE_MARKER_TYPE_NAME: &'static str = "Event";
    const CHART_LABEL: Option<&'static str> = Some("{marker.name}");
    const TABLE_LABEL: Option<&'static str> = Some("{marker.name} {marker.data.to}");
    const FIELDS: &'static [StaticSchemaMarkerField] = &[StaticSchemaMarkerField {
        key: "to",
        label: "Leads to",
        format: MarkerFieldFormat::String,
        flags: MarkerFieldFlags::SEARCHABLE,
    }];

    fn name(&self, _: &mut Profile) -> StringHandle {
        self.name
    }

    fn category(&self, _: &mut Profile) -> CategoryHandle {
        self.category
    }

    fn string_field_value(&self, _: u32) -> StringHandle {
        self.to
    }

    fn number_field_value(&self, _: u32) -> f64 {
        unreachable!("the one field is a text")
    }
}
