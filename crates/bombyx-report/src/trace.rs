//! The part of the page that shows a trace.

use crate::html::{escaped, time};
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

/// The HTML of the part.
pub(crate) fn section(timeline: &Timeline) -> String {
    let sentences: String =
        sentences(timeline).iter().map(|sentence| format!("<li>{}</li>", escaped(sentence))).collect();
    format!(
        "<section aria-labelledby=\"timeline\">\n\
         <h2 id=\"timeline\">Timeline</h2>\n<ul>{sentences}</ul>\n\
         <div class=\"bar\">\n\
         <input type=\"search\" id=\"search\" placeholder=\"search closures and marks\" aria-label=\"search closures and marks\">\n\
         <button id=\"next\">next</button> <span id=\"found\" class=\"soft\" role=\"status\"></span>\n\
         <button id=\"in\" aria-label=\"zoom in\">+</button> <button id=\"out\" aria-label=\"zoom out\">−</button> \
         <button id=\"whole\">whole run</button>\n</div>\n\
         <div class=\"timeline\"><canvas id=\"canvas\" role=\"img\" aria-label=\"What each processor and thread does over \
         time. Arrow keys move, plus and minus zoom, Home shows the whole run. The tables below have the same as \
         numbers.\"></canvas></div>\n\
         <div id=\"legend\" class=\"legend\"></div>\n\
         <p class=\"soft\">The wheel or two fingers zoom, dragging moves. Processors are above, threads below.</p>\n\
         <h2>Processors</h2><div class=\"scroll\"><table id=\"processors\"></table></div>\n\
         <h2>Closures, regions and phases</h2>\n\
         <p class=\"soft\">As seen on the threads, with what runs inside. A closure that nobody stole is a part of the one \
         around it.</p>\n\
         <div class=\"scroll\"><table id=\"closures\"></table></div>\n</section>\n"
    )
}

/// What there is to say, in words.
fn sentences(timeline: &Timeline) -> Vec<String> {
    let (processors, threads): (Vec<_>, Vec<_>) =
        timeline.tracks.iter().partition(|track| is_processor(track));
    let ns = |ns: u64| time(ns as f64);
    let share = |part: u64, whole: u64| format!("{:.0} %", 100.0 * part as f64 / whole.max(1) as f64);
    let mut sentences = vec![format!(
        "The trace shows {} of {}, on {} processors and {} threads.",
        ns(timeline.length),
        timeline.program,
        processors.len(),
        threads.len()
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
        "There were {} steals, {} hand-overs, {} wake-ups and {} calls from outside.",
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
            "{} older events were overwritten or had no room, so the beginning is missing or has holes.",
            timeline.lost
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
    let arrows: Vec<Vec<u64>> = timeline
        .arrows
        .iter()
        .map(|arrow| {
            let points = arrow.points.iter().flat_map(|point| [point.track as u64, point.time]);
            // The first number is a place for the arrow's kind.
            [0].into_iter().chain(points).collect()
        })
        .collect();
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

/// Slices as small numbers: start after the previous start, length, name, category, depth.
fn packed(slices: &[Slice]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(slices.len() * 8);
    let mut put = |mut number: u64| {
        while number >= 0x80 {
            bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
    };
    let mut last = 0;
    for slice in slices {
        let category = Category::ALL.iter().position(|one| *one == slice.category).expect("all are there");
        put(slice.start - last);
        put(length(slice));
        put(u64::from(slice.name));
        put(category as u64);
        put(u64::from(slice.depth));
        last = slice.start;
    }
    bytes
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let word = three.iter().fold(0, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for letter in 0..4 {
            let index = word >> (18 - 6 * letter) & 63;
            text.push(if letter > three.len() { '=' } else { char::from(LETTERS[index as usize]) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_spelled_as_rfc_4648_says() {
        let spelled = ["", "f", "fo", "foo", "foob", "fooba", "foobar"].map(|text| base64(text.as_bytes()));
        assert_eq!(spelled, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]);
    }

    #[test]
    fn slices_are_small_numbers() {
        let slice = |start, end| Slice { start, end, name: 3, category: Category::Search, depth: 1 };
        assert_eq!(packed(&[slice(5, 7), slice(305, 306)]), [5, 2, 3, 6, 1, 0xac, 2, 1, 3, 6, 1]);
    }

    #[test]
    fn a_counter_has_a_value_for_some_time() {
        let values = vec![(0, 0), (10, 1), (30, 2), (40, 1)];
        let counter = bombyx_trace::Counter { name: "busy processors".to_owned(), values };
        let timeline = Timeline { length: 100, counters: vec![counter], ..Timeline::default() };
        assert_eq!(time_at(&timeline, "busy processors", 1), 80);
        assert_eq!(time_at(&timeline, "nothing", 1), 0);
    }
}
