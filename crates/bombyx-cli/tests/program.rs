//! The program as its users see it. The tests run `bombyx`, `bombyx run` and `bombyx bench`, and look at what they
//! print, write and return. Sizes are small, and nothing depends on how long anything takes.

mod common;

use common::{Folder, bombyx, refused, succeeds};
use serde_json::Value;
use std::process::{Command, Output};

#[test]
fn the_tour_checks_every_workload_and_says_what_to_try() {
    let tour = succeeds(&["--quick"]);
    for text in
        ["every result checked", "merge sort", "rayon", "speedup", "empty forks", "on your own program"]
    {
        assert!(tour.contains(text), "{text}: {tour}");
    }
    // Short runs give no ratio: it would only say how long processors take to start. (What a fork costs is no ratio. On a
    // busy machine, without optimizations, it takes microseconds.)
    let short = |line: &&str| line.contains("µs") && !line.contains("ms") && !line.contains("empty forks");
    for line in tour.lines().filter(short) {
        assert!(line.contains("too short"), "{line}");
    }
}

#[test]
fn what_the_tour_proposes_makes_sense() {
    let tour = succeeds(&["--quick"]);
    for line in tour.lines().filter_map(|line| line.trim().strip_prefix("cargo run --release -- ")) {
        let command = line.split("  ").next().unwrap();
        let mut words: Vec<&str> = command.split(' ').take_while(|word| *word != "--").collect();
        words.push("--help");
        let help = succeeds(&words);
        assert!(help.contains("Usage:"), "{command}");
    }
}

#[test]
fn a_run_is_checked_and_counted() {
    let run = succeeds(&["run", "nqueens", "--size", "small", "-p", "2", "--repeat", "2", "--stats"]);
    for text in ["bombyx, work-stealing, P = 2", "run 2", "steals ", "checked, equal to the serial one"] {
        assert!(run.contains(text), "{run}");
    }
    let short = succeeds(&["run", "nqueens", "--size", "small", "--repeat", "1"]);
    assert!(!short.contains("steals ") && !short.contains("median   "), "{short}");
}

#[test]
fn the_environment_chooses_what_the_command_line_does_not() {
    let run = |name: &str, value: &str, arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bombyx"));
        command.args(["run", "fib", "--size", "small"]).args(arguments).env(name, value);
        command.output().expect("bombyx runs")
    };
    let printed = |output: Output| String::from_utf8(output.stdout).expect("output is UTF-8");
    assert!(printed(run("BOMBYX_PROCESSORS", "3", &[])).contains("P = 3"));
    assert!(printed(run("BOMBYX_PROCESSORS", "3", &["-p", "2"])).contains("P = 2"));
    let refused = run("BOMBYX_SCHEDULER", "wrok-stealing", &[]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("work-stealing"));
}

#[test]
fn a_run_as_json() {
    let json = |seed: &str| -> Value {
        let arguments = [
            "run",
            "cilksort-random",
            "--size",
            "small",
            "--grain",
            "fine",
            "-p",
            "3",
            "--seed",
            seed,
            "--json",
        ];
        serde_json::from_str(&succeeds(&arguments)).expect("JSON")
    };
    let run = json("7");
    assert_eq!((&run["workload"], &run["grain"]), (&"cilksort-random".into(), &"fine".into()));
    assert_eq!((&run["processors"], &run["seed"]), (&3.into(), &7.into()));
    assert_eq!(run["runs"].as_array().map(Vec::len), Some(3));
    assert!(run["serial_seconds"].as_f64() > Some(0.0));
    assert_eq!(run["checksum"], json("7")["checksum"]);
    assert_ne!(run["checksum"], json("8")["checksum"]);
}

#[test]
fn a_bench_compares_all_runtimes() {
    let folder = Folder::new("bench");
    let [json, csv, plot] = ["b.json", "b.csv", "b.svg"].map(|name| folder.file(name));
    let arguments = ["bench", "cilksort", "nqueens", "--size", "small", "-p", "1,2", "--repeat", "2"];
    let table = succeeds(&[&arguments[..], &["--json", "-o", &json, "--plot", &plot]].concat());
    succeeds(&[&arguments[..], &["--csv", "-o", &csv]].concat());
    for name in ["cilksort-random", "cilksort-exponential", "nqueens"] {
        assert_eq!(table.lines().filter(|line| line.starts_with(&format!("{name} "))).count(), 2, "{table}");
    }
    assert_eq!(table.matches("geometric mean").count(), 2, "{table}");
    assert_eq!(folder.names(), ["b.csv", "b.json", "b.svg"]);

    let json: Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    assert!(json["record"]["versions"]["rustc"].as_str().unwrap().starts_with("rustc "));
    assert!(json["record"]["command"].as_str().unwrap().starts_with("bombyx bench cilksort nqueens"));
    let rows = json["workloads"].as_array().unwrap();
    let peers = if cfg!(feature = "peers") { 2 } else { 0 };
    assert_eq!(rows.len(), 3 * (1 + 2 * (1 + peers)));
    for row in rows {
        let samples = row["samples"].as_array().unwrap();
        assert_eq!(samples.len(), 2);
        let seconds: Vec<f64> = samples.iter().map(|sample| sample["seconds"].as_f64().unwrap()).collect();
        assert_eq!(row["best_seconds"].as_f64().unwrap(), seconds[0].min(seconds[1]));
        let median = row["median_seconds"].as_f64().unwrap();
        assert!((median - (seconds[0] + seconds[1]) / 2.0).abs() <= 1e-12 * median);
        assert_eq!(row["steals"].is_u64(), row["runtime"] == "bombyx");
    }

    let csv = std::fs::read_to_string(&csv).unwrap();
    assert!(csv.starts_with("benchmark,about,runtime,scheduler,processors,"), "{csv}");
    assert_eq!(csv.lines().count(), 1 + rows.len());

    let svg = std::fs::read_to_string(&plot).unwrap();
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>") && !svg.contains("NaN"));
    for text in ["nqueens", "on 1 processor", "on 2 processors", "bombyx"] {
        assert!(svg.contains(text), "{text}");
    }
}

#[test]
fn json_to_standard_output_is_all_there_is() {
    let json = succeeds(&["bench", "fib", "--size", "small", "-p", "1", "--repeat", "1", "--json"]);
    let json: Value = serde_json::from_str(&json).expect("JSON and nothing else");
    assert_eq!(json["workloads"][0]["benchmark"], "fib");
}

#[test]
fn micro_benchmarks_run() {
    let micros =
        ["fib38", "two-leaves", "regions", "spawns", "install", "idle", "oversubscribed"].map(String::from);
    let mut arguments = vec!["bench", "--size", "small", "--repeat", "1", "--json"];
    arguments.extend(micros.iter().map(String::as_str));
    let json: Value = serde_json::from_str(&succeeds(&arguments)).expect("JSON");
    let rows = json["micro_benchmarks"].as_array().unwrap();
    let ours: Vec<&str> = rows
        .iter()
        .filter(|row| row["runtime"] == "bombyx")
        .map(|row| row["benchmark"].as_str().unwrap())
        .collect();
    assert_eq!(
        ours,
        [
            "fib(20)",
            "fib(20)",
            "two leaves of 1 ms",
            "16 leaves of 0.2 µs",
            "16 leaves of 1 µs",
            "16 leaves of 5 µs",
            "16 leaves of 10 µs",
            "16 leaves of 20 µs",
            "16 leaves of 50 µs",
            "16 leaves of 100 µs",
            "10,000 empty spawns",
            "empty run from outside",
            "idle for 0.2 s",
            "fib(20), oversubscribed",
            "fib(20), oversubscribed",
        ]
    );
    assert_eq!(json["bars"], Value::Array(vec![]));
}

#[test]
fn the_verdict_on_bars_is_the_exit_status() {
    let output = bombyx(&["bench", "--bars", "install", "--repeat", "1", "--json"]);
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let verdict = json["bars"][0]["verdict"].as_str().expect("one bar");
    let expected = if cfg!(feature = "peers") { ["holds", "missed"] } else { ["not-measured"; 2] };
    assert!(expected.contains(&verdict), "{verdict}");
    assert_eq!(output.status.code(), Some(i32::from(verdict == "missed")));
}

#[test]
fn lists_name_everything() {
    let list = succeeds(&["bench", "--list"]);
    for name in ["fib", "cilksort-random", "barnes-hut", "uts-t1", "two-leaves", "oversubscribed"] {
        assert!(list.lines().any(|line| line.starts_with(&format!("  {name} "))), "{name}: {list}");
    }
    assert!(list.starts_with(&succeeds(&["run", "--list"])));
}

#[test]
fn mistakes_get_helpful_answers() {
    for (arguments, answer) in [
        (&["run", "nquens"][..], "did you mean `nqueens`?"),
        (&["bench", "regoins"], "did you mean `regions`?"),
        (&["bnech"], "did you mean `bench`?"),
        (&["run"], "<NAME>"),
        (&["run", "fib", "--size", "huge"], "small, default, large"),
        (&["run", "fib", "--grain", "coarse"], "medium, fine"),
        (&["run", "fib", "--scheduler", "wrok-stealing"], "work-stealing"),
        (&["run", "fib", "-p", "0"], "`0` is not a positive whole number"),
        (&["run", "fib", "-p", "5000"], "between 1 and 4096"),
        (&["run", "fib", "--repeat", "0"], "0 is not in 1.."),
        (&["bench", "--bars", "--size", "small"], "cannot be used with"),
        (&["--quick", "run"], "cannot be used with"),
    ] {
        let message = refused(arguments);
        assert!(message.contains(answer), "{arguments:?}: {message}");
    }
}

#[test]
fn a_file_that_cannot_be_written_is_named_before_anything_is_measured() {
    let arguments = ["bench", "--csv", "-o", "/nowhere/at/all.csv"];
    let output = bombyx(&arguments);
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
    assert!(String::from_utf8_lossy(&output.stderr).contains("/nowhere/at/all.csv"));
}

/// Confines a process to the first of the CPUs that it may use.
#[cfg(target_os = "linux")]
fn one_cpu(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    let confine = || {
        let size = size_of::<libc::cpu_set_t>();
        // SAFETY: a set of CPUs is plain bits; the calls get pointers to live sets of the size they are told.
        let status = unsafe {
            let mut allowed: libc::cpu_set_t = std::mem::zeroed();
            libc::sched_getaffinity(0, size, &mut allowed);
            let first = (0..libc::CPU_SETSIZE as usize).find(|&cpu| libc::CPU_ISSET(cpu, &allowed));
            let mut one: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(first.unwrap_or(0), &mut one);
            libc::sched_setaffinity(0, size, &one)
        };
        if status == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    };
    // SAFETY: between fork and exec there are only system calls, no allocation and no locks.
    unsafe { command.pre_exec(confine) };
}

#[cfg(target_os = "linux")]
/// Cargo makes or changes a lock file to answer. A diagnosis must not.
#[test]
fn the_doctor_leaves_a_project_as_it_is() {
    let project = std::env::temp_dir().join(format!("bombyx-doctor-{}", std::process::id()));
    std::fs::create_dir_all(project.join("src")).unwrap();
    std::fs::write(project.join("src/lib.rs"), "").unwrap();
    let bombyx = concat!(env!("CARGO_MANIFEST_DIR"), "/../bombyx");
    let manifest = format!(
        "[package]\nname = \"patient\"\nedition = \"2024\"\n[workspace]\n[dependencies]\nbombyx = {{ path = \"{bombyx}\" }}\n"
    );
    std::fs::write(project.join("Cargo.toml"), manifest).unwrap();
    let examine = || {
        let mut doctor = Command::new(env!("CARGO_BIN_EXE_bombyx"));
        let output = doctor.args(["doctor", project.to_str().unwrap(), "--", "--offline"]).output().unwrap();
        let (told, errors) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(told.contains("not needed: the project uses bombyx v"), "{told}{errors}");
    };
    let lock_file = project.join("Cargo.lock");
    examine();
    assert!(!lock_file.exists());
    std::fs::write(&lock_file, "version = 4\n# This one lacks everything.\n").unwrap();
    examine();
    assert_eq!(std::fs::read_to_string(&lock_file).unwrap(), "version = 4\n# This one lacks everything.\n");
    std::fs::remove_dir_all(&project).unwrap();
}

#[test]
fn one_core_is_enough() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bombyx"));
    one_cpu(&mut command);
    let output = command.arg("--quick").output().expect("bombyx runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("Bombyx on 1 core:"));
}

#[cfg(unix)]
#[test]
fn an_interrupted_bench_leaves_no_file() {
    use std::io::{BufRead, BufReader};
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    let folder = Folder::new("interrupted");
    let file = folder.file("b.json");
    let arguments = ["bench", "fib", "--size", "small", "--repeat", "60000", "--json", "-o", &file];
    let mut command = Command::new(env!("CARGO_BIN_EXE_bombyx"));
    command.args(arguments).stdout(std::process::Stdio::piped());
    // SAFETY: `signal` may be called between fork and exec (signal-safety(7)). Whoever started the tests may ignore it.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGINT, libc::SIG_DFL);
            Ok(())
        });
    }
    let mut child = command.spawn().expect("bombyx runs");
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).expect("the head of the table");
    assert!(first.contains("UTC"), "{first}");
    // SAFETY: a signal to a process that we started and have not waited for.
    assert_eq!(unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGINT) }, 0);
    assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGINT));
    assert!(folder.names().is_empty(), "{:?}", folder.names());
}

#[test]
fn every_scheduler_is_checked_and_the_record_goes_on() {
    let folder = Folder::new("check");
    let file = folder.file("check.txt");
    let check = |names: &[&str]| {
        let mut arguments = vec!["check", "--size", "small", "-p", "2", "-o", &file];
        arguments.extend(names);
        succeeds(&arguments)
    };
    let first = check(&["nqueens"]);
    assert!(first.ends_with("9 of 9 results are right\n"), "{first}");
    let line = |text: &str, name: &str| text.lines().find(|line| line.starts_with(name)).map(str::to_owned);
    let second = check(&["nqueens", "lu"]);
    assert!(second.ends_with("18 of 18 results are right\n"), "{second}");
    assert_eq!(line(&first, "nqueens "), line(&second, "nqueens "), "what is recorded is not run again");
    let recorded = std::fs::read_to_string(&file).expect("a record");
    assert!(recorded.contains("bombyx check --size small"), "{recorded}");
    assert_eq!(
        recorded.lines().filter(|line| line.starts_with("nqueens ") || line.starts_with("lu ")).count(),
        2
    );
    let other = bombyx(&["check", "nqueens", "-p", "3", "-o", &file]);
    assert_eq!(other.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&other.stderr).contains("the record of a different check"));
}
