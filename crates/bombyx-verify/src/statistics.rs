//! Intervals of confidence and a few functions of probability theory.
//!
//! Claims about chances are judged by intervals, never by a single number: a claim counts as broken only when the whole
//! interval lies beyond its bound. With [`ERROR`] per question, a true claim is called broken about once in two
//! thousand questions if the truth lies exactly on the bound, and practically never if it lies below.

use std::f64::consts::PI;

/// The chance that an interval misses the truth.
pub const ERROR: f64 = 0.001;

/// Where the truth lies, except with chance [`ERROR`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The mean of `samples` and where the expectation lies, by the normal approximation.
pub(crate) fn mean(samples: &[f64]) -> (f64, Interval) {
    let count = samples.len().max(1) as f64;
    let mean = samples.iter().sum::<f64>() / count;
    let squares: f64 = samples.iter().map(|x| (x - mean).powi(2)).sum();
    let variance = squares / (count - 1.0).max(1.0);
    let reach = normal_quantile(1.0 - ERROR / 2.0) * (variance / count).sqrt();
    (mean, Interval { low: mean - reach, high: mean + reach })
}

/// Where the chance of an event lies that occurred `events` times in `trials` (Wilson's interval). If `questions` are
/// asked at once, all the intervals together miss with chance [`ERROR`].
pub(crate) fn chance(events: u64, trials: u64, questions: usize) -> Interval {
    let z = normal_quantile(1.0 - ERROR / 2.0 / questions.max(1) as f64);
    let n = trials.max(1) as f64;
    let p = events as f64 / n;
    let middle = (p + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let reach = z / (1.0 + z * z / n) * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
    Interval { low: (middle - reach).max(0.0), high: (middle + reach).min(1.0) }
}

/// The x below which a standard normal variable lies with chance `p`: Newton's method on the distribution function.
fn normal_quantile(p: f64) -> f64 {
    let mut x = 0.0;
    for _ in 0..100 {
        let density = (-x * x / 2.0_f64).exp() / (2.0 * PI).sqrt();
        let step: f64 = (normal_distribution(x) - p) / density;
        x -= step.clamp(-1.0, 1.0);
        if step.abs() < 1e-10 {
            break;
        }
    }
    x
}

/// The chance that a standard normal variable is at most `x`, by its power series about 0.
fn normal_distribution(x: f64) -> f64 {
    let (mut term, mut sum, mut n) = (x, x, 1.0);
    while term.abs() > 1e-17 * sum.abs() {
        term *= x * x / (2.0 * n + 1.0);
        sum += term;
        n += 1.0;
    }
    0.5 + sum * (-x * x / 2.0).exp() / (2.0 * PI).sqrt()
}

/// ln(n!), by Stirling's series.
pub(crate) fn ln_factorial(n: u64) -> f64 {
    if n < 16 {
        return (2..=n).map(|i| (i as f64).ln()).sum();
    }
    let n = n as f64;
    n * n.ln() - n + (2.0 * PI * n).ln() / 2.0 + 1.0 / (12.0 * n) - 1.0 / (360.0 * n.powi(3))
}

/// The natural logarithm of "n choose k".
pub(crate) fn ln_choose(n: u64, k: u64) -> f64 {
    ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (p, x) in [(0.5, 0.0), (0.975, 1.959_964), (0.9995, 3.290_527), (0.999_995, 4.417_173)] {
            assert!((normal_quantile(p) - x).abs() < 1e-5, "{p}");
        }
    }

    #[test]
    fn intervals_contain_what_was_seen_and_shrink() {
        let (few, many) = (chance(3, 30, 1), chance(300, 3000, 1));
        assert!(few.low < 0.1 && 0.1 < few.high && many.high - many.low < (few.high - few.low) / 5.0);
        assert!(chance(0, 100, 1).low == 0.0 && chance(0, 100, 1).high < 0.11);
        assert!(chance(5, 50, 100).low < chance(5, 50, 1).low);
        let (middle, interval) = mean(&[1.0, 2.0, 3.0]);
        assert!(middle == 2.0 && interval.low < 1.0 && interval.high > 3.0);
    }

    #[test]
    fn binomials() {
        assert!((ln_choose(10, 3) - 120_f64.ln()).abs() < 1e-9);
        let by_products: f64 = (0..50).map(|i| ((100 - i) as f64 / (50 - i) as f64).ln()).sum();
        assert!((ln_choose(100, 50) - by_products).abs() < 1e-6);
    }
}
