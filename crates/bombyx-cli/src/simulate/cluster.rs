//! `bombyx simulate --nodes`: a computation on a cluster with a central scheduler.

use super::input::Input;
use super::{Result, Usage};
use crate::numbers::Numbers;
use crate::output::Output;
use crate::terminal::spinner;
use crate::text;
use bombyx_dag::{ThreadId, WeightUnit};
use bombyx_sim::{ClusterOutcome, TwoLevel};
use serde_json::{Value, json};
use std::fmt::Write;
use std::str::FromStr;

/// The scheduler counts as the limit when it is busy for this share of the time.
const BUSY: f64 = 0.9;

/// The two-level machine.
#[derive(clap::Args)]
#[group(id = "cluster")]
pub(crate) struct Args {
    /// Run on clusters with this many nodes, with `-p` processors each (default: 1). Remote calls go through a central
    /// scheduler, as in Dask
    #[arg(long, value_name = "LIST", help_heading = "Cluster")]
    pub(super) nodes: Option<Numbers>,

    /// Which fork sites are remote calls: any part of their names. Default: those that `BOMBYX_CLUSTER_RECORD` recorded
    #[arg(
        long,
        value_name = "SITE",
        default_value = "remote ",
        requires = "nodes",
        help_heading = "Cluster"
    )]
    remote: String,

    /// How long a message takes: `200us`
    #[arg(long, value_name = "TIME", default_value = "200us", requires = "nodes", help_heading = "Cluster")]
    latency: Time,

    /// The bandwidth of a wire, in megabytes per second
    #[arg(long, value_name = "MB/S", default_value_t = 1000.0, requires = "nodes", help_heading = "Cluster")]
    bandwidth: f64,

    /// How long a call occupies the central scheduler: `1ms`. The default is what `scripts/cluster grain` measured
    #[arg(long, value_name = "TIME", default_value = "2.4ms", requires = "nodes", help_heading = "Cluster")]
    call_cost: Time,
}

/// A time in nanoseconds: `200us`, `2.5ms`, `1s`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Time(u64);

impl FromStr for Time {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Time, String> {
        let wrong = || format!("`{text}` is not a time: use a number with ns, us, ms or s");
        let at = text.find(|c: char| c.is_ascii_alphabetic() || c == 'µ').ok_or_else(wrong)?;
        let unit = match &text[at..] {
            "ns" => 1.0,
            "us" | "µs" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            _ => return Err(wrong()),
        };
        let number: f64 = text[..at].parse().map_err(|_| wrong())?;
        if !(0.0..=1e9).contains(&number) {
            return Err(wrong());
        }
        Ok(Time((number * unit).round() as u64))
    }
}

pub(super) fn run(
    args: &Args,
    nodes: &Numbers,
    processors: Option<&Numbers>,
    input: &Input,
    output: &Output,
) -> Result<()> {
    let computation = &input.computation;
    if computation.weight_unit() != WeightUnit::Nanoseconds {
        return Err("a cluster needs a recorded program: messages take nanoseconds, not steps".into());
    }
    if !(args.bandwidth.is_finite() && args.bandwidth > 0.0) {
        return Err(Usage(format!("a bandwidth of {} carries nothing", args.bandwidth)).into());
    }
    let processors = match processors.map(|list| &list.0[..]) {
        None => 1,
        Some(&[processors]) => usize::try_from(processors)?,
        Some(_) => {
            let text = "all nodes of a cluster have the same number of processors: give one number";
            return Err(Usage(text.to_owned()).into());
        }
    };
    let remote = |thread: ThreadId| {
        let site = computation.site(thread).map(|site| computation.site_name(site));
        site.is_some_and(|name| name.contains(&args.remote))
    };
    if !computation.threads().any(|thread| thread.index() > 0 && remote(thread)) {
        let names = computation.site_names().join(", ");
        return Err(format!("no fork site contains `{}`; there are: {names}", args.remote).into());
    }
    let machine = |nodes: u64| -> Result<TwoLevel> {
        if nodes > 1 << 20 {
            return Err(Usage(format!("{nodes} nodes are too many; simulate at most {}", 1 << 20)).into());
        }
        Ok(TwoLevel {
            nodes: nodes as usize,
            processors,
            latency: args.latency.0,
            bandwidth: args.bandwidth * 1e6 / 1e9,
            call_cost: args.call_cost.0,
        })
    };
    let spinner = spinner(format!("{} on clusters", input.name));
    let runs = nodes
        .0
        .iter()
        .map(|&nodes| Ok((nodes, machine(nodes)?.run(computation, remote))))
        .collect::<Result<Vec<(u64, ClusterOutcome)>>>()?;
    spinner.finish_and_clear();
    let rows = || -> Vec<Value> {
        let row = |(nodes, outcome): &(u64, ClusterOutcome)| {
            json!({
                "nodes": nodes,
                "processors": processors,
                "seconds": outcome.makespan as f64 / 1e9,
                "speedup": input.measures.work as f64 / outcome.makespan as f64,
                "calls": outcome.calls,
                "nodes_busy_seconds": outcome.nodes_busy as f64 / 1e9,
                "scheduler_busy_seconds": outcome.scheduler_busy as f64 / 1e9,
            })
        };
        runs.iter().map(row).collect()
    };
    output.show(
        |style| {
            let text = report(args, processors, input, &runs);
            Ok(text
                .lines()
                .map(|line| text::wrapped(line, style.width.unwrap_or(usize::MAX), 0) + "\n")
                .collect())
        },
        || Ok(json!({ "computation": input.name, "runs": rows() })),
        || Ok(crate::output::csv(&rows())),
    )
}

fn report(args: &Args, processors: usize, input: &Input, runs: &[(u64, ClusterOutcome)]) -> String {
    let work = input.measures.work as f64 / 1e9;
    let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
    let calls = runs.first().map_or(0, |(_, outcome)| outcome.calls);
    let grain = runs.first().map_or(0.0, |(_, outcome)| seconds(outcome.nodes_busy) / calls.max(1) as f64);
    let mut out = String::new();
    let mut line = |text: String| writeln!(out, "{text}").expect("strings take all text");
    line(format!(
        "{}, simulated: work {}, span {}; {} of {} on average",
        input.name,
        text::time(work),
        text::time(seconds(input.measures.span)),
        text::counted(calls, "call"),
        text::time(grain)
    ));
    line(format!(
        "messages take {}, wires carry {} MB/s, a call costs the scheduler {}; {} per node\n",
        text::time(seconds(args.latency.0)),
        args.bandwidth,
        text::time(seconds(args.call_cost.0)),
        text::counted(processors as u64, "processor")
    ));
    line(format!(
        "{:>8} {:>10} {:>8} {:>11} {:>15}",
        "nodes", "time", "speedup", "nodes busy", "scheduler busy"
    ));
    let share = |busy: u64, outcome: &ClusterOutcome| busy as f64 / outcome.makespan as f64;
    for (nodes, outcome) in runs {
        line(format!(
            "{:>8} {:>10} {:>8.1} {:>9.1} % {:>13.1} %",
            nodes,
            text::time(seconds(outcome.makespan)),
            work / seconds(outcome.makespan),
            100.0 * share(outcome.nodes_busy, outcome) / (*nodes as f64 * processors as f64),
            100.0 * share(outcome.scheduler_busy, outcome)
        ));
    }
    let limited = runs.iter().find(|(_, outcome)| share(outcome.scheduler_busy, outcome) >= BUSY);
    line(match limited {
        Some((nodes, _)) => format!(
            "\nfrom {nodes} nodes on, the scheduler is the limit: it keeps no more than {:.0} calls of this size going",
            grain * 1e9 / args.call_cost.0 as f64
        ),
        None => "\nthe scheduler is not the limit on any of these clusters".to_owned(),
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!("2.5ms".parse(), Ok(Time(2_500_000)));
        assert_eq!("200us".parse(), Ok(Time(200_000)));
        assert_eq!("0ns".parse(), Ok(Time(0)));
        for wrong in ["", "5", "ms", "-1ms", "1h", "1 ms ", "infs", "nans"] {
            assert!(wrong.parse::<Time>().is_err(), "{wrong}");
        }
    }
}
