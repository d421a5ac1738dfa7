//! Blumofe and Leiserson, "Scheduling multithreaded computations by work stealing".

/// Figure 2: the 2-processor schedule that the Busy-Leaves Algorithm computes for the computation of Figure 1, step by
/// step: the threads in the pool, and what each processor executes as (thread, instruction).
pub(in crate::reproduce) const FIGURE_2: [Step; 14] = [
    (&[], Some((1, 1)), None),
    (&[], Some((1, 2)), None),
    (&[], Some((2, 3)), Some((1, 16))),
    (&[2], Some((3, 4)), Some((1, 17))),
    (&[1, 2], Some((3, 5)), Some((6, 18))),
    (&[1], Some((2, 6)), Some((6, 19))),
    (&[1, 2], Some((4, 7)), Some((6, 20))),
    (&[2], Some((4, 8)), Some((1, 21))),
    (&[1], Some((2, 9)), None),
    (&[1], Some((5, 10)), Some((2, 13))),
    (&[1], Some((5, 11)), Some((2, 14))),
    (&[2], Some((5, 12)), Some((1, 22))),
    (&[1], Some((2, 15)), None),
    (&[], Some((1, 23)), None),
];

/// Threads in the pool; what p1 and p2 execute.
pub(in crate::reproduce) type Step = (&'static [u32], Option<(u32, u32)>, Option<(u32, u32)>);
