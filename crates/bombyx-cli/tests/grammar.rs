//! One grammar for all commands: numbers of processors, schedulers, answers to typos, pictures. What every command and
//! every option must do is in `commands.rs`.

mod common;

use common::{Folder, bombyx, refused, succeeds};
use serde_json::Value;

#[test]
fn processors_are_lists_and_ranges_with_the_limits_of_the_runtime() {
    let json: Value = serde_json::from_str(&succeeds(&[
        "run", "fib", "--size", "small", "--repeat", "1", "-p", "1..4", "--json",
    ]))
    .unwrap();
    let processors: Vec<u64> = json["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| result["processors"].as_u64().unwrap())
        .collect();
    assert_eq!(processors, [1, 2, 4]);
    for command in
        [&["run", "fib"][..], &["bench", "fib"], &["check", "fib"], &["profile"], &["record"], &["scale"]]
    {
        let program: &[&str] = if command.len() == 1 { &["--", "true"] } else { &[] };
        for (given, answer) in [
            ("0", "not a positive whole number"),
            ("4..2", "runs backwards"),
            ("5000", "between 1 and 4096, not 5000"),
        ] {
            let message = refused(&[command, &["-p", given][..], program].concat());
            assert!(message.contains(answer), "{command:?} -p {given}: {message}");
        }
    }
    assert!(refused(&["profile", "-p", "1,2", "--", "true"]).contains("takes one number"));
    assert!(refused(&["record", "-p", "1..4", "--", "true"]).contains("takes one number"));
}

#[test]
fn quotas_and_factors_are_spelled_alike_on_threads_and_in_the_simulator() {
    let on_threads = |scheduler: &str| refused(&["run", "fib", "-s", scheduler]);
    let simulated = |scheduler: &str| refused(&["simulate", "fib:5", "-s", scheduler]);
    let reason =
        |message: String| message.lines().next().unwrap_or_default().split("': ").last().unwrap().to_owned();
    for scheduler in
        ["dfdeques", "dfdeques:0", "dfdeques:1K", "depth-first:auto", "heterogeneous:0.5", "fifo:3"]
    {
        assert_eq!(reason(on_threads(scheduler)), reason(simulated(scheduler)), "{scheduler}");
    }
    let json = succeeds(&["run", "fib", "--size", "small", "--repeat", "1", "-s", "dfdeques:50k", "--json"]);
    assert!(json.contains("\"dfdeques:50000\""));
    assert!(succeeds(&["simulate", "fib:5", "-p", "2", "-s", "dfdeques:50k"]).contains("dfdeques:50000"));
}

#[test]
fn every_typo_gets_the_same_kind_of_answer() {
    for (arguments, meant) in [
        (&["run", "nquens"][..], "nqueens"),
        (&["bench", "regoins"], "regions"),
        (&["check", "mandelbort"], "mandelbrot"),
        (&["simulate", "fibb"], "fib"),
        (&["verify", "--only", "bl-thm1"], "bl-thm-1"),
        (&["reproduce", "dfd-figur-9"], "dfd-figure-9"),
        (&["run", "fib", "-s", "wrok-stealing"], "work-stealing"),
        (&["simulate", "fib:5", "-s", "gredy"], "greedy"),
        (&["help", "shedulers"], "schedulers"),
        (&["simulat"], "simulate"),
        (&["completions", "bsh"], "bash"),
        (&["trace", "--format", "crome"], "chrome"),
        (&["verify", "--qick"], "--quick"),
    ] {
        let message = refused(arguments);
        assert!(message.contains(&format!("did you mean `{meant}`?")), "{arguments:?}: {message}");
    }
}

#[test]
fn without_a_terminal_nothing_is_left_out() {
    let whole = succeeds(&["simulate", "fib:8", "-p", "1..4"]);
    assert!(whole.contains("granularity") && !whole.contains("No room"), "{whole}");
}

#[test]
fn help_completions_and_man_pages() {
    assert!(succeeds(&["help"]).contains("Usage:"));
    assert!(succeeds(&["help", "bench"]).contains("--bars"));
    let schedulers = succeeds(&["help", "schedulers"]);
    for name in ["work-stealing", "dfdeques:K", "read-write", "greedy"] {
        assert!(schedulers.contains(name), "{name}");
    }
    for shell in ["bash", "zsh", "fish"] {
        assert!(succeeds(&["completions", shell]).contains("bombyx"));
    }
    assert!(succeeds(&["man"]).contains(".TH bombyx"));
    let folder = Folder::new("man");
    succeeds(&["man", "-o", folder.0.to_str().unwrap()]);
    assert!(folder.names().contains(&"bombyx-bench.1".to_owned()), "{:?}", folder.names());
}

#[test]
fn a_picture_is_what_its_name_says() {
    let folder = Folder::new("picture");
    let [svg, png] = ["a.svg", "a.png"].map(|name| folder.file(name));
    succeeds(&["simulate", "fib:8", "-p", "1..8", "--speedup", &svg]);
    assert!(std::fs::read_to_string(&svg).unwrap().starts_with("<svg"));
    if cfg!(feature = "png") {
        let output = bombyx(&["simulate", "fib:8", "-p", "1..8", "--speedup", &png]);
        match output.status.success() {
            true => assert!(std::fs::read(&png).unwrap().starts_with(b"\x89PNG")),
            false => {
                assert!(String::from_utf8_lossy(&output.stderr).contains("font"), "a system without fonts")
            }
        }
    }
}

#[test]
fn computations_are_written_and_read_as_text() {
    let folder = Folder::new("text");
    let file = folder.file("by-hand.dag");
    std::fs::write(&file, "# by hand\ndag\n1\nspawn a\n  5\n2\n1 wait=a\n").unwrap();
    let printed = succeeds(&["simulate", &file, "-p", "1,2"]);
    assert!(printed.contains("work T1 9, span T∞ 7"), "{printed}");
    let saved = folder.file("figure1.txt");
    succeeds(&["simulate", "figure1", "--save", &saved]);
    let again = succeeds(&["simulate", &saved, "-s", "busy-leaves", "-p", "2", "--steps"]);
    assert_eq!(again, succeeds(&["simulate", "figure1", "-s", "busy-leaves", "-p", "2", "--steps"]));
}
