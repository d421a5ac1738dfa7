//! k-means over points that stay on the nodes: each round sends the centres out and gets sums back, never the points.
//!
//! `BOMBYX_CLUSTER=processes:4 cargo run --release -p bombyx-cluster --example kmeans -- 8 100000 20`

use bombyx_cluster::{Remote, remote};
use serde::{Deserialize, Serialize};

const DIMENSIONS: usize = 4;
const CENTRES: usize = 8;

/// Whole numbers, so that sums are the same in every order.
type Point = [i64; DIMENSIONS];

#[derive(Clone, Default, Serialize, Deserialize)]
struct Cell {
    count: i64,
    sum: Point,
}

/// Makes points around a few hidden centres. A real program would read its part of a file here.
#[remote]
fn make((part, count): (u64, usize)) -> Vec<Point> {
    let mut state = part.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
    let mut random = move |end: i64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) as i64 % end
    };
    (0..count)
        .map(|_| {
            let hidden = random(CENTRES as i64);
            std::array::from_fn(|axis| hidden * 10_000 * (1 + axis as i64 % 2) + random(3000))
        })
        .collect()
}

#[remote]
fn assign((points, centres): (Remote<Vec<Point>>, Vec<Point>)) -> Vec<Cell> {
    let points = points.get().expect("the points are there");
    let distance = |a: &Point, b: &Point| -> i64 { a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum() };
    let block = 4096;
    let sums = |nth: usize| {
        let mut cells = vec![Cell::default(); centres.len()];
        for point in &points[nth * block..points.len().min((nth + 1) * block)] {
            let nearest = (0..centres.len()).min_by_key(|&c| distance(point, &centres[c])).expect("a centre");
            cells[nearest].count += 1;
            (0..DIMENSIONS).for_each(|axis| cells[nearest].sum[axis] += point[axis]);
        }
        cells
    };
    bombyx::map_reduce(0..points.len().div_ceil(block), sums, Vec::new, merge)
}

fn merge(mut a: Vec<Cell>, b: Vec<Cell>) -> Vec<Cell> {
    if a.is_empty() {
        return b;
    }
    for (a, b) in a.iter_mut().zip(b) {
        a.count += b.count;
        (0..DIMENSIONS).for_each(|axis| a.sum[axis] += b.sum[axis]);
    }
    a
}

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cluster = bombyx_cluster::start()?;
    let mut arguments = std::env::args().skip(1);
    let parts: u64 = arguments.next().map_or(Ok(8), |text| text.parse())?;
    let count: usize = arguments.next().map_or(Ok(20_000), |text| text.parse())?;
    let rounds: usize = arguments.next().map_or(Ok(10), |text| text.parse())?;
    let points = (0..parts).map(|part| cluster.keep(make, (part, count))).collect::<Result<Vec<_>, _>>()?;
    let mut centres: Vec<Point> = (0..CENTRES as i64).map(|c| [c * 15_000; DIMENSIONS]).collect();
    for _ in 0..rounds {
        let items = points.iter().map(|part| (part.clone(), centres.clone()));
        let cells = cluster.map_reduce(assign, items, Vec::new(), merge)?;
        for (centre, cell) in centres.iter_mut().zip(&cells) {
            if cell.count > 0 {
                *centre = cell.sum.map(|sum| sum / cell.count);
            }
        }
    }
    println!("kmeans {parts} x {count} points: centres {centres:?}");
    Ok(())
}
