//! The density volume and the little geometry that casting rays through it takes.

use crate::inputs::Rng;

pub(super) type Vector = [f32; 3];

pub(super) fn add(a: Vector, b: Vector) -> Vector {
    std::array::from_fn(|i| a[i] + b[i])
}

pub(super) fn scale(a: Vector, factor: f32) -> Vector {
    a.map(|x| x * factor)
}

pub(super) fn cross(a: Vector, b: Vector) -> Vector {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// The vector of length one in the same direction.
pub(super) fn unit(a: Vector) -> Vector {
    scale(a, 1.0 / a.iter().map(|x| x * x).sum::<f32>().sqrt())
}

/// A cube of densities between 0 and 255.
pub(super) struct Field {
    side: usize,
    densities: Vec<u8>,
}

impl Field {
    /// A few clouds that fade with the distance from their centres.
    pub(super) fn blobs(side: usize, rng: &mut Rng) -> Field {
        let clouds: Vec<(Vector, f32)> = (0..6)
            .map(|_| {
                (std::array::from_fn(|_| 0.2 + 0.6 * rng.unit() as f32), 0.04 + 0.06 * rng.unit() as f32)
            })
            .collect();
        let unit = 1.0 / side as f32;
        let densities = (0..side * side * side)
            .map(|i| {
                let at = [i % side, i / side % side, i / side / side].map(|x| (x as f32 + 0.5) * unit);
                let total: f32 = clouds
                    .iter()
                    .map(|(centre, radius)| {
                        let square: f32 = at.iter().zip(centre).map(|(x, c)| (x - c) * (x - c)).sum();
                        let fall = radius * radius / (radius * radius + square);
                        fall * fall
                    })
                    .sum();
                (255.0 * total).min(255.0) as u8
            })
            .collect();
        Field { side, densities }
    }

    pub(super) fn side(&self) -> usize {
        self.side
    }

    /// The eight voxels around a point, in pairs; nothing outside.
    pub(super) fn voxels(&self, at: Vector) -> Option<[&[u8]; 4]> {
        let last = (self.side - 1) as f32;
        if at.iter().any(|x| !(0.0..last).contains(x)) {
            return None;
        }
        let whole = at.map(|x| x as usize);
        let corner = (whole[2] * self.side + whole[1]) * self.side + whole[0];
        let pair = |offset: usize| &self.densities[corner + offset..][..2];
        Some([pair(0), pair(self.side), pair(self.side * self.side), pair(self.side * self.side + self.side)])
    }

    /// The density between 0 and 1 at a point, interpolated between the eight voxels around it; nothing outside.
    #[inline]
    pub(super) fn sample(&self, at: Vector) -> Option<f32> {
        let last = (self.side - 1) as f32;
        if at.iter().any(|x| !(0.0..last).contains(x)) {
            return None;
        }
        let whole = at.map(|x| x as usize);
        let part: Vector = std::array::from_fn(|i| at[i] - whole[i] as f32);
        let corner = (whole[2] * self.side + whole[1]) * self.side + whole[0];
        let voxel = |offset: usize| f32::from(self.densities[corner + offset]);
        let mix = |a: f32, b: f32, t: f32| a + t * (b - a);
        let along_x = |offset: usize| mix(voxel(offset), voxel(offset + 1), part[0]);
        let along_y = |offset: usize| mix(along_x(offset), along_x(offset + self.side), part[1]);
        Some(mix(along_y(0), along_y(self.side * self.side), part[2]) * (1.0 / 255.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpolation_meets_the_voxels() {
        let field = Field { side: 3, densities: (0..27).map(|i| 9 * i).collect() };
        for (at, expected) in [([1.0, 1.0, 1.0], 9.0 * 13.0), ([1.5, 0.0, 0.0], 13.5)] {
            let got = 255.0 * field.sample(at).unwrap();
            assert!((got - expected).abs() < 1e-3, "{got} instead of {expected} at {at:?}");
        }
        assert_eq!(field.sample([2.5, 0.0, 0.0]), None);
        assert_eq!(field.sample([-0.5, 0.0, 0.0]), None);
    }
}
