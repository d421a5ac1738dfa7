//! Programs that divide mutable data among branches and put it together at joins: Cilk's merge sort and the cache-oblivious
//! matrix product, on 1 to 16 processors.

#[allow(dead_code, reason = "shared with other tests")]
mod common;

use bombyx_rw::{ChaseLev, Discipline, Ended, PdCas, Pool, Slice, Task, Ws, WsJr};

type Two<'e, T> = (Slice<'e, T>, Slice<'e, T>);

/// Sorts `data` by merging halves by way of `room`, and returns both.
fn sort<'w, 'e, K: Discipline>(
    task: Task<'w, 'e, Two<'e, u32>, K>,
    mut data: Slice<'e, u32>,
    room: Slice<'e, u32>,
) -> Ended<'w> {
    if data.len() <= 16 {
        data.sort_unstable();
        return task.end((data, room));
    }
    let half = data.len() / 2;
    let ((left, right), (room_left, room_right)) = (data.split(half), room.split(half));
    task.fork(
        move |task| sort(task, left, room_left),
        move |task| sort(task, right, room_right),
        |task, (left, room_left), (right, room_right)| {
            let room = room_left.rejoin(room_right);
            task.call(
                move |task| merge(task, left, right, room),
                |task, (left, right, mut merged)| {
                    let mut data = left.rejoin(right);
                    data.swap_with_slice(&mut merged);
                    task.end((data, merged))
                },
            )
        },
    )
}

type Three<'e> = (Slice<'e, u32>, Slice<'e, u32>, Slice<'e, u32>);

/// Merges two sorted parts into `out`: halves the longer one and cuts the other where its middle element belongs.
fn merge<'w, 'e, K: Discipline>(
    task: Task<'w, 'e, Three<'e>, K>,
    a: Slice<'e, u32>,
    b: Slice<'e, u32>,
    mut out: Slice<'e, u32>,
) -> Ended<'w> {
    if out.len() <= 32 {
        let (mut i, mut j) = (0, 0);
        for slot in out.iter_mut() {
            let from_a = j == b.len() || i < a.len() && a[i] <= b[j];
            *slot = if from_a { a[i] } else { b[j] };
            if from_a { i += 1 } else { j += 1 }
        }
        return task.end((a, b, out));
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
        move |task| merge(task, a0, b0, out0),
        move |task| merge(task, a1, b1, out1),
        |task, (a0, b0, out0), (a1, b1, out1)| task.end((a0.rejoin(a1), b0.rejoin(b1), out0.rejoin(out1))),
    )
}

/// `c += a · b` on blocks laid out by recursive quadrants. Returns `c`.
fn multiply<'w, 'e, K: Discipline>(
    task: Task<'w, 'e, Slice<'e, u64>, K>,
    mut c: Slice<'e, u64>,
    a: &'e [u64],
    b: &'e [u64],
) -> Ended<'w> {
    if c.len() == 1 {
        c[0] += a[0] * b[0];
        return task.end(c);
    }
    round(task, c, a, b, 0)
}

/// The quadrants' products with the left column of `a` and the upper row of `b`, then with the others.
fn round<'w, 'e, K: Discipline>(
    task: Task<'w, 'e, Slice<'e, u64>, K>,
    c: Slice<'e, u64>,
    a: &'e [u64],
    b: &'e [u64],
    nth: usize,
) -> Ended<'w> {
    if nth == 2 {
        return task.end(c);
    }
    let quarter = a.len() / 4;
    let part = |of: &'e [u64], row: usize, column: usize| &of[(2 * row + column) * quarter..][..quarter];
    let (a0, a1, b0, b1) = (part(a, 0, nth), part(a, 1, nth), part(b, nth, 0), part(b, nth, 1));
    let (top, bottom) = c.split(2 * quarter);
    task.call(
        move |task| {
            task.fork(
                move |task| row_of(task, top, a0, b0, b1),
                move |task| row_of(task, bottom, a1, b0, b1),
                |task, top, bottom| task.end(top.rejoin(bottom)),
            )
        },
        move |task, c| round(task, c, a, b, nth + 1),
    )
}

fn row_of<'w, 'e, K: Discipline>(
    task: Task<'w, 'e, Slice<'e, u64>, K>,
    c: Slice<'e, u64>,
    a: &'e [u64],
    b0: &'e [u64],
    b1: &'e [u64],
) -> Ended<'w> {
    let (left, right) = c.split(b0.len());
    task.fork(
        move |task| multiply(task, left, a, b0),
        move |task| multiply(task, right, a, b1),
        |task, left, right| task.end(left.rejoin(right)),
    )
}

/// Where an element lies in the layout by quadrants.
fn place(mut row: usize, mut column: usize, side: usize) -> usize {
    let (mut at, mut half) = (0, side / 2);
    while half > 0 {
        at += half * half * (2 * (row / half) + column / half);
        (row, column, half) = (row % half, column % half, half / 2);
    }
    at
}

fn programs<K: Discipline>() {
    const SIDE: usize = 8;
    let input: Vec<u32> = (0..2000).map(|i| common::mix(i) as u32 % 500).collect();
    let mut expected = input.clone();
    expected.sort_unstable();
    let [a, b]: [Vec<u64>; 2] =
        [1, 2].map(|seed| (0..(SIDE * SIDE) as u64).map(|i| common::mix(seed ^ i << 8) % 10).collect());
    for processors in 1..=16 {
        let mut pool = Pool::<K>::new(processors).unwrap();
        let (mut data, mut room) = (input.clone(), vec![0; input.len()]);
        pool.run(|task| {
            let (data, room) = (Slice::from(&mut data[..]), Slice::from(&mut room[..]));
            task.call(move |task| sort(task, data, room), |task, _| task.end(()))
        });
        assert_eq!(data, expected, "{}, {processors} processors", K::NAME);
        let mut c = vec![0; SIDE * SIDE];
        pool.run(|task| {
            let c = Slice::from(&mut c[..]);
            task.call(|task| multiply(task, c, &a, &b), |task, _| task.end(()))
        });
        for row in 0..SIDE {
            for column in 0..SIDE {
                let sum: u64 = (0..SIDE).map(|k| a[place(row, k, SIDE)] * b[place(k, column, SIDE)]).sum();
                assert_eq!(c[place(row, column, SIDE)], sum, "{}, {processors} processors", K::NAME);
            }
        }
    }
}

#[test]
fn merge_sort_and_matrix_product() {
    programs::<WsJr>();
    programs::<Ws>();
    programs::<PdCas>();
    programs::<ChaseLev>();
}
