//! The graphs of the Problem Based Benchmark Suite: grids, random local graphs and rMat graphs. Vertices are
//! numbered in random order, because the greedy algorithms that use them go by number and a numbering that follows
//! the geometry would make them serial.

use super::Rng;

/// An undirected graph as a list of edges without loops. An edge may occur twice.
#[derive(Clone, Debug)]
pub(crate) struct Edges {
    pub(crate) vertices: usize,
    pub(crate) list: Vec<[u32; 2]>,
}

/// The neighbours of every vertex, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Adjacency {
    starts: Vec<u32>,
    neighbours: Vec<u32>,
}

impl Adjacency {
    pub(crate) fn vertices(&self) -> usize {
        self.starts.len() - 1
    }

    #[inline]
    pub(crate) fn of(&self, vertex: u32) -> &[u32] {
        &self.neighbours[self.starts[vertex as usize] as usize..self.starts[vertex as usize + 1] as usize]
    }
}

impl Edges {
    /// Both directions of every edge, grouped by vertex.
    pub(crate) fn adjacency(&self) -> Adjacency {
        let mut starts = vec![0u32; self.vertices + 1];
        for &[u, v] in &self.list {
            starts[u as usize + 1] += 1;
            starts[v as usize + 1] += 1;
        }
        for i in 0..self.vertices {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        let mut neighbours = vec![0; 2 * self.list.len()];
        for &[u, v] in &self.list {
            for (from, to) in [(u, v), (v, u)] {
                neighbours[next[from as usize] as usize] = to;
                next[from as usize] += 1;
            }
        }
        Adjacency { starts, neighbours }
    }

    /// Puts the edges into a random order.
    pub(crate) fn shuffled(mut self, seed: u64) -> Self {
        Rng::new(seed).shuffle(&mut self.list);
        self
    }

    /// Drops loops and renumbers the vertices at random.
    fn renumbered(vertices: usize, mut list: Vec<[u32; 2]>, rng: &mut Rng) -> Self {
        let mut numbers: Vec<u32> = (0..vertices as u32).collect();
        rng.shuffle(&mut numbers);
        list.retain(|[u, v]| u != v);
        for end in list.iter_mut().flatten() {
            *end = numbers[*end as usize];
        }
        Edges { vertices, list }
    }
}

/// A torus of `side^D` vertices.
pub(crate) fn grid<const D: usize>(side: usize, seed: u64) -> Edges {
    let vertices = side.pow(D as u32);
    let mut list = Vec::with_capacity(D * vertices);
    for v in 0..vertices {
        let mut stride = 1;
        for _ in 0..D {
            let coordinate = v / stride % side;
            let next = v - coordinate * stride + (coordinate + 1) % side * stride;
            list.push([v as u32, next as u32]);
            stride *= side;
        }
    }
    Edges::renumbered(vertices, list, &mut Rng::new(seed))
}

/// A random local graph: `degree` edges out of every vertex, to vertices whose distance `d` on a ring is chosen
/// with density falling as 1/d (each power of two equally likely).
pub(crate) fn random_local(vertices: usize, degree: usize, seed: u64) -> Edges {
    let mut rng = Rng::new(seed);
    let magnitudes = u64::from(vertices.ilog2());
    let mut list = Vec::with_capacity(degree * vertices);
    for v in 0..vertices {
        for _ in 0..degree {
            let magnitude = 1u64 << rng.below(magnitudes);
            let distance = magnitude + rng.below(magnitude);
            list.push([v as u32, ((v as u64 + distance) % vertices as u64) as u32]);
        }
    }
    Edges::renumbered(vertices, list, &mut rng)
}

/// An rMat graph (Chakrabarti, Zhan, Faloutsos, SDM 2004) with probabilities 0.5, 0.1, 0.1, 0.3 and `2^scale`
/// vertices: its degrees follow a power law.
pub(crate) fn rmat(scale: u32, edges: usize, seed: u64) -> Edges {
    let mut rng = Rng::new(seed);
    let list = (0..edges).map(|_| rmat_edge(scale, &mut rng)).collect();
    Edges::renumbered(1 << scale, list, &mut rng)
}

/// Chooses a quadrant of the adjacency matrix `scale` times, 16 random bits each.
fn rmat_edge(scale: u32, rng: &mut Rng) -> [u32; 2] {
    const TENTH: u64 = (1 << 16) / 10;
    let (mut u, mut v, mut bits) = (0, 0, 0);
    for level in 0..scale {
        if level % 4 == 0 {
            bits = rng.next();
        }
        let choice = bits & 0xffff;
        bits >>= 16;
        u = 2 * u + u32::from(choice >= 6 * TENTH);
        v = 2 * v + u32::from((5 * TENTH..6 * TENTH).contains(&choice) | (choice >= 7 * TENTH));
    }
    [u, v]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_has_its_degree_everywhere() {
        let adjacency = grid::<3>(5, 1).adjacency();
        assert_eq!(adjacency.vertices(), 125);
        assert!((0..125).all(|v| adjacency.of(v).len() == 6));
    }

    #[test]
    fn edges_are_in_range_and_no_loops() {
        for edges in [grid::<2>(9, 2), random_local(1000, 5, 2), rmat(10, 5000, 2)] {
            assert!(edges.list.iter().all(|[u, v]| u != v && (*u.max(v) as usize) < edges.vertices));
            let adjacency = edges.adjacency();
            let ends: usize = (0..edges.vertices as u32).map(|v| adjacency.of(v).len()).sum();
            assert_eq!(ends, 2 * edges.list.len());
        }
    }

    #[test]
    fn rmat_degrees_are_uneven() {
        let adjacency = rmat(10, 5000, 3).adjacency();
        let most = (0..1024).map(|v| adjacency.of(v).len()).max();
        assert!(most > Some(40), "largest degree {most:?} at mean 10");
    }
}
