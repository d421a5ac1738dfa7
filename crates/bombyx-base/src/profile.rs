//! [`Profile`]: what the runtime measures of a program, as a value and as a file. All times are in nanoseconds.
//!
//! Fields may be added without a new [`VERSION`], because readers skip fields that they do not know. A field that is
//! removed or changes its meaning makes a new version. `bombyx-profile` reads the file, and says what it means.

use std::fmt::{self, Write as _};

/// The version of the file.
pub const VERSION: u64 = 1;

/// What a program did while it was profiled: the sum of all outermost runs in pools.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
pub struct Profile {
    /// The program's name, without its folder.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Whether a signal ended the program: only the runs that had ended by then are in the profile.
    #[cfg_attr(feature = "serde", serde(default))]
    pub interrupted: bool,
    /// The scheduler of the largest pool.
    pub scheduler: String,
    /// The processors of the largest pool.
    pub processors: u32,
    /// The clock that was used.
    pub clock: Clock,
    /// What single events cost on this machine.
    pub costs: Costs,
    /// The number of outermost runs in pools.
    pub runs: u64,
    /// How long they took by the wall clock, one after another.
    pub wall_ns: u64,
    /// T1: the time of all strands.
    pub work_ns: u64,
    /// T∞: the longest chain of strands that follow one another.
    pub span_ns: u64,
    /// The span with the cost of a steal at each fork and of a hand-over at each join along it (Cilkview).
    pub burdened_span_ns: u64,
    /// Time that strands spent in `blocking`.
    pub blocked_ns: u64,
    /// Time in which strands could have gone on and had no CPU. It is neither work nor span.
    #[cfg_attr(feature = "serde", serde(default))]
    pub delayed_ns: u64,
    /// The number of closures forked.
    pub forks: u64,
    /// The number of strands executed.
    pub strands: u64,
    /// Closures that another processor took.
    pub steals: u64,
    /// Steals by a processor that waited for a join.
    pub helps: u64,
    /// Hand-overs of a processor from one carrier to another.
    pub hand_overs: u64,
    /// The deepest nesting of forks and scopes.
    pub peak_frames: u64,
    /// The most carriers alive at once.
    pub peak_carriers: u64,
    /// The most heap memory in use at once, if it was metered.
    pub peak_heap_bytes: Option<u64>,
    /// The machine, if the system said something about it.
    #[cfg_attr(feature = "serde", serde(default))]
    pub machine: Option<Machine>,
    /// What the system said about the runs, if it did.
    #[cfg_attr(feature = "serde", serde(default))]
    pub usage: Option<Usage>,
    /// The times without a run: the longest ones, longest first, and then the sum of all others, if there are others.
    #[cfg_attr(feature = "serde", serde(default))]
    pub gaps: Vec<Gap>,
    /// What each processor spent its time on.
    pub per_processor: Vec<Times>,
    /// Where the program forks.
    pub sites: Vec<SiteProfile>,
    /// The same program on another number of processors, if it was run a second time. That profile has no companion.
    #[cfg_attr(feature = "serde", serde(default))]
    pub companion: Option<Box<Profile>>,
}

/// The machine that a program ran on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
pub struct Machine {
    /// How many CPUs the program may use.
    pub cpus: u32,
    /// The size of the largest cache, or 0 if it is unknown.
    pub cache_bytes: u64,
}

/// The clock that was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Clock {
    /// The processor's time stamp counter.
    Tsc,
    /// The operating system's monotonic clock.
    Monotonic,
}

impl Clock {
    /// How the file spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tsc => "tsc",
            Self::Monotonic => "monotonic",
        }
    }
}

/// What single events cost on the machine, measured when profiling began.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
pub struct Costs {
    /// What profiling itself adds to a fork. It is subtracted from all other figures.
    pub fork_hook_ns: f64,
    /// What a fork costs otherwise; that is part of the work.
    #[cfg_attr(feature = "serde", serde(default))]
    pub fork_ns: f64,
    /// A steal, from the search to the first instruction of what was stolen. Zero if the machine was too busy to measure it.
    pub steal_ns: f64,
    /// A hand-over of a processor to another carrier. Zero if the machine was too busy to measure it.
    pub hand_over_ns: f64,
}

/// What the system says about the whole process during its runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
pub struct Usage {
    /// Time on a CPU, of all threads.
    pub cpu_ns: u64,
    /// The most memory that the process had.
    #[cfg_attr(feature = "serde", serde(default))]
    pub peak_memory_bytes: u64,
    /// Time that a hypervisor took from the CPUs, from the first pool on.
    #[cfg_attr(feature = "serde", serde(default))]
    pub stolen_ns: u64,
    /// Time that the CPUs spent on other processes, from the first pool on, to about 10 ms. `None` if the system did not say.
    #[cfg_attr(feature = "serde", serde(default))]
    pub others_ns: Option<u64>,
}

/// A time without a run: code outside all pools.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
pub struct Gap {
    /// How long it was, summed over all the times that the program passed there.
    pub ns: u64,
    /// Where the run before it was entered. `None` at the beginning of the program, and for the sum of several places.
    pub before: Option<String>,
    /// Where the run after it was entered. `None` at the end of the program, and for the sum of several places.
    pub after: Option<String>,
}

/// What a processor spent its time on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
pub struct Times {
    /// Running strands.
    pub busy_ns: u64,
    /// Looking for something to steal.
    pub search_ns: u64,
    /// Looking for descendants of what a join waits for.
    pub help_ns: u64,
    /// Moving from one carrier to another.
    pub hand_over_ns: u64,
    /// In the idle list.
    pub idle_ns: u64,
}

impl Times {
    /// The sum of all times.
    pub fn total_ns(&self) -> u64 {
        let parts = [self.busy_ns, self.search_ns, self.help_ns, self.hand_over_ns, self.idle_ns];
        parts.into_iter().fold(0, u64::saturating_add)
    }
}

/// A place in the program that forks, and what became of the closures forked there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
pub struct SiteProfile {
    /// Source file.
    pub file: String,
    /// Line in it.
    pub line: u32,
    /// Column in the line.
    pub column: u32,
    /// The kind of code there: `join`, `scope`, `spawn`, `for_each` and others, or `run`, where a pool is entered. What
    /// belongs to a run is outside all forks.
    pub kind: String,
    /// How often a closure was forked there.
    pub forks: u64,
    /// The time of the strands that belong to it: those of its closures, without what they fork in turn.
    pub work_ns: u64,
    /// The part of this work that is on the critical path.
    pub span_ns: u64,
    /// How many strands belong to it.
    pub strands: u64,
    /// The longest of them.
    #[cfg_attr(feature = "serde", serde(default))]
    pub longest_ns: u64,
    /// How long they were in `blocking`.
    #[cfg_attr(feature = "serde", serde(default))]
    pub blocked_ns: u64,
    /// How long they slept, or waited for a lock, a file or another thread, outside of `blocking`. It is part of the work.
    #[cfg_attr(feature = "serde", serde(default))]
    pub asleep_ns: u64,
    /// How often they did so: how often a thread gave up its CPU in the middle of a strand.
    #[cfg_attr(feature = "serde", serde(default))]
    pub waits: u64,
    /// How long they could have gone on and had no CPU. It is not part of the work.
    #[cfg_attr(feature = "serde", serde(default))]
    pub delayed_ns: u64,
}

impl SiteProfile {
    /// File, line and column, as compilers print them. The function, if the program has no line tables.
    pub fn location(&self) -> String {
        match self.line {
            // In a program without line tables, only the function is known.
            0 => self.file.clone(),
            line => format!("{}:{line}:{}", self.file, self.column),
        }
    }

    /// Whether it forks. A place where a pool is entered does not.
    pub fn forks_here(&self) -> bool {
        self.kind != "run"
    }

    /// Whether it makes one piece for each thread: rayon's `par_bridge`.
    pub fn pieces_are_threads(&self) -> bool {
        self.kind == "par_bridge"
    }

    /// Mean work of a closure in nanoseconds.
    pub fn grain_ns(&self) -> f64 {
        self.work_ns as f64 / self.forks.max(1) as f64
    }
}

impl Profile {
    /// T1 / T∞.
    pub fn parallelism(&self) -> f64 {
        self.work_ns.max(1) as f64 / self.span_ns.max(1) as f64
    }

    /// Whether steals and hand-overs could be measured. If not, the burdened span lacks some of their costs.
    pub fn knows_migrations(&self) -> bool {
        self.costs.steal_ns > 0.0 && self.costs.hand_over_ns > 0.0
    }

    /// Whether a signal ended the program before any run had ended. Then only the least length of the span is known, and not
    /// what it consists of.
    pub fn no_run_ended(&self) -> bool {
        self.interrupted && self.runs == 0
    }

    /// Work over wall time: how many processors were at work on average. This is not a speedup, because strands may
    /// take longer beside others than alone.
    pub fn busy_processors(&self) -> f64 {
        if self.wall_ns == 0 { 1.0 } else { self.work_ns as f64 / self.wall_ns as f64 }
    }

    /// How long the program took, in nanoseconds: with and without a run.
    pub fn elapsed_ns(&self) -> u64 {
        self.wall_ns.saturating_add(self.outside_ns())
    }

    /// How long strands slept or waited outside of `blocking`, in nanoseconds.
    pub fn asleep_ns(&self) -> u64 {
        self.sites.iter().fold(0, |sum: u64, site| sum.saturating_add(site.asleep_ns))
    }

    /// The time without any run, in nanoseconds: the sum of [`Profile::gaps`].
    pub fn outside_ns(&self) -> u64 {
        self.gaps.iter().fold(0, |sum: u64, gap| sum.saturating_add(gap.ns))
    }

    /// The share of the processors' active time in which their threads were not on a CPU, between 0 and 1. `None` if
    /// the system did not say.
    pub fn share_off_cpu(&self) -> Option<f64> {
        let active = |times: &Times| {
            [times.busy_ns, times.search_ns, times.help_ns, times.hand_over_ns]
                .iter()
                .map(|&ns| ns as f64)
                .sum::<f64>()
        };
        let active: f64 = self.per_processor.iter().map(active).sum();
        let usage = self.usage.filter(|_| active > 0.0)?;
        Some((1.0 - usage.cpu_ns as f64 / active).clamp(0.0, 1.0))
    }

    /// Mean time of a strand in nanoseconds.
    pub fn grain_ns(&self) -> f64 {
        self.work_ns as f64 / self.strands.max(1) as f64
    }

    /// The share of the processors' time for one kind of use, between 0 and 1. `None` if no time was accounted for.
    pub fn share_of_time(&self, of: impl Fn(&Times) -> u64) -> Option<f64> {
        let sum =
            |of: &dyn Fn(&Times) -> u64| self.per_processor.iter().map(|times| of(times) as f64).sum::<f64>();
        let total = sum(&Times::total_ns);
        (total > 0.0).then(|| sum(&of) / total)
    }

    /// The sites that fork, by their part of the span, largest first. Sites with equal parts are ordered by their work.
    pub fn sites_by_span(&self) -> Vec<&SiteProfile> {
        let mut sites: Vec<&SiteProfile> = self.sites.iter().filter(|site| site.forks_here()).collect();
        sites.sort_by_key(|site| std::cmp::Reverse((site.span_ns, site.work_ns)));
        sites
    }

    /// The share of the span that this many nanoseconds on it make up, at most 1.
    pub fn share_of_span(&self, span_ns: u64) -> f64 {
        if self.span_ns == 0 { 0.0 } else { (span_ns as f64 / self.span_ns as f64).min(1.0) }
    }

    /// The share of the span in calls that make one piece for each thread, however many more could work.
    pub fn unseen_share_of_span(&self) -> f64 {
        let unseen = self.sites.iter().filter(|site| site.pieces_are_threads());
        self.share_of_span(unseen.fold(0, |sum: u64, site| sum.saturating_add(site.span_ns)))
    }

    /// The share of the span that is in no forked closure.
    pub fn serial_share_of_span(&self) -> f64 {
        let forking = self.sites.iter().filter(|site| site.forks_here());
        let in_sites = forking.fold(0, |sum: u64, site| sum.saturating_add(site.span_ns));
        self.share_of_span(self.span_ns.saturating_sub(in_sites))
    }

    /// The profile as the text of a file: one object of JSON, with the fields under their names. It is written by hand, because
    /// the runtime, which writes it, depends on no library for that.
    pub fn to_json(&self) -> String {
        let mut json = String::new();
        self.write_json(&mut json).unwrap_or_else(|_| unreachable!("a string takes all"));
        json
    }

    fn write_json(&self, out: &mut String) -> fmt::Result {
        write!(out, "{{\"bombyx_profile\":{VERSION},\"program\":{},\"arguments\":[", Text(&self.program))?;
        list(out, &self.arguments, |out, argument| write!(out, "{}", Text(argument)))?;
        writeln!(
            out,
            "],\n\"interrupted\":{},\"scheduler\":{},\"processors\":{},\"clock\":{},",
            self.interrupted,
            Text(&self.scheduler),
            self.processors,
            Text(self.clock.name())
        )?;
        let costs = &self.costs;
        writeln!(
            out,
            "\"costs\":{{\"fork_hook_ns\":{},\"fork_ns\":{},\"steal_ns\":{},\"hand_over_ns\":{}}},",
            costs.fork_hook_ns, costs.fork_ns, costs.steal_ns, costs.hand_over_ns
        )?;
        let counts = [
            ("runs", self.runs),
            ("wall_ns", self.wall_ns),
            ("work_ns", self.work_ns),
            ("span_ns", self.span_ns),
            ("burdened_span_ns", self.burdened_span_ns),
            ("blocked_ns", self.blocked_ns),
            ("delayed_ns", self.delayed_ns),
            ("forks", self.forks),
            ("strands", self.strands),
            ("steals", self.steals),
            ("helps", self.helps),
            ("hand_overs", self.hand_overs),
            ("peak_frames", self.peak_frames),
            ("peak_carriers", self.peak_carriers),
        ];
        for (name, count) in counts {
            write!(out, "\"{name}\":{count},")?;
        }
        match self.peak_heap_bytes {
            Some(bytes) => writeln!(out, "\"peak_heap_bytes\":{bytes},")?,
            None => out.write_str("\"peak_heap_bytes\":null,\n")?,
        }
        if let Some(Machine { cpus, cache_bytes }) = self.machine {
            writeln!(out, "\"machine\":{{\"cpus\":{cpus},\"cache_bytes\":{cache_bytes}}},")?;
        }
        if let Some(usage) = self.usage {
            write!(out, "\"usage\":{{\"cpu_ns\":{},", usage.cpu_ns)?;
            write!(out, "\"peak_memory_bytes\":{},", usage.peak_memory_bytes)?;
            if let Some(others_ns) = usage.others_ns {
                write!(out, "\"others_ns\":{others_ns},")?;
            }
            writeln!(out, "\"stolen_ns\":{}}},", usage.stolen_ns)?;
        }
        out.write_str("\"gaps\":[")?;
        list(out, &self.gaps, |out, gap| {
            write!(out, "\n{{\"ns\":{},\"before\":", gap.ns)?;
            optional(out, gap.before.as_deref())?;
            out.write_str(",\"after\":")?;
            optional(out, gap.after.as_deref())?;
            out.write_char('}')
        })?;
        out.write_str("],\n\"per_processor\":[")?;
        list(out, &self.per_processor, |out, times| {
            write!(
                out,
                "\n{{\"busy_ns\":{},\"search_ns\":{},\"help_ns\":{},\"hand_over_ns\":{},\"idle_ns\":{}}}",
                times.busy_ns, times.search_ns, times.help_ns, times.hand_over_ns, times.idle_ns
            )
        })?;
        out.write_str("],\n\"sites\":[")?;
        list(out, &self.sites, |out, site| {
            write!(
                out,
                "\n{{\"file\":{},\"line\":{},\"column\":{},\"kind\":{},",
                Text(&site.file),
                site.line,
                site.column,
                Text(&site.kind)
            )?;
            write!(
                out,
                "\"forks\":{},\"work_ns\":{},\"span_ns\":{},\"strands\":{},\"longest_ns\":{},\"blocked_ns\":{},",
                site.forks, site.work_ns, site.span_ns, site.strands, site.longest_ns, site.blocked_ns
            )?;
            write!(
                out,
                "\"asleep_ns\":{},\"waits\":{},\"delayed_ns\":{}}}",
                site.asleep_ns, site.waits, site.delayed_ns
            )
        })?;
        out.push(']');
        if let Some(companion) = &self.companion {
            out.push_str(",\n\"companion\":");
            companion.write_json(out)?;
            out.truncate(out.trim_end().len());
        }
        out.write_str("}\n")
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "work {} ns, span {} ns, parallelism {:.1}, {} forks, {} steals",
            self.work_ns,
            self.span_ns,
            self.parallelism(),
            self.forks,
            self.steals
        )
    }
}

fn optional(out: &mut String, text: Option<&str>) -> fmt::Result {
    match text {
        Some(text) => write!(out, "{}", Text(text)),
        None => out.write_str("null"),
    }
}

fn list<T>(
    out: &mut String,
    items: &[T],
    mut write: impl FnMut(&mut String, &T) -> fmt::Result,
) -> fmt::Result {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write(out, item)?;
    }
    Ok(())
}

/// A string in JSON.
struct Text<'a>(&'a str);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                c if c < ' ' => write!(f, "\\u{:04x}", c as u32)?,
                c => f.write_char(c)?,
            }
        }
        f.write_char('"')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_escaped() {
        assert_eq!(Text("a\"b\\c\nd\u{e9}").to_string(), "\"a\\\"b\\\\c\\u000ad\u{e9}\"");
    }
}
