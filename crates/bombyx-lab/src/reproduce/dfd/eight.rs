//! Living threads and heap memory on as many real processors as the paper had. Here they share the cores of the
//! machine, so times say nothing. But eight processors of the runtime itself decide which threads are alive and what
//! they hold.

use super::order::{Counted, NEAREST, ORDER, five, four, heaps_in_order, nearest};
use super::{EIGHT, paper};
use crate::Result;
use crate::contender::pool_of;
use crate::host::cores;
use crate::progress::Progress;
use crate::reproduce::exhibit::{Page, Sheet, Space, mebibytes};
use crate::reproduce::lab::{Lab, SEED};
use crate::reproduce::plot::{Bars, Scale, Whose};
use crate::reproduce::seed::dfd::{ROWS, Row};
use crate::reproduce::verdict::Verdicts;
use crate::resources::{Memory, Watch};
use crate::statistics::middle;
use bombyx::lab::BuilderExt as _;
use bombyx_workloads::{Grain, Runtime, find};
use serde_json::{Value, json};

/// Peaks of one program, by scheduler.
struct Peaks {
    threads: Counted,
    heap: [u64; 5],
    /// The same with resident memory and carriers.
    space: [Space; 5],
}

pub(in crate::reproduce) fn eight(lab: &Lab) -> Result<Page> {
    let (mut sheets, mut groups) = (Vec::new(), Vec::new());
    let (mut verdicts, mut as_the_paper) = (Verdicts::default(), Vec::new());
    let mut spaces = Sheet::spaces(&["benchmark", "grain"], &Counted::HEADINGS);
    for &grain in Grain::ALL {
        let mut sheet = Sheet::new(
            format!("{grain} grain: most threads alive at a time; most heap memory, MiB"),
            &[
                "benchmark",
                "FIFO",
                "ours",
                "ADF",
                "ours",
                "DFD",
                "ours",
                "500k",
                "WS",
                "heap: FIFO",
                "ADF",
                "DFD",
                "500k",
                "WS",
            ],
        );
        let mut all = Vec::new();
        for row in &ROWS {
            let theirs = paper(match grain {
                Grain::Medium => &row.medium_threads,
                Grain::Fine => &row.fine_threads,
            });
            let peaks = peaks(lab, row, grain)?;
            let [fifo, adf, dfd, larger, ws] = peaks.threads.0;
            let threads = [theirs[0], fifo, theirs[1], adf, theirs[2], dfd, larger, ws];
            let mut cells: Vec<Value> = vec![row.workload.into()];
            cells.extend(threads.map(|threads| json!(threads)));
            cells.extend(peaks.heap.map(|heap| mebibytes(Some(heap))));
            sheet.row(cells);
            let cells = peaks.space.map(Space::cell);
            spaces.row([vec![row.workload.into(), grain.to_string().into()], cells.to_vec()].concat());
            let bars = threads.iter().map(|&threads| Some(threads as f64)).collect();
            groups.push((format!("{}, {grain}", row.workload), bars));
            if nearest(lab, row)? == grain {
                as_the_paper.push(peaks.threads);
            }
            all.push(peaks);
        }
        sheets.push(sheet);
        let threads: Vec<Counted> = all.iter().map(|peaks| peaks.threads).collect();
        let heaps: Vec<[u64; 4]> = all.iter().map(|peaks| four(peaks.heap)).collect();
        judge(&mut verdicts, &threads, &format!("{grain} grain"));
        let (in_order, much) = heaps_in_order(&heaps);
        let claim = format!(
            "FIFO ≥ WS ≥ DFD ≥ ADF in heap memory, up to a tenth, where it is much, at {grain} grain"
        );
        verdicts.count(&claim, in_order, much, None);
    }
    judge(&mut verdicts, &as_the_paper, NEAREST);
    verdicts.note(
        "numbers of threads differ, as in Figure 8; eight processors on fewer cores take turns of milliseconds, \
         and a processor that waits for its turn makes no progress",
    );
    let texts = verdicts.texts();
    sheets.push(spaces);
    let lanes = [("FIFO", 1), ("ADF", 2), ("DFD", 0)].iter().flat_map(|(name, color)| {
        [(format!("{name}, paper"), Whose::Paper, *color), (format!("{name}, here"), Whose::Ours, *color)]
    });
    let larger = ("DFD, larger K".to_owned(), Whose::Ours, 4);
    let bars = Bars {
        title: format!("Most threads alive at a time, 8 processors on {} cores", cores()),
        unit: "threads, logarithmic".into(),
        scale: Scale::Log(10),
        lanes: lanes.chain([larger, ("WS, here".to_owned(), Whose::Ours, 3)]).collect(),
        groups,
    };
    Ok(Page {
        method: format!(
            "Measured: {EIGHT} processors of the runtime on {} cores, which count their threads; K = 50,000, and 500,000 where it \
             says so; medians of {} runs in turn (FIFO: one). The paper's figures, of threads, stand left of ours.",
            cores(),
            runs(lab)
        ),
        sheets,
        agrees: texts.0,
        differs: texts.1,
        plot: bars.draw()?,
    })
}

/// Judges the order of living threads at some grain.
fn judge(verdicts: &mut Verdicts, threads: &[Counted], grain: &str) {
    let text = format!("{ORDER} holds {}", Counted::verdict(threads, grain));
    verdicts.judge(Counted::all_in_order(threads), text);
}

fn runs(lab: &Lab) -> usize {
    lab.pick(1, 5)
}

/// Runs a workload on all schedulers in turn.
fn peaks(lab: &Lab, row: &Row, grain: Grain) -> Result<Peaks> {
    let name = row.workload;
    let mut prepared = find(name)?.prepare(lab.size(), grain, SEED);
    let mut pools = Vec::new();
    for scheduler in five() {
        pools.push(pool_of(EIGHT, scheduler.parse()?).count_threads(true).build()?);
    }
    let expected = prepared.run(Runtime::Serial).checksum;
    let mut threads = [const { Vec::new() }; 5];
    let mut memory = [const { Vec::new() }; 5];
    let mut carriers = [0; 5];
    let progress = Progress::new(4 * runs(lab) + 1);
    for round in 0..runs(lab) {
        // FIFO, which comes first, has so many more that one run is enough. It may take a minute.
        for (nth, pool) in pools.iter().enumerate().skip(usize::from(round > 0)) {
            progress.doing(format!("{name}, {grain} grain: {}, {EIGHT} processors", pool.scheduler()));
            pool.forget_peaks();
            let watch = Watch::start();
            let checksum = prepared.run(Runtime::Bombyx(pool)).checksum;
            memory[nth].push(watch.memory());
            let stats = pool.stats();
            threads[nth].push(stats.threads.peak_threads);
            carriers[nth] = stats.peak_carriers.max(carriers[nth]);
            if checksum != expected {
                return Err(format!("{name} on {} differs from the serial elision", pool.scheduler()).into());
            }
            progress.step();
        }
    }
    let threads = threads.map(|figures| middle(figures).unwrap_or(0));
    let memory = memory.map(|runs: Vec<Memory>| {
        let heap = middle(runs.iter().map(|memory| memory.heap)).unwrap_or(0);
        Memory { heap, ..runs.into_iter().reduce(Memory::max).unwrap_or_default() }
    });
    let space = std::array::from_fn(|nth| Space {
        memory: Some(memory[nth]),
        carriers: Some(carriers[nth]),
        threads: Some(threads[nth]),
    });
    Ok(Peaks { threads: Counted(threads), heap: memory.map(|memory| memory.heap), space })
}
