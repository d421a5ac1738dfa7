//! `fifo`: one queue of ready threads, as in the thread library that Narlikar starts from (§5).
//!
//! | event | rule |
//! |---|---|
//! | fork | the new thread goes to the end of the queue, the parent goes on |
//! | wait | the parent gives up its processor, which takes the head of the queue |
//! | end | the parent, if this woke it, goes to the end of the queue; the processor takes the head |
//!
//! So the computation unfolds breadth first, with as many living threads as there is parallelism (§2.2). A parent whose
//! own half is the head runs it on its own stack, because nothing else would wake the parent. Every other waiting
//! parent keeps a carrier. So [`crate::Builder::max_carriers`] limits the number of threads that wait. At that limit, a
//! join takes its half out of the queue before its turn.
//!
//! The protocol is that of [`crate::protocol::ready::shared`]. The rules above are [`RULES`] in [`super`].

use super::Rules;
use crate::machine::strategy::Child;
use crate::protocol::ready::shared::Order;

pub(in crate::scheduler) const RULES: Rules =
    Rules { order: Order::Arrival, in_turn: true, child: Child::Second };
