//! A golden trace of every scheduler: a seed means the same run, event by event, on every platform.
//!
//! `BOMBYX_BLESS=1 cargo test -p bombyx-sim --test golden_traces` writes them anew.

mod common;

use bombyx_dag::Computation;
use bombyx_sim::{Simulation, Speeds, step_table};
use common::{assert_legal, computation, every_scheduler, golden};
use std::fmt::Write;

/// Figure 1 on three equal processors, and a small computation with memory on three of different speeds.
#[test]
fn every_scheduler_runs_as_ever() {
    let runs: [(&str, Computation, Speeds, bool); 2] = [
        ("Figure 1, speeds 1 1 1", computation("figure1"), "3x1".parse().unwrap(), true),
        (
            "geometric:depth=2,memory=400,grain=3, speeds 1 2 1",
            computation("geometric:depth=2,memory=400,grain=3"),
            "1,2,1".parse().unwrap(),
            false,
        ),
    ];
    for scheduler in every_scheduler() {
        let mut text = format!("{scheduler}\n");
        for (title, c, speeds, equal) in &runs {
            let simulation = Simulation::new(c, scheduler).speeds(speeds.clone()).seed(2).trace();
            let outcome = simulation.run().unwrap();
            assert_legal(c, &outcome, *equal);
            let d = outcome.dollars;
            let _ = write!(
                text,
                "\n{title}\nmakespan {}, work {} steal {} wait {} idle {}\n\
                 steals {} muggings {} migrations {} bytes {} acquisitions {}\n\
                 peak frames {} heap {} total {} threads {} deques {}\n",
                outcome.exact_time().expect("nothing is rounded in so short a run"),
                d.work,
                d.steal,
                d.wait,
                d.idle,
                outcome.steals,
                outcome.muggings,
                outcome.migrations,
                outcome.bytes,
                outcome.acquisitions,
                outcome.peak.frames,
                outcome.peak.heap,
                outcome.peak.total,
                outcome.peak.threads,
                outcome.peak.deques,
            );
            let trace = outcome.trace.as_ref().unwrap();
            let in_units = || trace.in_units(outcome.ticks_per_unit).to_string();
            text += &step_table(c, &outcome).unwrap_or_else(in_units);
        }
        golden(&scheduler.to_string().replace(':', "-"), &text);
    }
}
