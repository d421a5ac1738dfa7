//! `depth-first:K`: the asynchronous depth-first scheduler (ADF) that Narlikar compares with (§2.2, §5). It has one
//! list of ready threads, in the order of the serial depth-first execution.
//!
//! | event | rule |
//! |---|---|
//! | fork | the child runs, with its own quota; the rest of the parent, `b`, ranks directly after it |
//! | wait, end | the processor takes the first thread of the list; a parent that was woken is where its last half was |
//! | quota used up | the thread returns to its rank if anything comes before it, and the processor takes the first of the list |
//! | an allocation of m > K bytes | ⌈m/K⌉ dummy threads rank directly before the thread, which goes on after them |
//!
//! A thread of the paper resumes in no time. Here it is a carrier, and with more processors than cores the system may
//! let it wait for milliseconds before it runs. Meanwhile threads appear that come before it. If the carrier took its
//! memory all the same, it would hold the memory until all of them are done. So it asks again whether it is its turn,
//! and returns to the list if not. For the same reason a thread keeps its carrier while it waits for dummy threads.
//!
//! Space is close to that of the serial execution, S1 + O(K·P·D). But a processor returns to the list after almost
//! every thread: it goes on where it was only if nothing comes before that. Here each such switch is a switch of OS
//! threads, which makes fine-grained programs slow.
//!
//! Dummies and quotas take effect at the next fork, not inside the allocator ([`crate::scheduler::give_up`]).
//!
//! The protocol is that of [`crate::protocol::ready::shared`]. The rules above are [`RULES`] in [`super`].

use super::Rules;
use crate::machine::strategy::Child;
use crate::protocol::ready::shared::Order;

pub(in crate::scheduler) const RULES: Rules =
    Rules { order: Order::Serial, in_turn: true, child: Child::First };
