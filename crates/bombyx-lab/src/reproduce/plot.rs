//! Pictures of reproductions: groups of bars ([`Bars`]) and panels of lines ([`Lines`]), in the style of the other
//! plots of this program. The paper's figures are pale, and ours are in full colour.

use crate::Result;
use crate::plot::{Area, COLORS, INK, PALE, text};
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

const WIDTH: i32 = 960;

/// Whose figures a lane or series shows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    Paper,
    Ours,
}

/// How lengths stand for numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scale {
    Linear,
    /// Linear, for things that are counted: with marks at whole numbers.
    Count,
    /// With marks at the powers of the base.
    Log(u32),
}

impl Scale {
    fn place(self, value: f64) -> f64 {
        match self {
            Self::Linear | Self::Count => value,
            Self::Log(_) => value.max(1e-9).ln(),
        }
    }

    /// Round numbers between `low` and `high`.
    fn marks(self, low: f64, high: f64) -> Vec<f64> {
        match self {
            Self::Count if high - low <= 10.0 => {
                let (first, last) = (low.ceil() as i64, high.floor() as i64);
                (first..=last).map(|count| count as f64).collect()
            }
            Self::Linear | Self::Count => {
                let rough = (high - low) / 6.0;
                let power = 10f64.powf(rough.log10().floor());
                let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|step| *step >= rough);
                let step = step.unwrap_or(power * 10.0);
                let first = (low / step).ceil() as i64;
                (first..)
                    .map(|nth| nth as f64 * step)
                    .take_while(|mark| *mark <= high * (1.0 + 1e-9))
                    .collect()
            }
            Self::Log(base) => {
                let base = f64::from(base);
                // A logarithmic axis has no zero, so it begins nine powers of ten below its end.
                let high = if high > 0.0 { high } else { 1.0 };
                let low = low.max(high * 1e-9);
                let first = (low.ln() / base.ln() - 1e-9).ceil() as i32;
                let powers = (first..).map(|nth| base.powi(nth));
                let powers: Vec<f64> = powers.take_while(|mark| *mark <= high * (1.0 + 1e-9)).collect();
                // If there are fewer than two powers, use round numbers.
                if powers.len() < 2 { Self::Linear.marks(low, high) } else { powers }
            }
        }
    }
}

/// A number at an axis.
fn mark(value: f64) -> String {
    match value.abs() {
        v if v >= 1e9 => format!("{}G", value / 1e9),
        v if v >= 1e6 => format!("{}M", value / 1e6),
        v if v >= 1e4 => format!("{}k", value / 1e3),
        _ => format!("{}", (value * 1e6).round() / 1e6),
    }
}

/// How numbers below an axis are written.
fn centred() -> TextStyle<'static> {
    text(12).pos(Pos::new(HPos::Center, VPos::Top))
}

fn draw(height: i32, fill: impl FnOnce(&Area<'_>) -> Result<()>) -> Result<String> {
    crate::plot::draw((WIDTH as u32, height as u32), fill)
}

/// Names with their colours in a line, from `left` on. Continues below when the line is full.
fn legend(area: &Area<'_>, names: &[(String, ShapeStyle)], left: i32, mut top: i32) -> Result<i32> {
    let mut x = left;
    for (name, style) in names {
        let width = 34 + 7 * name.chars().count() as i32;
        if x > left && x + width > WIDTH - 10 {
            x = left;
            top += 18;
        }
        area.draw(&Rectangle::new([(x, top + 1), (x + 12, top + 13)], *style))?;
        area.draw_text(name, &text(13), (x + 18, top))?;
        x += width;
    }
    Ok(top + 18)
}

/// Horizontal bars: a group per row of a table, a lane per column.
pub(super) struct Bars {
    pub(super) title: String,
    /// What lengths mean.
    pub(super) unit: String,
    pub(super) scale: Scale,
    /// A lane of the paper and one of ours with the same colour number share the colour.
    pub(super) lanes: Vec<(String, Whose, usize)>,
    pub(super) groups: Vec<(String, Vec<Option<f64>>)>,
}

impl Bars {
    pub(super) fn draw(&self) -> Result<String> {
        const NAMES: i32 = 200;
        const BAR: i32 = 8;
        let styles: Vec<(String, ShapeStyle)> =
            self.lanes.iter().map(|(name, whose, color)| (name.clone(), style(*whose, *color))).collect();
        let group = self.lanes.len() as i32 * BAR + 9;
        let lines = 1 + styles.iter().map(|(name, _)| 34 + 7 * name.chars().count() as i32).sum::<i32>()
            / (WIDTH - NAMES - 30);
        let top = 46 + 18 * lines;
        let bottom = top + group * self.groups.len() as i32;
        let values = || self.groups.iter().flat_map(|(_, values)| values.iter().flatten().copied());
        let high = values().fold(0.0, f64::max).max(1e-9) * 1.04;
        let low = match self.scale {
            Scale::Linear | Scale::Count => values().fold(0.0, f64::min) * 1.04,
            // Bars begin at a power, so that the axis says where.
            Scale::Log(base) => {
                let least = values().filter(|v| *v > 0.0).fold(high, f64::min);
                f64::from(base).powf((least.ln() / f64::from(base).ln()).floor())
            }
        };
        let (from, to) = (self.scale.place(low), self.scale.place(high));
        let x = |value: f64| {
            let share = (self.scale.place(value.max(low)) - from) / (to - from);
            NAMES + (share * f64::from(WIDTH - NAMES - 40)).round() as i32
        };
        draw(bottom + 44, |area| {
            area.draw_text(&self.title, &text(17), (14, 10))?;
            legend(area, &styles, NAMES, 36)?;
            for value in self.scale.marks(low, high) {
                let at = x(value);
                area.draw(&PathElement::new([(at, top - 6), (at, bottom)], PALE.stroke_width(1)))?;
                area.draw_text(&mark(value), &centred(), (at, bottom + 6))?;
            }
            area.draw_text(&self.unit, &text(12), (NAMES, bottom + 22))?;
            if self.groups.is_empty() {
                area.draw_text("nothing to show at this size", &text(13), (NAMES + 10, top))?;
            }
            let zero = if matches!(self.scale, Scale::Log(_)) { NAMES } else { x(0.0) };
            for (nth, (name, values)) in self.groups.iter().enumerate() {
                let y = top + group * nth as i32;
                let middle = y + (self.lanes.len() as i32 * BAR) / 2 - 8;
                area.draw_text(name, &text(13), (14, middle))?;
                for (lane, (value, (_, style))) in values.iter().zip(&styles).enumerate() {
                    let Some(value) = value else { continue };
                    let (y, end) = (y + BAR * lane as i32, x(*value));
                    let (left, right) = (zero.min(end), zero.max(end).max(zero.min(end) + 1));
                    area.draw(&Rectangle::new([(left, y), (right, y + BAR - 1)], *style))?;
                }
            }
            area.draw(&PathElement::new([(zero, top - 6), (zero, bottom)], INK.stroke_width(1)))?;
            Ok(())
        })
    }
}

/// A share of the colour mixed with white, so that nothing behind shows through.
fn pale(color: RGBColor, share: f64) -> RGBColor {
    let mixed = |part: u8| (255.0 - share * (255.0 - f64::from(part))).round() as u8;
    RGBColor(mixed(color.0), mixed(color.1), mixed(color.2))
}

fn style(whose: Whose, color: usize) -> ShapeStyle {
    let color = COLORS[color % COLORS.len()];
    match whose {
        Whose::Paper => pale(color, 0.4).filled(),
        Whose::Ours => color.filled(),
    }
}

/// A curve: a line with points, or a dashed reference.
pub(super) struct Series {
    pub(super) name: String,
    pub(super) color: usize,
    pub(super) dashed: bool,
    pub(super) points: Vec<(f64, f64)>,
}

impl Series {
    fn color(&self) -> RGBColor {
        let color = COLORS[self.color % COLORS.len()];
        if self.dashed { pale(color, 0.6) } else { color }
    }
}

/// One pair of axes.
pub(super) struct Panel {
    pub(super) y: String,
    pub(super) scale: Scale,
    pub(super) series: Vec<Series>,
}

/// Curves over a common axis, panel below panel.
pub(super) struct Lines {
    pub(super) title: String,
    pub(super) x: String,
    pub(super) scale: Scale,
    pub(super) panels: Vec<Panel>,
}

impl Lines {
    pub(super) fn draw(&self) -> Result<String> {
        const LEFT: i32 = 96;
        const RIGHT: i32 = 40;
        let height = if self.panels.len() == 1 { 390 } else { 250 };
        // Every name once, whichever panel it is in.
        let mut names: Vec<(String, ShapeStyle)> = Vec::new();
        for series in self.panels.iter().flat_map(|panel| &panel.series) {
            if !names.iter().any(|(name, _)| *name == series.name) {
                names.push((series.name.clone(), series.color().filled()));
            }
        }
        let lines = 1 + names.iter().map(|(name, _)| 34 + 7 * name.chars().count() as i32).sum::<i32>()
            / (WIDTH - LEFT - 30);
        let head = 60 + 18 * lines;
        let xs = || self.panels.iter().flat_map(|p| &p.series).flat_map(|s| s.points.iter().map(|p| p.0));
        let (low, high) = (xs().fold(f64::MAX, f64::min), xs().fold(f64::MIN, f64::max));
        let across = Span::new(self.scale, low, high, LEFT, WIDTH - RIGHT);
        draw(head + height * self.panels.len() as i32, |area| {
            area.draw_text(&self.title, &text(17), (14, 10))?;
            legend(area, &names, LEFT, 36)?;
            for (nth, panel) in self.panels.iter().enumerate() {
                let top = head + height * nth as i32;
                panel.draw(area, &across, top, top + height - 46)?;
            }
            let bottom = head + height * self.panels.len() as i32 - 46;
            area.draw_text(&self.x, &text(13), (LEFT, bottom + 24))?;
            Ok(())
        })
    }
}

impl Panel {
    fn draw(&self, area: &Area<'_>, across: &Span, top: i32, bottom: i32) -> Result<()> {
        let ys = || self.series.iter().flat_map(|series| series.points.iter().map(|point| point.1));
        let high = ys().fold(0.0, f64::max) * 1.08;
        let low = match self.scale {
            Scale::Linear | Scale::Count => 0.0,
            Scale::Log(_) => ys().filter(|y| *y > 0.0).fold(high, f64::min) / 1.3,
        };
        let up = Span::new(self.scale, low, high, bottom, top);
        for value in self.scale.marks(low, high) {
            let y = up.place(value);
            area.draw(&PathElement::new([(across.from, y), (across.to, y)], PALE.stroke_width(1)))?;
            let beside = text(12).pos(Pos::new(HPos::Right, VPos::Center));
            area.draw_text(&mark(value), &beside, (across.from - 8, y))?;
        }
        for value in across.scale.marks(across.low, across.high) {
            let x = across.place(value);
            area.draw(&PathElement::new([(x, top), (x, bottom)], PALE.stroke_width(1)))?;
            area.draw_text(&mark(value), &centred(), (x, bottom + 6))?;
        }
        let axes = [(across.from, top), (across.from, bottom), (across.to, bottom)];
        area.draw(&PathElement::new(axes, INK.stroke_width(1)))?;
        // A logarithmic axis has no zero.
        let has_place = |y: f64| y > 0.0 || !matches!(self.scale, Scale::Log(_));
        let zeros = self.series.iter().filter(|series| series.points.iter().any(|point| !has_place(point.1)));
        let zeros: Vec<String> = zeros.map(|series| format!("{} has 0", series.name)).collect();
        let title =
            if zeros.is_empty() { self.y.clone() } else { format!("{} ({})", self.y, zeros.join(", ")) };
        area.draw_text(&title, &text(13), (across.from, top - 17))?;
        for series in &self.series {
            let points = series.points.iter().filter(|point| has_place(point.1));
            let at: Vec<(i32, i32)> = points.map(|(x, y)| (across.place(*x), up.place(*y))).collect();
            if at.is_empty() {
                continue;
            }
            let color = series.color();
            if series.dashed {
                let dashes = DashedPathElement::new(at, 6, 4, color.stroke_width(2));
                area.draw(&dashes)?;
            } else {
                area.draw(&PathElement::new(at.clone(), color.stroke_width(2)))?;
                for point in at {
                    area.draw(&Circle::new(point, 3, color.filled()))?;
                }
            }
        }
        Ok(())
    }
}

/// A stretch of pixels that stands for a range of numbers.
struct Span {
    scale: Scale,
    low: f64,
    high: f64,
    from: i32,
    to: i32,
}

impl Span {
    fn new(scale: Scale, low: f64, high: f64, from: i32, to: i32) -> Self {
        Self { scale, low, high: if high > low { high } else { low + 1.0 }, from, to }
    }

    fn place(&self, value: f64) -> i32 {
        let (low, high) = (self.scale.place(self.low), self.scale.place(self.high));
        let share = (self.scale.place(value) - low) / (high - low);
        self.from + (share * f64::from(self.to - self.from)).round() as i32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_has_no_place_on_a_logarithmic_axis() {
        let series = |name: &str, points: Vec<(f64, f64)>| Series {
            name: name.into(),
            color: 0,
            dashed: name == "level",
            points,
        };
        let lines = |first: f64| {
            let panel = Panel {
                y: "size".into(),
                scale: Scale::Log(10),
                series: vec![
                    series("level", vec![(1.0, first), (9.0, first)]),
                    series("curve", vec![(1.0, 2.0), (9.0, 7.0)]),
                ],
            };
            let scale = Scale::Log(10);
            Lines { title: String::new(), x: String::new(), scale, panels: vec![panel] }.draw().unwrap()
        };
        let (all, one) = (lines(3.0), lines(0.0));
        assert!(one.contains("size (level has 0)") && !all.contains("has 0"));
        let strokes = |svg: &str| svg.matches("<polyline").count() + svg.matches("<line").count();
        assert!(strokes(&one) < strokes(&all), "{one}");
    }

    #[test]
    fn marks_are_round_numbers() {
        assert_eq!(Scale::Linear.marks(0.0, 8.0), [0.0, 2.0, 4.0, 6.0, 8.0]);
        assert_eq!(Scale::Count.marks(1.0, 2.0), [1.0, 2.0]);
        assert_eq!(Scale::Count.marks(0.0, 30.0), [0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0]);
        assert_eq!(Scale::Log(10).marks(3.0, 2000.0), [10.0, 100.0, 1000.0]);
        assert_eq!(Scale::Log(10).marks(0.0, 2000.0).len(), 9);
        assert_eq!(Scale::Log(10).marks(285.0, 430.0), [300.0, 350.0, 400.0]);
        assert_eq!([0.25, 1.0, 50_000.0, 2e6].map(mark), ["0.25", "1", "50k", "2M"]);
    }
}
