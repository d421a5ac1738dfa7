//! The floors of the runtime, and the circles of every crate, read from the sources.
//!
//! A floor is a folder of `crates/bombyx-core/src` that knows only the floors below it. On each floor, and in each
//! crate of the workspace, a circle of modules that need each other may have at most [`LARGEST`] members, because a
//! circle can only be read, tested and replaced as one.
//!
//! No source file is longer than [`LONGEST`] lines. The root of a module with a folder is its `mod.rs`, and begins with
//! a text about the folder, which also says what is not in it. That of a floor names every file and folder there.
//!
//! What counts is what the code names: paths that begin with `crate::`. Comments and unit tests do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// From the ground up. The profiler, the trace and the schedulers are beside each other: none knows another.
const FLOORS: &[&[&str]] =
    &[&["system"], &["protocol"], &["machine"], &["scheduler", "profile", "trace"], &["api"]];

/// The most modules that may need each other in a circle.
const LARGEST: usize = 4;

/// The most lines of a source file.
const LONGEST: usize = 600;

/// Which module names which.
type Graph = BTreeMap<String, BTreeSet<String>>;

/// A source file, by the names of its folders and itself, and the paths in it that begin with `crate::`.
struct File {
    module: Vec<String>,
    named: Vec<Vec<String>>,
}

#[test]
fn each_floor_knows_only_those_below() {
    let level = |module: &str| FLOORS.iter().position(|floor| floor.contains(&module));
    let mut checked = 0;
    for file in files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")) {
        let Some(here) = level(&file.module[0]) else { continue };
        for path in &file.named {
            if path[0] == file.module[0] {
                continue;
            }
            // A name without a floor belongs to the crate's own interface, which is on the top floor.
            let there = level(&path[0]).unwrap_or(FLOORS.len() - 1);
            let path = path.join("::");
            assert!(
                there < here || here == FLOORS.len() - 1,
                "{} names crate::{path}",
                file.module.join("/")
            );
            checked += 1;
        }
    }
    assert!(checked > 100, "the paths were not found: {checked}");
}

#[test]
fn no_large_circle_in_any_crate() {
    for source in sources() {
        let all = files(&source);
        // The crate itself, and each floor of the runtime.
        let mut folders = vec![Vec::new()];
        if source.starts_with(env!("CARGO_MANIFEST_DIR")) {
            folders.extend(FLOORS.iter().copied().flatten().map(|floor| vec![(*floor).to_owned()]));
        }
        for folder in folders {
            for circle in circles(&graph(&all, &folder)) {
                let place = source.join(folder.join("/"));
                assert!(
                    circle.len() <= LARGEST,
                    "a circle of {} in {}: {circle:?}",
                    circle.len(),
                    place.display()
                );
            }
        }
    }
}

#[test]
fn no_file_is_long_and_modules_have_one_style() {
    for path in sources().iter().flat_map(|source| rust_files(source)) {
        let text = fs::read_to_string(&path).unwrap();
        let lines = text.lines().count();
        assert!(lines <= LONGEST, "{} has {lines} lines", path.display());
        let explained = text.starts_with("//!") || text.starts_with("#![doc = include_str!");
        let root = ["mod.rs", "lib.rs", "main.rs"].iter().any(|name| path.ends_with(name));
        assert!(explained || !root, "{} does not say what lives in its folder", path.display());
        let folder = path.with_extension("");
        assert!(!folder.is_dir(), "{} belongs into its folder, as mod.rs", path.display());
    }
}

#[test]
fn every_folder_says_what_is_not_in_it() {
    let mut folders = 0;
    for path in sources().iter().flat_map(|source| rust_files(source)) {
        let root = ["mod.rs", "lib.rs", "main.rs"].iter().any(|name| path.ends_with(name));
        // A folder below `bombyx-workloads/src` holds one program.
        let program = path.to_string_lossy().contains("bombyx-workloads/src") && path.ends_with("mod.rs");
        if !root || program {
            continue;
        }
        let mut text = fs::read_to_string(&path).unwrap();
        if let Some(included) =
            text.strip_prefix("#![doc = include_str!(\"").and_then(|rest| rest.split('"').next())
        {
            text += &fs::read_to_string(path.parent().expect("a folder").join(included)).unwrap();
        }
        assert!(text.contains("**Not here:**"), "{} does not say what is not in its folder", path.display());
        folders += 1;
    }
    assert!(folders > 50, "the folders were not found: {folders}");
}

#[test]
fn the_first_file_of_a_floor_names_every_room() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut rooms = 0;
    for floor in FLOORS.iter().copied().flatten() {
        let floor = source.join(floor);
        let text = fs::read_to_string(floor.join("mod.rs")).unwrap();
        let header: String = text.lines().take_while(|line| line.starts_with("//!")).collect();
        for path in fs::read_dir(&floor).unwrap().map(|entry| entry.unwrap().path()) {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if ["mod.rs", "tests"].contains(&name.as_str()) {
                continue;
            }
            let named = if path.is_dir() { format!("`{name}/") } else { format!("`{name}`") };
            assert!(header.contains(&named), "{}/mod.rs does not name {name}", floor.display());
            rooms += 1;
        }
    }
    assert!(rooms > 90, "the rooms were not found: {rooms}");
}

#[test]
fn a_circle_is_found() {
    let file = |module: &str, named: &[&str]| File {
        module: vec![module.to_owned()],
        named: named.iter().map(|name| vec![(*name).to_owned()]).collect(),
    };
    let files = [file("a", &["b"]), file("b", &["c"]), file("c", &["a", "d"]), file("d", &[])];
    assert_eq!(circles(&graph(&files, &[])), [BTreeSet::from(["a", "b", "c"].map(str::to_owned))]);
    let text =
        "use crate::{a::X, b::{c, d}};\n// crate::no\nlet y = crate::e::f(); \n#[cfg(test)]\nuse crate::g;";
    let named: Vec<String> = named(text).iter().map(|path| path.join("::")).collect();
    assert_eq!(named, ["a::X", "b::c", "b::d", "e::f"]);
}

/// The modules directly in `folder`, and which of them name which.
fn graph(files: &[File], folder: &[String]) -> Graph {
    let depth = folder.len();
    let inside = |path: &[String]| path.len() > depth && path[..depth] == *folder;
    let mut graph = Graph::new();
    for file in files.iter().filter(|file| inside(&file.module)) {
        graph.entry(file.module[depth].clone()).or_default();
    }
    for file in files.iter().filter(|file| inside(&file.module)) {
        let here = &file.module[depth];
        for path in file.named.iter().filter(|path| inside(path)) {
            let there = &path[depth];
            if there != here && graph.contains_key(there) {
                graph.get_mut(here).expect("entered above").insert(there.clone());
            }
        }
    }
    graph
}

/// The sets of two or more modules that all reach each other.
fn circles(graph: &Graph) -> Vec<BTreeSet<String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> = graph
        .keys()
        .map(|start| {
            let mut seen = BTreeSet::new();
            let mut open: Vec<&String> = graph[start].iter().collect();
            while let Some(module) = open.pop() {
                if seen.insert(module) {
                    open.extend(&graph[module]);
                }
            }
            (start, seen)
        })
        .collect();
    let circle = |start: &String| -> BTreeSet<String> {
        reached[start]
            .iter()
            .filter(|other| reached[**other].contains(start))
            .map(|other| (*other).clone())
            .collect()
    };
    let all: BTreeSet<_> = graph.keys().map(circle).filter(|circle| circle.len() > 1).collect();
    all.into_iter().collect()
}

/// The source folders of all crates.
fn sources() -> Vec<PathBuf> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the folder of all crates");
    let mut sources: Vec<PathBuf> =
        fs::read_dir(crates).unwrap().map(|one| one.unwrap().path().join("src")).collect();
    sources.retain(|source| source.is_dir());
    assert!(sources.len() > 5, "the crates were not found: {sources:?}");
    sources
}

/// All files of Rust below a folder.
fn rust_files(source: &Path) -> Vec<PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![source.to_owned()]);
    while let Some(folder) = open.pop() {
        for path in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    found
}

/// The files of a crate's source folder, without its root, models and tests.
fn files(source: &Path) -> Vec<File> {
    let mut found = Vec::new();
    for path in rust_files(source) {
        let relative = path.strip_prefix(source).expect("a file of the folder").with_extension("");
        let mut module: Vec<String> =
            relative.iter().map(|part| part.to_str().expect("plain names").to_owned()).collect();
        if module.len() > 1 && module.last().is_some_and(|last| last == "mod") {
            module.pop();
        }
        let skipped = ["lib", "main", "models", "tests", "compile_fail", "mod"];
        if !module.iter().any(|part| skipped.contains(&part.as_str())) {
            found.push(File { module, named: named(&fs::read_to_string(&path).unwrap()) });
        }
    }
    found
}

/// The paths after `crate::` in a file, with groups in braces taken apart.
fn named(text: &str) -> Vec<Vec<String>> {
    let code: String =
        text.lines().map(|line| line.split("//").next().unwrap_or_default().to_owned() + "\n").collect();
    let tests = ["#[cfg(test)]", "#[cfg(all(test"].iter().filter_map(|mark| code.find(mark)).min();
    let code = &code[..tests.unwrap_or(code.len())];
    let mut paths = Vec::new();
    for (at, mark) in code.match_indices("crate::") {
        // Not `my_crate::`.
        if !code[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_') {
            take_apart(&code[at + mark.len()..], &[], &mut paths);
        }
    }
    paths
}

/// Reads one path, or a group of them, and adds what it names. Returns the rest of the text.
fn take_apart<'a>(text: &'a str, prefix: &[String], paths: &mut Vec<Vec<String>>) -> &'a str {
    let text = text.trim_start();
    if let Some(mut rest) = text.strip_prefix('{') {
        loop {
            rest = take_apart(rest, prefix, paths).trim_start();
            match rest.strip_prefix(',') {
                Some(more) if !more.trim_start().starts_with('}') => rest = more,
                more => return more.unwrap_or(rest).trim_start().trim_start_matches('}'),
            }
        }
    }
    let end = text.find(|part: char| !part.is_alphanumeric() && part != '_').unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let mut path = prefix.to_vec();
    if !name.is_empty() && name != "self" {
        path.push(name.to_owned());
    }
    match rest
        .strip_prefix("::")
        .filter(|more| more.starts_with(|next: char| next.is_alphabetic() || "_{".contains(next)))
    {
        Some(more) => take_apart(more, &path, paths),
        None => {
            if !path.is_empty() {
                paths.push(path);
            }
            rest
        }
    }
}
