//! The programs of docs/gallery.md: `gallery hand-over|grain N|lock|imbalance|cpus`. Each shows one thing.

use bombyx::{blocking, for_each, join, phase, scope};
use std::hint::black_box;
use std::process::ExitCode;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Computes for about this many microseconds on a core of 3 GHz.
fn compute(microseconds: u64) -> u64 {
    (0..microseconds * 700).fold(1, |a, b| black_box(a.wrapping_mul(0x5851_f42d_4c95_7f2d) ^ b))
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Each closure holds the one lock while it forks and waits. A thread that ran another of these closures on top of a waiting
/// one would want a lock that is below it on its own stack, and would wait for ever.
fn hand_over() -> u64 {
    let total = Mutex::new(0);
    scope(|s| {
        for _ in 0..6 {
            s.spawn(|_| {
                let mut total = blocking(|| locked(&total));
                let (short, long) = join(|| compute(500), || compute(4000));
                *total += short ^ long;
            });
        }
    });
    *locked(&total)
}

/// The sum of squares, in pieces of at most `grain` numbers.
fn squares(from: u64, to: u64, grain: u64) -> u64 {
    if to - from <= grain {
        return (from..to).fold(0, |sum, n| sum + black_box(n * n) % 7);
    }
    let middle = u64::midpoint(from, to);
    let (left, right) = join(|| squares(from, middle, grain), || squares(middle, to, grain));
    left + right
}

/// Three quarters of the time under one lock. With half of the time, two processors would take turns without a wait.
fn lock() -> u64 {
    let total = Mutex::new(0_u64);
    for_each(0..4000, |_| {
        let own = compute(20);
        let mut total = locked(&total);
        *total = total.wrapping_add(own ^ compute(60));
    });
    *locked(&total)
}

/// Sixty pieces of work, of which one is as long as all others together. Its processor takes closures from the end, and thieves
/// take them from the beginning, so the one in the middle comes last.
fn imbalance() -> u64 {
    let sum = Mutex::new(0_u64);
    scope(|s| {
        for piece in 0..60 {
            let sum = &sum;
            s.spawn(move |_| {
                let found = if piece == 30 { long_piece() } else { compute(500) };
                let mut sum = locked(sum);
                *sum = sum.wrapping_add(found);
            });
        }
    });
    *locked(&sum)
}

fn long_piece() -> u64 {
    let _phase = phase("the long piece");
    compute(30_000)
}

/// Two equal halves, each of one piece.
fn cpus() -> u64 {
    let (left, right) = join(|| compute(400_000), || compute(400_000));
    left ^ right
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["hand-over"] => hand_over(),
        ["grain", number] => match number.parse() {
            Ok(grain @ 1..) => squares(0, 1 << 21, grain),
            _ => return usage(),
        },
        ["lock"] => lock(),
        ["imbalance"] => imbalance(),
        ["cpus"] => cpus(),
        _ => return usage(),
    };
    println!("{result}");
    ExitCode::SUCCESS
}

fn usage() -> ExitCode {
    eprintln!("usage: gallery hand-over|grain N|lock|imbalance|cpus");
    ExitCode::FAILURE
}
