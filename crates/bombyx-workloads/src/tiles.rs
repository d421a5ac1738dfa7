//! Square matrices laid out by recursive quadrants: a matrix is its four quadrants one after the other, down to
//! row-major tiles. A quadrant is then a slice, so divide-and-conquer programs split matrices with `split_at_mut`
//! and find their data close together on every level of the memory hierarchy.

use crate::inputs::Rng;

/// A square matrix whose side is `tile` times a power of two.
#[derive(Clone, Debug)]
pub(crate) struct Tiled {
    pub(crate) side: usize,
    pub(crate) tile: usize,
    pub(crate) data: Vec<f64>,
}

impl Tiled {
    pub(crate) fn zeros(side: usize, tile: usize) -> Self {
        assert!(side.is_multiple_of(tile) && (side / tile).is_power_of_two());
        Tiled { side, tile, data: vec![0.0; side * side] }
    }

    pub(crate) fn from_fn(side: usize, tile: usize, mut f: impl FnMut(usize, usize) -> f64) -> Self {
        let mut matrix = Tiled::zeros(side, tile);
        for row in 0..side {
            for column in 0..side {
                let at = matrix.position(row, column);
                matrix.data[at] = f(row, column);
            }
        }
        matrix
    }

    /// Integers between -8 and 8: products of such matrices are exact in double precision, whatever the order of
    /// summation.
    pub(crate) fn random_integers(side: usize, tile: usize, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        Tiled::from_fn(side, tile, |_, _| rng.below(17) as f64 - 8.0)
    }

    fn position(&self, row: usize, column: usize) -> usize {
        let (mut half, mut row, mut column, mut at) = (self.side / 2, row, column, 0);
        while half >= self.tile {
            at += half * half * (2 * (row / half) + column / half);
            (row, column, half) = (row % half, column % half, half / 2);
        }
        at + row * self.tile + column
    }

    pub(crate) fn get(&self, row: usize, column: usize) -> f64 {
        self.data[self.position(row, column)]
    }

    pub(crate) fn times(&self, vector: &[f64]) -> Vec<f64> {
        fn add(block: &[f64], tile: usize, vector: &[f64], out: &mut [f64]) {
            if vector.len() <= tile {
                for (row, out) in block.chunks(tile).zip(out) {
                    *out += row.iter().zip(vector).map(|(a, x)| a * x).sum::<f64>();
                }
                return;
            }
            let half = vector.len() / 2;
            for (i, quadrant) in quadrants(block).into_iter().enumerate() {
                let (row, column) = (i / 2 * half, i % 2 * half);
                add(quadrant, tile, &vector[column..column + half], &mut out[row..row + half]);
            }
        }
        let mut out = vec![0.0; self.side];
        add(&self.data, self.tile, vector, &mut out);
        out
    }
}

/// A vector of random signs, to test matrix identities with (Freivalds 1977).
pub(crate) fn random_signs(n: usize, seed: u64) -> Vec<f64> {
    let mut rng = Rng::new(seed);
    (0..n).map(|_| if rng.next() >> 63 == 0 { 1.0 } else { -1.0 }).collect()
}

/// Checks `product = a b` for matrices of small integers, where arithmetic is exact. A wrong product passes with
/// probability at most one half for each of the four vectors tried.
pub(crate) fn check_product(product: &Tiled, a: &Tiled, b: &Tiled) -> Result<(), String> {
    for seed in 0..4 {
        let vector = random_signs(a.side, seed);
        let expected = a.times(&b.times(&vector));
        let got = product.times(&vector);
        if let Some(row) = (0..a.side).find(|&row| got[row] != expected[row]) {
            return Err(format!("row {row} of the product is wrong"));
        }
    }
    Ok(())
}

/// The quadrants of a block: top left, top right, bottom left, bottom right.
#[inline]
pub(crate) fn quadrants(block: &[f64]) -> [&[f64]; 4] {
    let (top, bottom) = block.split_at(block.len() / 2);
    let (a, b) = top.split_at(top.len() / 2);
    let (c, d) = bottom.split_at(bottom.len() / 2);
    [a, b, c, d]
}

/// The quadrants of a block, to write to.
#[inline]
pub(crate) fn quadrants_mut(block: &mut [f64]) -> [&mut [f64]; 4] {
    let (top, bottom) = block.split_at_mut(block.len() / 2);
    let (a, b) = top.split_at_mut(top.len() / 2);
    let (c, d) = bottom.split_at_mut(bottom.len() / 2);
    [a, b, c, d]
}

/// `c += sign · a · b` on tiles of side `n`, which must be one of those that a workload uses.
pub(crate) fn multiply_add_tile(c: &mut [f64], a: &[f64], b: &[f64], n: usize, sign: f64) {
    match n {
        12 => multiply_add_fixed::<12>(c, a, b, sign),
        24 => multiply_add_fixed::<24>(c, a, b, sign),
        48 => multiply_add_fixed::<48>(c, a, b, sign),
        96 => multiply_add_fixed::<96>(c, a, b, sign),
        _ => panic!("no tile kernel for side {n}"),
    }
}

/// Four rows by four columns at a time, so that sixteen sums stay in registers.
fn multiply_add_fixed<const N: usize>(c: &mut [f64], a: &[f64], b: &[f64], sign: f64) {
    let (c, a, b) = (&mut c[..N * N], &a[..N * N], &b[..N * N]);
    for row in (0..N).step_by(4) {
        for column in (0..N).step_by(4) {
            let mut sums = [[0.0; 4]; 4];
            for k in 0..N {
                let right: [f64; 4] = std::array::from_fn(|j| b[k * N + column + j]);
                for (i, sums) in sums.iter_mut().enumerate() {
                    let left = a[(row + i) * N + k];
                    for j in 0..4 {
                        sums[j] += left * right[j];
                    }
                }
            }
            for (i, sums) in sums.iter().enumerate() {
                for j in 0..4 {
                    c[(row + i) * N + column + j] += sign * sums[j];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quadrants_are_contiguous() {
        let matrix = Tiled::from_fn(8, 2, |row, column| (8 * row + column) as f64);
        assert_eq!(matrix.get(5, 6), 46.0);
        let [_, top_right, bottom_left, _] = quadrants(&matrix.data);
        assert_eq!(top_right[0], matrix.get(0, 4));
        assert_eq!(quadrants(bottom_left)[3][3], matrix.get(7, 3));
    }

    #[test]
    fn tile_products_and_their_checker() {
        for n in [12, 24, 48, 96] {
            let (a, b) = (Tiled::random_integers(n, n, 1), Tiled::random_integers(n, n, 2));
            let mut c = Tiled::zeros(n, n);
            multiply_add_tile(&mut c.data, &a.data, &b.data, n, 1.0);
            assert_eq!(check_product(&c, &a, &b), Ok(()));
            c.data[n + 3] += 1.0;
            assert!(check_product(&c, &a, &b).is_err());
        }
    }
}
