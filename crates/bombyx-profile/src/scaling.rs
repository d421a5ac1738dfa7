//! [`Scaling`]: how a program will scale, from its work, its span and its burdened span. One small file of arithmetic.
//!
//! | law | says | source |
//! |---|---|---|
//! | work law | T_P ≥ T1/P | BL §2 |
//! | span law | T_P ≥ T∞ | BL §2 |
//! | greedy | T_P ≤ T1/P + (1 − 1/P)·T∞ | BL Theorem 1; the last term in this form because one processor works all the time |
//! | burdened | T_P ≤ T1/P + c·(1 − 1/P)·T̂∞ with c = [`SPAN_COEFFICIENT`] | Cilkview, on burdened dags, and its successor Cilkscale |
//! | growth | strands take g(P) times as long beside others as alone | a second run, see [`crate::Comparison`] |
//!
//! A prediction is one [`Band`]: likely, and from–to. *Likely* has c = 1 and the growth that was measured. *To* has c = 0
//! and no more growth than was measured. *From* has c = 1.7 and a growth that goes on with every further processor. If the
//! program was measured on that many processors, the measured speedup is the prediction. If the span is only an upper
//! bound ([`Scaling::at_least`]), *likely* is the least to expect, and *to* ignores the span.

use crate::{Comparison, Profile};
use serde::Serialize;

/// The factor of the burdened span at the lower end. It is Cilkview's, whose authors found it on real programs, and that
/// of Cilkscale's plotter.
pub const SPAN_COEFFICIENT: f64 = 1.7;
/// How much one run differs from another: an assumption. `scripts/known-answers --bands 5` and `scripts/prediction` show
/// whether measured speedups lie in the bands.
const NOISE: f64 = 0.1;
/// How many times as long strands may take on many processors if the program ran on one only: an assumption, too.
const UNKNOWN_GROWTH: f64 = 1.25;
/// Growth beyond the processors that were measured may be faster than in proportion.
const FASTER_GROWTH: f64 = 1.5;
/// Strands that take less time beside others than alone (caches) do not get faster than this.
const LEAST_GROWTH: f64 = 0.7;
/// With less than this share of the span in pieces that depend on the number of threads, parallelism counts as known.
const MUCH_UNSEEN: f64 = 0.1;

/// What determines how a program scales, in seconds (or in any other unit, as long as all use the same).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Scaling {
    /// T1: the work on one processor.
    pub work: f64,
    /// T∞, or an upper bound of it.
    pub span: f64,
    /// T̂∞: the span with the costs of steals and hand-overs along it.
    pub burdened_span: f64,
    /// Serial code outside of pools. Work and span are without it.
    pub serial: f64,
    /// How long strands take beside others, if that is known.
    pub growth: Option<Beside>,
    /// The share of the time in which the program had no CPU. It makes all figures uncertain.
    pub disturbed: f64,
    /// Whether a call that makes one piece for each thread is much of the span. Then more threads would show more
    /// parallelism.
    pub at_least: bool,
}

/// What a run on several processors has shown.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Beside {
    /// How many processors worked at once.
    pub processors: u32,
    /// How many times as long strands took as alone.
    pub factor: f64,
    /// The speedup, if all processors had a CPU.
    pub speedup: Option<f64>,
}

/// A speedup over one processor.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Band {
    /// What to expect.
    pub likely: f64,
    /// What it will hardly fall below.
    pub from: f64,
    /// What it will hardly rise above.
    pub to: f64,
}

impl Band {
    /// Whether a speedup is inside.
    pub fn contains(&self, speedup: f64) -> bool {
        self.from <= speedup && speedup <= self.to
    }

    /// The width as a share of the middle.
    pub fn width(&self) -> f64 {
        2.0 * (self.to - self.from) / (self.to + self.from)
    }
}

/// A [`Band`] and its number of processors.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// The number of processors.
    pub processors: u32,
    /// The speedup.
    #[serde(flatten)]
    pub band: Band,
}

impl Scaling {
    /// From work, span and burdened span, in the same unit.
    pub fn new(work: f64, span: f64, burdened_span: f64) -> Self {
        Self { work, span, burdened_span, serial: 0.0, growth: None, disturbed: 0.0, at_least: false }
    }

    /// Of a profiled program, with the code outside of pools.
    pub fn of(profile: &Profile) -> Self {
        let seconds = |ns: u64| ns as f64 / 1e9;
        let comparison = Comparison::of(profile);
        let alone = comparison.map_or(profile, |comparison| comparison.one);
        let disturbed = |profile: &Profile| {
            // With more processors than CPUs, threads wait for each other.
            let crowded = profile.machine.is_some_and(|machine| profile.processors > machine.cpus);
            let all = profile.work_ns as f64 + profile.delayed_ns as f64;
            if crowded { 0.0 } else { profile.delayed_ns as f64 / all.max(1.0) }
        };
        // The burden is that of the run alone.
        let span_ns = comparison.map_or(alone.span_ns, |comparison| comparison.least_span_ns());
        let burdened_ns = alone.burdened_span_ns.saturating_sub(alone.span_ns).saturating_add(span_ns);
        let mut scaling = Self {
            serial: seconds(alone.outside_ns()),
            disturbed: disturbed(alone).max(comparison.map_or(0.0, |comparison| disturbed(comparison.many))),
            at_least: alone.unseen_share_of_span() >= MUCH_UNSEEN,
            ..Self::new(seconds(alone.work_ns), seconds(span_ns), seconds(burdened_ns))
        };
        scaling.growth = comparison.map(|comparison| scaling.beside(&comparison));
        scaling
    }

    /// What the second run says of the strands. If every processor had a CPU, everything that made the program slower than
    /// work and span allow is a growth of its strands. Otherwise only what strands themselves took longer is. All processors
    /// wait for a lock at the same time. But only those with a CPU disturb each other there.
    fn beside(&self, comparison: &Comparison<'_>) -> Beside {
        let (speedup, processors) = (comparison.speedup(), comparison.many.processors);
        let at_once = comparison.at_once();
        if at_once < processors {
            let others = f64::from(processors - 1) / f64::from(at_once.max(2) - 1);
            let factor = 1.0 + comparison.growth_asleep() + comparison.growth_awake() * others;
            return Beside { processors, factor: factor.max(LEAST_GROWTH), speedup: None };
        }
        let p = f64::from(processors);
        let time = (self.work + self.serial) / speedup;
        let pool = time - self.serial - (1.0 - 1.0 / p) * self.burdened_span;
        let factor = (pool / (self.work / p)).max(LEAST_GROWTH);
        Beside { processors, factor, speedup: Some(speedup) }
    }

    /// T1 / T∞, or infinity if the span is zero, or 1 if nothing was done. At least this, if [`Self::at_least`] says so.
    pub fn parallelism(&self) -> f64 {
        ratio(self.work, self.span)
    }

    /// T1 / T̂∞, or infinity if the burdened span is zero, or 1 if nothing was done.
    pub fn burdened_parallelism(&self) -> f64 {
        ratio(self.work, self.burdened_span)
    }

    /// The parallelism of the whole program, whose code outside of pools is serial (Amdahl's law).
    ///
    /// ```
    /// use bombyx_profile::Scaling;
    /// let program = Scaling { serial: 1.0, ..Scaling::new(9.0, 0.0, 0.0) };
    /// assert_eq!(program.whole_parallelism(), 10.0);
    /// ```
    pub fn whole_parallelism(&self) -> f64 {
        ratio(self.work + self.serial, self.span + self.serial)
    }

    /// The likely time on a number of processors.
    pub fn time(&self, processors: u32) -> f64 {
        let p = f64::from(processors.max(1));
        (self.work + self.serial) / self.band(p).likely
    }

    /// The speedup on a number of processors.
    ///
    /// ```
    /// use bombyx_profile::Scaling;
    /// let on_4 = Scaling::new(80.0, 1.0, 2.0).predict(4).band;
    /// assert!(on_4.from < on_4.likely && on_4.likely < on_4.to && on_4.contains(3.5));
    /// ```
    pub fn predict(&self, processors: u32) -> Prediction {
        Prediction { processors, band: self.band(f64::from(processors)) }
    }

    /// The speedup of [`predict`](Self::predict), also between whole numbers, for curves.
    pub fn band(&self, processors: f64) -> Band {
        let p = processors.max(1.0);
        if p == 1.0 {
            return Band { likely: 1.0, from: 1.0, to: 1.0 };
        }
        let noise = 1.0 + NOISE + self.disturbed;
        if let Some(Beside { processors, speedup: Some(speedup), .. }) = self.growth
            && p == f64::from(processors)
        {
            return Band { likely: speedup, from: speedup / noise, to: speedup * noise };
        }
        let [least, likely, most] = self.growth_on(p);
        let bounded = if self.at_least { Self { span: 0.0, ..*self } } else { *self };
        let to = bounded.speedup(p, 0.0, least) * noise;
        let likely = self.speedup(p, 1.0, likely).min(to);
        let from = (self.speedup(p, SPAN_COEFFICIENT, most) / noise).min(likely);
        Band { likely, from, to }
    }

    /// The speedup if the burdened span counts this much, and strands take this much longer than alone.
    fn speedup(&self, p: f64, coefficient: f64, growth: f64) -> f64 {
        let pool = growth * self.work / p + coefficient * (1.0 - 1.0 / p) * self.burdened_span;
        ratio(self.work + self.serial, self.serial + pool.max(self.span))
    }

    /// How many times as long strands likely take on a number of processors as alone.
    pub fn likely_growth(&self, processors: u32) -> f64 {
        match processors {
            0 | 1 => 1.0,
            several => self.growth_on(f64::from(several))[1],
        }
    }

    /// How many times as long strands take on `p` processors as alone: at least, likely and at most.
    fn growth_on(&self, p: f64) -> [f64; 3] {
        let Some(Beside { processors, factor, .. }) = self.growth else {
            return [1.0, 1.0, UNKNOWN_GROWTH];
        };
        let excess = factor - 1.0;
        // Each further processor disturbs the others as much as the ones before.
        let others = (p - 1.0) / f64::from(processors - 1);
        let in_proportion = 1.0 + excess * if excess < 0.0 { others.min(1.0) } else { others };
        let least = if others < 1.0 { in_proportion } else { factor };
        let most = 1.0 + excess.max(0.0) * others * FASTER_GROWTH;
        [least.min(in_proportion), in_proportion, most.max(in_proportion)]
    }

    /// Why the band of this many processors is as wide as it is: one sentence for each reason.
    pub fn explain(&self, processors: u32) -> Vec<String> {
        let p = f64::from(processors);
        if processors < 2 {
            return vec!["one processor is what speedups are measured by".to_owned()];
        }
        let mut reasons = Vec::new();
        let noise = 100.0 * (NOISE + self.disturbed);
        let mut noises = format!("one run differs from another by up to {noise:.0} %");
        if self.disturbed > 0.02 {
            noises += ", more than on an idle machine";
        }
        if let Some(Beside { processors: measured, speedup: Some(speedup), .. }) = self.growth
            && measured == processors
        {
            return vec![format!("it was measured there: {speedup:.2}"), noises];
        }
        let [least, likely, most] = self.growth_on(p);
        let (with, without) = (self.speedup(p, SPAN_COEFFICIENT, likely), self.speedup(p, 0.0, likely));
        reasons.push(format!(
            "how the work is distributed: {with:.2} if the span counts {SPAN_COEFFICIENT} times, {without:.2} if not at all"
        ));
        let (slow, fast) = (self.speedup(p, 1.0, most), self.speedup(p, 1.0, least));
        reasons.push(match self.growth {
            Some(Beside { processors, factor, speedup }) => {
                // Then they did not all have a CPU, so this is what was measured, continued.
                let (take, each) = if speedup.is_some() { ("take", "") } else { ("would take", " with a CPU each") };
                format!(
                    "strands {take} {factor:.2} times as long on {processors} processors{each} as on one, so {least:.2} to \
                     {most:.2} times here: {slow:.2} to {fast:.2}"
                )
            }
            None => format!(
                "it ran on one number of processors only, so what they do to each other is not known: {slow:.2} if \
                 strands take {UNKNOWN_GROWTH} times as long, {fast:.2} if they do not"
            ),
        });
        if self.at_least {
            reasons.push(
                "a call makes one piece for each thread, so how many more could work is not known: speedups are at \
                 least the likely ones"
                    .to_owned(),
            );
        }
        if self.serial > 0.01 * (self.work + self.serial) {
            let bound = ratio(self.work + self.serial, self.serial);
            reasons.push(format!("all speedups are below {bound:.1}, because of the code outside of pools"));
        }
        reasons.push(noises);
        reasons
    }
}

/// One time divided by another, or 1 if there is nothing to compare.
fn ratio(of: f64, to: f64) -> f64 {
    match (of > 0.0, to > 0.0) {
        (true, true) => of / to,
        (true, false) => f64::INFINITY,
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_are_the_papers() {
        let scaling = Scaling::new(100.0, 5.0, 10.0);
        assert_eq!((scaling.parallelism(), scaling.burdened_parallelism()), (20.0, 10.0));
        let on_4 = scaling.predict(4).band;
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(near(on_4.to, 4.0 * 1.1), "{on_4:?}");
        assert!(near(on_4.likely, 100.0 / (25.0 + 0.75 * 10.0)), "{on_4:?}");
        assert!(near(on_4.from, 100.0 / (25.0 * 1.25 + 1.7 * 0.75 * 10.0) / 1.1), "{on_4:?}");
        let many = scaling.predict(1 << 20).band;
        assert!(near(many.to, 20.0 * 1.1), "the span law: {many:?}");
    }

    #[test]
    fn bands_stay_in_order() {
        for (work, span, burdened) in
            [(1.0, 1.0, 1.0), (1.0, 0.01, 50.0), (1e9, 1.0, 1.0), (0.0, 0.0, 0.0), (1.0, 2.0, 3.0)]
        {
            for factor in [None, Some(0.7), Some(1.0), Some(1.3), Some(9.0)] {
                let growth = factor.map(|factor| Beside { processors: 2, factor, speedup: None });
                for serial in [0.0, 1.0] {
                    let scaling = Scaling { growth, serial, ..Scaling::new(work, span, burdened) };
                    for processors in [1, 2, 3, 64, 4096] {
                        let Band { likely, from, to } = scaling.predict(processors).band;
                        assert!(0.0 < from && from <= likely && likely <= to, "{scaling:?} on {processors}");
                        assert!(!scaling.explain(processors).is_empty());
                    }
                }
            }
        }
    }

    #[test]
    fn what_was_measured_is_believed() {
        let growth = Some(Beside { processors: 2, factor: 6.6, speedup: Some(0.3) });
        let shared = Scaling { growth, ..Scaling::new(1.0, 1e-6, 1e-6) };
        let on_2 = shared.predict(2).band;
        assert!(on_2.contains(0.3) && on_2.likely == 0.3 && on_2.width() < 0.2, "{on_2:?}");
        let on_16 = shared.predict(16).band;
        assert!(on_16.likely < 0.3, "more processors disturb each other more: {on_16:?}");
        let taking_turns = Some(Beside { processors: 2, factor: 2.0, speedup: Some(1.0) });
        let lock = Scaling { growth: taking_turns, ..Scaling::new(1.0, 1e-6, 1e-6) };
        assert!((lock.predict(16).band.likely - 1.0).abs() < 0.01, "a lock stays a lock");
    }

    #[test]
    fn an_unknown_span_bounds_nothing() {
        let known = Scaling::new(100.0, 50.0, 50.0);
        let unknown = Scaling { at_least: true, ..known };
        let (known_16, unknown_16) = (known.predict(16).band, unknown.predict(16).band);
        assert!(known_16.to < 2.3 && unknown_16.contains(16.0), "{known_16:?} {unknown_16:?}");
        assert_eq!((known_16.likely, known_16.from), (unknown_16.likely, unknown_16.from));
        assert_eq!(unknown.explain(16).len(), known.explain(16).len() + 1);
    }

    #[test]
    fn the_growth_explains_the_measured_speedup() {
        let profile = crate::read(&include_bytes!("../corpus/sort.json")[..]).unwrap();
        let mut one = Profile { processors: 1, wall_ns: profile.work_ns, ..profile.clone() };
        let mut many = Profile { wall_ns: profile.work_ns, ..profile };
        many.companion = Some(Box::new(one.clone()));
        let scaling = Scaling::of(&many);
        assert_eq!(scaling.growth.unwrap().speedup, Some(1.0));
        let growth = scaling.growth_on(2.0)[1];
        assert!((scaling.speedup(2.0, 1.0, growth) - 1.0).abs() < 0.01, "{scaling:?}");
        one.runs += 1;
        many.companion = Some(Box::new(one));
        assert_eq!(Scaling::of(&many).growth, None, "the second run did something else");
    }
}
