//! What to explore: machine, computation, mutation, limits.

use bombyx_rw::Joins;
use std::fmt;

use super::Mutation;
use super::machine::Machine;
use super::proof::Rule;
use super::reduce::keeps_rounds;
use super::state::{MAX_CAPACITY, MAX_PROCESSORS};
use super::tree::{MAX_FORKS, Threads, Tree};

/// What an exploration or a walk looks for. A run that breaks something else ends there, without a finding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ask {
    /// Everything that the protocol promises, and with [`Config::proof`] all parts of the proof.
    #[default]
    All,
    /// What RW Theorem 5.1 says of threads: none is lost, runs twice or runs early. How the protocol achieves this is not
    /// checked.
    Threads,
    /// RW §6: how many joins the watch lists name together.
    WatchLists,
    /// One part of the proof.
    Rule(Rule),
}

/// A machine, the computation that it runs, and how it is explored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Number of processors, at least 2; at most 4 to explore, at most 8 to walk.
    pub processors: usize,
    /// The computation.
    pub tree: Tree,
    /// Entries that a store buffer holds before its processor must wait for a flush, 1 to 16.
    pub capacity: usize,
    /// The change to the protocol, if any.
    pub mutation: Option<Mutation>,
    /// How joins are resolved: by messages (RW Figure 7), or by a counter and a locked instruction.
    pub joins: Joins,
    /// Whether bodies store what they computed, and look for what their predecessors stored (Mem(C) of RW Theorem 5.1).
    pub application: bool,
    /// Whether a fence follows every store.
    pub fences: bool,
    /// Whether the proof is checked on every transition: relation R and all invariants of RW Appendix B.
    pub proof: bool,
    /// What is looked for.
    pub ask: Ask,
    /// Whether stores are taken along with the step before them. Without this, exploration is slower and finds the
    /// same.
    pub merge_stores: bool,
    /// Whether states that differ only in the names of processors count as one. Then liveness is not checked.
    pub symmetry: bool,
    /// Whether the search for victims is left out: what thieves do inside `acquire` that nobody outside of it can notice.
    /// Then buffers are unbounded, whatever the capacity, and liveness is not checked. With [`Config::proof`], or with a
    /// mutation of what the reduction relies on, nothing is reduced.
    pub reduce: bool,
    /// Whether fair endless runs are searched for once no broken state was found.
    pub liveness: bool,
    /// At how many states to give up.
    pub max_states: usize,
}

impl Config {
    /// The protocol as published on `processors` processors with store buffers of two entries.
    pub fn new(processors: usize, tree: Tree) -> Config {
        Config {
            processors,
            tree,
            capacity: 2,
            mutation: None,
            joins: Joins::ReadWrite,
            application: false,
            fences: false,
            proof: false,
            ask: Ask::All,
            merge_stores: true,
            symmetry: false,
            reduce: false,
            liveness: true,
            max_states: 100_000_000,
        }
    }

    /// This configuration with another capacity of the store buffers.
    pub fn with_capacity(mut self, capacity: usize) -> Config {
        self.capacity = capacity;
        self
    }

    /// This configuration with a mutated protocol.
    pub fn with_mutation(mut self, mutation: impl Into<Option<Mutation>>) -> Config {
        self.mutation = mutation.into();
        self
    }

    /// Whether fair endless runs are searched for. Fairness is about named processors and about every step.
    pub(super) fn asks_liveness(&self) -> bool {
        self.liveness && !self.symmetry && !self.reduce && !self.proof
    }

    pub(super) fn validate(&self, most_processors: usize) -> Result<(), ConfigError> {
        let check = |what, value, least, most| {
            let fits = (least..=most).contains(&value);
            if fits { Ok(()) } else { Err(ConfigError { what, value, least, most }) }
        };
        check("processors", self.processors, 2, most_processors.min(MAX_PROCESSORS))?;
        check("store buffer entries", self.capacity, 1, MAX_CAPACITY)?;
        check("forks", self.tree.forks(), 0, MAX_FORKS)
    }

    /// Whether the machine is reduced.
    pub(super) fn is_reduced(&self) -> bool {
        self.reduce && !self.proof && self.mutation.is_none_or(keeps_rounds)
    }

    pub(super) fn machine(&self) -> Machine {
        let reduce = self.is_reduced();
        Machine {
            threads: Threads::new(&self.tree),
            processors: self.processors,
            capacity: if reduce { MAX_CAPACITY } else { self.capacity },
            mutation: self.mutation,
            merge_stores: (self.merge_stores || reduce) && !self.proof,
            joins: self.joins,
            application: self.application,
            fences: self.fences,
            proof: self.proof,
            symmetry: self.symmetry,
            reduce,
            ask: self.ask,
            broken: None,
        }
    }
}

/// A [`Config`] asks for more or less than the machine can hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    what: &'static str,
    value: usize,
    least: usize,
    most: usize,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ConfigError { what, value, least, most } = self;
        write!(f, "{value} {what} asked for; choose {least} to {most}")
    }
}

impl std::error::Error for ConfigError {}
