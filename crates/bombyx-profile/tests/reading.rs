//! Profiles are read back as they were written, and every kind of damage has its error.

use bombyx_profile::{Profile, ReadError, read};

const SORT: &str = include_str!("../corpus/sort.json");

fn error(text: &str) -> ReadError {
    read(text.as_bytes()).expect_err("the file is damaged")
}

/// The example with one line changed.
fn with(field: &str, value: &str) -> String {
    let mut changed = false;
    let lines = SORT.lines().map(|line| match line.trim_start().starts_with(&format!("\"{field}\":")) {
        true => {
            changed = true;
            format!("\"{field}\": {value},")
        }
        false => line.to_owned(),
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    assert!(changed, "there is no line {field}");
    text
}

#[test]
fn everything_is_read() {
    for text in [SORT, include_str!("../corpus/fib.json"), include_str!("../corpus/empty-run.json")] {
        let profile = read(text.as_bytes()).unwrap();
        assert_eq!(read(profile.to_json().as_bytes()).unwrap(), profile);
    }
    let Profile { processors, sites, per_processor, .. } = read(SORT.as_bytes()).unwrap();
    assert_eq!((processors, per_processor.len()), (2, 2));
    assert_eq!((sites[1].location().as_str(), sites[1].kind.as_str()), ("src/sort.rs:41:9", "join"));
}

#[test]
fn a_cut_anywhere_is_an_error() {
    let text = SORT.trim_end();
    for length in 0..text.len() {
        let error = error(&text[..length]);
        let expected =
            matches!(error, ReadError::Truncated) || (length == 0 && matches!(error, ReadError::Empty));
        assert!(expected, "{length}: {error}");
    }
}

#[test]
fn each_kind_of_damage_has_its_error() {
    assert!(matches!(error(" \n"), ReadError::Empty));
    assert!(matches!(error("{}"), ReadError::NotAProfile));
    assert!(matches!(error(&with("bombyx_profile", "7")), ReadError::Version(7)));
    for (text, names) in [
        ("PK\u{3}\u{4}".to_owned(), "begin"),
        ("[1, 2]".to_owned(), "begin"),
        (SORT.to_owned() + "x}", "trailing"),
        (with("work_ns", "-5"), "-5"),
        (with("work_ns", "NaN"), "line"),
        (with("work_ns", "1e400"), "out of range"),
        (with("work_ns", "1.5"), "1.5"),
        (with("work_ns", "99999999999999999999999"), "invalid"),
        (with("clock", "\"sundial\""), "sundial"),
        (with("clock", "\"sun\u{7f}dial\""), "sun?dial"),
        (with("clock", &format!("\"{}\"", "sun".repeat(1000))), "sunsun"),
        (with("runs", "1, \"runs\": 2"), "duplicate"),
        (with("runs", "[").replace("],", ","), "line"),
        (SORT.replace("\"span_ns\": 240000000,", ""), "span_ns"),
        (with("arguments", &("[".repeat(100_000) + &"]".repeat(100_000))), "line"),
    ] {
        match error(&text) {
            ReadError::Malformed { reason } => {
                assert!(reason.contains(names), "{names}: {reason}");
                assert!(!reason.contains(char::is_control) && reason.chars().count() <= 300, "{reason:?}");
            }
            other => panic!("{names}: {other}"),
        }
    }
}

#[test]
fn absurd_figures_are_refused() {
    let sites = |count: usize| {
        let site = "{\"file\":\"\",\"line\":1,\"column\":1,\"kind\":\"\",\"forks\":1,\"work_ns\":1,\"span_ns\":1,\"strands\":1}";
        SORT.split_once("\"sites\"").unwrap().0.to_owned()
            + "\"sites\": ["
            + &vec![site; count].join(",")
            + "]}"
    };
    for (text, field) in [
        (with("processors", "0"), "processors"),
        (with("processors", "4000000000"), "processors"),
        (with("wall_ns", "18446744073709551615"), "wall_ns"),
        (with("work_ns", "18446744073709551615"), "work_ns"),
        (with("blocked_ns", "18446744073709551615"), "blocked_ns"),
        (with("burdened_span_ns", "1"), "burdened_span_ns"),
        (with("span_ns", "0"), "span_ns"),
        (with("work_ns", "100"), "span_ns"),
        (SORT.replace("820.0", "-1"), "costs.steal_ns"),
        (SORT.replace("820.0", "1e300"), "costs.steal_ns"),
        (SORT.replace("921000000", "18446744073709551615"), "per_processor"),
        (SORT.replace("1100000000", "18446744073709551615"), "sites.work_ns"),
        (with("scheduler", &format!("\"{}\"", "x".repeat(5000))), "scheduler"),
        (sites(200_000), "sites"),
    ] {
        match error(&text) {
            ReadError::Absurd { field: found, .. } => assert_eq!(found, field),
            other => panic!("{field}: {other}"),
        }
    }
    read(sites(1000).as_bytes()).expect("a thousand sites are many, but not absurd");
}

#[test]
fn long_files_are_not_swallowed() {
    let endless = std::io::repeat(b' ');
    assert!(matches!(read(endless), Err(ReadError::TooLong)));
}

#[test]
fn errors_say_what_to_do() {
    for (text, hint) in [
        (String::new(), "stopped before"),
        (SORT[..SORT.len() / 2].to_owned(), "stopped while"),
        ("{}".to_owned(), "bombyx profile -o"),
        (with("bombyx_profile", "2"), "belongs to the program's runtime"),
    ] {
        let message = error(&text).to_string();
        assert!(message.contains(hint), "{message}");
    }
}
