//! What a profiler adds up: runs, sites, processors.

use super::account::{self, Spent};
use super::algebra::{Burden, Length, Path};
use super::chain::{Report, Tally};
use super::costs::{Costs, Measure};
use super::gaps::Gaps;
use super::record::{Log, Recorder};
use super::sites::{self, Kind, SiteId};
use super::usage::{self, Census};
use crate::machine::observer::State;
use crate::machine::pool::PoolCore;
use crate::machine::stats::Stats;
use crate::protocol::job::Job;
use crate::system::clock::{Clock, Scale};
use crate::system::output;
use crate::system::primitive::lock;
use bombyx_base::profile::{self, Profile};
use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

/// Pieces of loops that take less than this are not split further. Some fifty times what a profiled fork costs.
const SHORT: Duration = Duration::from_micros(4);
/// The same if each piece makes a value that owns something, such as a map. Making and combining many of them would take
/// longer than the loop.
const SHORT_CARRYING: Duration = Duration::from_micros(100);
/// How often a carrier asks the system whether it had a CPU. The answer takes some two microseconds.
const LOOK_EVERY: Duration = Duration::from_micros(500);
/// From this length on, a strand that is much longer than all before it is a reason to ask as well.
const SUSPICIOUS: Duration = Duration::from_micros(50);

/// The profiler of one pool, or of all pools of a process.
pub(crate) struct Profiler {
    pub(crate) clock: Clock,
    pub(crate) costs: Costs,
    /// How many ticks a piece of a loop must be expected to take before it is split further.
    pub(crate) short: i64,
    /// The same if each piece makes a value that owns something.
    pub(crate) short_carrying: i64,
    /// Strands that take at least so many ticks are told to the tracer, if there is one.
    pub(super) long: i64,
    /// How many ticks pass before a carrier asks again whether it had a CPU. `None` in virtual time.
    pub(crate) look_every: Option<u64>,
    /// From which length on a strand is a reason to ask as well, until a longer one is found to have had a CPU.
    pub(crate) suspicious: i64,
    /// As known when the profiler began.
    pub(crate) ns_per_tick_then: f64,
    scale: Scale,
    ledger: Mutex<Ledger>,
    /// Reports of stolen halves that have ended, by the addresses of their jobs, until their joins ask.
    reports: Mutex<HashMap<usize, Box<Report>>>,
    /// When the time with a run last began, and when it ended, or `u64::MAX` if it has not.
    began: AtomicU64,
    ended: AtomicU64,
    /// How old the process was when the profiler began, without what the profiler took to begin.
    age_ns: u64,
    /// What the CPUs had done when the profiler began. `None` if nobody will ask, or the system does not say.
    census_then: Option<Census>,
    recorder: Option<Arc<Recorder>>,
}

#[derive(Default)]
struct Ledger {
    runs: u64,
    /// Runs that have not ended.
    active: usize,
    wall: u64,
    gaps: Gaps,
    /// The process's time on CPUs during runs, and its reading when the time with a run began.
    used_ns: Option<u64>,
    used_before_ns: Option<u64>,
    work: i64,
    blocked: i64,
    peak_frames: usize,
    /// The longest chain of runs that have ended.
    longest: Path,
    /// How long the chain of a run that has not ended is known to be.
    so_far: i64,
    tallies: Vec<Tally>,
    pools: Vec<Weak<PoolCore>>,
    /// What is known of pools that are gone.
    gone: Pools,
}

impl Ledger {
    /// The process's time on CPUs during runs, if one is under way. `None` if the system does not say.
    fn used_until_now(&self) -> Option<u64> {
        let now = usage::cpu_ns()?.saturating_sub(self.used_before_ns?);
        Some(self.used_ns.unwrap_or(0) + now)
    }
}

/// Sums, in ticks.
pub(crate) struct Totals {
    pub(crate) work: i64,
    /// The burdened span.
    pub(crate) burdened: i64,
    /// The work of the strands at the foot of runs.
    pub(crate) roots: i64,
}

/// What is known of some pools.
#[derive(Default)]
pub(crate) struct Pools {
    pub(crate) stats: Stats,
    pub(crate) processors: Vec<Spent>,
    /// The name of the largest pool's scheduler.
    pub(crate) scheduler: String,
    largest: usize,
}

impl Pools {
    fn add(&mut self, pool: &PoolCore, profiler: &Profiler) {
        self.stats = self.stats.plus(pool.stats());
        let processors = pool.processors();
        if processors.len() > self.largest {
            self.largest = processors.len();
            self.scheduler = pool.config.scheduler.clone();
        }
        self.add_spent(processors.iter().map(|processor| account::spent(&processor.account, profiler)));
    }

    fn add_all(&mut self, other: &Pools) {
        self.stats = self.stats.plus(other.stats);
        if other.largest > self.largest {
            self.largest = other.largest;
            self.scheduler.clone_from(&other.scheduler);
        }
        self.add_spent(other.processors.iter().copied());
    }

    fn add_spent(&mut self, processors: impl ExactSizeIterator<Item = Spent>) {
        self.processors.resize(self.processors.len().max(processors.len()), Spent::default());
        for (sum, spent) in self.processors.iter_mut().zip(processors) {
            for (sum, ticks) in sum.iter_mut().zip(spent) {
                *sum += ticks;
            }
        }
    }
}

impl Profiler {
    fn new(clock: Clock, costs: Costs, recorder: Option<Recorder>) -> Profiler {
        let ns_per_tick = clock.ns_per_tick();
        let ticks = |time: Duration| time.as_nanos() as f64 / ns_per_tick;
        Profiler {
            clock,
            costs,
            short: ticks(SHORT) as i64,
            short_carrying: ticks(SHORT_CARRYING) as i64,
            long: long_strand().map_or(i64::MAX, |long| ticks(long) as i64),
            look_every: clock.is_real().then(|| ticks(LOOK_EVERY) as u64),
            suspicious: if clock.is_real() { ticks(SUSPICIOUS) as i64 } else { i64::MAX },
            ns_per_tick_then: ns_per_tick,
            scale: Scale::new(clock),
            ledger: Mutex::default(),
            reports: Mutex::default(),
            began: AtomicU64::new(0),
            ended: AtomicU64::new(clock.now()),
            age_ns: 0,
            census_then: None,
            recorder: recorder.map(Arc::new),
        }
    }

    /// A profiler of some pools, which subtracts its own costs.
    pub(crate) fn measured(measure: Measure) -> Profiler {
        let clock = Clock::best();
        let costs = Costs::measured(clock, false, measure);
        Profiler { census_then: Census::now(), ..Profiler::new(clock, costs, None) }
    }

    /// A profiler of the whole process. If it may use `limit` bytes for that, it also records.
    pub(crate) fn of_process(limit: Option<usize>, measure: Measure) -> Profiler {
        let (clock, age_ns) = (Clock::best(), usage::age_ns());
        let costs = Costs::measured(clock, limit.is_some(), measure);
        let recorder = limit.map(|limit| Recorder::new(limit, record_grain(clock)));
        Profiler { age_ns, census_then: Census::now(), ..Profiler::new(clock, costs, recorder) }
    }

    /// A profiler that subtracts nothing, and may record.
    pub(crate) fn bare(clock: Clock, burden: Burden, recorder: Option<Recorder>) -> Profiler {
        Profiler::new(clock, Costs { burden, ..Costs::NONE }, recorder)
    }

    /// A profiler that subtracts these costs.
    #[cfg(test)]
    pub(crate) fn subtracting(clock: Clock, costs: Costs) -> Profiler {
        Profiler::new(clock, costs, None)
    }

    pub(crate) fn recorder(&self) -> Option<&Recorder> {
        self.recorder.as_deref()
    }

    /// A log for a chain.
    pub(crate) fn new_log(&self) -> Log {
        self.recorder.as_ref().map_or(Log::OFF, Log::new)
    }

    pub(crate) fn ns_per_tick(&self) -> f64 {
        self.scale.ns_per_tick()
    }

    // ---- Stolen halves --------------------------------------------------------------------------------

    /// The taker of `job` leaves a report for its join. Called before the job's latch is set.
    pub(crate) fn deposit(&self, job: *const Job, report: Report) {
        lock(&self.reports).insert(job as usize, Box::new(report));
    }

    /// What the taker of `job` has left. The job's latch is set.
    pub(crate) fn report_of(&self, job: *const Job) -> Option<Box<Report>> {
        lock(&self.reports).remove(&(job as usize))
    }

    // ---- Runs -----------------------------------------------------------------------------------------

    /// A run begins at this site. Returns the longest chain of runs before it.
    pub(crate) fn begin_run(&self, site: SiteId) -> Path {
        let mut ledger = lock(&self.ledger);
        ledger.active += 1;
        if ledger.active == 1 {
            ledger.used_before_ns = usage::cpu_ns();
            let now = self.clock.now();
            ledger.gaps.begin(site, now.saturating_sub(self.ended.load(Relaxed)));
            self.began.store(now, Relaxed);
            self.ended.store(u64::MAX, Relaxed);
        }
        ledger.longest.clone()
    }

    /// The run that began last was called from this site.
    pub(crate) fn called_from(&self, caller: SiteId) {
        lock(&self.ledger).gaps.rename(caller);
    }

    /// The run that began after `before` has ended.
    pub(crate) fn end_run(&self, before: Path, report: Report) {
        let mut ledger = lock(&self.ledger);
        ledger.active -= 1;
        if ledger.active == 0 {
            let now = self.clock.now();
            ledger.wall += now.saturating_sub(self.began.load(Relaxed));
            self.ended.store(now, Relaxed);
            ledger.used_ns = ledger.used_until_now();
        }
        ledger.runs += 1;
        ledger.so_far = 0;
        ledger.work += report.work;
        ledger.blocked += report.blocked;
        ledger.peak_frames = ledger.peak_frames.max(report.peak);
        let mut path = before;
        path.extend(&report.path);
        ledger.longest.beside(path);
        drop(ledger);
        if let Some(recorder) = &self.recorder {
            recorder.run_ended(report.log);
        }
    }

    /// The chain of a run that has not ended has this length, at least.
    pub(crate) fn so_far(&self, ticks: i64) {
        let mut ledger = lock(&self.ledger);
        ledger.so_far = ledger.so_far.max(ticks);
    }

    /// How much of the time between two readings falls into the time of the last runs.
    pub(crate) fn in_run(&self, since: u64, until: u64) -> u64 {
        let begin = since.max(self.began.load(Relaxed));
        until.min(self.ended.load(Relaxed)).saturating_sub(begin)
    }

    /// Adds what a carrier has counted, by the numbers of the sites.
    pub(crate) fn add_tallies(&self, counted: impl Iterator<Item = (usize, Tally)>) {
        let mut ledger = lock(&self.ledger);
        for (site, tally) in counted.filter(|(_, tally)| *tally != Tally::default()) {
            if site >= ledger.tallies.len() {
                ledger.tallies.resize(site + 1, Tally::default());
            }
            ledger.tallies[site].add(tally);
        }
    }

    // ---- Pools ----------------------------------------------------------------------------------------

    /// A pool with this profiler is built.
    pub(crate) fn add_pool(&self, pool: &Arc<PoolCore>) {
        let mut ledger = lock(&self.ledger);
        ledger.pools.retain(|pool| pool.strong_count() > 0);
        ledger.pools.push(Arc::downgrade(pool));
    }

    /// The pool ends.
    pub(crate) fn remove_pool(&self, pool: &PoolCore) {
        lock(&self.ledger).gone.add(pool, self);
    }

    // ---- The end --------------------------------------------------------------------------------------

    /// What has been measured so far.
    pub(crate) fn totals(&self) -> Totals {
        let ledger = lock(&self.ledger);
        let kinds = sites::kinds();
        let runs = kinds.iter().zip(ledger.tallies.iter().skip(1)).filter(|(kind, _)| **kind == Kind::Run);
        Totals {
            work: ledger.work,
            burdened: ledger.longest.length.burdened(),
            roots: runs.map(|(_, tally)| tally.work).sum(),
        }
    }

    /// Whether anything is known of a run.
    pub(crate) fn knows_runs(&self) -> bool {
        let ledger = lock(&self.ledger);
        ledger.runs > 0 || ledger.so_far > 0
    }

    /// The longest gaps between runs, up to the time `now`.
    fn gaps(&self, ledger: &mut Ledger, names: &[sites::Named], now: u64) -> Vec<profile::Gap> {
        const KEPT: usize = 16;
        let ns_per_tick = self.ns_per_tick();
        let place =
            |site: SiteId| site.index().checked_sub(1).and_then(|at| names.get(at)).map(ToString::to_string);
        let since_last = match ledger.active {
            0 => now.saturating_sub(self.ended.load(Relaxed)),
            _ => 0,
        };
        let gaps = ledger.gaps.all(since_last).into_iter().map(|(before, after, ticks)| {
            let before = place(before);
            // What the process did before there was a profiler is part of the first gap.
            let age_ns = if before.is_none() { self.age_ns } else { 0 };
            profile::Gap {
                ns: (ticks as f64 * ns_per_tick) as u64 + age_ns,
                before,
                after: after.and_then(place),
            }
        });
        let mut gaps: Vec<_> = gaps.filter(|gap| gap.ns > 0).collect();
        gaps.sort_by_key(|gap| std::cmp::Reverse(gap.ns));
        let others: u64 = gaps.iter().skip(KEPT).map(|gap| gap.ns).sum();
        if others > 0 {
            gaps.truncate(KEPT);
            gaps.push(profile::Gap { ns: others, before: None, after: None });
        }
        gaps
    }

    /// What is known of the runs that have ended.
    pub(crate) fn profile(&self) -> Profile {
        self.profile_at(false)
    }

    /// What is known now. If the program is interrupted, that includes what carriers have told of runs that have not
    /// ended: their work, and at least how long their chains are.
    pub(crate) fn profile_at(&self, interrupted: bool) -> Profile {
        // What follows is no part of the program. Reading its line tables can take longer than the program did.
        let now = self.clock.now();
        let ns_per_tick = self.ns_per_tick();
        let ns = |ticks: i64| (ticks.max(0) as f64 * ns_per_tick).round() as u64;
        let mut ledger = lock(&self.ledger);
        let mut pools = Pools::default();
        pools.add_all(&ledger.gone);
        // The last reference to a pool must not be dropped under the lock.
        let alive: Vec<_> = ledger.pools.iter().filter_map(Weak::upgrade).collect();
        for pool in &alive {
            pools.add(pool, self);
        }
        let mut used_ns = ledger.used_ns;
        if interrupted && ledger.active > 0 {
            let counted = ledger.tallies.iter().fold(Tally::NONE, |mut sum, tally| {
                sum.add(*tally);
                sum
            });
            ledger.wall += now.saturating_sub(self.began.load(Relaxed));
            ledger.work = ledger.work.max(counted.work);
            ledger.blocked = ledger.blocked.max(counted.blocked);
            let room = ledger.work + ledger.blocked - ledger.longest.length.span;
            let so_far = ledger.so_far.min(room).max(0);
            ledger.longest.length = ledger.longest.length.then(Length::strand(so_far));
            // Nobody asks a second time.
            ledger.so_far = 0;
            used_ns = ledger.used_until_now();
        }
        let wall = ns(ledger.wall as i64);
        let blocked_ns = ns(ledger.blocked);
        // The mean cost of the hooks is subtracted from every strand, which is too much when they happen to cost less.
        // The work has more strands than the span, so it loses more. But no chain is longer than all strands and waits
        // together.
        let span_ns = ns(ledger.longest.length.span).max(u64::from(ledger.work > 0));
        let work_ns = ns(ledger.work).max(span_ns.saturating_sub(blocked_ns));
        let times = pools.processors.iter().map(|spent| {
            let of = |state: State| ns(spent[state as usize] as i64);
            let [busy, search, help, hand_over] =
                [State::Busy, State::Search, State::Help, State::HandOver].map(of);
            profile::Times {
                busy_ns: busy,
                search_ns: search,
                help_ns: help,
                hand_over_ns: hand_over,
                idle_ns: wall.saturating_sub(busy + search + help + hand_over),
            }
        });
        let split: HashMap<usize, i64> =
            ledger.longest.split.iter().map(|&(site, ticks)| (site.index(), ticks)).collect();
        let names = sites::all();
        let gaps = self.gaps(&mut ledger, &names, now);
        let tallies = names.into_iter().zip(ledger.tallies.iter().skip(1)).enumerate();
        let mut sites: Vec<profile::SiteProfile> = Vec::new();
        let mut forks = 0;
        let mut known: HashMap<sites::Named, usize> = HashMap::new();
        for (index, (site, tally)) in tallies.filter(|(_, (_, tally))| **tally != Tally::default()) {
            // A library call can have several forks inside, all with the name of the call.
            forks += if site.kind.is_fork() { tally.forks } else { 0 };
            let at = *known.entry(site.clone()).or_insert_with(|| {
                sites.push(site.profile());
                sites.len() - 1
            });
            let profile = &mut sites[at];
            profile.forks += tally.forks;
            profile.work_ns += ns(tally.work);
            profile.span_ns += ns(split.get(&(index + 1)).copied().unwrap_or(0));
            profile.strands += tally.strands;
            profile.longest_ns = profile.longest_ns.max(ns(tally.longest));
            profile.blocked_ns += ns(tally.blocked);
            profile.asleep_ns += ns(tally.asleep.min(tally.work));
            profile.waits += tally.waits;
            profile.delayed_ns += ns(tally.delayed);
        }
        let elsewhere = self.census_then.and_then(|then| Some(Census::now()?.since(&then)));
        // Tenths of a nanosecond.
        let cost = |ticks: f64| (ticks * ns_per_tick * 10.0).round() / 10.0;
        let (program, arguments) = command();
        let profile = Profile {
            program,
            arguments,
            interrupted,
            scheduler: pools.scheduler,
            processors: pools.processors.len() as u32,
            clock: self.clock.named(),
            costs: profile::Costs {
                fork_hook_ns: cost(self.costs.hook),
                fork_ns: cost(self.costs.plain),
                steal_ns: cost(self.costs.burden.steal as f64),
                hand_over_ns: cost(self.costs.burden.hand_over as f64),
            },
            runs: ledger.runs,
            wall_ns: wall,
            work_ns,
            span_ns,
            burdened_span_ns: ns(ledger.longest.length.burdened()).max(span_ns),
            blocked_ns,
            delayed_ns: sites.iter().map(|site| site.delayed_ns).sum(),
            forks,
            strands: sites.iter().map(|site| site.strands).sum(),
            steals: pools.stats.steals,
            helps: pools.stats.helps,
            hand_overs: pools.stats.hand_overs,
            peak_frames: ledger.peak_frames as u64,
            peak_carriers: pools.stats.peak_carriers,
            peak_heap_bytes: Some(pools.stats.peak_heap).filter(|&bytes| bytes > 0),
            machine: usage::machine(),
            usage: used_ns.map(|cpu_ns| profile::Usage {
                cpu_ns,
                peak_memory_bytes: usage::peak_memory(),
                stolen_ns: elsewhere.map_or(0, |elsewhere| elsewhere.stolen_ns),
                others_ns: elsewhere.map(|elsewhere| elsewhere.others_ns),
            }),
            gaps,
            per_processor: times.collect(),
            sites,
            companion: None,
        };
        drop(ledger);
        drop(alive);
        profile
    }
}

/// The name of the running program, and its arguments.
fn command() -> (String, Vec<String>) {
    let mut arguments = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned());
    let program = arguments.next().unwrap_or_default();
    let name = std::path::Path::new(&program).file_name().map(|name| name.to_string_lossy().into());
    (name.unwrap_or(program), arguments.collect())
}

/// How long a strand must be to be told in a trace, if the environment asks for one: `BOMBYX_TRACE_STRANDS` microseconds.
fn long_strand() -> Option<Duration> {
    const VARIABLE: &str = "BOMBYX_TRACE_STRANDS";
    const DEFAULT: f64 = 10.0;
    output::asked("BOMBYX_TRACE")?;
    let given = std::env::var(VARIABLE).ok();
    let asked = given.as_deref().map_or(Some(DEFAULT), |given| given.trim().parse().ok());
    let micros = asked.filter(|micros| (0.0..=1e9).contains(micros)).unwrap_or_else(|| {
        let given = given.as_deref().unwrap_or_default();
        output::say(format_args!(
            "{VARIABLE} is `{given}`, but must be a number of microseconds; using {DEFAULT}"
        ));
        DEFAULT
    });
    Some(Duration::from_secs_f64(micros * 1e-6))
}

/// The shortest forks that a recorder drops when memory gets short: about a microsecond, whatever a tick is.
fn record_grain(clock: Clock) -> i64 {
    match clock {
        Clock::Monotonic => 1000,
        #[cfg(any(target_arch = "x86_64", test))]
        _ => 3000,
    }
}
