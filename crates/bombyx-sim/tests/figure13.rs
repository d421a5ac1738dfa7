//! The shape of DFD Figure 13 on 64 simulated processors: over a divide and conquer whose memory and grain shrink
//! geometrically down the tree, work stealing has high granularity and space, depth first low ones, and DFDeques
//! spans the range as K varies.

mod common;

use bombyx_sim::{Contention, Simulation};
use common::{computation, scheduler};

/// Mean scheduling granularity and peak space over some computations.
fn measure(name: &str) -> (f64, f64) {
    let (mut granularity, mut space, mut runs) = (0.0, 0.0, 0.0);
    for shape in 1..=4 {
        let c = computation(&format!("geometric:depth=13,shrink=60,seed={shape}"));
        let simulation = Simulation::new(&c, scheduler(name)).processors(64).seed(shape);
        let outcome = simulation.contention(Contention::Denied).run().unwrap();
        granularity += outcome.granularity();
        space += outcome.peak.total as f64;
        runs += 1.0;
    }
    (granularity / runs, space / runs)
}

#[test]
fn k_trades_granularity_for_space() {
    let quotas = ["100000", "40000", "20000", "10000", "4000", "1000"];
    let spectrum: Vec<(f64, f64)> = quotas.iter().map(|k| measure(&format!("dfdeques:{k}"))).collect();
    let (stealing, depth_first) = (measure("work-stealing"), measure("depth-first:300"));
    let table = format!("ws {stealing:.0?}, dfd {spectrum:.0?}, df {depth_first:.0?}");
    for pair in spectrum.windows(2) {
        assert!(pair[0].0 > pair[1].0, "granularity must fall with K: {table}");
        assert!(pair[0].1 > pair[1].1, "space must fall with K: {table}");
    }
    let (coarsest, finest) = (spectrum[0], spectrum[quotas.len() - 1]);
    assert!((0.9..1.1).contains(&(stealing.0 / coarsest.0)), "large K is work stealing: {table}");
    assert!((0.9..1.1).contains(&(stealing.1 / coarsest.1)), "large K is work stealing: {table}");
    assert!(depth_first.0 < finest.0 && depth_first.1 < finest.1, "depth first is the other end: {table}");
    assert!(stealing.0 > 10.0 * depth_first.0 && stealing.1 > 1.3 * depth_first.1, "{table}");
}
