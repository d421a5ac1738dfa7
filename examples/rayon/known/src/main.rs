//! Loops on rayon's interface whose parallelism is known: `known NAME`. `scripts/known-answers` profiles them.

use rayon::prelude::*;
use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Mutex;

/// Computes for about this many microseconds on a present-day core.
fn grind(microseconds: u64) {
    let mut random = black_box(0x2545_F491_4F6C_DD1D_u64);
    for _ in 0..microseconds * 500 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
    }
    black_box(random);
}

fn tree(depth: u32) {
    if depth == 0 {
        grind(200);
    } else {
        rayon::join(|| tree(depth - 1), || tree(depth - 1));
    }
}

/// The story of docs/profiling.md: numbers are read, sorted and looked at.
fn numbers() {
    let text: String =
        (0..600_000_u64).map(|n| format!("{} ", n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40)).collect();
    let mut numbers: Vec<u64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    numbers.par_sort_unstable();
    let primes =
        numbers.par_iter().filter(|&&n| (2..).take_while(|d| d * d <= n).all(|d| n % d != 0)).count();
    println!("{primes} primes");
}

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("numbers") => numbers(),
        Some("par_iter") => (0..4096).into_par_iter().for_each(|_| grind(50)),
        Some("with_max_len") => (0..4096).into_par_iter().with_max_len(1).for_each(|_| grind(50)),
        Some("par_chunks_mut") => vec![0_u8; 4096].par_chunks_mut(16).for_each(|_| grind(800)),
        Some("map_sum") => {
            let numbers = vec![200; 1024];
            let sum: u64 = numbers.par_iter().map(|&number| (grind(number), number).1).sum();
            assert_eq!(sum, 1024 * 200);
        }
        Some("par_bridge") => (0..1024).par_bridge().for_each(|_| grind(200)),
        Some("join") => tree(10),
        Some("scope") => rayon::scope(|s| (0..256).for_each(|_| s.spawn(|_| grind(800)))),
        Some("one_long") => {
            (0..100).into_par_iter().for_each(|i| grind(if i == 40 { 150_000 } else { 1_000 }))
        }
        Some("lock") => {
            let lock = Mutex::new(());
            (0..10_000).into_par_iter().for_each(|_| {
                let _held = lock.lock();
                grind(15);
            });
        }
        _ => {
            eprintln!(
                "known numbers|par_iter|with_max_len|par_chunks_mut|map_sum|par_bridge|join|scope|one_long|lock"
            );
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
