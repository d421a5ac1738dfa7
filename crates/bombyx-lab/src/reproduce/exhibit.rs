//! What can be reproduced, and what a reproduction is: tables with the paper's figures beside ours, what agrees, what
//! does not and why, and a plot.

use super::lab::Lab;
use crate::Result;
use crate::bench::case::Entry;
use crate::resources::Memory;
use crate::table::{Cell, Style, Table, Tone};
use crate::text::wrapped;
use serde_json::{Value, json};

/// A figure or table of a paper.
pub struct Exhibit {
    /// Paper, kind and number: `dfd-figure-8`.
    pub id: &'static str,
    /// What it shows.
    pub about: &'static str,
    pub make: fn(&Lab) -> Result<Page>,
}

/// A reproduction.
pub struct Page {
    /// How our figures were obtained: measured or simulated, on how many processors, on what.
    pub(super) method: String,
    pub(super) sheets: Vec<Sheet>,
    pub(super) agrees: String,
    /// What does not agree, and why.
    pub(super) differs: String,
    /// An SVG document.
    pub plot: String,
}

impl Page {
    /// For a terminal.
    pub fn text(&self, exhibit: &Exhibit, style: Style) -> String {
        let bold = if style.coloured { anstyle::Style::new().bold() } else { anstyle::Style::new() };
        let method = wrapped(&self.method, style.prose(), 0);
        let head = wrapped(&format!("{}: {}", exhibit.id, exhibit.about), style.prose(), 0);
        let head = head.replacen(exhibit.id, &format!("{bold}{}{bold:#}", exhibit.id), 1);
        let mut out = format!("{head}\n{method}\n");
        for sheet in &self.sheets {
            out.push('\n');
            out += &sheet.text(style);
        }
        if self.sheets.iter().any(|sheet| sheet.space) {
            out += &(wrapped(SPACE_LEGEND, style.prose(), 0) + "\n");
        }
        for (what, text) in [("\nAgrees:  ", &self.agrees), ("Differs: ", &self.differs)] {
            out += &(wrapped(&format!("{what}{text}"), style.prose(), 9) + "\n");
        }
        out
    }

    pub fn json(&self, exhibit: &Exhibit) -> Value {
        json!({
            "id": exhibit.id,
            "about": exhibit.about,
            "method": self.method,
            "tables": self.sheets.iter().map(Sheet::json).collect::<Vec<_>>(),
            "agrees": self.agrees,
            "differs": self.differs,
        })
    }

    /// One row for each figure of its tables: where it stands, and what it is.
    pub fn rows(&self, exhibit: &Exhibit) -> Vec<Value> {
        let sheets = self.sheets.iter().flat_map(|sheet| {
            sheet.rows.iter().flat_map(move |row| {
                let cells = sheet.headings.iter().zip(row).skip(1);
                cells.map(move |(heading, value)| {
                    json!({
                        "exhibit": exhibit.id,
                        "table": sheet.title,
                        "row": row[0],
                        "column": heading,
                        "value": value,
                    })
                })
            })
        });
        sheets.collect()
    }
}

/// A table whose columns are as wide as their content.
pub(super) struct Sheet {
    title: String,
    headings: Vec<String>,
    rows: Vec<Vec<Value>>,
    /// Whether it shows memory, so that the page explains how.
    space: bool,
}

/// Headings of a [`Space`], one column per figure.
const SPACE: [&str; 4] = ["heap", "RSS", "carr", "thr"];
const SPACE_LEGEND: &str = "\
heap, RSS: peaks of heap memory above the inputs and of resident memory, MiB; carr: most carriers (OS threads of the pool); thr: most living threads (of the papers); –: not counted (rayon, private deques and long runs).";

/// How much memory the runs of one scheduler on one benchmark took.
#[derive(Clone, Copy, Default)]
pub(super) struct Space {
    pub(super) memory: Option<Memory>,
    /// The most carriers at a time.
    pub(super) carriers: Option<u64>,
    /// The most living threads at a time.
    pub(super) threads: Option<u64>,
}

impl Space {
    pub(super) fn of(entry: Option<&Entry>) -> Self {
        entry.map_or_else(Self::default, |entry| Self {
            memory: entry.memory(),
            carriers: entry.peak_carriers(),
            threads: entry.threads,
        })
    }

    /// A cell for each of the headings that [`Sheet::with_space`] adds.
    pub(super) fn cells(self) -> [Value; 4] {
        [
            mebibytes(self.memory.map(|memory| memory.heap)),
            mebibytes(self.memory.and_then(|memory| memory.resident)),
            self.carriers.into(),
            self.threads.into(),
        ]
    }

    /// All four in one cell, for [`Sheet::spaces`].
    pub(super) fn cell(self) -> Value {
        self.cells().to_vec().into()
    }
}

/// A value of a sheet: a number, or a word, or nothing.
pub(super) fn none() -> Value {
    Value::Null
}

impl Sheet {
    /// The first column holds words, the others numbers.
    pub(super) fn new(title: impl Into<String>, headings: &[&str]) -> Self {
        Self {
            title: title.into(),
            headings: headings.iter().map(|heading| (*heading).to_owned()).collect(),
            rows: Vec::new(),
            space: false,
        }
    }

    /// Adds columns for the memory of each row's run.
    pub(super) fn with_space(mut self) -> Self {
        self.headings.extend(SPACE.map(String::from));
        self.space = true;
        self
    }

    /// A sheet on the memory of several schedulers: after the words, a column for each, with one cell per run.
    pub(super) fn spaces(words: &[&str], schedulers: &[&str]) -> Self {
        let title = format!("Memory of these runs: {}", SPACE.join("/"));
        Self { space: true, ..Self::new(title, &[words, schedulers].concat()) }
    }

    pub(super) fn row(&mut self, cells: Vec<Value>) {
        assert_eq!(cells.len(), self.headings.len(), "{}: a row has as many cells as headings", self.title);
        self.rows.push(cells);
    }

    /// As text, in as many tables one below the other as the width needs, each with the first column.
    fn text(&self, style: Style) -> String {
        let shown: Vec<Vec<String>> =
            self.rows.iter().map(|row| row.iter().map(show).collect::<Vec<_>>()).collect();
        let width = |nth: usize| {
            let cells = shown.iter().map(|row| row[nth].chars().count());
            cells.chain([self.headings[nth].chars().count()]).max().unwrap_or(0)
        };
        let mut parts: Vec<Vec<usize>> = Vec::new();
        let mut used = usize::MAX;
        for nth in 1..self.headings.len() {
            if style.width.is_some_and(|limit| used.saturating_add(width(nth) + 2) > limit)
                || parts.is_empty()
            {
                parts.push(vec![0]);
                used = width(0);
            }
            used += width(nth) + 2;
            parts.last_mut().expect("there is a part").push(nth);
        }
        let title = match self.title.as_str() {
            "" => String::new(),
            title => wrapped(title, style.prose(), 0) + "\n",
        };
        let tables = parts.iter().map(|columns| {
            let mut table = Table::new(style.coloured);
            for &nth in columns {
                let is_word = |cell: &Value| cell.as_str().is_some_and(|text| !text.starts_with(['+', '-']));
                let words = self.rows.iter().any(|row| is_word(&row[nth]));
                let heading = &self.headings[nth];
                table =
                    if words { table.words(heading, width(nth)) } else { table.numbers(heading, width(nth)) };
            }
            let mut out = table.head();
            for row in &shown {
                out += &table.line(columns.iter().map(|&nth| match row[nth].as_str() {
                    "–" => Cell::new("–", Tone::Faint),
                    text => Cell::from(text),
                }));
            }
            out
        });
        title + &tables.collect::<Vec<_>>().join("\n")
    }

    fn json(&self) -> Value {
        json!({ "title": self.title, "headings": self.headings, "rows": self.rows })
    }
}

/// Whole numbers with grouped digits, others with two decimals. Several figures in one cell have at most three digits.
fn show(value: &Value) -> String {
    match value {
        Value::Null => "–".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(several) => {
            let figure = |value: &Value| match value.as_f64().filter(|_| !value.is_u64()) {
                Some(real) => crate::text::three_digits(real),
                None => show(value),
            };
            several.iter().map(figure).collect::<Vec<_>>().join("/")
        }
        Value::Number(number) => match (number.as_u64(), number.as_f64()) {
            (Some(whole), _) => crate::text::grouped(whole),
            (None, Some(real)) if real.abs() >= 1000.0 => crate::text::grouped(real.round() as u64),
            (None, Some(real)) => crate::text::ratio(real),
            (None, None) => number.to_string(),
        },
        other => other.to_string(),
    }
}

/// A percentage with its sign, as the papers print them.
pub(super) fn percent(value: Option<f64>) -> Value {
    value.map_or(Value::Null, |value| format!("{value:+.1}").into())
}

/// By how many per cent `ours` is more than `base`.
pub(super) fn over(ours: f64, base: f64) -> f64 {
    (ours / base - 1.0) * 100.0
}

/// A count of memory in MiB.
pub(super) fn mebibytes(bytes: Option<u64>) -> Value {
    bytes.map_or(Value::Null, |bytes| json!(bytes as f64 / f64::from(1 << 20)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sheet_is_as_wide_as_its_cells() {
        let mut sheet = Sheet::new("a title", &["name", "n"]);
        sheet.row(vec!["fib".into(), json!(12345)]);
        sheet.row(vec!["matmul".into(), none()]);
        assert_eq!(
            sheet.text(false.into()),
            "a title\nname         n\n──────────────\nfib     12,345\nmatmul       –\n"
        );
        assert_eq!(sheet.json()["rows"][0][1], 12345);
    }

    #[test]
    fn memory_stands_in_four_columns_or_in_one_cell() {
        let space = Space {
            memory: Some(Memory { heap: 3 << 19, resident: Some(123 << 20), growth: None }),
            carriers: Some(3),
            threads: None,
        };
        let mut sheet = Sheet::new("", &["name"]).with_space();
        sheet.row([vec!["fib".into()], space.cells().to_vec()].concat());
        assert_eq!(sheet.text(false.into()).lines().last(), Some("fib   1.50  123.00     3    –"));
        let mut sheet = Sheet::spaces(&["name"], &["WS", "rayon"]);
        sheet.row(vec!["fib".into(), space.cell(), Space::default().cell()]);
        assert_eq!(sheet.text(false.into()).lines().last(), Some("fib   1.50/123/3/–  –/–/–/–"));
    }

    #[test]
    fn percentages_have_a_sign() {
        assert_eq!(percent(Some(over(1.1, 1.0))), "+10.0");
        assert_eq!(percent(None), Value::Null);
    }
}
