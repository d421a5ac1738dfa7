//! A merge sort that is slow in two ways, and made fast step by step. Profile it with `bombyx profile`.
//!
//! `sort [N [VARIANT]]` sorts N random numbers (default: 4,000,000) with one of the variants
//! - `naive`: forks down to single numbers, merges serially;
//! - `coarse`: sorts short pieces serially;
//! - `parallel` (default): merges in parallel as well.

use std::process::ExitCode;
use std::time::Instant;

/// Pieces that are sorted or merged serially.
const GRAIN: usize = 4096;

/// How the program sorts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Variant {
    Naive,
    Coarse,
    Parallel,
}

/// Sorts `v`. `room` has the same length.
fn sort(v: &mut [u32], room: &mut [u32], variant: Variant) {
    if v.len() <= 1 {
        return;
    }
    if variant != Variant::Naive && v.len() <= GRAIN {
        return v.sort_unstable();
    }
    let middle = v.len() / 2;
    let ((left, right), (room_left, room_right)) = (v.split_at_mut(middle), room.split_at_mut(middle));
    bombyx::join(|| sort(left, room_left, variant), || sort(right, room_right, variant));
    match variant {
        Variant::Parallel => merge_in_parallel(left, right, room),
        _ => merge(left, right, room),
    }
    v.copy_from_slice(room);
}

/// Merges two sorted slices into `out`, which is as long as both.
fn merge<'a>(mut a: &'a [u32], mut b: &'a [u32], out: &mut [u32]) {
    for slot in out {
        let from = if b.is_empty() || (!a.is_empty() && a[0] <= b[0]) { &mut a } else { &mut b };
        *slot = from[0];
        *from = &from[1..];
    }
}

/// Merges by halves: splits the longer slice in the middle, and the other where that value falls.
fn merge_in_parallel(a: &[u32], b: &[u32], out: &mut [u32]) {
    if out.len() <= GRAIN {
        return merge(a, b, out);
    }
    let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
    let middle = long.len() / 2;
    let place = short.partition_point(|number| *number < long[middle]);
    let (low, high) = out.split_at_mut(middle + place);
    bombyx::join(
        || merge_in_parallel(&long[..middle], &short[..place], low),
        || merge_in_parallel(&long[middle..], &short[place..], high),
    );
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let count = arguments.first().map_or(Ok(4_000_000), |text| text.parse::<usize>());
    let variant = match arguments.get(1).map(String::as_str) {
        Some("naive") => Some(Variant::Naive),
        Some("coarse") => Some(Variant::Coarse),
        None | Some("parallel") => Some(Variant::Parallel),
        Some(_) => None,
    };
    let (Ok(count), Some(variant)) = (count, variant) else {
        eprintln!("usage: sort [N [naive | coarse | parallel]]");
        return ExitCode::from(2);
    };
    let mut state = 1_u32;
    let mut numbers: Vec<u32> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state ^ (state >> 15)
    })
    .take(count)
    .collect();
    let mut room = vec![0; count];
    let start = Instant::now();
    bombyx::Pool::global().run(|| sort(&mut numbers, &mut room, variant));
    println!("{count} numbers in {:.0} ms", start.elapsed().as_secs_f64() * 1e3);
    if numbers.is_sorted() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
