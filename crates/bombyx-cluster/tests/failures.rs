//! Workers that are killed, stopped, added and removed while they work. Every result is right, none is lost, none comes
//! twice, and no process is left behind.
//!
//! `BOMBYX_TEST_CLUSTERS` names other engines, `BOMBYX_TEST_ROUNDS` another number of rounds, `BOMBYX_TEST_SEED`
//! another seed. What is killed and when depends on the machine. That the results are right does not.

mod common;

use bombyx_cluster::{Cluster, Error, remote, work_if_worker};
use common::{Random, addresses, is_alive, within};
use libtest_mimic::{Arguments, Trial};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Some milliseconds of work with a result that only the argument determines.
#[remote]
fn grind(n: u64) -> u64 {
    let end = Instant::now() + Duration::from_millis(n % 7);
    while Instant::now() < end {
        std::hint::spin_loop();
    }
    n * n + 1
}

/// Like [`grind`], below nested calls: a tree of them.
#[remote]
fn grind_below((n, depth): (u64, u32)) -> u64 {
    if depth == 0 {
        return grind(n);
    }
    let halves = [(2 * n, depth - 1), (2 * n + 1, depth - 1)];
    Cluster::current().map_reduce(grind_below, halves, 0, |a, b| a + b).unwrap()
}

#[remote]
fn end_the_process(code: i32) -> u64 {
    std::process::exit(code)
}

#[remote]
fn abort_if_odd(n: u64) -> u64 {
    if n % 2 == 1 { std::process::abort() } else { n }
}

/// Uses this many MiB for a while.
#[remote]
fn eat(mib: usize) -> usize {
    let eaten = vec![1_u8; mib << 20];
    std::thread::sleep(Duration::from_secs(20));
    eaten.iter().map(|&byte| byte as usize).sum()
}

#[remote]
fn sleep_ms(ms: u64) -> u64 {
    std::thread::sleep(Duration::from_millis(ms));
    ms
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |text| text.parse().expect("a number"))
}

fn signal(pid: u32, signal: i32) {
    // SAFETY: this only sends a signal. The numbers belong to our own workers, and their parent has not waited for
    // them.
    unsafe { libc::kill(pid as libc::pid_t, signal) };
}

/// Runs rounds of work while another thread sends signals to workers.
fn sabotaged(address: &str) {
    let (rounds, seed) = (number("BOMBYX_TEST_ROUNDS", 6), number("BOMBYX_TEST_SEED", 1));
    println!("{address}: {rounds} rounds with seed {seed}");
    let is_dask = address.starts_with("dask");
    // A Python worker takes seconds to begin; a Rust one, milliseconds.
    let pause = if is_dask { 400 } else { 60 };
    let patience = Duration::from_secs(if is_dask { 5 } else { 1 });
    let cluster =
        Cluster::builder().address(address).allowed_failures(10_000).patience(patience).start().unwrap();
    let (done, kills, stops) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    let seen = Mutex::new(BTreeSet::new());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut random = Random(seed);
            while !done.load(Relaxed) {
                std::thread::sleep(Duration::from_millis(1 + random.below(pause) as u64));
                let pids = cluster.processes();
                seen.lock().unwrap().extend(pids.iter().copied());
                match (random.below(10), pids.is_empty()) {
                    (0, _) => cluster.resize(2 + random.below(3)).unwrap(),
                    (_, true) => {}
                    (1, false) => {
                        stops.fetch_add(1, Relaxed);
                        signal(pids[random.below(pids.len())], libc::SIGSTOP);
                    }
                    (_, false) => {
                        kills.fetch_add(1, Relaxed);
                        signal(pids[random.below(pids.len())], libc::SIGKILL);
                    }
                }
            }
        });
        // Stops the saboteur even if a check fails.
        let _done = Finally(|| done.store(true, Relaxed));
        for round in 0..rounds {
            let items = round * 1000..round * 1000 + 60;
            let expected: Vec<u64> = items.clone().map(|n| n * n + 1).collect();
            let results: Result<Vec<u64>, Error> = cluster.map(grind, items).collect();
            assert_eq!(results, Ok(expected), "round {round}");
            let leaves: u64 = (round * 16..round * 16 + 16).map(|n| n * n + 1).sum();
            assert_eq!(cluster.call(grind_below, (round, 4)), Ok(leaves), "round {round}, nested");
        }
    });
    println!(
        "{address}: {rounds} rounds right, {} SIGKILL, {} SIGSTOP",
        kills.into_inner(),
        stops.into_inner()
    );
    seen.lock().unwrap().extend(cluster.processes());
    drop(cluster);
    gone(&seen.into_inner().unwrap());
}

struct Finally<F: FnMut()>(F);

impl<F: FnMut()> Drop for Finally<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// All these processes end soon.
fn gone(pids: &BTreeSet<u32>) {
    let end = Instant::now() + Duration::from_secs(30);
    while let Some(left) = pids.iter().find(|&&pid| is_alive(pid)) {
        assert!(Instant::now() < end, "process {left} is left behind");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A function that ends its worker each time is lost, and the error says which one. The others are not lost.
fn lost(address: &str) {
    let cluster = Cluster::builder().address(address).allowed_failures(2).start().unwrap();
    let error = cluster.call(end_the_process, 3).unwrap_err();
    let Error::Lost { function, place, reason } = &error else { panic!("{error}") };
    assert_eq!(function, "failures::end_the_process");
    assert!(place.contains("the call at") && place.contains("failures.rs"), "{place}");
    assert!(reason.contains("status 3") && reason.contains('3'), "{reason}");
    let results: Vec<Result<u64, Error>> = cluster.map(abort_if_odd, 0..4).in_flight(1).collect();
    assert_eq!((&results[0], &results[2]), (&Ok(0), &Ok(2)));
    for nth in [1, 3] {
        let Err(Error::Lost { place, reason, .. }) = &results[nth] else { panic!("{:?}", results[nth]) };
        assert!(place.starts_with(&format!("item {nth} of the map at")), "{place}");
        assert!(reason.contains("signal 6"), "{reason}");
    }
}

/// A worker that stands still is given up, and its call runs elsewhere.
fn stopped(address: &str) {
    let cluster = Cluster::builder().address(address).patience(Duration::from_secs(1)).start().unwrap();
    assert_eq!(cluster.call(grind, 3), Ok(10));
    let pids: BTreeSet<u32> = cluster.processes().into_iter().collect();
    pids.iter().for_each(|&pid| signal(pid, libc::SIGSTOP));
    assert_eq!(cluster.call(grind, 4), Ok(17));
    drop(cluster);
    gone(&pids);
}

/// A call that uses more memory than its worker may is lost. The others are not.
fn out_of_memory(address: &str) {
    let cluster = Cluster::builder().address(address).allowed_failures(1).start().unwrap();
    let error = cluster.call(eat, 2000).unwrap_err();
    assert!(
        matches!(&error, Error::Lost { reason, .. } if reason.contains("more than the worker's limit")),
        "{error}"
    );
    assert_eq!(cluster.call(grind, 3), Ok(10));
}

/// The client is killed: its workers end.
fn client_killed(address: &str) {
    let mut client = Command::new(std::env::current_exe().unwrap())
        .env("BOMBYX_TEST_CLIENT", address)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(client.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let pids: BTreeSet<u32> = line.split_whitespace().map(|pid| pid.parse().unwrap()).collect();
    assert!(!pids.is_empty() && pids.iter().all(|&pid| is_alive(pid)), "{line}");
    client.kill().unwrap();
    client.wait().unwrap();
    gone(&pids);
}

/// Such a client.
fn be_client(address: &str) {
    let cluster = Cluster::builder().address(address).start().unwrap();
    let mut map = cluster.map(sleep_ms, [0, 600_000, 600_000, 600_000]);
    assert_eq!(map.next(), Some(Ok(0)));
    let end = Instant::now() + Duration::from_secs(20);
    while cluster.processes().is_empty() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(10));
    }
    println!("{}", cluster.processes().iter().map(u32::to_string).collect::<Vec<_>>().join(" "));
    map.for_each(drop);
}

/// A program that does not enter worker mode gets an explanation.
fn forgetful() {
    let mut client = Command::new(std::env::current_exe().unwrap());
    let output = client.env("BOMBYX_TEST_FORGETFUL", "1").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("before it was ready: does `main` call bombyx_cluster::start first?"), "{text}");
}

fn be_forgetful() {
    if std::env::var_os("BOMBYX_CLUSTER_SOCKET").is_none() {
        let cluster = Cluster::builder().address("processes:1").start().unwrap();
        println!("{}", cluster.call(grind, 1).unwrap_err());
    }
}

fn main() {
    if std::env::var_os("BOMBYX_TEST_FORGETFUL").is_some() {
        return be_forgetful();
    }
    work_if_worker();
    if let Ok(address) = std::env::var("BOMBYX_TEST_CLIENT") {
        return be_client(&address);
    }
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    type Case = fn(&str);
    let cases = [
        ("sabotaged", sabotaged as Case),
        ("lost", lost),
        ("stopped", stopped),
        ("client killed", client_killed),
    ];
    let crashable =
        addresses().into_iter().filter(|address| !address.starts_with("local") && !address.ends_with(":1"));
    for address in crashable {
        for (name, case) in cases {
            let address = address.clone();
            trials.push(Trial::test(format!("{name} on {address}"), move || {
                within(900, move || case(&address));
                Ok(())
            }));
        }
    }
    for address in addresses().into_iter().filter(|address| address.starts_with("dask")) {
        // Only with a limit that is worth reaching.
        if std::env::var_os("BOMBYX_CLUSTER_MEMORY").is_some() {
            trials.push(Trial::test(format!("out of memory on {address}"), move || {
                within(300, move || out_of_memory(&address));
                Ok(())
            }));
        }
    }
    trials.push(Trial::test("a worker that is none", || {
        within(60, forgetful);
        Ok(())
    }));
    libtest_mimic::run(&arguments, trials).exit();
}
