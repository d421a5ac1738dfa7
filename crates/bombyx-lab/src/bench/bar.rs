//! A bar: what must hold of a measurement, and whether it does.

use super::case::Case;
use crate::table::{Cell, Style, Table, Tone};
use crate::text;
use serde::Serialize;

/// A limit for a measured quantity.
pub(crate) struct Bar {
    what: String,
    /// `None` if it could not be measured here.
    measured: Option<f64>,
    limit: f64,
    side: Side,
    unit: Unit,
}

/// On which side of the limit it must stay.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    AtMost,
    AtLeast,
}

/// What a bar counts.
enum Unit {
    /// Multiples of another measurement.
    Times(&'static str),
    Seconds,
    Bytes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
/// The outcome of a bar.
pub enum Verdict {
    /// The measured figure is on the right side of the limit.
    Holds,
    /// It is on the wrong side.
    Missed,
    /// There is no figure.
    NotMeasured,
}

/// A bar as written to a file.
#[derive(Serialize)]
pub(crate) struct BarRecord<'a> {
    what: &'a str,
    measured: Option<f64>,
    /// `at-most` or `at-least`.
    side: &'static str,
    limit: f64,
    unit: String,
    verdict: Verdict,
}

impl Bar {
    /// Bombyx takes at most `limit` times as long as another runtime on as many processors.
    pub(crate) fn against(case: &Case, processors: usize, runtime: &'static str, limit: f64) -> Self {
        let what = format!("{}, P = {processors}", case.name);
        Self {
            what,
            measured: case.against(runtime, processors),
            limit,
            side: Side::AtMost,
            unit: Unit::Times(runtime),
        }
    }

    pub(crate) fn times(what: String, measured: Option<f64>, limit: f64, of: &'static str) -> Self {
        Self { what, measured, limit, side: Side::AtMost, unit: Unit::Times(of) }
    }

    pub(crate) fn seconds(what: String, measured: Option<f64>, limit: f64) -> Self {
        Self { what, measured, limit, side: Side::AtMost, unit: Unit::Seconds }
    }

    pub(crate) fn bytes(what: String, measured: Option<u64>, limit: u64) -> Self {
        Self {
            what,
            measured: measured.map(|bytes| bytes as f64),
            limit: limit as f64,
            side: Side::AtMost,
            unit: Unit::Bytes,
        }
    }

    /// A ratio that must not be less.
    pub(crate) fn at_least(what: String, measured: Option<f64>, limit: f64, of: &'static str) -> Self {
        Self { what, measured, limit, side: Side::AtLeast, unit: Unit::Times(of) }
    }

    pub(crate) fn verdict(&self) -> Verdict {
        let holds = |measured: f64| match self.side {
            Side::AtMost => measured <= self.limit,
            Side::AtLeast => measured >= self.limit,
        };
        match self.measured {
            None => Verdict::NotMeasured,
            Some(measured) if holds(measured) => Verdict::Holds,
            Some(_) => Verdict::Missed,
        }
    }

    pub(crate) fn record(&self) -> BarRecord<'_> {
        let unit = match self.unit {
            Unit::Times(of) => format!("times {of}"),
            Unit::Seconds => "seconds".into(),
            Unit::Bytes => "bytes".into(),
        };
        BarRecord {
            what: &self.what,
            measured: self.measured,
            side: if self.side == Side::AtMost { "at-most" } else { "at-least" },
            limit: self.limit,
            unit,
            verdict: self.verdict(),
        }
    }

    fn quantity(&self, value: f64) -> String {
        match self.unit {
            Unit::Times(_) => format!("{value:.3} ×"),
            Unit::Seconds => text::time(value),
            Unit::Bytes => text::bytes(value as u64),
        }
    }

    fn cells(&self) -> [Cell; 4] {
        let limit = self.quantity(self.limit);
        let sign = if self.side == Side::AtMost { '≤' } else { '≥' };
        let bar = match self.unit {
            Unit::Times(of) => format!("{sign} {limit} {of}"),
            Unit::Seconds | Unit::Bytes => format!("{sign} {limit}"),
        };
        let verdict = match self.verdict() {
            Verdict::Holds => Cell::new("holds", Tone::Good),
            Verdict::Missed => Cell::new("MISSED", Tone::Bad),
            Verdict::NotMeasured => Cell::new("not measured", Tone::Faint),
        };
        let measured = self.measured.map_or_else(Cell::none, |value| self.quantity(value).into());
        [self.what.as_str().into(), measured, bar.into(), verdict]
    }
}

/// All bars with their verdicts, and how many hold.
pub(crate) fn table(bars: &[Bar], style: Style) -> String {
    let widest = bars.iter().map(|bar| bar.what.chars().count()).max().unwrap_or(0);
    let table =
        Table::new(style).words("bar", widest).numbers("measured", 10).words("must be", 26).words("", 0);
    let count = |verdict| bars.iter().filter(|bar| bar.verdict() == verdict).count();
    let mut out = table.head();
    bars.iter().for_each(|bar| out += &table.line(bar.cells()));
    out += &table.rule();
    out += &format!("{} of {} bars hold", count(Verdict::Holds), bars.len());
    match count(Verdict::NotMeasured) {
        0 => {}
        n => out += &format!(", {n} could not be measured here"),
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_holds_up_to_its_limit() {
        let verdict = |measured| Bar::times("x".into(), measured, 1.05, "rayon").verdict();
        assert_eq!(verdict(Some(1.05)), Verdict::Holds);
        assert_eq!(verdict(Some(1.051)), Verdict::Missed);
        assert_eq!(verdict(Some(f64::NAN)), Verdict::Missed);
        assert_eq!(verdict(None), Verdict::NotMeasured);
    }

    #[test]
    fn the_table_names_bar_and_verdict() {
        let bars = [
            Bar::seconds("two leaves".into(), Some(0.06), 0.053),
            Bar::bytes("spawns".into(), Some(1 << 20), 32 << 20),
        ];
        let table = table(&bars, false.into());
        assert!(table.contains("two leaves     60.0 ms  ≤ 53.0 ms                   MISSED"), "{table}");
        assert!(table.contains("≤ 32.0 MiB                  holds"), "{table}");
        assert!(table.ends_with("1 of 2 bars hold\n"), "{table}");
    }
}
