//! Every workload, at small size and both grains, on every runtime: the result is right, and it is the same as
//! that of the serial elision.

use bombyx_workloads::{Grain, Prepared, Runtime, Size, Workload, all};

const SEEDS: [u64; 2] = [1, 0x5eed];

fn for_each_instance(mut test: impl FnMut(&str, &mut dyn Prepared)) {
    for workload in all() {
        for &grain in Grain::ALL {
            for seed in SEEDS {
                let label = format!("{} {grain} seed {seed}", workload.name());
                test(&label, &mut *workload.prepare(Size::Small, grain, seed));
            }
        }
    }
}

fn check_twice(label: &str, prepared: &mut dyn Prepared, on: Runtime<'_>) {
    let expected = prepared.run(Runtime::Serial).checksum;
    for round in 0..2 {
        let run = prepared.run(on);
        if let Err(complaint) = prepared.check() {
            panic!("{label} on {}, round {round}: {complaint}", on.name());
        }
        assert_eq!(run.checksum, expected, "{label} on {}, round {round}", on.name());
    }
}

#[test]
fn serial() {
    for_each_instance(|label, prepared| check_twice(label, prepared, Runtime::Serial));
}

#[test]
fn bombyx() {
    for processors in [1, 2, 3] {
        let pool = bombyx::Pool::builder().processors(processors).build().unwrap();
        for_each_instance(|label, prepared| check_twice(label, prepared, Runtime::Bombyx(&pool)));
    }
}

#[cfg(feature = "peers")]
#[test]
fn rayon() {
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        for_each_instance(|label, prepared| check_twice(label, prepared, Runtime::Rayon(&pool)));
    }
}

#[cfg(feature = "peers")]
#[test]
fn chili() {
    let pool = chili::ThreadPool::with_config(chili::Config {
        thread_count: std::num::NonZero::new(3),
        ..chili::Config::default()
    });
    for_each_instance(|label, prepared| check_twice(label, prepared, Runtime::Chili(&pool)));
}

/// A checker that accepts anything proves nothing: each must reject an instance that was never computed.
#[test]
fn checkers_reject_what_was_not_computed() {
    for_each_instance(|label, prepared| {
        prepared.reset();
        assert!(prepared.check().is_err(), "{label}: accepted without a computation");
    });
}

#[test]
fn equal_seeds_give_equal_results() {
    for workload in all() {
        let checksum = |seed| {
            let mut prepared = Workload::prepare(*workload, Size::Small, Grain::Medium, seed);
            prepared.run(Runtime::Serial).checksum
        };
        assert_eq!(checksum(7), checksum(7), "{}", workload.name());
    }
}
