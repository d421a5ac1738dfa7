#![doc = include_str!("README.md")]

mod config;
mod explore;
mod fate;
mod graph;
mod join;
mod liveness;
mod machine;
mod mutation;
mod state;
mod steal;
mod trace;
mod tree;
mod violation;
mod walk;

pub use config::{Config, ConfigError};
pub use explore::{Counterexample, Outcome, Progress, Stats, Verdict, explore};
pub use fate::Fate;
pub use mutation::{Mutation, UnknownMutation};
pub use trace::Step;
pub use tree::{MAX_FORKS, Tree, TreeError};
pub use violation::Violation;
pub use walk::{WalkOutcome, walk};
