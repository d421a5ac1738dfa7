//! Whether the machine had time for the program.
//!
//! Threads wait for a CPU if something else uses it. But they also wait for one another: the system likes to wake a thread on
//! the CPU of the thread that wakes it, and to start it there, while another CPU is idle. Programs with locks do that often.
//! So the machine is called busy only if something else used much CPU time, too.

use super::words::percent;
use super::{Advice, Rule};
use crate::Profile;
use crate::comparison::delays_itself;

/// Share of the strands' time without a CPU that is worth mentioning.
pub(super) const MUCH_DELAYED: f64 = 0.1;
/// Share of the CPUs' time that a hypervisor may take.
const MUCH_STOLEN: f64 = 0.05;

/// What there is to say about the machine.
pub(super) fn advice(profile: &Profile) -> Option<Advice> {
    let delayed = most(profile, delayed_by_others);
    let stolen = most(profile, |profile| stolen(profile).unwrap_or(0.0));
    if delayed >= MUCH_DELAYED || stolen >= MUCH_STOLEN {
        let (who, share) = if delayed >= stolen {
            ("the machine was busy with something else: the program's threads waited for a CPU", delayed)
        } else {
            ("the machine is a virtual one, and its CPUs were taken away", stolen)
        };
        let text = format!(
            "{who} {} of the time; work and span are without that time, but measure speedups again when it is idle",
            percent(share)
        );
        return Some(Advice { rule: Rule::MachineBusy, text, share: Some(share), gain: None });
    }
    let crowd =
        runs(profile).find(|profile| is_crowded(profile) && delayed_share(profile) >= MUCH_DELAYED)?;
    let (cpus, share) = (crowd.machine?.cpus, delayed_share(crowd));
    let text = format!(
        "{} processors share {}: threads waited for a CPU {} of the time; work and span are without that time",
        crowd.processors,
        if cpus == 1 { "one CPU".to_owned() } else { format!("{cpus} CPUs") },
        percent(share)
    );
    Some(Advice { rule: Rule::Oversubscribed, text, share: Some(share), gain: None })
}

/// Whether something else used much CPU time that the program's threads waited for.
pub(super) fn is_busy(profile: &Profile) -> bool {
    most(profile, delayed_by_others) >= MUCH_DELAYED
}

/// Alone and in company.
fn runs(profile: &Profile) -> impl Iterator<Item = &Profile> {
    [Some(profile), profile.companion.as_deref()].into_iter().flatten()
}

/// The share of whichever run was disturbed more, and not by itself.
fn most(profile: &Profile, share: impl Fn(&Profile) -> f64) -> f64 {
    runs(profile).filter(|profile| !is_crowded(profile)).map(share).fold(0.0, f64::max)
}

fn is_crowded(profile: &Profile) -> bool {
    profile.machine.is_some_and(|machine| profile.processors > machine.cpus)
}

/// The share of the strands' time in which they had no CPU.
fn delayed_share(profile: &Profile) -> f64 {
    // The work is without the profiler's own time, which is delayed like the rest.
    let busy: f64 = profile.per_processor.iter().map(|times| times.busy_ns as f64).sum();
    let delayed = profile.delayed_ns as f64;
    delayed / busy.max(profile.work_ns as f64 + delayed).max(1.0)
}

/// The same, or 0 if nothing else used the CPUs meanwhile.
fn delayed_by_others(profile: &Profile) -> f64 {
    if delays_itself(profile) { 0.0 } else { delayed_share(profile) }
}

/// The share of the CPUs' time that a hypervisor took while the program ran.
fn stolen(profile: &Profile) -> Option<f64> {
    let all = profile.elapsed_ns() as f64 * f64::from(profile.machine?.cpus);
    // The system counts in hundredths of a second.
    let stolen = profile.usage?.stolen_ns as f64;
    (stolen >= 5e7 && all > 0.0).then(|| stolen / all)
}
