//! Longest paths through a recording: all those that the factor of one site can bring about.
//!
//! If the strands of one site take y times as long, the length of a path is b + a·y, where a is the part of the site. So the
//! span is the largest of many straight lines: a convex curve. Each computation of a longest path at some y gives the line
//! that is on top there. If two lines meet at a point where no other line is above them, nothing between them is missing;
//! otherwise, the line found there splits the gap. This ends with every line of the curve, and costs about two computations
//! per line (Eisner and Severance, *Mathematical Techniques for Efficient Record Segmentation in Large Shared Databases*,
//! JACM 1976).

use super::Found;
use super::names::Names;
use bombyx_dag::{Computation, Sites};

/// Sliders make a site at most this many times as fast …
pub(crate) const FASTEST: f64 = 16.0;
/// … and at least this many times.
pub(crate) const SLOWEST: f64 = 0.5;

/// How many strands may be looked at for a page.
const MOST_LOOKS: usize = 40_000_000;

struct Search<'a> {
    c: &'a Computation,
    sites: &'a Sites,
    names: &'a Names,
    left: usize,
    paths: Vec<Vec<f64>>,
}

impl Search<'_> {
    /// The longest path if one slider's strands take `y` times as long. `None` if too much was computed before.
    fn at(&mut self, slider: usize, y: f64) -> Option<Vec<f64>> {
        self.left = self.left.checked_sub(self.c.strand_count())?;
        let mut scale = vec![1.0; self.c.site_names().len() + 1];
        if let Some(&row) = self.names.sliders.get(slider) {
            scale[row] = y;
        }
        let parts = self.sites.longest_path_if(self.c, &scale);
        let mut path: Vec<f64> = self.names.sliders.iter().map(|&row| parts[row] as f64).collect();
        let all: f64 = parts.iter().map(|part| *part as f64).sum();
        path.insert(0, all - path.iter().sum::<f64>());
        Some(path)
    }

    fn keep(&mut self, path: Vec<f64>) {
        if !self.paths.contains(&path) {
            self.paths.push(path);
        }
    }

    /// Keeps all paths between two of them. Returns whether it could.
    fn between(&mut self, slider: usize, low: &[f64], high: &[f64]) -> bool {
        let line = |path: &[f64]| {
            let part = path[slider + 1];
            (path.iter().sum::<f64>() - part, part)
        };
        let ((b, a), (d, e)) = (line(low), line(high));
        if a == e {
            return true;
        }
        let y = (b - d) / (e - a);
        // Rounding could put it outside, and then it is at the end.
        let y = y.clamp(1.0 / FASTEST, 1.0 / SLOWEST);
        let Some(top) = self.at(slider, y) else { return false };
        let (f, g) = line(&top);
        let meet = b + a * y;
        if f + g * y <= meet * (1.0 + 1e-12) {
            return true;
        }
        self.keep(top.clone());
        self.between(slider, low, &top) && self.between(slider, &top, high)
    }
}

/// The paths, as [`Model::paths`](crate::Model::paths) has them.
pub(crate) fn of(c: &Computation, sites: &Sites, names: &Names) -> (Vec<Vec<f64>>, Found) {
    let mut search = Search { c, sites, names, left: MOST_LOOKS.max(c.strand_count()), paths: vec![] };
    let own = search.at(usize::MAX, 1.0).expect("one computation is always allowed");
    search.keep(own);
    let mut found = Found::All;
    for slider in 0..names.sliders.len() {
        let ends = (search.at(slider, 1.0 / FASTEST), search.at(slider, 1.0 / SLOWEST));
        let (Some(low), Some(high)) = ends else {
            found = Found::Some;
            break;
        };
        search.keep(low.clone());
        search.keep(high.clone());
        if !search.between(slider, &low, &high) {
            found = Found::Some;
            break;
        }
    }
    (search.paths, found)
}
