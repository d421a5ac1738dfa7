//! Workloads on all contenders: results checked, inputs made once.

use super::Args;
use super::case::{Case, Sample, compete};
use crate::Result;
use crate::contender::Contender;
use bombyx_workloads::Workload;

/// Measures a workload. The first result of every contender is checked by the workload's own checker, and every
/// result must equal that of the serial elision, which comes first.
pub(super) fn measure(workload: &dyn Workload, args: &Args, contenders: &[Contender]) -> Result<Case> {
    let name = workload.name();
    let mut prepared = workload.prepare(args.size, args.grain, args.seed);
    let mut expected = None;
    let entries = compete(name, args.rounds(), contenders, |contender, warm_up| {
        let mut checksum = None;
        let sample = Sample::of(contender, || {
            let run = prepared.run(contender.runtime());
            checksum = Some(run.checksum);
            run.time.as_secs_f64()
        });
        if warm_up {
            prepared.check().map_err(|wrong| format!("{name} on {contender} is wrong: {wrong}"))?;
        }
        match *expected.get_or_insert(checksum) == checksum {
            true => Ok(sample),
            false => Err(format!("{name} on {contender} differs from the serial elision").into()),
        }
    })?;
    Ok(Case { name: name.to_owned(), about: prepared.input(), entries })
}
