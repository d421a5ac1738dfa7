//! `figure1`: the example computation of BL Figure 1.
//!
//! The text and the schedule in BL Figure 2 fix the 6 threads, their 23 instructions, the 5 spawn edges and three
//! of the join edges: Γ1 stalls after v21 until v13 has executed and after v22 until v15 has, and Γ2 stalls after
//! v14 until v12 has. The other three leaf threads end with a join edge to the first instruction of their parent
//! that may have one: v5 and v8 to v14, v20 to v22. Work 23, span 10.

use super::{Generator, bytes};
use crate::{Builder, Computation};

pub(super) const GENERATOR: Generator = Generator {
    name: "figure1",
    about: "the example of BL Figure 1: 23 instructions in 6 threads",
    parameters: &[bytes("frame", 1, "bytes of every frame")],
    size: |_| 23.0,
    build: |values| Ok(figure1(values[0])),
};

/// BL Figure 1, with frames of `frame` bytes.
pub fn figure1(frame: u64) -> Computation {
    let mut b = Builder::new(frame);
    let unit =
        |b: &mut Builder, count: usize| (0..count).map(|_| b.strand(1)).last().expect("count is positive");
    unit(&mut b, 2); // v1, v2
    b.spawn(frame); // Γ2
    unit(&mut b, 1); // v3
    b.spawn(frame); // Γ3
    unit(&mut b, 2); // v4, v5
    let v5 = b.end();
    unit(&mut b, 1); // v6
    b.spawn(frame); // Γ4
    unit(&mut b, 2); // v7, v8
    let v8 = b.end();
    unit(&mut b, 1); // v9
    b.spawn(frame); // Γ5
    unit(&mut b, 3); // v10, v11, v12
    let v12 = b.end();
    let v13 = unit(&mut b, 1);
    unit(&mut b, 1); // v14
    b.wait_for(v5);
    b.wait_for(v8);
    unit(&mut b, 1); // v15
    b.wait_for(v12);
    let v15 = b.end();
    unit(&mut b, 2); // v16, v17
    b.spawn(frame); // Γ6
    unit(&mut b, 3); // v18, v19, v20
    let v20 = b.end();
    unit(&mut b, 2); // v21, v22
    b.wait_for(v13);
    b.wait_for(v20);
    unit(&mut b, 1); // v23
    b.wait_for(v15);
    b.build().expect("Figure 1 obeys the model")
}
