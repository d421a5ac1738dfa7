//! A computation as text that people can write by hand and read.
//!
//! The text gives the serial execution line by line. The first line is `dag`. Then each line is a strand, given by its
//! weight, or a spawn. The child of a spawn is in the indented lines below it. A strand may wait for threads by their
//! names, or for strands that were given a name with `as`. `#` begins a comment.
//!
//! ```text
//! dag frame=64
//! 3
//! spawn left
//!   20 alloc=100
//!   5 free=100
//! 2
//! spawn right frame=32 at=src/main.rs:7:5
//!   10 as half
//!   12
//! 1
//! 4 wait=half
//! 2 wait=left,right
//! ```
//!
//! - `frame=` on the first line and on a spawn is the size of the thread's frame. Default: 0.
//! - `unit=ns` on the first line says that weights are nanoseconds, not instructions.
//! - `alloc=` and `free=` are bytes that a strand allocates when it begins and frees when it ends.
//! - `at=` is the fork site. Numbers may be written `50k`, `3M`, `1G`.
//!
//! [`mod@crate::format`] is the compact form for large recordings.

use crate::{BuildError, Builder, Computation, SiteId, StrandId, ThreadId, WeightUnit};
use bombyx_base::count;
use std::collections::HashMap;
use std::fmt::{self, Write};

/// Whether bytes begin like the text of a computation, not like a dag file.
pub fn begins(bytes: &[u8]) -> bool {
    let begin = bytes.trim_ascii_start();
    begin.starts_with(b"#") || (begin.starts_with(b"dag") && begin.get(3).is_none_or(u8::is_ascii_whitespace))
}

/// Why a text is not a computation: a line cannot be understood, or a rule of the model is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextError {
    /// Counted from 1. 0 if the error is about the whole text.
    line: usize,
    reason: String,
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.reason),
            line => write!(f, "line {line}: {}", self.reason),
        }
    }
}

impl std::error::Error for TextError {}

/// Reads a computation.
///
/// # Errors
/// If a line cannot be understood, or if the text does not describe a computation. The error names the line.
///
/// ```
/// use bombyx_dag::{Measures, text};
/// let computation = text::read("dag\n1\nspawn a\n  5\n2\n1 wait=a\n")?;
/// assert_eq!(Measures::of(&computation).span, 7);
/// let error = text::read("dag\n1\n2 wait=b\n").unwrap_err();
/// assert_eq!(error.to_string(), "line 3: nothing before this line is called `b`");
/// # Ok::<(), text::TextError>(())
/// ```
pub fn read(text: &str) -> Result<Computation, TextError> {
    let whole = |reason: String| TextError { line: 0, reason };
    let mut lines = text.lines().enumerate().map(|(nth, line)| (nth + 1, uncommented(line)));
    let mut lines = lines.by_ref().filter(|(_, line)| !line.trim().is_empty());
    let (number, head) =
        lines.next().ok_or_else(|| whole("the text is empty; it begins with `dag`".to_owned()))?;
    let mut reader = Reader::new(head).map_err(|reason| TextError { line: number, reason })?;
    for (number, line) in lines {
        let told = reader.line(line);
        let broken = reader.builder.error().map(BuildError::to_string);
        told.and_then(|()| broken.map_or(Ok(()), Err))
            .map_err(|reason| TextError { line: number, reason })?;
    }
    while reader.indents.len() > 1 {
        reader.end();
    }
    reader.builder.build().map_err(|error| whole(error.to_string()))
}

fn uncommented(line: &str) -> &str {
    line.split('#').next().unwrap_or_default()
}

/// What has been read.
struct Reader {
    builder: Builder,
    /// How far the lines of every open thread are indented. Unknown before a thread's first line.
    indents: Vec<Option<usize>>,
    /// The names of the open threads.
    open: Vec<String>,
    /// Names that can be waited for.
    ends: HashMap<String, StrandId>,
    sites: HashMap<String, SiteId>,
}

impl Reader {
    fn new(head: &str) -> Result<Self, String> {
        let mut words = head.split_whitespace();
        if words.next() != Some("dag") {
            return Err("the first line is `dag`, with `frame=` and `unit=` if they matter".to_owned());
        }
        let (mut frame, mut unit) = (0, WeightUnit::Instructions);
        for word in words {
            match word.split_once('=') {
                Some(("frame", value)) => frame = number("frame", value)?,
                Some(("unit", "ns")) => unit = WeightUnit::Nanoseconds,
                Some(("unit", "instructions")) => {}
                _ => return Err(format!("`{word}` is neither `frame=BYTES` nor `unit=ns`")),
            }
        }
        let mut builder = Builder::new(frame);
        builder.weight_unit(unit);
        Ok(Self {
            builder,
            indents: vec![None],
            open: vec![String::new()],
            ends: HashMap::new(),
            sites: HashMap::new(),
        })
    }

    fn line(&mut self, line: &str) -> Result<(), String> {
        let indent = line.len() - line.trim_start().len();
        self.indent(indent)?;
        let mut words = line.split_whitespace();
        match words.next() {
            Some("spawn") => self.spawn(words),
            Some(weight) => self.strand(number("a weight", weight)?, words),
            None => Ok(()),
        }
    }

    /// Ends the threads that are indented further than this line.
    fn indent(&mut self, indent: usize) -> Result<(), String> {
        if let Some(innermost @ None) = self.indents.last_mut() {
            *innermost = Some(indent);
            let depth = self.indents.len();
            let outer = if depth > 1 { self.indents[depth - 2] } else { None };
            return match outer {
                Some(outer) if indent <= outer => {
                    Err("the child of a spawn has no lines; indent them below it".to_owned())
                }
                _ => Ok(()),
            };
        }
        while self.indents.last().is_some_and(|last| last.is_some_and(|last| last > indent))
            && self.indents.len() > 1
        {
            self.end();
        }
        match self.indents.last() {
            Some(Some(last)) if *last == indent => Ok(()),
            _ => Err("this line is indented like none of the threads around it".to_owned()),
        }
    }

    fn end(&mut self) {
        let last = self.builder.end();
        self.indents.pop();
        if let Some(name) = self.open.pop().filter(|name| !name.is_empty()) {
            self.ends.insert(name, last);
        }
    }

    fn spawn<'a>(&mut self, words: impl Iterator<Item = &'a str>) -> Result<(), String> {
        let (mut name, mut frame, mut site) = (String::new(), 0, None);
        for word in words {
            match word.split_once('=') {
                Some(("frame", value)) => frame = number("frame", value)?,
                Some(("at", place)) => {
                    let builder = &mut self.builder;
                    site = Some(*self.sites.entry(place.to_owned()).or_insert_with(|| builder.site(place)));
                }
                None if name.is_empty() => word.clone_into(&mut name),
                _ => return Err(format!("`{word}` is neither a name, nor `frame=BYTES`, nor `at=SITE`")),
            }
        }
        if self.ends.contains_key(&name) || (!name.is_empty() && self.open.contains(&name)) {
            return Err(format!("`{name}` is the name of something else already"));
        }
        match site {
            Some(site) => self.builder.spawn_at(site, frame),
            None => self.builder.spawn(frame),
        };
        self.indents.push(None);
        self.open.push(name);
        Ok(())
    }

    fn strand<'a>(&mut self, weight: u64, mut words: impl Iterator<Item = &'a str>) -> Result<(), String> {
        let strand = self.builder.strand(weight);
        while let Some(word) = words.next() {
            match word.split_once('=') {
                Some(("wait", names)) => {
                    for name in names.split(',') {
                        let end = self.ends.get(name);
                        let end =
                            end.ok_or_else(|| format!("nothing before this line is called `{name}`"))?;
                        self.builder.wait_for(*end);
                    }
                }
                Some(("alloc", value)) => self.builder.allocate(number("alloc", value)?),
                Some(("free", value)) => self.builder.free(number("free", value)?),
                None if word == "as" => {
                    let name = words.next().ok_or("`as` is followed by a name")?;
                    if self.ends.insert(name.to_owned(), strand).is_some() {
                        return Err(format!("`{name}` is the name of something else already"));
                    }
                }
                _ => {
                    return Err(format!(
                        "`{word}` is none of `wait=NAMES`, `alloc=BYTES`, `free=BYTES` and `as NAME`"
                    ));
                }
            }
        }
        Ok(())
    }
}

fn number(what: &str, text: &str) -> Result<u64, String> {
    count(text).ok_or_else(|| format!("{what} must be a whole number below 2^64, but is `{text}`"))
}

/// The most strands that are worth reading as text.
const MOST_STRANDS: usize = 100_000;

/// The computation is too large for text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLargeForText(usize);

impl fmt::Display for TooLargeForText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "text has at most {MOST_STRANDS} strands, and this computation has {}; save a dag file",
            self.0
        )
    }
}

impl std::error::Error for TooLargeForText {}

/// Writes a computation, for [`read`].
///
/// # Errors
/// If it is too large for anybody to read.
///
/// ```
/// use bombyx_dag::{generate::figure1, text};
/// let written = text::write(&figure1(1))?;
/// assert_eq!(text::write(&text::read(&written).unwrap())?, written);
/// # Ok::<(), text::TooLargeForText>(())
/// ```
pub fn write(c: &Computation) -> Result<String, TooLargeForText> {
    if c.strand_count() > MOST_STRANDS {
        return Err(TooLargeForText(c.strand_count()));
    }
    let mut waits: Vec<Vec<StrandId>> = vec![Vec::new(); c.strand_count()];
    for from in c.strands() {
        for to in c.joins_from(from) {
            waits[to.index()].push(from);
        }
    }
    let mut out = String::from("dag");
    if c.frame(c.root()) > 0 {
        let _ = write!(out, " frame={}", c.frame(c.root()));
    }
    if c.weight_unit() == WeightUnit::Nanoseconds {
        out += " unit=ns";
    }
    out.push('\n');
    // In the serial order, ids ascend: a child comes between the strand that spawns it and the next one.
    for strand in c.strands() {
        let thread = c.thread_of(strand);
        let indent = "  ".repeat(c.spawn_depth(thread) as usize);
        let _ = write!(out, "{indent}{}", c.weight(strand));
        if !waits[strand.index()].is_empty() {
            let names: Vec<String> = waits[strand.index()].iter().map(|&from| name(c, from)).collect();
            let _ = write!(out, " wait={}", names.join(","));
        }
        for (what, bytes) in [("alloc", c.allocated(strand)), ("free", c.freed(strand))] {
            if bytes > 0 {
                let _ = write!(out, " {what}={bytes}");
            }
        }
        if !c.joins_from(strand).is_empty() && c.last_strand(thread) != strand {
            let _ = write!(out, " as {}", name(c, strand));
        }
        out.push('\n');
        if let Some(child) = c.child(strand) {
            let _ = write!(out, "{indent}spawn {}", called(child));
            if c.frame(child) > 0 {
                let _ = write!(out, " frame={}", c.frame(child));
            }
            if let Some(site) = c.site(child) {
                let _ = write!(out, " at={}", c.site_name(site).replace(char::is_whitespace, "_"));
            }
            out.push('\n');
        }
    }
    Ok(out)
}

fn called(thread: ThreadId) -> String {
    format!("t{}", thread.index())
}

/// The thread's name if this is its last strand, else the strand's name.
fn name(c: &Computation, strand: StrandId) -> String {
    let thread = c.thread_of(strand);
    if c.last_strand(thread) == strand { called(thread) } else { format!("s{}", strand.index()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::Spec;
    use crate::{Measures, format};

    #[test]
    fn what_is_written_is_read_back() {
        for spec in ["figure1", "fib:6", "random:threads=50", "loop:n=9", "geometric:4", "dnc:depth=3,work=7"]
        {
            let computation = spec.parse::<Spec>().unwrap().build().unwrap();
            let text = write(&computation).unwrap();
            let again = read(&text).unwrap_or_else(|error| panic!("{spec}: {error}\n{text}"));
            let file = |c: &Computation| format::write(c, Vec::new()).unwrap();
            assert_eq!(file(&again), file(&computation), "{spec}");
        }
    }

    #[test]
    fn the_example_is_a_computation() {
        let text = "# two halves\ndag frame=64\n3\nspawn left\n  20 alloc=100\n  5 free=100\n2\n\
                    spawn right frame=32 at=src/main.rs:7:5\n  10 as half\n  12 # the rest\n1\n4 wait=half\n2 wait=left,right\n";
        let computation = read(text).unwrap();
        let measures = Measures::of(&computation);
        assert_eq!((measures.work, computation.thread_count(), computation.join_count()), (59, 3, 3));
        assert_eq!(computation.site_names(), ["src/main.rs:7:5"]);
        assert!(begins(text.as_bytes()) && begins(b"dag\n") && !begins(b"dagger"));
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        for (text, line, words) in [
            ("", 0, "begins with `dag`"),
            ("3\n", 1, "first line is `dag`"),
            ("dag size=3\n", 1, "`size=3`"),
            ("dag\nx\n", 2, "but is `x`"),
            ("dag\n1\nspawn a\n2\n", 4, "has no lines"),
            ("dag\n1\nspawn a\n    2\n  3\n", 5, "indented like none"),
            ("dag\n1 later\n", 2, "`later`"),
            ("dag\n1\nspawn a\n  1\n1\nspawn a\n  1\n1\n", 6, "already"),
            ("dag\n0\n", 2, ""),
            ("dag\n1\nspawn a\n  1\n1\n", 0, ""),
        ] {
            let error = read(text).unwrap_err();
            assert_eq!(error.line, line, "{text:?}: {error}");
            assert!(error.to_string().contains(words), "{text:?}: {error}");
        }
    }
}
