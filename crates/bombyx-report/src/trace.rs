//! The part of the page that shows a trace.

use crate::compare::Figure;
use crate::html::{Part, Section, list, number, time};
use crate::packed::{base64, packed};
use bombyx_trace::{Category, Slice, Timeline, Track, TrackKind};
use serde_json::{Value, json};
use std::collections::HashMap;

/// How many closures the table has.
const CLOSURES: usize = 40;

fn is_processor(track: &Track) -> bool {
    matches!(track.kind, TrackKind::Processor { .. })
}

fn runs(category: Category) -> bool {
    matches!(category, Category::Run | Category::Region | Category::Phase)
}

/// How long the slices of a track are that are wanted.
fn spent(track: &Track, wanted: impl Fn(Category) -> bool) -> u64 {
    track.slices.iter().filter(|slice| wanted(slice.category)).map(length).fold(0, u64::saturating_add)
}

fn length(slice: &Slice) -> u64 {
    slice.end - slice.start
}

/// The timeline with its tables.
pub(crate) fn sections(timeline: &Timeline) -> Vec<Section> {
    let body = list(&sentences(timeline))
        + "<div class=\"bar\">\n\
           <input type=\"search\" data-is=\"search\" placeholder=\"search closures and marks\" aria-label=\"search closures and marks\">\n\
           <button data-is=\"next\">next</button> <span data-is=\"found\" class=\"soft\" role=\"status\"></span>\n\
           <button data-is=\"in\" aria-label=\"zoom in\">+</button> <button data-is=\"out\" aria-label=\"zoom out\">−</button> \
           <button data-is=\"whole\">whole run</button>\n</div>\n\
           <div class=\"timeline\"><canvas data-is=\"canvas\" tabindex=\"0\" role=\"img\" aria-label=\"What each processor and \
           thread does over time. Arrow keys move, plus and minus zoom, Home shows the whole run. The tables below have the \
           same as numbers.\"></canvas></div>\n\
           <div data-is=\"legend\" class=\"legend\"></div>\n\
           <p class=\"soft\">The wheel or two fingers zoom, dragging moves. Processors are above, threads below.</p>\n\
           <h3>Processors</h3><div class=\"scroll\"><table data-is=\"processors\"></table></div>\n\
           <h3>Closures, regions and phases</h3>\n\
           <p class=\"soft\">As seen on the threads, with what runs inside. A closure that nobody stole is a part of the one \
           around it.</p>\n\
           <div class=\"scroll\"><table data-is=\"closures\"></table></div>\n";
    vec![Section { part: Part::Timeline, title: "Timeline", body }]
}

/// What two runs are compared by.
pub(crate) fn figures(timeline: &Timeline) -> Vec<Figure> {
    let processors: Vec<&Track> = timeline.tracks.iter().filter(|track| is_processor(track)).collect();
    let busy = processors.iter().map(|track| spent(track, runs)).fold(0, u64::saturating_add);
    let all = (timeline.length as f64 * processors.len() as f64).max(1.0);
    let mut figures = vec![
        Figure::time("length of the trace", timeline.length as f64),
        Figure::share("time in which processors ran closures", busy as f64 / all),
    ];
    for (name, what) in [
        ("steal", "steals in the trace"),
        ("hand-over", "hand-overs in the trace"),
        ("wake", "wake-ups in the trace"),
    ] {
        let count = timeline.arrows.iter().filter(|arrow| arrow.name == name).count();
        figures.push(Figure::count(what, count as f64));
    }
    figures
}

/// What there is to say, in words.
fn sentences(timeline: &Timeline) -> Vec<String> {
    let (processors, threads): (Vec<_>, Vec<_>) =
        timeline.tracks.iter().partition(|track| is_processor(track));
    let ns = |ns: u64| time(ns as f64);
    let share = |part: u64, whole: u64| format!("{:.0} %", 100.0 * part as f64 / whole.max(1) as f64);
    let mut sentences = vec![format!(
        "The trace shows {} of {}, on {} and {}.",
        ns(timeline.length),
        timeline.program,
        number(processors.len() as u64, "processor"),
        number(threads.len() as u64, "thread")
    )];
    let busy = processors.iter().map(|track| spent(track, runs)).fold(0, u64::saturating_add);
    let all = timeline.length.saturating_mul(processors.len() as u64);
    sentences.push(format!("Processors ran closures for {} of their time.", share(busy, all)));
    if processors.len() > 1 {
        let alone = time_at(timeline, "busy processors", 1);
        sentences.push(format!(
            "For {} of the time, exactly one processor was busy.",
            share(alone, timeline.length)
        ));
    }
    let count = |name: &str| timeline.arrows.iter().filter(|arrow| arrow.name == name).count();
    sentences.push(format!(
        "Steals: {}; hand-overs: {}; wake-ups: {}; calls from outside: {}.",
        count("steal"),
        count("hand-over"),
        count("wake"),
        count("queue")
    ));
    let waits = threads.iter().flat_map(|track| track.slices.iter().map(move |slice| (track, slice)));
    if let Some((track, slice)) =
        waits.filter(|(_, slice)| slice.category == Category::Wait).max_by_key(|(_, slice)| length(slice))
    {
        sentences.push(format!(
            "The longest wait of a frame took {}, on {} from {}.",
            ns(length(slice)),
            track.name,
            ns(slice.start)
        ));
    }
    if timeline.interrupted {
        sentences.push("A signal ended the program.".to_owned());
    }
    if timeline.lost > 0 {
        sentences.push(format!(
            "The trace has lost {}, overwritten or without room, so the beginning is missing or has holes.",
            number(timeline.lost, "older event")
        ));
    }
    sentences
}

/// For how long a counter had this value.
fn time_at(timeline: &Timeline, counter: &str, value: i64) -> u64 {
    let Some(counter) = timeline.counters.iter().find(|one| one.name == counter) else { return 0 };
    let ends = counter.values.iter().skip(1).map(|value| value.0).chain([timeline.length]);
    let spells = counter.values.iter().zip(ends);
    spells.filter(|(at, _)| at.1 == value).map(|(at, end)| end.saturating_sub(at.0)).sum()
}

/// What the page's code needs.
pub(crate) fn data(timeline: &Timeline) -> Value {
    let tracks: Vec<Value> = timeline
        .tracks
        .iter()
        .map(|track| json!({ "name": track.name, "slices": base64(&packed(&track.slices)) }))
        .collect();
    let points = |arrow: &bombyx_trace::Arrow| {
        arrow.points.iter().flat_map(|point| [point.track as u64, point.time]).collect::<Vec<u64>>()
    };
    let arrows: Vec<Vec<u64>> = timeline.arrows.iter().map(points).collect();
    let marks: Vec<_> =
        timeline.marks.iter().map(|mark| json!([mark.at.track, mark.at.time, mark.name])).collect();
    let processors: Vec<Value> = timeline
        .tracks
        .iter()
        .filter(|track| is_processor(track))
        .map(|track| {
            let waits = |category| matches!(category, Category::Wait | Category::Blocked);
            json!([
                track.name,
                spent(track, runs),
                spent(track, waits),
                spent(track, |category| category == Category::Search)
            ])
        })
        .collect();
    json!({
        "length": timeline.length,
        "categories": Category::ALL.map(Category::name),
        "names": timeline.names,
        "tracks": tracks,
        "arrows": arrows,
        "marks": marks,
        "processors": processors,
        "closures": closures(timeline),
    })
}

/// What took the most time on the threads: name, how often, together, the longest.
fn closures(timeline: &Timeline) -> Vec<Value> {
    let mut sums: HashMap<u32, (u64, u64, u64)> = HashMap::new();
    let threads = timeline.tracks.iter().filter(|track| !is_processor(track));
    for slice in threads.flat_map(|track| &track.slices).filter(|slice| runs(slice.category)) {
        let (count, total, longest) = sums.entry(slice.name).or_default();
        (*count, *total, *longest) =
            (*count + 1, total.saturating_add(length(slice)), (*longest).max(length(slice)));
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_unstable_by_key(|&(name, (_, total, _))| (std::cmp::Reverse(total), name));
    sums.truncate(CLOSURES);
    let row = |(name, (count, total, longest)): (u32, (u64, u64, u64))| {
        json!([timeline.names[name as usize], count, total, longest])
    };
    sums.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_has_a_value_for_some_time() {
        let values = vec![(0, 0), (10, 1), (30, 2), (40, 1)];
        let counter = bombyx_trace::Counter { name: "busy processors".to_owned(), values };
        let timeline = Timeline { length: 100, counters: vec![counter], ..Timeline::default() };
        assert_eq!(time_at(&timeline, "busy processors", 1), 80);
        assert_eq!(time_at(&timeline, "nothing", 1), 0);
    }

    #[test]
    fn one_thing_has_no_plural() {
        let timeline = Timeline { lost: 1, ..Timeline::default() };
        let words = sentences(&timeline).join(" ");
        assert!(words.contains("lost 1 older event,"), "{words}");
        assert!(words.contains("0 processors and 0 threads."), "{words}");
    }
}
