//! [`Finding`]: what trying a claim showed.

use crate::mutant::Noticed;
use crate::statistics::Interval;
use std::fmt;

/// Whether a claim held wherever it was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It held in everything that was tried.
    Holds,
    /// Something breaks it.
    Broken,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Holds => "holds",
            Self::Broken => "BROKEN",
        })
    }
}

/// How much was tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tried {
    /// Different computations (for the recycling game, strategies; for the TSO machine, trees).
    pub computations: usize,
    /// Different numbers of processors.
    pub processors: usize,
    /// Different seeds.
    pub seeds: usize,
    /// Runs in all.
    pub runs: u64,
}

/// Where a claim came nearest to its bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Worst {
    /// What was measured, in the unit of the claim's [`quantity`](crate::Claim::quantity): a number, a mean, or the
    /// frequency of an event.
    pub measured: f64,
    /// The most that it may be.
    pub bound: f64,
    /// For means and frequencies: where the expectation or chance lies.
    pub interval: Option<Interval>,
    /// In which run, or in which runs.
    pub at: String,
}

impl Worst {
    /// Which part of the bound is used up. 0 of 0 is 0; anything else of 0 is too much.
    pub fn ratio(&self) -> f64 {
        ratio(self.measured, self.bound)
    }
}

/// The constant in front of a bound's main term: what the proof has, what was measured, and what is checked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constant {
    /// The term, as in `T∞`.
    pub unit: &'static str,
    /// The largest value that occurred. For a bound from below, the smallest.
    pub measured: f64,
    /// What is allowed here. It is close to what is measured, so that wrong schedulers exceed it.
    pub checked: f64,
    /// What the paper's proof allows in the same case, if it has a constant.
    pub proof: Option<f64>,
    /// Whether the bound is from below: the constant is at least this.
    pub from_below: bool,
}

impl Constant {
    /// The constant of a bound from above: the measured one, the checked one, and what the proof allows.
    pub(crate) fn at_most(
        unit: &'static str,
        measured: f64,
        checked: f64,
        proof: impl Into<Option<f64>>,
    ) -> Self {
        Self { unit, measured, checked, proof: proof.into(), from_below: false }
    }

    /// Whether this one comes nearer to the bound than another.
    pub(crate) fn is_beyond(&self, other: &Self) -> bool {
        if self.from_below { self.measured < other.measured } else { self.measured > other.measured }
    }
}

pub(crate) fn ratio(measured: f64, bound: f64) -> f64 {
    if measured == 0.0 && bound == 0.0 { 0.0 } else { measured / bound }
}

/// Something that breaks a claim, as small as it could be made.
#[derive(Clone, Debug, PartialEq)]
pub struct Counterexample {
    /// What is broken there.
    pub text: String,
    /// The run, or the runs.
    pub run: String,
    /// The run that broke it first, before it was made smaller.
    pub found: String,
    /// A command that repeats the run.
    pub replay: String,
}

/// What trying a claim showed.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Whether it held.
    pub verdict: Verdict,
    /// How much was tried.
    pub tried: Tried,
    /// Where it came nearest to its bound.
    pub worst: Option<Worst>,
    /// What breaks it.
    pub counterexample: Option<Counterexample>,
    /// The constant of its bound, if it has one.
    pub constant: Option<Constant>,
    /// Which mutants it notices, if they were tried.
    pub mutants: Vec<Noticed>,
}

impl Finding {
    /// Whether the claim held wherever it was tried.
    pub fn holds(&self) -> bool {
        self.verdict == Verdict::Holds
    }

    /// How many mutants it notices.
    pub fn noticed(&self) -> usize {
        self.mutants.iter().filter(|noticed| noticed.by.is_some()).count()
    }
}
