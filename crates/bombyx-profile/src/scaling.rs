//! [`Scaling`]: how a program will scale, from its work, its span and its burdened span. One small file of arithmetic.
//!
//! | bound | says | source |
//! |---|---|---|
//! | work law | T_P ≥ T1/P | BL §2 |
//! | span law | T_P ≥ T∞ | BL §2 |
//! | greedy | T_P ≤ T1/P + (1 − 1/P)·T∞ | BL Theorem 1; the last term in this form because one processor works all the time |
//! | contended | strands on several cores take up to this many times as long | measured on the machine, see [`Contention`] |
//! | caches | or, if each core has a part of the data in its own caches, are up to this many times as fast | measured, too |
//! | burdened | T_P ≤ T1/P + c·(1 − 1/P)·T̂∞ with c = [`SPAN_COEFFICIENT`] | Cilkview, on burdened dags, and its successor Cilkscale |

use crate::Profile;
use serde::Serialize;

/// The factor of the burdened span in the lower bound on speedup. It is Cilkview's, whose authors found it on real
/// programs, and that of Cilkscale's plotter.
pub const SPAN_COEFFICIENT: f64 = 1.7;

/// How much slower or faster strands get when all cores work at once. Cores share memory, programs make them share
/// data, and each core has its own caches. Work and span do not show how much of that a program will feel. So this only
/// widens the bounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Contention {
    /// How many cores worked at once.
    pub cores: u32,
    /// How many times as long a strand then takes that only uses its own memory.
    pub memory: f64,
    /// How many times as long a strand then takes that only continues with what another core has just written.
    pub sharing: f64,
    /// How many times as fast reads get if each core reads only its part of what one core would read alone.
    pub caches: f64,
}

impl Contention {
    /// A slowdown or gain on a number of processors. It grows in proportion, up to all cores.
    fn on(&self, processors: f64, factor: f64) -> f64 {
        let others = f64::from(self.cores.max(2) - 1);
        1.0 + (factor.max(1.0) - 1.0) * ((processors - 1.0) / others).clamp(0.0, 1.0)
    }
}

/// What determines how a program scales, in seconds (or in any other unit, as long as all use the same).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Scaling {
    /// T1.
    pub work: f64,
    /// T∞.
    pub span: f64,
    /// T̂∞: the span with the costs of steals and hand-overs along it.
    pub burdened_span: f64,
    /// What the machine adds, if it is known.
    pub contention: Option<Contention>,
}

/// A speedup over one processor, and where it must lie.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// The number of processors.
    pub processors: u32,
    /// A scheduler with the measured costs does at least this well, on a machine where memory is as slow as measured,
    /// if cores keep their data apart.
    pub lower: f64,
    /// It does at least this well if cores always continue with what other cores have written. In between, cores share
    /// some data.
    pub lower_sharing: f64,
    /// What to expect: the greedy bound with the burdened span in it.
    pub likely: f64,
    /// No scheduler does better: P, and the parallelism.
    pub upper: f64,
    /// The work itself may take less time if each core's part of the data fits its caches better than all of the data
    /// fitted those of one core. Even then no scheduler does better than this.
    pub upper_caches: f64,
}

impl Scaling {
    /// From work, span and burdened span, in the same unit.
    pub fn new(work: f64, span: f64, burdened_span: f64) -> Self {
        Self { work, span, burdened_span, contention: None }
    }

    /// Of a profiled program.
    pub fn of(profile: &Profile) -> Self {
        let seconds = |ns: u64| ns as f64 / 1e9;
        Self::new(seconds(profile.work_ns), seconds(profile.span_ns), seconds(profile.burdened_span_ns))
    }

    /// The same program on a machine with this contention.
    ///
    /// ```
    /// use bombyx_profile::{Contention, Scaling};
    /// let program = Scaling::new(80.0, 0.01, 0.01);
    /// let contended = program.on(Contention { cores: 2, memory: 1.1, sharing: 1.6, caches: 1.05 }).predict(2);
    /// assert!(contended.lower_sharing < 1.26 && contended.lower > 1.8 && contended.likely > 1.99);
    /// assert_eq!((contended.upper, contended.upper_caches), (2.0, 2.1));
    /// ```
    pub fn on(self, contention: Contention) -> Self {
        Self { contention: Some(contention), ..self }
    }

    /// The same program with serial code before, between or after. Both work and span grow by it.
    ///
    /// ```
    /// use bombyx_profile::Scaling;
    /// let pool = Scaling::new(9.0, 0.0, 0.0);
    /// assert_eq!(pool.with_serial(1.0).parallelism(), 10.0, "Amdahl's law");
    /// ```
    pub fn with_serial(self, time: f64) -> Self {
        let [work, span, burdened_span] = [self.work, self.span, self.burdened_span].map(|part| part + time);
        Self { work, span, burdened_span, ..self }
    }

    /// T1/T∞, or 1 if nothing was done.
    pub fn parallelism(&self) -> f64 {
        ratio(self.work, self.span)
    }

    /// T1/T̂∞, or 1 if nothing was done.
    pub fn burdened_parallelism(&self) -> f64 {
        ratio(self.work, self.burdened_span)
    }

    /// The speedup on a number of processors.
    ///
    /// ```
    /// use bombyx_profile::Scaling;
    /// let on_4 = Scaling::new(80.0, 1.0, 2.0).predict(4);
    /// assert_eq!(on_4.upper, 4.0);
    /// assert!(3.0 < on_4.lower && on_4.lower < on_4.likely && on_4.likely < 4.0);
    /// ```
    pub fn predict(&self, processors: u32) -> Prediction {
        let [lower_sharing, lower, likely, upper, upper_caches] = self.speedups(f64::from(processors));
        Prediction { processors, lower, lower_sharing, likely, upper, upper_caches }
    }

    /// The speedups of [`predict`](Self::predict), also between whole numbers, for curves: at least if cores share
    /// data, at least if they do not, likely, at most, and at most if caches help.
    pub fn speedups(&self, processors: f64) -> [f64; 5] {
        let p = processors.max(1.0);
        let with = |coefficient: f64| {
            ratio(self.work, self.work / p + coefficient * (1.0 - 1.0 / p) * self.burdened_span)
        };
        let upper = self.parallelism().min(p);
        // A span above the work (blocked time) would leave no room between the bounds.
        let [sharing, memory, caches] = self.contention.map_or([1.0; 3], |contention| {
            let Contention { memory, sharing, caches, .. } = contention;
            [memory.max(sharing), memory, caches].map(|most| contention.on(p, most))
        });
        let lower = |slowdown: f64| (with(SPAN_COEFFICIENT) / slowdown).min(upper);
        [lower(sharing), lower(memory), with(1.0).min(upper), upper, upper * caches]
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
    fn the_bounds_are_the_papers() {
        let scaling = Scaling::new(100.0, 5.0, 10.0);
        assert_eq!((scaling.parallelism(), scaling.burdened_parallelism()), (20.0, 10.0));
        let on_4 = scaling.predict(4);
        assert_eq!(on_4.upper, 4.0);
        assert!((on_4.lower - 100.0 / (25.0 + 1.7 * 0.75 * 10.0)).abs() < 1e-12);
        assert!((on_4.likely - 100.0 / (25.0 + 0.75 * 10.0)).abs() < 1e-12);
        let many = scaling.predict(1 << 20);
        assert_eq!(many.upper, 20.0);
        assert!((many.lower - 100.0 / 17.0).abs() < 0.01);
    }

    #[test]
    fn bounds_stay_in_order() {
        for (work, span, burdened) in
            [(1.0, 1.0, 1.0), (1.0, 0.01, 50.0), (1e9, 1.0, 1.0), (0.0, 0.0, 0.0), (1.0, 2.0, 3.0)]
        {
            let scaling = Scaling::new(work, span, burdened);
            assert_eq!(scaling.predict(1).likely.min(1.0), scaling.predict(1).likely);
            for processors in [1, 2, 3, 64, 4096] {
                let Prediction { lower, likely, upper, .. } = scaling.predict(processors);
                assert!(0.0 < lower && lower <= likely && likely <= upper, "{scaling:?} on {processors}");
                assert!(upper <= f64::from(processors));
            }
        }
    }

    #[test]
    fn contention_grows_up_to_all_cores() {
        let scaling =
            Scaling::new(1e6, 1e-6, 1e-6).on(Contention { cores: 5, memory: 3.0, sharing: 5.0, caches: 1.5 });
        let rounded = |speedup: f64| (speedup * 1000.0).round();
        let sharing = |processors| rounded(scaling.predict(processors).lower_sharing);
        assert_eq!([1, 2, 3, 5, 10].map(sharing), [1000.0, 1000.0, 1000.0, 1000.0, 2000.0]);
        let lower = |processors| rounded(scaling.predict(processors).lower);
        assert_eq!([1, 2, 3, 5, 10].map(lower), [1000.0, 1333.0, 1500.0, 1667.0, 3333.0]);
        assert!((scaling.predict(5).likely - 5.0).abs() < 1e-3);
        let upper = |processors| rounded(scaling.predict(processors).upper_caches);
        assert_eq!([1, 3, 5, 10].map(upper), [1000.0, 3750.0, 7500.0, 15000.0]);
    }

    #[test]
    fn one_processor_gains_nothing() {
        let on_1 = Scaling::new(3.0, 1.0, 2.0).predict(1);
        assert_eq!((on_1.lower, on_1.likely, on_1.upper), (1.0, 1.0, 1.0));
    }
}
