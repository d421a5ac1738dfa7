//! `bombyx simulate`: schedulers in virtual time.
//!
//! **Not here:** schedulers, and computations themselves. They have their own crates.
//!
//! This file has the command line. [`input`] finds the computation, [`faster`] changes it, and [`runs`] makes the runs.
//! [`report`] and [`sites`] print them, [`plot`] and [`gantt`] draw them, and [`crate::output`] writes the results. All
//! scheduling is in `bombyx-sim`, and all computations are in `bombyx-dag`.

mod cluster;
mod faster;
mod gantt;
mod input;
mod plot;
mod report;
mod runs;
mod sites;

use crate::numbers::{Numbers, SchedulerList};
use crate::output::{self, Output};
use crate::simulate::faster::Faster;
use crate::terminal::{fitted, print, print_bytes, say, spinner, style};
use crate::{Result, Usage, files};
use bombyx_dag::{draw, format, text};
use bombyx_sim::{Contention, Speeds};
use clap::ValueHint;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Run schedulers on a computation in virtual time.
///
/// The computation is a generator with its parameters, such as `fib:20` or `dnc:depth=12,work=100`, or a dag file.
/// Every scheduler runs on every number of processors with every seed; the table shows means over the seeds.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  bombyx simulate fib:20                                   work stealing on 1, 2, 4, … 64 processors
  bombyx simulate figure1 -s busy-leaves -p 2 --steps      the schedule of Blumofe and Leiserson's Figure 2
  bombyx simulate loop:n=2k -p 1..256 --seeds 5 --speedup speedup.svg
  bombyx simulate geometric:10 -p 64 -s depth-first:1k,dfdeques:100..1M*10,work-stealing --tradeoff k.svg
  bombyx simulate greedy-trap -s heterogeneous:2 --speeds 8,3x1 --gantt gantt.svg
  bombyx simulate fib:5 --draw fib.svg                     a picture of the computation
  bombyx simulate run.dag -p 1..1024                       a program that `bombyx record` recorded, on more cores
  bombyx simulate run.dag --faster sort.rs:10=2            if the closures forked there were twice as fast
  bombyx simulate calls.dag --nodes 1..1000*10             recorded with BOMBYX_CLUSTER_RECORD, on a cluster

`bombyx simulate --list` lists generators with their parameters, and schedulers.")]
pub(crate) struct Args {
    /// A generator such as `fib:20`, a dag file (binary or text), or `-` for one on standard input
    #[arg(required_unless_present = "list")]
    computation: Option<String>,

    /// Schedulers, separated by commas; a parameter may be a range, as in `dfdeques:1k..1M*10`
    #[arg(short, long, alias = "scheduler", value_name = "LIST", default_value = "work-stealing")]
    schedulers: SchedulerList,

    /// Numbers of processors: `8`, `1,2,4`, `1..64` (doubling), `1..10+3` (by 3), `1..1000*10` (times 10). Default:
    /// `1..64`, or as many as there are speeds
    #[arg(short, long, value_name = "LIST")]
    processors: Option<Numbers>,

    /// Speeds of the processors: `8,3x1` for one of speed 8 and three of speed 1, repeated if there are more
    /// processors. Changes follow, as in `8,3x1;1000:p2=1/2`: at time 1000, processor 2 slows to one half. Speed 0
    /// stops a processor. `1000:p2=crash` stops it too, and it loses what it has done of its strand
    #[arg(long, value_name = "LIST", help_heading = "Machine")]
    speeds: Option<Speeds>,

    /// Factors by which processors misjudge their own speeds: `2,3x1` if the first believes that it is twice as fast as
    /// it is. Repeated if there are more processors. Default: none misjudges
    #[arg(long, value_name = "LIST", help_heading = "Machine")]
    estimates: Option<Speeds>,

    /// Instructions that a processor spends on a thread that has moved to it, before it runs the thread
    #[arg(long, value_name = "STEPS", default_value_t = 0, help_heading = "Machine")]
    migration_cost: u64,

    /// A steal attempt takes as long as the victim needs, not the thief: a victim that stands still holds up its
    /// thieves
    #[arg(long, help_heading = "Machine")]
    victims_speed: bool,

    /// Steps that a steal attempt takes. Default: what the recorded program measured, or 1
    #[arg(long, value_name = "STEPS", help_heading = "Machine")]
    steal_cost: Option<u64>,

    /// A processor without a thread must visit the queue of `fifo` and `depth-first`, which takes as long as a steal
    /// attempt. Default: it gets a thread from there at once
    #[arg(long, help_heading = "Machine")]
    visits: bool,

    /// A thief that succeeds executes in the same step as its attempt, as in the cost model of DFD §4.1. Default: every
    /// attempt takes a step
    #[arg(long, help_heading = "Machine")]
    same_step: bool,

    /// The quota of `dfdeques` and `depth-first` counts only heap memory, as an allocator would (DFD §5). Default: it
    /// also counts the frames of threads (DFD §3.3)
    #[arg(long, help_heading = "Machine")]
    heap_quota: bool,

    /// What happens when thieves meet at a deque: they wait their turn (`fifo`, `lifo`, `random`, `biased`), all but
    /// one fail (`denied`), or all are served (`free`). Default: `fifo`, or `denied` if weights are nanoseconds or
    /// strands have more than 1000 instructions on average
    #[arg(long, value_name = "MODEL", help_heading = "Machine")]
    contention: Option<Contention>,

    #[command(flatten)]
    cluster: cluster::Args,

    /// Change the join edges so that the computation belongs to this class; every order is kept (BL §2)
    #[arg(long, value_name = "CLASS", help_heading = "What if")]
    make: Option<Make>,

    /// What if the closures forked at a site were faster: `sort.rs:41=2` for twice as fast. Any part of the site's name
    /// that no other site has is enough. May be given several times
    #[arg(long, value_name = "SITE=FACTOR", help_heading = "What if")]
    faster: Vec<Faster>,

    /// How many runs with different random choices
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Runs")]
    seeds: u64,

    /// The first seed
    #[arg(long, value_name = "SEED", default_value_t = 1, help_heading = "Runs")]
    seed: u64,

    /// Check the papers' invariants at every step (slow), and fail where one breaks
    #[arg(long, help_heading = "Runs")]
    check: bool,

    #[command(flatten)]
    output: Output,

    /// Print what every processor does at every step (one small run)
    #[arg(long, help_heading = "Output")]
    steps: bool,

    /// Write everything that every processor did (one run)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    trace: Option<PathBuf>,

    /// Print what every fork site contributes to work and span
    #[arg(long, help_heading = "Output")]
    sites: bool,

    /// Save the computation as a dag file or, if the name ends in .txt, as text that people can write
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    save: Option<PathBuf>,

    /// Draw the computation (small ones only); if the name ends in .dot, for Graphviz
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Pictures (SVG or PNG, by the file's name)")]
    draw: Option<PathBuf>,

    /// Plot efficiency, which is speedup / processors, against processors, with its bounds
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Pictures (SVG or PNG, by the file's name)")]
    speedup: Option<PathBuf>,

    /// Plot the peak of space against processors, with S1 and P·S1
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Pictures (SVG or PNG, by the file's name)")]
    space: Option<PathBuf>,

    /// Plot space, granularity and time against the quota K of `dfdeques:K`, other schedulers as lines
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Pictures (SVG or PNG, by the file's name)")]
    tradeoff: Option<PathBuf>,

    /// Draw what every processor does over time (one run)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Pictures (SVG or PNG, by the file's name)")]
    gantt: Option<PathBuf>,

    /// List the generators with their parameters, and the schedulers
    #[arg(long, conflicts_with_all = ["json", "csv", "to"])]
    list: bool,
}

/// A class into which `--make` turns computations.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum Make {
    /// Every join edge leads to an ancestor.
    Strict,
    /// Every join edge leads to the parent.
    FullyStrict,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if args.list {
        print(&fitted(&input::list(), style()))?;
        return Ok(ExitCode::SUCCESS);
    }
    output::check([args.output.file(), args.trace.as_deref(), args.save.as_deref()])?;
    output::check_pictures([&args.speedup, &args.space, &args.tradeoff, &args.gantt])?;
    match args.draw.as_deref() {
        Some(path) if is_dot(path) => output::check([Some(path)])?,
        _ => output::check_pictures([&args.draw])?,
    }
    simulate(args)?;
    Ok(ExitCode::SUCCESS)
}

fn is_dot(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "dot" || extension == "gv")
}

/// Writes a file, or prints if it is standard output.
fn write(path: &Path, content: &[u8]) -> Result<()> {
    if output::is_standard(path) {
        return print_bytes(content);
    }
    files::write(path, content)
}

fn simulate(args: &Args) -> Result<()> {
    let text = args.computation.as_deref().expect("required unless --list");
    let spinner = spinner(format!("making {text}"));
    let original = input::load(text)?;
    let original = match args.make {
        Some(class) => original.made(class),
        None => original,
    };
    let changed = (!args.faster.is_empty()).then(|| faster::apply(&args.faster, &original)).transpose()?;
    spinner.finish_and_clear();
    let input = changed.as_ref().unwrap_or(&original);
    if let Some(path) = &args.save {
        let as_text = path.extension().is_some_and(|extension| extension == "txt");
        match as_text {
            true => write(path, text::write(&input.computation)?.as_bytes())?,
            false => write(path, &format::write(&input.computation, Vec::new())?)?,
        }
    }
    match &args.draw {
        Some(path) if is_dot(path) => write(path, draw::dot(&input.computation)?.as_bytes())?,
        Some(path) => output::picture(path, &draw::svg(&input.computation)?)?,
        None => {}
    }
    let style = args.output.style();
    if (args.save.is_some() || args.draw.is_some() || args.sites) && !args.asks_for_runs() {
        let sites = if args.sites { sites::table(input, usize::MAX, style)? } else { String::new() };
        return print(&(report::summary(input, style) + &sites));
    }
    if let Some(nodes) = &args.cluster.nodes {
        return cluster::run(&args.cluster, nodes, args.processors.as_ref(), input, &args.output);
    }
    let plan = runs::Plan::of(args, input)?;
    let results = plan.run()?;
    let before = match &changed {
        Some(_) => {
            let plan = runs::Plan::of(args, &original)?;
            let results = plan.run()?;
            Some((plan, results))
        }
        None => None,
    };
    if let Some(path) = &args.trace {
        let unit = results[0].outcome.ticks_per_unit;
        write(path, plan.trace(&results)?.in_units(unit).to_string().as_bytes())?;
    }
    if let Some(path) = &args.gantt {
        output::picture(path, &gantt::svg(&plan, &results)?)?;
    }
    for (path, draw) in [
        (&args.speedup, plot::speedup as fn(&runs::Plan<'_>, &[runs::Run]) -> Result<String>),
        (&args.space, plot::space),
        (&args.tradeoff, plot::tradeoff),
    ] {
        if let Some(path) = path {
            output::picture(path, &draw(&plan, &results)?)?;
        }
    }
    if !args.output.is_text() || args.steps || before.is_some() {
        plan.checked().iter().for_each(|line| say(&format!("{line}\n")));
    }
    args.output.show(
        |style| {
            if args.steps {
                return report::steps(&plan, &results);
            }
            let top = if args.sites { usize::MAX } else { 3 };
            let head = report::summary(plan.input, style) + &sites::table(plan.input, top, style)?;
            let table = match &before {
                Some((was, were)) => faster::comparison((was, were), (&plan, &results), style),
                None => report::table(&plan, &results, style),
            };
            Ok(head + "\n" + &table)
        },
        || report::json(&plan, &results, before.as_ref().map(borrowed)),
        || Ok(report::csv(before.iter().map(borrowed).chain([(&plan, &results[..])]))),
    )
}

fn borrowed<'a, 'b>(
    (plan, runs): &'b (runs::Plan<'a>, Vec<runs::Run>),
) -> (&'b runs::Plan<'a>, &'b [runs::Run]) {
    (plan, runs)
}

/// What is in a dag file.
pub(crate) struct Described {
    /// A few lines.
    pub(crate) text: String,
    /// Its figures.
    pub(crate) figures: serde_json::Value,
}

/// Describes a dag file. For `bombyx record`, which has just written it under another name.
pub(crate) fn describe(path: &Path, name: &str) -> Result<Described> {
    let input = input::read(path, name)?;
    let style = crate::terminal::error_style();
    Ok(Described {
        text: report::summary(&input, style) + &sites::table(&input, 5, style)?,
        figures: report::figures(&input)?,
    })
}

impl Args {
    /// The factors by which processors misjudge their speeds. Empty if none misjudges.
    fn estimates(&self) -> Result<Vec<bombyx_sim::Ratio>> {
        let Some(given) = &self.estimates else { return Ok(Vec::new()) };
        if !given.changes().is_empty() {
            return Err(
                Usage("estimates are factors that do not change; list them like 2,3x1".to_owned()).into()
            );
        }
        Ok(given.list().unwrap_or_default().to_vec())
    }

    /// Whether the command line is about runs, not only about the computation.
    fn asks_for_runs(&self) -> bool {
        let files = [&self.trace, &self.speedup, &self.space, &self.tradeoff, &self.gantt];
        self.processors.is_some()
            || !self.output.is_text()
            || self.output.to.is_some()
            || !self.faster.is_empty()
            || self.steps
            || files.iter().any(|file| file.is_some())
    }
}
