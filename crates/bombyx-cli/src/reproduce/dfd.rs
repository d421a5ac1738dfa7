//! Exhibits of Narlikar's DFDeques paper: threads, speedups and memory of FIFO, the depth-first scheduler (ADF), DFDeques
//! (DFD) and work stealing.
//!
//! The paper has eight processors: those runs are simulated, on recordings of our workloads. The same schedulers on real
//! threads of this machine stand beside, where they exist.

mod eight;
mod locks;
mod order;
mod tradeoff;

use self::order::{Counted, NEAREST, counted_here, five, heaps_here, heaps_in_order, nearest, ordered};
use super::exhibit::{Exhibit, Page, Sheet, Space, mebibytes, none};
use super::lab::{Lab, lane};
use super::plot::{Bars, Lines, Panel, Scale, Series, Whose};
use super::seed::dfd::{ROWS, Row, Three};
use crate::Result;
use crate::bench::case::{Case, Entry, geometric_mean};
use bombyx_workloads::Grain;
use serde_json::{Value, json};

pub(super) const EXHIBITS: &[Exhibit] = &[
    Exhibit {
        id: "001-figure-1",
        about: "living threads, cache misses and speedups of FIFO, ADF and DFD at fine grain",
        make: figure_1,
    },
    Exhibit {
        id: "001-figure-8",
        about: "threads in all, and the most alive at a time, at both grains",
        make: figure_8,
    },
    Exhibit { id: "001-figure-9", about: "speedups on eight processors at both grains", make: figure_9 },
    Exhibit {
        id: "001-figure-10",
        about: "memory of dense matrix multiply against the number of processors",
        make: figure_10,
    },
    Exhibit { id: "001-figure-11", about: "high water of heap memory", make: figure_11 },
    Exhibit {
        id: "001-figure-12",
        about: "time, memory and granularity of dense matrix multiply against the quota K",
        make: tradeoff::figure_12,
    },
    Exhibit {
        id: "001-figure-13",
        about: "memory and granularity of a synthetic divide-and-conquer against the quota K",
        make: tradeoff::figure_13,
    },
    Exhibit {
        id: "001-figure-14",
        about: "building the Barnes-Hut tree: blocking locks against spinning",
        make: locks::figure_14,
    },
    Exhibit {
        id: "001-eight",
        about: "living threads and heap memory on eight real processors, at both grains",
        make: eight::eight,
    },
];

/// Their names in the paper, and ours. K is the paper's (§5.2); its work stealer is called Cilk, or DFD-inf.
const SCHEDULERS: [(&str, &str); 4] =
    [("FIFO", "fifo"), ("ADF", "depth-first:50000"), ("DFD", "dfdeques:50000"), ("WS", "work-stealing")];
/// The same with ten times the quota, measured beside: on today's processors the paper's 50,000 bytes last `dense-mm` at fine
/// grain for about 100 µs.
const LARGER: &str = "dfdeques:500000";
/// The paper's number of processors.
const EIGHT: usize = 8;

fn names() -> [&'static str; 4] {
    SCHEDULERS.map(|(_, ours)| ours)
}

/// The measured runs of a workload: all four schedulers, and the larger quota.
fn measured(lab: &Lab, workload: &str, grain: Grain) -> Result<std::rc::Rc<Case>> {
    lab.measured(workload, grain, &five())
}

fn speedup(case: &Case, entry: &Entry) -> Option<f64> {
    case.ratio(entry, "serial").map(|over| 1.0 / over)
}

/// What of the schedulers had to stay out of the measured columns.
fn missing(lab: &Lab) -> String {
    let absent: Vec<&str> =
        names().into_iter().filter(|name| name.parse::<bombyx::Scheduler>().is_err()).collect();
    match absent.is_empty() {
        true => String::new(),
        false => format!(
            " Not on real threads in this build, so simulated only: {}; at P = {} they have no column.",
            absent.join(", "),
            lab.processors()
        ),
    }
}

fn method(lab: &Lab) -> String {
    format!(
        "`sim 8`: simulated on 8 processors, on recordings of our workloads (strands in ns; a steal or a visit \
         of the shared queue takes 500 ns; K = 50,000; medians of five seeds). \
         `P={}`: measured on this machine, median.{}",
        lab.processors(),
        missing(lab)
    )
}

fn paper<T: Copy>(three: &Three<T>) -> [T; 3] {
    [three.fifo, three.adf, three.dfd]
}

/// What the measured runs at these grains took of memory.
fn space(lab: &Lab, grains: &[Grain]) -> Result<Sheet> {
    let mut sheet = Sheet::spaces(&["benchmark", "grain"], &SCHEDULERS.map(|(paper, _)| paper));
    for &grain in grains {
        for row in &ROWS {
            let case = measured(lab, row.workload, grain)?;
            let cells = names().map(|name| Space::of(lane(&case, name)).cell());
            sheet.row([vec![row.workload.into(), grain.to_string().into()], cells.to_vec()].concat());
        }
    }
    Ok(sheet)
}

/// The most living threads in the simulator, of the four schedulers.
fn simulated_threads(lab: &Lab, row: &Row, grain: Grain) -> Result<[u64; 4]> {
    let mut threads = [0; 4];
    for (slot, name) in threads.iter_mut().zip(names()) {
        *slot = lab.simulated(row.workload, grain, name, EIGHT)?.threads;
    }
    Ok(threads)
}

fn figure_1(lab: &Lab) -> Result<Page> {
    let grain = Grain::Fine;
    let p = lab.processors();
    let mut threads = Sheet::new(
        "Most threads alive at a time",
        &["benchmark", "FIFO", "sim 8", "ADF", "sim 8", "DFD", "sim 8", "WS sim 8"],
    );
    let mut misses = Sheet::new("L2 misses, % (the paper's)", &["benchmark", "FIFO", "ADF", "DFD"]);
    let here = format!("P={p}");
    let mut speedups = Sheet::new(
        "Speedup",
        &[
            "benchmark",
            "FIFO",
            "sim 8",
            &here,
            "ADF",
            "sim 8",
            &here,
            "DFD",
            "sim 8",
            &here,
            "WS sim 8",
            &here,
        ],
    );
    let (mut groups, mut orders, mut as_fast) = (Vec::new(), Vec::new(), 0);
    for row in &ROWS {
        let ours = simulated_threads(lab, row, grain)?;
        let theirs = paper(&row.fine_threads);
        let of = |name| {
            Ok::<_, Box<dyn std::error::Error>>(lab.simulated(row.workload, grain, name, EIGHT)?.speedup)
        };
        as_fast += usize::from(of(names()[2])? >= 0.98 * of(names()[1])?);
        orders.push(ours);
        threads.row(vec![
            row.workload.into(),
            json!(theirs[0]),
            json!(ours[0]),
            json!(theirs[1]),
            json!(ours[1]),
            json!(theirs[2]),
            json!(ours[2]),
            json!(ours[3]),
        ]);
        let mut cells: Vec<Value> = vec![row.workload.into()];
        cells.extend(paper(&row.misses).map(|rate| json!(rate)));
        misses.row(cells);
        let case = measured(lab, row.workload, grain)?;
        let mut cells: Vec<Value> = vec![row.workload.into()];
        let mut bars = Vec::new();
        for (nth, name) in names().into_iter().enumerate() {
            let simulated = lab.simulated(row.workload, grain, name, EIGHT)?.speedup;
            let measured = lane(&case, name).and_then(|entry| speedup(&case, entry));
            if let Some(theirs) = paper(&row.speedup).get(nth) {
                cells.push(json!(theirs));
                bars.push(Some(*theirs));
            }
            bars.push(Some(simulated));
            cells.extend([json!(simulated), measured.map_or_else(none, |value| json!(value))]);
        }
        speedups.row(cells);
        groups.push((row.workload.to_owned(), bars));
    }
    let lanes = [("FIFO", 1), ("ADF", 2), ("DFD", 0), ("WS", 3)].iter().flat_map(|(name, color)| {
        let theirs = (*name != "WS").then(|| (format!("{name}, paper"), Whose::Paper, *color));
        theirs.into_iter().chain([(format!("{name}, simulated"), Whose::Ours, *color)])
    });
    let bars = Bars {
        title: "Speedup on 8 processors, fine grain (Narlikar, Figure 1)".into(),
        unit: "speedup over one processor".into(),
        scale: Scale::Linear,
        lanes: lanes.collect(),
        groups,
    };
    Ok(Page {
        method: method(lab),
        sheets: vec![threads, misses, speedups, space(lab, &[grain])?],
        agrees: format!(
            "FIFO ≫ WS ≥ DFD ≥ ADF in living threads, up to a tenth and four threads, for {} of 7 benchmarks (at medium \
             grain, which has about as many threads as the paper's fine one, see Figure 8); DFD's simulated speedup is at least ADF's for {} (paper: 7).",
            ordered(&orders),
            as_fast
        ),
        differs: "the simulator charges for visits of the queue, but nothing for cache misses, stacks or waiting for the \
            queue's lock, which the paper's FIFO and ADF lose by too; caches cannot be counted in this virtual machine; our \
            threads are shorter by a factor of ten to a thousand."
            .into(),
        plot: bars.draw()?,
    })
}

fn figure_8(lab: &Lab) -> Result<Page> {
    let (mut sheets, mut groups, mut orders) = (Vec::new(), Vec::new(), Vec::new());
    for &grain in Grain::ALL {
        let mut sheet = Sheet::new(
            format!("{grain} grain"),
            &["benchmark", "threads", "ours", "FIFO", "sim 8", "ADF", "sim 8", "DFD", "sim 8", "WS sim 8"],
        );
        for row in &ROWS {
            let (total, theirs) = match grain {
                Grain::Medium => (row.medium_total, paper(&row.medium_threads)),
                Grain::Fine => (row.fine_total, paper(&row.fine_threads)),
            };
            let ours = simulated_threads(lab, row, grain)?;
            let threads = lab.recorded(row.workload, grain)?.computation.thread_count();
            sheet.row(vec![
                row.workload.into(),
                json!(total),
                json!(threads),
                json!(theirs[0]),
                json!(ours[0]),
                json!(theirs[1]),
                json!(ours[1]),
                json!(theirs[2]),
                json!(ours[2]),
                json!(ours[3]),
            ]);
            let real = |value: u64| Some(value as f64);
            groups.push((
                format!("{}, {grain}", row.workload),
                vec![
                    real(theirs[0]),
                    real(ours[0]),
                    real(theirs[1]),
                    real(ours[1]),
                    real(theirs[2]),
                    real(ours[2]),
                    real(ours[3]),
                ],
            ));
            orders.push(ours);
        }
        sheets.push(sheet);
    }
    let p = lab.processors();
    let mut here = Sheet::new(
        format!("Measured on {p} processors"),
        &[&["benchmark", "grain"][..], &Counted::HEADINGS].concat(),
    );
    let (mut verdicts, mut as_the_paper) = (Vec::new(), Vec::new());
    for &grain in Grain::ALL {
        let counted = counted_here(lab, grain)?;
        for (row, one) in &counted {
            let cells = one.0.map(|threads| json!(threads));
            here.row([vec![row.workload.into(), grain.to_string().into()], cells.to_vec()].concat());
            if nearest(lab, row)? == grain {
                as_the_paper.push(*one);
            }
        }
        let counted: Vec<Counted> = counted.into_iter().map(|(_, one)| one).collect();
        verdicts.push(Counted::verdict(&counted, &format!("{grain} grain")));
    }
    verdicts.push(Counted::verdict(&as_the_paper, NEAREST));
    sheets.push(here);
    sheets.push(space(lab, Grain::ALL)?);
    let mut totals = [1.0; 2];
    for (total, &grain) in totals.iter_mut().zip(Grain::ALL) {
        let mut ratios = Vec::new();
        for row in &ROWS {
            let ours = lab.recorded(row.workload, grain)?.computation.thread_count();
            ratios.push(ours as f64 / row.fine_total as f64);
        }
        *total = geometric_mean(ratios).unwrap_or(1.0);
    }
    let lanes = [("FIFO", 1), ("ADF", 2), ("DFD", 0)].iter().flat_map(|(name, color)| {
        [
            (format!("{name}, paper"), Whose::Paper, *color),
            (format!("{name}, simulated"), Whose::Ours, *color),
        ]
    });
    let bars = Bars {
        title: "Most threads alive at a time on 8 processors (Narlikar, Figure 8)".into(),
        unit: "threads, logarithmic".into(),
        scale: Scale::Log(10),
        lanes: lanes.chain([("WS, simulated".to_owned(), Whose::Ours, 3)]).collect(),
        groups,
    };
    Ok(Page {
        method: method(lab),
        sheets,
        agrees: format!(
            "FIFO ≫ WS ≥ DFD ≥ ADF in living threads, up to a tenth and four threads, for {} of 7 at medium and {} of 7 at \
             fine grain, simulated; measured on {p} processors, {}. Simulated FIFO has {:.0} × as many as DFD in geometric \
             mean (paper: {:.0} ×).",
            ordered(&orders[..ROWS.len()]),
            ordered(&orders[ROWS.len()..]),
            verdicts.join(", "),
            geometric_mean(orders.iter().map(|[fifo, _, dfd, _]| *fifo as f64 / *dfd as f64)).unwrap_or(1.0),
            geometric_mean(
                ROWS.iter()
                    .flat_map(|row| [&row.medium_threads, &row.fine_threads])
                    .map(|threads| threads.fifo as f64 / threads.dfd as f64)
            )
            .unwrap_or(1.0)
        ),
        differs: format!(
            "numbers of threads: our problems are larger, every loop is a binary tree of forks, a fork makes one thread (the \
             paper's forks make one per half), and forks are cheaper. The paper's threads cost so much that its fine grain, of \
             which they take 5 %, is about our medium one: that has {:.1} × as many threads (geometric mean), our fine one {:.0} ×. \
             There ADF's processors leave what they have just unfolded for what is farther left, and unfold that; in balanced \
             trees all three may unfold P·D.",
            totals[0], totals[1]
        ),
        plot: bars.draw()?,
    })
}

fn figure_9(lab: &Lab) -> Result<Page> {
    let p = lab.processors();
    let (mut sheets, mut groups) = (Vec::new(), Vec::new());
    let mut ratios = [(); 4].map(|()| Vec::new());
    for &grain in Grain::ALL {
        let mut sheet = Sheet::new(
            format!("{grain} grain: speedup simulated on 8 processors, then measured on {p}"),
            &["benchmark", "FIFO", "ADF", "DFD", "WS", "FIFO", "ADF", "DFD", "WS", "DFD 500k"],
        );
        for row in &ROWS {
            let mut cells: Vec<Value> = vec![row.workload.into()];
            let mut bars = Vec::new();
            for name in names() {
                let speedup = lab.simulated(row.workload, grain, name, EIGHT)?.speedup;
                cells.push(json!(speedup));
                bars.push(Some(speedup));
            }
            let case = measured(lab, row.workload, grain)?;
            let entry = |name| lane(&case, name);
            for name in names().into_iter().chain([LARGER]) {
                cells.push(
                    entry(name).and_then(|e| speedup(&case, e)).map_or_else(none, |value| json!(value)),
                );
            }
            for (quota, name) in [names()[2], LARGER].into_iter().enumerate() {
                if let Some((dfd, ws)) = entry(name).zip(entry(names()[3])) {
                    ratios[2 * usize::from(grain == Grain::Fine) + quota].push(dfd.median() / ws.median());
                }
            }
            sheet.row(cells);
            groups.push((format!("{}, {grain}", row.workload), bars));
        }
        sheets.push(sheet);
    }
    sheets.push(space(lab, Grain::ALL)?);
    let lanes = [("FIFO", 1), ("ADF", 2), ("DFD", 0), ("WS", 3)];
    let bars = Bars {
        title: "Speedup on 8 simulated processors (Narlikar, Figure 9)".into(),
        unit: "speedup over one processor".into(),
        scale: Scale::Linear,
        lanes: lanes.iter().map(|(name, color)| ((*name).to_owned(), Whose::Ours, *color)).collect(),
        groups,
    };
    let against = match ratios.map(geometric_mean) {
        [Some(medium), Some(larger_medium), Some(fine), Some(larger_fine)] => format!(
            "measured on {p} processors, DFD takes {medium:.3} × the time of WS at medium and {fine:.3} × at fine grain, with \
             K = 500,000 {larger_medium:.3} and {larger_fine:.3} × (geometric means; the paper: very similar)."
        ),
        _ => {
            let mut ratios = Vec::new();
            for row in &ROWS {
                let of = |name| lab.simulated(row.workload, Grain::Fine, name, EIGHT);
                ratios.push(of(names()[2])?.time / of(names()[3])?.time);
            }
            let mean = geometric_mean(ratios).unwrap_or(1.0);
            format!("simulated DFD takes {mean:.3} × the time of WS at fine grain (the paper: very similar).")
        }
    };
    Ok(Page {
        method: method(lab),
        sheets,
        agrees: against,
        differs: "the paper gives its values as a plot (its fine-grain speedups are in Figure 1); simulated FIFO and \
            ADF pay for visits of their queue, not for its lock and for caches; measured ones do."
            .into(),
        plot: bars.draw()?,
    })
}

fn figure_10(lab: &Lab) -> Result<Page> {
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
    let mut last = [0; 3];
    for processors in 1..=EIGHT {
        let mut cells = vec![json!(processors)];
        for (nth, (_, name)) in SCHEDULERS[1..].iter().enumerate() {
            last[nth] = lab.simulated(workload, grain, name, processors)?.memory;
            cells.push(mebibytes(Some(last[nth])));
            series[nth].points.push((processors as f64, last[nth] as f64 / f64::from(1 << 20)));
        }
        sheet.row(cells);
    }
    let mut heaps =
        Sheet::new(format!("Measured on {} processors", lab.processors()), &["scheduler"]).with_space();
    let case = measured(lab, workload, grain)?;
    for name in names() {
        let Some(entry) = lane(&case, name) else { continue };
        heaps.row([vec![name.into()], Space::of(Some(entry)).cells().to_vec()].concat());
    }
    let lines = Lines {
        title: "Memory of dense matrix multiply, fine grain (Narlikar, Figure 10)".into(),
        x: "processors".into(),
        scale: Scale::Count,
        panels: vec![Panel { y: "peak of memory, MiB".into(), scale: Scale::Linear, series }],
    };
    let [adf, dfd, ws] = last;
    let in_order = ws >= dfd && dfd >= adf;
    Ok(Page {
        method: method(lab),
        sheets: vec![sheet, heaps],
        agrees: match in_order {
            true => "more memory than ADF, less than work stealing, as the paper says of DFD.".into(),
            false => format!("DFD grows slowly with P (ADF {adf}, DFD {dfd}, WS {ws} bytes on 8)."),
        },
        differs: "the paper gives its values as a plot; ours multiplies 1536² in place of 1024².".into(),
        plot: lines.draw()?,
    })
}

fn figure_11(lab: &Lab) -> Result<Page> {
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
        title: "High water of heap memory on 8 simulated processors (Narlikar, Figure 11)".into(),
        unit: "MiB, logarithmic".into(),
        scale: Scale::Log(10),
        lanes: lanes.iter().map(|(name, color)| ((*name).to_owned(), Whose::Ours, *color)).collect(),
        groups,
    };
    Ok(Page {
        method: method(lab),
        sheets: vec![sheet, space(lab, &[Grain::Fine])?],
        agrees: format!(
            "FIFO ≥ WS ≥ DFD ≥ ADF, up to a tenth, for {} benchmarks that use much heap (the paper has three), simulated; \
             measured on {} processors, for {} at this grain and {} at medium grain.",
            heaps_in_order(&all),
            lab.processors(),
            heaps_here(lab, Grain::Fine)?,
            heaps_here(lab, Grain::Medium)?
        ),
        differs: "the paper gives its numbers as a plot; in the others, what is allocated does not depend on the schedule."
            .into(),
        plot: bars.draw()?,
    })
}
