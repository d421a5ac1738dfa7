#![doc = include_str!("README.md")]

mod config;
mod explore;
mod fate;
mod ghost;
mod graph;
mod implied;
mod liveness;
mod machine;
mod notices;
mod proof;
mod reduce;
mod relation;
mod script;
mod state;
mod symmetry;
mod trace;
mod tree;
mod view;
mod violation;
mod walk;

pub use bombyx_rw::{Mutation, UnknownMutation};
pub use config::{Ask, Config, ConfigError};
pub use explore::{Counterexample, Outcome, Progress, Stats, Verdict, explore};
pub use fate::{Fate, LOST_JOIN};
pub use implied::{Implied, implied};
pub use notices::{Notices, notices};
pub use proof::{Rule, RuleSet};
pub use script::{FIGURE_1, Followed, ScriptError, follow};
pub use trace::Step;
pub use tree::{MAX_FORKS, Tree, TreeError};
pub use violation::Violation;
pub use walk::{WalkOutcome, walk};
