//! What a profile and a recording say about the heap of a program with a metered allocator: only the program's memory,
//! none of the profiler's.

use bombyx::alloc::Metered;
use bombyx::{Pool, join, scope};
use bombyx_dag::Measures;
use std::alloc::System;
use std::hint::black_box;
use std::process::Command;

#[global_allocator]
static ALLOCATOR: Metered<System> = Metered::new(System);

const BLOCK: usize = 1 << 20;
/// What the runtime itself may have in use: deques, carriers, queues.
const RUNTIME: u64 = 128 << 10;

/// A tree of forks. Each leaf uses a block, and with `keep`, so does what is around it meanwhile.
fn tree(depth: u32, keep: bool) {
    if depth == 0 {
        black_box(vec![1u8; BLOCK]);
        return;
    }
    let kept = keep.then(|| vec![1u8; BLOCK]);
    join(|| tree(depth - 1, keep), || tree(depth - 1, keep));
    drop(black_box(kept));
}

fn peak(processors: usize, program: impl FnOnce() + Send) -> u64 {
    let pool = Pool::builder().processors(processors).profile(true).build().unwrap();
    pool.run(program);
    pool.profile().unwrap().peak_heap_bytes.unwrap_or(0)
}

#[test]
fn the_peak_is_that_of_the_program() {
    let blocks = |number: u64| number * BLOCK as u64..=number * BLOCK as u64 + RUNTIME;
    let leaves = peak(1, || tree(5, false));
    assert!(blocks(1).contains(&leaves), "{leaves}");
    let path = peak(1, || tree(5, true));
    assert!(blocks(6).contains(&path), "{path}");
    let two = peak(2, || tree(5, true));
    assert!(two >= 6 * BLOCK as u64 && two <= 12 * BLOCK as u64 + RUNTIME, "{two}");
}

#[test]
fn the_profilers_memory_is_not_counted() {
    let forks = peak(2, || {
        fn deep(depth: u32) {
            if depth > 0 {
                join(|| deep(depth - 1), || ());
            }
        }
        (0..50).for_each(|_| deep(300));
    });
    assert!(forks <= RUNTIME, "{forks}");
    let spawns = peak(2, || scope(|s| (0..50_000).for_each(|_| s.spawn(|_| ()))));
    assert!(spawns <= RUNTIME, "{spawns}");
}

/// Not a test: the program that `a_recording_has_the_allocations` starts.
#[test]
#[ignore = "part of another test"]
fn recorded_program() {
    let pool = Pool::builder().processors(2).build().unwrap();
    pool.run(|| {
        tree(4, true);
        scope(|s| (0..1000).for_each(|_| s.spawn(|_| drop(black_box(vec![1u8; 1000])))));
    });
}

#[test]
fn a_recording_has_the_allocations() {
    let file = std::env::temp_dir().join(format!("bombyx-metered-{}.dag", std::process::id()));
    let program = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "recorded_program"])
        .env("BOMBYX_RECORD", &file)
        .output()
        .unwrap();
    let dag = std::fs::File::open(&file).map(bombyx_dag::format::read);
    std::fs::remove_file(&file).unwrap();
    assert!(program.status.success());
    let measures = Measures::of(&dag.unwrap().unwrap());
    let blocks = (31 * BLOCK + 1000 * 1000) as u64;
    assert!((blocks..blocks + 2 * RUNTIME).contains(&measures.allocated), "{measures:?}");
    // Five blocks along a path, whatever ran in parallel: this is the serial execution.
    let serial = measures.serial_space;
    assert!((5 * BLOCK as u64..5 * BLOCK as u64 + RUNTIME).contains(&serial), "{measures:?}");
}

/// A program may report any number.
#[test]
fn no_count_overflows() {
    let pool = Pool::builder().processors(2).metered(true).build().unwrap();
    for _ in 0..3 {
        pool.run(|| (0..3).for_each(|_| bombyx::charge(usize::MAX)));
        pool.stats();
    }
    for _ in 0..3 {
        pool.run(|| (0..4).for_each(|_| bombyx::release(usize::MAX)));
        pool.stats();
    }
    pool.run(|| bombyx::reserve(usize::MAX));
}
