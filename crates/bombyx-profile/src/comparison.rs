//! [`Comparison`]: the same program on one processor and on several. It gives the speedup, and says which strands take
//! longer beside others than alone, and why.

use crate::{Profile, SiteProfile, Times};
use serde::Serialize;

/// Work that grows by less than this is not worth a word: two runs on one processor differ by as much.
const MUCH_GROWTH: f64 = 0.1;
/// What grows more than this shares data. Cores that only share memory would take turns at worst, but that they lose what a
/// shared cache kept for one of them. On two cores of an EPYC, streams take 2.2 to 3.2 times as long beside each other
/// (`scripts/known-answers memory`).
const WORSE_THAN_TURNS: f64 = 2.0;
/// The share of the additional work that threads waited, from which on the cause is that they wait for each other.
const MOSTLY_WAITING: f64 = 0.5;
/// What a wait takes beside the time asleep: a thread that finds a lock taken spins before it sleeps, and then it must be
/// woken.
const WAIT_NS: f64 = 15_000.0;
/// If everything else used less CPU time than this share of the time that threads waited, they waited for one another.
const MUCH_ELSEWHERE: f64 = 0.5;
/// The system counts idle time in hundredths of a second, so this much CPU time elsewhere may be an error.
const UNCERTAIN_NS: f64 = 1.5e7;

/// Two runs of one program. See the module text.
#[derive(Clone, Copy, Debug)]
pub struct Comparison<'a> {
    /// On one processor.
    pub one: &'a Profile,
    /// On several.
    pub many: &'a Profile,
}

/// Why strands take longer beside others. It is the likely cause, not a proven one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// They wait for each other in the kernel.
    Lock,
    /// They write the same cache lines, or spin on a lock.
    Sharing,
    /// They use more memory than the caches hold, and all of them want it.
    Memory,
}

/// A fork site whose strands take longer beside others than alone.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Growth<'a> {
    /// The site, with the figures of the run on several processors.
    #[serde(serialize_with = "location")]
    pub site: &'a SiteProfile,
    /// How many times as much work it has on several processors.
    pub factor: f64,
    /// The additional work.
    pub excess_ns: u64,
    /// Why.
    pub cause: Cause,
}

fn location<S: serde::Serializer>(site: &&SiteProfile, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&site.location())
}

fn is_same(one: &SiteProfile, other: &SiteProfile) -> bool {
    one.kind == other.kind && one.location() == other.location()
}

impl<'a> Comparison<'a> {
    /// Compares a profile with its companion. `None` if there is none, if neither of them is of one processor, or if the
    /// two runs did not do the same.
    pub fn of(profile: &'a Profile) -> Option<Self> {
        let companion = profile.companion.as_deref()?;
        let (one, many) = if profile.processors == 1 { (profile, companion) } else { (companion, profile) };
        let comparable = one.processors == 1
            && many.processors > 1
            && one.runs == many.runs
            && !one.interrupted
            && !many.interrupted;
        (comparable && one.work_ns > 0 && many.elapsed_ns() > 0).then_some(Self { one, many })
    }

    /// How much faster the whole program was on several processors.
    pub fn speedup(&self) -> f64 {
        self.one.elapsed_ns() as f64 / self.many.elapsed_ns().max(1) as f64
    }

    /// How many times as much work there was on several processors.
    pub fn growth(&self) -> f64 {
        self.many.work_ns as f64 / self.one.work_ns.max(1) as f64
    }

    /// How much longer strands slept or waited on several processors, as a share of the work on one.
    pub(crate) fn growth_asleep(&self) -> f64 {
        (self.many.asleep_ns() as f64 - self.one.asleep_ns() as f64) / self.one.work_ns.max(1) as f64
    }

    /// How much longer strands were awake on several processors, as a share of the work on one.
    pub(crate) fn growth_awake(&self) -> f64 {
        self.growth() - 1.0 - self.growth_asleep()
    }

    /// How many processors had a CPU at the same time.
    pub fn at_once(&self) -> u32 {
        let cpus = self.many.machine.map_or(u32::MAX, |machine| machine.cpus.max(1));
        self.many.processors.min(cpus)
    }

    /// The span without disturbances, which only make it longer: the shorter of the two.
    pub(crate) fn least_span_ns(&self) -> u64 {
        self.one.span_ns.min(self.many.span_ns)
    }

    /// The same for the longest strand of a site of the run on one processor.
    pub(crate) fn least_longest_ns(&self, site: &SiteProfile) -> u64 {
        let longest = self.many.sites.iter().find(|other| is_same(other, site)).map(|other| other.longest_ns);
        longest.map_or(site.longest_ns, |longest| longest.min(site.longest_ns))
    }

    /// The sites whose work grows much, the largest growth first.
    pub fn sites(&self) -> Vec<Growth<'a>> {
        let worth = (MUCH_GROWTH * (self.one.work_ns as f64 + self.one.blocked_ns as f64)) as u64;
        let mut grown: Vec<Growth<'a>> =
            self.many.sites.iter().filter_map(|site| self.growth_of(site)).collect();
        grown.retain(|growth| growth.excess_ns >= worth);
        grown.sort_by_key(|growth| std::cmp::Reverse(growth.excess_ns));
        grown
    }

    fn growth_of(&self, site: &'a SiteProfile) -> Option<Growth<'a>> {
        let alone = self.one.sites.iter().find(|other| is_same(other, site))?;
        // Whoever wakes a thread may keep the CPU on which that thread should go on. Then the thread waits for it, still.
        let at_once = self.at_once() == self.many.processors;
        let woken_ns =
            if at_once && site.waits > 0 && delays_itself(self.many) { site.delayed_ns } else { 0 };
        let excess_ns = (site.work_ns + woken_ns).saturating_sub(alone.work_ns);
        let factor = (site.work_ns + woken_ns) as f64 / alone.work_ns.max(1) as f64;
        Some(Growth { site, factor, excess_ns, cause: self.cause(alone, site, woken_ns) })
    }

    fn cause(&self, alone: &SiteProfile, beside: &SiteProfile, woken_ns: u64) -> Cause {
        let excess = (beside.work_ns + woken_ns).saturating_sub(alone.work_ns) as f64;
        let slept = (beside.asleep_ns + woken_ns).saturating_sub(alone.asleep_ns) as f64;
        let waits = beside.waits.saturating_sub(alone.waits) as f64;
        if slept + WAIT_NS * waits >= MOSTLY_WAITING * excess {
            return Cause::Lock;
        }
        let awake = |site: &SiteProfile| site.work_ns.saturating_sub(site.asleep_ns).max(1) as f64;
        let worse_than_turns = awake(beside) / awake(alone) > WORSE_THAN_TURNS * f64::from(self.at_once());
        if worse_than_turns || self.fits_cache() { Cause::Sharing } else { Cause::Memory }
    }

    /// Whether all of the program's memory fits the largest cache.
    fn fits_cache(&self) -> bool {
        let cache = self.one.machine.map_or(0, |machine| machine.cache_bytes);
        let memory = self.one.usage.map_or(0, |usage| usage.peak_memory_bytes);
        memory > 0 && memory < cache
    }
}

/// Whether the program's threads waited for one another's CPUs: nothing else used the CPUs that they waited for.
pub(crate) fn delays_itself(profile: &Profile) -> bool {
    let least = (MUCH_ELSEWHERE * profile.delayed_ns as f64).max(UNCERTAIN_NS);
    elsewhere_ns(profile).is_some_and(|elsewhere| elsewhere < least)
}

/// The CPU time of other processes, and of the program's other threads. `None` if the system did not say.
fn elsewhere_ns(profile: &Profile) -> Option<f64> {
    let usage = profile.usage?;
    let active = |times: &Times| times.total_ns().saturating_sub(times.idle_ns) as f64;
    let active: f64 = profile.per_processor.iter().map(active).sum();
    let other_threads = usage.cpu_ns as f64 - (active - profile.delayed_ns as f64);
    Some(usage.others_ns? as f64 + other_threads.max(0.0))
}
