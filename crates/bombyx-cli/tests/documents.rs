//! What the Markdown documents of the repository point to exists: links, headings, files, examples, commands, options and models.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders with other people's documents, or with none.
const SKIPPED: &[&str] = &["target", "node_modules"];

/// A document: its path, and its text as lines, each with whether it stands in a fenced block.
struct Document {
    path: PathBuf,
    lines: Vec<(bool, String)>,
}

impl Document {
    fn read(path: PathBuf) -> Document {
        let mut fenced = false;
        let mut lines = Vec::new();
        for line in fs::read_to_string(&path).unwrap().lines() {
            let fence = line.trim_start().starts_with("```");
            fenced ^= fence;
            if !fence {
                lines.push((fenced, line.to_owned()));
            }
        }
        assert!(!fenced, "{}: a fenced block without an end", path.display());
        Document { path, lines }
    }

    /// The text outside of fenced blocks, as one: links and code may go on in the next line.
    fn prose(&self) -> String {
        let prose = self.lines.iter().filter(|(fenced, _)| !fenced).map(|(_, line)| line.as_str());
        prose.collect::<Vec<_>>().join("\n")
    }

    /// What stands between backticks.
    fn code(&self) -> Vec<String> {
        let prose = self.prose();
        // An odd number of backticks in a paragraph would turn all that follows inside out.
        let code =
            |paragraph: &str| paragraph.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
        prose.split("\n\n").flat_map(code).map(|code| code.replace('\n', " ")).collect()
    }

    /// The names by which its headings are linked.
    fn anchors(&self) -> BTreeSet<String> {
        let heading = |line: &str| {
            Some(line.trim_start_matches('#'))
                .filter(|rest| rest.len() < line.len() && rest.starts_with(' '))
                .map(slug)
        };
        self.lines.iter().filter(|(fenced, _)| !fenced).filter_map(|(_, line)| heading(line)).collect()
    }

    fn links(&self) -> Vec<String> {
        let prose = self.prose();
        let target = |rest: &str| rest.split_once(')').map(|(target, _)| target.to_owned());
        prose.split("](").skip(1).filter_map(target).collect()
    }
}

/// How a heading is linked: letters and digits in lower case, spaces as hyphens.
fn slug(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the repository").to_owned()
}

fn documents() -> Vec<Document> {
    let mut folders = vec![root()];
    let mut documents = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && !name.starts_with('.') && !SKIPPED.contains(&name.as_str()) {
                folders.push(path);
            } else if path.is_file() && name.ends_with(".md") {
                documents.push(Document::read(path));
            }
        }
    }
    assert!(documents.len() > 15, "{} documents", documents.len());
    documents
}

fn assert_none(wrong: &[String]) {
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn links_lead_somewhere() {
    let mut wrong = Vec::new();
    let mut looked = 0;
    for document in documents() {
        for link in document.links() {
            // Links to items of the code are rustdoc's.
            if link.contains("://") || link.contains("::") || !link.contains(['.', '/', '#']) {
                continue;
            }
            looked += 1;
            let (file, anchor) =
                link.split_once('#').map_or((link.as_str(), None), |(file, anchor)| (file, Some(anchor)));
            let target = if file.is_empty() {
                document.path.clone()
            } else {
                document.path.parent().unwrap().join(file)
            };
            let found = target.exists()
                && anchor.is_none_or(|anchor| Document::read(target.clone()).anchors().contains(anchor));
            if !found {
                wrong.push(format!("{}: {link}", document.path.display()));
            }
        }
    }
    assert!(looked > 50, "{looked} links");
    assert_none(&wrong);
}

#[test]
fn files_that_are_named_exist() {
    let mut wrong = Vec::new();
    let mut looked = 0;
    for document in documents() {
        let fenced = document.lines.iter().filter(|(fenced, _)| *fenced).map(|(_, line)| line.clone());
        for code in document.code().into_iter().chain(fenced) {
            for word in code.split_whitespace() {
                let folders = ["scripts/", "docs/", "crates/", "examples/rayon/", "results/"];
                let named = folders.iter().any(|folder| word.starts_with(folder));
                // A place in a file, or a pattern.
                let word = word.split(':').next().unwrap_or(word).trim_end_matches([',', ';', '.', ')']);
                if !named
                    || word.contains(|c: char| "*…{".contains(c))
                    || word.contains("NAME")
                    || word.contains("PAPER")
                {
                    continue;
                }
                looked += 1;
                if !root().join(word).exists() {
                    wrong.push(format!("{}: {word}", document.path.display()));
                }
            }
        }
    }
    assert!(looked > 50, "{looked} files");
    assert_none(&wrong);
}

/// The words of a command line after `bombyx`, up to a comment or the program that it runs.
fn words(line: &str) -> Option<Vec<String>> {
    let line = line.trim().trim_start_matches("$ ");
    let ours = ["bombyx ", "cargo run --release -- ", "cargo run --profile bench-lto -- "];
    let rest = ours.iter().find_map(|start| line.strip_prefix(start))?;
    let end = |word: &&str| !["--", "#", "|", "&&", ";", ">"].contains(word);
    Some(rest.split_whitespace().take_while(end).map(str::to_owned).collect())
}

#[test]
fn commands_and_options_exist() {
    let mut help: BTreeMap<String, Option<String>> = BTreeMap::new();
    let mut wrong = Vec::new();
    let mut looked = 0;
    for document in documents() {
        let fenced = document.lines.iter().filter(|(fenced, _)| *fenced).map(|(_, line)| line.clone());
        for code in document.code().into_iter().chain(fenced) {
            let Some(words) = words(&code) else { continue };
            let Some(command) = words.first().filter(|word| word.chars().all(|c| c.is_ascii_lowercase()))
            else {
                continue;
            };
            looked += 1;
            let help = help.entry(command.clone()).or_insert_with(|| {
                let output =
                    Command::new(env!("CARGO_BIN_EXE_bombyx")).args([command, "--help"]).output().unwrap();
                output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
            });
            let Some(help) = help else {
                wrong.push(format!("{}: no command `{command}`: {code}", document.path.display()));
                continue;
            };
            let known: BTreeSet<&str> = help.split([' ', ',', '\n', '[', ']', '<', '`']).collect();
            for option in words.iter().skip(1).filter(|word| word.starts_with('-') && word.len() > 1) {
                let option = option.split('=').next().unwrap_or(option);
                if !known.contains(option) {
                    wrong.push(format!("{}: no option {option}: {code}", document.path.display()));
                }
            }
        }
    }
    assert!(looked > 50, "{looked} commands");
    assert_none(&wrong);
}

#[test]
fn every_model_is_listed() {
    let mut models = BTreeSet::new();
    for entry in fs::read_dir(root().join("crates/bombyx-core/src/models")).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        let name = |test: &str| Some(test.split_once("fn ")?.1.split_once('(')?.0.to_owned());
        models.extend(text.split("#[test]").skip(1).filter_map(name));
    }
    assert!(models.len() > 30, "{} models", models.len());
    // A model is a row of words; what else stands between backticks there is a file, a folder or a script.
    let model =
        |code: &String| code.contains('_') && code.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let listed: BTreeSet<_> =
        Document::read(root().join("docs/concurrency.md")).code().into_iter().filter(model).collect();
    assert_eq!(listed, models);
}

/// The value of a row such as `host      AMD EPYC, 2 cores` among the first lines of a record.
fn row<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let value = |line: &'a str| line.strip_prefix(key)?.strip_prefix("  ").map(str::trim);
    text.lines().take(12).find_map(value).filter(|value| !value.is_empty())
}

/// What stands between `(` and `)` after `bombyx VERSION`: the commit.
fn commit(version: &str) -> Option<&str> {
    let commit = version.strip_prefix("bombyx ")?.split_once(" (")?.1.split_once(')')?.0;
    (commit.len() >= 7 && commit.chars().all(|c| c.is_ascii_hexdigit())).then_some(commit)
}

#[test]
fn a_folder_of_records_is_one_run() {
    let mut wrong = Vec::new();
    let mut looked = 0;
    for folder in fs::read_dir(root().join("results")).unwrap().map(|entry| entry.unwrap().path()) {
        if !folder.is_dir() {
            assert_eq!(folder.file_name().unwrap(), "README.md", "{}", folder.display());
            continue;
        }
        let mut runs = BTreeSet::new();
        for file in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            looked += 1;
            match file.extension().and_then(|extension| extension.to_str()) {
                Some("svg") if file.with_extension("txt").exists() => continue,
                Some("txt") => {}
                _ => {
                    wrong.push(format!("{}: neither a text nor the picture of one", file.display()));
                    continue;
                }
            }
            let text = fs::read_to_string(&file).unwrap();
            let missing =
                ["date", "command", "version", "host"].into_iter().filter(|key| row(&text, key).is_none());
            wrong.extend(missing.map(|key| format!("{}: does not begin with a row `{key}`", file.display())));
            let version = row(&text, "version").unwrap_or_default();
            match commit(version) {
                Some(commit) => {
                    _ = runs.insert([commit, row(&text, "command").unwrap_or_default()].join(": "))
                }
                None => wrong.push(format!("{}: no commit in `{version}`", file.display())),
            }
        }
        if runs.len() != 1 {
            wrong.push(format!("{}: not one run but {runs:?}", folder.display()));
        }
    }
    assert!(looked > 50, "{looked} records");
    assert_none(&wrong);
}

#[test]
fn examples_exist() {
    let mut wrong = Vec::new();
    let mut looked = 0;
    for document in documents() {
        let all = document.lines.iter().map(|(_, line)| line.as_str()).collect::<Vec<_>>().join(" ");
        let words: Vec<&str> = all
            .split(|c: char| c.is_whitespace() || "`)".contains(c))
            .filter(|word| !word.is_empty())
            .collect();
        for window in words.windows(4) {
            let ["-p", package, "--example", example] = window else { continue };
            looked += 1;
            let examples = root().join("crates").join(package).join("examples");
            if !examples.join(format!("{example}.rs")).exists() && !examples.join(example).exists() {
                wrong.push(format!("{}: {package} has no example {example}", document.path.display()));
            }
        }
    }
    assert!(looked > 5, "{looked} examples");
    assert_none(&wrong);
}
