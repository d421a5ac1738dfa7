//! [`Model`]: what the speedup would be on another number of processors and with faster fork sites. `page/speedup.js` has
//! the same arithmetic, so that the page answers at once; `scripts/browser` compares the two.

use bombyx_profile::{Profile, Scaling, SiteProfile};
use serde_json::{Value, json};

/// How many sites can be made faster one by one.
pub(crate) const SITES: usize = 24;

/// A program as its work and the lengths of some paths through it. All times have one unit.
///
/// If site i were fᵢ times as fast, the work would be W = T1 − Σ wᵢ·(1 − 1/fᵢ), and the span S the largest of the sums of
/// each path, with the part of site i divided by fᵢ. On P processors the program then takes
/// serial + max(g·W/P + c·(1 − 1/P)·(S + burden), S).
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// T1.
    pub work: f64,
    /// What steals and hand-overs add to the span.
    pub burden: f64,
    /// Code outside of pools.
    pub serial: f64,
    /// The sites that can be made faster: their names and their parts of the work.
    pub sites: Vec<(String, f64)>,
    /// Paths: first what no site of `sites` has of them, then the parts of these sites.
    pub paths: Vec<Vec<f64>>,
    /// The numbers of processors for which there is an answer, in order.
    pub on: Vec<On>,
    /// The number of processors to begin with.
    pub shown: u32,
}

/// What is known of a number of processors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct On {
    /// P.
    pub processors: u32,
    /// What the speedup will hardly fall below.
    pub from: f64,
    /// The speedup of the program as it is.
    pub likely: f64,
    /// What the speedup will hardly rise above.
    pub to: f64,
    /// g: how many times as long strands take as alone.
    pub growth: f64,
    /// c: how often the span counts.
    pub coefficient: f64,
}

impl Model {
    /// The model of a profile. Its one path is the critical path. That may move to other sites when one gets faster, and
    /// then the answer is too good.
    pub fn of_profile(profile: &Profile) -> Model {
        let scaling = Scaling::of(profile);
        let seconds = |ns: u64| ns as f64 * 1e-9;
        let chosen = sites(profile);
        let mut path: Vec<f64> = chosen.iter().map(|site| seconds(site.span_ns)).collect();
        path.insert(0, (scaling.span - path.iter().sum::<f64>()).max(0.0));
        let on = processors(profile.processors).into_iter().map(|processors| {
            let band = scaling.predict(processors).band;
            let growth = scaling.likely_growth(processors);
            let [from, likely, to, growth] = [band.from, band.likely, band.to, growth].map(finite);
            On { processors, from, likely, to, growth, coefficient: 1.0 }
        });
        Model {
            work: scaling.work,
            burden: (scaling.burdened_span - scaling.span).max(0.0),
            serial: scaling.serial,
            sites: chosen.iter().map(|site| (called(site), seconds(site.work_ns))).collect(),
            paths: vec![path],
            on: on.collect(),
            shown: profile.processors,
        }
    }

    /// The speedup over the program as it is on one processor, if each site were this many times as fast.
    ///
    /// # Panics
    /// If there is not one factor for each site.
    pub fn speedup(&self, on: &On, factors: &[f64]) -> f64 {
        assert_eq!(factors.len(), self.sites.len(), "a factor for each site");
        let ratio = self.time(on, &vec![1.0; factors.len()]) / self.time(on, factors);
        if ratio.is_finite() { on.likely * ratio } else { on.likely }
    }

    fn time(&self, on: &On, factors: &[f64]) -> f64 {
        let saved = |(site, factor): (&(String, f64), &f64)| site.1 * (1.0 - 1.0 / factor);
        let work = (self.work - self.sites.iter().zip(factors).map(saved).sum::<f64>()).max(0.0);
        let length = |path: &Vec<f64>| {
            path[0] + path[1..].iter().zip(factors).map(|(part, factor)| part / factor).sum::<f64>()
        };
        let span = self.paths.iter().map(length).fold(0.0, f64::max);
        let p = f64::from(on.processors);
        let pool = on.growth * work / p + on.coefficient * (1.0 - 1.0 / p) * (span + self.burden);
        self.serial + pool.max(span)
    }

    /// What the page's code needs.
    pub(crate) fn data(&self) -> Value {
        let on = |on: &On| json!([on.processors, on.from, on.likely, on.to, on.growth, on.coefficient]);
        json!({
            "work": self.work,
            "burden": self.burden,
            "serial": self.serial,
            "sites": self.sites,
            "paths": self.paths,
            "on": self.on.iter().map(on).collect::<Vec<_>>(),
            "shown": self.shown,
        })
    }
}

/// The sites that can be made faster: those that forks belong to, by their part of the span.
pub(crate) fn sites(profile: &Profile) -> Vec<&SiteProfile> {
    let mut sites = profile.sites_by_span();
    sites.truncate(SITES);
    sites
}

/// What a site is called on the page.
pub(crate) fn called(site: &SiteProfile) -> String {
    format!("{} at {}", site.kind, site.location())
}

/// A number that JSON has.
fn finite(number: f64) -> f64 {
    if number.is_finite() { number } else { f64::MAX / 1e6 }
}

/// For which numbers of processors a page has answers, among them this one.
pub(crate) fn processors(own: u32) -> Vec<u32> {
    let mut all: Vec<u32> =
        (1..=16).chain([20, 24, 28, 32, 40, 48, 56, 64, 96, 128, 192, 256, 512, 1024]).collect();
    all.push(own.clamp(1, 4096));
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile() -> Profile {
        bombyx_profile::read(&include_bytes!("../../bombyx-profile/corpus/sort.json")[..]).unwrap()
    }

    /// Half of the work and all of the span are one site. On one processor the work counts, on many the span.
    #[test]
    fn what_if_follows_work_and_span() {
        let on =
            |processors| On { processors, from: 1.0, likely: 1.0, to: 1.0, growth: 1.0, coefficient: 1.0 };
        let model = Model {
            work: 1.0,
            burden: 0.0,
            serial: 0.0,
            sites: vec![("half".to_owned(), 0.5), ("rest".to_owned(), 0.5)],
            paths: vec![vec![0.0, 0.1, 0.0], vec![0.0, 0.0, 0.04]],
            on: vec![on(1), on(1024)],
            shown: 1,
        };
        assert!((model.speedup(&on(1), &[2.0, 1.0]) - 1.0 / 0.75).abs() < 1e-9);
        assert!(model.speedup(&on(1024), &[2.0, 1.0]) > 1.8);
        assert!(model.speedup(&on(1024), &[1.0, 2.0]) < 1.01, "that site is not on the critical path");
        assert!(model.speedup(&on(1024), &[1000.0, 1.0]) < 0.11 / 0.04, "the path moves to the other site");
        assert!(model.speedup(&on(8), &[0.5, 1.0]) < 1.0, "slower");
    }

    #[test]
    fn with_nothing_changed_it_is_the_prediction() {
        let profile = profile();
        let (model, scaling) = (Model::of_profile(&profile), Scaling::of(&profile));
        for on in &model.on {
            let likely = scaling.predict(on.processors).band.likely;
            assert_eq!(model.speedup(on, &vec![1.0; model.sites.len()]), likely);
            let time = scaling.time(on.processors);
            let own = model.time(on, &vec![1.0; model.sites.len()]);
            assert!((own / time - 1.0).abs() < 1e-6, "on {}: {own} and {time}", on.processors);
        }
    }
}
