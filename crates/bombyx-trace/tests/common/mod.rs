//! Traced runs: a test runs itself again in a child, under `BOMBYX_TRACE`.

#![allow(dead_code)]

use bombyx::lab::BuilderExt as _;
use bombyx::{Pool, Scheduler, blocking, for_each, join, mark, phase, scope};
use std::process::{self, Command};
use std::sync::Barrier;
use std::{env, fs};

const CHILD: &str = "BOMBYX_TEST_CHILD";

/// Every scheduler that this machine allows.
pub(crate) fn schedulers() -> Vec<Scheduler> {
    let names = Scheduler::NAMES.iter().map(|name| name.replace(":K", ":1000").replace(":BETA", ":1.25"));
    let all: Vec<Scheduler> = names.filter_map(|name| name.parse().ok()).collect();
    assert!(all.len() >= 7, "{all:?}");
    all.into_iter().filter(|one| Pool::builder().processors(1).scheduler(*one).build().is_ok()).collect()
}

/// Both halves of a join run at the same time, so one of them is stolen.
fn meet(pool: &Pool) {
    let both = Barrier::new(2);
    pool.run(|| join(|| both.wait(), || both.wait()));
}

fn tree(depth: u32) -> u64 {
    if depth == 0 {
        return (0..200_u64).fold(1, |a, b| std::hint::black_box(a.wrapping_mul(31) ^ b));
    }
    let (left, right) = join(|| tree(depth - 1), || tree(depth - 1));
    left ^ right
}

/// What the child does: a bit of everything, under every scheduler, with moving and with fixed threads.
pub(crate) fn everything() {
    mark("begin");
    for scheduler in schedulers() {
        let pool = Pool::builder().processors(2).scheduler(scheduler).seed(1).build().unwrap();
        let _phase = phase(&format!("under {scheduler}"));
        pool.run(|| {
            tree(8);
            for_each(0..1000, |i| drop(std::hint::black_box(i).to_string()));
            scope(|s| {
                for _ in 0..50 {
                    s.spawn(|_| blocking(|| mark("blocked")));
                }
            });
        });
        let answer = pool.spawn(|| tree(3)).join().unwrap();
        assert_eq!(answer, tree(3));
    }
    meet(&Pool::builder().processors(2).scheduler(Scheduler::default()).build().unwrap());
    let fixed = Pool::builder().processors(2).threads(bombyx::Threads::Fixed).lend(false);
    let fixed = fixed.scheduler(Scheduler::default()).build().unwrap();
    meet(&fixed);
    fixed.run(|| tree(8));
    mark("<script>alert(1)</script>");
}

/// The trace of a child that runs `work` in the test of this name. In the child, this does not return.
pub(crate) fn traced(test: &str, memory: &str, work: impl FnOnce()) -> Vec<u8> {
    traced_with(test, &[("BOMBYX_TRACE_MEMORY", memory)], work)
}

/// The same, under this environment.
pub(crate) fn traced_with(test: &str, environment: &[(&str, &str)], work: impl FnOnce()) -> Vec<u8> {
    if env::var(CHILD).is_ok_and(|name| name == test) {
        work();
        process::exit(0);
    }
    let file = env::temp_dir().join(format!("bombyx-trace-{test}-{}.trace", process::id()));
    let output = Command::new(env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env_remove("BOMBYX_PROCESSORS")
        .env_remove("BOMBYX_SCHEDULER")
        .env(CHILD, test)
        .envs(environment.iter().copied())
        .env("BOMBYX_TRACE", &file)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let bytes = fs::read(&file).expect("the trace was written");
    fs::remove_file(&file).unwrap();
    bytes
}
