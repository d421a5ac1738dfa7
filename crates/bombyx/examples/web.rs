//! A web server on one thread that renders pictures on all processors. While a picture is rendered, the server goes on
//! serving others: `run_async` never blocks the executor.
//!
//! `cargo run --release -p bombyx --example web`, then open <http://127.0.0.1:8080/tile/0/0>. Each tile is a part of the
//! Mandelbrot set, as a PGM picture.

use bombyx::{Pool, prelude::*};
use std::io;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// The pixels in a row of a tile, and its rows.
pub const SIDE: usize = 256;
/// How many tiles there are in a row of tiles, and how many rows.
const TILES: usize = 8;

/// How soon the point of this pixel leaves the circle with radius 2.
fn shade(column: usize, row: usize) -> u8 {
    let scale = 3.0 / (TILES * SIDE) as f64;
    let (x, y) = (column as f64 * scale - 2.25, row as f64 * scale - 1.5);
    let (mut a, mut b, mut steps) = (0.0, 0.0, 0u8);
    while a * a + b * b <= 4.0 && steps < u8::MAX {
        (a, b) = (a * a - b * b + x, 2.0 * a * b + y);
        steps += 1;
    }
    steps
}

/// The tile in this column and row, in parallel.
pub fn tile(column: usize, row: usize) -> Vec<u8> {
    let pixel = |n: usize| shade(column * SIDE + n % SIDE, row * SIDE + n / SIDE);
    (0..SIDE * SIDE).into_par_iter().map(pixel).collect()
}

/// Which tile a request asks for.
fn parse(request: &str) -> Option<(usize, usize)> {
    let (column, row) = request.strip_prefix("GET /tile/")?.split_once(' ')?.0.split_once('/')?;
    let place = (column.parse().ok()?, row.parse().ok()?);
    (place.0 < TILES && place.1 < TILES).then_some(place)
}

async fn answer(stream: TcpStream, pool: &Pool) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    let (mut request, mut line) = (String::new(), String::new());
    stream.read_line(&mut request).await?;
    while stream.read_line(&mut line).await? > 2 {
        line.clear();
    }
    let Some((column, row)) = parse(&request) else {
        return stream.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n").await;
    };
    // The picture is rendered in the pool. If the client goes away, this future is dropped, and so is a closure that
    // has not started.
    let pixels = pool.run_async(move || tile(column, row)).await;
    let picture = format!("P5 {SIDE} {SIDE} 255\n");
    let length = picture.len() + pixels.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: image/x-portable-graymap\r\ncontent-length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(picture.as_bytes()).await?;
    stream.write_all(&pixels).await
}

/// Serves all who connect, on the calling thread.
pub async fn serve(listener: TcpListener, pool: &'static Pool) -> io::Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(async move {
            if let Err(error) = answer(stream, pool).await {
                eprintln!("a client went away: {error}");
            }
        });
    }
}

#[allow(dead_code, reason = "the test of this example has a main of its own")]
fn main() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:8080").await?;
        println!("listening on http://{}/tile/0/0", listener.local_addr()?);
        serve(listener, Pool::global()).await
    })
}
