//! The recursion in continuation-passing style.

use super::fib;
use crate::Serial;
use bombyx_rw::{Discipline, Ended, Task};

pub(super) fn fib_above<'w, K: Discipline>(task: Task<'w, '_, u64, K>, n: u32, cutoff: u32) -> Ended<'w> {
    if n <= cutoff {
        return task.end(fib(&mut Serial, n));
    }
    task.fork(
        move |task| fib_above(task, n - 1, cutoff),
        move |task| fib_above(task, n - 2, cutoff),
        |task, a, b| task.end(a + b),
    )
}
