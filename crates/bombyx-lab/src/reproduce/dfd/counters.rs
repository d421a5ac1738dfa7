//! Misses in the caches of this machine, if its processors count them: `perf stat` around a run of a workload. The
//! paper counted in the same way (Figure 1).

use crate::Result;
use crate::reproduce::lab::{Lab, SEED};
use std::process::{Command, Stdio};

/// Lookups in the last cache before memory, and how many of them missed.
const EVENTS: &str = "cache-references,cache-misses";

/// Misses per hundred lookups of a whole run at fine grain. `None` if `perf` is not installed or does not count these
/// events here.
pub(super) fn rate(lab: &Lab, workload: &str, scheduler: &str) -> Result<Option<f64>> {
    let (processors, seed) = (lab.processors().to_string(), SEED.to_string());
    let options = ["--grain", "fine", "--repeat", "1", "--seed", &seed, "-p", &processors, "-s", scheduler];
    let mut perf = Command::new("perf");
    perf.args(["stat", "--field-separator=;", "--event", EVENTS, "--"])
        .arg(std::env::current_exe()?)
        .args(["run", workload, "--size", &lab.size().to_string()])
        .args(options)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    let Ok(output) = perf.output() else { return Ok(None) };
    Ok(misses(&String::from_utf8_lossy(&output.stderr)))
}

/// Misses per hundred, from what `perf stat` prints: a line `count;unit;event;…` for each event.
fn misses(printed: &str) -> Option<f64> {
    let count = |event: &str| {
        let line = |line: &str| {
            let mut fields = line.split(';');
            let (count, name) = (fields.next()?, fields.nth(1)?);
            // The name may have a suffix, as in `cache-misses:u`.
            name.split(':').next().filter(|&name| name == event)?;
            count.parse::<f64>().ok()
        };
        printed.lines().find_map(line)
    };
    let (lookups, missed) = (count("cache-references")?, count("cache-misses")?);
    (lookups > 0.0).then(|| 100.0 * missed / lookups)
}

#[cfg(test)]
mod tests {
    use super::misses;

    #[test]
    fn counts_are_read() {
        let printed =
            "warmed up\n2000;;cache-references:u;81230;100.00;;\n50;;cache-misses:u;81230;100.00;;\n";
        assert_eq!(misses(printed), Some(2.5));
    }

    #[test]
    fn machines_without_counters_give_nothing() {
        let printed =
            "<not supported>;;cache-references;0;100.00;;\n<not supported>;;cache-misses;0;100.00;;\n";
        assert_eq!(misses(printed), None);
        assert_eq!(misses("0;;cache-references;1;100.00;;\n0;;cache-misses;1;100.00;;\n"), None);
        assert_eq!(misses("perf: command not found"), None);
    }
}
