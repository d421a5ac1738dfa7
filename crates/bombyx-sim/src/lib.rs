#![doc = include_str!("../README.md")]

mod agenda;
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
mod trace;
pub mod tso;

pub use check::{Invariant, Violation};
pub use contention::{Adversary, Contention, ContentionError};
pub use critical::CriticalStrands;
pub use dummies::WithDummies;
pub use id::ProcessorId;
pub use machine::{JOIN_BYTES, Machine, Status};
pub use outcome::{Dollars, Outcome, SpaceSample, SpaceUse};
pub use ratio::{Ratio, RatioError};
pub use scheduler::{Beta, Deque, Mutation, Policy, Quota, Ready, Scheduler, SchedulerError, Setup};
pub use simulation::{Mode, Simulation, SimulationError};
pub use speeds::{Speeds, SpeedsError};
pub use table::step_table;
pub use trace::{AttemptResult, Event, EventKind, Trace};
