//! A profile as text: a dozen lines for people, JSON and CSV for programs.

use crate::table::Style;
use crate::text::{bytes, counted, grouped, ratio, time, wrapped};
use bombyx_profile::{Comparison, Prediction, Profile, Scaling, Times, advise, cilkscale_csv};
use serde_json::{Value, json};
use std::fmt::Write;

/// Nanoseconds, as a time that people can read.
fn ns(time_ns: u64) -> String {
    time(time_ns as f64 / 1e9)
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// One decimal while it matters.
fn parallelism(number: f64) -> String {
    match number {
        ..0.05 => "less than 0.1".to_owned(),
        ..999.95 => format!("{number:.1}"),
        _ => grouped(number as u64),
    }
}

/// The numbers of processors for which speedups are predicted: powers of 2 until more would not help.
pub(super) fn interesting(profile: &Profile) -> Vec<u32> {
    let enough = (2.0 * Scaling::of(profile).parallelism()).min(128.0) as u32;
    let most = enough.max(profile.processors * 2).max(8);
    (0..=16).map(|nth| 1 << nth).take_while(|&processors| processors <= most).collect()
}

fn predictions(profile: &Profile, scaling: &Scaling) -> Vec<Prediction> {
    interesting(profile).into_iter().map(|processors| scaling.predict(processors)).collect()
}

/// What is reported.
pub(super) struct Report<'a> {
    pub(super) profile: &'a Profile,
    pub(super) scaling: &'a Scaling,
    /// The machine's cores.
    pub(super) cores: u32,
    /// What there is to say about the runs.
    pub(super) notes: &'a [String],
}

impl Report<'_> {
    /// The report for people.
    pub(super) fn text(&self, top: usize, explain: bool, style: Style) -> String {
        let Report { profile, scaling, .. } = *self;
        let mut out = String::new();
        let mut line = |name: &str, value: &str| {
            let end = out.len();
            let text = wrapped(&format!("{name:<14}{value}"), style.width.unwrap_or(usize::MAX), 14);
            writeln!(out, "{text}").expect("strings take all text");
            out.truncate(end + out[end..].trim_end().len());
            out.push('\n');
        };
        line("", "");
        line(&head(profile), "");
        for note in self.notes {
            line("note", note);
        }
        line("speedup", &self.speedup());
        line("work", &work(profile));
        line("span", &span(profile));
        line("parallelism", &self.parallelism());
        line("utilisation", &utilisation(profile));
        if profile.peak_frames > 0 || profile.peak_heap_bytes.is_some() || !profile.interrupted {
            line("peak", &peak(profile));
        }
        let mut predictions = self.predictions();
        // As many columns as fit. The last one always stays.
        let fit = style.width.map_or(usize::MAX, |width| (width.saturating_sub(14) / 7).max(2));
        while predictions.len() > fit {
            predictions.remove(predictions.len() - 2);
        }
        if !predictions.is_empty() {
            let columns = |of: &dyn Fn(&Prediction) -> String| -> String {
                predictions.iter().map(|prediction| format!("{:>7}", of(prediction))).collect()
            };
            let speedup = |value: f64| if value < 99.95 { ratio(value) } else { format!("{value:.0}") };
            line("processors", &columns(&|prediction| prediction.processors.to_string()));
            line(
                if scaling.at_least { "  at least" } else { "  likely" },
                &columns(&|prediction| speedup(prediction.band.likely)),
            );
            line("  from", &columns(&|prediction| speedup(prediction.band.from)));
            line("  to", &columns(&|prediction| speedup(prediction.band.to)));
        }
        if explain {
            for prediction in predictions.iter().filter(|prediction| prediction.processors > 1) {
                let name = format!("  on {}", prediction.processors);
                for (nth, reason) in scaling.explain(prediction.processors).iter().enumerate() {
                    line(if nth == 0 { &name } else { "" }, reason);
                }
            }
        }
        let title = if profile.no_run_ended() { "sites" } else { "span by site" };
        for (nth, row) in sites(profile, top).into_iter().enumerate() {
            line(if nth == 0 { title } else { "" }, &row);
        }
        if let Some(hint) = without_lines(profile) {
            line("lines", hint);
        }
        const REASONS: usize = 3;
        for (nth, advice) in advise(profile, self.cores).iter().take(REASONS).enumerate() {
            line(if nth == 0 { "advice" } else { "" }, &advice.to_string());
        }
        out
    }

    /// The speedup, if it was measured.
    fn speedup(&self) -> String {
        let Some(comparison) = Comparison::of(self.profile) else {
            return match self.profile.machine {
                _ if self.profile.interrupted => "not known: the program was interrupted",
                Some(machine) if machine.cpus == 1 => "not known: this process may use only one CPU",
                _ => "not known: that takes a second run, on another number of processors",
            }
            .to_owned();
        };
        let Comparison { one, many } = comparison;
        let growth = comparison.growth();
        let grown = if (0.9..1.1).contains(&growth) {
            String::new()
        } else {
            format!("; there the work is {growth:.2} times that on one")
        };
        format!(
            "{} on {} processors: {} instead of {}{grown}",
            ratio(comparison.speedup()),
            many.processors,
            ns(many.elapsed_ns()),
            ns(one.elapsed_ns())
        )
    }

    /// Whether the profile that predictions rest on has the costs of steals and hand-overs.
    fn knows_migrations(&self) -> bool {
        Comparison::of(self.profile).map_or(self.profile, |comparison| comparison.one).knows_migrations()
    }

    /// The predictions, if enough is known for them. The span of an interrupted program is only what its runs had shown.
    fn predictions(&self) -> Vec<Prediction> {
        if self.profile.interrupted { Vec::new() } else { predictions(self.profile, self.scaling) }
    }

    fn parallelism(&self) -> String {
        if self.profile.no_run_ended() {
            return "not known: no call into a pool had ended".to_owned();
        }
        let [plain, burdened, whole] = [
            self.scaling.parallelism(),
            self.scaling.burdened_parallelism(),
            self.scaling.whole_parallelism(),
        ]
        .map(parallelism);
        let outside = if self.scaling.serial > 0.0 {
            format!("; {whole} with the code outside of pools")
        } else {
            String::new()
        };
        let burdened = if self.knows_migrations() { burdened } else { "not known".to_owned() };
        let at_least = if self.scaling.at_least { "at least " } else { "" };
        format!("{at_least}{plain}; burdened {burdened}{outside}")
    }

    /// Everything, as JSON.
    pub(super) fn json(&self) -> Value {
        let Report { profile, scaling, cores, notes } = *self;
        let comparison = Comparison::of(profile);
        let known = |figure: f64| (!profile.no_run_ended()).then_some(figure);
        json!({
            "parallelism": known(scaling.parallelism()),
            "parallelism_is_at_least_this": scaling.at_least,
            "burdened_parallelism": self.knows_migrations().then(|| scaling.burdened_parallelism()).and_then(known),
            "whole_parallelism": known(scaling.whole_parallelism()),
            "utilisation": profile.share_of_time(|times| times.busy_ns),
            "speedup": comparison.map(|comparison| comparison.speedup()),
            "growth": comparison.map(|comparison| comparison.growth()),
            "grown_sites": comparison.map(|comparison| comparison.sites()),
            "predictions": self.predictions(),
            "advice": advise(profile, cores),
            "notes": notes,
            "profile": super::as_value(profile),
        })
    }

    /// One row for Cilkscale's plotter.
    pub(super) fn csv(&self) -> String {
        let seconds = |profile: &Profile| (profile.processors, profile.wall_ns as f64 / 1e9);
        let mut measured = vec![seconds(self.profile)];
        measured.extend(self.profile.companion.as_deref().map(seconds));
        cilkscale_csv(&self.profile.program, self.scaling, &measured)
    }
}

fn head(profile: &Profile) -> String {
    let mut words = profile.program.clone();
    for argument in &profile.arguments {
        // The report has one line for this, whatever the arguments contain.
        let argument: String =
            argument.chars().map(|c| if c.is_control() { ' ' } else { c }).take(60).collect();
        let _ = write!(words, " {argument}");
    }
    let outside = match profile.outside_ns() {
        0 => String::new(),
        outside => format!(", and {} outside of pools", ns(outside)),
    };
    let runs = if profile.no_run_ended() {
        "a call into a pool that had not ended".to_owned()
    } else {
        match profile.runs {
            1 => "1 call into a pool".to_owned(),
            runs => format!("{} calls into pools", grouped(runs)),
        }
    };
    format!(
        "{words}{}: {} on {}, {runs} in {}{outside}",
        if profile.interrupted { " (interrupted; up to then)" } else { "" },
        profile.scheduler,
        counted(u64::from(profile.processors), "processor"),
        ns(profile.wall_ns)
    )
}

fn work(profile: &Profile) -> String {
    let mut out = format!(
        "{} in {}, {} each; {}, {}, {}",
        ns(profile.work_ns),
        counted(profile.strands, "strand"),
        time(profile.grain_ns() / 1e9),
        counted(profile.forks, "fork"),
        counted(profile.steals, "steal"),
        counted(profile.hand_overs, "hand-over")
    );
    if profile.blocked_ns > 0 {
        let _ = write!(out, "; {} blocked", ns(profile.blocked_ns));
    }
    if profile.asleep_ns() > profile.work_ns / 50 {
        let _ = write!(out, "; {} of the work asleep", ns(profile.asleep_ns()));
    }
    if profile.delayed_ns > profile.work_ns / 50 {
        let _ = write!(out, "; {} without a CPU, not counted", ns(profile.delayed_ns));
    }
    out
}

fn span(profile: &Profile) -> String {
    let plain = ns(profile.span_ns);
    if profile.no_run_ended() {
        return format!("at least {plain}");
    }
    if profile.knows_migrations() {
        let burdened = ns(profile.burdened_span_ns);
        return format!("{plain}; {burdened} with the costs of steals and hand-overs");
    }
    format!(
        "{plain}; what steals and hand-overs cost could not be measured, because other programs kept the CPUs busy"
    )
}

fn utilisation(profile: &Profile) -> String {
    type Use = (&'static str, fn(&Times) -> u64);
    let uses: [Use; 4] = [
        ("search", |times| times.search_ns),
        ("help", |times| times.help_ns),
        ("hand-over", |times| times.hand_over_ns),
        ("idle", |times| times.idle_ns),
    ];
    let Some(busy) = profile.share_of_time(|times| times.busy_ns) else { return "not known".to_owned() };
    let mut out = percent(busy);
    for (nth, (name, of)) in uses.into_iter().enumerate() {
        if let Some(share) = profile.share_of_time(of) {
            let _ = write!(out, "{} {name} {}", if nth == 0 { ";" } else { "," }, percent(share));
        }
    }
    out
}

fn peak(profile: &Profile) -> String {
    let mut out = format!(
        "{}, {}",
        counted(profile.peak_frames, "nested frame"),
        counted(profile.peak_carriers, "carrier")
    );
    if let Some(heap) = profile.peak_heap_bytes {
        let _ = write!(out, ", {} of heap", bytes(heap));
    }
    out
}

/// The sites that make up the span. What is outside all of them has its place among them. As long as no run has ended, what
/// the span consists of is not known.
fn sites(profile: &Profile, top: usize) -> Vec<String> {
    let rows = profile.sites_by_span();
    let width = rows.iter().take(top).map(|site| site.location().chars().count()).max().unwrap_or(0).max(20);
    let mut lines: Vec<(f64, String)> = rows
        .iter()
        .take(top)
        .map(|site| {
            let longest = match site.longest_ns {
                0 => String::new(),
                longest => format!(", the longest strand {}", ns(longest)),
            };
            let line = format!(
                "{:<width$}  {:<8}  {} of {} each{longest}",
                site.location(),
                site.kind,
                counted(site.forks, "fork"),
                time(site.grain_ns() / 1e9)
            );
            (profile.share_of_span(site.span_ns), line)
        })
        .collect();
    let mut out: Vec<String> = if profile.no_run_ended() {
        lines.into_iter().map(|(_, line)| line).collect()
    } else {
        lines.push((profile.serial_share_of_span(), "outside of all forks".to_owned()));
        lines.sort_by(|a, b| b.0.total_cmp(&a.0));
        lines.iter().map(|(share, line)| format!("{:>5.1} %  {line}", 100.0 * share)).collect()
    };
    if rows.len() > top {
        out.push(format!("and {} (--top)", counted((rows.len() - top) as u64, "more site")));
    }
    out
}

/// What to do if only functions are known.
fn without_lines(profile: &Profile) -> Option<&'static str> {
    let unknown = profile.sites.iter().any(|site| site.forks_here() && site.line == 0);
    unknown.then_some(
        "the program has no line tables, so functions stand for lines; CARGO_PROFILE_RELEASE_DEBUG=line-tables-only \
         cargo build --release adds the tables",
    )
}
