//! Speedups against processors: what is predicted, within which bounds, and what was measured.

use super::report::interesting;
use crate::Result;
use crate::plot::{Axis, COLORS, Look, SIZE, Series, band, draw, panel, reference, samples};
use bombyx_profile::{Profile, Scaling};

/// What a profile predicts.
pub(super) fn of_profile(profile: &Profile, scaling: &Scaling) -> Result<String> {
    let most = interesting(profile).into_iter().max().unwrap_or(8);
    speedups(&format!("Speedup of {}", profile.program), scaling, most, &[])
}

/// Predictions and bounds up to `most` processors, and measured points.
pub(crate) fn speedups(title: &str, scaling: &Scaling, most: u32, measured: &[(f64, f64)]) -> Result<String> {
    // Up to where the bounds separate, however small the machine is.
    let most = f64::from(most.max(8));
    let curve = |nth: usize| -> Vec<(f64, f64)> {
        samples(1.0, most).map(|p| (p, scaling.speedups(p)[nth])).collect()
    };
    // Far beyond the parallelism, the linear speedup would only stretch the axis.
    let linear =
        samples(1.0, most).filter(|&p| p <= 2.0 * scaling.parallelism().max(2.0)).map(|p| (p, p)).collect();
    let mut series = Vec::new();
    if scaling.contention.is_some() {
        series.push(band("if cores share or help", 0.10, curve(0), curve(4)));
    }
    series.push(band("at least to at most", 0.22, curve(1), curve(3)));
    series.push(reference("linear", 9, linear));
    series.push(Series { name: "likely".to_owned(), look: Look::Reference(COLORS[0], 14), points: curve(2) });
    if !measured.is_empty() {
        series.push(Series {
            name: "measured".to_owned(),
            look: Look::Measured(COLORS[1]),
            points: measured.to_vec(),
        });
    }
    draw(SIZE, |area| panel(area, title, [Axis("processors", 2.0), Axis("speedup", 2.0)], &series, true))
}
