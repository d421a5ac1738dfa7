//! Figures 10 and 11: memory.

use super::{EIGHT, SCHEDULERS, measured, method, names, space};
use crate::Result;
use crate::bench::case::Entry;
use crate::reproduce::exhibit::{Page, Sheet, Space, mebibytes};
use crate::reproduce::lab::{Lab, lane};
use crate::reproduce::plot::{Bars, Lines, Panel, Scale, Series, Whose};
use crate::reproduce::seed::dfd::ROWS;
use crate::reproduce::verdict::{Verdicts, holds};
use bombyx_workloads::Grain;
use serde_json::{Value, json};

pub(in crate::reproduce) fn figure_10(lab: &Lab) -> Result<Page> {
    let (workload, grain) = ("dense-mm", Grain::Fine);
    let mut sheet = Sheet::new(
        "Peak of heap and of 8 KiB stacks per thread, MiB, simulated",
        &["P", "ADF", "DFD", "WS (Cilk)"],
    );
    let mut series: Vec<Series> = SCHEDULERS[1..]
        .iter()
        .zip([2, 0, 3])
        .map(|((name, _), color)| Series { name: (*name).into(), color, dashed: false, points: Vec::new() })
        .collect();
    let mut rows: Vec<[u64; 3]> = Vec::new();
    for processors in 1..=EIGHT {
        let mut cells = vec![json!(processors)];
        let mut last = [0; 3];
        for (nth, (_, name)) in SCHEDULERS[1..].iter().enumerate() {
            last[nth] = lab.simulated(workload, grain, name, processors)?.memory;
            cells.push(mebibytes(Some(last[nth])));
            series[nth].points.push((processors as f64, last[nth] as f64 / f64::from(1 << 20)));
        }
        sheet.row(cells);
        rows.push(last);
    }
    let mut heaps =
        Sheet::new(format!("Measured on {} processors", lab.processors()), &["scheduler"]).with_space();
    let case = measured(lab, workload, grain)?;
    for name in names() {
        let Some(entry) = lane(&case, name) else { continue };
        heaps.row([vec![name.into()], Space::of(Some(entry)).cells().to_vec()].concat());
    }
    let lines = Lines {
        title: "Memory of dense matrix multiply, fine grain (DFD, Figure 10)".into(),
        x: "processors".into(),
        scale: Scale::Count,
        panels: vec![Panel { y: "peak of memory, MiB".into(), scale: Scale::Linear, series }],
    };
    let mut verdicts = Verdicts::default();
    let more = &rows[1..];
    verdicts.count(
        "on 2 to 8 processors DFD takes at least as much memory as ADF",
        holds(more, |[adf, dfd, _]| dfd >= adf),
        more.len(),
        None,
    );
    verdicts.count(
        "on 2 to 8 processors DFD takes less memory than work stealing",
        holds(more, |[_, dfd, ws]| dfd < ws),
        more.len(),
        None,
    );
    let growth = |nth: usize| rows[EIGHT - 1][nth] as f64 / rows[0][nth].max(1) as f64;
    verdicts.judge(
        growth(1) < growth(2),
        format!(
            "DFD's memory grows more slowly with P than work stealing's: from 1 to 8 processors {:.2} × (ADF {:.2}, WS {:.2})",
            growth(1),
            growth(0),
            growth(2)
        ),
    );
    verdicts.note(
        "the paper gives its values as a plot; ours multiplies 1536² in place of 1024² (with --quick, less)",
    );
    let (agrees, differs) = verdicts.texts();
    Ok(Page { method: method(lab), sheets: vec![sheet, heaps], agrees, differs, plot: lines.draw()? })
}

pub(in crate::reproduce) fn figure_11(lab: &Lab) -> Result<Page> {
    let mut sheet = Sheet::new(
        "High water of heap memory, MiB",
        &["benchmark", "FIFO sim 8", "ADF", "DFD", "WS", "FIFO measured", "ADF", "DFD", "WS"],
    );
    let (mut groups, mut all) = (Vec::new(), Vec::new());
    for row in &ROWS {
        let mut heaps = [0; 4];
        for (slot, name) in heaps.iter_mut().zip(names()) {
            *slot = lab.simulated(row.workload, Grain::Fine, name, EIGHT)?.heap;
        }
        let case = measured(lab, row.workload, Grain::Fine)?;
        let mut cells: Vec<Value> = vec![row.workload.into()];
        cells.extend(heaps.map(|heap| mebibytes(Some(heap))));
        cells.extend(
            names()
                .map(|name| mebibytes(lane(&case, name).and_then(Entry::memory).map(|memory| memory.heap))),
        );
        sheet.row(cells);
        all.push(heaps);
        if heaps[0] > 0 {
            let bars = heaps.iter().map(|heap| Some(*heap as f64 / f64::from(1 << 20))).collect();
            groups.push((row.workload.to_owned(), bars));
        }
    }
    let lanes = [("FIFO", 1), ("ADF", 2), ("DFD", 0), ("WS", 3)];
    let bars = Bars {
        title: "High water of heap memory on 8 simulated processors (DFD, Figure 11)".into(),
        unit: "MiB, logarithmic".into(),
        scale: Scale::Log(10),
        lanes: lanes.iter().map(|(name, color)| ((*name).to_owned(), Whose::Ours, *color)).collect(),
        groups,
    };
    // If all schedulers hold the same, or next to nothing, there is nothing to compare.
    let (least, most) = (
        |heaps: &[u64; 4]| heaps.iter().min().copied().unwrap_or(0),
        |heaps: &[u64; 4]| heaps.iter().max().copied().unwrap_or(0),
    );
    let differ: Vec<[u64; 4]> = all
        .iter()
        .copied()
        .filter(|heaps| most(heaps) > 1 << 20 && most(heaps) * 50 > least(heaps) * 51)
        .collect();
    let mut verdicts = Verdicts::default();
    let n = differ.len();
    verdicts.count(
        "DFD takes at least as much heap as ADF",
        holds(&differ, |[_, adf, dfd, _]| dfd >= adf),
        n,
        None,
    );
    verdicts.count(
        "DFD takes at most a fifth more than ADF",
        holds(&differ, |[_, adf, dfd, _]| 5 * dfd <= 6 * adf),
        n,
        None,
    );
    verdicts.count("DFD takes less heap than FIFO", holds(&differ, |[fifo, _, dfd, _]| dfd < fifo), n, None);
    verdicts.note(format!(
        "the verdicts are on the {n} of {} benchmarks whose heap depends on the schedule by more than 2 % (the paper has three that use \
         much); the paper gives its numbers as a plot",
        all.len()
    ));
    let (agrees, differs) = verdicts.texts();
    Ok(Page {
        method: method(lab),
        sheets: vec![sheet, space(lab, &[Grain::Fine])?],
        agrees,
        differs,
        plot: bars.draw()?,
    })
}
