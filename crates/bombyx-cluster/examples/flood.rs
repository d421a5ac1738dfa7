//! Memory under a flood of calls: 10,000 calls with large arguments and results, with a bound on what is in flight.
//! Prints how much this process grew, and fails if that is more than the bound allows.
//!
//! `cargo run --release -p bombyx-cluster --example flood -- processes:2 64`: the engine, and how many calls may be in flight.

use bombyx_cluster::{Cluster, remote, work_if_worker};

const CALLS: usize = 10_000;
const BYTES: usize = 100_000;

#[remote]
fn reverse(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.reverse();
    bytes
}

/// The most memory that this process has had, in bytes.
fn peak() -> Result<usize, Box<dyn std::error::Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).ok_or("no VmHWM")?;
    let kibibytes: usize = line.split_whitespace().nth(1).ok_or("no number")?.parse()?;
    Ok(kibibytes << 10)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    work_if_worker();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let address = arguments.first().map_or("processes:2", String::as_str);
    let in_flight: usize = arguments.get(1).map_or(Ok(64), |text| text.parse())?;
    let cluster = Cluster::builder().address(address).start()?;
    let call = |nth: usize| (0..BYTES).map(|at| (at * nth) as u8).collect::<Vec<u8>>();
    assert_eq!(cluster.call(reverse, call(3))?.len(), BYTES);
    let before = peak()?;
    for (nth, result) in cluster.map(reverse, (0..CALLS).map(call)).in_flight(in_flight).enumerate() {
        let result = result?;
        assert_eq!((result[0], result.len()), (((BYTES - 1) * nth) as u8, BYTES));
    }
    let grown = peak()?.saturating_sub(before);
    // An argument and a result of each call, twice: as a value, and as bytes on their way. Plus some room for the
    // allocator.
    let bound = 4 * in_flight * BYTES + (16 << 20);
    println!(
        "{address}: {CALLS} calls of {BYTES} bytes, {in_flight} in flight: grew by {:.1} MiB, the bound is {:.1} MiB",
        grown as f64 / (1 << 20) as f64,
        bound as f64 / (1 << 20) as f64
    );
    if grown > bound { Err("memory grew beyond the bound".into()) } else { Ok(()) }
}
