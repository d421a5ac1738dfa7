//! A profile as text: a dozen lines for people, JSON and CSV for programs.

use crate::table::Style;
use crate::text::{bytes, grouped, ratio, time, wrapped};
use bombyx_profile::{Prediction, Profile, Scaling, Times, advise, cilkscale_csv};
use serde_json::{Value, json};
use std::fmt::Write;
use std::time::Duration;

/// Nanoseconds, as a time that people can read.
fn ns(time_ns: u64) -> String {
    time(time_ns as f64 / 1e9)
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// One decimal while it matters.
fn parallelism(number: f64) -> String {
    if number < 999.95 { format!("{number:.1}") } else { grouped(number as u64) }
}

/// The numbers of processors for which speedups are predicted: powers of 2 until more would not help.
pub(super) fn interesting(profile: &Profile) -> Vec<u32> {
    let enough = (2.0 * Scaling::of(profile).parallelism()).min(1024.0) as u32;
    let most = enough.max(profile.processors * 2).max(8);
    (0..=16).map(|nth| 1 << nth).take_while(|&processors| processors <= most).collect()
}

fn predictions(profile: &Profile, scaling: &Scaling) -> Vec<Prediction> {
    interesting(profile).into_iter().map(|processors| scaling.predict(processors)).collect()
}

/// The report for people. `elapsed` is the time of the whole program, if it was just run.
pub(super) fn text(
    profile: &Profile,
    scaling: &Scaling,
    cores: u32,
    top: usize,
    elapsed: Option<Duration>,
    style: Style,
) -> String {
    let mut out = String::new();
    let mut line = |name: &str, value: &str| {
        let end = out.len();
        let text = wrapped(&format!("{name:<14}{value}"), style.width.unwrap_or(usize::MAX), 14);
        writeln!(out, "{text}").expect("strings take all text");
        out.truncate(end + out[end..].trim_end().len());
        out.push('\n');
    };
    line("", "");
    line(&head(profile, elapsed), "");
    line("work", &work(profile));
    let burdened = ns(profile.burdened_span_ns);
    line("span", &format!("{}; {burdened} with the costs of steals and hand-overs", ns(profile.span_ns)));
    let (plain, burdened) = (parallelism(scaling.parallelism()), parallelism(scaling.burdened_parallelism()));
    line("parallelism", &format!("{plain}; burdened {burdened}"));
    let busy = ratio(profile.busy_processors());
    line("busy", &format!("{busy} processors on average, which is no speedup{}", shares(profile)));
    line("peak", &peak(profile));
    let mut predictions = predictions(profile, scaling);
    // As many columns as fit. The last one always stays.
    let fit = style.width.map_or(usize::MAX, |width| (width.saturating_sub(14) / 7).max(2));
    while predictions.len() > fit {
        predictions.remove(predictions.len() - 2);
    }
    let columns = |of: &dyn Fn(&Prediction) -> String| -> String {
        predictions.iter().map(|prediction| format!("{:>7}", of(prediction))).collect()
    };
    let speedup = |value: f64| if value < 99.95 { ratio(value) } else { format!("{value:.0}") };
    line("processors", &columns(&|prediction| prediction.processors.to_string()));
    if let Some(contention) = scaling.contention {
        let slower = |what: &str, times: f64| {
            format!("   ({what} {times:.1} times slower on {} cores)", contention.cores)
        };
        let sharing = columns(&|prediction| speedup(prediction.lower_sharing));
        line(
            "  if shared",
            &(sharing + &slower("at least, if cores share all data, which is", contention.sharing)),
        );
        let lower = columns(&|prediction| speedup(prediction.lower));
        line("  at least", &(lower + &slower("if they share none; memory can be", contention.memory)));
    } else {
        line("  at least", &columns(&|prediction| speedup(prediction.lower)));
    }
    line("  likely", &columns(&|prediction| speedup(prediction.likely)));
    line("  at most", &columns(&|prediction| speedup(prediction.upper)));
    if let Some(contention) = scaling.contention {
        let caches = columns(&|prediction| speedup(prediction.upper_caches));
        let faster = format!(
            "   (at most, if caches of their own help: reads got {:.2} times faster on {} cores)",
            contention.caches, contention.cores
        );
        line("  by caches", &(caches + &faster));
    }
    for (nth, row) in sites(profile, top).into_iter().enumerate() {
        line(if nth == 0 { "span by site" } else { "" }, &row);
    }
    const REASONS: usize = 3;
    for (nth, advice) in advise(profile, cores).iter().take(REASONS).enumerate() {
        line(if nth == 0 { "advice" } else { "" }, &advice.to_string());
    }
    out
}

fn head(profile: &Profile, elapsed: Option<Duration>) -> String {
    let mut words = profile.program.clone();
    for argument in &profile.arguments {
        // The report has one line for this, whatever the arguments contain.
        let argument: String =
            argument.chars().map(|c| if c.is_control() { ' ' } else { c }).take(60).collect();
        let _ = write!(words, " {argument}");
    }
    let outside = elapsed.map(|elapsed| elapsed.as_secs_f64() - profile.wall_ns as f64 / 1e9);
    let outside = match outside.filter(|&outside| outside > 0.0) {
        Some(outside) => format!(", and {} outside of pools", time(outside)),
        None => String::new(),
    };
    format!(
        "{words}{}: {} on {} processor{}, {} run{} in {}{outside}",
        if profile.interrupted { " (interrupted; only the runs that had ended)" } else { "" },
        profile.scheduler,
        profile.processors,
        plural(u64::from(profile.processors)),
        grouped(profile.runs),
        plural(profile.runs),
        ns(profile.wall_ns)
    )
}

fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

fn work(profile: &Profile) -> String {
    let mut out = format!(
        "{} in {} strands, {} each; {} forks, {} steals, {} hand-overs",
        ns(profile.work_ns),
        grouped(profile.strands),
        time(profile.grain_ns() / 1e9),
        grouped(profile.forks),
        grouped(profile.steals),
        grouped(profile.hand_overs)
    );
    if profile.blocked_ns > 0 {
        let _ = write!(out, "; {} blocked", ns(profile.blocked_ns));
    }
    out
}

fn shares(profile: &Profile) -> String {
    type Use = (&'static str, fn(&Times) -> u64);
    let uses: [Use; 5] = [
        ("utilisation", |times| times.busy_ns),
        ("search", |times| times.search_ns),
        ("help", |times| times.help_ns),
        ("hand-over", |times| times.hand_over_ns),
        ("idle", |times| times.idle_ns),
    ];
    let mut out = String::new();
    for (nth, (name, of)) in uses.into_iter().enumerate() {
        if let Some(share) = profile.share_of_time(of) {
            let _ = write!(out, "{} {name} {}", if nth == 0 { ";" } else { "," }, percent(share));
        }
    }
    out
}

fn peak(profile: &Profile) -> String {
    let mut out = format!(
        "{} nested frames, {} carrier{}",
        grouped(profile.peak_frames),
        grouped(profile.peak_carriers),
        plural(profile.peak_carriers)
    );
    if let Some(heap) = profile.peak_heap_bytes {
        let _ = write!(out, ", {} of heap", bytes(heap));
    }
    out
}

/// The sites that make up the span. What is outside all of them has its place among them.
fn sites(profile: &Profile, top: usize) -> Vec<String> {
    let rows = profile.sites_by_span();
    let width = rows.iter().take(top).map(|site| site.location().chars().count()).max().unwrap_or(0).max(20);
    let mut lines: Vec<(f64, String)> = rows
        .iter()
        .take(top)
        .map(|site| {
            let line = format!(
                "{:<width$}  {:<8}  {} forks of {} each",
                site.location(),
                site.kind,
                grouped(site.forks),
                time(site.grain_ns() / 1e9)
            );
            (profile.share_of_span(site.span_ns), line)
        })
        .collect();
    lines.push((profile.serial_share_of_span(), "outside of all forks".to_owned()));
    lines.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut out: Vec<String> =
        lines.iter().map(|(share, line)| format!("{:>5.1} %  {line}", 100.0 * share)).collect();
    if rows.len() > top {
        out.push(format!("and {} more sites (--top)", rows.len() - top));
    }
    out
}

/// Everything, as JSON.
pub(super) fn json(profile: &Profile, scaling: &Scaling, cores: u32) -> Value {
    json!({
        "parallelism": scaling.parallelism(),
        "burdened_parallelism": scaling.burdened_parallelism(),
        "busy_processors": profile.busy_processors(),
        "utilisation": profile.share_of_time(|times| times.busy_ns),
        "contention": scaling.contention,
        "predictions": predictions(profile, scaling),
        "advice": advise(profile, cores),
        "profile": super::as_value(profile),
    })
}

/// One row for Cilkscale's plotter.
pub(super) fn csv(profile: &Profile) -> String {
    let measured = (profile.processors, profile.wall_ns as f64 / 1e9);
    cilkscale_csv(&profile.program, &Scaling::of(profile), &[measured])
}
