//! Fractions of 128-bit integers. Arithmetic that does not fit panics.

use std::cmp::Ordering;
use std::ops::{Add, Div, Mul, Sub};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fraction {
    numerator: i128,
    denominator: i128,
}

pub(crate) const ZERO: Fraction = Fraction { numerator: 0, denominator: 1 };

pub(crate) fn fraction(numerator: i128, denominator: i128) -> Fraction {
    assert!(denominator > 0, "a denominator is positive");
    let (mut a, mut b) = (numerator.abs(), denominator);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    Fraction { numerator: numerator / a, denominator: denominator / a }
}

fn times(a: i128, b: i128) -> i128 {
    a.checked_mul(b).expect("the fraction fits 128 bits")
}

impl Add for Fraction {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let (a, b) = (times(self.numerator, other.denominator), times(other.numerator, self.denominator));
        fraction(a + b, times(self.denominator, other.denominator))
    }
}

impl Sub for Fraction {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self + Fraction { numerator: -other.numerator, ..other }
    }
}

impl Mul for Fraction {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        let (a, b) =
            (fraction(self.numerator, other.denominator), fraction(other.numerator, self.denominator));
        Fraction {
            numerator: times(a.numerator, b.numerator),
            denominator: times(a.denominator, b.denominator),
        }
    }
}

impl Div for Fraction {
    type Output = Self;

    fn div(self, other: Self) -> Self {
        self.mul(fraction(other.denominator, other.numerator))
    }
}

impl PartialOrd for Fraction {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Fraction {
    fn cmp(&self, other: &Self) -> Ordering {
        times(self.numerator, other.denominator).cmp(&times(other.numerator, self.denominator))
    }
}

impl From<bombyx_sim::Ratio> for Fraction {
    fn from(ratio: bombyx_sim::Ratio) -> Self {
        fraction(ratio.numerator().into(), ratio.denominator().into())
    }
}

impl From<u64> for Fraction {
    fn from(whole: u64) -> Self {
        fraction(whole.into(), 1)
    }
}
