//! Which part of the proof notices an error first. This follows every run of a wrong protocol up to the first transition that
//! breaks something, and lists all the parts that this transition breaks.
//!
//! A part is not checked if something that it is stated in terms of is broken. If the abstract machine refuses a step, there is
//! no abstract state to relate. If Lemma B.1 fails, there is no tree to label. If Def. 7 fails, there are no owners.
//! If Lemma B.9 fails, there is no owner of a status cell, of whom IJ1 to IJ9 speak.

use std::cell::Cell;
use std::collections::BTreeSet;

use super::config::{Ask, Config, ConfigError};
use super::graph::{Graph, Id, MAX_EXPLORED};
use super::proof::{Rule, RuleSet};
use super::violation::check;

/// What broke first in the runs of a wrong protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notices {
    /// For each transition that is the first to break a part of the proof: the set of all parts that it breaks.
    pub first: BTreeSet<RuleSet>,
    /// Whether some run breaks a promise of the theorem before any part of the proof.
    pub unproved: bool,
    /// States in which nothing was broken.
    pub states: usize,
    /// Whether there were more states than the configuration allows.
    pub incomplete: bool,
}

impl Notices {
    /// Whether every run breaks this part first, and no other part with it.
    pub fn alone(&self, rule: Rule) -> bool {
        !self.unproved && self.first.len() == 1 && self.first.contains(&RuleSet::default().with(rule))
    }

    /// Whether some run breaks this part first, and no other part with it.
    pub fn first(&self, rule: Rule) -> bool {
        self.first.contains(&RuleSet::default().with(rule))
    }

    /// All parts that break first in some run.
    pub fn parts(&self) -> RuleSet {
        self.first.iter().fold(RuleSet::default(), |all, &set| all.union(set))
    }
}

/// Explores every run of `config`, whose protocol is wrong, up to the first transition that breaks something.
///
/// ```
/// use bombyx_sim::tso::{Config, Mutation, Rule, notices};
///
/// let config = Config::new(2, "(. .)".parse()?).with_mutation(Mutation::RepeatsRound);
/// assert!(notices(&config)?.alone(Rule::Ir2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn notices(config: &Config) -> Result<Notices, ConfigError> {
    config.validate(MAX_EXPLORED)?;
    let config = Config { proof: true, ask: Ask::All, ..config.clone() };
    let mut machine = config.machine();
    machine.broken = Some(Cell::default());
    let take = || machine.broken.as_ref().map(Cell::take).unwrap_or_default();
    let mut graph = Graph::new(config.processors);
    let mut found = Notices::default();
    let mut moves = Vec::new();
    if graph.insert_initial(&machine.initial()).is_err() {
        found.incomplete = true;
    }
    let mut at = 0;
    while at < graph.len() && !found.incomplete {
        let state = graph.state(at as Id);
        machine.moves(&state, &mut moves);
        for &m in &moves {
            let mut next = state;
            let stepped = machine.apply(&mut next, m);
            // A step that the abstract machine refuses leaves no abstract state to relate.
            let checked =
                if stepped.is_ok() && !machine.has_noted() { check(&machine, &next) } else { stepped };
            let broken = take();
            if !broken.is_empty() {
                found.first.insert(broken);
                continue;
            }
            if checked.is_err() {
                found.unproved = true;
                continue;
            }
            match graph.insert(&next, &state, at as Id) {
                Ok(_) if graph.len() <= config.max_states => {}
                _ => found.incomplete = true,
            }
        }
        at += 1;
    }
    found.states = graph.len();
    Ok(found)
}
