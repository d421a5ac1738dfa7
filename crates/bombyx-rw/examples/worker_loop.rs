//! A program on the scheduler with loads and stores only, for `tests/disassembly.rs` to take apart. Its worker loop
//! must contain no locked instruction and no fence. The planted functions show that the test would find one.

use bombyx_rw::{Discipline, Ended, Pool, Task, Ws, WsJr};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst, fence};

fn fib<'w, K: Discipline>(task: Task<'w, '_, u64, K>, n: u64) -> Ended<'w> {
    if n < 2 {
        return task.end(n);
    }
    task.fork(
        move |task| fib(task, n - 1),
        move |task| task.call(move |task| fib(task, n - 2), |task, value| task.end(value)),
        |task, a, b| task.end(a + b),
    )
}

static CELL: AtomicU64 = AtomicU64::new(0);

#[inline(never)]
fn planted_fetch_and_add() {
    CELL.fetch_add(1, SeqCst);
}

#[inline(never)]
fn planted_exchange() {
    CELL.swap(2, SeqCst);
}

#[inline(never)]
fn planted_fence() {
    fence(SeqCst);
}

#[inline(never)]
fn planted_pointer() {
    let functions: [fn(); 2] = [planted_fence, planted_exchange];
    functions[std::hint::black_box(1)]();
}

/// Ends in a jump through a register.
#[inline(never)]
fn planted_jump(function: fn()) {
    function();
}

fn main() {
    let n = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(20);
    println!("{}", Pool::<WsJr>::new(2).map_or(0, |mut pool| pool.run(|task| fib(task, n))));
    println!("{}", Pool::<Ws>::new(2).map_or(0, |mut pool| pool.run(|task| fib(task, n))));
    planted_fetch_and_add();
    planted_exchange();
    planted_fence();
    planted_pointer();
    planted_jump(std::hint::black_box(planted_fence));
}
