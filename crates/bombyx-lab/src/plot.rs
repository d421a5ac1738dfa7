//! Pictures over numbers, shared by all commands that draw them: colours, fonts, and line plots.
//!
//! A plot is a few [`Series`] on logarithmic axes. [`panel`] decides how they look.

use crate::Result;
use crate::text::grouped;
use bombyx_base::palette;
use plotters::coord::Shift;
use plotters::prelude::*;

pub const SIZE: (u32, u32) = (960, 520);
/// Width of the names beside a plot.
const NAMES: u32 = 190;
pub const INK: RGBColor = RGBColor(31, 42, 68);
pub const PALE: RGBColor = RGBColor(226, 231, 240);
const FONT: &str = "Helvetica, Arial, sans-serif";

/// The colours of all pictures.
pub const COLORS: [RGBColor; palette::COLORS.len()] = {
    let mut colors = [BLACK; palette::COLORS.len()];
    let mut nth = 0;
    while nth < colors.len() {
        let [red, green, blue] = palette::COLORS[nth];
        colors[nth] = RGBColor(red, green, blue);
        nth += 1;
    }
    colors
};

/// How a series is drawn.
#[derive(Clone, Copy)]
pub enum Look {
    /// Measured: a line with points.
    Measured(RGBColor),
    /// A bound or a baseline: dashes of a length, without points.
    Reference(RGBColor, u32),
    /// What lies between two bounds: a tint of this strength.
    Band(RGBColor, f64),
}

pub struct Series {
    pub name: String,
    pub look: Look,
    pub points: Vec<(f64, f64)>,
}

/// A logarithmic axis: what it counts, and the base of its marks.
pub struct Axis<'a>(pub &'a str, pub f64);

/// Numbers from `low` to `high`, evenly spaced on a logarithmic axis.
pub fn samples(low: f64, high: f64) -> impl Iterator<Item = f64> {
    const COUNT: u32 = 64;
    (0..=COUNT).map(move |nth| low * (high / low).powf(f64::from(nth) / f64::from(COUNT)))
}

pub fn reference(name: &str, dash: u32, points: Vec<(f64, f64)>) -> Series {
    Series { name: name.to_owned(), look: Look::Reference(RGBColor(120, 130, 150), dash), points }
}

/// What lies between two bounds that were sampled at the same places.
pub fn band(name: &str, strength: f64, lower: Vec<(f64, f64)>, upper: Vec<(f64, f64)>) -> Series {
    let points = lower.into_iter().chain(upper.into_iter().rev()).collect();
    Series { name: name.to_owned(), look: Look::Band(COLORS[0], strength), points }
}

pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

pub fn draw(size: (u32, u32), fill: impl FnOnce(&Area<'_>) -> Result<()>) -> Result<String> {
    let mut out = String::new();
    {
        let area = SVGBackend::with_string(&mut out, size).into_drawing_area();
        area.fill(&WHITE).map_err(|error| error.to_string())?;
        fill(&area)?;
        area.present().map_err(|error| error.to_string())?;
    }
    Ok(out)
}

/// One pair of axes with its series. Their names are on the right, unless a panel above already shows them.
pub fn panel(
    area: &Area<'_>,
    title: &str,
    axes: [Axis<'_>; 2],
    series: &[Series],
    named: bool,
) -> Result<()> {
    let (area, names) = area.split_horizontally(SIZE.0 - NAMES);
    let drawn = draw_series(&area, title, axes, series).and_then(|()| match named {
        true => draw_names(&names, series),
        false => Ok(()),
    });
    drawn.map_err(|error| error.to_string().into())
}

type Drawn = std::result::Result<(), DrawingAreaErrorKind<std::io::Error>>;

pub fn text(size: i32) -> TextStyle<'static> {
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
    let (bottom, top) = (bottom / 1.2, top * 1.2);
    let (wide, high) = area.dim_in_pixel();
    let across = (left..right).log_scale().with_key_points(marks(left, right, x.1, wide / 60));
    let up = (bottom..top).log_scale().with_key_points(marks(bottom, top, y.1, high / 22));
    let mut chart = builder.build_cartesian_2d(across, up)?;
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
            Look::Band(color, strength) => {
                chart
                    .draw_series([Polygon::new(points.collect::<Vec<_>>(), color.mix(strength).filled())])?;
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
            Look::Band(color, strength) => {
                area.draw(&Rectangle::new([(6, y - 6), (34, y + 6)], color.mix(strength).filled()))?;
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

/// Where an axis has marks, as if it had room for `room` of them at equal distances: at every power of the base. If these
/// are few, also between them, as far as the closest two leave each other room.
fn marks(low: f64, high: f64, base: f64, room: u32) -> Vec<f64> {
    const FEW: usize = 4;
    let finer: &[&[f64]] = if base == 2.0 {
        &[&[1.0, 1.5]]
    } else {
        &[&[1.0, 2.0, 5.0], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]]
    };
    // Rounding must not cost the marks at the ends.
    let (from, to) = (low * (1.0 - 1e-9), high * (1.0 + 1e-9));
    let spread = |steps: &[f64], every: i32| -> Vec<f64> {
        let (first, last) = (from.log(base).floor() as i32, to.log(base).ceil() as i32);
        let powers = (first..=last).filter(|power| power.rem_euclid(every) == 0);
        let all = powers.flat_map(|power| steps.iter().map(move |step| step * base.powi(power)));
        all.filter(|value| (from..=to).contains(value)).collect()
    };
    let fits = |marks: &[f64]| {
        let apart = (high / low).ln() / f64::from(room.max(1));
        marks.windows(2).all(|pair| (pair[1] / pair[0]).ln() >= apart)
    };
    let powers = (1..).map(|every| spread(&[1.0], every)).find(|marks| fits(marks));
    let mut best = powers.unwrap_or_default();
    for steps in finer {
        let marks = spread(steps, 1);
        if best.len() < FEW && fits(&marks) {
            best = marks;
        }
    }
    best
}

/// A number on an axis: powers of 2 in full, powers of 10 with a letter.
fn mark(number: f64, base: f64) -> String {
    let whole = (number - number.round()).abs() < 0.01;
    if base == 2.0 && number > 0.99 && whole { grouped(number.round() as u64) } else { short(number) }
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
    fn marks_leave_each_other_room() {
        assert_eq!(marks(1.0, 128.0, 2.0, 12), [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0]);
        assert_eq!(marks(1.0, 128.0, 2.0, 4), [1.0, 4.0, 16.0, 64.0]);
        assert_eq!(marks(1.0, 2.0, 2.0, 12), [1.0, 1.5, 2.0]);
        assert_eq!(marks(5.0, 340.0, 10.0, 10), [5.0, 10.0, 20.0, 50.0, 100.0, 200.0]);
        assert_eq!(marks(100.0, 1e6, 10.0, 12), [1e2, 1e3, 1e4, 1e5, 1e6]);
        let efficiency = marks(0.33, 1.2, 10.0, 20);
        assert_eq!(
            efficiency.iter().map(|&value| short(value)).collect::<Vec<_>>().join(" "),
            "0.40 0.50 0.60 0.70 0.80 0.90 1"
        );
        // Between two powers there may be none.
        assert!(marks(3.0, 3.0, 2.0, 10).len() <= 1 && marks(1.0, 1.0, 2.0, 10) == [1.0]);
    }

    #[test]
    fn axis_numbers_are_short() {
        for (number, text) in
            [(0.5, "0.50"), (1.0, "1"), (2.5, "2.5"), (64.0, "64"), (1500.0, "1.5k"), (2e6, "2M")]
        {
            assert_eq!(short(number), text);
        }
        assert_eq!([1.0, 1.5, 2.0, 4096.0].map(|number| mark(number, 2.0)), ["1", "1.5", "2", "4,096"]);
    }
}
