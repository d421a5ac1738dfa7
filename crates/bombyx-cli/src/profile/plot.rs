//! Speedups against processors: what is predicted, in which band, and what was measured.

use super::report::interesting;
use crate::Result;
use crate::plot::{Axis, COLORS, Look, SIZE, Series, band, draw, panel, reference, samples};
use bombyx_profile::{Band, Comparison, Profile, Scaling};

/// What a profile predicts.
pub(super) fn of_profile(profile: &Profile, scaling: &Scaling) -> Result<String> {
    let most = interesting(profile).into_iter().max().unwrap_or(8);
    let measured: Vec<(f64, f64)> = Comparison::of(profile)
        .filter(|comparison| comparison.at_once() == comparison.many.processors)
        .map(|comparison| (f64::from(comparison.many.processors), comparison.speedup()))
        .into_iter()
        .collect();
    speedups(&format!("Speedup of {}", profile.program), scaling, most, &measured)
}

/// Predictions up to `most` processors, and measured points.
pub(crate) fn speedups(title: &str, scaling: &Scaling, most: u32, measured: &[(f64, f64)]) -> Result<String> {
    // Up to where the ends of the band separate, however small the machine is.
    let most = f64::from(most.max(8));
    let curve = |of: fn(Band) -> f64| -> Vec<(f64, f64)> {
        samples(1.0, most).map(|p| (p, of(scaling.band(p)))).collect()
    };
    // Far beyond the parallelism, the linear speedup would only stretch the axis.
    let linear =
        samples(1.0, most).filter(|&p| p <= 2.0 * scaling.band(most).to.max(2.0)).map(|p| (p, p)).collect();
    let mut series = vec![
        band("from – to", 0.22, curve(|band| band.from), curve(|band| band.to)),
        reference("linear", 9, linear),
        Series {
            name: "likely".to_owned(),
            look: Look::Reference(COLORS[0], 14),
            points: curve(|band| band.likely),
        },
    ];
    if !measured.is_empty() {
        series.push(Series {
            name: "measured".to_owned(),
            look: Look::Measured(COLORS[1]),
            points: measured.to_vec(),
        });
    }
    draw(SIZE, |area| panel(area, title, [Axis("processors", 2.0), Axis("speedup", 2.0)], &series, true))
}
