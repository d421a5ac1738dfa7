//! `bombyx reproduce`: the command line of [`bombyx_lab::reproduce`].

use crate::host::Record;
use crate::output::{self, Form, is_standard};
use crate::table::Style;
use crate::{Result, Usage, files, terminal};
use bombyx_lab::reproduce::{self, Exhibit, Lab};
use clap::ValueHint;
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;

/// Reproduce figures and tables of the papers.
///
/// Without an ID, lists what can be reproduced. If an exhibit needs more processors than this machine has, it runs in the
/// simulator, on recordings of the same workloads, and says so.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  bombyx reproduce                      the list
  bombyx reproduce dfd-figure-8         one figure; its plot goes to reproduced/dfd-figure-8.svg
  bombyx reproduce rw -o results/rw     all of one paper
  bombyx reproduce het -o -             only what is printed, no files
  bombyx reproduce all --quick          a look at everything, on small inputs

Quote only figures of the profile bench-lto: `cargo run --profile bench-lto -- reproduce all`.")]
pub(crate) struct Args {
    /// What to reproduce: an ID, a paper (bl, dfd, rw, het), or all
    #[arg(value_name = "ID", value_parser = select)]
    ids: Vec<Selection>,

    /// Small inputs and few runs: for a first look; the figures are not worth quoting
    #[arg(long)]
    quick: bool,

    #[command(flatten)]
    form: Form,

    /// Folder for plots and tables, made if it does not exist; `-` for none
    #[arg(short, long, value_name = "DIR", default_value = "reproduced", value_hint = ValueHint::DirPath, help_heading = "Output")]
    output: PathBuf,

    /// Keep the runs of the rw exhibits in this file, and skip those that it already holds, so that a long reproduction
    /// can be interrupted and continued
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    journal: Option<PathBuf>,
}

#[derive(Clone)]
struct Selection(Vec<&'static Exhibit>);

fn select(name: &str) -> std::result::Result<Selection, String> {
    reproduce::select(name).map(Selection)
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if args.ids.is_empty() {
        if !args.form.is_text() {
            return Err(Usage("name what to reproduce; `bombyx reproduce` alone lists it".to_owned()).into());
        }
        terminal::print(&terminal::fitted(&reproduce::list(), terminal::style()))?;
        return Ok(ExitCode::SUCCESS);
    }
    output::check([args.journal.as_deref()])?;
    let folder = Some(&args.output).filter(|path| !is_standard(path));
    if let Some(folder) = folder {
        std::fs::create_dir_all(folder)
            .map_err(|error| format!("cannot make the folder {}: {error}", folder.display()))?;
    }
    let record = Record::of_this_process();
    let lab = Lab::new(args.quick).with_journal(args.journal.clone())?;
    let say = |text: &str| if args.form.is_text() { terminal::print(text) } else { Ok(()) };
    say(&record.head())?;
    let (mut documents, mut rows) = (Vec::new(), Vec::new());
    let chosen = |exhibit: &&Exhibit| args.ids.iter().any(|ids| ids.0.iter().any(|one| one.id == exhibit.id));
    for exhibit in reproduce::exhibits().filter(chosen) {
        let page = (exhibit.make)(&lab).map_err(|error| format!("{}: {error}", exhibit.id))?;
        say(&format!("\n{}", page.text(exhibit, terminal::style())))?;
        if let Some(folder) = folder {
            let file = |extension: &str| folder.join(format!("{}.{extension}", exhibit.id));
            let text = format!("{}\n{}", record.head(), page.text(exhibit, Style::default()));
            files::write(&file("svg"), page.plot.as_bytes())?;
            files::write(&file("txt"), text.as_bytes())?;
            say(&format!("Plot:    {}\n", file("svg").display()))?;
        }
        documents.push(page.json(exhibit));
        rows.extend(page.rows(exhibit));
    }
    args.form.print(|| Ok(json!({ "quick": args.quick, "exhibits": documents })), || Ok(rows))?;
    Ok(ExitCode::SUCCESS)
}
