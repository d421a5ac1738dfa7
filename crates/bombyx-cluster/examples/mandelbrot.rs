//! The Mandelbrot set by tiles: each tile is a remote call, and Bombyx shares its rows among the node's processors.
//!
//! `BOMBYX_CLUSTER=processes:4 cargo run --release -p bombyx-cluster --example mandelbrot -- 1024 64 picture.pgm`

use bombyx_cluster::remote;
use serde::{Deserialize, Serialize};
use std::io::Write;

/// A part of a square picture.
#[derive(Serialize, Deserialize)]
struct Tile {
    /// Pixels on each side of the picture.
    side: usize,
    left: usize,
    top: usize,
    width: usize,
    height: usize,
}

/// How soon a point leaves the set: the value of its pixel.
fn escape(x: f64, y: f64) -> u8 {
    let (mut re, mut im) = (0.0, 0.0);
    for step in 0..2000_u32 {
        (re, im) = (re * re - im * im + x, 2.0 * re * im + y);
        if re * re + im * im > 4.0 {
            return (step % 255) as u8 + 1;
        }
    }
    0
}

#[remote]
fn render(tile: Tile) -> Vec<u8> {
    let scale = 3.0 / tile.side as f64;
    let row = |nth: usize| -> Vec<u8> {
        let y = (tile.top + nth) as f64 * scale - 1.5;
        (0..tile.width).map(|column| escape((tile.left + column) as f64 * scale - 2.25, y)).collect()
    };
    bombyx::map_reduce(0..tile.height, row, Vec::new, |mut above, below| {
        above.extend(below);
        above
    })
}

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cluster = bombyx_cluster::start()?;
    let mut arguments = std::env::args().skip(1);
    let side: usize = arguments.next().map_or(Ok(512), |text| text.parse())?;
    let edge: usize = arguments.next().map_or(Ok(64), |text| text.parse())?;
    let file = arguments.next();
    if side == 0 || edge == 0 {
        return Err("the picture and its tiles need at least one pixel".into());
    }
    let corners: Vec<(usize, usize)> = (0..side)
        .step_by(edge)
        .flat_map(|top| (0..side).step_by(edge).map(move |left| (top, left)))
        .collect();
    let size = |at: usize| edge.min(side - at);
    let tiles =
        corners.iter().map(|&(top, left)| Tile { side, left, top, width: size(left), height: size(top) });
    let mut picture = vec![0; side * side];
    for (tile, &(top, left)) in cluster.map(render, tiles).progress("tiles").zip(&corners) {
        for (nth, row) in tile?.chunks(size(left)).enumerate() {
            let start = (top + nth) * side + left;
            picture[start..start + row.len()].copy_from_slice(row);
        }
    }
    if let Some(file) = file {
        let mut file = std::fs::File::create(file)?;
        writeln!(file, "P5 {side} {side} 255")?;
        file.write_all(&picture)?;
    }
    let sum = picture.iter().fold(0_u64, |sum, &pixel| sum.wrapping_mul(31).wrapping_add(pixel.into()));
    println!("mandelbrot {side} x {side}: checksum {sum:016x}");
    Ok(())
}
