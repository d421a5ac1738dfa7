//! The rules of [`super::advise`]. The thresholds are constants with their reasons.

use super::machine::{self, MUCH_DELAYED};
use super::words::{count, decimal, percent, place, range, time};
use super::{Advice, Gain, LITTLE, Rule};
use crate::comparison::{Cause, Comparison};
use crate::{Beside, Profile, Scaling, SiteProfile, Times};

/// Parallelism per core above which scheduling costs do not show: the slackness that BL's T1/P + O(T∞) asks for, with
/// the factor ten that Cilkview recommends.
const SLACK: f64 = 10.0;
/// Gains are told for this many cores, if the machine has fewer: most programs will meet a larger machine.
const CORES: u32 = 8;
/// Work per run below which waking another core costs about as much as it gains.
const SHORT_RUN_NS: f64 = 50_000.0;
/// Mean strand below which forking itself shows in the work; a fork takes a few nanoseconds.
const FINE_GRAIN_NS: f64 = 100.0;
/// Share of the strands' time, blocked or asleep, that is worth a word.
const MUCH_WAITING: f64 = 0.1;
/// Share of the processors' time that hand-overs may take.
const MUCH_HAND_OVER: f64 = 0.02;
/// Share of the processors' time without work that is worth mentioning.
const MUCH_IDLE: f64 = 0.2;
/// If parallelism is this many times burdened parallelism, steals cost too much for what they move.
const HEAVY_BURDEN: f64 = 2.0;
/// Share of the whole time outside all pools that is worth mentioning, and the least time: a process needs some to begin.
const MUCH_OUTSIDE: f64 = 0.1;
const LEAST_OUTSIDE_NS: f64 = 2_000_000.0;
/// A place is named if its longest piece is this many times as long as the mean.
const MUCH_LONGER: f64 = 4.0;
/// Share of the span above which a single place is named.
const WORTH_NAMING: f64 = 0.1;

pub(super) struct Look<'a> {
    profile: &'a Profile,
    /// The profile on one processor, if there is one.
    alone: &'a Profile,
    comparison: Option<Comparison<'a>>,
    scaling: Scaling,
    parallelism: f64,
    /// The cores that the program should use, and those that gains are told for.
    cores: f64,
    goal: u32,
}

impl<'a> Look<'a> {
    pub(super) fn new(profile: &'a Profile, cores: u32) -> Self {
        let comparison = Comparison::of(profile);
        let alone = comparison.map_or(profile, |comparison| comparison.one);
        let cpus = profile.machine.map_or(profile.processors, |machine| profile.processors.min(machine.cpus));
        let cores = cores.max(cpus).max(1);
        let scaling = Scaling::of(profile);
        let parallelism = scaling.parallelism();
        let (goal, cores) = (cores.max(CORES), f64::from(cores));
        Self { profile, alone, comparison, scaling, parallelism, cores, goal }
    }

    /// What there is to say about the machine.
    pub(super) fn machine(&self) -> Vec<Advice> {
        machine::advice(self.profile).into_iter().collect()
    }

    /// What all rules say.
    pub(super) fn all(&self) -> Vec<Advice> {
        let long_piece = self.long_piece();
        let unseen = self.unseen();
        let few = if long_piece.is_some() { None } else { self.few_pieces() };
        let said = [&unseen, &long_piece, &few].iter().any(|rule| rule.is_some());
        let grown = self.grown();
        let blocked = self.blocked();
        let waiting =
            if grown.iter().any(|advice| advice.rule == Rule::Lock) { None } else { self.waiting() };
        // What another rule says better is not said again. Processors are idle if what they would run blocks.
        let idle = if blocked.is_some() || waiting.is_some() { None } else { self.idle() };
        let said = said || blocked.is_some() || waiting.is_some() || self.profile.forks == 0;
        let low = if said { None } else { self.low_parallelism() };
        let one_each = [
            machine::advice(self.profile),
            self.no_forks(),
            self.short_runs(),
            self.outside(),
            unseen,
            long_piece,
            few,
            blocked,
            waiting,
            low,
            self.fine_grain(),
            self.heavy_burden(),
            self.hand_overs(),
            idle,
        ];
        grown.into_iter().chain(one_each.into_iter().flatten()).collect()
    }

    /// The gain if the program took this long on each number of cores. It would use the number that is best for it, as it
    /// can now.
    fn gain_of(&self, condition: &'static str, mended: impl Fn(u32) -> f64) -> Option<Gain> {
        let least = |time: &dyn Fn(u32) -> f64| (1..=self.goal).map(time).fold(f64::INFINITY, f64::min);
        let now = unmeasured(self.scaling);
        let factor = least(&|cores| now.time(cores)) / least(&mended);
        factor.is_finite().then_some(Gain { condition, factor, cores: self.goal })
    }

    /// The gain if the program had this scaling.
    fn gain(&self, condition: &'static str, mended: Scaling) -> Option<Gain> {
        let mended = unmeasured(mended);
        self.gain_of(condition, |cores| mended.time(cores))
    }

    /// The gain if this much of the span, and of the work, were gone.
    fn without(&self, condition: &'static str, work_ns: f64, span_ns: f64) -> Option<Gain> {
        let less = |time: f64, ns: f64| (time - ns / 1e9).max(0.0);
        let Scaling { work, span, burdened_span, .. } = self.scaling;
        let mended = Scaling {
            work: less(work, work_ns),
            span: less(span, span_ns),
            burdened_span: less(burdened_span, span_ns),
            ..self.scaling
        };
        self.gain(condition, mended)
    }

    /// The gain if the processors had not spent this part of their time. Known only if the run beside others is this one:
    /// there, such time is part of what made the program slower than its work and span.
    fn without_time(&self, condition: &'static str, of: impl Fn(&Times) -> u64) -> Option<Gain> {
        let many = self.comparison.map(|comparison| comparison.many);
        let growth =
            self.scaling.growth.filter(|_| many.is_some_and(|many| std::ptr::eq(many, self.profile)))?;
        let spent = self.profile.per_processor.iter().map(|times| of(times) as f64 / 1e9).sum::<f64>();
        let factor = (growth.factor - spent / self.scaling.work).max(growth.factor.min(1.0));
        self.gain(condition, Scaling { growth: Some(Beside { factor, ..growth }), ..self.scaling })
    }

    // ---- The machine ----------------------------------------------------------------------------------

    /// Whether the program's threads often had no CPU. Then it is not the program's fault that processors wait for work or
    /// for one another, and what a steal costs cannot be measured.
    fn is_disturbed(&self) -> bool {
        self.scaling.disturbed >= MUCH_DELAYED
    }

    // ---- Outside of pools -----------------------------------------------------------------------------

    fn no_forks(&self) -> Option<Advice> {
        let text =
            "nothing was forked, so no number of cores will help; fork where independent parts are computed";
        (self.profile.forks == 0).then(|| Advice {
            rule: Rule::NoForks,
            text: text.to_owned(),
            share: None,
            gain: None,
        })
    }

    fn short_runs(&self) -> Option<Advice> {
        let Profile { runs, work_ns, blocked_ns, forks, .. } = *self.alone;
        let work = (work_ns as f64 + blocked_ns as f64) / runs.max(1) as f64;
        (forks > 0 && work < SHORT_RUN_NS).then(|| Advice {
            rule: Rule::ShortRuns,
            text: format!(
                "a run has {} of work, too little to gain from a second core; enter the pool with more of it",
                time(work)
            ),
            share: None,
            gain: None,
        })
    }

    fn outside(&self) -> Option<Advice> {
        let outside = self.profile.outside_ns() as f64;
        let share = outside / (self.profile.elapsed_ns() as f64).max(1.0);
        if share < MUCH_OUTSIDE || outside < LEAST_OUTSIDE_NS {
            return None;
        }
        let longest = self.profile.gaps.first()?;
        let place = match (&longest.before, &longest.after) {
            (None, Some(after)) => format!("from the start of the program to {after}"),
            (Some(before), Some(after)) if before == after => format!("from one {before} to the next"),
            (Some(before), Some(after)) => range(before, after),
            (Some(before), None) => format!("from {before} to the end of the program"),
            (None, None) => "in many places".to_owned(),
        };
        let of_it = longest.ns as f64 / outside;
        let most =
            if of_it > 0.95 { format!(", {place}") } else { format!("; {} of that {place}", percent(of_it)) };
        let text = format!("{} of the time is serial, outside of any pool{most}", percent(share));
        let (now, serial) = (unmeasured(self.scaling), self.scaling.serial);
        let gain = self.gain_of("if it could use all cores", |cores| {
            now.time(cores) - serial + serial / f64::from(cores)
        });
        Some(Advice { rule: Rule::Outside, text, share: Some(share), gain })
    }

    // ---- Parallelism ----------------------------------------------------------------------------------

    /// The largest part of the span belongs to a call that makes as many pieces as there are threads.
    fn unseen(&self) -> Option<Advice> {
        let site = self.alone.sites_by_span().into_iter().next().filter(|site| site.pieces_are_threads())?;
        (self.parallelism < SLACK * self.cores).then(|| Advice {
            rule: Rule::Unseen,
            text: format!(
                "{}: {} makes one piece for each thread, so how many more could work is not seen; the iterator that it \
                 takes items from, one at a time, is the limit",
                self.no_more_than(),
                place(site)
            ),
            share: None,
            gain: None,
        })
    }

    fn long_piece(&self) -> Option<Advice> {
        let site = self.alone.sites_by_span().into_iter().find(|site| site.longest_ns > 0)?;
        // What interrupts a strand in one run hardly does so in the other.
        let longest_ns =
            self.comparison.map_or(site.longest_ns, |comparison| comparison.least_longest_ns(site));
        let share = self.alone.share_of_span(longest_ns);
        // One closure more than forks.
        let others = site.work_ns.saturating_sub(longest_ns) as f64 / site.forks.max(1) as f64;
        let uneven = site.forks > 1 && longest_ns as f64 > MUCH_LONGER * others;
        if self.parallelism >= SLACK * self.cores || share < 0.5 || !uneven {
            return None;
        }
        let gain = self.without("if it were split", 0.0, longest_ns as f64 - others);
        gain.filter(|gain| gain.factor >= LITTLE)?;
        let text = format!(
            "one piece of {} takes {}, {} of the span, and the others {} on average: split it, or begin with it \
             (parallelism {})",
            place(site),
            time(longest_ns as f64),
            percent(share),
            time(others),
            decimal(self.parallelism)
        );
        let share = longest_ns as f64 / self.alone.work_ns.max(1) as f64;
        Some(Advice { rule: Rule::LongPiece, text, share: Some(share), gain })
    }

    /// A loop is most of the span, and has too few iterations.
    fn few_pieces(&self) -> Option<Advice> {
        let site = self.alone.sites_by_span().into_iter().next()?;
        let a_loop = !matches!(site.kind.as_str(), "join" | "scope" | "spawn" | "broadcast" | "par_bridge");
        let often = self.alone.runs.max(1);
        let pieces = (site.forks as f64 / often as f64) + 1.0;
        let share = self.alone.share_of_span(site.span_ns);
        if !a_loop || site.forks == 0 || share < 0.5 || pieces >= f64::from(self.goal) {
            return None;
        }
        let gain = self.without("if it had twice as many, half as long", 0.0, site.span_ns as f64 / 2.0);
        let text = format!(
            "{} has only {pieces:.0} iterations, of {}: more than {} will not help",
            place(site),
            time(site.work_ns as f64 / (site.forks + often) as f64),
            count(pieces.ceil())
        );
        Some(Advice { rule: Rule::FewPieces, text, share: Some(share), gain })
    }

    fn low_parallelism(&self) -> Option<Advice> {
        if self.parallelism >= SLACK * self.cores {
            return None;
        }
        let (rest, gain) = self.largest_part_of_span();
        let much = self.parallelism < f64::from(self.goal) || gain.is_some_and(|gain| gain.factor >= LITTLE);
        much.then(|| Advice {
            rule: Rule::LowParallelism,
            text: format!("{}{rest}", self.no_more_than()),
            share: None,
            gain,
        })
    }

    /// What parallelism says of the number of cores.
    fn no_more_than(&self) -> String {
        let parallelism = decimal(self.parallelism);
        if self.scaling.at_least {
            format!("parallelism is at least {parallelism}")
        } else if self.parallelism < 1.5 {
            format!("parallelism {parallelism}: a second core will not help")
        } else {
            format!("parallelism {parallelism}: more than {} will not help", count(self.parallelism.ceil()))
        }
    }

    /// Names the place to work on, if there is one, and what it would gain if it were twice as fast.
    fn largest_part_of_span(&self) -> (String, Option<Gain>) {
        const FASTER: &str = "if it were twice as fast";
        let serial = self.alone.serial_share_of_span();
        let largest = self.alone.sites_by_span().into_iter().next();
        let share = largest.map_or(0.0, |site| self.alone.share_of_span(site.span_ns));
        let span = self.alone.span_ns as f64;
        match largest {
            _ if serial > share && serial >= WORTH_NAMING => (
                format!(
                    "; {} of the span is code that runs before, between or after all forks",
                    percent(serial)
                ),
                self.without(FASTER, serial * span / 2.0, serial * span / 2.0),
            ),
            Some(site) if share >= WORTH_NAMING => (
                format!("; {} is {} of the span", place(site), percent(share)),
                self.without(FASTER, site.work_ns as f64 / 2.0, site.span_ns as f64 / 2.0),
            ),
            _ => (String::new(), None),
        }
    }

    // ---- Waiting --------------------------------------------------------------------------------------

    /// Sites whose strands take longer beside others than alone.
    fn grown(&self) -> Vec<Advice> {
        let Some(comparison) = self.comparison else { return Vec::new() };
        let all_excess = comparison.many.work_ns.saturating_sub(comparison.one.work_ns).max(1) as f64;
        // What the other sites grow stays.
        let without = |excess_ns: u64| {
            let rest = (1.0 - excess_ns as f64 / all_excess).max(0.0);
            let less = |factor: f64| if factor > 1.0 { 1.0 + rest * (factor - 1.0) } else { factor };
            let growth = self.scaling.growth.map(|growth| Beside { factor: less(growth.factor), ..growth });
            Scaling { growth, ..self.scaling }
        };
        let all = comparison.many.work_ns.max(1) as f64;
        let say = |growth: crate::Growth<'_>| {
            let (share, place) = (growth.excess_ns as f64 / all, place(growth.site));
            let longer = format!(
                "strands of {place} take {:.1} times as long on {} processors as on one",
                growth.factor, comparison.many.processors
            );
            let (rule, condition, text) = match growth.cause {
                Cause::Lock => (
                    Rule::Lock,
                    "without it",
                    format!(
                        "{longer}, {} of the time, because they wait for one another, {}: a lock, most likely, \
                         outside of `blocking`; hold it for less, or split what it guards",
                        percent(share),
                        match growth.site.waits {
                            1 => "once".to_owned(),
                            several => format!("{several} times"),
                        }
                    ),
                ),
                Cause::Sharing => (
                    Rule::Sharing,
                    "without that",
                    format!(
                        "{longer}, {} of the time: most likely they write the same cache lines (shared data, or \
                         neighbours in an array), or spin on a lock; keep what they write apart",
                        percent(share)
                    ),
                ),
                Cause::Memory => (
                    Rule::Memory,
                    "without that",
                    format!(
                        "{longer}, {} of the time: most likely they wait for memory, which all cores share; touch less \
                         of it, or do more with what is in the cache",
                        percent(share)
                    ),
                ),
            };
            Advice { rule, text, share: Some(share), gain: self.gain(condition, without(growth.excess_ns)) }
        };
        // If the machine was busy, caches were not ours alone.
        let doubtful = machine::is_busy(self.profile);
        let believed = comparison.sites().into_iter().filter(|growth| !doubtful || growth.factor >= 1.5);
        believed.map(say).collect()
    }

    fn waiting(&self) -> Option<Advice> {
        let asleep = |profile: &Profile| profile.asleep_ns() as f64 / profile.work_ns.max(1) as f64;
        let share = asleep(self.alone);
        if share < MUCH_WAITING {
            return None;
        }
        let most = self.alone.sites.iter().max_by_key(|site| site.asleep_ns)?;
        let what = if self.alone.processors == 1 {
            "sleep, or wait for files"
        } else {
            "sleep, or wait for locks or files"
        };
        let text = format!(
            "{} of the time strands {what} outside of `blocking`, most of it in {}, so processors do nothing; wait in \
             `blocking`, and other work goes on meanwhile",
            percent(share),
            place(most)
        );
        // Strands take as long as before, but meanwhile their processors run others.
        let gain = self.without("in `blocking`", self.alone.asleep_ns() as f64, 0.0);
        Some(Advice { rule: Rule::Waiting, text, share: Some(share), gain })
    }

    fn blocked(&self) -> Option<Advice> {
        let Profile { work_ns, blocked_ns, .. } = *self.alone;
        let share = blocked_ns as f64 / (work_ns as f64 + blocked_ns as f64).max(1.0);
        if share < MUCH_WAITING {
            return None;
        }
        let most =
            self.alone.sites.iter().max_by_key(|site| site.blocked_ns).filter(|site| site.blocked_ns > 0);
        let place = most.map_or(String::new(), |site| format!(", most of it in {}", place(site)));
        let text = format!(
            "{} of the time passes in `blocking`{place}, which cores do not shorten: a lock, a file, a sleep; wait for \
             less, or for several things at once",
            percent(share)
        );
        let half = (blocked_ns as f64 / 2.0).min(self.alone.span_ns as f64 / 2.0);
        let gain = self.without("with half of it", 0.0, half);
        Some(Advice { rule: Rule::Blocked, text, share: Some(share), gain })
    }

    // ---- Grain and scheduling -------------------------------------------------------------------------

    fn fine_grain(&self) -> Option<Advice> {
        let forks = |site: &&SiteProfile| site.forks > 0 && site.forks_here();
        let site = self.alone.sites.iter().filter(forks).max_by_key(|site| site.forks)?;
        let grain = site.work_ns as f64 / site.strands.max(1) as f64;
        let share = site.work_ns as f64 / self.alone.work_ns.max(1) as f64;
        (grain < FINE_GRAIN_NS && share >= WORTH_NAMING).then(|| {
            let forking = site.forks as f64 * self.alone.costs.fork_ns;
            Advice {
                rule: Rule::FineGrain,
                text: format!(
                    "grain {}: coarsen; stop forking in {} when a piece takes less than about a microsecond",
                    time(grain),
                    place(site)
                ),
                share: Some((forking / self.alone.work_ns.max(1) as f64).min(0.9)),
                gain: self.without("without these forks", forking.min(0.9 * self.alone.work_ns as f64), 0.0),
            }
        })
    }

    fn heavy_burden(&self) -> Option<Advice> {
        let burdened = self.scaling.burdened_parallelism();
        let heavy = burdened * HEAVY_BURDEN < self.parallelism
            && burdened < SLACK * self.cores
            && !self.is_disturbed();
        (self.profile.forks > 0 && heavy).then(|| Advice {
            rule: Rule::HeavyBurden,
            text: format!(
                "parallelism {}, but {} with the costs of stealing ({} each): fork larger pieces",
                decimal(self.parallelism),
                decimal(burdened),
                time(self.profile.costs.steal_ns)
            ),
            share: None,
            gain: self
                .gain("if they cost nothing", Scaling { burdened_span: self.scaling.span, ..self.scaling }),
        })
    }

    fn hand_overs(&self) -> Option<Advice> {
        let share = self.profile.share_of_time(|times| times.hand_over_ns)?;
        (share >= MUCH_HAND_OVER && !self.is_disturbed()).then(|| Advice {
            rule: Rule::HandOvers,
            text: format!(
                "{} of the time goes into hand-overs ({} of them): joins wait while there is other work, so fork \
                 larger pieces or more even ones",
                percent(share),
                self.profile.hand_overs
            ),
            share: Some(share),
            gain: self.without_time("without them", |times| times.hand_over_ns),
        })
    }

    fn idle(&self) -> Option<Advice> {
        let without = self.profile.share_of_time(|times| times.idle_ns + times.search_ns)?;
        let several =
            self.profile.processors > 1 && self.parallelism >= SLACK * f64::from(self.profile.processors);
        let crowded = self.profile.machine.is_some_and(|machine| self.profile.processors > machine.cpus);
        (several && !crowded && !self.is_disturbed() && without >= MUCH_IDLE).then(|| Advice {
            rule: Rule::Idle,
            text: format!(
                "processors are without work {} of the time although parallelism is {}: is the machine shared, or \
                 does the program wait outside of `blocking`?",
                percent(without),
                decimal(self.parallelism)
            ),
            share: Some(without),
            gain: self.without_time("if they had work", |times| times.idle_ns + times.search_ns),
        })
    }

    /// Nothing is wrong. But a program that was interrupted has not shown all it does, and a prediction that stays low must not
    /// be called fine.
    pub(super) fn fine(&self) -> Advice {
        if self.profile.interrupted {
            let text = "the program was interrupted, so this is not all that it does; let it end to learn how far it scales";
            return Advice { rule: Rule::Interrupted, text: text.to_owned(), share: None, gain: None };
        }
        let enough = (self.parallelism / SLACK).floor();
        let useful = if enough < 1.0 { (self.parallelism / 2.0).floor() } else { enough };
        let (good_for, low) = self.as_predicted(useful);
        let text = match good_for {
            _ if enough < 1.0 && low.is_empty() => {
                format!("{}; nothing to mend on fewer", self.no_more_than())
            }
            _ if !low.is_empty() => match good_for {
                1.0 => format!("nothing to mend was found, but {low}"),
                _ => format!("scales to {}; nothing to mend up to there; {low}", count(good_for)),
            },
            ..64.0 if self.scaling.at_least => {
                format!("scales to at least {}; nothing to mend up to there", count(good_for))
            }
            ..64.0 => format!(
                "scales to {}; nothing to mend up to there, and more than {} will not help",
                count(good_for),
                count(self.parallelism.ceil())
            ),
            ..1024.0 => format!("scales to {}; nothing to mend", count(good_for)),
            _ => "scales to more than 1000 cores; nothing to mend".to_owned(),
        };
        // What strands do to each other shows only if two runs are compared.
        let one_run = if self.comparison.is_none() {
            ", as far as one run shows: locks and shared memory show only beside a run on another number of processors"
        } else {
            ""
        };
        let text = text + one_run;
        Advice { rule: Rule::Fine, text, share: None, gain: None }
    }

    /// On how many of `enough` cores the likely speedup is at least half of their number, and if that is not all of them, what
    /// to say of the others.
    fn as_predicted(&self, enough: f64) -> (f64, String) {
        let most = enough.min(1000.0);
        let likely = |scaling: Scaling| scaling.band(most).likely;
        if most < 1.0 || 2.0 * likely(self.scaling) >= most {
            return (enough, String::new());
        }
        let holds = |cores: &u32| 2.0 * self.scaling.predict(*cores).band.likely >= f64::from(*cores);
        let good_for = (1..=most as u32).rev().find(holds).unwrap_or(1);
        let alone = likely(Scaling { growth: None, ..self.scaling });
        let inside = likely(Scaling { serial: 0.0, ..self.scaling });
        let why = match () {
            () if alone.max(inside) <= LITTLE * likely(self.scaling) => "steals and hand-overs cost time",
            () if inside > alone => "the code outside of pools is serial",
            () if machine::is_busy(self.profile) => {
                "beside others strands took longer, on a busy machine; measure again when it is idle"
            }
            () => "strands take longer beside others",
        };
        let text =
            format!("the likely speedup on {} is only {:.2}: {why}", count(most), likely(self.scaling));
        (f64::from(good_for), text)
    }
}

/// The same program, by what explains its speedup and not by the speedup itself. So all numbers of cores, and the program
/// before and after a change, can be compared.
fn unmeasured(scaling: Scaling) -> Scaling {
    Scaling { growth: scaling.growth.map(|growth| Beside { speedup: None, ..growth }), ..scaling }
}
