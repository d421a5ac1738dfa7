//! Complex numbers, as far as the workloads need them.

use std::ops::{Add, AddAssign, Mul, Sub};

/// A complex number in double precision.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Complex {
    pub(crate) re: f64,
    pub(crate) im: f64,
}

impl Add for Complex {
    type Output = Complex;

    #[inline(always)]
    fn add(self, other: Complex) -> Complex {
        Complex { re: self.re + other.re, im: self.im + other.im }
    }
}

impl Sub for Complex {
    type Output = Complex;

    #[inline(always)]
    fn sub(self, other: Complex) -> Complex {
        Complex { re: self.re - other.re, im: self.im - other.im }
    }
}

impl Mul for Complex {
    type Output = Complex;

    #[inline(always)]
    fn mul(self, other: Complex) -> Complex {
        Complex { re: self.re * other.re - self.im * other.im, im: self.re * other.im + self.im * other.re }
    }
}

impl AddAssign for Complex {
    #[inline(always)]
    fn add_assign(&mut self, other: Complex) {
        *self = *self + other;
    }
}

impl Complex {
    #[inline(always)]
    pub(crate) fn scaled(self, factor: f64) -> Complex {
        Complex { re: self.re * factor, im: self.im * factor }
    }

    #[inline(always)]
    pub(crate) fn square(self) -> f64 {
        self.re * self.re + self.im * self.im
    }

    /// One over this number.
    #[inline(always)]
    pub(crate) fn inverse(self) -> Complex {
        Complex { re: self.re, im: -self.im }.scaled(1.0 / self.square())
    }
}
