//! Fork sites in profiles are where the program calls this crate or rayon, not lines of them.

use rayon::prelude::*;
use std::process::Command;

/// Not a test: the program that is profiled.
#[test]
#[ignore = "part of another test"]
fn forks() {
    let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    pool.install(|| {
        rayon_core::join(|| (), || ());
        rayon_core::join_context(|_| (), |_| ());
        rayon_core::scope(|s| s.spawn(|_| ()));
        rayon_core::scope_fifo(|s| s.spawn_fifo(|_| ()));
        rayon_core::in_place_scope(|s| s.spawn(|_| ()));
    });
    let (sender, receiver) = std::sync::mpsc::channel();
    pool.spawn(move || sender.send(()).unwrap());
    receiver.recv().unwrap();
}

/// Not a test, but another program: it calls rayon outside of any pool. Each line that forks has its name as a comment.
#[test]
#[ignore = "part of another test"]
fn iterators() {
    let mut numbers: Vec<u64> = (0..20_000).rev().collect();
    let work = |n: u64| (0..n % 50).fold(n, |sum, n| std::hint::black_box(sum ^ n));
    numbers.par_iter().for_each(|&n| _ = work(n)); // loop
    numbers[..2].par_iter().for_each(|&n| _ = work(n)); // loop with one fork
    numbers[..2].par_iter().for_each(|&n| _ = work(n + 1)); // another loop with one fork
    numbers.par_chunks_mut(16).for_each(|chunk| chunk[0] = work(chunk[0])); // chunks
    numbers.par_sort(); // sort
    (0..2_000).par_bridge().for_each(|n| _ = work(n)); // bridge
    let sum: u64 = numbers.par_iter().map(|&n| work(n)).sum(); // reduction
    assert!(sum > 0);
}

/// The sites in the profile of such a program: file, line and kind.
fn sites(program: &str) -> Vec<(String, usize, String)> {
    let file = std::env::temp_dir().join(format!("rayon-core-{program}-{}.json", std::process::id()));
    let ended = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", program])
        .env("BOMBYX_PROFILE", &file)
        .env("RAYON_NUM_THREADS", "2")
        .output()
        .unwrap();
    let profile = std::fs::read_to_string(&file);
    let _ = std::fs::remove_file(&file);
    assert!(ended.status.success());
    let word = |text: &str, key: &str| {
        let value = text.split_once(&format!("\"{key}\":")).unwrap().1;
        value.split([',', '}']).next().unwrap().trim_matches('"').to_owned()
    };
    let site = |text: &str| (word(text, "file"), word(text, "line").parse().unwrap(), word(text, "kind"));
    profile.unwrap().split('{').filter(|text| text.contains("\"file\":")).map(site).collect()
}

#[test]
fn sites_are_the_callers() {
    let sites = sites("forks");
    assert!(sites.len() >= 9, "{sites:?}");
    for (file, ..) in sites {
        assert!(file.ends_with("tests/sites.rs"), "{file}");
    }
}

/// Also two loops whose only forks are made outside of a pool and have the same type of result.
#[test]
fn forks_inside_rayon_have_the_lines_of_the_program() {
    let sites = sites("iterators");
    let source: Vec<&str> = include_str!("sites.rs").lines().collect();
    for (name, kind) in [
        ("loop", "rayon"),
        ("loop with one fork", "rayon"),
        ("another loop with one fork", "rayon"),
        ("chunks", "rayon"),
        ("sort", "rayon"),
        ("bridge", "par_bridge"),
        ("reduction", "rayon"),
    ] {
        let line = 1 + source.iter().position(|line| line.ends_with(&format!("// {name}"))).unwrap();
        let found = sites.iter().filter(|(_, at, of_kind)| *at == line && of_kind == kind);
        assert_eq!(found.count(), 1, "the {name} in line {line}: {sites:?}");
    }
    let foreign: Vec<_> = sites.iter().filter(|site| !site.0.ends_with("tests/sites.rs")).collect();
    assert!(foreign.is_empty(), "{foreign:?}");
}
