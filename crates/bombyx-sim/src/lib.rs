#![doc = include_str!("../README.md")]

mod agenda;
mod cache;
pub mod check;
mod clock;
mod contention;
mod critical;
mod dummies;
mod engine;
mod id;
mod lull;
mod machine;
mod outcome;
mod random;
mod ratio;
pub mod scheduler;
mod simulation;
mod speeds;
mod table;
pub mod timed;
mod trace;
pub mod tso;

pub use cache::{Caches, Misses, array_accesses};
pub use check::{Invariant, Violation};
pub use contention::{Adversary, Contention, ContentionError, LONG};
pub use critical::CriticalStrands;
pub use dummies::WithDummies;
pub use id::ProcessorId;
pub use machine::{JOIN_BYTES, Machine, Status};
pub use outcome::{Capacity, Dollars, Outcome, SpaceSample, SpaceUse};
pub use ratio::{Ratio, RatioError};
pub use scheduler::{
    Beta, Deque, Metering, Mutation, Policy, Quota, Ready, Scheduler, SchedulerError, Setup, Tariff,
};
pub use simulation::{Mode, Simulation, SimulationError};
pub use speeds::{Change, Speeds, SpeedsError};
pub use table::step_table;
pub use trace::{AttemptResult, Event, EventKind, Trace};
