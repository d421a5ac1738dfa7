//! Tables for people: columns with a heading and a width, cells with a tone that becomes a colour on a terminal.
//!
//! Widths are fixed before the first line, so lines can be printed as results come in.

use crate::text::wrapped;
use anstyle::AnsiColor;

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
    fn style(self) -> anstyle::Style {
        match self {
            Tone::Plain => anstyle::Style::new(),
            Tone::Good => AnsiColor::Green.on_default(),
            Tone::Bad => AnsiColor::Red.on_default(),
            Tone::Faint => anstyle::Style::new().dimmed(),
            Tone::Strong => anstyle::Style::new().bold(),
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

    /// For a value that was not measured.
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

/// How text is shown: with or without colours, and how many letters wide.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    /// Whether tones become colours.
    pub coloured: bool,
    /// The width of the terminal, or `None` if lines may have any length.
    pub width: Option<usize>,
}

impl Style {
    /// The width of prose.
    pub fn prose(self) -> usize {
        const WIDEST: usize = 112;
        self.width.unwrap_or(WIDEST).min(WIDEST)
    }
}

/// A style of unlimited width.
impl From<bool> for Style {
    fn from(coloured: bool) -> Self {
        Self { coloured, width: None }
    }
}

/// Columns side by side, words to the left and numbers to the right.
///
/// A table that is wider than the terminal first leaves out its extra columns, from the right. Then it shortens its
/// words, and then it leaves out other columns. [`left_out`](Self::left_out) names them.
pub struct Table {
    columns: Vec<Column>,
    style: Style,
}

struct Column {
    heading: String,
    width: usize,
    words: bool,
    extra: bool,
}

/// Words are not made shorter than this.
const SHORTEST: usize = 10;

impl Table {
    /// Without columns.
    pub fn new(style: impl Into<Style>) -> Self {
        Self { columns: Vec::new(), style: style.into() }
    }

    /// Adds a column of words.
    pub fn words(self, heading: impl Into<String>, width: usize) -> Self {
        self.with(heading.into(), width, true)
    }

    /// Adds a column of numbers.
    pub fn numbers(self, heading: impl Into<String>, width: usize) -> Self {
        self.with(heading.into(), width, false)
    }

    /// Marks the last column as one to leave out first when there is little room.
    pub fn extra(mut self) -> Self {
        if let Some(column) = self.columns.last_mut() {
            column.extra = true;
        }
        self
    }

    fn with(mut self, heading: String, width: usize, words: bool) -> Self {
        let width = width.max(heading.chars().count());
        self.columns.push(Column { heading, width, words, extra: false });
        self
    }

    /// The width of every column, or `None` for columns that are left out.
    fn layout(&self) -> Vec<Option<usize>> {
        let mut layout: Vec<Option<usize>> = self.columns.iter().map(|column| Some(column.width)).collect();
        let Some(limit) = self.style.width else { return layout };
        let excess = |layout: &[Option<usize>]| {
            let total: usize = layout.iter().flatten().map(|width| width + 2).sum();
            total.saturating_sub(limit + 2)
        };
        for nth in (0..self.columns.len()).rev().filter(|&nth| self.columns[nth].extra) {
            if excess(&layout) > 0 {
                layout[nth] = None;
            }
        }
        for nth in (0..self.columns.len()).filter(|&nth| self.columns[nth].words) {
            let excess = excess(&layout);
            layout[nth] = layout[nth].map(|width| width.saturating_sub(excess).max(width.min(SHORTEST)));
        }
        for nth in (1..self.columns.len()).rev() {
            if excess(&layout) > 0 {
                layout[nth] = None;
            }
        }
        layout
    }

    /// Names the columns for which there was no room, if any.
    pub fn left_out(&self) -> Option<String> {
        let hidden = self.layout().into_iter().zip(&self.columns).filter(|(width, _)| width.is_none());
        let names: Vec<&str> = hidden.map(|(_, column)| column.heading.as_str()).collect();
        (!names.is_empty()).then(|| {
            let text =
                format!("No room for {}: widen the terminal, or use --csv or --json.", names.join(", "));
            wrapped(&text, self.style.prose(), 0) + "\n"
        })
    }

    /// The line of headings and the rule below it.
    pub fn head(&self) -> String {
        let headings = self.columns.iter().map(|column| Cell::new(&column.heading, Tone::Strong));
        self.line(headings) + &self.rule()
    }

    /// A line across.
    pub fn rule(&self) -> String {
        let width = self.layout().iter().flatten().map(|width| width + 2).sum::<usize>().saturating_sub(2);
        let rule = Cell::new("─".repeat(width), Tone::Faint);
        let mut out = String::new();
        self.paint(&rule, &mut out);
        out.push('\n');
        out
    }

    /// One line. A number that is wider than its column pushes the rest to the right.
    pub fn line(&self, cells: impl IntoIterator<Item = impl Into<Cell>>) -> String {
        let mut out = String::new();
        for ((column, width), cell) in self.columns.iter().zip(self.layout()).zip(cells) {
            let Some(width) = width else { continue };
            let mut cell = cell.into();
            if width < column.width && cell.text.chars().count() > width {
                cell.text = cell.text.chars().take(width - 1).chain(['…']).collect();
            }
            let padding = width.saturating_sub(cell.text.chars().count());
            if !out.is_empty() {
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
        let style = if self.style.coloured { cell.tone.style() } else { anstyle::Style::new() };
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

    #[test]
    fn tables_fit_the_terminal() {
        let table = |width| {
            Table::new(Style { coloured: false, width })
                .words("name", 20)
                .numbers("time", 8)
                .numbers("heap", 6)
                .extra()
                .numbers("threads", 7)
                .extra()
        };
        let cells = ["a name of many letters", "1.0 s", "12", "3"];
        for (width, line) in [
            (None, "a name of many letters     1.0 s      12        3\n"),
            (Some(40), "a name of many letters     1.0 s      12\n"),
            (Some(30), "a name of many letters     1.0 s\n"),
            (Some(20), "a name of…     1.0 s\n"),
            (Some(12), "a name of…\n"),
        ] {
            assert_eq!(table(width).line(cells), line, "{width:?}");
        }
        assert_eq!(table(None).left_out(), None);
        let left_out = table(Some(30)).left_out().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(left_out.starts_with("No room for heap, threads: "), "{left_out}");
    }
}
