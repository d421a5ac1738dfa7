//! All ways to put n queens on a board: an irregular search tree. Its upper levels are nested remote calls. Below them,
//! Bombyx forks.
//!
//! `BOMBYX_CLUSTER=processes:4 cargo run --release -p bombyx-cluster --example nqueens -- 13`

use bombyx_cluster::{Cluster, remote};
use serde::{Deserialize, Serialize};

/// The first rows of a board, as sets of columns: occupied, and attacked along both diagonals.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Board {
    side: u32,
    rows: u32,
    columns: u32,
    left: u32,
    right: u32,
}

impl Board {
    /// The boards with one more queen.
    fn next(self) -> impl Iterator<Item = Board> {
        let free = !(self.columns | self.left | self.right) & ((1 << self.side) - 1);
        (0..self.side).filter(move |column| free >> column & 1 == 1).map(move |column| {
            let queen = 1 << column;
            Board {
                rows: self.rows + 1,
                columns: self.columns | queen,
                left: (self.left | queen) << 1,
                right: (self.right | queen) >> 1,
                ..self
            }
        })
    }
}

/// Rows whose queens are placed by nested remote calls.
const REMOTE_ROWS: u32 = 2;

#[remote]
fn count(board: Board) -> u64 {
    if board.rows < REMOTE_ROWS {
        // While this call waits, another one has its slot on the node.
        return Cluster::current()
            .map_reduce(count, board.next(), 0, |a, b| a + b)
            .expect("the cluster is there");
    }
    search(board)
}

/// On the node: Bombyx forks at each queen of the next rows.
fn search(board: Board) -> u64 {
    if board.rows == board.side {
        return 1;
    }
    if board.rows + 6 > board.side {
        return board.next().map(search).sum();
    }
    let next: Vec<Board> = board.next().collect();
    bombyx::map_reduce(0..next.len(), |nth| search(next[nth]), || 0, |a, b| a + b)
}

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cluster = bombyx_cluster::start()?;
    let side: u32 = std::env::args().nth(1).map_or(Ok(11), |text| text.parse())?;
    if !(1..=20).contains(&side) {
        return Err(format!("a board of {side} x {side} is out of reach: use 1 to 20").into());
    }
    let solutions = cluster.call(count, Board { side, rows: 0, columns: 0, left: 0, right: 0 })?;
    println!("nqueens {side}: {solutions} solutions");
    Ok(())
}
