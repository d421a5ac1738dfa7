//! `busy-leaves`: the Busy-Leaves Algorithm of Blumofe and Leiserson, §3. There is one pool of living threads. A
//! processor works on every leaf of the spawn tree, so time and space are bounded together (Theorem 3).
//!
//! | rule of §3 | here |
//! |---|---|
//! | 1. *spawns*: return the parent to the pool, work on the child | `join(a, b)`: what is left of the parent is `b` and what follows; `b` goes into the pool, the processor goes on with `a` |
//! | 2. *stalls*: return the thread to the pool, begin the next step idle | a frame that waits for a half that runs elsewhere parks at its latch, and its processor takes the oldest entry of the pool |
//! | 3. *dies*: take the parent if it has no living children and nobody works on it, else begin idle | when `a` ends and `b` is in the pool, the join takes it back; when the half that somebody else took ends and the frame waits for it, the frame gets the processor at once |
//!
//! The living leaves are the halves that run. An entry of the pool is not a leaf: it stands for a frame whose first
//! half is alive and has, by induction, a leaf below that somebody works on. When that half ends, rule 3 takes the
//! entry out in the same step. A parked frame waits for a half that was taken, which has a leaf below for the same
//! reason. So somebody works on every leaf, or its carrier has been given a processor and is about to go on.
//!
//! Closures that are spawned in a [`crate::scope`] are an exception: the spawner goes on, so they lie in the pool as
//! leaves. A parent on an OS thread's stack could return to the pool only by giving up its thread at every spawn.
//!
//! The pool is first in, first out. The paper leaves open which thread is taken.
//!
//! The protocol is that of [`crate::protocol::ready::shared`]. The rules above are [`RULES`] in [`super`].

use super::Rules;
use crate::machine::strategy::Child;
use crate::protocol::ready::shared::Order;

pub(in crate::scheduler) const RULES: Rules =
    Rules { order: Order::Arrival, in_turn: false, child: Child::First };
