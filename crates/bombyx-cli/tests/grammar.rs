//! One grammar for all commands: `-p`, `--json`, `--csv`, `-o`, exit statuses, answers to typos; and widths.

mod common;

use common::{Folder, bombyx, refused, succeeds};
use serde_json::Value;
use std::process::{Command, Stdio};

/// Every command that reports something, in a form that takes little time.
const REPORTS: &[&[&str]] = &[
    &["run", "fib", "--size", "small", "--repeat", "1", "-p", "1,2"],
    &["bench", "fib", "--size", "small", "--repeat", "1", "-p", "1..2"],
    &["check", "nqueens", "--size", "small", "-s", "fifo,work-stealing", "-p", "2"],
    &["simulate", "fib:8", "-p", "1..4"],
    &["verify", "--quick", "--only", "bl-thm-1"],
    &["doctor"],
];

#[test]
fn json_goes_to_standard_output_and_has_the_record() {
    for command in REPORTS {
        let text = succeeds(&[command, &["--json"][..]].concat());
        let json: Value =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{command:?}: {error}\n{text}"));
        assert!(json["record"]["command"].as_str().unwrap().starts_with(&format!("bombyx {}", command[0])));
        assert!(json["record"]["versions"]["rustc"].is_string() && json["record"]["host"]["cores"].is_u64());
    }
}

#[test]
fn csv_goes_to_standard_output() {
    for command in REPORTS {
        let text = succeeds(&[command, &["--csv"][..]].concat());
        let columns = |line: &str| line.split(',').count();
        let heading = text.lines().next().unwrap_or_default();
        assert!(columns(heading) >= 3 && text.lines().count() >= 2, "{command:?}: {text}");
    }
}

#[test]
fn a_dash_is_standard_output_and_never_a_file() {
    let folder = Folder::new("dash");
    for command in REPORTS {
        let output = Command::new(env!("CARGO_BIN_EXE_bombyx"))
            .args(*command)
            .args(["--json", "-o", "-"])
            .current_dir(&folder.0)
            .output()
            .expect("bombyx runs");
        assert!(output.status.success(), "{command:?}");
        serde_json::from_slice::<Value>(&output.stdout)
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        assert!(folder.names().is_empty(), "{command:?} wrote {:?}", folder.names());
    }
    let picture = Command::new(env!("CARGO_BIN_EXE_bombyx"))
        .args(["simulate", "fib:4", "--draw", "-"])
        .current_dir(&folder.0)
        .output()
        .expect("bombyx runs");
    assert!(String::from_utf8_lossy(&picture.stdout).starts_with("<svg") && folder.names().is_empty());
}

#[test]
fn a_file_gets_what_standard_output_would() {
    let folder = Folder::new("file");
    for command in REPORTS {
        let file = folder.file("out.json");
        bombyx(&[command, &["--json", "-o", &file][..]].concat());
        let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{command:?}: {error}"));
        serde_json::from_str::<Value>(&text).unwrap_or_else(|error| panic!("{command:?}: {error}"));
        std::fs::remove_file(&file).unwrap();
    }
}

#[test]
fn files_are_checked_before_the_work() {
    for command in REPORTS {
        let output = bombyx(&[command, &["-o", "/nowhere/at/all.txt"][..]].concat());
        assert_eq!(output.status.code(), Some(1), "{command:?}");
        assert!(output.stdout.is_empty(), "{command:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("/nowhere/at/all.txt"), "{command:?}");
    }
    for arguments in [
        &["simulate", "fib:8", "-p", "1..4", "--speedup", "a.jpg"][..],
        &["bench", "fib", "--plot", "b"],
        &["verify", "--explain", "delay-sequence", "-o", "c.gif"],
    ] {
        assert!(refused(arguments).contains(".svg or .png"), "{arguments:?}");
    }
}

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
    ] {
        let message = refused(arguments);
        assert!(message.contains(&format!("did you mean `{meant}`?")), "{arguments:?}: {message}");
    }
}

#[test]
fn tables_fit_the_width() {
    let commands: &[&[&str]] = &[
        &["--quick"],
        &["run", "fib", "--size", "small", "--repeat", "1", "--stats"],
        &["bench", "fib", "regions", "--size", "small", "--repeat", "1", "-p", "1,2"],
        &["check", "nqueens", "--size", "small", "-p", "2"],
        &[
            "simulate",
            "random:threads=200",
            "-p",
            "1..8",
            "-s",
            "work-stealing,dfdeques:100,heterogeneous:1.5",
        ],
        &["simulate", "../bombyx-dag/corpus/sort.dag", "-p", "1..8"],
        &["verify", "--quick", "--only", "bl-thm-1"],
        &["reproduce", "dfd-figure-13", "--quick", "-o", "-"],
        &["profile", "--read", "../bombyx-profile/corpus/sort.json"],
        &["doctor"],
        &["help", "schedulers"],
    ];
    for command in commands {
        for width in [60, 80, 120, 200] {
            let output = Command::new(env!("CARGO_BIN_EXE_bombyx"))
                .args(*command)
                .env("COLUMNS", width.to_string())
                .stderr(Stdio::null())
                .output()
                .expect("bombyx runs");
            let text = String::from_utf8(output.stdout).expect("UTF-8");
            assert!(!text.contains('\u{1b}'), "{command:?}: colours only on terminals");
            // What was measured, where and by which command stands on lines of any length.
            let head =
                |line: &&str| ["command  ", "version  ", "host  "].iter().any(|key| line.starts_with(key));
            let lines = text.lines().filter(|line| !head(line));
            for line in
                lines.filter(|line| !line.starts_with("default size") && !line.starts_with("small size"))
            {
                assert!(line.chars().count() <= width, "{command:?} at {width}: {line}");
            }
        }
    }
    // Without a terminal and without COLUMNS, nothing is left out.
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
