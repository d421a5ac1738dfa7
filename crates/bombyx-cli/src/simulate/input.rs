//! Where the computation comes from: a generator, a dag file, or standard input.

use super::{Make, Result, Usage};
use bombyx_dag::generate::{GENERATORS, Spec, SpecError};
use bombyx_dag::{Computation, Measures, format, made_fully_strict, made_strict, text};
use bombyx_sim::Scheduler;
use std::fmt::Write;
use std::fs::File;
use std::path::Path;

/// A computation, its name and its measures.
pub(super) struct Input {
    pub(super) name: String,
    pub(super) computation: Computation,
    pub(super) measures: Measures,
}

/// Makes or reads the computation that `text` names.
pub(super) fn load(text: &str) -> Result<Input> {
    let path = Path::new(text);
    let (name, computation) = if text == "-" {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut std::io::stdin().lock(), &mut bytes)?;
        ("standard input".to_owned(), parse(&bytes).map_err(|error| format!("standard input: {error}"))?)
    } else if path.is_file() || text.ends_with(".dag") || text.contains('/') {
        return read(path, text);
    } else {
        let spec = text.parse::<Spec>().map_err(|error| match error {
            SpecError::UnknownGenerator(_) => format!("{error}; nor is there a file `{text}`"),
            _ => error.to_string(),
        });
        let spec = spec.map_err(Usage)?;
        (spec.to_string(), spec.build()?)
    };
    Ok(Input::new(name, computation))
}

/// Reads a dag file and calls it `name`.
pub(super) fn read(path: &Path, name: &str) -> Result<Input> {
    let explain = |error: &dyn std::fmt::Display| format!("{name}: {error}");
    let mut file = File::open(path).map_err(|error| explain(&error))?;
    // Text is short. Recordings are large, and are read as they come.
    let mut head = [0; 4];
    let read = std::io::Read::read(&mut file, &mut head).map_err(|error| explain(&error))?;
    let computation = if text::begins(&head[..read]) {
        parse(&std::fs::read(path).map_err(|error| explain(&error))?).map_err(|error| explain(&error))?
    } else {
        std::io::Seek::rewind(&mut file).map_err(|error| explain(&error))?;
        format::read(file).map_err(|error| explain(&error))?
    };
    Ok(Input::new(name.to_owned(), computation))
}

/// A dag file or its text form. The first letters tell which.
fn parse(bytes: &[u8]) -> Result<Computation> {
    if text::begins(bytes) {
        let text = std::str::from_utf8(bytes).map_err(|_| "the text is not UTF-8")?;
        return Ok(text::read(text)?);
    }
    Ok(format::read(bytes)?)
}

impl Input {
    pub(super) fn new(name: String, computation: Computation) -> Self {
        let measures = Measures::of(&computation);
        Self { name, computation, measures }
    }

    /// The computation made strict or fully strict.
    pub(super) fn made(self, class: Make) -> Self {
        let (make, name): (fn(&Computation) -> Computation, _) = match class {
            Make::Strict => (made_strict, "made strict"),
            Make::FullyStrict => (made_fully_strict, "made fully strict"),
        };
        Self::new(format!("{}, {name}", self.name), make(&self.computation))
    }

    /// A note of the recorder that is a number of nanoseconds.
    pub(super) fn noted_ns(&self, key: &str) -> Option<u64> {
        let (_, value) = self.computation.notes().iter().find(|(name, _)| name == key)?;
        value.parse::<f64>().ok().filter(|ns| (0.0..1e12).contains(ns)).map(|ns| ns.round() as u64)
    }
}

/// What `--list` prints.
pub(super) fn list() -> String {
    let mut out = String::from("Generators, with their parameters and defaults:\n");
    let mut line = |text: std::fmt::Arguments<'_>| writeln!(out, "{text}").expect("strings take all text");
    for generator in GENERATORS {
        line(format_args!("\n  {}  {}", generator.name, generator.about));
        for parameter in generator.parameters {
            let setting = format!("{}={}", parameter.name, parameter.default);
            line(format_args!("      {setting:18} {}", parameter.about));
        }
    }
    line(format_args!("\nSchedulers (`bombyx help schedulers` explains them):\n"));
    for spelling in Scheduler::SPELLINGS {
        line(format_args!("  {spelling}"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_are_explained() {
        let error = |text: &str| load(text).err().expect("a mistake").to_string();
        assert!(error("fibb").contains("did you mean `fib`?"));
        assert!(error("fibb").contains("nor is there a file `fibb`"));
        assert!(error("missing.dag").contains("missing.dag: "));
        assert!(error("Cargo.toml").contains("not a dag file"));
    }

    #[test]
    fn the_list_names_everything() {
        let list = list();
        for name in GENERATORS.iter().map(|g| g.name).chain(Scheduler::SPELLINGS.iter().copied()) {
            assert!(list.contains(name), "{name}");
        }
    }
}
