//! `bombyx reproduce`: figures and tables of the papers, with the paper's figures beside ours.
//!
//! This file is the command line; [`exhibit`] says what a reproduction is, [`lab`] makes the runs, [`seed`] holds what
//! the papers print; [`bl`], [`dfd`], [`rw`] and [`het`] are the exhibits, [`plot`] draws them.

mod bl;
mod dfd;
mod exhibit;
mod het;
mod lab;
mod plot;
mod rw;
mod seed;
mod verdict;

use crate::host::Record;
use crate::terminal::{coloured, print};
use crate::{Result, files};
use clap::ValueHint;
use exhibit::Exhibit;
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;

/// Reproduce figures and tables of the papers.
///
/// Without an ID: lists what can be reproduced. What needs more processors than this machine has runs in the simulator,
/// on recordings of the same workloads, and says so.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  bombyx reproduce                       the list
  bombyx reproduce dfd-figure-8          one figure; its plot goes to reproduced/dfd-figure-8.svg
  bombyx reproduce rw -o results/today  all of one paper
  bombyx reproduce all --quick           a look at everything, on small inputs

Quote only figures of the profile bench-lto: `cargo run --profile bench-lto -- reproduce all`.")]
pub struct Args {
    /// What to reproduce: an ID, a paper (bl, dfd, rw, het), or all
    #[arg(value_name = "ID", value_parser = select)]
    ids: Vec<Selection>,

    /// Small inputs and few runs: for a look, figures not worth quoting
    #[arg(long)]
    quick: bool,

    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,

    /// Folder for plots, tables and JSON; made if it does not exist
    #[arg(short, long, value_name = "DIR", default_value = "reproduced", value_hint = ValueHint::DirPath)]
    output: PathBuf,

    /// Keep the runs of the rw exhibits in this file, and do not make again those that it holds: so a long reproduction can be
    /// ended and taken up again
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    journal: Option<PathBuf>,
}

/// Everything that can be reproduced, paper by paper.
fn exhibits() -> impl Iterator<Item = &'static Exhibit> {
    bl::EXHIBITS.iter().chain(dfd::EXHIBITS).chain(rw::EXHIBITS).chain(het::EXHIBITS)
}

#[derive(Clone)]
struct Selection(Vec<&'static str>);

/// The short name of its paper.
fn paper_of(exhibit: &Exhibit) -> &'static str {
    exhibit.id.split_once('-').map_or(exhibit.id, |(paper, _)| paper)
}

fn select(name: &str) -> std::result::Result<Selection, String> {
    let chosen = |exhibit: &&Exhibit| name == "all" || exhibit.id == name || paper_of(exhibit) == name;
    let ids: Vec<_> = exhibits().filter(chosen).map(|exhibit| exhibit.id).collect();
    if !ids.is_empty() {
        return Ok(Selection(ids));
    }
    let near = exhibits().min_by_key(|exhibit| strsim::damerau_levenshtein(exhibit.id, name));
    let near = near.map_or("", |exhibit| exhibit.id);
    Err(format!("there is no exhibit `{name}`; did you mean {near}? `bombyx reproduce` lists them"))
}

pub fn run(args: &Args) -> Result<ExitCode> {
    if args.ids.is_empty() {
        print(&list())?;
        return Ok(ExitCode::SUCCESS);
    }
    std::fs::create_dir_all(&args.output)
        .map_err(|error| format!("cannot make the folder {}: {error}", args.output.display()))?;
    let record = Record::of_this_process();
    let lab = lab::Lab::new(args.quick).with_journal(args.journal.clone())?;
    if !args.json {
        print(&format!("{}\n", record.line()))?;
    }
    let mut documents = Vec::new();
    let chosen = |exhibit: &&Exhibit| args.ids.iter().any(|ids| ids.0.contains(&exhibit.id));
    for exhibit in exhibits().filter(chosen) {
        let page = (exhibit.make)(&lab).map_err(|error| format!("{}: {error}", exhibit.id))?;
        let file = |extension: &str| args.output.join(format!("{}.{extension}", exhibit.id));
        let text = page.text(exhibit, false);
        let document = json!({ "record": record, "quick": args.quick, "exhibit": page.json(exhibit) });
        files::write(&file("svg"), page.plot.as_bytes())?;
        files::write(&file("txt"), format!("{}\n\n{text}", record.line()).as_bytes())?;
        files::write(&file("json"), format!("{document:#}\n").as_bytes())?;
        if args.json {
            documents.push(document);
        } else {
            print(&format!("\n{}Plot:    {}\n", page.text(exhibit, coloured()), file("svg").display()))?;
        }
    }
    if args.json {
        print(&format!("{:#}\n", serde_json::Value::from(documents)))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn list() -> String {
    let mut out = String::new();
    for (paper, name) in [
        ("bl", "Blumofe and Leiserson, scheduling by work stealing"),
        ("dfd", "Narlikar, scheduling threads for low space and good locality"),
        ("rw", "Acar, Charguéraud, Muller and Rainey, no atomic read-modify-write"),
        ("het", "Bender and Rabin, processors of different speeds"),
    ] {
        out += &format!("{}{paper}: {name}\n", if out.is_empty() { "" } else { "\n" });
        for exhibit in exhibits().filter(|exhibit| paper_of(exhibit) == paper) {
            out += &format!("  {:16}{}\n", exhibit.id, exhibit.about);
        }
    }
    out += "\nA paper's short name stands for all of its exhibits, `all` for all of them.\n";
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_papers_and_typos() {
        assert_eq!(select("rw-table-1").unwrap().0, ["rw-table-1"]);
        assert_eq!(select("dfd").unwrap().0.len(), 15);
        assert_eq!(select("all").unwrap().0.len(), exhibits().count());
        assert!(select("dfd-figur-13").err().unwrap().contains("did you mean dfd-figure-13?"));
    }

    #[test]
    fn the_list_names_everything_once() {
        let list = list();
        for exhibit in exhibits() {
            assert_eq!(list.matches(&format!("  {} ", exhibit.id)).count(), 1, "{}", exhibit.id);
        }
    }
}
