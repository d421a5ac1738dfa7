//! Memory under a flood of calls: 10,000 of them, with a bound on what is in flight. Prints how much each process grew: the
//! client, the shim with Dask's scheduler, the workers. Fails if one of them grew more than the bound allows.
//!
//! `cargo run --release -p bombyx-cluster --example flood -- processes:2 64 100000`: the engine, how many calls may be in
//! flight, and the bytes of each argument and each result. For `dask://…`, the process numbers of the scheduler and of the
//! workers follow.

use bombyx_cluster::{Cluster, remote, work_if_worker};
use std::collections::BTreeMap;

const CALLS: usize = 10_000;
const MIB: usize = 1 << 20;

#[remote]
fn reverse(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.reverse();
    bytes
}

/// The most memory that a process has had, in bytes. `None` if it has ended.
fn peak(pid: u32) -> Option<usize> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<usize>().ok().map(|kibibytes| kibibytes << 10)
}

/// A process and all its descendants.
fn family(pid: u32) -> Vec<u32> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    let children = lists.flat_map(|list| list.split_whitespace().flat_map(str::parse).collect::<Vec<u32>>());
    std::iter::once(pid).chain(children.flat_map(family)).collect()
}

/// What a process does, from its command line.
fn role(pid: u32) -> &'static str {
    let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    match () {
        () if pid == std::process::id() => "the client",
        () if line.contains("client.main()") => "the shim (on dask-local with the scheduler)",
        () if line.contains("resource_tracker") => "Python's resource tracker",
        () if line.contains("multiprocessing") || line.contains("worker.main()") => "a Dask worker",
        () if line.contains("scheduler") => "the scheduler",
        () => "a worker's Rust process",
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    work_if_worker();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let address = arguments.first().map_or("processes:2", String::as_str);
    let in_flight: usize = arguments.get(1).map_or(Ok(64), |text| text.parse())?;
    let bytes: usize = arguments.get(2).map_or(Ok(100_000), |text| text.parse())?;
    let others: Vec<u32> = arguments.iter().skip(3).map(|text| text.parse()).collect::<Result<_, _>>()?;
    let cluster = Cluster::builder().address(address).start()?;
    let call = |nth: usize| (0..bytes).map(|at| (at * nth) as u8).collect::<Vec<u8>>();
    // All processes have begun, and have their libraries.
    cluster.map(reverse, (0..100).map(call)).for_each(drop);
    let all = || std::iter::once(std::process::id()).chain(others.iter().copied()).flat_map(family);
    let before: BTreeMap<u32, usize> = all().filter_map(|pid| Some((pid, peak(pid)?))).collect();
    for (nth, result) in cluster.map(reverse, (0..CALLS).map(call)).in_flight(in_flight).enumerate() {
        let result = result?;
        assert_eq!(result.len(), bytes);
        assert_eq!((result[0], result[bytes - 1]), (((bytes - 1) * nth) as u8, 0));
    }
    // An argument and a result of each call, twice: as a value, and as bytes on their way. What Dask and the client
    // remember of each call. And some room for the allocator.
    let bound = in_flight * (4 * bytes + 20_000) + 32 * MIB;
    println!(
        "{address}: {CALLS} calls of {bytes} bytes, {in_flight} in flight; no process may grow by more than {} MiB",
        bound / MIB
    );
    let mut over = false;
    for (&pid, &before) in &before {
        let grown = peak(pid).ok_or("a process has ended")?.saturating_sub(before);
        println!("{:>8.1} MiB {}", grown as f64 / MIB as f64, role(pid));
        over |= grown > bound;
    }
    if over { Err("memory grew beyond the bound".into()) } else { Ok(()) }
}
