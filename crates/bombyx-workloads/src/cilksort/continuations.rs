//! The sort in continuation-passing style. Each function passes on the slices that it was given.

use super::merge_serial;
use bombyx_rw::{Discipline, Ended, Slice, Task};

type Part<'e> = Slice<'e, u32>;

pub(super) fn sort<'w, 'e, K: Discipline>(
    task: Task<'w, 'e, [Part<'e>; 2], K>,
    [mut data, buffer]: [Part<'e>; 2],
    grain: usize,
) -> Ended<'w> {
    if data.len() <= grain {
        data.sort_unstable();
        return task.end([data, buffer]);
    }
    let half = data.len() / 2;
    let (data_left, data_right) = data.split(half);
    let (buffer_left, buffer_right) = buffer.split(half);
    task.fork(
        move |task| sort_half(task, [data_left, buffer_left], half / 2, grain),
        move |task| sort_half(task, [data_right, buffer_right], half / 2, grain),
        move |task, left, right| {
            task.fork(
                move |task| merge(task, left, grain),
                move |task| merge(task, right, grain),
                move |task, [d0, d1, buffer_left], [d2, d3, buffer_right]| {
                    let data = d0.rejoin(d1).rejoin(d2.rejoin(d3));
                    task.call(
                        move |task| merge(task, [buffer_left, buffer_right, data], grain),
                        |task, [left, right, data]| task.end([data, left.rejoin(right)]),
                    )
                },
            )
        },
    )
}

/// Sorts the two quarters of a half, and passes them on with the half's buffer.
fn sort_half<'w, 'e, K: Discipline>(
    task: Task<'w, 'e, [Part<'e>; 3], K>,
    [data, buffer]: [Part<'e>; 2],
    quarter: usize,
    grain: usize,
) -> Ended<'w> {
    let ((d0, d1), (b0, b1)) = (data.split(quarter), buffer.split(quarter));
    task.fork(
        move |task| sort(task, [d0, b0], grain),
        move |task| sort(task, [d1, b1], grain),
        |task, [d0, b0], [d1, b1]| task.end([d0, d1, b0.rejoin(b1)]),
    )
}

/// Merges two sorted parts into a third.
fn merge<'w, 'e, K: Discipline>(
    task: Task<'w, 'e, [Part<'e>; 3], K>,
    [a, b, mut out]: [Part<'e>; 3],
    grain: usize,
) -> Ended<'w> {
    if out.len() <= grain || a.is_empty() || b.is_empty() {
        merge_serial(&a, &b, &mut out);
        return task.end([a, b, out]);
    }
    let (at_a, at_b) = if a.len() >= b.len() {
        let middle = a.len() / 2;
        (middle, b.partition_point(|x| *x < a[middle]))
    } else {
        let middle = b.len() / 2;
        (a.partition_point(|x| *x < b[middle]), middle)
    };
    let ((a0, a1), (b0, b1), (out0, out1)) = (a.split(at_a), b.split(at_b), out.split(at_a + at_b));
    task.fork(
        move |task| merge(task, [a0, b0, out0], grain),
        move |task| merge(task, [a1, b1, out1], grain),
        |task, [a0, b0, out0], [a1, b1, out1]| task.end([a0.rejoin(a1), b0.rejoin(b1), out0.rejoin(out1)]),
    )
}
