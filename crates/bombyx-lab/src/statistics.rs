//! The middle and the mean of figures.

/// The median of at least one number. The numbers are in order.
pub fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) { (sorted[middle - 1] + sorted[middle]) / 2.0 } else { sorted[middle] }
}

/// The figure in the middle. `None` if there are no figures.
pub fn middle<T: PartialOrd + Copy>(figures: impl IntoIterator<Item = T>) -> Option<T> {
    let mut figures: Vec<T> = figures.into_iter().collect();
    figures.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    figures.get(figures.len() / 2).copied()
}

/// The geometric mean. `None` if there are no ratios.
pub fn geometric_mean(ratios: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (count, logarithms) =
        ratios.into_iter().fold((0u32, 0.0), |(n, sum), ratio| (n + 1, sum + ratio.ln()));
    (count > 0).then(|| (logarithms / f64::from(count)).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn geometric_means() {
        assert_eq!(geometric_mean([]), None);
        assert!((geometric_mean([0.5, 2.0, 1.0]).unwrap() - 1.0).abs() < 1e-12);
    }
}
