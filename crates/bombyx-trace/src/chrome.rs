//! Chrome's trace events, a JSON format that chrome://tracing, Perfetto and many other programs read.

use crate::timeline::{Timeline, TrackKind};
use std::fmt::Write as _;

/// The timeline as JSON. Times are microseconds with three decimals.
pub fn encode(timeline: &Timeline) -> String {
    let mut events = Vec::new();
    let process = timeline.process.max(1);
    // Two processes, because tracks are sorted within a process: the processors, and the threads.
    let group = |kind: TrackKind| match kind {
        TrackKind::Processor { .. } => 1,
        TrackKind::Thread { .. } => 2,
    };
    for (group, name) in [(1, "processors"), (2, "threads")] {
        let name = text(&format!("{} ({process}): {name}", timeline.program));
        events.push(format!(
            r#"{{"ph":"M","pid":{group},"tid":0,"name":"process_name","args":{{"name":{name}}}}}"#
        ));
    }
    for (at, track) in timeline.tracks.iter().enumerate() {
        let (pid, name) = (group(track.kind), text(&track.name));
        let here = format!(r#""pid":{pid},"tid":{at}"#);
        events.push(format!(r#"{{"ph":"M",{here},"name":"thread_name","args":{{"name":{name}}}}}"#));
        events
            .push(format!(r#"{{"ph":"M",{here},"name":"thread_sort_index","args":{{"sort_index":{at}}}}}"#));
        for slice in &track.slices {
            let (ts, dur) = (micros(slice.start), micros(slice.end - slice.start));
            let (name, category) = (text(&timeline.names[slice.name as usize]), slice.category.name());
            events.push(format!(
                r#"{{"ph":"X",{here},"ts":{ts},"dur":{dur},"name":{name},"cat":"{category}"}}"#
            ));
        }
    }
    let place = |track: usize, time: u64| {
        format!(r#""pid":{},"tid":{track},"ts":{}"#, group(timeline.tracks[track].kind), micros(time))
    };
    for (id, arrow) in timeline.arrows.iter().enumerate() {
        let last = arrow.points.len() - 1;
        for (nth, point) in arrow.points.iter().enumerate() {
            let phase = match nth {
                0 => "s",
                _ if nth == last => "f",
                _ => "t",
            };
            let (here, name) = (place(point.track, point.time), arrow.name);
            events.push(format!(
                r#"{{"ph":"{phase}",{here},"id":{},"name":"{name}","cat":"arrow","bp":"e"}}"#,
                id + 1
            ));
        }
    }
    for mark in &timeline.marks {
        let (here, name) = (place(mark.at.track, mark.at.time), text(&timeline.names[mark.name as usize]));
        events.push(format!(r#"{{"ph":"i",{here},"s":"t","name":{name},"cat":"mark"}}"#));
    }
    for counter in &timeline.counters {
        let name = text(&counter.name);
        for &(time, value) in &counter.values {
            let ts = micros(time);
            events.push(format!(
                r#"{{"ph":"C","pid":1,"tid":0,"ts":{ts},"name":{name},"args":{{"count":{value}}}}}"#
            ));
        }
    }
    format!("{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n{}\n]}}\n", events.join(",\n"))
}

fn micros(ns: u64) -> String {
    format!("{}.{:03}", ns / 1000, ns % 1000)
}

/// A JSON string.
pub(crate) fn text(text: &str) -> String {
    let mut json = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => json.extend(['\\', character]),
            // Control characters; and what would end a script that the text is put into.
            control if control < ' ' || "<>&\u{7f}\u{2028}\u{2029}".contains(control) => {
                let _ = write!(json, "\\u{:04x}", control as u32);
            }
            plain => json.push(plain),
        }
    }
    json.push('"');
    json
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back() {
        for given in ["plain", "\"\\\n\u{1}\u{2028}", "</script>", "ü𝄞"] {
            let json = text(given);
            assert_eq!(serde_json::from_str::<String>(&json).unwrap(), given);
            assert!(!json.contains('<') && !json.contains('\n'));
        }
    }
}
