//! LEC §5 and §6.1: the formulae with which the lecture ends its proof.

use crate::claim::{Claim, Paper};
use crate::context::{Context, Sample, Subject};
use crate::finding::Finding;
use crate::statistics::ln_choose;
use std::f64::consts::E;
use std::fmt;

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "lec-obs-26",
        paper: Paper::Lec,
        name: "Observation 26",
        statement: "With R = 2C·T∞ and C ≥ 4 the chance of any delay sequence is at most 0.84^R, with C = 3 the bound says nothing",
        quantity: "([2e(C + 1)]^(1/C)/e)^R against 0.841^R for C ≥ 4",
        scope: "Example 2 too. For every T∞ tried the bound (2e(2T∞ + R)/2T∞)^(2T∞)·e^(−R) must also equal the base to the power \
            R.",
        mutants: &[],
        few: "no scheduler takes part: it is arithmetic",
        attempt: observation_26,
    },
    Claim {
        id: "lec-formulae",
        paper: Paper::Lec,
        name: "§6.1, formulae",
        statement: "(1 + 1/x)^x ≤ e ≤ (1 + 1/x)^(x+1); (1 − 1/x)^x ≤ 1/e ≤ (1 − 1/x)^(x−1); (y/x)^x ≤ (y choose x) ≤ (ey/x)^x",
        quantity: "the left side of the tightest against its right side",
        scope: "Whole x up to 1000, y up to 200. Boole's inequality (7) is used, not tried.",
        mutants: &[],
        few: "no scheduler takes part: it is arithmetic",
        attempt: formulae,
    },
];

/// A whole number as a case.
#[derive(Clone, Copy)]
struct Number(u64);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl Subject for Number {
    fn computation(&self) -> String {
        self.0.to_string()
    }

    fn processors(&self) -> usize {
        1
    }

    fn seed(&self) -> u64 {
        0
    }

    fn with_seed(&self, _: u64) -> Self {
        *self
    }

    fn smaller(&self) -> Vec<Self> {
        Vec::new()
    }

    fn replay(&self, _: u64) -> Option<String> {
        None
    }
}

/// The base of the lecture's equation (4).
fn base(c: f64) -> f64 {
    (2.0 * E * (c + 1.0)).powf(1.0 / c) / E
}

fn observation_26(cx: &Context<'_>) -> Finding {
    cx.always((1..=200).map(Number).collect(), |&Number(c)| {
        let (c, span) = (c as f64, 7.0);
        let rounds = 2.0 * c * span;
        let whole = 2.0 * span * (2.0 * E * (2.0 * span + rounds) / (2.0 * span)).ln() - rounds;
        if (whole - rounds * base(c).ln()).abs() > 1e-6 {
            return Err(format!("for C = {c} equation (4) is not the bound before it"));
        }
        if c < 4.0 && base(c) < 1.0 {
            return Err(format!("C = {c} would do"));
        }
        Ok(if c < 4.0 { Sample::HELD } else { Sample::new(base(c), 0.841) })
    })
}

fn formulae(cx: &Context<'_>) -> Finding {
    cx.always((1..=1000).map(Number).collect(), |&Number(x)| {
        let v = x as f64;
        let euler = (1.0 + 1.0 / v).powf(v);
        if euler > E || (1.0 + 1.0 / v).powf(v + 1.0) < E {
            return Err(format!("(5) for x = {x}"));
        }
        if (1.0 - 1.0 / v).powf(v) > 1.0 / E || (x > 1 && (1.0 - 1.0 / v).powf(v - 1.0) < 1.0 / E) {
            return Err(format!("(6) for x = {x}"));
        }
        for y in x..=200 {
            let (low, ln, high) = (v * (y as f64 / v).ln(), ln_choose(y, x), v * (E * y as f64 / v).ln());
            if ln < low - 1e-6 || ln > high + 1e-6 {
                return Err(format!("(8) for {y} choose {x}"));
            }
        }
        Ok(Sample::new(euler, E))
    })
}
