//! `bombyx verify`: the papers' theorems and lemmas, tried one after another.
//!
//! This file is the command line and the order of events; [`table`] prints findings, [`json`] writes them, [`explain`]
//! draws pictures. The claims are in `bombyx-verify`.

mod explain;
mod json;
mod table;

use crate::files;
use bombyx_verify::{Claim, Effort, Finding, News, Plan, claim, claims, verify};
use clap::ValueHint;
use indicatif::{ProgressBar, ProgressStyle};
use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::exit;
use std::time::{Duration, Instant};

/// Whatever goes wrong is told to the user in one line.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Try the papers' theorems and lemmas, each as a check that can fail.
///
/// Every claim is tried on many computations, numbers of processors and seeds, and then on wrong schedulers, its mutants.
/// What is printed says how near it came to its bound and which mutants it noticed; a claim that is broken is shown with
/// the smallest run found that breaks it. The exit status is 0 only if all hold.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  bombyx verify                                  all claims, in a minute and a half
  bombyx verify --only bl-thm-1,bl-lem-11        some of them
  bombyx verify --mutate bl-lem-4                wrong schedulers, and how the claim notices them
  bombyx verify --table                          which claim notices which wrong scheduler
  bombyx verify --explain delay-sequence         writes delay-sequence.svg
  bombyx verify --thorough --seed 7 --json findings.json")]
pub(crate) struct Args {
    /// Only these claims, separated by commas; `bl` stands for all of that paper
    #[arg(long, value_name = "ID,…", value_delimiter = ',')]
    only: Vec<String>,

    /// More and larger computations: some ten minutes and 2 GiB in place of one minute
    #[arg(long)]
    thorough: bool,

    /// A few small computations: seconds
    #[arg(long, conflicts_with = "thorough")]
    quick: bool,

    /// All random choices follow from this number
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Also write the findings to a file, as JSON
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    json: Option<PathBuf>,

    /// Show how these claims notice wrong schedulers, each with the smallest run that gives it away
    #[arg(long, value_name = "ID,…", value_delimiter = ',', conflicts_with = "only")]
    mutate: Vec<String>,

    /// Print only the table of claims and wrong schedulers: which notices which
    #[arg(long, conflicts_with_all = ["mutate", "thorough"])]
    table: bool,

    /// List the claims, with what is tried and what is known not to hold
    #[arg(long)]
    list: bool,

    /// Draw what a proof is about
    #[arg(long, value_name = "WHAT")]
    explain: Option<explain::Subject>,

    /// Where to write the picture of `--explain`
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "explain")]
    output: Option<PathBuf>,

    /// How many threads; as many as there are processors unless given
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

/// Runs the command; ends the program with status 1 if a claim is broken, and with 2 if it cannot be tried.
pub(crate) fn run(args: Args) {
    match try_run(&args) {
        Ok(true) => {}
        Ok(false) => exit(1),
        Err(error) => {
            eprintln!("bombyx verify: {error}");
            exit(2);
        }
    }
}

/// Whether everything turned out as it should.
fn try_run(args: &Args) -> Result<bool> {
    if args.list {
        print(&table::list())?;
        return Ok(true);
    }
    if let Some(subject) = args.explain {
        print(&explain::explain(subject, args.seed, args.output.as_deref())?)?;
        return Ok(true);
    }
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
    let findings = try_claims(&chosen, plan, args)?;
    if let Some(path) = &args.json {
        files::write(path, json::json(&chosen, &findings, plan)?.as_bytes())?;
    }
    let broken = findings.iter().filter(|finding| !finding.holds()).count();
    if args.table {
        print(&table::matrix(&chosen, &findings))?;
    }
    print(&table::summary(&chosen, &findings, plan, begin.elapsed()))?;
    Ok(broken == 0)
}

/// Shows what becomes of claims on their mutants. Whether each notices as many as it should.
fn mutate(chosen: &[&'static Claim], seed: u64) -> Result<bool> {
    let mut all = true;
    for claim in chosen {
        let mut noticed = 0;
        for &mutant in claim.mutants {
            let finding = claim.check(Plan { effort: Effort::Quick, seed, mutant: Some(mutant) });
            noticed += usize::from(!finding.holds());
            print(&table::mutant(claim, &mutant, &finding))?;
        }
        print(&table::noticed(claim, noticed))?;
        all &= noticed >= 3 || !claim.few.is_empty();
    }
    Ok(all)
}

/// Tries the claims and prints a line for each as soon as it and all before it are done.
fn try_claims(chosen: &[&'static Claim], plan: Plan, args: &Args) -> Result<Vec<Finding>> {
    let threads = args.threads.or_else(|| std::thread::available_parallelism().ok().map(|n| n.get()));
    let bar = progress(chosen.len() as u64);
    let mut running: BTreeMap<&str, u64> = BTreeMap::new();
    let mut failed = None;
    let mut say = |text: &str| {
        if let Err(error) = bar.suspend(|| print(text)) {
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
            if !args.table {
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

/// The claims of these ids, in the order of the papers; all if there are none.
fn choose(ids: &[String]) -> Result<Vec<&'static Claim>> {
    for id in ids {
        if claim(id).is_none() && !claims().any(|c| is_paper(c, id)) {
            let near: Vec<&str> =
                claims().map(|c| c.id).filter(|known| known.contains(id.as_str())).collect();
            let hint = if near.is_empty() {
                String::new()
            } else {
                format!("; did you mean {}?", near.join(" or "))
            };
            return Err(format!("no claim is called `{id}`{hint} (`bombyx verify --list` lists them)").into());
        }
    }
    Ok(claims().filter(|c| ids.is_empty() || ids.iter().any(|id| c.id == id || is_paper(c, id))).collect())
}

fn is_paper(claim: &Claim, text: &str) -> bool {
    claim.paper.to_string().eq_ignore_ascii_case(text)
}

/// A line on standard error that says what is being tried, if that is a terminal.
fn progress(claims: u64) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(claims);
    let style = ProgressStyle::with_template("{spinner} {pos}/{len} claims, {elapsed}: {wide_msg}");
    bar.set_style(style.expect("the template is well formed"));
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}

/// Prints to standard output; a reader that has seen enough, such as `head`, is no error.
fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}
