//! Points in the plane and in space, uniform or after Plummer's model of a star cluster.

use super::Rng;

/// Uniform in the unit ball of `D` dimensions.
pub(crate) fn uniform<const D: usize>(n: usize, seed: u64) -> Vec<[f64; D]> {
    let mut rng = Rng::new(seed);
    (0..n).map(|_| in_ball(&mut rng).0).collect()
}

/// Plummer's density, which falls off with the fifth power of the distance, cut off at radius 100.
///
/// The model wants the radius (u^(-2/3) - 1)^(-1/2) for uniform u. The cube root of u is distributed as the
/// largest of three uniforms v, which leaves v / sqrt(1 - v²).
pub(crate) fn plummer<const D: usize>(n: usize, seed: u64) -> Vec<[f64; D]> {
    let mut rng = Rng::new(seed);
    (0..n)
        .map(|_| {
            let radius = loop {
                let v = rng.unit().max(rng.unit()).max(rng.unit());
                let radius = v / (1.0 - v * v).sqrt();
                if radius <= 100.0 {
                    break radius;
                }
            };
            let (direction, square) = in_ball::<D>(&mut rng);
            direction.map(|x| x * (radius / square.sqrt()))
        })
        .collect()
}

/// A uniform point of the unit ball other than its centre, and the square of its distance from the centre.
fn in_ball<const D: usize>(rng: &mut Rng) -> ([f64; D], f64) {
    loop {
        let p = std::array::from_fn(|_| 2.0 * rng.unit() - 1.0);
        let square = p.iter().map(|x| x * x).sum();
        if square <= 1.0 && square > 1e-12 {
            return (p, square);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_the_plummer_mass_is_within_its_half_mass_radius() {
        let half_mass_radius = (2f64.powf(2.0 / 3.0) - 1.0).powf(-0.5);
        let points = plummer::<3>(20_000, 3);
        let inside = points.iter().filter(|p| p.iter().map(|x| x * x).sum::<f64>().sqrt() < half_mass_radius);
        let share = inside.count() as f64 / 20_000.0;
        assert!((share - 0.5).abs() < 0.02, "{share} of the mass inside");
    }
}
