//! How advice spells places and figures.

use crate::SiteProfile;

/// `the join in src/sort.rs:41`.
pub(super) fn place(site: &SiteProfile) -> String {
    let what = if site.kind == "rayon" { "rayon call" } else { &site.kind };
    match site.line {
        0 => format!("the {what} in {}", site.file),
        line => format!("the {what} in {}:{line}", site.file),
    }
}

/// The lines between two places: `src/main.rs:40–88`, if both are in one file and in this order.
pub(super) fn range(from: &str, to: &str) -> String {
    let line = |place: &str| {
        let (rest, _column) = place.rsplit_once(':')?;
        let (file, line) = rest.rsplit_once(':')?;
        Some((file.to_owned(), line.parse::<u32>().ok()?))
    };
    match (line(from), line(to)) {
        (Some((file, first)), Some((other, last))) if file == other && first < last => {
            format!("in {file}:{first}–{last}")
        }
        _ => format!("between {from} and {to}"),
    }
}

pub(super) fn count(cores: f64) -> String {
    if cores == 1.0 { "1 core".to_owned() } else { format!("{cores:.0} cores") }
}

pub(super) fn decimal(number: f64) -> String {
    match number {
        ..0.05 => "less than 0.1".to_owned(),
        ..99.95 => format!("{number:.1}"),
        _ => format!("{number:.0}"),
    }
}

pub(super) fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if percent < 9.95 && percent.fract() >= 0.05 {
        format!("{percent:.1} %")
    } else {
        format!("{percent:.0} %")
    }
}

pub(super) fn time(ns: f64) -> String {
    match ns {
        ..999.5 => format!("{ns:.0} ns"),
        ..9_995.0 => format!("{:.1} µs", ns / 1e3),
        ..999_500.0 => format!("{:.0} µs", ns / 1e3),
        ..9_995_000.0 => format!("{:.1} ms", ns / 1e6),
        ..9_995_000_000.0 => format!("{:.0} ms", ns / 1e6),
        _ => format!("{:.0} s", ns / 1e9),
    }
}
