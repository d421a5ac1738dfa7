//! Where results go and in which form: the options `--json`, `--csv` and `-o`, which are the same in all commands. Only
//! this file prints JSON and CSV.

use crate::host::Record;
use crate::table::Style;
use crate::{Result, Usage, files, terminal};
use clap::ValueHint;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// In which form a command prints.
#[derive(clap::Args, Clone, Default)]
pub(crate) struct Form {
    /// Print JSON; `record` in it has command, host and versions
    #[arg(long, conflicts_with = "csv", help_heading = "Output")]
    json: bool,

    /// Print comma-separated values
    #[arg(long, help_heading = "Output")]
    csv: bool,
}

impl Form {
    /// Whether the output is for people.
    pub(crate) fn is_text(&self) -> bool {
        !self.json && !self.csv
    }

    /// Fails if standard output would get what this form prints and the file `other`.
    pub(crate) fn check_beside(&self, other: &Path) -> Result<()> {
        if self.is_text() || !is_standard(other) {
            return Ok(());
        }
        let form = if self.json { "--json" } else { "--csv" };
        Err(Usage(format!("{form} prints to standard output, so -o needs a file other than `-`")).into())
    }

    /// Prints what a program reads. Does nothing if the output is for people.
    pub(crate) fn print(
        &self,
        json: impl FnOnce() -> Result<Value>,
        rows: impl FnOnce() -> Result<Vec<Value>>,
    ) -> Result<()> {
        match self {
            Self { json: true, .. } => terminal::print(&document(json()?)),
            Self { csv: true, .. } => terminal::print(&csv(&rows()?)),
            _ => Ok(()),
        }
    }
}

/// What a command prints, and where.
#[derive(clap::Args, Clone, Default)]
pub(crate) struct Output {
    #[command(flatten)]
    form: Form,

    /// Write to a file; `-` is standard output
    #[arg(short = 'o', long = "output", value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(crate) to: Option<PathBuf>,
}

impl Output {
    /// Whether the output is for people.
    pub(crate) fn is_text(&self) -> bool {
        self.form.is_text()
    }

    /// The file, unless it is standard output.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.to.as_deref().filter(|path| !is_standard(path))
    }

    /// How text is shown there.
    pub(crate) fn style(&self) -> Style {
        if self.file().is_some() { Style::default() } else { terminal::style() }
    }

    /// Prints what was asked for.
    pub(crate) fn show(
        &self,
        text: impl FnOnce(Style) -> Result<String>,
        json: impl FnOnce() -> Result<Value>,
        csv: impl FnOnce() -> Result<String>,
    ) -> Result<()> {
        let text = match self.form {
            Form { json: true, .. } => document(json()?),
            Form { csv: true, .. } => csv()?,
            _ => terminal::fitted(&text(self.style())?, self.style()),
        };
        match self.file() {
            Some(path) => files::write(path, text.as_bytes()),
            None => terminal::print(&text),
        }
    }
}

/// Prints JSON in one line.
pub(crate) fn answer(found: &impl serde::Serialize) -> Result<()> {
    terminal::print(&(serde_json::to_string(found)? + "\n"))
}

/// Prints a line of JSON now and then, for as long as something goes on. The first line has the record.
#[cfg(target_os = "linux")]
#[derive(Default)]
pub(crate) struct Lines {
    begun: bool,
}

#[cfg(target_os = "linux")]
impl Lines {
    pub(crate) fn print(&mut self, found: Value) -> Result<()> {
        let begun = std::mem::replace(&mut self.begun, true);
        answer(&if begun { found } else { recorded(found) })
    }
}

/// Whether a path means standard output.
pub(crate) fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}

/// Reports which of these files cannot be written, before time is spent on their content.
pub(crate) fn check<'a>(files: impl IntoIterator<Item = Option<&'a Path>>) -> Result<()> {
    files.into_iter().flatten().filter(|path| !is_standard(path)).try_for_each(files::expect_to_write)
}

/// Like [`check`], for pictures, whose names say of what kind they are.
pub(crate) fn check_pictures<'a>(files: impl IntoIterator<Item = &'a Option<PathBuf>>) -> Result<()> {
    for path in files.into_iter().flatten().map(PathBuf::as_path).filter(|path| !is_standard(path)) {
        kind(path)?;
        files::expect_to_write(path)?;
    }
    Ok(())
}

/// What a picture can be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Svg,
    Png,
}

fn kind(path: &Path) -> Result<Kind> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("svg") => Ok(Kind::Svg),
        Some("png") => Ok(Kind::Png),
        _ => Err(Usage(format!(
            "the name of a picture must end in .svg or .png, but `{}` does not",
            path.display()
        ))
        .into()),
    }
}

/// Writes a picture, as PNG if the name of the file says so.
pub(crate) fn picture(path: &Path, svg: &str) -> Result<()> {
    if is_standard(path) {
        return terminal::print(svg);
    }
    match kind(path)? {
        Kind::Svg => files::write(path, svg.as_bytes()),
        Kind::Png => files::write(path, &crate::png::of(svg)?),
    }
}

/// A JSON document.
fn document(found: Value) -> String {
    format!("{:#}\n", recorded(found))
}

/// The record first, then what the command found.
fn recorded(found: Value) -> Value {
    let mut whole = Map::new();
    let record = serde_json::to_value(Record::of_this_process()).expect("a record is plain data");
    whole.insert("record".to_owned(), record);
    match found {
        Value::Object(fields) => whole.extend(fields),
        other => {
            whole.insert("results".to_owned(), other);
        }
    }
    Value::Object(whole)
}

/// A line of headings and a line per row. All rows have the same fields.
pub(crate) fn csv(rows: &[Value]) -> String {
    let mut out = String::new();
    for fields in rows.iter().filter_map(Value::as_object) {
        if out.is_empty() {
            out = fields.keys().cloned().collect::<Vec<_>>().join(",") + "\n";
        }
        let cell = |value: &Value| match value {
            Value::Null => String::new(),
            Value::String(text) if text.contains([',', '"', '\n']) => {
                format!("\"{}\"", text.replace('"', "\"\""))
            }
            Value::String(text) => text.clone(),
            Value::Array(several) => several.iter().map(Value::to_string).collect::<Vec<_>>().join("/"),
            number => number.to_string(),
        };
        out += &fields.values().map(cell).collect::<Vec<_>>().join(",");
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        let rows = [json!({ "a": "x", "b": null }), json!({ "a": "1, \"2\"", "b": 0.5 })];
        assert_eq!(csv(&rows), "a,b\nx,\n\"1, \"\"2\"\"\",0.5\n");
    }

    #[test]
    fn every_document_has_the_record() {
        let text = document(json!({ "x": 1 }));
        let value: Value = serde_json::from_str(&text).unwrap();
        assert!(value["record"]["command"].is_string() && value["x"] == 1);
        assert!(text.starts_with("{\n  \"record\""));
    }

    #[test]
    fn pictures_are_svg_or_png() {
        assert!(kind(Path::new("a/b.svg")).is_ok() && kind(Path::new("b.png")).is_ok());
        assert!(kind(Path::new("b.jpg")).is_err() && kind(Path::new("b")).is_err());
    }
}
