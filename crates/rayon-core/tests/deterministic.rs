//! With deterministic splitting, what a parallel iterator computes does not depend on who stole what.

use rayon::prelude::*;
use rayon_core::{ThreadPool, ThreadPoolBuilder, join_context};
use std::process::Command;
use std::sync::Barrier;

fn pool(deterministic: bool) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(4).deterministic(deterministic).build().unwrap()
}

/// Whether a half that is certainly stolen is told so.
fn steals_show(pool: &ThreadPool) -> bool {
    let both = Barrier::new(2);
    let (_, migrated) = pool.install(|| {
        join_context(
            |_| both.wait(),
            |context| {
                both.wait();
                context.migrated()
            },
        )
    });
    migrated
}

/// The lengths of the pieces that an iterator was split into.
fn pieces(pool: &ThreadPool) -> Vec<usize> {
    pool.install(|| (0..100_000u32).into_par_iter().fold(|| 0, |length, _| length + 1).collect())
}

fn sum(pool: &ThreadPool) -> f64 {
    pool.install(|| (1..100_000u32).into_par_iter().map(|i| 1.0 / f64::from(i)).sum())
}

#[test]
fn steals_are_hidden() {
    assert!(steals_show(&pool(false)));
    assert!(!steals_show(&pool(true)));
}

#[test]
fn splits_and_sums_are_the_same_in_every_run() {
    let first = pool(true);
    let (expected, total) = (pieces(&first), sum(&first));
    assert!(expected.len() > 1, "the iterator is split");
    for _ in 0..5 {
        let pool = pool(true);
        for _ in 0..20 {
            assert_eq!(pieces(&pool), expected);
            assert_eq!(sum(&pool).to_bits(), total.to_bits());
        }
    }
}

#[test]
fn the_environment_can_ask_for_it() {
    for (value, shows) in [("1", "hidden"), ("0", "shown")] {
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", &format!("with_environment_steals_are_{shows}")])
            .env("BOMBYX_DETERMINISTIC", value)
            .status()
            .unwrap();
        assert!(status.success(), "with BOMBYX_DETERMINISTIC={value}, steals should be {shows}");
    }
}

#[test]
#[ignore = "run by the_environment_can_ask_for_it"]
fn with_environment_steals_are_hidden() {
    assert!(!steals_show(&pool(false)));
}

#[test]
#[ignore = "run by the_environment_can_ask_for_it"]
fn with_environment_steals_are_shown() {
    assert!(steals_show(&pool(false)));
}
