//! What can go wrong when a pool is built or when the system runs out of threads. Error messages say what to do, and
//! the global pool works anyway.

mod common;

use bombyx::dropin::BuilderExt as _;
use bombyx::{Error, Pool, Scheduler, join};
#[cfg(target_os = "linux")]
use common::cpus;
use common::{builder, child, pool};
use std::error::Error as _;

/// The error of building, with its text.
fn refused(builder: bombyx::Builder) -> (Error, String) {
    let error = builder.build().expect_err("the pool cannot be built");
    let text = error.to_string();
    (error, text)
}

#[test]
fn absurd_numbers_of_processors() {
    for processors in [0, 1 << 20, usize::MAX] {
        let (error, text) = refused(builder(processors));
        assert!(matches!(error, Error::Processors(_)));
        assert!(text.contains("between 1 and 4096") && text.contains(&processors.to_string()), "{text}");
    }
}

#[test]
fn absurd_stack_sizes() {
    for size in [0, 1, 4 << 10, 1 << 40, usize::MAX] {
        let (error, text) = refused(builder(1).stack_size(size));
        assert!(matches!(error, Error::StackSize(given) if given == size));
        assert!(text.contains(&size.to_string()) && text.contains("16 KiB"), "{text}");
    }
}

#[test]
fn impossible_names() {
    let (error, text) = refused(builder(2).thread_name(|index| format!("carrier\0{index}")));
    assert!(matches!(error, Error::Thread(_)) && text.contains("null character"), "{text}");
}

#[test]
fn names_that_panic_do_so_where_the_pool_is_built() {
    let builder = builder(2).thread_name(|_| std::panic::resume_unwind(Box::new("no name")));
    let payload = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| builder.build())).unwrap_err();
    assert_eq!(payload.downcast_ref::<&str>(), Some(&"no name"));
}

#[test]
fn a_thread_is_not_left_in_a_pool_that_could_not_be_built() {
    let refuse = |_: bombyx::dropin::NewCarrier| Err(std::io::Error::other("no threads today"));
    let error = builder(2).use_current_thread().build_with(refuse).expect_err("no thread was started");
    assert!(matches!(error, Error::Thread(_)));
    assert_eq!(bombyx::current_processor(), None);
    let pool = builder(1).use_current_thread().build_with(refuse).expect("needs no other thread");
    assert_eq!((bombyx::current_processor(), join(|| 1, || 2)), (Some(0), (1, 2)));
    drop(pool);
}

#[test]
fn unknown_schedulers() {
    for name in ["", "rayon", "work_stealing", "dfd:1"] {
        let error = name.parse::<Scheduler>().expect_err("there is no such scheduler");
        let text = error.to_string();
        assert!(text.contains(&format!("`{name}`")) && text.contains("known: work-stealing"), "{text}");
    }
    for name in Scheduler::NAMES.iter().filter(|name| !name.contains(':')) {
        assert_eq!(name.parse::<Scheduler>().unwrap().to_string(), *name);
    }
}

#[test]
fn parameters_that_are_not_taken() {
    for name in ["fifo:1", "work-stealing:3"] {
        let text = name.parse::<Scheduler>().expect_err("it takes no parameter").to_string();
        assert!(text.contains(&format!("`{name}`")) && text.contains("no parameter"), "{text}");
    }
}

#[test]
fn quotas_that_are_none() {
    for name in ["dfdeques", "dfdeques:", "dfdeques:0", "depth-first:k", "depth-first:-1", "depth-first:auto"]
    {
        let error = name.parse::<Scheduler>().expect_err("K is a number of bytes");
        assert!(matches!(error, Error::Scheduler(_)) && error.source().is_some());
        let text = error.to_string();
        assert!(text.contains(":K`") && text.contains("at least 1"), "{text}");
    }
    let (error, _) = refused(builder(1).scheduler(Scheduler::DepthFirst(bombyx::Quota::Auto)));
    assert!(matches!(error, Error::Scheduler(_)));
    for name in ["dfdeques:1", "dfdeques:inf", "dfdeques:auto", "depth-first:50000", "depth-first:inf"] {
        assert_eq!(name.parse::<Scheduler>().unwrap().to_string(), name);
    }
}

#[test]
fn factors_that_are_none() {
    for name in ["heterogeneous", "heterogeneous:", "heterogeneous:0.5", "heterogeneous:fast"] {
        let error = name.parse::<Scheduler>().expect_err("BETA is a number of at least 1");
        assert!(matches!(error, Error::Scheduler(_)) && error.source().is_some());
        let text = error.to_string();
        assert!(text.contains("heterogeneous:BETA") && text.contains("at least 1"), "{text}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn exchanging_the_only_cpu() {
    const TEST: &str = "exchanging_the_only_cpu";
    if !child::is_child(TEST) {
        child::pass(TEST, &[]);
        return;
    }
    cpus::pin(&cpus::allowed()[..1]);
    let heterogeneous = "heterogeneous:1.25".parse().unwrap();
    let (error, text) = refused(builder(2).scheduler(heterogeneous));
    assert!(matches!(error, Error::OneCpu), "{error:?}");
    assert!(text.contains("only one") && text.contains("work-stealing"), "{text}");
    assert!(builder(2).pin(true).build().is_ok());
}

#[test]
fn fewer_carriers_than_processors() {
    let (error, text) = refused(builder(4).max_carriers(3));
    assert!(matches!(error, Error::MaxCarriers { limit: 3, processors: 4 }));
    assert!(text.contains("max_carriers(3)") && text.contains("4 processors"), "{text}");
}

#[test]
fn a_second_global_pool() {
    const TEST: &str = "a_second_global_pool";
    if !child::is_child(TEST) {
        child::pass(TEST, &[]);
        return;
    }
    builder(3).build_global().unwrap();
    assert_eq!(Pool::global().processors(), 3);
    let error = builder(2).build_global().unwrap_err();
    assert!(matches!(error, Error::GlobalPoolExists));
    assert!(error.to_string().contains("only once"), "{error}");
    assert!(error.source().is_none());
    assert_eq!(join(|| Pool::global().processors(), || 1), (3, 1));
}

#[test]
fn a_global_pool_after_the_first_use() {
    const TEST: &str = "a_global_pool_after_the_first_use";
    if !child::is_child(TEST) {
        child::pass(TEST, &[]);
        return;
    }
    join(|| (), || ());
    assert!(matches!(builder(2).build_global(), Err(Error::GlobalPoolExists)));
}

/// What the environment asks for, and what happens.
#[test]
fn the_environment() {
    const TEST: &str = "the_environment";
    if child::is_child(TEST) {
        match Pool::builder().build() {
            Ok(pool) => println!("built {} {}", pool.processors(), pool.scheduler()),
            Err(error) => println!("refused: {error}"),
        }
        assert_eq!(pool(2).processors(), 2, "what the program chooses goes before");
        assert_eq!(join(|| 1, || 2), (1, 2));
        println!("global {}", Pool::global().processors());
        return;
    }
    let cores = std::thread::available_parallelism().unwrap();
    let run = |variable: &str, value: &str| {
        let output = child::run(TEST, &[(variable, value)]);
        assert!(output.status.success(), "{variable}={value}: {output:?}");
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    for value in ["5", " 5 "] {
        let (out, err) = run("BOMBYX_PROCESSORS", value);
        assert!(out.contains("built 5 work-stealing") && out.contains("global 5"), "{out}{err}");
        assert!(!err.contains("bombyx:"), "{err}");
    }
    let (out, err) = run("BOMBYX_SCHEDULER", "work-stealing");
    assert!(out.contains(&format!("built {cores} work-stealing")), "{out}{err}");
    for (variable, value, expected) in [
        ("BOMBYX_PROCESSORS", "0", "between 1 and 4096, not 0"),
        ("BOMBYX_PROCESSORS", "-3", "between 1 and 4096, not `-3`"),
        ("BOMBYX_PROCESSORS", "many", "between 1 and 4096, not `many`"),
        ("BOMBYX_PROCESSORS", "99999999999999999999", "not `99999999999999999999`"),
        (
            "BOMBYX_SCHEDULER",
            "wrok-stealing",
            "unknown scheduler `wrok-stealing`; did you mean `work-stealing`? known: work-stealing",
        ),
    ] {
        let (out, err) = run(variable, value);
        assert!(out.contains("refused: ") && out.contains(expected), "{variable}={value}: {out}");
        assert!(out.contains(&format!("global {cores}")), "the defaults are used: {out}");
        assert!(err.contains(expected) && err.contains("using the defaults"), "and that is said: {err}");
    }
    let (out, _) = run("BOMBYX_BARRIER", "fence");
    assert!(out.contains(&format!("global {cores}")), "{out}");
}

#[cfg(target_os = "linux")]
mod no_threads {
    use super::*;
    use common::{program::Program, watchdog};
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    /// Allows the process `more` bytes of address space than it has now.
    fn limit_address_space(more: usize) {
        let limit = ((child::kibibytes("VmSize") << 10) + more) as libc::rlim_t;
        let limit = libc::rlimit { rlim_cur: limit, rlim_max: limit };
        // SAFETY: `limit` is valid for reads.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) }, 0);
    }

    #[test]
    fn a_pool_that_cannot_start_its_threads() {
        const TEST: &str = "no_threads::a_pool_that_cannot_start_its_threads";
        if !child::is_child(TEST) {
            child::pass(TEST, &[]);
            return;
        }
        limit_address_space(512 << 20);
        for processors in [1, 8] {
            let (error, text) = refused(builder(processors).stack_size(1 << 30));
            assert!(matches!(error, Error::Thread(_)));
            assert!(text.contains("refused to start a thread") && text.contains("smaller stack"), "{text}");
            assert!(error.source().is_some());
        }
        let (error, _) = refused(builder(8).stack_size(100 << 20));
        assert!(matches!(error, Error::Thread(_)), "some threads could be started, but not all");
        assert_eq!(builder(2).stack_size(1 << 20).build().unwrap().run(|| join(|| 1, || 2)), (1, 2));
    }

    /// The callers' own threads do the work.
    #[test]
    fn a_global_pool_without_threads() {
        const TEST: &str = "no_threads::a_global_pool_without_threads";
        if !child::is_child(TEST) {
            child::pass(TEST, &[("RUST_MIN_STACK", "1000000000")]);
            return;
        }
        limit_address_space(512 << 20);
        let count = AtomicUsize::new(0);
        bombyx::for_each(0..1_000, |_| common::bump(&count));
        assert_eq!(count.load(SeqCst), 1_000);
        assert_eq!(join(|| 1, || bombyx::scope(|_| 2)), (1, 2));
        assert_eq!(Pool::global().stats().carriers, 0);
    }

    /// The system refuses further carriers while the pool runs. The pool goes on with those that it has.
    #[test]
    fn a_pool_that_gets_no_more_carriers() {
        const TEST: &str = "no_threads::a_pool_that_gets_no_more_carriers";
        if !child::is_child(TEST) {
            child::pass(TEST, &[]);
            return;
        }
        // Room for what the allocator reserves for each thread, but not for another stack.
        let pools = [1, 2, 4].map(|processors| builder(processors).stack_size(3 << 30).build().unwrap());
        limit_address_space(2 << 30);
        let mut rng = common::Rng::new(common::seed());
        watchdog("pools that get no more carriers", || {
            for pool in &pools {
                for _ in 0..100 {
                    Program::random_without_blocking(&mut rng, 40).check(pool, pool);
                }
                assert_eq!(pool.stats().peak_carriers as usize, pool.processors());
            }
        });
    }
}
