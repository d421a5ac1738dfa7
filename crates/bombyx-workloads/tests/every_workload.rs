//! Every workload, at small size and both grains, on every runtime: the result is right, and it is the same as
//! that of the serial elision.

use bombyx_workloads::{Checksum, Grain, Meter, Prepared, Reading, Runtime, Size, StrandTime, all, select};

/// Calls `test` with a label and an instance for each workload and grain. The grains have different seeds, so that
/// more inputs are seen.
fn for_each_instance(mut test: impl FnMut(&str, &mut dyn Prepared)) {
    for workload in all() {
        for (&grain, seed) in Grain::ALL.iter().zip([1, 0x5eed]) {
            let label = format!("{} {grain} seed {seed}", workload.name());
            test(&label, &mut *workload.prepare(Size::Small, grain, seed));
        }
    }
}

fn run_and_check(label: &str, prepared: &mut dyn Prepared, on: Runtime<'_>) -> Checksum {
    let run = prepared.run(on);
    if let Err(complaint) = prepared.check() {
        panic!("{label} on {}: {complaint}", on.name());
    }
    run.checksum
}

/// Runs everything on `on` and on the serial elision.
fn agrees_with_serial(on: Runtime<'_>) {
    for_each_instance(|label, prepared| {
        let checksum = run_and_check(label, prepared, on);
        assert_eq!(checksum, prepared.run(Runtime::Serial).checksum, "{label} on {}", on.name());
    });
}

#[test]
fn serial_twice_gives_the_same() {
    agrees_with_serial(Runtime::Serial);
}

#[test]
fn bombyx_on_one_processor() {
    agrees_with_serial(Runtime::Bombyx(&bombyx::Pool::builder().processors(1).build().unwrap()));
}

/// All schedulers of the runtime, with a parameter if the name asks for one: a quota so small that it is used up, a
/// factor that any difference in speed soon exceeds.
fn schedulers() -> impl Iterator<Item = bombyx::Scheduler> {
    let names = bombyx::Scheduler::NAMES.iter();
    names.map(|name| name.replace(":K", ":2000").replace(":BETA", ":1.5").parse().expect("a listed name"))
}

#[test]
fn every_scheduler_on_three_processors() {
    for scheduler in schedulers() {
        println!("{scheduler}");
        let pool = bombyx::Pool::builder().processors(3).scheduler(scheduler).build().unwrap();
        agrees_with_serial(Runtime::Bombyx(&pool));
    }
}

#[test]
fn timed_runs_are_runs() {
    let pool = bombyx::Pool::builder().processors(2).build().unwrap();
    let time = StrandTime::default();
    agrees_with_serial(Runtime::Timed(&pool, &time));
    assert!(!time.total().is_zero());
}

#[test]
fn recorded_runs_are_runs_and_repeat() {
    for_each_instance(|label, prepared| {
        let mut record = || {
            let mut ticks = 0;
            let mut one_per_strand = || {
                ticks += 1;
                Reading { nanoseconds: ticks, ..Reading::default() }
            };
            let computation = prepared.record(Meter::new(&mut one_per_strand, 64)).expect("it is small");
            prepared.check().unwrap_or_else(|complaint| panic!("{label}, recorded: {complaint}"));
            (computation.thread_count(), bombyx_dag::Measures::of(&computation))
        };
        let (threads, measures) = record();
        assert!(threads > 1, "{label} does not fork");
        assert_eq!(record(), (threads, measures), "{label}");
    });
}

#[cfg(feature = "peers")]
#[test]
fn rayon_on_three_threads() {
    agrees_with_serial(Runtime::Rayon(&rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap()));
}

#[cfg(feature = "peers")]
#[test]
fn chili_on_three_threads() {
    let config = chili::Config { thread_count: std::num::NonZero::new(3), ..chili::Config::default() };
    agrees_with_serial(Runtime::Chili(&chili::ThreadPool::with_config(config)));
}

/// A checker that accepts anything proves nothing. Each must reject an instance that was never computed, and one that
/// was reset.
#[test]
fn checkers_reject_what_was_not_computed() {
    for_each_instance(|label, prepared| {
        assert!(prepared.check().is_err(), "{label}: accepted without a computation");
        prepared.run(Runtime::Serial);
        prepared.reset();
        assert!(prepared.check().is_err(), "{label}: accepted after a reset");
    });
}

#[test]
fn equal_seeds_give_equal_results() {
    for workload in all() {
        let checksum = |seed| {
            let mut prepared = workload.prepare(Size::Small, Grain::Medium, seed);
            prepared.run(Runtime::Serial).checksum
        };
        assert_eq!(checksum(7), checksum(7), "{}", workload.name());
    }
}

#[test]
fn programs_are_selected_with_all_their_inputs() {
    let names = |name| select(name).unwrap().iter().map(|w| w.name()).collect::<Vec<_>>();
    assert_eq!(names("cilksort"), ["cilksort-random", "cilksort-exponential"]);
    assert_eq!(names("barnes-hut"), ["barnes-hut"]);
    let error = select("quikhull").err().unwrap();
    assert_eq!(error.nearest(), ["quickhull-plummer", "quickhull-uniform"]);
}
