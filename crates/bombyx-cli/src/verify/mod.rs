//! `bombyx verify`: tries the papers' theorems and lemmas, one after another.
//!
//! **Not here:** the claims, and the wrong schedulers that they must notice.
//!
//! This file has the command line and the order of events. [`table`] prints findings, [`json`] writes them, and
//! [`explain`] draws pictures. The claims are in `bombyx-verify`.

mod explain;
mod json;
mod table;

use crate::output::{self, Output};
use crate::terminal::{self, fitted, print, style};
use crate::{Result, Usage};
use bombyx_base::nearest;
use bombyx_verify::{Claim, Effort, Finding, News, Plan, claim, claims, verify};
use indicatif::{ProgressBar, ProgressStyle};
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Instant;

/// Try the papers' theorems and lemmas, each as a check that can fail.
///
/// Tries every claim on many computations, numbers of processors and seeds, and then on wrong schedulers, its mutants.
/// Shows how near the claim came to its bound and which mutants it noticed. A broken claim is shown with the smallest
/// run found that breaks it. The exit status is 0 only if all claims hold.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  bombyx verify                                  all claims, in a minute and a half
  bombyx verify --only bl-thm-1,bl-lem-11        some of them
  bombyx verify --mutate bl-lem-4                wrong schedulers, and how the claim notices them
  bombyx verify --table                          which claim notices which wrong scheduler
  bombyx verify --explain delay-sequence         writes delay-sequence.svg
  bombyx verify --thorough --seed 7 --json -o findings.json")]
pub(crate) struct Args {
    /// Only these claims, separated by commas; `bl` stands for all of that paper
    #[arg(long, value_name = "ID,…", value_delimiter = ',')]
    only: Vec<String>,

    /// More and larger computations: takes some ten minutes and 2 GiB instead of a minute and a half
    #[arg(long)]
    thorough: bool,

    /// A few small computations: takes seconds
    #[arg(long, conflicts_with = "thorough")]
    quick: bool,

    /// The seed of all random choices
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Show how these claims notice wrong schedulers, each with the smallest run that shows the error
    #[arg(long, value_name = "ID,…", value_delimiter = ',', conflicts_with_all = ["only", "json", "csv", "to"])]
    mutate: Vec<String>,

    /// Print only the table of claims and wrong schedulers: which notices which
    #[arg(long, conflicts_with_all = ["mutate", "thorough"])]
    table: bool,

    /// List the claims, with what is tried and what is known not to hold
    #[arg(long, conflicts_with_all = ["json", "csv", "to"])]
    list: bool,

    /// Draw what a proof is about, as SVG or PNG by the name that -o gives
    #[arg(long, value_name = "WHAT", conflicts_with_all = ["json", "csv"])]
    explain: Option<explain::Subject>,

    #[command(flatten)]
    output: Output,

    /// How many threads to use [default: one per processor]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let held = run_to_end(args)?;
    Ok(if held { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Tries everything. Returns whether it turned out as it should.
fn run_to_end(args: &Args) -> Result<bool> {
    if args.list {
        print(&fitted(&table::list(), style()))?;
        return Ok(true);
    }
    if let Some(subject) = args.explain {
        explain::explain(subject, args.seed, args.output.to.as_deref())?;
        return Ok(true);
    }
    output::check([args.output.file()])?;
    if !args.mutate.is_empty() {
        return mutate(&choose(&args.mutate)?, args.seed);
    }
    let chosen = choose(&args.only)?;
    let effort = match args {
        Args { thorough: true, .. } => Effort::Thorough,
        Args { quick: true, .. } | Args { table: true, .. } => Effort::Quick,
        _ => Effort::Normal,
    };
    let plan = Plan { effort, seed: args.seed, mutant: None };
    let begin = Instant::now();
    // Findings are printed one by one, unless standard output is for programs. A file gets them all at the end.
    let file = args.output.file().is_some();
    let streams = !args.table && (args.output.is_text() || file);
    let findings = try_claims(&chosen, plan, args.threads, streams)?;
    let summary = table::summary(&chosen, &findings, plan, begin.elapsed());
    if file || !args.output.is_text() {
        let blocks = || chosen.iter().zip(&findings).map(|(claim, finding)| table::block(claim, finding));
        args.output.show(
            |_| Ok(blocks().collect::<String>() + &summary),
            || json::json(&chosen, &findings, plan),
            || Ok(output::csv(&json::rows(&chosen, &findings))),
        )?;
    }
    if args.output.is_text() || file {
        if args.table {
            print(&fitted(&table::matrix(&chosen, &findings), style()))?;
            if chosen.iter().any(|claim| claim.id == "rw-lem-5-2") {
                print(&fitted(&table::parts(), style()))?;
            }
        }
        print(&fitted(&summary, style()))?;
    }
    Ok(findings.iter().all(Finding::holds))
}

/// Shows what becomes of claims on their mutants. Returns whether each claim notices as many as it should.
fn mutate(chosen: &[&'static Claim], seed: u64) -> Result<bool> {
    let mut all = true;
    for claim in chosen {
        let mut noticed = 0;
        let spinner = terminal::spinner(format!("{} on its wrong schedulers", claim.id));
        for &mutant in claim.mutants {
            let finding = claim.check(Plan { effort: Effort::Quick, seed, mutant: Some(mutant) });
            noticed += usize::from(!finding.holds());
            spinner.suspend(|| print(&fitted(&table::mutant(claim, &mutant, &finding), style())))?;
        }
        spinner.finish_and_clear();
        print(&fitted(&table::noticed(claim, noticed), style()))?;
        all &= noticed >= 3 || !claim.few.is_empty();
    }
    Ok(all)
}

/// Tries the claims and prints a line for each as soon as it and all before it are done.
fn try_claims(
    chosen: &[&'static Claim],
    plan: Plan,
    threads: Option<usize>,
    streams: bool,
) -> Result<Vec<Finding>> {
    let threads = threads.or_else(|| std::thread::available_parallelism().ok().map(|n| n.get()));
    let bar = progress(chosen.len() as u64);
    let mut running: BTreeMap<&str, u64> = BTreeMap::new();
    let mut failed = None;
    let mut say = |text: &str| {
        if let Err(error) = bar.suspend(|| print(&fitted(text, style()))) {
            failed.get_or_insert(error);
        }
    };
    let findings = verify(chosen, plan, threads.unwrap_or(1), |news| match news {
        News::Progress { claim, done, total } => {
            running.insert(claim.id, 100 * done / total.max(1));
            let now: Vec<String> = running.iter().map(|(id, percent)| format!("{id} {percent} %")).collect();
            bar.set_message(now.join(", "));
        }
        News::Found { claim, finding } => {
            running.remove(claim.id);
            bar.inc(1);
            if streams {
                say(&table::block(claim, finding));
            }
        }
    });
    bar.finish_and_clear();
    match failed {
        Some(error) => Err(error),
        None => Ok(findings),
    }
}

/// The claims with these ids, in the order of the papers. All claims if there are no ids.
fn choose(ids: &[String]) -> Result<Vec<&'static Claim>> {
    for id in ids {
        if claim(id).is_none() && !claims().any(|c| is_paper(c, id)) {
            let near = nearest(id, claims().map(|claim| claim.id));
            let near = near.map_or(String::new(), |near| format!("did you mean `{near}`? "));
            return Err(
                Usage(format!("there is no claim `{id}`; {near}`bombyx verify --list` lists them")).into()
            );
        }
    }
    Ok(claims().filter(|c| ids.is_empty() || ids.iter().any(|id| c.id == id || is_paper(c, id))).collect())
}

fn is_paper(claim: &Claim, text: &str) -> bool {
    claim.paper.id() == text
}

/// A line on standard error that says what is being tried, if that is a terminal.
fn progress(claims: u64) -> ProgressBar {
    let bar = terminal::spinner(String::new());
    bar.set_length(claims);
    let style = ProgressStyle::with_template("{spinner} {pos}/{len} claims, {elapsed}: {wide_msg}");
    bar.set_style(style.expect("the template is well formed"));
    bar
}
