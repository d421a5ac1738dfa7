//! A program that uses the read-write schedulers, for `tests/disassembly.rs` to take apart. It also has planted
//! functions that do what the schedulers' functions must not.

use bombyx::Pool;
use std::sync::atomic::{AtomicUsize, Ordering, fence};

fn main() -> Result<(), bombyx::Error> {
    for scheduler in ["read-write", "read-write-steals"] {
        let pool = Pool::builder().processors(2).scheduler(scheduler.parse()?).build()?;
        println!("{scheduler}: {}; {}", pool.run(|| fib(20)), pool.stats());
    }
    if std::env::args().len() > 1 {
        println!("{}", planted_fetch_and_add() + planted_exchange() + planted_fence());
    }
    Ok(())
}

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = bombyx::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

static WORD: AtomicUsize = AtomicUsize::new(0);

/// Calls a function that fetches and adds.
#[inline(never)]
fn planted_fetch_and_add() -> usize {
    fetch_and_add() + 1
}

#[inline(never)]
fn fetch_and_add() -> usize {
    WORD.fetch_add(1, Ordering::Relaxed)
}

/// A sequentially consistent store, which is an `xchg`.
#[inline(never)]
fn planted_exchange() -> usize {
    WORD.store(1, Ordering::SeqCst);
    1
}

#[inline(never)]
fn planted_fence() -> usize {
    fence(Ordering::SeqCst);
    1
}
