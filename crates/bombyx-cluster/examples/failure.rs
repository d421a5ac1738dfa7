//! What a failure costs: the same calls without a failure, with a worker that is killed in the middle, and with a worker
//! that stands still from the middle on. Prints a table.
//!
//! `cargo run --release -p bombyx-cluster --example failure -- processes:2 40 5`: engines with commas between them, the
//! number of calls of 100 ms each, and the patience in seconds. The calls sleep, so the cores of this machine do not
//! matter. A signal goes to the child of a Dask worker or to the Python worker itself: two rows.

use bombyx_cluster::{Cluster, remote, work_if_worker};
use std::time::{Duration, Instant};

const GRAIN: Duration = Duration::from_millis(100);

#[remote]
fn nap(n: u64) -> u64 {
    std::thread::sleep(GRAIN);
    n
}

/// Which process gets the signal.
#[derive(Clone, Copy, PartialEq)]
enum Target {
    Rust,
    Python,
}

fn is_python(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.contains("multiprocessing"))
}

/// How long the calls take on a new cluster, with this signal in the middle.
fn time(
    address: &str,
    calls: u64,
    patience: u64,
    failure: Option<(i32, Target)>,
) -> Result<Duration, Box<dyn std::error::Error>> {
    let cluster = Cluster::builder().address(address).patience(Duration::from_secs(patience)).start()?;
    cluster.map(nap, 0..4).for_each(drop);
    let victim = |target: Target| {
        // The shim reports its processes twice a second.
        let end = Instant::now() + Duration::from_secs(10);
        loop {
            let pids = cluster.processes();
            let found = pids.into_iter().find(|&pid| is_python(pid) == (target == Target::Python));
            if found.is_some() || Instant::now() > end {
                return found.ok_or("there is no such process");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    let victim = failure.map(|(signal, target)| Ok::<_, &str>((signal, victim(target)?))).transpose()?;
    let began = Instant::now();
    for (nth, result) in (0..).zip(cluster.map(nap, 0..calls)) {
        assert_eq!(result?, nth);
        if let Some((signal, pid)) = victim.filter(|_| nth == calls / 2) {
            // SAFETY: this only sends a signal. The process is a worker of this cluster.
            unsafe { libc::kill(pid as libc::pid_t, signal) };
        }
    }
    Ok(began.elapsed())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    work_if_worker();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let addresses = arguments.first().map_or("processes:2", String::as_str);
    let calls: u64 = arguments.get(1).map_or(Ok(40), |text| text.parse())?;
    let patience: u64 = arguments.get(2).map_or(Ok(5), |text| text.parse())?;
    println!("{calls} calls of {GRAIN:?}, patience {patience} s");
    println!("{:<14} {:<26} {:>9} {:>9}", "engine", "failure", "time", "cost");
    for address in addresses.split(',') {
        let plain = time(address, calls, patience, None)?;
        println!("{address:<14} {:<26} {:>7.2} s", "none", plain.as_secs_f64());
        for (signal, name) in [(libc::SIGKILL, "SIGKILL"), (libc::SIGSTOP, "SIGSTOP")] {
            for (target, whom) in [(Target::Rust, "the Rust process"), (Target::Python, "the Python worker")]
            {
                if target == Target::Python && !address.starts_with("dask") {
                    continue;
                }
                let took = time(address, calls, patience, Some((signal, target)))?;
                println!(
                    "{address:<14} {:<26} {:>7.2} s {:>7.2} s",
                    format!("{name}, {whom}"),
                    took.as_secs_f64(),
                    took.as_secs_f64() - plain.as_secs_f64()
                );
            }
        }
    }
    Ok(())
}
