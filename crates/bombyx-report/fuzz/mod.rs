//! Fuzzes everything that makes pages and files of other programs: mutated profiles, recordings and traces are read, and what
//! is accepted is shown. The mutations are those of the readers' fuzzer.
//!
//! A page must be whole, its data must be JSON with numbers where the page's code reads numbers, and no name of the input may
//! become a tag. What is refused must be refused with one line of text.

#[path = "../../bombyx-profile/fuzz/mod.rs"]
mod readers;

use bombyx_report::Report;
use bombyx_trace::{Timeline, chrome, firefox, perfetto};
pub(crate) use readers::{Fuzzer, Target};
use serde_json::Value;

/// The most strands of a recording; each of them is simulated some thirty times.
const MOST_STRANDS: u64 = 1 << 10;

/// What is fuzzed, with a name and a share of the steps: recordings take the longest.
pub(crate) fn targets() -> [(&'static str, usize, Target); 3] {
    [
        ("profiles", 4, Target { read: profile, ..readers::profiles() }),
        ("recordings", 1, Target { read: recording, ..readers::dags() }),
        ("traces", 4, Target { read: trace, ..readers::traces() }),
    ]
}

fn profile(bytes: &[u8]) -> String {
    match bombyx_profile::read(bytes) {
        Err(error) => refused(&error.to_string()),
        Ok(profile) => {
            let report = Report::new(&profile.program).with_profile(&profile, 8);
            check(&report.render(), 1);
            check(&report.render_beside(&report), 2);
            format!("accepted, {} sites", profile.sites.len())
        }
    }
}

fn recording(bytes: &[u8]) -> String {
    match bombyx_dag::format::read_at_most(MOST_STRANDS, bytes) {
        Err(error) => refused(&error.to_string()),
        Ok(computation) => {
            let report = Report::new("a recording").with_recording(&computation);
            check(&report.render(), 1);
            let (size, sites) = (computation.strand_count().ilog2(), computation.site_names().len().min(4));
            format!("accepted, {size}, {sites} sites")
        }
    }
}

fn trace(bytes: &[u8]) -> String {
    match bombyx_trace::read(bytes) {
        Err(error) => refused(&error.to_string()),
        Ok(trace) => {
            let timeline = Timeline::of(&trace);
            let report = Report::new(&timeline.program).with_trace(&timeline);
            check(&report.render(), 1);
            assert!(!perfetto::encode(&timeline).is_empty());
            for json in [chrome::encode(&timeline), firefox::encode(&timeline)] {
                serde_json::from_str::<Value>(&json).expect("this is JSON");
            }
            let slices: usize = timeline.tracks.iter().map(|track| track.slices.len()).sum();
            format!(
                "accepted, {} tracks, {}",
                timeline.tracks.len().min(8),
                slices.checked_ilog2().unwrap_or(0)
            )
        }
    }
}

/// An error is a line that people can read, and is an answer without its numbers.
fn refused(error: &str) -> String {
    assert!((10..400).contains(&error.chars().count()), "an error of {} characters", error.chars().count());
    assert!(
        !error.contains(char::is_control),
        "an error in one line, without what terminals obey: {error:?}"
    );
    error.chars().filter(|c| !c.is_ascii_digit()).collect()
}

fn check(page: &str, runs: usize) {
    assert_eq!(page.matches("<script").count(), 2, "the data and the code");
    assert!(!page.contains("@data@") || page.matches("@data@").count() < 100, "parts are in place");
    assert!(page.trim_end().ends_with("</html>"));
    let begin = page.find("id=\"data\">").expect("there is data") + "id=\"data\">".len();
    let end = begin + page[begin..].find("</script>").expect("it ends");
    let data: Value = serde_json::from_str(&page[begin..end]).expect("it is JSON");
    let all = data["runs"].as_array().expect("runs");
    assert_eq!(all.len(), runs);
    for model in all.iter().flat_map(|run| [&run["profile"]["model"], &run["recording"]["model"]]) {
        if !model.is_null() {
            numbers(model);
        }
    }
}

/// There is no null: that is what JSON makes of a number that is none.
fn numbers(value: &Value) {
    match value {
        Value::Null => panic!("a number is missing"),
        Value::Array(values) => values.iter().for_each(numbers),
        Value::Object(fields) => fields.values().for_each(numbers),
        _ => {}
    }
}
