//! The serial elision of a program: its result, how often each node runs, and in which order.

use super::{Action, Affine, Node, Number, Outcome};
use std::collections::BTreeSet;

/// What a serial execution finds out beside the result.
pub(super) struct Serial {
    pub(super) counts: Vec<u32>,
    /// The maps of all nodes that add to the reducer, composed in the order in which they run.
    pub(super) order: Affine,
    pub(super) processors: u32,
}

impl Node {
    pub(super) fn serial(&self, run: &mut Serial) -> Outcome {
        run.counts[self.number] += 1;
        let own = Affine::of(self.number);
        if self.adds {
            run.order = run.order.then(own);
        }
        let rest = match &self.action {
            Action::Panic => return Err(BTreeSet::from([self.number])),
            Action::Sequence(nodes) => nodes
                .iter()
                .try_fold(Affine::IDENTITY, |sum, node| node.serial(run).map(|value| sum.then(value)))?,
            Action::Join(halves)
            | Action::JoinContext(halves)
            | Action::Rendezvous(halves)
            | Action::Token(halves) => {
                let (a, b) = (halves[0].serial(run), halves[1].serial(run));
                a?.then(b?)
            }
            Action::JoinAll(nodes) => {
                let ends: Vec<Outcome> = nodes.iter().map(|node| node.serial(run)).collect();
                ends.into_iter().try_fold(Affine::IDENTITY, |sum, end| end.map(|value| sum.then(value)))?
            }
            Action::Scope { body, spawned, chained, .. } => {
                // A spawned closure runs where it is spawned, and each `chained` one spawns the next before its node.
                let mut ends: Vec<Outcome> = match chained {
                    true => spawned.iter().rev().map(|node| node.serial(run)).collect(),
                    false => spawned.iter().map(|node| node.serial(run)).collect(),
                };
                if *chained {
                    ends.reverse();
                }
                let spawned = ends;
                let body = body.serial(run);
                let body = body?;
                let panics: BTreeSet<Number> =
                    spawned.iter().filter_map(|end| end.as_ref().err()).flatten().copied().collect();
                if !panics.is_empty() {
                    return Err(panics);
                }
                spawned.into_iter().flatten().fold(body, Affine::then)
            }
            Action::Flood(count, _) => {
                run.counts[self.number] += count;
                Affine::IDENTITY
            }
            Action::ForEach(range, body) => {
                for _ in range.clone() {
                    body.serial(run)?;
                }
                Affine::IDENTITY
            }
            Action::MapReduce(range, body) => range.clone().try_fold(Affine::IDENTITY, |sum, i| {
                body.serial(run).map(|value| sum.then(Affine::of(i)).then(value))
            })?,
            Action::Blocking(node)
            | Action::Run(node)
            | Action::RunHere(node)
            | Action::Seated(node)
            | Action::Bind(node)
            | Action::Elsewhere(node) => node.serial(run)?,
            Action::Within(node) => {
                run.order = run.order.then(Affine::of(self.number + 1));
                let before = std::mem::replace(&mut run.order, Affine::IDENTITY);
                let end = node.serial(run);
                let after = if end.is_ok() { Affine::of(self.number + 2) } else { Affine::IDENTITY };
                run.order = before.then(after).then(run.order);
                end?
            }
            Action::Closed(node) => {
                run.counts[self.number] += 1;
                node.serial(run)?
            }
            Action::Broadcast(_) | Action::ScopeBroadcast => {
                run.counts[self.number] += run.processors;
                Affine::IDENTITY
            }
            Action::Detach(_) | Action::Task(_) => {
                run.counts[self.number] += 1;
                Affine::IDENTITY
            }
            Action::Leaf
            | Action::Cancelled(_)
            | Action::PerProcessor(_)
            | Action::Touchy(..)
            | Action::Resize(_)
            | Action::Spin(_)
            | Action::Yield
            | Action::YieldTo(_)
            | Action::Sleep(_)
            | Action::Checkpoint
            | Action::Reserve(_) => Affine::IDENTITY,
        };
        Ok(own.then(rest))
    }
}
