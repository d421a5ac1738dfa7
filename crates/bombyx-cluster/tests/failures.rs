//! Workers that are killed, stopped, added and removed while they work. Every result is right, none is lost, none comes
//! twice, and no process is left behind.
//!
//! `BOMBYX_TEST_CLUSTERS` names other engines, `BOMBYX_TEST_ROUNDS` another number of rounds, `BOMBYX_TEST_SEED`
//! another seed. What is killed and when depends on the machine. That the results are right does not.

mod common;

use bombyx_cluster::{Cluster, Error, Remote, remote, work_if_worker};
use common::{Process, Random, addresses, descendants, process, within};
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
fn value_of(kept: Remote<u64>) -> u64 {
    kept.get().unwrap()
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
                seen.lock().unwrap().extend(pids.iter().copied().filter_map(process));
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
    seen.lock().unwrap().extend(cluster.processes().into_iter().filter_map(process));
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
fn gone(processes: &BTreeSet<Process>) {
    let end = Instant::now() + Duration::from_secs(30);
    while let Some(left) = processes.iter().find(|&&left| process(left.0) == Some(left)) {
        assert!(Instant::now() < end, "process {} is left behind", left.0);
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
    let kept = cluster.keep(end_the_process, 4).unwrap();
    let error = kept.get().unwrap_err();
    let Error::Lost { function, place, .. } = &error else { panic!("{error}") };
    assert_eq!(function, "failures::end_the_process");
    assert!(place.contains("the kept call at") && place.contains("failures.rs"), "{place}");
    let error = cluster.call(value_of, kept).unwrap_err();
    assert!(error.to_string().contains("end_the_process"), "{error}");
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
    let workers: BTreeSet<Process> = cluster.processes().into_iter().filter_map(process).collect();
    workers.iter().for_each(|&(pid, _)| signal(pid, libc::SIGSTOP));
    assert_eq!(cluster.call(grind, 4), Ok(17));
    drop(cluster);
    gone(&workers);
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

fn client_killed(address: &str) {
    kill_client(address, false);
}

fn client_killed_while_workers_stand_still(address: &str) {
    kill_client(address, true);
}

/// The client is killed: everything that it started ends, also what stands still.
fn kill_client(address: &str, stopped: bool) {
    let mut client = Command::new(std::env::current_exe().unwrap())
        .env("BOMBYX_TEST_CLIENT", address)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(client.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let pids: Vec<u32> = line.split_whitespace().map(|pid| pid.parse().unwrap()).collect();
    let mut started: BTreeSet<Process> = pids.iter().copied().filter_map(process).collect();
    assert!(!pids.is_empty() && started.len() == pids.len(), "{line}");
    // Python's own helper ends when its pipe does, so only if it does not stand still.
    let is_helper = |pid: &u32| {
        std::fs::read_to_string(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|line| line.contains("resource_tracker"))
    };
    let all = descendants(client.id()).into_iter().filter(|pid| !is_helper(pid));
    started.extend(all.filter_map(process));
    if stopped {
        started.iter().for_each(|&(pid, _)| signal(pid, libc::SIGSTOP));
    }
    client.kill().unwrap();
    client.wait().unwrap();
    gone(&started);
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

/// What this program prints in another role.
fn printed(role: &str, address: &str) -> String {
    let mut client = Command::new(std::env::current_exe().unwrap());
    let output = client.env(role, address).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A program that does not enter worker mode gets an explanation.
fn forgetful(address: &str) {
    let text = printed("BOMBYX_TEST_FORGETFUL", address);
    assert!(text.contains("before it was ready: does `main` call bombyx_cluster::start first?"), "{text}");
}

fn be_forgetful(address: &str) {
    if std::env::var_os("BOMBYX_CLUSTER_SOCKET").is_none() {
        // Dask says so when it connects, and `processes` at the first call.
        let result = Cluster::builder().address(address).start().and_then(|cluster| cluster.call(grind, 1));
        println!("{}", result.unwrap_err());
    }
}

/// Workers that others kill while they start are no reason to give up.
fn killed_early(address: &str) {
    assert_eq!(printed("BOMBYX_TEST_KILLED_EARLY", address), "Ok(10)\n");
}

/// Its workers take a while to begin, because `main` sleeps.
fn be_killed_early(address: &str) {
    let cluster = Cluster::builder().address(address).start().unwrap();
    let me = std::fs::read_link("/proc/self/exe").unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    let mut killed = BTreeSet::new();
    // More than the six in a row that end a cluster.
    while killed.len() < 9 && Instant::now() < end {
        let runs_this = |pid: &u32| std::fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == me);
        for pid in descendants(std::process::id()).into_iter().filter(runs_this) {
            if killed.insert(pid) {
                signal(pid, libc::SIGKILL);
            }
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(killed.len() >= 9);
    println!("{:?}", cluster.call(grind, 3));
}

/// A worker that cannot be started is started later, and the others go on meanwhile.
fn no_room() {
    assert_eq!(printed("BOMBYX_TEST_NO_ROOM", "processes:2"), "full: Ok(10), then 2 workers\n");
}

/// How many files this process may open. Returns how many it could open before.
fn limit_files(count: libc::rlim_t) -> libc::rlim_t {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls only look at `limit`.
    unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit);
        let before = std::mem::replace(&mut limit.rlim_cur, count);
        libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        before
    }
}

fn be_without_room(address: &str) {
    let cluster = Cluster::builder().address(address).start().unwrap();
    while cluster.slots() < 2 {
        std::thread::sleep(Duration::from_millis(5));
    }
    let before = limit_files(3);
    let pids: BTreeSet<u32> = cluster.processes().into_iter().take(1).collect();
    pids.iter().for_each(|&pid| signal(pid, libc::SIGKILL));
    while cluster.slots() == 2 {
        std::thread::sleep(Duration::from_millis(5));
    }
    print!("full: {:?}, ", cluster.call(grind, 3));
    limit_files(before);
    while cluster.slots() < 2 {
        std::thread::sleep(Duration::from_millis(5));
    }
    println!("then {} workers", cluster.slots());
}

/// Dask's scheduler and the process around it stand still: an error within 30 s, and nothing is left.
fn shim_stopped(address: &str) {
    let before = descendants(std::process::id());
    let cluster = Cluster::builder().address(address).start().unwrap();
    assert_eq!(cluster.call(grind, 3), Ok(10));
    let now = descendants(std::process::id()).into_iter().filter(|pid| !before.contains(pid));
    let started: BTreeSet<Process> = now.filter_map(process).collect();
    let is_shim = |(pid, _): &&Process| {
        std::fs::read_to_string(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|line| line.contains("client.main()"))
    };
    let (shim, _) = *started.iter().find(is_shim).expect("there is a shim");
    let began = Instant::now();
    signal(shim, libc::SIGSTOP);
    let error = cluster.call(sleep_ms, 60_000).unwrap_err();
    assert!(matches!(&error, Error::Gone(reason) if reason.contains("said nothing")), "{error}");
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    gone(&started);
}

fn main() {
    if let Ok(address) = std::env::var("BOMBYX_TEST_FORGETFUL") {
        return be_forgetful(&address);
    }
    if std::env::var_os("BOMBYX_TEST_KILLED_EARLY").is_some() {
        std::thread::sleep(Duration::from_millis(100));
    }
    work_if_worker();
    if let Ok(address) = std::env::var("BOMBYX_TEST_KILLED_EARLY") {
        return be_killed_early(&address);
    }
    if let Ok(address) = std::env::var("BOMBYX_TEST_NO_ROOM") {
        return be_without_room(&address);
    }
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
        ("client killed while workers stand still", client_killed_while_workers_stand_still),
        ("a worker that is none", forgetful),
        ("killed while they start", killed_early),
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
        let own = address.clone();
        trials.push(Trial::test(format!("shim stopped on {address}"), move || {
            within(120, move || shim_stopped(&own));
            Ok(())
        }));
        // Only with a limit that is worth reaching.
        if std::env::var_os("BOMBYX_CLUSTER_MEMORY").is_some() {
            trials.push(Trial::test(format!("out of memory on {address}"), move || {
                within(300, move || out_of_memory(&address));
                Ok(())
            }));
        }
    }
    trials.push(Trial::test("no room for a worker", || {
        within(60, no_room);
        Ok(())
    }));
    libtest_mimic::run(&arguments, trials).exit();
}
