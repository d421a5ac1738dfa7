//! The protocols by which threads meet. Each protocol is small and has no policy, and the argument why it is right
//! stands beside it. Loom explores the same code that ships (`models`).
//!
//! **Not here:** when a protocol is used, and by whom. The machine and the schedulers decide that.
//!
//! The protocols know the system and each other. They know nothing of pools: they notify a carrier, an address, or a
//! function that they are given.
//!
//! | file | has |
//! |---|---|
//! | `job.rs`, `deque/` | what a fork leaves behind, and where it waits |
//! | `latch.rs`, `carrier.rs` | how a join learns of the end of its job; how a carrier gets a processor |
//! | `mailbox.rs` | requests, answers, offers and gifts |
//! | `commons.rs`, `queue.rs`, `stranded.rs` | idle processors and spares; the pool's queue; ready carriers that nobody would find |
//! | `sleep.rs` | how processors fall asleep and are woken |
//! | `credits.rs` | how a scope knows that its closures have ended |
//! | `lineage.rs` | which entry descends from which |
//! | `private.rs`, `tickets.rs` | entries for one processor alone; order of arrival |
//! | `outside.rs` | how a thread without a processor waits |
//! | `ready/` | one pool of entries; the list of deques of `dfdeques` |
//! | `placement.rs` | which processor has which CPU |
//! | `query.rs`, `resolution.rs` | steals and joins with loads and stores only |
//! | `ring.rs`, `notice.rs` | the newest events of a thread; entries that other processes read without a lock |
//! | `made.rs` | what is made at its first use |

pub(crate) mod carrier;
pub(crate) mod commons;
pub(crate) mod credits;
pub(crate) mod deque;
pub(crate) mod job;
pub(crate) mod latch;
pub(crate) mod lineage;
pub(crate) mod made;
pub(crate) mod mailbox;
pub(crate) mod notice;
pub(crate) mod outside;
pub(crate) mod placement;
pub(crate) mod private;
pub(crate) mod query;
pub(crate) mod queue;
pub(crate) mod ready;
pub(crate) mod resolution;
pub(crate) mod ring;
pub(crate) mod sleep;
pub(crate) mod stranded;
pub(crate) mod tickets;
