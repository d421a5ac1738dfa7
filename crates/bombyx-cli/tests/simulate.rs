//! `bombyx simulate` as its users see it. The tests run the program and look at what it prints and writes.

mod common;

use common::Folder;
use std::path::Path;
use std::process::Command;

fn succeeds(arguments: &[&str]) -> String {
    common::succeeds(&[&["simulate"], arguments].concat())
}

fn fails(arguments: &[&str]) -> String {
    common::fails(&[&["simulate"], arguments].concat())
}

#[test]
fn figure_2_to_the_letter() {
    let printed = succeeds(&["figure1", "-s", "busy-leaves", "-p", "2", "--steps"]);
    let expected = "\
step  pool   p1       p2
   1         Γ1: v1
   2             v2
   3         Γ2: v3   Γ1: v16
   4  Γ2     Γ3: v4       v17
   5  Γ1 Γ2      v5   Γ6: v18
   6  Γ1     Γ2: v6       v19
   7  Γ1 Γ2  Γ4: v7       v20
   8  Γ2         v8   Γ1: v21
   9  (Γ1)   Γ2: v9
  10  (Γ1)   Γ5: v10  Γ2: v13
  11  Γ1         v11      v14
  12  (Γ2)       v12  Γ1: v22
  13  (Γ1)   Γ2: v15
  14         Γ1: v23
";
    // The width of columns is a matter of taste.
    let words = |text: &str| -> Vec<Vec<String>> {
        text.lines().map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
    };
    assert_eq!(words(&printed), words(expected));
}

#[test]
fn the_table_has_a_line_per_scheduler_and_processor_count() {
    let table = succeeds(&["fib:10", "-s", "work-stealing,greedy", "-p", "1..4", "--seeds", "3"]);
    assert!(
        table.starts_with("fib:10: 441 strands in 177 threads, 176 join edges, nested-parallel\n"),
        "{table}"
    );
    assert_eq!(table.lines().filter(|line| line.starts_with("work-stealing")).count(), 3, "{table}");
    assert_eq!(table.lines().filter(|line| line.starts_with("greedy ")).count(), 3, "{table}");
    assert!(table.contains("means over 3 seeds"), "{table}");
}

#[test]
fn the_same_command_prints_the_same() {
    let arguments =
        ["random:threads=200", "-s", "work-stealing,dfdeques:100", "-p", "4,7", "--seeds", "2", "--csv"];
    assert_eq!(succeeds(&arguments), succeeds(&arguments));
}

#[test]
fn csv_and_json_agree() {
    let arguments = ["wavefront", "-s", "work-stealing", "-p", "2,3", "--seeds", "2"];
    let csv = succeeds(&[&arguments[..], &["--csv"]].concat());
    let mut lines = csv.lines();
    let headings: Vec<&str> = lines.next().unwrap().split(',').collect();
    assert_eq!(headings[..4], ["computation", "scheduler", "processors", "seed"]);
    let json: serde_json::Value =
        serde_json::from_str(&succeeds(&[&arguments[..], &["--json"]].concat())).unwrap();
    assert_eq!(json["computation"]["class"], "strict");
    let runs = json["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 4);
    for (line, run) in lines.zip(runs) {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(cells.len(), headings.len());
        for (heading, cell) in headings.iter().zip(&cells).skip(2) {
            let (cell, value): (f64, f64) = (cell.parse().unwrap(), run[heading].as_f64().unwrap());
            assert!((cell - value).abs() <= 1e-12 * value.abs(), "{heading}: {cell} and {value}");
        }
    }
}

#[test]
fn files_come_whole_and_alone() {
    let folder = Folder::new("files");
    let [dag, dot, drawing, gantt, trace] =
        ["f.dag", "f.dot", "f.svg", "gantt.svg", "trace.txt"].map(|name| folder.file(name));
    succeeds(&["fib:6", "--save", &dag]);
    succeeds(&["fib:6", "--draw", &dot]);
    succeeds(&[&dag, "-p", "3", "--draw", &drawing, "--gantt", &gantt, "--trace", &trace]);
    assert_eq!(folder.names(), ["f.dag", "f.dot", "f.svg", "gantt.svg", "trace.txt"]);
    let from_file = succeeds(&[&dag, "-p", "3", "--csv"]);
    let from_spec = succeeds(&["fib:6", "-p", "3", "--csv"]);
    let numbers = |csv: &str| csv.lines().nth(1).unwrap().split_once(',').unwrap().1.to_owned();
    assert_eq!(numbers(&from_file), numbers(&from_spec));
    for svg in [&drawing, &gantt] {
        let text = std::fs::read_to_string(svg).unwrap();
        assert!(text.starts_with("<svg") && text.ends_with("</svg>\n"), "{svg}");
    }
}

#[test]
fn plots_are_drawn() {
    let folder = Folder::new("plots");
    let [speedup, space, tradeoff] = ["speedup.svg", "space.svg", "k.svg"].map(|name| folder.file(name));
    succeeds(&[
        "fib:10",
        "-p",
        "1..8",
        "-s",
        "greedy,work-stealing",
        "--speedup",
        &speedup,
        "--space",
        &space,
    ]);
    succeeds(&[
        "geometric:6",
        "-p",
        "8",
        "-s",
        "dfdeques:1k..64k*4,work-stealing,fifo",
        "--tradeoff",
        &tradeoff,
    ]);
    for (file, names) in [
        (&speedup, &["T1/P, T∞", "work-stealing", "Efficiency of fib:10"][..]),
        (&space, &["P·S1", "greedy"]),
        (&tradeoff, &["dfdeques:K", "fifo", "granularity"]),
    ] {
        let text = std::fs::read_to_string(file).unwrap();
        for name in names {
            assert!(text.contains(name), "{file} lacks {name}");
        }
        assert!(!text.contains("NaN"), "{file}");
    }
}

#[test]
fn invariants_can_be_checked() {
    for scheduler in ["busy-leaves", "work-stealing", "dfdeques:100", "maximum-utilization"] {
        succeeds(&["fib:7", "-s", scheduler, "-p", "3", "--check"]);
    }
}

#[test]
fn speeds_change_times() {
    let time = |arguments: &[&str]| {
        let json = succeeds(&[&["chain:length=1,work=1000", "--json"], arguments].concat());
        serde_json::from_str::<serde_json::Value>(&json).unwrap()["runs"][0]["time"].as_f64().unwrap()
    };
    assert_eq!(time(&["--speeds", "1"]), 1000.0);
    assert_eq!(time(&["--speeds", "4"]), 250.0);
    assert_eq!(time(&["--speeds", "2x1/2"]), 2000.0);
    assert_eq!(time(&["--speeds", "1;500:p1=2"]), 750.0);
}

#[test]
fn mistakes_get_helpful_answers() {
    for (arguments, answer) in [
        (&["fibb:20"][..], "did you mean `fib`?"),
        (&["dnc:depht=3"], "did you mean `depth`?"),
        (&["fib:60"], "make it smaller"),
        (&["nothing.dag"], "nothing.dag: No such file"),
        (&["Cargo.toml"], "not a dag file"),
        (&["fib:5", "-s", "work-staeling"], "work-stealing"),
        (&["fib:5", "-s", "dfdeques"], "dfdeques:K"),
        (&["fib:5", "-p", "0"], "positive"),
        (&["fib:5", "-p", "8..1"], "backwards"),
        (&["fib:5", "--speeds", "fast"], "list speeds like 4,2x1"),
        (&["fib:5", "--speeds", "2;100:p3=1"], "names p3; the processors are numbered from p1 to p1"),
        (&["fib:5", "--gantt", "x.svg"], "choose one scheduler"),
        (&["fib:20", "--draw", "x.svg"], "draw a smaller one"),
        (&["fib:5", "-p", "4", "--speedup", "x.svg"], "-p 1..64"),
        (&["fib:5", "-p", "4", "--tradeoff", "x.svg"], "dfdeques:100..100k*10"),
        (&["geometric:memory=1G", "-s", "dfdeques:1"], "larger K"),
        (&["fib:5", "--seeds", "0"], "at least one seed"),
        (&["fib:5", "--csv", "--json"], "cannot be used with"),
        (&[], "<COMPUTATION>"),
    ] {
        let message = fails(arguments);
        assert!(message.contains(answer), "{arguments:?}: {message}");
        assert!(!Path::new("x.svg").exists());
    }
}

#[test]
fn the_list_shows_generators_and_schedulers() {
    let list = succeeds(&["--list"]);
    for name in ["fib", "wavefront", "greedy-trap", "dfdeques:K", "heterogeneous:BETA"] {
        assert!(list.contains(name), "{name}");
    }
}

#[test]
fn the_examples_in_the_help_work() {
    let folder = Folder::new("examples");
    let help = Command::new(env!("CARGO_BIN_EXE_bombyx"))
        .args(["simulate", "--help"])
        .env("COLUMNS", "200")
        .output()
        .expect("bombyx runs");
    let help = String::from_utf8(help.stdout).expect("help is UTF-8");
    // Only a cluster can make a recording of a cluster.
    let examples = help.lines().filter_map(|line| line.strip_prefix("  bombyx simulate "));
    let examples: Vec<&str> = examples.filter(|example| !example.starts_with("calls.dag")).collect();
    assert_eq!(examples.len(), 8, "{help}");
    std::fs::copy(SORT, folder.file("run.dag")).expect("the recording can be copied");
    for example in examples {
        let command = example.split("   ").next().expect("a split has a first part");
        let output = Command::new(env!("CARGO_BIN_EXE_bombyx"))
            .arg("simulate")
            .args(command.split_whitespace())
            .current_dir(&folder.0)
            .output()
            .expect("bombyx runs");
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(folder.names(), ["fib.svg", "gantt.svg", "k.svg", "run.dag", "speedup.svg"]);
}

const SORT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../bombyx-dag/corpus/sort.dag");

#[test]
fn fork_sites_have_a_table() {
    let all = succeeds(&[SORT, "--sites"]);
    let row = all.lines().find(|line| line.starts_with("src/sort.rs:10:5")).expect("there is a row");
    let words: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(words, ["src/sort.rs:10:5", "2", "5", "121", "55.5", "%", "100", "97.1", "%"]);
    assert!(!all.contains("scheduler"), "no runs were asked for");
    assert!(succeeds(&[SORT, "-p", "2"]).contains("src/sort.rs:20:9"));
}

#[test]
fn what_if_a_site_were_faster() {
    let printed = succeeds(&[SORT, "--faster", "rs:10=2", "-p", "1,2", "--steal-cost", "1"]);
    assert!(
        printed.starts_with(&format!("{SORT} with src/sort.rs:10:5 2 times faster: 14 strands")),
        "{printed}"
    );
    let numbers = |name: &str| {
        let line = printed.lines().rfind(|line| line.starts_with(name)).expect(name);
        line.split_whitespace().skip(2).take(2).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(numbers("work T1"), ["218", "158"]);
    assert_eq!(numbers("span T∞"), ["103", "65"]);
    let on_one = printed.lines().find(|line| line.starts_with("work-stealing")).expect("there is a run");
    assert_eq!(on_one.split_whitespace().collect::<Vec<_>>()[1..4], ["1", "218", "158"], "time is work");
    let json = succeeds(&[SORT, "--faster", "sort.rs:20=0.5", "-p", "1", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(
        (&json["computation"]["work"], &json["before"]["computation"]["work"]),
        (&310.into(), &218.into())
    );
    let csv = succeeds(&[SORT, "--faster", "sort.rs:20=2", "-p", "1", "--csv"]);
    assert_eq!(csv.lines().count(), 3, "{csv}");
    let error = fails(&[SORT, "--faster", "sort.rs=2"]);
    assert!(error.contains("may be `src/sort.rs:10:5`, `src/sort.rs:20:9`; say more of it"), "{error}");
    assert!(fails(&[SORT, "--faster", "merge=2"]).contains("there is no fork site `merge`"));
    assert!(fails(&["fib:5", "--faster", "fib=2"]).contains("no fork sites"));
    assert!(fails(&[SORT, "--faster", "sort.rs:10=fast"]).contains("not a factor"));
}

/// Dag files that earlier versions ran wrongly, or never to the end.
fn dag(name: &str) -> String {
    format!("{}/tests/dags/{name}.dag", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn a_thread_whose_first_strand_waits_begins_late() {
    let steps = succeeds(&[&dag("first"), "-s", "greedy", "-p", "3", "--steps"]);
    let steps: Vec<&str> = steps.lines().skip(1).collect();
    // Γ3's first strand waits for v2. T∞ is 13.
    let last = steps.iter().rposition(|step| step.contains("v2 ") || step.ends_with("v2"));
    let first = steps.iter().position(|step| step.contains("Γ3: v4"));
    assert!(last.is_some() && last < first, "{steps:#?}");
    assert!(steps.len() >= 13, "{steps:#?}");
}

#[test]
fn a_child_that_may_outlive_its_parent_is_not_strict() {
    let printed = succeeds(&[&dag("strict-broken"), "-s", "busy-leaves", "-p", "3", "--check"]);
    assert!(printed.contains("10 join edges, general\n"), "{printed}");
    assert!(printed.contains("nothing keeps the parent of Γ4 alive until Γ4 ends"), "{printed}");
    assert!(printed.ends_with("checked at every step under busy-leaves: greedy (BL §2)\n"), "{printed}");
}

/// Thieves fail 10^12 times here. If each attempt were an event, this would not end.
#[test]
fn long_strands_end_soon() {
    let json = succeeds(&[&dag("ns"), "-p", "8", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["runs"][0]["time"], 200_000_000_015.0);
    assert!(json["runs"][0]["steal"].as_u64() > Some(1_000_000_000_000), "{json}");
}

/// A block of 1000 bytes is allocated and freed first, or not. Either way ten blocks of 100 bytes with K = 100 follow.
#[test]
fn a_free_of_what_was_not_charged_pays_for_nothing() {
    for name in ["refund", "norefund"] {
        let folder = Folder::new(name);
        let trace = folder.file("trace.txt");
        succeeds(&[&dag(name), "-s", "dfdeques:100", "-p", "1", "--trace", &trace]);
        let trace = std::fs::read_to_string(&trace).expect("a trace");
        let lines: Vec<&str> = trace.lines().collect();
        // A steal before each block but the first, then the strand that frees them, and the root's last.
        let (blocks, ends) = lines[lines.len() - 20..].split_at(18);
        assert!(
            blocks.chunks(2).all(|two| two[0].ends_with("steals Γ2") && !two[1].contains("steals")),
            "{trace}"
        );
        assert!(ends.iter().all(|line| !line.contains("steals")), "{trace}");
    }
}

#[test]
fn a_recording_runs_on_clusters() {
    let remote = ["--remote", "sort.rs:10"];
    let on = |more: &[&str]| succeeds(&[&[SORT, "--nodes", "1,2,8"], &remote[..], more].concat());
    let table = on(&["--call-cost", "1us", "--latency", "1us"]);
    let rows: Vec<&str> =
        table.lines().skip_while(|line| !line.contains("scheduler busy")).skip(1).take(3).collect();
    let nodes: Vec<&str> = rows.iter().filter_map(|row| row.split_whitespace().next()).collect();
    assert_eq!(nodes, ["1", "2", "8"], "{table}");
    assert!(table.contains("simulated: work "), "{table}");
    // A scheduler that spends a second on each call is the limit everywhere, and more nodes do not help.
    let slow = on(&["--call-cost", "1s"]);
    assert!(slow.contains("from 1 nodes on, the scheduler is the limit"), "{slow}");
    let json: serde_json::Value = serde_json::from_str(&on(&["--call-cost", "1s", "--json"])).expect("JSON");
    for run in json["runs"].as_array().expect("runs") {
        let (seconds, calls) =
            (run["seconds"].as_f64().expect("a time"), run["calls"].as_f64().expect("a count"));
        assert!(calls > 0.0 && seconds >= calls, "{run}");
    }
    assert!(fails(&["fib:10", "--nodes", "2"]).contains("needs a recorded program"));
    assert!(fails(&[SORT, "--nodes", "2"]).contains("no fork site contains `remote `"));
}
