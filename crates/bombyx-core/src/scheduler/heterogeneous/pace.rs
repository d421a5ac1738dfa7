//! How fast a CPU computes while it runs us: steps of a calibrated loop for each millisecond of CPU time.
//!
//! The share of a CPU's time, which its clock shows, does not distinguish a throttled CPU from a fast one, a small core
//! from a large one, or a core whose other hyper-thread is busy from one that we have to ourselves. This loop does. It
//! keeps six independent chains of operations going, so it needs the execution units of a core and not only its clock.
//! A second hyper-thread takes about as much from it as from ordinary code that computes.
//!
//! Instruction counters would measure the program instead. A strand that waits for memory retires few instructions even
//! on the fastest CPU, and two processors that run different code could not be compared. Every CPU runs the same loop.

use crate::system::affinity::Thread;
use std::hint::black_box;
use std::sync::OnceLock;

/// About how much CPU time one measurement takes, in nanoseconds.
const AIM: u64 = 20_000;

/// How many steps one measurement runs, and how fast it was when it was calibrated.
#[derive(Clone, Copy)]
struct Calibrated {
    steps: u64,
    rate: u64,
}

/// Runs the loop until one measurement is long enough. Done once per process.
fn calibrated() -> Calibrated {
    static CALIBRATED: OnceLock<Calibrated> = OnceLock::new();
    *CALIBRATED.get_or_init(|| {
        let mut steps = 64;
        loop {
            let time = timed(steps);
            if time >= AIM || steps >= 1 << 24 {
                return Calibrated { steps, rate: rate(steps, time) };
            }
            steps *= 2;
        }
    })
}

/// The rate of the CPU on which the loop was calibrated. Assumed for a CPU that nobody has measured.
pub(super) fn usual() -> u64 {
    calibrated().rate
}

/// Runs the loop once on the CPU that the calling thread is on. Returns steps per millisecond of CPU time.
pub(super) fn measure() -> u64 {
    let steps = calibrated().steps;
    rate(steps, timed(steps))
}

/// Steps per millisecond, at least 1.
fn rate(steps: u64, nanoseconds: u64) -> u64 {
    (steps * 1_000_000 / nanoseconds.max(1)).max(1)
}

/// The CPU time that this many steps take here, in nanoseconds.
fn timed(steps: u64) -> u64 {
    let here = Thread::current();
    let used = || here.cpu_time().unwrap_or_default();
    let before = used();
    run(steps);
    used().saturating_sub(before)
}

#[inline(never)]
fn run(steps: u64) {
    let mut chains = black_box([1u64, 2, 3, 4, 5, 6]);
    for step in 0..steps {
        for chain in &mut chains {
            *chain = (chain.rotate_left(9) ^ step).wrapping_add(0x9E37_79B9_7F4A_7C15);
        }
    }
    black_box(chains);
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::rate;

    #[test]
    fn rates_are_steps_per_millisecond() {
        assert_eq!(rate(500, 1_000_000), 500);
        assert_eq!(rate(500, 250_000), 2_000);
        assert_eq!((rate(0, 5), rate(5, 0)), (1, 5_000_000));
    }
}
