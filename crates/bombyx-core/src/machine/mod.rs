//! The machine: processors, carriers, the pool of both, and how a processor changes hands.
//!
//! **Not here:** whom to rob, when to give up a processor, and what to measure. Schedulers and the profiler know that.
//!
//! The machine does not decide what the processors do with their time. It asks a scheduler ([`strategy`]) and tells an
//! observer ([`observer`]) and a tracer ([`tracer`]), and knows neither of them.

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
