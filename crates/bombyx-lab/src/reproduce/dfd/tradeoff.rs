//! Figures 12 and 13: what the quota K trades.

use super::{EIGHT, measured, method};
use crate::Result;
use crate::bench::case::Entry;
use crate::reproduce::exhibit::{Page, Sheet, Space, mebibytes, none};
use crate::reproduce::lab::{Lab, Simulated, lane, simulate};
use crate::reproduce::plot::{Lines, Panel, Scale, Series};
use crate::reproduce::verdict::Verdicts;
use bombyx_dag::Measures;
use bombyx_dag::generate::Spec;
use bombyx_workloads::Grain;
use serde_json::{Value, json};

/// What a panel shows, and how to get it from a run.
type Quantity = (&'static str, fn(&Simulated) -> f64);

/// A quantity over K: one curve for DFDeques, and level lines for schedulers without a K.
fn panel(y: &str, dfd: Vec<(f64, f64)>, references: &[(&str, usize, f64)]) -> Panel {
    let (low, high) = (dfd.first().map_or(1.0, |p| p.0), dfd.last().map_or(2.0, |p| p.0));
    let level = |(name, color, value): &(&str, usize, f64)| Series {
        name: (*name).to_owned(),
        color: *color,
        dashed: true,
        points: vec![(low, *value), (high, *value)],
    };
    let mut series: Vec<Series> = references.iter().map(level).collect();
    series.push(Series { name: "DFDeques(K)".into(), color: 0, dashed: false, points: dfd });
    Panel { y: y.into(), scale: Scale::Log(10), series }
}

/// Whether a quantity only grows, up to 2 %.
fn grows(values: &[f64]) -> bool {
    values.windows(2).all(|pair| pair[1] >= pair[0] * 0.98)
}

pub(in crate::reproduce) fn figure_12(lab: &Lab) -> Result<Page> {
    let (workload, grain) = ("dense-mm", Grain::Fine);
    let quotas: &[u64] =
        lab.pick(&[2_000, 50_000], &[1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 10_000_000]);
    let names: Vec<String> = quotas.iter().map(|k| format!("dfdeques:{k}")).collect();
    let p = lab.processors();
    let mut sheet = Sheet::new(
        format!("DFDeques(K), simulated on 8 processors; measured on {p}"),
        &["K, bytes", "time, ms", "memory, MiB", "granularity", "work, µs", "measured, ms"],
    )
    .with_space();
    let lanes: Vec<&str> = names.iter().map(String::as_str).collect();
    let exists = lanes[0].parse::<bombyx::Scheduler>().is_ok();
    let case = if exists { Some(lab.measured(workload, grain, &lanes)?) } else { None };
    let mut runs = Vec::new();
    for (k, name) in quotas.iter().zip(&names) {
        let run = lab.simulated(workload, grain, name, EIGHT)?;
        let entry = case.as_ref().and_then(|case| lane(case, name));
        sheet.row(row(json!(k), &run, entry));
        runs.push((*k as f64, run));
    }
    for name in ["depth-first:50000", "work-stealing"] {
        let case = measured(lab, workload, grain)?;
        sheet.row(row(name.into(), &*lab.simulated(workload, grain, name, EIGHT)?, lane(&case, name)));
    }
    let adf = lab.simulated(workload, grain, "depth-first:50000", EIGHT)?;
    let ws = lab.simulated(workload, grain, "work-stealing", EIGHT)?;
    let curve = |of: fn(&Simulated) -> f64| runs.iter().map(|(k, run)| (*k, of(run))).collect();
    let panels: [Quantity; 3] = [
        ("time, ms", |run| run.time / 1e6),
        ("memory, MiB", |run| run.memory as f64 / f64::from(1 << 20)),
        ("granularity, own threads per steal", |run| run.threads_per_steal),
    ];
    let lines = Lines {
        title: "Dense matrix multiply, fine grain, 8 simulated processors (DFD, Figure 12)".into(),
        x: "K, bytes".into(),
        scale: Scale::Log(10),
        panels: panels
            .iter()
            .map(|(y, of)| panel(y, curve(*of), &[("ADF", 2, of(&adf)), ("WS", 3, of(&ws))]))
            .collect(),
    };
    let values = |of: fn(&Simulated) -> f64| -> Vec<f64> { runs.iter().map(|(_, run)| of(run)).collect() };
    let memory = grows(&values(|run| run.memory as f64));
    let granularity = grows(&values(|run| run.threads_per_steal));
    let time = grows(&values(|run| -run.time).iter().map(|t| 1.0 / -t).collect::<Vec<_>>());
    let mut verdicts = Verdicts::default();
    verdicts.judge(memory, "memory grows with K throughout (up to 2 %)");
    verdicts.judge(
        granularity,
        "granularity, in threads from the processor's own deque per steal, grows with K throughout (up to 2 %)",
    );
    verdicts.judge(time, "time falls with K throughout (up to 2 %)");
    verdicts.note(
        "granularity is the paper's (§5.3): threads that a processor takes from its own deque for each steal, averaged over the \
         processors, without dummies; \"work\" is time between two steals. The paper gives its values as a plot; simulated time \
         pays for steals only",
    );
    let (agrees, differs) = verdicts.texts();
    Ok(Page { method: method(lab), sheets: vec![sheet], agrees, differs, plot: lines.draw()? })
}

/// Whether two runs have the same granularity and the same memory, up to a factor of 1.25.
fn is_near(one: &Simulated, other: &Simulated) -> bool {
    let near = |a: f64, b: f64| a <= 1.25 * b && b <= 1.25 * a;
    near(one.granularity, other.granularity) && near(one.memory as f64, other.memory as f64)
}

fn row(name: Value, run: &Simulated, entry: Option<&Entry>) -> Vec<Value> {
    let mut cells = vec![
        name,
        json!(run.time / 1e6),
        mebibytes(Some(run.memory)),
        json!(run.threads_per_steal),
        json!(run.granularity / 1e3),
        entry.map_or_else(none, |entry| json!(entry.median() * 1e3)),
    ];
    cells.extend(Space::of(entry).cells());
    cells
}

pub(in crate::reproduce) fn figure_13(lab: &Lab) -> Result<Page> {
    /// Enough for the effects to show.
    const PROCESSORS: usize = 64;
    let spec: Spec = lab.pick("geometric:depth=10", "geometric:depth=16,grain=200").parse()?;
    let computation = spec.build()?;
    let measures = Measures::of(&computation);
    let run = |scheduler: &str| simulate(&computation, measures.work, scheduler, PROCESSORS, 1);
    let quotas: Vec<u64> = (0..lab.pick(3, 9)).map(|nth| 100 << (2 * nth)).collect();
    let mut sheet = Sheet::new(
        format!("{spec} on {PROCESSORS} processors; serial space {} bytes", measures.serial_space),
        &["scheduler", "memory, KiB", "threads", "granularity", "speedup"],
    );
    let line = |name: &str, run: &Simulated| -> Vec<Value> {
        vec![
            name.into(),
            json!(run.memory as f64 / 1024.0),
            json!(run.threads),
            json!(run.granularity),
            json!(run.speedup),
        ]
    };
    let adf = run("depth-first:1000")?;
    sheet.row(line("depth-first:1000", &adf));
    let mut runs = Vec::new();
    for k in quotas {
        let name = format!("dfdeques:{k}");
        let made = run(&name)?;
        sheet.row(line(&name, &made));
        runs.push((k as f64, made));
    }
    let ws = run("work-stealing")?;
    sheet.row(line("work-stealing", &ws));
    let curve = |of: fn(&Simulated) -> f64| runs.iter().map(|(k, run)| (*k, of(run))).collect();
    let panels: [Quantity; 2] = [
        ("memory, KiB", |run| run.memory as f64 / 1024.0),
        ("granularity, instructions between two steals", |run| run.granularity),
    ];
    let lines = Lines {
        title: format!("Synthetic divide and conquer, {PROCESSORS} processors (DFD, Figure 13)"),
        x: "K, bytes".into(),
        scale: Scale::Log(10),
        panels: panels
            .iter()
            .map(|(y, of)| panel(y, curve(*of), &[("ADF", 2, of(&adf)), ("WS", 3, of(&ws))]))
            .collect(),
    };
    let (first, last) = (&runs[0].1, &runs[runs.len() - 1].1);
    let mut verdicts = Verdicts::default();
    let kib = |run: &Simulated| run.memory as f64 / 1024.0;
    verdicts.judge(
        ws.granularity > 10.0 * adf.granularity && ws.memory > adf.memory,
        format!(
            "WS has high granularity and space ({:.0}, {:.0} KiB), ADF low ({:.0}, {:.0} KiB)",
            ws.granularity,
            kib(&ws),
            adf.granularity,
            kib(&adf)
        ),
    );
    verdicts.judge(
        is_near(last, &ws),
        format!(
            "with the largest K, DFDeques is where WS is, up to a factor of 1.25 ({:.0}, {:.0} KiB)",
            last.granularity,
            kib(last)
        ),
    );
    verdicts.judge(
        is_near(first, &adf),
        format!(
            "with the smallest K, DFDeques is where ADF is, up to a factor of 1.25 ({:.0}, {:.0} KiB)",
            first.granularity,
            kib(first)
        ),
    );
    let grow = |of: fn(&Simulated) -> f64| grows(&runs.iter().map(|(_, run)| of(run)).collect::<Vec<_>>());
    verdicts.judge(grow(|run| run.granularity), "granularity grows with K throughout (up to 2 %)");
    verdicts.judge(grow(|run| run.memory as f64), "memory grows with K throughout (up to 2 %)");
    let like_adf = runs.iter().filter(|(_, run)| is_near(run, &adf)).map(|(k, _)| k.to_string());
    let like_adf = like_adf
        .reduce(|all, k| format!("{all}, {k}"))
        .map_or_else(|| "no K of these".to_owned(), |all| format!("K = {all}"));
    verdicts.note(format!("ADF's quota is 1,000 bytes; DFDeques is where ADF is with {like_adf}"));
    verdicts.note(
        "granularity is work between two steals, without dummies (§6); the quota counts heap and frames (§3.3); the parameters of \
         the synthetic program and the number of processors are ours; the paper gives its values as a plot",
    );
    let (agrees, differs) = verdicts.texts();
    Ok(Page {
        method: "Simulated in unit steps, as the paper did.".into(),
        sheets: vec![sheet],
        agrees,
        differs,
        plot: lines.draw()?,
    })
}
