//! Walks over all commands and all options, as the man pages list them, so that a new one cannot be forgotten: forms of
//! output, files, numbers of processors, typos, widths, colours, closed pipes.
#![cfg(unix)]

mod common;

use common::Folder;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::process::{Command, Output, Stdio};

const SORT: &str = "../bombyx-profile/corpus/sort.json";
const TRACE: &str = "../bombyx-trace/corpus/steal.trace";
const DAG: &str = "../bombyx-dag/corpus/sort.dag";
const BOMBYX: &str = env!("CARGO_BIN_EXE_bombyx");

/// How a command is tried in little time.
struct Trial {
    /// The command and its arguments.
    words: &'static [&'static str],
    /// What it runs, after `--`.
    program: &'static [&'static str],
    /// The option and the name of a file that it writes unless told otherwise.
    to: Option<&'static str>,
    /// Whether it reports something, in forms for people and for programs. Others write one kind of document.
    reports: bool,
}

impl Trial {
    const fn report(words: &'static [&'static str]) -> Self {
        Self { words, program: &[], to: None, reports: true }
    }

    const fn document(words: &'static [&'static str]) -> Self {
        Self { words, program: &[], to: None, reports: false }
    }

    const fn of_program(mut self) -> Self {
        self.program = &[BOMBYX, "run", "fib", "--size", "small", "--repeat", "1"];
        self
    }

    const fn to(mut self, file: &'static str) -> Self {
        self.to = Some(file);
        self
    }

    fn name(&self) -> &'static str {
        self.words[0]
    }

    /// The whole command line with more options.
    fn with(&self, folder: &Folder, options: &[&str]) -> Vec<String> {
        let mut line: Vec<String> = self.words.iter().chain(options).map(|&word| word.to_owned()).collect();
        if let Some(file) = self.to.filter(|_| !options.contains(&"-o") && !options.contains(&"--output")) {
            line.push("-o".to_owned());
            line.push(if file == "-" { file.to_owned() } else { folder.file(file) });
        }
        if !self.program.is_empty() {
            line.push("--".to_owned());
            line.extend(self.program.iter().map(|&word| word.to_owned()));
        }
        line
    }
}

/// Every command, once.
const TRIALS: &[Trial] = &[
    Trial::report(&["run", "fib", "--size", "small", "--repeat", "1"]),
    Trial::report(&["bench", "fib", "--size", "small", "--repeat", "1"]),
    Trial::report(&["check", "nqueens", "--size", "small", "-s", "fifo"]),
    Trial::report(&["profile", "--read", SORT]),
    Trial::report(&["record"]).of_program().to("run.dag"),
    Trial::report(&["scale", "--repeat", "1"]).of_program(),
    Trial::report(&["trace", "--read", TRACE]).to("run.pftrace"),
    Trial::report(&["simulate", "fib:8"]),
    Trial::report(&["verify", "--quick", "--only", "bl-thm-1"]),
    Trial::report(&["reproduce", "bl-figure-2", "--quick"]).to("-"),
    Trial::report(&["doctor"]),
    Trial::document(&["report", SORT, TRACE]).to("page.html"),
    Trial::document(&["completions", "bash"]),
    Trial::document(&["man"]),
    Trial::document(&["help"]),
    // Prints lines of JSON for as long as the program runs. Its own tests are in `top.rs`.
    Trial::document(&["top", "--json", "--count", "1"]).of_program(),
    // Needs a cluster. Its own tests are in `bombyx-cluster`.
    Trial::document(&["worker", "--dask", "nowhere", "./program"]),
];

/// A command line that prints more than [`TRIALS`] do.
const MORE: &[&[&str]] = &[
    &["--quick"],
    &["--help"],
    &["run", "--list"],
    &["run", "fib", "--size", "small", "--repeat", "1", "--stats"],
    &["bench", "--list"],
    &["bench", "fib", "regions", "--size", "small", "--repeat", "1", "-p", "1,2"],
    &["profile", "--read", SORT, "--explain"],
    &["simulate", "--list"],
    &["simulate", "random:threads=200", "-p", "1..8", "-s", "work-stealing,dfdeques:100,heterogeneous:1.5"],
    &["simulate", DAG, "-p", "1..8", "--sites"],
    &["simulate", DAG, "-p", "1..8", "--faster", "sort.rs:10=2"],
    &["simulate", "figure1", "-s", "busy-leaves", "-p", "2", "--steps"],
    &["verify", "--list"],
    &["verify", "--table", "--only", "bl-thm-1"],
    &["verify", "--mutate", "bl-thm-1"],
    &["verify", "--explain", "delay-sequence", "-o", "FILE.svg"],
    &["reproduce"],
    &["reproduce", "dfd-figure-13", "--quick", "-o", "-"],
    &["help", "schedulers"],
    &["run", "nquens"],
    &["simulate", "nope"],
    &["simulat"],
];

fn bombyx(line: &[String]) -> Command {
    let mut command = Command::new(BOMBYX);
    command.args(line).stdin(Stdio::null());
    for name in ["BOMBYX_PROCESSORS", "BOMBYX_SCHEDULER", "COLUMNS", "NO_COLOR"] {
        command.env_remove(name);
    }
    command
}

fn run(line: &[String]) -> Output {
    bombyx(line).output().expect("bombyx runs")
}

/// An option of a command, as its man page shows it.
struct Opt {
    short: Option<char>,
    long: String,
    value: Option<String>,
}

/// All commands with their options. One page is one command.
fn pages() -> BTreeMap<String, Vec<Opt>> {
    let folder = Folder::new("pages");
    assert!(run(&["man", "-o", folder.0.to_str().unwrap()].map(str::to_owned)).status.success());
    let mut pages = BTreeMap::new();
    for name in folder.names() {
        let Some(command) = name.strip_prefix("bombyx-").and_then(|name| name.strip_suffix(".1")) else {
            continue;
        };
        let text = fs::read_to_string(folder.file(&name)).unwrap().replace("\\-", "-");
        let options = text.lines().filter(|line| line.starts_with("\\fB-")).map(|line| {
            let line = line.replace("\\fB", "").replace("\\fR", "").replace("\\fI", "");
            let mut words = line.split([' ', ',']).filter(|word| !word.is_empty()).peekable();
            let short = words.next_if(|word| !word.starts_with("--")).and_then(|word| word.chars().nth(1));
            let long = words.next().unwrap_or_default().trim_start_matches('-').to_owned();
            let value =
                words.next().and_then(|word| Some(word.strip_prefix('<')?.trim_end_matches('>').to_owned()));
            Opt { short, long, value }
        });
        pages.insert(command.to_owned(), options.collect::<Vec<_>>());
    }
    pages
}

fn trial(name: &str) -> &'static Trial {
    TRIALS.iter().find(|trial| trial.name() == name).unwrap_or_else(|| panic!("TRIALS lacks `bombyx {name}`"))
}

#[test]
fn every_command_is_tried() {
    let pages = pages();
    let hidden = ["child", "prediction"];
    let shown = pages.keys().map(String::as_str).filter(|name| !hidden.contains(name));
    let (mut shown, mut tried): (Vec<&str>, Vec<&str>) =
        (shown.collect(), TRIALS.iter().map(Trial::name).collect());
    shown.retain(|name| !hidden.iter().any(|hidden| name.starts_with(hidden)));
    shown.sort_unstable();
    tried.sort_unstable();
    assert_eq!(shown, tried);
    assert!(pages["simulate"].len() > 30, "the man pages can be read");
}

#[test]
fn options_mean_the_same_everywhere() {
    for (command, options) in pages() {
        for Opt { short, long, value } in &options {
            let expected = match short {
                Some('p') => &["processors"][..],
                Some('s') => &["scheduler", "schedulers"],
                Some('o') => &["output"],
                Some('r') => &["repeat"],
                Some('h') => &["help"],
                Some(other) => panic!("bombyx {command}: -{other} is new; say here what it means everywhere"),
                None => &[],
            };
            assert!(expected.is_empty() || expected.contains(&long.as_str()), "bombyx {command} --{long}");
            let (letter, kind): (_, &[&str]) = match long.as_str() {
                "processors" => (Some('p'), &["LIST"]),
                "output" => (Some('o'), &["FILE", "DIR"]),
                "repeat" => (Some('r'), &["N"]),
                "seed" | "seeds" => (None, &["N", "SEED"]),
                "read" | "save" | "plot" => (None, &["FILE"]),
                "json" | "csv" | "list" | "quick" => {
                    assert!(value.is_none() && short.is_none(), "bombyx {command} --{long}");
                    continue;
                }
                _ => continue,
            };
            assert_eq!(*short, letter, "bombyx {command} --{long}");
            assert!(
                kind.contains(&value.as_deref().unwrap_or_default()),
                "bombyx {command} --{long} {value:?}"
            );
        }
        let has = |long: &str| options.iter().any(|option| option.long == long);
        if !command.starts_with("child") && command != "prediction" {
            assert_eq!(
                has("json") && has("csv"),
                trial(&command).reports,
                "bombyx {command}: --json and --csv"
            );
        }
    }
}

#[test]
fn every_report_has_forms_for_programs() {
    let folder = Folder::new("forms");
    for trial in TRIALS.iter().filter(|trial| trial.reports) {
        let name = trial.name();
        let whole = |form: &str, options: &[&str]| {
            let output = run(&trial.with(&folder, &[&[form], options].concat()));
            let errors = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "bombyx {name} {form}: {errors}");
            String::from_utf8(output.stdout).expect("UTF-8")
        };
        let text = whole("--json", &[]);
        let json: Value =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}\n{text}"));
        assert!(json["record"]["command"].as_str().unwrap().starts_with(&format!("bombyx {name}")));
        assert!(json["record"]["versions"]["rustc"].is_string() && json["record"]["host"]["cores"].is_u64());
        assert!(json.as_object().unwrap().len() > 1, "{name}: {text}");
        let csv = whole("--csv", &[]);
        let columns = csv.lines().next().unwrap_or_default().split(',').count();
        assert!(columns >= 3 && csv.lines().count() >= 2, "{name}: {csv}");
        let both = run(&trial.with(&folder, &["--json", "--csv"]));
        assert_eq!(both.status.code(), Some(2), "{name}");
        // Where -o is the place of this output, `-` is standard output, and a file gets the same.
        if trial.to.is_none() {
            let dash = whole("--json", &["-o", "-"]);
            serde_json::from_str::<Value>(&dash).unwrap_or_else(|error| panic!("{name}: {error}"));
            let file = folder.file("out.json");
            assert!(!whole("--json", &["-o", &file]).starts_with('{'), "{name} printed it, too");
            let kept = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{name}: {error}"));
            serde_json::from_str::<Value>(&kept).unwrap_or_else(|error| panic!("{name}: {error}"));
            fs::remove_file(&file).unwrap();
        }
    }
    // `bombyx top` prints lines. The first has the record, too.
    for trial in TRIALS.iter().filter(|trial| !trial.reports && trial.words.contains(&"--json")) {
        let output = run(&trial.with(&folder, &[]));
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let command = lines[0]["record"]["command"].as_str().unwrap();
        assert!(command.starts_with(&format!("bombyx {}", trial.name())), "{text}");
        assert!(lines[1..].iter().all(|line| line.get("record").is_none()), "{text}");
    }
    // Lists and pictures have one form. Asking for another is an error, not ignored.
    for line in [
        &["run", "--list", "--json"][..],
        &["bench", "--list", "--csv"],
        &["simulate", "--list", "--json"],
        &["verify", "--list", "--json"],
        &["verify", "--mutate", "bl-thm-1", "--json"],
        &["verify", "--explain", "read-write", "--csv"],
        &["reproduce", "--json"],
        &["trace", "--read", TRACE, "-o", "-", "--json"],
        &["record", "-o", "-", "--csv", "--", "true"],
    ] {
        assert_eq!(
            run(&line.iter().map(|&word| word.to_owned()).collect::<Vec<_>>()).status.code(),
            Some(2),
            "{line:?}"
        );
    }
}

#[test]
fn every_file_is_checked_before_the_work() {
    let folder = Folder::new("checked");
    let mut looked = 0;
    for (command, options) in pages() {
        for Opt { long, value, .. } in &options {
            // These are read.
            let written = matches!(value.as_deref(), Some("FILE" | "DIR")) && long != "read";
            if !written || command.starts_with("child") {
                continue;
            }
            looked += 1;
            let (option, file) = (format!("--{long}"), "/proc/nowhere.svg");
            let output = run(&trial(&command).with(&folder, &[&option, file]));
            let errors = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "bombyx {command} {option}: {errors}");
            assert!(output.stdout.is_empty(), "bombyx {command} {option} printed results");
            assert!(errors.contains("/proc/nowhere"), "bombyx {command} {option}: {errors}");
            assert_eq!(errors.lines().count(), 1, "bombyx {command} {option} worked first: {errors}");
        }
    }
    assert!(looked >= 20, "{looked}");
    assert!(
        !folder.names().iter().any(|name| name != "run.dag" && name != "run.pftrace"),
        "{:?}",
        folder.names()
    );
    for line in [
        &["simulate", "fib:8", "-p", "1..4", "--speedup", "a.jpg"][..],
        &["bench", "fib", "--plot", "b"],
        &["profile", "--read", SORT, "--plot", "b.pdf"],
        &["scale", "--plot", "b.pdf", "--", "true"],
        &["verify", "--explain", "delay-sequence", "-o", "c.gif"],
    ] {
        assert!(common::refused(line).contains(".svg or .png"), "{line:?}");
    }
}

#[test]
fn no_command_writes_a_file_named_dash() {
    let folder = Folder::new("dash");
    let here = fs::canonicalize(SORT).unwrap().to_str().unwrap().to_owned();
    let trace = fs::canonicalize(TRACE).unwrap().to_str().unwrap().to_owned();
    for (command, options) in pages() {
        for Opt { long, value, .. } in &options {
            let written = matches!(value.as_deref(), Some("FILE" | "DIR"))
                && !["read", "journal"].contains(&long.as_str());
            if !written || command.starts_with("child") {
                continue;
            }
            let mut line = trial(&command).with(&folder, &[&format!("--{long}"), "-"]);
            for word in &mut line {
                *word = word.replace(SORT, &here).replace(TRACE, &trace);
            }
            // Some of these files show one run, and some several.
            let processors = if ["speedup", "space"].contains(&long.as_str()) { "1,2" } else { "2" };
            line.extend(["-p", processors].map(str::to_owned).into_iter().filter(|_| command == "simulate"));
            if long == "tradeoff" {
                line.extend(["-s", "dfdeques:1k..4k"].map(str::to_owned));
            }
            let output = bombyx(&line).current_dir(&folder.0).output().expect("bombyx runs");
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{line:?}: {errors}");
            assert!(!output.stdout.is_empty(), "{line:?}");
            assert!(!folder.names().contains(&"-".to_owned()), "{line:?}");
        }
    }
}

#[test]
fn numbers_of_processors_are_lists_and_ranges_everywhere() {
    let folder = Folder::new("processors");
    let mut looked = 0;
    for (command, options) in pages() {
        if !options.iter().any(|option| option.short == Some('p')) {
            continue;
        }
        looked += 1;
        let answer = |given: &str| {
            let output = run(&trial(&command).with(&folder, &["-p", given]));
            assert!(output.stdout.is_empty(), "bombyx {command} -p {given} printed results");
            assert_eq!(output.status.code(), Some(2), "bombyx {command} -p {given}");
            String::from_utf8_lossy(&output.stderr).into_owned()
        };
        assert!(answer("0").contains("not a positive whole number"), "{command}");
        assert!(answer("4..2").contains("runs backwards"), "{command}");
        assert!(answer("1..").contains("not a positive whole number"), "{command}");
        let most = if command == "simulate" { "1048576" } else { "4096" };
        assert!(answer("5M").contains(most), "{command}");
        let makes_one_run = ["profile", "record", "top", "trace"].contains(&command.as_str());
        if makes_one_run {
            assert!(answer("1,2").contains("takes one number, not 2; `bombyx scale` compares"), "{command}");
        } else {
            let output = run(&trial(&command).with(&folder, &["-p", "1..2,2", "--csv"]));
            assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
    assert_eq!(looked, 9);
}

#[test]
fn every_mistyped_option_gets_a_guess() {
    let folder = Folder::new("typos");
    for (command, options) in pages() {
        if command.starts_with("child") || command == "prediction" {
            continue;
        }
        for Opt { long, .. } in options.iter().filter(|option| option.long.len() >= 5) {
            // Without its third letter.
            let mistyped = format!("--{}{}", &long[..2], &long[3..]);
            let output = run(&trial(&command).with(&folder, &[&mistyped]));
            let errors = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "bombyx {command} {mistyped}: {errors}");
            assert!(errors.contains("did you mean `--"), "bombyx {command} {mistyped}: {errors}");
        }
    }
}

/// Whether a line is broken no further: it has one word, or holds what was measured, where and by which command.
fn may_be_long(line: &str) -> bool {
    let last = line.trim_start();
    !last.contains(' ') || ["command  ", "version  ", "host  "].iter().any(|key| line.starts_with(key))
}

#[test]
fn everything_fits_the_width() {
    let folder = Folder::new("widths");
    let mut lines: Vec<Vec<String>> = TRIALS
        .iter()
        // Documents are for programs.
        .filter(|trial| trial.reports || trial.name() == "help" || trial.name() == "report")
        .map(|trial| trial.with(&folder, &[]))
        .collect();
    lines.extend(TRIALS.iter().map(|trial| vec![trial.name().to_owned(), "--help".to_owned()]));
    let word = |&word: &&str| if word == "FILE.svg" { folder.file(word) } else { word.to_owned() };
    lines.extend(MORE.iter().map(|line| line.iter().map(word).collect()));
    for line in &lines {
        for width in [60, 80, 120, 200] {
            let output = bombyx(line).env("COLUMNS", width.to_string()).output().expect("bombyx runs");
            for bytes in [output.stdout, output.stderr] {
                let text = String::from_utf8(bytes).expect("UTF-8");
                assert!(!text.contains('\u{1b}'), "{line:?}: colours only on terminals");
                for shown in text.lines().filter(|shown| !may_be_long(shown)) {
                    assert!(shown.chars().count() <= width, "{line:?} at {width}: {shown}");
                }
            }
        }
    }
}

/// What a command prints on a terminal of 72 columns. Some terminals, like this one, do not say how many rows they have.
fn on_terminal(line: &[String], environment: &[(&str, &str)]) -> String {
    let (mut host, mut guest) = (-1, -1);
    let size = libc::winsize { ws_row: 0, ws_col: 72, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the pointers are to variables of this function or null, which the call allows.
    let made = unsafe {
        libc::openpty(
            &mut host,
            &mut guest,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            (&raw const size).cast_mut(),
        )
    };
    assert_eq!(made, 0, "a terminal can be made");
    // SAFETY: the call has opened both, and nobody else knows them.
    let (host, guest) = unsafe { (OwnedFd::from_raw_fd(host), OwnedFd::from_raw_fd(guest)) };
    let mut command = bombyx(line);
    command.env("TERM", "xterm").envs(environment.iter().copied());
    let mut child = command.stdout(guest).stderr(Stdio::null()).spawn().expect("bombyx runs");
    drop(command);
    // The end of the other side is an error here, not an end of file.
    let (mut text, mut file, mut part) = (Vec::new(), fs::File::from(host), [0; 4096]);
    while let Ok(length @ 1..) = file.read(&mut part) {
        text.extend_from_slice(&part[..length]);
    }
    child.wait().expect("bombyx ends");
    String::from_utf8(text).expect("UTF-8").replace('\r', "")
}

/// Without colours.
fn plain(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |sum, part| sum + part.split_once('m').map_or("", |(_, rest)| rest))
}

#[test]
fn terminals_get_colours_and_lines_that_fit() {
    let folder = Folder::new("terminal");
    let mut coloured = 0;
    for trial in TRIALS.iter().filter(|trial| trial.reports) {
        let line = trial.with(&folder, &[]);
        let text = on_terminal(&line, &[]);
        coloured += usize::from(text.contains('\u{1b}'));
        for shown in plain(&text).lines().filter(|shown| !may_be_long(shown)) {
            assert!(shown.chars().count() <= 72, "{line:?}: {shown}");
        }
        for environment in [("NO_COLOR", "1"), ("TERM", "dumb")] {
            assert!(!on_terminal(&line, &[environment]).contains('\u{1b}'), "{line:?} with {environment:?}");
        }
    }
    assert!(coloured >= 3, "{coloured}");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let folder = Folder::new("pipe");
    let lines = TRIALS.iter().filter(|trial| trial.name() != "worker").map(|trial| {
        let options: &[&str] = if trial.to.is_some() { &["-o", "-"] } else { &[] };
        trial.with(&folder, if trial.name() == "man" { &[] } else { options })
    });
    for line in lines {
        let mut child =
            bombyx(&line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("bombyx runs");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("bombyx ends");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line:?}: {errors}");
        assert!(!errors.contains("panicked") && !errors.contains("Broken pipe"), "{line:?}: {errors}");
    }
}
