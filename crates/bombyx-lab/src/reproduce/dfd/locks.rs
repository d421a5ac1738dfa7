//! Figure 14: building a tree under locks. The simulator's computations have no locks, so this runs only on real
//! threads. With more processors than cores they share cores, and that is where spinning hurts.

use super::names;
use crate::Result;
use crate::bench::case::{Case, Entry};
use crate::bench::workload::{Setup, measure};
use crate::contender::Contender;
use crate::host::cores;
use crate::reproduce::exhibit::{Page, Sheet, Space};
use crate::reproduce::lab::{Lab, contender};
use crate::reproduce::plot::{Lines, Panel, Scale, Series};
use crate::reproduce::verdict::Verdicts;
use bombyx_workloads::{Grain, find};
use serde_json::{Value, json};

/// Workload, scheduler or peer, name, colour.
const LANES: [(&str, &str, &str, usize); 6] = [
    ("barnes-hut-tree", "fifo", "FIFO, blocking", 1),
    ("barnes-hut-tree", "depth-first:50000", "ADF, blocking", 2),
    ("barnes-hut-tree", "dfdeques:50000", "DFD, blocking", 0),
    ("barnes-hut-tree", "work-stealing", "WS, blocking", 3),
    ("barnes-hut-tree-spin", "work-stealing", "WS, spinning (Cilk's)", 4),
    ("barnes-hut-tree-spin", "rayon", "rayon, spinning", 6),
];

pub(in crate::reproduce) fn figure_14(lab: &Lab) -> Result<Page> {
    let processors: &[usize] = lab.pick(&[1, 2], &[1, 2, 4, 8]);
    let mut cases: Vec<Case> = Vec::new();
    for workload in ["barnes-hut-tree", "barnes-hut-tree-spin"] {
        let mut contenders = vec![Contender::serial()];
        for &p in processors {
            for (_, lane, ..) in LANES.iter().filter(|(of, ..)| *of == workload) {
                contenders.extend(contender(lane, p)?);
            }
        }
        let setup =
            Setup { size: lab.size(), grain: Grain::Medium, seed: 42, rounds: lab.pick(1, 2), counts: 1 };
        cases.push(measure(find(workload)?, &setup, &contenders)?);
    }
    let most = processors.last().copied().unwrap_or(1);
    let mut headings = vec!["scheduler, locks".to_owned()];
    headings.extend(processors.iter().map(|p| format!("P={p}")));
    let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
    let mut sheet = Sheet::new(
        format!("Speedup over the serial elision, measured; memory with {most} processors"),
        &headings,
    )
    .with_space();
    let mut series = Vec::new();
    let mut at_most = Vec::new();
    for (workload, lane, name, color) in LANES {
        let case = &cases[usize::from(workload == "barnes-hut-tree-spin")];
        let entries: Vec<&Entry> = processors.iter().filter_map(|p| entry(case, lane, *p)).collect();
        let Some(last) = entries.last() else { continue };
        let speedups: Vec<f64> =
            entries.iter().filter_map(|entry| case.ratio(entry, "serial").map(|over| 1.0 / over)).collect();
        let mut cells: Vec<Value> = vec![name.into()];
        cells.extend(speedups.iter().map(|speedup| json!(speedup)));
        cells.extend(Space::of(Some(last)).cells());
        sheet.row(cells);
        at_most.push((name, *speedups.last().unwrap_or(&0.0)));
        let points = processors.iter().map(|p| *p as f64).zip(speedups).collect();
        series.push(Series { name: name.into(), color, dashed: false, points });
    }
    let lines = Lines {
        title: "Tree building of Barnes-Hut under locks (Narlikar, Figure 14)".into(),
        x: format!("processors, on {} cores", cores()),
        scale: Scale::Count,
        panels: vec![Panel { y: "speedup".into(), scale: Scale::Linear, series }],
    };
    let of = |wanted: &str| at_most.iter().find(|(name, _)| *name == wanted).map(|(_, speedup)| *speedup);
    let absent: Vec<&str> =
        names().into_iter().filter(|name| name.parse::<bombyx::Scheduler>().is_err()).collect();
    let note =
        if absent.is_empty() { String::new() } else { format!(" Not in this build: {}.", absent.join(", ")) };
    let mut verdicts = Verdicts::default();
    if let Some((blocking, spinning)) = of(LANES[2].2).zip(of(LANES[4].2)) {
        verdicts.judge(
            blocking > spinning,
            format!(
                "DFD with blocking locks is faster than a work stealer with spinning ones: {blocking:.2} against {spinning:.2} with \
                 {most} processors"
            ),
        );
    }
    if let Some((dfd, adf)) = of(LANES[2].2).zip(of(LANES[1].2)) {
        verdicts.judge(
            (dfd / adf - 1.0).abs() <= 0.1,
            format!("DFD is about as fast as ADF, as threads often suspend: {dfd:.2} against {adf:.2} with {most} processors"),
        );
    }
    verdicts.note(
        "a lock here guards a few stores and descending takes none, so threads seldom meet and seldom suspend, above all on \
         two cores; the paper gives its values as a plot",
    );
    let (agrees, differs) = verdicts.texts();
    Ok(Page {
        method: format!(
            "Measured on {} cores; more processors than cores share them. {}; the paper has a million.{note}",
            cores(),
            cases[0].about
        ),
        sheets: vec![sheet],
        agrees,
        differs,
        plot: lines.draw()?,
    })
}

/// The runs of a scheduler or peer on this many processors.
fn entry<'c>(case: &'c Case, lane: &str, processors: usize) -> Option<&'c Entry> {
    case.entries.iter().find(|entry| {
        entry.processors == processors
            && match entry.scheduler {
                Some(scheduler) => scheduler.to_string() == lane,
                None => entry.runtime == lane,
            }
    })
}
