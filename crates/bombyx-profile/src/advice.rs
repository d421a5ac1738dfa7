//! [`advise`]: what a colleague would say after a look at the profile, one sentence per finding, most important first.
//!
//! Each [`Rule`] looks at one thing and speaks only if it matters. The last one always has something to say. The
//! thresholds are constants with their reasons.

use crate::{Profile, Scaling, SiteProfile, Usage};
use serde::Serialize;
use std::fmt;

/// Parallelism per core above which scheduling costs do not show: the slackness that BL's T1/P + O(T∞) asks for, with
/// the factor ten that Cilkview recommends.
const SLACK: f64 = 10.0;
/// Work per run below which waking another core costs about as much as it gains.
const SHORT_RUN_NS: f64 = 50_000.0;
/// Mean strand below which forking itself shows in the work; a fork takes a few nanoseconds.
const FINE_GRAIN_NS: f64 = 100.0;
/// Share of the strands' time spent blocked that more cores would not shorten.
const MUCH_BLOCKED: f64 = 0.1;
/// Share of the processors' time that hand-overs may take.
const MUCH_HAND_OVER: f64 = 0.02;
/// Share of the processors' time without work that is worth mentioning.
const MUCH_IDLE: f64 = 0.2;
/// If parallelism is this many times burdened parallelism, steals cost too much for what they move.
const HEAVY_BURDEN: f64 = 2.0;
/// Share of the whole time outside all pools that is worth mentioning.
const MUCH_OUTSIDE: f64 = 0.2;
/// Share of the processors' active time without a CPU that is worth mentioning.
const MUCH_OFF_CPU: f64 = 0.15;
/// A place is named if its longest piece is this many times as long as the mean.
const MUCH_LONGER: f64 = 4.0;
/// Share of the span above which a single place is named.
const WORTH_NAMING: f64 = 0.1;

/// What a sentence is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// The program never forked.
    NoForks,
    /// Runs too short to be worth a second core.
    ShortRuns,
    /// Time in which the program is in no pool.
    Outside,
    /// The system, or another program, used the CPUs.
    MachineBusy,
    /// Threads waited in the kernel, and not in `blocking`.
    Waiting,
    /// One piece much longer than the others of its place.
    LongPiece,
    /// A call makes as many pieces as there are threads, so its parallelism cannot be seen.
    Unseen,
    /// Less parallelism than cores could use.
    LowParallelism,
    /// Time spent in `blocking`.
    Blocked,
    /// Strands so short that forking shows.
    FineGrain,
    /// Pieces so small that stealing them costs more than it gains.
    HeavyBurden,
    /// Time spent moving processors between carriers.
    HandOvers,
    /// Processors without work although there was parallelism.
    Idle,
    /// Nothing to complain about.
    Fine,
}

/// One sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Advice {
    /// What it is about.
    pub rule: Rule,
    /// The sentence, without a full stop.
    pub text: String,
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// What to change so that a program scales to `cores` cores, most important first. There is always at least one sentence.
///
/// ```
/// let profile = bombyx_profile::read(&include_bytes!("../corpus/sort.json")[..])?;
/// assert_eq!(
///     bombyx_profile::advise(&profile, 8)[0].to_string(),
///     "parallelism 7.6: more than 8 cores will not help; the join in src/sort.rs:41 is 71 % of the span"
/// );
/// # Ok::<(), bombyx_profile::ReadError>(())
/// ```
pub fn advise(profile: &Profile, cores: u32) -> Vec<Advice> {
    let cores = f64::from(cores.max(profile.processors).max(1));
    let look = Look { profile, cores, parallelism: Scaling::of(profile).parallelism() };
    let unseen = look.unseen();
    let long_piece = look.long_piece();
    // What another rule says better is not said again.
    let low = if unseen.is_some() || long_piece.is_some() { None } else { look.low_parallelism() };
    let rules: [(Rule, Option<String>); 14] = [
        (Rule::MachineBusy, look.machine_busy()),
        (Rule::NoForks, look.no_forks()),
        (Rule::ShortRuns, look.short_runs()),
        (Rule::Outside, look.outside()),
        (Rule::Unseen, unseen),
        (Rule::LongPiece, long_piece),
        (Rule::LowParallelism, low),
        (Rule::Blocked, look.blocked()),
        (Rule::Waiting, look.waiting()),
        (Rule::FineGrain, look.fine_grain()),
        (Rule::HeavyBurden, look.heavy_burden()),
        (Rule::HandOvers, look.hand_overs()),
        (Rule::Idle, look.idle()),
        (Rule::Fine, Some(look.fine())),
    ];
    let mut advice: Vec<Advice> =
        rules.into_iter().filter_map(|(rule, text)| Some(Advice { rule, text: text? })).collect();
    // Everything is fine only if nothing is wrong.
    if advice.len() > 1 {
        advice.pop();
    }
    advice
}

struct Look<'a> {
    profile: &'a Profile,
    cores: f64,
    parallelism: f64,
}

impl Look<'_> {
    fn no_forks(&self) -> Option<String> {
        (self.profile.forks == 0).then(|| {
            "nothing was forked, so no number of cores will help; fork where independent parts are computed".to_owned()
        })
    }

    fn short_runs(&self) -> Option<String> {
        let Profile { runs, work_ns, forks, .. } = *self.profile;
        let work = work_ns as f64 / runs.max(1) as f64;
        (forks > 0 && work < SHORT_RUN_NS).then(|| {
            format!(
                "a run has {} of work, too little to gain from a second core; enter the pool with more of it",
                time(work)
            )
        })
    }

    /// Other programs used the CPUs.
    fn machine_busy(&self) -> Option<String> {
        let share = self.off_cpu(|usage| usage.involuntary_switches >= usage.voluntary_switches)?;
        Some(format!(
            "the machine was busy with something else: for {} of the time the program's threads had no CPU; these figures are \
             not the program's own, so measure again when it is idle",
            percent(share)
        ))
    }

    fn waiting(&self) -> Option<String> {
        let share = self.off_cpu(|usage| usage.involuntary_switches < usage.voluntary_switches)?;
        Some(format!(
            "for {} of the time threads slept or waited for locks or files outside of `blocking`; other cores do not \
             shorten that, so hold locks for less, or wait in `blocking`",
            percent(share)
        ))
    }

    /// The share of the time without a CPU, if it is large and the system's counts satisfy `counts`.
    fn off_cpu(&self, counts: impl Fn(&Usage) -> bool) -> Option<f64> {
        let usage = self.profile.usage.as_ref().filter(|usage| counts(usage))?;
        // A few switches come from waking and ending. They explain nothing.
        let many = usage.voluntary_switches + usage.involuntary_switches > 10;
        self.profile.share_off_cpu().filter(|&share| many && share >= MUCH_OFF_CPU)
    }

    fn outside(&self) -> Option<String> {
        let outside = self.profile.outside_ns() as f64;
        let share = outside / (outside + self.profile.wall_ns as f64).max(1.0);
        if share < MUCH_OUTSIDE || outside < SHORT_RUN_NS {
            return None;
        }
        let longest = self.profile.gaps.first()?;
        let place = match (&longest.before, &longest.after) {
            (None, Some(after)) => format!("before {after}"),
            (Some(before), Some(after)) if before == after => format!("from one {before} to the next"),
            (Some(before), Some(after)) => format!("between {before} and {after}"),
            (Some(before), None) => format!("after {before}"),
            (None, None) => "everywhere".to_owned(),
        };
        let of_it = longest.ns as f64 / outside;
        let most = if of_it > 0.95 { String::new() } else { format!("; {} of that ", percent(of_it)) };
        let place = if most.is_empty() { format!(", {place}") } else { format!("{most}{place}") };
        Some(format!("{} of the time is serial, outside of any pool{place}", percent(share)))
    }

    /// The largest part of the span belongs to a call that makes as many pieces as there are threads.
    fn unseen(&self) -> Option<String> {
        let site =
            self.profile.sites_by_span().into_iter().next().filter(|site| site.kind == "par_bridge")?;
        let low = self.parallelism < SLACK * self.cores;
        low.then(|| {
            format!(
                "parallelism is at least {}: {} makes one piece for each thread, so how many more could work is not \
                 seen; the iterator that it takes items from, one at a time, is the limit",
                decimal(self.parallelism),
                place(site)
            )
        })
    }

    fn long_piece(&self) -> Option<String> {
        let site = self.profile.sites_by_span().into_iter().find(|site| site.longest_ns > 0)?;
        let share = self.profile.share_of_span(site.longest_ns);
        let others = site.work_ns.saturating_sub(site.longest_ns) as f64
            / site.strands.saturating_sub(1).max(1) as f64;
        let matters = self.parallelism < SLACK * self.cores && share >= 0.5;
        (matters && site.strands > 2 && site.longest_ns as f64 > MUCH_LONGER * others).then(|| {
            format!(
                "one piece of {} takes {}, {} of the span, and the others {} on average: split it, or begin with it \
                 (parallelism {})",
                place(site),
                time(site.longest_ns as f64),
                percent(share),
                time(others),
                decimal(self.parallelism)
            )
        })
    }

    fn low_parallelism(&self) -> Option<String> {
        let low = self.profile.forks > 0 && self.parallelism < self.cores.max(2.0);
        low.then(|| format!("{}{}", self.no_more_than(), self.largest_part_of_span()))
    }

    fn blocked(&self) -> Option<String> {
        let Profile { work_ns, blocked_ns, .. } = *self.profile;
        let share = blocked_ns as f64 / (work_ns as f64 + blocked_ns as f64).max(1.0);
        let most =
            self.profile.sites.iter().max_by_key(|site| site.blocked_ns).filter(|site| site.blocked_ns > 0);
        let most = most.map_or(String::new(), |site| format!(", most of it in {}", place(site)));
        (share >= MUCH_BLOCKED).then(|| {
            format!(
                "{} of the time passes in `blocking`{most}, which cores do not shorten; wait for less, or for several \
                 things at once",
                percent(share)
            )
        })
    }

    fn fine_grain(&self) -> Option<String> {
        let grain = self.profile.grain_ns();
        if self.profile.forks == 0 || grain >= FINE_GRAIN_NS {
            return None;
        }
        let busiest = self.profile.sites.iter().max_by_key(|site| site.forks)?;
        Some(format!(
            "grain {}: coarsen; stop forking in {} when a piece takes less than about a microsecond",
            time(grain),
            place(busiest)
        ))
    }

    fn heavy_burden(&self) -> Option<String> {
        let burdened = Scaling::of(self.profile).burdened_parallelism();
        let heavy = burdened * HEAVY_BURDEN < self.parallelism && burdened < SLACK * self.cores;
        (self.profile.forks > 0 && heavy).then(|| {
            format!(
                "parallelism {}, but {} with the costs of stealing ({} each): fork larger pieces",
                decimal(self.parallelism),
                decimal(burdened),
                time(self.profile.costs.steal_ns)
            )
        })
    }

    fn hand_overs(&self) -> Option<String> {
        let share = self.profile.share_of_time(|times| times.hand_over_ns)?;
        (share >= MUCH_HAND_OVER).then(|| {
            format!(
                "{} of the time goes into hand-overs ({} of them): joins wait while there is other work, so fork \
                 larger pieces or more even ones",
                percent(share),
                self.profile.hand_overs
            )
        })
    }

    fn idle(&self) -> Option<String> {
        let without = self.profile.share_of_time(|times| times.idle_ns + times.search_ns)?;
        let several =
            self.profile.processors > 1 && self.parallelism >= SLACK * f64::from(self.profile.processors);
        (several && without >= MUCH_IDLE).then(|| {
            format!(
                "processors are without work {} of the time although parallelism is {}: is the machine shared, or \
                 does the program wait outside of `blocking`?",
                percent(without),
                decimal(self.parallelism)
            )
        })
    }

    fn fine(&self) -> String {
        let good_for = (self.parallelism / SLACK).floor();
        match good_for {
            ..1.0 => format!("{}{}", self.no_more_than(), self.largest_part_of_span()),
            ..100.0 => format!(
                "parallelism {}: fine up to about {}, and more than {} will not help{}",
                decimal(self.parallelism),
                count(good_for),
                count(self.parallelism.ceil()),
                self.largest_part_of_span()
            ),
            _ => format!("parallelism {}: enough for hundreds of cores", decimal(self.parallelism)),
        }
    }

    fn no_more_than(&self) -> String {
        match self.parallelism.ceil() {
            ..2.0 => format!("parallelism {}: a second core will not help", decimal(self.parallelism)),
            most => {
                format!("parallelism {}: more than {} will not help", decimal(self.parallelism), count(most))
            }
        }
    }

    /// Names the place to work on, if there is one.
    fn largest_part_of_span(&self) -> String {
        let serial = self.profile.serial_share_of_span();
        let largest = self.profile.sites_by_span().into_iter().next();
        let share = largest.map_or(0.0, |site| self.profile.share_of_span(site.span_ns));
        match largest {
            _ if serial > share && serial >= WORTH_NAMING => {
                format!(
                    "; {} of the span is code that runs before, between or after all forks",
                    percent(serial)
                )
            }
            Some(site) if share >= WORTH_NAMING => {
                format!("; {} is {} of the span", place(site), percent(share))
            }
            _ => String::new(),
        }
    }
}

/// `the join in src/sort.rs:41`.
fn place(site: &SiteProfile) -> String {
    match site.line {
        0 => format!("the {} in {}", site.kind, site.file),
        line => format!("the {} in {}:{line}", site.kind, site.file),
    }
}

fn count(cores: f64) -> String {
    if cores == 1.0 { "1 core".to_owned() } else { format!("{cores:.0} cores") }
}

fn decimal(number: f64) -> String {
    if number < 99.95 { format!("{number:.1}") } else { format!("{number:.0}") }
}

fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if percent < 9.95 && percent.fract() >= 0.05 {
        format!("{percent:.1} %")
    } else {
        format!("{percent:.0} %")
    }
}

fn time(ns: f64) -> String {
    match ns {
        ..999.5 => format!("{ns:.0} ns"),
        ..9_995.0 => format!("{:.1} µs", ns / 1e3),
        ..999_500.0 => format!("{:.0} µs", ns / 1e3),
        _ => format!("{:.0} ms", ns / 1e6),
    }
}
