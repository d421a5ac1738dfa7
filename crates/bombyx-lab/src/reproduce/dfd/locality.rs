//! Locality: what the schedulers miss in a model of caches, over the memory that recorded workloads touch. The paper
//! read the counters of its processors' second-level caches.

use super::{EIGHT, counters, names};
use crate::Result;
use crate::reproduce::exhibit::{Page, Sheet, none};
use crate::reproduce::lab::{Lab, SEED, STEAL, Touched};
use crate::reproduce::plot::{Lines, Panel, Scale, Series};
use crate::reproduce::verdict::{Verdicts, holds};
use bombyx_sim::{Caches, Metering, Outcome, Simulation};
use serde_json::json;

/// How the model relates to the paper's machine.
pub(super) const MODEL: &str = "in the model every processor has its own cache, with sets of eight 64-byte lines that evict \
     the least recently used line; it holds 1/48 of what the program touches, at least 16 KiB: the paper's 512 KiB against the \
     24 MiB of its matrices. It counts a lookup for every line of every block that a strand reads or writes, so its rates are \
     those of blocks, not of single loads. Caches do not invalidate each other. All but dense-mm are small inputs there";

/// Where the counted misses come from, or why there are none.
pub(super) fn counted(counts: bool) -> &'static str {
    match counts {
        true => "counted misses are those of `perf stat`, over a whole run with the preparation of its input",
        false => {
            "this machine counts no cache misses, or `perf` is not installed, so those columns are empty"
        }
    }
}

/// The caches for a program that touches this many bytes.
fn caches(footprint: u64) -> Caches {
    Caches::of_bytes((footprint / 48).max(16 << 10))
}

/// A run on eight processors with its trace.
fn run(touched: &Touched, scheduler: &str) -> Result<Outcome> {
    let simulation = Simulation::new(&touched.computation, scheduler.parse()?).processors(EIGHT).seed(SEED);
    let simulation = simulation.visits().metering(Metering::Heap).steal_cost(STEAL).trace();
    simulation.run().map_err(|error| error.to_string().into())
}

/// Misses in a hundred lookups.
fn rate(touched: &Touched, outcome: &Outcome) -> f64 {
    let origin = |strand: bombyx_dag::StrandId| match &outcome.with_dummies {
        Some(with) => with.origin[strand.index()],
        None => Some(strand),
    };
    let trace = outcome.trace.as_ref().expect("the run was traced");
    caches(touched.footprint).replay(trace, EIGHT, &touched.accesses, origin).rate()
}

/// The miss rates of FIFO, ADF, DFD and WS at fine grain. `None` if the workload does not report what it touches.
pub(super) fn rates(lab: &Lab, workload: &str) -> Result<Option<[f64; 4]>> {
    let touched = lab.touched(workload)?;
    if touched.accesses.is_empty() {
        return Ok(None);
    }
    let mut rates = [0.0; 4];
    for (slot, name) in rates.iter_mut().zip(names()) {
        *slot = rate(&touched, &run(&touched, name)?);
    }
    Ok(Some(rates))
}

/// Dense matrix multiply, at fine grain, for several quotas.
pub(in crate::reproduce) fn against_quota(lab: &Lab) -> Result<Page> {
    let touched = lab.touched("dense-mm")?;
    let quotas: &[u64] =
        lab.pick(&[2_000, 50_000], &[1_000, 10_000, 50_000, 100_000, 300_000, 1_000_000, 10_000_000]);
    let mut sheet = Sheet::new(
        format!(
            "dense-mm, fine grain, 8 simulated processors, caches of {} KiB each; it touches {} MiB",
            caches(touched.footprint).bytes() >> 10,
            touched.footprint >> 20
        ),
        &["scheduler", "misses, %", "own threads per steal", "work, µs", "counted here, %"],
    );
    let mut counts = false;
    let mut measure = |name: &str| -> Result<(f64, f64)> {
        let outcome = run(&touched, name)?;
        let missed = rate(&touched, &outcome);
        let here = counters::rate(lab, "dense-mm", name)?;
        counts |= here.is_some();
        sheet.row(vec![
            name.into(),
            json!(missed),
            json!(outcome.threads_per_steal),
            json!(outcome.granularity() / 1e3),
            here.map_or_else(none, |rate| json!(rate)),
        ]);
        Ok((missed, outcome.threads_per_steal))
    };
    let fifo = measure("fifo")?.0;
    let adf = measure("depth-first:50000")?.0;
    let mut curve = Vec::new();
    for k in quotas {
        let (missed, granularity) = measure(&format!("dfdeques:{k}"))?;
        curve.push((*k as f64, missed, granularity));
    }
    let ws = measure("work-stealing")?.0;
    let (low, high) = (curve[0].0, curve[curve.len() - 1].0);
    let level = |name: &str, color, value| Series {
        name: name.to_owned(),
        color,
        dashed: true,
        points: vec![(low, value), (high, value)],
    };
    let misses = Series {
        name: "DFDeques(K)".into(),
        color: 0,
        dashed: false,
        points: curve.iter().map(|(k, missed, _)| (*k, *missed)).collect(),
    };
    let lines = Lines {
        title: "Cache misses of dense matrix multiply, fine grain, 8 simulated processors".into(),
        x: "K, bytes".into(),
        scale: Scale::Log(10),
        panels: vec![Panel {
            y: "misses, % of lookups".into(),
            scale: Scale::Linear,
            series: vec![level("FIFO", 1, fifo), level("ADF", 2, adf), level("WS", 3, ws), misses],
        }],
    };
    let mut verdicts = Verdicts::default();
    let falls: Vec<bool> = curve.windows(2).map(|pair| pair[1].1 <= 1.02 * pair[0].1).collect();
    verdicts.count(
        "misses do not grow as K does (up to 2 %)",
        holds(&falls, |falls| *falls),
        falls.len(),
        None,
    );
    let (first, last) = (&curve[0], &curve[curve.len() - 1]);
    verdicts.judge(
        last.1 < first.1 && last.2 > first.2,
        format!(
            "a larger granularity goes with fewer misses: {:.1} threads per steal miss {:.2} %, {:.1} miss {:.2} %",
            first.2, first.1, last.2, last.1
        ),
    );
    let at = curve.iter().find(|(k, ..)| *k >= 50_000.0).map_or(last.1, |(_, missed, _)| *missed);
    verdicts.judge(
        at < adf,
        format!("DFD misses less than ADF with K = 50,000: {at:.2} against {adf:.2} % (paper: 8.7, 13)"),
    );
    verdicts.judge(at < fifo, format!("and less than FIFO: {at:.2} against {fifo:.2} % (paper: 8.7, 24)"));
    verdicts.note(MODEL);
    verdicts.note(counted(counts));
    let (agrees, differs) = verdicts.texts();
    Ok(Page {
        method: "Simulated on recordings with the addresses that strands touch; strands weigh what they took while they were \
            recorded; a steal or a visit takes 500 ns; the paper has no such figure, but says that a larger granularity \
            means better locality (§1)."
            .into(),
        sheets: vec![sheet],
        agrees,
        differs,
        plot: lines.draw()?,
    })
}
