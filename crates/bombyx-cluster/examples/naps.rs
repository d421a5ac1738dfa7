//! Calls that sleep: a cluster of many workers on a machine with few cores. This checks the simulator, which does not
//! know that the workers on this machine share its cores.
//!
//! `BOMBYX_CLUSTER=dask-local:4 cargo run --release -p bombyx-cluster --example naps -- 200`. The argument is the
//! number of calls. If the cluster is lost, the program counts the results that have arrived before.

use bombyx_cluster::{Cluster, remote};
use std::time::{Duration, Instant};

/// Sleeps for this many milliseconds. Every tenth nap is two naps one level deeper.
#[remote]
fn nap((ms, nested): (u64, bool)) -> u64 {
    if nested {
        let halves = [(ms / 2, false), (ms - ms / 2, false)];
        return Cluster::current().map_reduce(nap, halves, 0, |a, b| a + b).expect("the cluster is there");
    }
    std::thread::sleep(Duration::from_millis(ms));
    ms
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cluster = bombyx_cluster::start()?;
    let calls: u64 = std::env::args().nth(1).map_or(Ok(200), |text| text.parse())?;
    // Warms up: the first calls find workers that have just begun.
    cluster.map_reduce(nap, (0..16).map(|_| (1, false)), 0, |a, b| a + b)?;
    let naps = (0..calls).map(|nth| (20 + nth * 37 % 120, nth % 10 == 9));
    let began = Instant::now();
    let (mut slept, mut arrived, mut failure) = (0, 0, None);
    for result in cluster.map(nap, naps) {
        match result {
            Ok(ms) => (slept, arrived) = (slept + ms, arrived + 1),
            Err(error) => _ = failure.get_or_insert(error),
        }
    }
    if let Some(error) = failure {
        return Err(format!("{arrived} of {calls} naps arrived: {error}").into());
    }
    println!("{calls} naps, {slept} ms together: {:.3} s", began.elapsed().as_secs_f64());
    Ok(())
}
