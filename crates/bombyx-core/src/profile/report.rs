//! [`Profile`]: what a profiler reports, as a value and as the text of a file.
//!
//! The file is JSON: one object, with the fields of [`Profile`] under their names. It is written by hand, because the
//! runtime depends on no library for that.

use super::sites::{Kind, Named};
use std::fmt::{self, Write as _};

/// Work, span and other measures of the runs that have ended, of one pool ([`crate::Pool::profile`]) or of all pools of
/// the process (`BOMBYX_PROFILE`).
///
/// Runs that follow one another count in series; runs that overlap in time count in parallel. Times are in nanoseconds.
/// They do not include the profiler's own time.
///
/// ```
/// let pool = bombyx::Pool::builder().processors(2).profile(true).build()?;
/// pool.run(|| bombyx::join(|| (), || ()));
/// let profile = pool.profile().expect("the builder asked for it");
/// assert_eq!((profile.runs, profile.forks), (1, 1));
/// assert!(profile.span_ns <= profile.work_ns + profile.blocked_ns + 1);
/// println!("{profile}");
/// # Ok::<(), bombyx::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Profile {
    /// Whether a signal ended the process. Then a run that had not ended may be missing.
    pub interrupted: bool,
    /// The scheduler of the pool, or of the largest pool if there are several.
    pub scheduler: String,
    /// The processors of the pool, or of the largest pool if there are several.
    pub processors: usize,
    /// The clock that was used: `tsc` or `monotonic`.
    pub clock: &'static str,
    pub(super) ns_per_tick: f64,
    /// The costs that were measured before the first run.
    pub costs: Costs,
    /// How often a pool was entered: by runs, and by closures spawned on a pool.
    pub runs: u64,
    /// How long at least one run was under way.
    pub wall_ns: u64,
    /// T1: the sum of all strands.
    pub work_ns: u64,
    /// T∞: the longest chain of strands.
    pub span_ns: u64,
    /// The span if every second half of a fork, and every spawned closure, pays for a steal and a hand-over.
    pub burdened_span_ns: u64,
    /// Time in [`crate::blocking`], or waiting for another pool. It is part of the span where it is on the longest
    /// chain, but it is not work.
    pub blocked_ns: u64,
    /// The number of second halves and spawned closures.
    pub forks: u64,
    /// The number of pieces between forks and joins.
    pub strands: u64,
    /// As in [`crate::Stats`].
    pub steals: u64,
    /// As in [`crate::Stats`].
    pub helps: u64,
    /// As in [`crate::Stats`].
    pub hand_overs: u64,
    /// The deepest nesting of forks and scopes.
    pub peak_frames: usize,
    /// As in [`crate::Stats`].
    pub peak_carriers: u64,
    /// The most heap memory that the processors had in use. `None` unless the program is
    /// [metered](crate::api::alloc::Metered) or [reports](crate::charge) what it allocates. As in [`crate::Stats`]; of
    /// several pools, the one that had the most.
    pub peak_heap_bytes: Option<u64>,
    /// What the system says about the time of the runs, if it does.
    pub usage: Option<Usage>,
    /// The longest times without a run, longest first.
    pub gaps: Vec<Gap>,
    /// What the processors spent the time of the runs on, by their index.
    pub per_processor: Vec<Times>,
    /// The fork sites.
    pub sites: Vec<SiteProfile>,
}

/// Costs in nanoseconds, measured when the profiler started. Part of a [`Profile`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Costs {
    /// What profiling adds to the cost of a fork.
    pub fork_hook_ns: f64,
    /// What a fork costs without profiling. This is part of the work.
    pub fork_ns: f64,
    /// The time from a fork until its second half runs on another processor.
    pub steal_ns: f64,
    /// The time from giving a processor to a parked carrier until that carrier runs.
    pub hand_over_ns: f64,
}

/// What the system says about the whole process during its runs. Part of a [`Profile`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// Time on a CPU, of all threads.
    pub cpu_ns: u64,
    /// How often a thread gave up its CPU: it slept, or waited for a lock, a file, a child.
    pub voluntary_switches: u64,
    /// How often the system took the CPU from a thread that could have gone on.
    pub involuntary_switches: u64,
}

/// A time without a run: code outside all pools. Part of a [`Profile`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Gap {
    /// How long it was, summed over all the times that the program passed there.
    pub ns: u64,
    /// Where the run before it was entered. `None` at the beginning of the program.
    pub before: Option<String>,
    /// Where the run after it was entered. `None` at the end of the program.
    pub after: Option<String>,
}

/// What one processor spent the time of the runs on. Part of a [`Profile`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Times {
    /// Running closures.
    pub busy_ns: u64,
    /// Looking for closures to run, while idle or while a join waited.
    pub search_ns: u64,
    /// Running a part of what its carrier waited for.
    pub help_ns: u64,
    /// Changing from one carrier to another.
    pub hand_over_ns: u64,
    /// The rest.
    pub idle_ns: u64,
}

/// What was measured of one fork site. Part of a [`Profile`].
///
/// A strand belongs to the site of the innermost fork whose closure it runs in.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SiteProfile {
    /// The source file, or, if the program has no line tables, the function that calls a library.
    pub file: String,
    /// The line, from 1, or 0 if it is unknown.
    pub line: u32,
    /// The column, from 1, or 0 if it is unknown.
    pub column: u32,
    /// What is written there.
    pub kind: Kind,
    /// How often it was reached. Scopes are not counted among the forks of the profile; runs are not counted here.
    pub forks: u64,
    /// The work of the strands that belong to it.
    pub work_ns: u64,
    /// Its part of the span. The parts of all sites add up to the span.
    pub span_ns: u64,
    /// How many strands belong to it.
    pub strands: u64,
    /// The longest of them.
    pub longest_ns: u64,
    /// How long its strands were in [`crate::blocking`].
    pub blocked_ns: u64,
}

impl SiteProfile {
    /// A site for which nothing is counted yet.
    pub(super) fn new(site: Named) -> SiteProfile {
        let Named { file, line, column, kind } = site;
        SiteProfile {
            file,
            line,
            column,
            kind,
            forks: 0,
            work_ns: 0,
            span_ns: 0,
            strands: 0,
            longest_ns: 0,
            blocked_ns: 0,
        }
    }
}

impl Profile {
    /// T1 / T∞.
    ///
    /// ```
    /// # let pool = bombyx::Pool::builder().processors(1).profile(true).build()?;
    /// pool.run(|| bombyx::join(|| std::hint::black_box(0), || ()));
    /// assert!(pool.profile().unwrap().parallelism() > 0.0);
    /// # Ok::<(), bombyx::Error>(())
    /// ```
    pub fn parallelism(&self) -> f64 {
        self.work_ns.max(1) as f64 / self.span_ns.max(1) as f64
    }

    /// The profile as the text of a file. `program` and `arguments` say what ran.
    ///
    /// ```
    /// # let pool = bombyx::Pool::builder().processors(1).profile(true).build()?;
    /// let json = pool.profile().unwrap().to_json("sort", &["--size".into(), "1000".into()]);
    /// assert!(json.starts_with("{\"bombyx_profile\":1,\"program\":\"sort\""));
    /// # Ok::<(), bombyx::Error>(())
    /// ```
    pub fn to_json(&self, program: &str, arguments: &[String]) -> String {
        let mut json = String::new();
        self.write_json(&mut json, program, arguments).unwrap_or_else(|_| unreachable!("a string takes all"));
        json
    }

    fn write_json(&self, out: &mut String, program: &str, arguments: &[String]) -> fmt::Result {
        write!(out, "{{\"bombyx_profile\":1,\"program\":{},\"arguments\":[", Text(program))?;
        list(out, arguments, |out, argument| write!(out, "{}", Text(argument)))?;
        writeln!(
            out,
            "],\n\"interrupted\":{},\"scheduler\":{},\"processors\":{},\"clock\":{},",
            self.interrupted,
            Text(&self.scheduler),
            self.processors,
            Text(self.clock)
        )?;
        let costs = &self.costs;
        writeln!(
            out,
            "\"costs\":{{\"fork_hook_ns\":{:.1},\"fork_ns\":{:.1},\"steal_ns\":{:.0},\"hand_over_ns\":{:.0}}},",
            costs.fork_hook_ns, costs.fork_ns, costs.steal_ns, costs.hand_over_ns
        )?;
        let counts = [
            ("runs", self.runs),
            ("wall_ns", self.wall_ns),
            ("work_ns", self.work_ns),
            ("span_ns", self.span_ns),
            ("burdened_span_ns", self.burdened_span_ns),
            ("blocked_ns", self.blocked_ns),
            ("forks", self.forks),
            ("strands", self.strands),
            ("steals", self.steals),
            ("helps", self.helps),
            ("hand_overs", self.hand_overs),
            ("peak_frames", self.peak_frames as u64),
            ("peak_carriers", self.peak_carriers),
        ];
        for (name, count) in counts {
            write!(out, "\"{name}\":{count},")?;
        }
        match self.peak_heap_bytes {
            Some(bytes) => writeln!(out, "\"peak_heap_bytes\":{bytes},")?,
            None => out.write_str("\"peak_heap_bytes\":null,\n")?,
        }
        if let Some(Usage { cpu_ns, voluntary_switches, involuntary_switches }) = self.usage {
            write!(out, "\"usage\":{{\"cpu_ns\":{cpu_ns},\"voluntary_switches\":{voluntary_switches},")?;
            writeln!(out, "\"involuntary_switches\":{involuntary_switches}}},")?;
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
                "\n{{\"file\":{},\"line\":{},\"column\":{},\"kind\":\"{}\",",
                Text(&site.file),
                site.line,
                site.column,
                site.kind
            )?;
            write!(
                out,
                "\"forks\":{},\"work_ns\":{},\"span_ns\":{},\"strands\":{},\"longest_ns\":{},\"blocked_ns\":{}}}",
                site.forks, site.work_ns, site.span_ns, site.strands, site.longest_ns, site.blocked_ns
            )
        })?;
        out.write_str("]}\n")
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
