//! Plots over many runs: speedup and space against processors, DFD's trade-off against the quota K.

use super::Result;
use super::runs::{Plan, Run};
use crate::plot::{Axis, COLORS, Look, SIZE, Series, band, draw, panel, reference, samples};
use bombyx_sim::{Quota, Scheduler};

/// Efficiency, which is speedup over processors, against processors. A band shows what T1/P and T∞ leave to greedy
/// schedules. Speedups themselves would be lines that lie on each other until the last few.
pub(super) fn speedup(plan: &Plan<'_>, runs: &[Run]) -> Result<String> {
    let m = &plan.input.measures;
    let (work, span) = (m.work as f64, m.span as f64);
    if !plan.has_unit_speeds() {
        return Err("the bounds in a speedup plot are for processors of speed 1; leave out --speeds".into());
    }
    let (low, high) = range(plan, "speedup")?;
    let curve = |f: &dyn Fn(f64) -> f64| samples(low, high).map(|p| (p, f(p))).collect();
    let greedy = curve(&|p| 1.0 / (1.0 + p * span / work));
    let least = curve(&|p| (work / (p * span)).min(1.0));
    let mut series = vec![band("greedy – T1/P, T∞", 0.18, greedy, least)];
    series.extend(measured(plan, runs, &|run| work / run.time() / run.outcome.processors as f64));
    let title = format!("Efficiency of {}: speedup / processors", plan.input.name);
    draw(SIZE, |area| panel(area, &title, [Axis("processors", 2.0), Axis("efficiency", 10.0)], &series, true))
}

/// The peak of space against processors, with S1 and what P·S1 allows.
pub(super) fn space(plan: &Plan<'_>, runs: &[Run]) -> Result<String> {
    let (low, high) = range(plan, "space")?;
    let serial = plan.input.measures.serial_space as f64;
    if serial == 0.0 {
        return Err("this computation uses no space; give it frames, say `frame=64`".into());
    }
    let mut series = vec![
        reference("S1", 2, samples(low, high).map(|p| (p, serial)).collect()),
        reference("P·S1", 9, samples(low, high).map(|p| (p, p * serial)).collect()),
    ];
    series.extend(measured(plan, runs, &|run| run.outcome.peak.total as f64));
    let title = format!("Peak space of {}", plan.input.name);
    draw(SIZE, |area| panel(area, &title, [Axis("processors", 2.0), Axis("bytes", 10.0)], &series, true))
}

/// One quantity of the trade-off: its axis, and how to get it from a run.
type Quantity = (&'static str, fn(&Run) -> f64);

/// DFD Figures 12 and 13: space, granularity and time against K, with the other schedulers as baselines.
pub(super) fn tradeoff(plan: &Plan<'_>, runs: &[Run]) -> Result<String> {
    let quota = |scheduler: &Scheduler| match scheduler {
        Scheduler::Dfdeques(Quota::Bytes(bytes)) => Some(bytes.get() as f64),
        _ => None,
    };
    let mut quotas: Vec<f64> = plan.schedulers.iter().filter_map(quota).collect();
    quotas.sort_by(f64::total_cmp);
    quotas.dedup();
    let [low, .., high] = quotas[..] else {
        return Err("a trade-off needs dfdeques with several quotas, say `-s dfdeques:100..100k*10`".into());
    };
    let [processors] = plan.processors[..] else {
        return Err("a trade-off is drawn for one number of processors, say `-p 64`".into());
    };
    let quantities: [Quantity; 3] = [
        ("peak space, bytes", |run| run.outcome.peak.total as f64),
        ("granularity, instructions", |run| run.outcome.granularity()),
        ("time, steps", Run::time),
    ];
    let height = SIZE.1 * 8 / 5;
    draw((SIZE.0, height), |area| {
        for (nth, (area, (y, of))) in area.split_evenly((3, 1)).iter().zip(quantities).enumerate() {
            let mean = |s: usize| mean(plan.group(runs, s, 0), &of);
            let mut points: Vec<(f64, f64)> = plan
                .schedulers
                .iter()
                .enumerate()
                .filter_map(|(s, scheduler)| Some((quota(scheduler)?, mean(s))))
                .collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            let mut series: Vec<Series> = plan
                .schedulers
                .iter()
                .enumerate()
                .filter(|(_, scheduler)| quota(scheduler).is_none())
                .zip(COLORS[1..].iter().cycle())
                .map(|((s, scheduler), &color)| Series {
                    name: scheduler.to_string(),
                    look: Look::Reference(color, 6),
                    points: vec![(low, mean(s)), (high, mean(s))],
                })
                .collect();
            series.push(Series { name: "dfdeques:K".to_owned(), look: Look::Measured(COLORS[0]), points });
            let title = match nth {
                0 => format!("DFDeques on {processors} processors: {}", plan.input.name),
                _ => String::new(),
            };
            let x = if nth == 2 { "K, bytes" } else { "" };
            panel(area, &title, [Axis(x, 10.0), Axis(y, 10.0)], &series, nth == 0)?;
        }
        Ok(())
    })
}

fn mean(runs: &[Run], of: &dyn Fn(&Run) -> f64) -> f64 {
    runs.iter().map(of).sum::<f64>() / runs.len() as f64
}

/// The least and greatest number of processors, if a plot over them makes sense.
fn range(plan: &Plan<'_>, what: &str) -> Result<(f64, f64)> {
    let low = plan.processors.iter().min().copied().unwrap_or(1);
    let high = plan.processors.iter().max().copied().unwrap_or(1);
    if low == high {
        return Err(format!("a {what} plot needs several numbers of processors, say `-p 1..64`").into());
    }
    Ok((low as f64, high as f64))
}

/// A series per scheduler, over the numbers of processors.
fn measured(plan: &Plan<'_>, runs: &[Run], of: &dyn Fn(&Run) -> f64) -> Vec<Series> {
    let with_color = plan.schedulers.iter().enumerate().zip(COLORS.iter().cycle());
    let series = with_color.map(|((s, scheduler), &color)| {
        let mut points: Vec<(f64, f64)> = plan
            .processors
            .iter()
            .enumerate()
            .map(|(p, &processors)| (processors as f64, mean(plan.group(runs, s, p), of)))
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Series { name: scheduler.to_string(), look: Look::Measured(color), points }
    });
    series.collect()
}
