//! Workloads on all contenders: results checked, inputs made once.

use super::case::{Case, Entry, compete};
use crate::Result;
use crate::contender::Contender;
use crate::host;
use crate::sample::Sample;
use bombyx_workloads::{Grain, Runtime, Size, Workload};
use std::time::Instant;

/// What is measured of a workload.
pub struct Setup {
    pub size: Size,
    pub grain: Grain,
    pub seed: u64,
    pub rounds: usize,
    /// How many runs count living threads. If it is only one, it is left out when forks are most of the work.
    pub counts: usize,
}

/// Measures a workload. The workload's own checker checks the first result of every contender, and every result must
/// equal that of the serial elision, which comes first.
pub fn measure(workload: &dyn Workload, setup: &Setup, contenders: &[Contender]) -> Result<Case> {
    let name = workload.name();
    let mut prepared = workload.prepare(setup.size, setup.grain, setup.seed);
    let mut expected = None;
    let mut entries = compete(name, setup.rounds, contenders, |contender, warm_up| {
        prepared.reset();
        host::rouse();
        let sample = Sample::of(contender, || {
            let start = Instant::now();
            prepared.compute(contender.runtime());
            start.elapsed().as_secs_f64()
        });
        let checksum = prepared.checksum();
        if warm_up {
            prepared.check().map_err(|wrong| format!("{name} on {contender} is wrong: {wrong}"))?;
        }
        match *expected.get_or_insert(checksum) == checksum {
            true => Ok(sample),
            false => Err(format!("{name} on {contender} differs from the serial elision").into()),
        }
    })?;
    let serial = entries.iter().find(|entry| entry.runtime == "serial" && setup.counts == 1);
    let serial = serial.map_or(f64::INFINITY, Entry::median);
    for (entry, contender) in entries.iter_mut().zip(contenders).filter(|(entry, _)| entry.threads.is_none())
    {
        let run = |runtime: Runtime<'_>| prepared.run(runtime).checksum;
        entry.threads = contender.living_threads(serial, entry.median(), setup.counts, run)?;
    }
    Ok(Case { name: name.to_owned(), about: prepared.input(), entries })
}
