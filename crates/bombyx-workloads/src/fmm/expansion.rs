//! Multipole and local expansions of the field of charges in the plane, and their translations. A charge q at w
//! has the field q / (z - w) at z, so that all coefficients are rational in the positions.

use crate::complex::Complex;

/// Terms of an expansion.
pub(super) const TERMS: usize = 14;

/// The field far from a centre: the sum of `self.0[k] / z^(k+1)`, where the k-th coefficient is the sum of q w^k.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Multipole([Complex; TERMS]);

/// The field close to a centre: the sum of `self.0[k] z^k`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Local([Complex; TERMS]);

/// Binomial coefficients up to twice the number of terms.
const BINOMIAL: [[f64; 2 * TERMS]; 2 * TERMS] = {
    let mut table = [[0.0; 2 * TERMS]; 2 * TERMS];
    let mut n = 0;
    while n < 2 * TERMS {
        table[n][0] = 1.0;
        let mut k = 1;
        while k <= n {
            table[n][k] = table[n - 1][k - 1] + table[n - 1][k];
            k += 1;
        }
        n += 1;
    }
    table
};

/// 1, z, z², …
fn powers(z: Complex) -> [Complex; TERMS] {
    let mut powers = [Complex { re: 1.0, im: 0.0 }; TERMS];
    for k in 1..TERMS {
        powers[k] = powers[k - 1] * z;
    }
    powers
}

impl Multipole {
    /// The expansion of charges given by their offsets from the centre.
    pub(super) fn of(charges: impl Iterator<Item = (Complex, f64)>) -> Multipole {
        let mut sum = Multipole::default();
        for (offset, charge) in charges {
            for (coefficient, power) in sum.0.iter_mut().zip(powers(offset)) {
                *coefficient += power.scaled(charge);
            }
        }
        sum
    }

    /// Adds this expansion to one about another centre, from which this centre is at `offset`.
    pub(super) fn shift_into(&self, offset: Complex, into: &mut Multipole) {
        let powers = powers(offset);
        for (n, sum) in into.0.iter_mut().enumerate() {
            for k in 0..=n {
                *sum += (self.0[k] * powers[n - k]).scaled(BINOMIAL[n][k]);
            }
        }
    }

    /// Adds the field about a centre far away, from which this centre is at `offset`: with t = 1/offset,
    /// 1/(z - offset)^(k+1) is the sum of (-1)^(k+1) C(n+k, k) t^(n+k+1) z^n.
    pub(super) fn translate_into(&self, offset: Complex, into: &mut Local) {
        let inverse = offset.inverse();
        let powers = powers(inverse);
        let signed: [Complex; TERMS] = std::array::from_fn(|k| {
            let sign = if k % 2 == 0 { -1.0 } else { 1.0 };
            (self.0[k] * powers[k] * inverse).scaled(sign)
        });
        for (n, sum) in into.0.iter_mut().enumerate() {
            let mut term = Complex::default();
            for (k, signed) in signed.iter().enumerate() {
                term += signed.scaled(BINOMIAL[n + k][k]);
            }
            *sum += term * powers[n];
        }
    }
}

impl Local {
    /// The same field about a centre at `offset` from this one.
    pub(super) fn shifted(&self, offset: Complex) -> Local {
        let powers = powers(offset);
        Local(std::array::from_fn(|n| {
            (n..TERMS)
                .fold(Complex::default(), |sum, k| sum + (self.0[k] * powers[k - n]).scaled(BINOMIAL[k][n]))
        }))
    }

    pub(super) fn field(&self, at: Complex) -> Complex {
        self.0.iter().rev().fold(Complex::default(), |sum, coefficient| sum * at + *coefficient)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: Complex, b: Complex) -> bool {
        (a - b).square().sqrt() < 1e-5 * b.square().sqrt()
    }

    #[test]
    fn a_charge_through_all_translations() {
        let c = |re, im| Complex { re, im };
        let (charge, source, target) = (0.7, c(0.1, 0.2), c(4.3, 0.4));
        let expected = (target - source).inverse().scaled(charge);

        let own = Multipole::of([(source - c(0.25, 0.25), charge)].into_iter());
        let mut wider = Multipole::default();
        own.shift_into(c(0.25, 0.25) - c(0.5, 0.5), &mut wider);
        let mut local = Local::default();
        wider.translate_into(c(0.5, 0.5) - c(4.5, 0.5), &mut local);
        assert!(close(local.field(target - c(4.5, 0.5)), expected));
        let narrower = local.shifted(c(4.25, 0.25) - c(4.5, 0.5));
        assert!(close(narrower.field(target - c(4.25, 0.25)), expected));
    }
}
