//! Plots over many runs: speedup and space against processors, DFD's trade-off against the quota K.
//!
//! A plot is a few [`Series`] on logarithmic axes; how they look is decided once, in [`panel`].

use super::Result;
use super::runs::{Plan, Run};
use crate::text::grouped;
use bombyx_sim::{Quota, Scheduler};
use plotters::coord::Shift;
use plotters::prelude::*;

const SIZE: (u32, u32) = (960, 520);
/// Width of the names beside a plot.
const NAMES: u32 = 190;
const INK: RGBColor = RGBColor(31, 42, 68);
const PALE: RGBColor = RGBColor(226, 231, 240);
const FONT: &str = "Helvetica, Arial, sans-serif";

/// Distinct also for people who see few colours (Okabe and Ito's palette, darkened where it is too pale).
const COLORS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 140, 103),
    RGBColor(190, 100, 160),
    RGBColor(190, 140, 0),
    RGBColor(60, 160, 215),
    RGBColor(120, 90, 60),
    RGBColor(90, 90, 90),
];

/// How a series is drawn.
#[derive(Clone, Copy)]
enum Look {
    /// Measured: a line with points.
    Measured(RGBColor),
    /// A bound or a baseline: dashes of a length, without points.
    Reference(RGBColor, u32),
}

struct Series {
    name: String,
    look: Look,
    points: Vec<(f64, f64)>,
}

/// A logarithmic axis: what it counts, and the base of its marks.
struct Axis<'a>(&'a str, f64);

/// Speedup against processors: T1/P, T∞ and their sum as the limits they put on it.
pub(super) fn speedup(plan: &Plan<'_>, runs: &[Run]) -> Result<String> {
    let m = &plan.input.measures;
    let (work, span) = (m.work as f64, m.span as f64);
    if !plan.has_unit_speeds() {
        return Err("the bounds in a speedup plot are for processors of speed 1; leave out --speeds".into());
    }
    let (low, high) = range(plan, "speedup")?;
    let curve = |f: &dyn Fn(f64) -> f64| samples(low, high).map(|p| (p, f(p))).collect();
    // Beyond twice the parallelism the linear speedup would only stretch the axis.
    let linear = samples(low, high).filter(|p| *p <= 2.0 * work / span).map(|p| (p, p)).collect();
    let mut series = vec![
        reference("T1/P: linear", 9, linear),
        reference("T∞: at most T1/T∞", 2, curve(&|_| work / span)),
        reference("T1/P + T∞: greedy", 5, curve(&|p| work / (work / p + span))),
    ];
    series.extend(measured(plan, runs, &|run| work / run.time()));
    let title = format!("Speedup of {}", plan.input.name);
    draw(SIZE, |area| panel(area, &title, [Axis("processors", 2.0), Axis("speedup", 2.0)], &series, true))
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

/// One quantity of the trade-off: its axis and how a run gives it.
type Quantity = (&'static str, fn(&Run) -> f64);

/// DFD Figures 12 and 13: space, granularity and time against K, with the other schedulers as baselines.
pub(super) fn tradeoff(plan: &Plan<'_>, runs: &[Run]) -> Result<String> {
    let quota = |scheduler: &Scheduler| match scheduler {
        Scheduler::Dfdeques(Quota::Bytes(bytes)) => Some(*bytes as f64),
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

/// Numbers from `low` to `high`, evenly spaced on a logarithmic axis.
fn samples(low: f64, high: f64) -> impl Iterator<Item = f64> {
    const COUNT: u32 = 64;
    (0..=COUNT).map(move |nth| low * (high / low).powf(f64::from(nth) / f64::from(COUNT)))
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

fn reference(name: &str, dash: u32, points: Vec<(f64, f64)>) -> Series {
    Series { name: name.to_owned(), look: Look::Reference(RGBColor(120, 130, 150), dash), points }
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

fn draw(size: (u32, u32), fill: impl FnOnce(&Area<'_>) -> Result<()>) -> Result<String> {
    let mut out = String::new();
    {
        let area = SVGBackend::with_string(&mut out, size).into_drawing_area();
        area.fill(&WHITE).map_err(|error| error.to_string())?;
        fill(&area)?;
        area.present().map_err(|error| error.to_string())?;
    }
    Ok(out)
}

/// One pair of axes with its series, and their names on the right, if they are not known from a panel above.
fn panel(area: &Area<'_>, title: &str, axes: [Axis<'_>; 2], series: &[Series], named: bool) -> Result<()> {
    let (area, names) = area.split_horizontally(SIZE.0 - NAMES);
    let drawn = draw_series(&area, title, axes, series).and_then(|()| match named {
        true => draw_names(&names, series),
        false => Ok(()),
    });
    drawn.map_err(|error| error.to_string().into())
}

type Drawn = std::result::Result<(), DrawingAreaErrorKind<std::io::Error>>;

fn text(size: i32) -> TextStyle<'static> {
    (FONT, size).into_font().color(&INK)
}

fn draw_series(area: &Area<'_>, title: &str, [x, y]: [Axis<'_>; 2], series: &[Series]) -> Drawn {
    let bounds = |of: fn(&(f64, f64)) -> f64| {
        let values = || series.iter().flat_map(|s| s.points.iter().map(of));
        (values().fold(f64::MAX, f64::min).max(1e-9), values().fold(0.0, f64::max))
    };
    let ((left, right), (bottom, top)) = (bounds(|p| p.0), bounds(|p| p.1));
    let mut builder = ChartBuilder::on(area);
    builder.margin(14).x_label_area_size(44).y_label_area_size(68);
    if !title.is_empty() {
        builder.caption(title, text(19));
    }
    let across = (left..right).log_scale().base(x.1);
    let mut chart = builder.build_cartesian_2d(across, (bottom / 1.2..top * 1.2).log_scale().base(y.1))?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(PALE)
        .axis_style(INK)
        .x_labels(14)
        .x_desc(x.0)
        .y_desc(y.0)
        .x_label_formatter(&|value| mark(*value, x.1))
        .y_label_formatter(&|value| mark(*value, y.1))
        .label_style(text(13))
        .axis_desc_style(text(14))
        .draw()?;
    for Series { look, points, .. } in series {
        let points = points.iter().copied();
        match *look {
            Look::Reference(color, dash) => {
                chart.draw_series(DashedLineSeries::new(
                    points,
                    dash,
                    dash.div_ceil(2) + 1,
                    color.stroke_width(2),
                ))?;
            }
            Look::Measured(color) => {
                chart.draw_series(LineSeries::new(points.clone(), color.stroke_width(2)))?;
                chart.draw_series(points.map(|point| Circle::new(point, 4, color.filled())))?;
            }
        }
    }
    Ok(())
}

fn draw_names(area: &Area<'_>, series: &[Series]) -> Drawn {
    for (nth, Series { name, look, .. }) in (0..).zip(series) {
        let y = 62 + 23 * nth;
        match *look {
            Look::Measured(color) => {
                area.draw(&PathElement::new([(6, y), (34, y)], color.stroke_width(2)))?;
                area.draw(&Circle::new((20, y), 4, color.filled()))?;
            }
            Look::Reference(color, dash) => {
                let (dash, period) = (dash as i32, (dash + dash.div_ceil(2) + 1) as i32);
                for x in (6..34 - dash / 2).step_by(period as usize) {
                    area.draw(&PathElement::new([(x, y), ((x + dash).min(34), y)], color.stroke_width(2)))?;
                }
            }
        }
        area.draw(&Text::new(name.as_str(), (42, y - 5), text(13)))?;
    }
    Ok(())
}

/// A number on an axis: powers of 2 in full, powers of 10 with a letter.
fn mark(number: f64, base: f64) -> String {
    if base == 2.0 && number > 0.99 { grouped(number.round() as u64) } else { short(number) }
}

fn short(number: f64) -> String {
    const UNITS: [&str; 5] = ["", "k", "M", "G", "T"];
    let (mut value, mut unit) = (number, 0);
    while value >= 999.5 && unit < 4 {
        value /= 1000.0;
        unit += 1;
    }
    let digits = if value >= 9.95 || (value - value.round()).abs() < 0.005 { 0 } else { 1 };
    match unit {
        0 if value < 0.95 => format!("{value:.2}"),
        _ => format!("{value:.digits$}{}", UNITS[unit]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axis_numbers_are_short() {
        for (number, text) in
            [(0.5, "0.50"), (1.0, "1"), (2.5, "2.5"), (64.0, "64"), (1500.0, "1.5k"), (2e6, "2M")]
        {
            assert_eq!(short(number), text);
        }
    }
}
