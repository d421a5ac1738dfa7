//! `bombyx profile`, `record` and `scale` as their users see them, on shell scripts that write what the runtime would
//! write: profiles and dag files from the corpora of the crates that read them.
#![cfg(unix)]

use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output};

const SORT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../bombyx-profile/corpus/sort.json");
const FIB: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../bombyx-profile/corpus/fib.json");
const DAG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../bombyx-dag/corpus/sort.dag");

/// A folder with programs. It is removed with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("bombyx-profile-{name}-{}", std::process::id()));
        std::fs::create_dir_all(path.join("tmp")).expect("the temporary folder can be made");
        Self(path)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("the path is UTF-8").to_owned()
    }

    /// A program of a few shell commands.
    fn program(&self, commands: &str) -> String {
        let path = self.file("program");
        std::fs::write(&path, format!("#!/bin/sh\n{commands}\n")).expect("the program can be written");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("and be made one");
        path
    }

    fn bombyx(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bombyx"));
        command.args(arguments).current_dir(&self.0).env("TMPDIR", self.file("tmp"));
        for name in ["BOMBYX_PROFILE", "BOMBYX_RECORD", "BOMBYX_PROCESSORS", "RAYON_NUM_THREADS"] {
            command.env_remove(name);
        }
        let output = command.output().expect("bombyx runs");
        let left = std::fs::read_dir(self.0.join("tmp")).expect("the folder is there").count();
        assert_eq!(left, 0, "{arguments:?} left files behind");
        output
    }

    fn succeeds(&self, arguments: &[&str]) -> (String, String) {
        let output = self.bombyx(arguments);
        let (out, errors) = texts(&output);
        assert!(output.status.success(), "{arguments:?}: {errors}");
        (out, errors)
    }

    /// What a failing command says, and its status.
    fn fails(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let output = self.bombyx(arguments);
        assert!(!output.status.success(), "{arguments:?} should fail");
        (output.status.code(), texts(&output).1)
    }
}

fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("output is UTF-8");
    (text(&output.stdout), text(&output.stderr))
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_profile_in_a_dozen_lines() {
    let folder = Folder::new("lines");
    let (report, errors) = folder.succeeds(&["profile", "--read", SORT]);
    assert_eq!(errors, "");
    let expected = "
sort 10000000: work-stealing on 2 processors, 1 call into a pool in 951 ms
speedup       not known: that takes a second run, on another number of processors
work          1.82 s in 196,606 strands, 9.28 µs each; 65,535 forks, 24 steals, 5 hand-overs
span          240 ms; 241 ms with the costs of steals and hand-overs
parallelism   7.6; burdened 7.6
utilisation   95.9 %; search 2.7 %, help 0.7 %, hand-over 0.0 %, idle 0.7 %
peak          61 nested frames, 3 carriers
processors          1      2      4      8
  likely         1.00   1.77   2.86   4.15
  from           1.00   1.23   1.89   2.58
  to             1.00   2.20   4.40   8.36
span by site   71.0 %  src/sort.rs:41:9      join      32,768 forks of 21.1 µs each
               17.5 %  src/sort.rs:23:5      join      32,767 forks of 33.6 µs each
               11.5 %  outside of all forks
";
    assert!(report.starts_with(expected), "{report}");
    // The machine was too busy to measure what a steal costs. The burdened parallelism must not look like a figure.
    let text = std::fs::read_to_string(SORT).expect("the profile can be read");
    let file = folder.file("busy.json");
    std::fs::write(&file, text.replace("820.0", "0")).expect("the profile can be written");
    let (busy, _) = folder.succeeds(&["profile", "--read", &file]);
    assert!(busy.contains("parallelism   7.6; burdened not known\n"), "{busy}");
    assert!(busy.contains("could not be measured, because other programs kept the CPUs busy"), "{busy}");
    // More threads would make more pieces. No figure may look like the whole truth.
    let file = folder.file("bridge.json");
    std::fs::write(&file, text.replace("\"join\"", "\"par_bridge\"")).expect("the profile can be written");
    let (bridge, _) = folder.succeeds(&["profile", "--read", &file]);
    assert!(bridge.contains("parallelism   at least 7.6; ") && bridge.contains("\n  at least "), "{bridge}");
    assert!(!bridge.contains("  likely ") && !bridge.contains("will not help"), "{bridge}");
    let advice = report.lines().last().expect("there is advice");
    assert!(advice.starts_with("advice        parallelism 7.6: "), "{advice}");
    assert!(
        advice.contains("the join in src/sort.rs:41 is 71 % of the span; if it were twice as fast: "),
        "{advice}"
    );
    let (explained, _) = folder.succeeds(&["profile", "--read", SORT, "--explain"]);
    assert!(explained.contains("  on 2        how the work is distributed: "), "{explained}");
    assert!(explained.contains("what they do to each other is not known"), "{explained}");
    let (top, _) = folder.succeeds(&["profile", "--read", SORT, "--top", "1"]);
    assert!(top.contains("and 1 more site (--top)"), "{top}");
    assert!(!top.contains("sort.rs:23"), "{top}");
}

#[test]
fn a_program_keeps_its_output_and_status() {
    let folder = Folder::new("status");
    let program = folder.program(&format!(
        "cp {SORT} \"$BOMBYX_PROFILE\"; echo \"out $* $BOMBYX_PROCESSORS $RAYON_NUM_THREADS\"; echo err >&2; exit 3"
    ));
    let output = folder.bombyx(&["profile", "-p", "7", "--", &program, "--json", "-p", "x y"]);
    assert_eq!(output.status.code(), Some(3));
    let (out, errors) = texts(&output);
    assert_eq!(out, "out --json -p x y 7 7\n", "the options after the program are its own");
    assert!(errors.starts_with("err\n"), "{errors}");
    assert!(errors.contains("ended with status 3; this is its profile up to then"), "{errors}");
    assert!(
        errors.contains(
            "note          asked for -p 7, but the program used 2 processors: it builds its pools itself"
        ),
        "{errors}"
    );
    assert!(errors.contains("parallelism   7.6"), "{errors}");
}

#[test]
fn files_and_formats() {
    let folder = Folder::new("formats");
    let program = folder.program(&format!("cp {SORT} \"$BOMBYX_PROFILE\"; echo mine"));
    let arguments =
        ["profile", "--once", "--json", "--save", "kept.json", "--plot", "plot.svg", "--", &program];
    let (json, errors) = folder.succeeds(&arguments);
    assert_eq!(errors, "mine\n", "the program's output does not mix with the JSON");
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["profile"]["program"], "sort");
    assert_eq!(json["parallelism_is_at_least_this"], false);
    assert_eq!(json["predictions"][1]["processors"], 2);
    assert!(
        json["predictions"][1]["from"].as_f64().unwrap() < json["predictions"][1]["to"].as_f64().unwrap()
    );
    assert_eq!(json["speedup"], Value::Null, "one run cannot know it");
    assert!(json["advice"][0]["text"].as_str().unwrap().contains("sort.rs:41"));
    let (again, _) = folder.succeeds(&["profile", "--json", "--read", "kept.json"]);
    let again: Value = serde_json::from_str(&again).expect("JSON");
    assert_eq!(again["profile"], json["profile"]);
    let svg = std::fs::read_to_string(folder.file("plot.svg")).unwrap();
    assert!(svg.contains("Speedup of sort") && svg.contains("likely"), "{svg}");
    let (csv, _) = folder.succeeds(&["profile", "--csv", "--read", SORT]);
    assert!(
        csv.starts_with("tag,work (seconds),span (seconds),parallelism,burdened_span (seconds),"),
        "{csv}"
    );
    assert!(csv.contains("\nsort,1.824,0.24,7.6"), "{csv}");
    assert!(csv.ends_with(",1.824,0.951\n"), "work on one processor, time on two: {csv}");
    folder.succeeds(&["profile", "--csv", "--read", SORT, "-o", "report.csv"]);
    assert_eq!(std::fs::read_to_string(folder.file("report.csv")).unwrap(), csv);
}

#[test]
fn a_program_without_bombyx_is_told_what_to_do() {
    let folder = Folder::new("without");
    let program = folder.program("exit 0");
    for command in ["profile", "record", "scale"] {
        let (status, errors) = folder.fails(&[command, "--", &program]);
        assert_eq!(status, Some(1));
        for hint in ["does not use Bombyx", "docs/rayon.md", "bombyx doctor"] {
            assert!(errors.contains(hint), "{command}: {errors}");
        }
    }
    let program = folder.program("exit 9");
    for command in ["profile", "record"] {
        let (status, errors) = folder.fails(&[command, "--", &program]);
        assert_eq!(status, Some(9), "{errors}");
        assert!(errors.contains("ended with status 9, before it wrote"), "{errors}");
    }
    for command in ["profile", "record", "scale"] {
        let (status, errors) = folder.fails(&[command, "--", "./no-such-program"]);
        assert_eq!(status, Some(127));
        assert!(errors.contains("cannot start ./no-such-program"), "{errors}");
        let (status, _) = folder.fails(&[command, "--", "./tmp"]);
        assert_eq!(status, Some(126));
        let (status, _) = folder.fails(&[command]);
        assert_eq!(status, Some(2), "a program must be named");
    }
}

#[test]
fn a_damaged_profile_is_named() {
    let folder = Folder::new("damaged");
    let program = folder.program(&format!("head -c 300 {SORT} > \"$BOMBYX_PROFILE\""));
    let (status, errors) = folder.fails(&["profile", "--", &program]);
    assert_eq!(status, Some(1));
    assert!(errors.contains("stops early; the program was stopped while it wrote it"), "{errors}");
    let (_, errors) = folder.fails(&["profile", "--read", "missing.json"]);
    assert!(errors.contains("missing.json: "), "{errors}");
    let (_, errors) = folder.fails(&["profile", "--read", DAG]);
    assert!(errors.contains("not a profile"), "{errors}");
}

/// On two processors and on one: the work is the same, and the time is half.
#[test]
fn a_program_runs_twice_to_tell_its_speedup() {
    let folder = Folder::new("twice");
    let one = std::fs::read_to_string(SORT).unwrap().replace("\"processors\": 2", "\"processors\": 1");
    std::fs::write(folder.file("one.json"), one.replace("\"wall_ns\": 951", "\"wall_ns\": 1902")).unwrap();
    let program = folder.program(&format!(
        "echo \"$BOMBYX_PROCESSORS\" >> runs; [ \"$BOMBYX_PROCESSORS\" = 1 ] && cp one.json \"$BOMBYX_PROFILE\" || cp \
         {SORT} \"$BOMBYX_PROFILE\"; echo out"
    ));
    let (out, errors) = folder.succeeds(&["profile", "-p", "2", "--save", "both.json", "--", &program]);
    assert_eq!(out, "out\n", "only the first run's output is shown");
    assert!(errors.contains("speedup       2.00 on 2 processors: 951 ms instead of 1.90 s"), "{errors}");
    assert_eq!(std::fs::read_to_string(folder.file("runs")).unwrap(), "2\n1\n");
    let (again, _) = folder.succeeds(&["profile", "--read", "both.json"]);
    assert!(again.contains("speedup       2.00 on 2 processors"), "a kept profile has both: {again}");
    let (_, once) = folder.succeeds(&["profile", "--once", "-p", "2", "--", &program]);
    assert!(once.contains("speedup       not known"), "{once}");
    // A program that chooses its processors itself.
    let program = folder.program(&format!("cp {SORT} \"$BOMBYX_PROFILE\""));
    let (_, errors) = folder.succeeds(&["profile", "--", &program]);
    assert!(errors.contains("used 2 processors, because the program builds its pool itself"), "{errors}");
}

/// The program is interrupted as by Ctrl-C. What there is, is printed, and the status says why.
#[test]
fn an_interrupted_program_is_still_reported() {
    let folder = Folder::new("interrupted");
    let program = folder.program(&format!("cp {SORT} \"$BOMBYX_PROFILE\"; kill -INT $$; exec sleep 100"));
    let (status, errors) = folder.fails(&["profile", "--", &program]);
    assert_eq!(status, Some(130));
    assert!(errors.contains("was interrupted; this is its profile up to then"), "{errors}");
    assert!(errors.contains("advice"), "{errors}");
    let program = folder.program("kill -INT $$; exec sleep 100");
    let (status, errors) = folder.fails(&["profile", "--", &program]);
    assert_eq!(status, Some(130));
    assert!(errors.contains("was interrupted, before it wrote a profile"), "{errors}");
    let (status, errors) = folder.fails(&["scale", "--", &program]);
    assert_eq!(status, Some(130), "{errors}");
}

#[test]
fn a_program_here_needs_its_folder() {
    let folder = Folder::new("here");
    folder.program("exit 0");
    for command in ["profile", "record", "scale", "trace"] {
        let (status, errors) = folder.fails(&[command, "--", "program"]);
        assert_eq!(status, Some(127), "{errors}");
        assert!(errors.contains("; did you mean `./program`?"), "{errors}");
        let (_, errors) = folder.fails(&[command, "--", "no-such-program"]);
        assert!(!errors.contains("did you mean"), "{errors}");
    }
}

/// As long as no run has ended, only the work by site and the least span are known. Nothing else may look like a figure.
#[test]
fn an_unfinished_run_has_no_verdict() {
    let folder = Folder::new("unfinished");
    let text = std::fs::read_to_string(SORT).expect("the profile can be read");
    let unfinished = text
        .replace("\"runs\": 1", "\"interrupted\": true, \"runs\": 0")
        .replace("\"peak_frames\": 61", "\"peak_frames\": 0");
    let file = folder.file("unfinished.json");
    std::fs::write(&file, unfinished).expect("the profile can be written");
    let (report, _) = folder.succeeds(&["profile", "--read", &file, "--explain"]);
    for line in [
        "(interrupted; up to then): work-stealing on 2 processors, a call into a pool that had not ended in 951 ms",
        "\nspan          at least 240 ms\n",
        "\nparallelism   not known: no call into a pool had ended\n",
        "\nsites         src/sort.rs:41:9      join      32,768 forks",
        "advice        the program was interrupted, so this is not all that it does",
    ] {
        assert!(report.contains(line), "{line}: {report}");
    }
    for unknown in ["%  ", "outside of all forks", "nested frames", "likely", "nothing to mend", "  on 2 "] {
        assert!(!report.contains(unknown), "{unknown}: {report}");
    }
    let (json, _) = folder.succeeds(&["profile", "--read", &file, "--json"]);
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!((&json["parallelism"], &json["predictions"]), (&Value::Null, &Value::Array(vec![])));
}

#[test]
fn what_is_missing_is_said() {
    let folder = Folder::new("missing");
    let text = std::fs::read_to_string(SORT).expect("the profile can be read");
    let shown = |text: String| {
        let file = folder.file("profile.json");
        std::fs::write(&file, text).expect("the profile can be written");
        folder.succeeds(&["profile", "--read", &file]).0
    };
    let lines = shown(text.replace("\"line\": 41", "\"line\": 0"));
    assert!(lines.contains("CARGO_PROFILE_RELEASE_DEBUG=line-tables-only"), "{lines}");
    assert!(!shown(text.clone()).contains("line-tables"));
    let machine = "\"machine\": { \"cpus\": 1, \"cache_bytes\": 0 }, \"runs\": 1";
    let one_cpu = shown(text.replace("\"runs\": 1", machine));
    assert!(one_cpu.contains("speedup       not known: this process may use only one CPU\n"), "{one_cpu}");
}

/// Signals sent to bombyx alone reach the program.
#[test]
fn signals_are_passed_on() {
    let folder = Folder::new("signals");
    let program = folder.program(&format!("cp {SORT} \"$BOMBYX_PROFILE\"; kill -TERM $PPID; exec sleep 100"));
    let (status, errors) = folder.fails(&["profile", "--", &program]);
    assert_eq!(status, Some(143));
    assert!(errors.contains("was ended by signal 15"), "{errors}");
    assert!(errors.contains("advice"), "{errors}");
}

#[test]
fn a_recording_is_kept_and_described() {
    let folder = Folder::new("record");
    let program = folder.program(&format!("cp {DAG} \"$BOMBYX_RECORD\"; echo mine"));
    let (out, errors) = folder.succeeds(&["record", "--", &program]);
    assert_eq!(out, "mine\n");
    assert!(errors.contains("run.dag: 14 strands in 6 threads"), "{errors}");
    assert!(errors.contains("src/sort.rs:10:5"), "{errors}");
    assert_eq!(std::fs::read(folder.file("run.dag")).unwrap(), std::fs::read(DAG).unwrap());
    let program = folder.program(&format!("head -c 40 {DAG} > \"$BOMBYX_RECORD\"; exit 4"));
    let (status, errors) = folder.fails(&["record", "-o", "other.dag", "--", &program]);
    assert_eq!(status, Some(1));
    assert!(errors.contains("ended with status 4, and its recording is incomplete"), "{errors}");
    let mut names: Vec<_> =
        std::fs::read_dir(&folder.0).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["program", "run.dag", "tmp"], "nothing half-finished is left");
}

#[test]
fn scaling_beside_its_prediction() {
    let folder = Folder::new("scale");
    let program = folder.program(&format!(
        "echo \"$BOMBYX_PROCESSORS\" >> runs; [ -z \"$BOMBYX_PROFILE\" ] || cp {FIB} \"$BOMBYX_PROFILE\""
    ));
    let (table, errors) =
        folder.succeeds(&["scale", "-p", "2,3", "--repeat", "2", "--plot", "plot.svg", "--", &program]);
    // The script always says one processor. On a machine with more, the second profile should be of all of them.
    assert!(errors.is_empty() || errors.contains("used 1 processor, because the program builds"), "{errors}");
    assert!(table.starts_with("fib: work "), "{table}");
    assert_eq!(table.lines().filter(|line| line.contains(" – ")).count(), 3, "{table}");
    let runs = std::fs::read_to_string(folder.file("runs")).unwrap();
    let all = std::thread::available_parallelism().unwrap().to_string();
    let profiled = if all == "1" { vec![] } else { vec![&*all] };
    assert_eq!(
        runs.split_whitespace().collect::<Vec<_>>(),
        [&["1"][..], &profiled, &["1", "2", "3", "1", "2", "3"]].concat(),
        "in turns"
    );
    assert!(std::fs::read_to_string(folder.file("plot.svg")).unwrap().contains("measured"));
    let (json, _) = folder.succeeds(&["scale", "-p", "1,2", "--repeat", "1", "--json", "--", &program]);
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["rows"].as_array().unwrap().len(), 2);
    assert_eq!(json["rows"][0]["speedup"], 1.0);
    let (csv, _) = folder.succeeds(&["scale", "-p", "3", "--repeat", "1", "--csv", "--", &program]);
    assert!(csv.contains(",1c time (seconds),2c time (seconds),3c time (seconds)\n"), "{csv}");
    let program = folder.program(&format!("cp {SORT} \"$BOMBYX_PROFILE\""));
    let (_, errors) = folder.fails(&["scale", "--", &program]);
    assert!(errors.contains("uses 2 processors although it was told to use one"), "{errors}");
    let program = folder.program("echo no such input >&2; exit 5");
    let (_, errors) = folder.fails(&["scale", "--", &program]);
    assert!(errors.contains("ended with status 5; it said:\n  no such input"), "{errors}");
}

/// The whole way, with the runtime itself: profile, record, ask what if.
#[test]
fn real_programs_are_profiled_and_recorded() {
    let folder = Folder::new("real");
    let program = [env!("CARGO_BIN_EXE_bombyx"), "run", "fib", "--size", "small", "--repeat", "1"];
    for processors in ["1", "2"] {
        let options = ["profile", "--json", "-o", "fib.json", "-p", processors, "--"];
        let (out, _) = folder.succeeds(&[&options[..], &program].concat());
        assert!(out.starts_with("fib: "), "its own output: {out}");
        let json: Value =
            serde_json::from_slice(&std::fs::read(folder.file("fib.json")).unwrap()).expect("JSON");
        let profile = &json["profile"];
        assert_eq!(profile["program"], "bombyx");
        assert!(profile["runs"].as_u64().unwrap() >= 1);
        let sites = profile["sites"].as_array().expect("a list");
        let fib = sites.iter().find(|site| site["file"].as_str().unwrap().ends_with("fib/mod.rs"));
        assert_eq!(fib.expect("the workload's own line")["forks"], profile["forks"]);
        assert!(profile["forks"].as_u64().unwrap() > 0);
    }
    let options = ["record", "-p", "1", "-o", "fib.dag", "--"];
    let (_, errors) = folder.succeeds(&[&options[..], &program].concat());
    assert!(errors.contains("fib.dag: ") && errors.contains("fib/mod.rs"), "{errors}");
    let (what_if, _) = folder.succeeds(&["simulate", "fib.dag", "-p", "1,2", "--faster", "fib/mod.rs=2"]);
    assert!(what_if.contains("2 times faster"), "{what_if}");
    let (_, errors) = folder.fails(&["simulate", "fib.dag", "--faster", "nowhere=2"]);
    assert!(
        errors.contains("there are `") && !errors.contains("bombyx-core/src"),
        "only its own sites: {errors}"
    );
}
