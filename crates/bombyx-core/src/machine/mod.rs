//! The machine: processors, carriers, the pool of both, and how a processor changes hands.
//!
//! **Not here:** whom to rob, when to give up a processor, and what to measure. Schedulers and the profiler know that.
//!
//! The machine does not decide what the processors do with their time. It asks a scheduler ([`strategy`]) and tells an
//! observer ([`observer`]) and a tracer ([`tracer`]), and knows none of them.
//!
//! | file | has |
//! |---|---|
//! | `processor.rs`, `current.rs` | processors; what the calling thread holds |
//! | `wait.rs`, `patience.rs` | the loop at the foot of a carrier's stack, and waits; how long a wait keeps its processor |
//! | `hand_over.rs` | how a processor changes hands |
//! | `new_carrier.rs`, `visit.rs` | how carriers start; guests, which hold a processor for a while |
//! | `fixed.rs` | pools whose threads are fixed |
//! | `pool/`, `rhythm.rs` | what all processors of a pool share; whether a wake-up is worth its price |
//! | `strategy.rs` | what the machine asks a scheduler |
//! | `observer.rs`, `tracer.rs`, `telling.rs`, `handlers.rs` | what the machine tells the profiler, the tracer and the user |
//! | `chain.rs`, `context.rs`, `views.rs`, `luggage.rs` | what code carries with it: task-locals and reducers |
//! | `meter.rs`, `gauge.rs`, `stats.rs`, `metrics.rs` | what is counted |
//! | `board.rs`, `live.rs` | the counters where `bombyx top` reads them; what the board says of a processor's holder |

pub(crate) mod board;
pub(crate) mod chain;
pub(crate) mod context;
pub(crate) mod current;
pub(crate) mod fixed;
pub(crate) mod gauge;
pub(crate) mod hand_over;
pub(crate) mod handlers;
pub(crate) mod live;
pub(crate) mod luggage;
pub(crate) mod meter;
pub(crate) mod metrics;
pub(crate) mod new_carrier;
pub(crate) mod observer;
pub(crate) mod patience;
pub(crate) mod pool;
pub(crate) mod processor;
pub(crate) mod rhythm;
pub(crate) mod stats;
pub(crate) mod strategy;
pub(crate) mod telling;
pub(crate) mod tracer;
pub(crate) mod views;
pub(crate) mod visit;
pub(crate) mod wait;
