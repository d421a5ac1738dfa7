//! The conformance suite: what every scheduler must get right, whatever its order. Thousands of random fork-join
//! programs ([`common::program`]) with delays, blocking, panics, detached closures and a second pool, on 1 to 64
//! processors, with `membarrier` and without: every closure runs exactly once, the result is that of the serial
//! elision, a panic arrives with its payload, and no value is leaked or dropped twice.
//!
//! `BOMBYX_TEST_SEED=n` draws other programs, and `BOMBYX_TEST_SCHEDULER=name` runs only one scheduler.
//! `BOMBYX_TEST_EVERY=n` takes only every n-th number of processors, for sanitizers and emulators.
//! `scripts/conformance` takes several seeds, and `examples/stress.rs` as many as you like.

mod common;

use bombyx::lab::BuilderExt as _;
use bombyx::{Pool, Scheduler};
use common::program::{Program, Threads};
use common::{Rng, configurations, every, pool, seed, watchdog};

/// How many programs for each barrier and number of processors: with the default scheduler, and with each of the
/// others.
const PROGRAMS: usize = 32;
const PROGRAMS_OF_OTHERS: usize = 12;

fn suite(processors: impl Iterator<Item = usize> + Clone) {
    let seed = seed();
    for (scheduler, fence) in configurations() {
        for processors in processors.clone().step_by(every()) {
            let main =
                Pool::builder().processors(processors).scheduler(scheduler).fence(fence).build().unwrap();
            let other = pool(2);
            let mut rng = Rng::new(seed ^ (processors as u64) << 32 ^ u64::from(fence));
            let programs = if scheduler == Scheduler::default() { PROGRAMS } else { PROGRAMS_OF_OTHERS };
            for number in 0..programs {
                let size = 1 + rng.below(60);
                let program = Program::random(&mut rng, size);
                let what = format!(
                    "{scheduler}, fence {fence}, {processors} processors, seed {seed}, program {number}"
                );
                watchdog(&what, || program.check(&main, &other));
            }
        }
    }
}

#[test]
fn few_processors() {
    suite(1..=8);
}

#[test]
fn more_processors_than_cores() {
    suite(9..=32);
}

#[test]
fn many_more_processors_than_cores() {
    suite(33..=64);
}

/// The same in pools with fixed threads, and in pools with no more carriers than processors, whatever the programs wait
/// for.
#[test]
fn few_threads() {
    let seed = seed();
    for processors in [1, 2, 3, 8] {
        for (threads, fixed) in [(Threads::Few, false), (Threads::Fixed, true)] {
            let kind = if fixed { bombyx::Threads::Fixed } else { bombyx::Threads::Moving };
            let builder = Pool::builder().processors(processors).threads(kind);
            let main = if fixed { builder } else { builder.max_carriers(processors) }.build().unwrap();
            let other = pool(2);
            let mut rng = Rng::new(seed ^ (processors as u64) << 32);
            for number in 0..PROGRAMS {
                let size = 1 + rng.below(60);
                let program = Program::draw(&mut rng, size, threads);
                let what = format!("{threads:?}, {processors} processors, seed {seed}, program {number}");
                watchdog(&what, || program.check(&main, &other));
            }
        }
    }
}
