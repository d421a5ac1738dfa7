//! What can be reproduced, and what a reproduction is: tables with the paper's figures beside ours, what agrees, what
//! does not and why, and a plot.

use super::lab::Lab;
use crate::Result;
use crate::table::{Cell, Table, Tone};
use serde_json::{Value, json};

/// A figure or table of a paper.
pub(super) struct Exhibit {
    /// Paper, kind and number: `001-figure-8`.
    pub(super) id: &'static str,
    /// What it shows.
    pub(super) about: &'static str,
    pub(super) make: fn(&Lab) -> Result<Page>,
}

/// A reproduction.
pub(super) struct Page {
    /// How our figures came about: measured or simulated, on how many processors, on what.
    pub(super) method: String,
    pub(super) sheets: Vec<Sheet>,
    pub(super) agrees: String,
    /// What does not agree, and why.
    pub(super) differs: String,
    /// An SVG document.
    pub(super) plot: String,
}

impl Page {
    /// For a terminal.
    pub(super) fn text(&self, exhibit: &Exhibit, coloured: bool) -> String {
        let bold = if coloured { anstyle::Style::new().bold() } else { anstyle::Style::new() };
        let mut out = format!("{bold}{}{bold:#}: {}\n{}\n", exhibit.id, exhibit.about, self.method);
        for sheet in &self.sheets {
            out.push('\n');
            out += &sheet.text(coloured);
        }
        out += &format!("\nAgrees:  {}\nDiffers: {}\n", self.agrees, self.differs);
        out
    }

    pub(super) fn json(&self, exhibit: &Exhibit) -> Value {
        json!({
            "id": exhibit.id,
            "about": exhibit.about,
            "method": self.method,
            "tables": self.sheets.iter().map(Sheet::json).collect::<Vec<_>>(),
            "agrees": self.agrees,
            "differs": self.differs,
        })
    }
}

/// A table whose columns are as wide as what stands in them.
pub(super) struct Sheet {
    title: String,
    headings: Vec<String>,
    rows: Vec<Vec<Value>>,
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
        }
    }

    pub(super) fn row(&mut self, cells: Vec<Value>) {
        assert_eq!(cells.len(), self.headings.len(), "{}: a row has as many cells as headings", self.title);
        self.rows.push(cells);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    fn text(&self, coloured: bool) -> String {
        let shown: Vec<Vec<String>> =
            self.rows.iter().map(|row| row.iter().map(show).collect::<Vec<_>>()).collect();
        let mut table = Table::new(coloured);
        for (nth, heading) in self.headings.iter().enumerate() {
            let width = shown.iter().map(|row| row[nth].chars().count()).max().unwrap_or(0);
            let is_word = |cell: &Value| cell.as_str().is_some_and(|text| !text.starts_with(['+', '-']));
            let words = self.rows.iter().any(|row| is_word(&row[nth]));
            table = if words { table.words(heading, width) } else { table.numbers(heading, width) };
        }
        let mut out = if self.title.is_empty() { String::new() } else { format!("{}\n", self.title) };
        out += &table.head();
        for row in &shown {
            out += &table.line(row.iter().map(|text| match text.as_str() {
                "–" => Cell::new(text, Tone::Faint),
                _ => Cell::from(text.as_str()),
            }));
        }
        out
    }

    fn json(&self) -> Value {
        json!({ "title": self.title, "headings": self.headings, "rows": self.rows })
    }
}

/// Whole numbers with grouped digits, others with two decimals.
fn show(value: &Value) -> String {
    match value {
        Value::Null => "–".to_owned(),
        Value::String(text) => text.clone(),
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

/// How much more `ours` is than `base`, in per cent.
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
            sheet.text(false),
            "a title\nname         n\n──────────────\nfib     12,345\nmatmul       –\n"
        );
        assert_eq!(sheet.json()["rows"][0][1], 12345);
    }

    #[test]
    fn percentages_have_a_sign() {
        assert_eq!(percent(Some(over(1.1, 1.0))), "+10.0");
        assert_eq!(percent(None), Value::Null);
    }
}
