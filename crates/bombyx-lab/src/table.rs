//! Tables for people: columns with a heading and a width, cells with a tone that becomes a colour on a terminal.
//!
//! Widths are settled before the first line, so that lines can be printed as results come in.

use anstyle::{AnsiColor, Style};

/// What a cell says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Plain,
    Good,
    Bad,
    Faint,
    Strong,
}

impl Tone {
    fn style(self) -> Style {
        match self {
            Tone::Plain => Style::new(),
            Tone::Good => AnsiColor::Green.on_default(),
            Tone::Bad => AnsiColor::Red.on_default(),
            Tone::Faint => Style::new().dimmed(),
            Tone::Strong => Style::new().bold(),
        }
    }
}

/// A piece of text and its tone.
#[derive(Clone, Debug)]
pub struct Cell {
    text: String,
    tone: Tone,
}

impl Cell {
    pub fn new(text: impl Into<String>, tone: Tone) -> Self {
        Self { text: text.into(), tone }
    }

    /// What was not measured.
    pub fn none() -> Self {
        Self::new("–", Tone::Faint)
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::new(text, Tone::Plain)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::new(text, Tone::Plain)
    }
}

/// Columns side by side; those of words to the left, those of numbers to the right.
pub struct Table {
    columns: Vec<Column>,
    coloured: bool,
}

struct Column {
    heading: String,
    width: usize,
    words: bool,
}

impl Table {
    pub fn new(coloured: bool) -> Self {
        Self { columns: Vec::new(), coloured }
    }

    /// Adds a column of words.
    pub fn words(mut self, heading: impl Into<String>, width: usize) -> Self {
        self.add(heading.into(), width, true);
        self
    }

    /// Adds a column of numbers.
    pub fn numbers(mut self, heading: impl Into<String>, width: usize) -> Self {
        self.add(heading.into(), width, false);
        self
    }

    fn add(&mut self, heading: String, width: usize, words: bool) {
        let width = width.max(heading.chars().count());
        self.columns.push(Column { heading, width, words });
    }

    /// The line of headings and the rule below it.
    pub fn head(&self) -> String {
        let headings = self.columns.iter().map(|column| Cell::new(&column.heading, Tone::Strong));
        self.line(headings) + &self.rule()
    }

    /// A line across.
    pub fn rule(&self) -> String {
        let width = self.columns.iter().map(|column| column.width + 2).sum::<usize>().saturating_sub(2);
        let rule = Cell::new("─".repeat(width), Tone::Faint);
        let mut out = String::new();
        self.paint(&rule, &mut out);
        out.push('\n');
        out
    }

    /// One line. Text that is wider than its column pushes the rest to the right.
    pub fn line(&self, cells: impl IntoIterator<Item = impl Into<Cell>>) -> String {
        let mut out = String::new();
        for (nth, (column, cell)) in self.columns.iter().zip(cells).enumerate() {
            let cell = cell.into();
            let padding = column.width.saturating_sub(cell.text.chars().count());
            if nth > 0 {
                out.push_str("  ");
            }
            if !column.words {
                out.extend(std::iter::repeat_n(' ', padding));
            }
            self.paint(&cell, &mut out);
            if column.words {
                out.extend(std::iter::repeat_n(' ', padding));
            }
        }
        out.truncate(out.trim_end().len());
        out.push('\n');
        out
    }

    fn paint(&self, cell: &Cell, out: &mut String) {
        let style = if self.coloured { cell.tone.style() } else { Style::new() };
        out.push_str(&format!("{style}{}{style:#}", cell.text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(coloured: bool) -> Table {
        Table::new(coloured).words("name", 6).numbers("time", 8)
    }

    #[test]
    fn words_left_numbers_right() {
        let table = example(false);
        assert_eq!(table.head(), "name        time\n────────────────\n");
        assert_eq!(table.line(["fib", "1.0 s"]), "fib        1.0 s\n");
        assert_eq!(table.line([Cell::from("a µ"), Cell::none()]), "a µ            –\n");
    }

    #[test]
    fn colours_do_not_count_as_width() {
        let plain = example(false).line([Cell::new("fib", Tone::Good), Cell::new("1", Tone::Bad)]);
        let painted = example(true).line([Cell::new("fib", Tone::Good), Cell::new("1", Tone::Bad)]);
        assert_ne!(plain, painted);
        let stripped = painted.replace("\u{1b}[32m", "").replace("\u{1b}[31m", "").replace("\u{1b}[0m", "");
        assert_eq!(stripped, plain);
    }
}
