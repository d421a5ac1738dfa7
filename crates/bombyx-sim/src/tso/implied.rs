//! Parts of the proof that follow from others, so that no error breaks them first: IJ4, IJ7 and Lemma C.1. Each is tried in all
//! small states of the things that it speaks of, reachable or not.

use std::cell::Cell;

use super::config::Config;
use super::machine::Machine;
use super::proof::{Proof, Rule, RuleSet};
use super::relation::Labelled;
use super::state::{MAX_PROCESSORS, Pc, Processor, State, Status, Store};
use super::tree::{Cont, ContSet, Fork, MAX_FORKS, Thread, Threads, Tree, index_of};
use bombyx_rw::protocol::Side;

/// In how many states a part of the proof breaks, and in how many of them it is alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Implied {
    /// How many states were tried.
    pub states: u64,
    /// In how many of them the part is broken.
    pub broken: u64,
    /// In how many of those nothing is broken that the part follows from.
    pub alone: u64,
}

impl Implied {
    fn add(&mut self, broken: RuleSet, rule: Rule, from: &[Rule]) {
        self.states += 1;
        if broken.contains(rule) {
            self.broken += 1;
            self.alone += u64::from(!from.iter().any(|&other| broken.contains(other)));
        }
    }
}

/// Tries a part that follows from others in all small states. `None` for the other parts.
///
/// ```
/// use bombyx_sim::tso::{Rule, implied};
///
/// let tried = implied(Rule::C1).unwrap();
/// assert!(tried.broken > 0 && tried.alone == 0);
/// ```
pub fn implied(rule: Rule) -> Option<Implied> {
    match rule {
        Rule::Ij4 => Some(cells(rule, &[Rule::Ij2, Rule::Ij3])),
        Rule::Ij7 => Some(cells(rule, &[Rule::Ij9])),
        Rule::C1 => Some(owners(rule, &[Rule::B1, Rule::Def7])),
        _ => None,
    }
}

fn machine(tree: Tree, processors: usize) -> Machine {
    let mut machine = Config { proof: true, ..Config::new(processors, tree) }.machine();
    machine.broken = Some(Cell::default());
    machine
}

/// What the checks of a proof break.
fn broken(machine: &Machine, check: impl FnOnce() -> Result<(), super::Violation>) -> RuleSet {
    // Whatever breaks is noted, so nothing ends the check.
    let _ = check();
    machine.broken.as_ref().map(Cell::take).unwrap_or_default()
}

/// The status cells of a join whose sides run on two processors: each of them holds any value, and the buffer of each processor
/// any two stores to them. A cell to whose history IJ3 agrees has at most two values, so a third store changes nothing.
fn cells(rule: Rule, from: &[Rule]) -> Implied {
    let machine = machine(Tree::all(1).remove(0), 2);
    let join = Fork(0);
    let conts = [Side::Left, Side::Right].map(|side| Cont { join, side });
    let values = [Status::Work, Status::Ready, Status::Ack, Status::Transfer(ContSet::default())];
    let stores: Vec<Store> =
        conts.iter().flat_map(|&cell| values.map(|value| Store::Status { cell, value })).collect();
    let mut buffers = vec![Vec::new()];
    for length in 0..2 {
        let longest: Vec<Vec<Store>> = buffers.iter().filter(|b| b.len() == length).cloned().collect();
        buffers.extend(longest.iter().flat_map(|buffer| {
            stores.iter().map(move |&store| buffer.iter().copied().chain([store]).collect::<Vec<_>>())
        }));
    }
    let mut tried = Implied::default();
    let mut base = machine.start();
    let threads = &machine.threads;
    let branches = [threads.left(join), threads.right(join)];
    base.memory.ghost.nodes = 1 << threads.join(join).0;
    for (p, (&branch, &cont)) in branches.iter().zip(&conts).enumerate() {
        base.memory.ghost.nodes |= 1 << branch.0;
        base.memory.ghost.edges.set(branch, Some(cont));
        base.memory.ghost.leaves[p] = 1 << branch.0;
        base.locals[p].pc = Pc::Body { thread: branch };
    }
    for first in &buffers {
        for second in &buffers {
            let mut s = base;
            for (p, buffer) in [first, second].into_iter().enumerate() {
                buffer.iter().for_each(|&store| s.local(p as Processor).buffer.push(store));
            }
            for left in values {
                for right in values {
                    s.memory.status[index_of(conts[0])] = left;
                    s.memory.status[index_of(conts[1])] = right;
                    let proof = Proof::new(&machine, &s);
                    tried.add(broken(&machine, || proof.joins()), rule, from);
                }
            }
        }
    }
    tried
}

/// All abstract states of trees of up to three forks, whoever owns their leaves, on up to four processors.
fn owners(rule: Rule, from: &[Rule]) -> Implied {
    let mut tried = Implied::default();
    for processors in 2..=4_u8 {
        for tree in (1..=3).flat_map(Tree::all) {
            let machine = machine(tree, processors.into());
            for shape in shapes(&machine.threads, Thread(0), None) {
                let mut s = machine.start();
                s.memory.ghost.nodes = 0;
                for &(t, edge) in &shape {
                    s.memory.ghost.nodes |= 1 << t.0;
                    s.memory.ghost.edges.set(t, edge);
                }
                let labelled = Labelled::new(&machine, &s);
                let leaves: Vec<Thread> =
                    shape.iter().map(|node| node.0).filter(|&t| labelled.is_leaf(t)).collect();
                for owners in 0..u32::from(processors).pow(leaves.len() as u32) {
                    own(&mut s, &leaves, owners, processors);
                    let proof = Proof::new(&machine, &s);
                    let all = || {
                        proof.labelled.tree()?;
                        proof.labelled.owners()?;
                        proof.open_joins()
                    };
                    tried.add(broken(&machine, all), rule, from);
                }
            }
        }
    }
    tried
}

/// Gives each leaf the owner that its digit of `owners` names.
fn own(s: &mut State, leaves: &[Thread], mut owners: u32, processors: Processor) {
    s.memory.ghost.leaves = [0; MAX_PROCESSORS];
    for leaf in leaves {
        s.memory.ghost.leaves[(owners % u32::from(processors)) as usize] |= 1 << leaf.0;
        owners /= u32::from(processors);
    }
}

/// The nodes that are left of a thread and of all that comes of it, each with its edge.
type Shape = Vec<(Thread, Option<Cont>)>;

/// All that may be left of a thread that has not ended for good.
fn shapes(threads: &Threads, t: Thread, edge: Option<Cont>) -> Vec<Shape> {
    let mut all = vec![vec![(t, edge)]];
    let Some(f) = threads.body(t) else { return all };
    let branch = |t, side| -> Vec<Shape> {
        let mut left = shapes(threads, t, Some(Cont { join: f, side }));
        left.push(Shape::new());
        left
    };
    for left in branch(threads.left(f), Side::Left) {
        for right in branch(threads.right(f), Side::Right) {
            let node = (threads.join(f), edge);
            if !left.is_empty() || !right.is_empty() {
                all.push([&left[..], &right[..], &[node]].concat());
            }
        }
    }
    all.extend(shapes(threads, threads.join(f), edge));
    all
}

const _: () = assert!(MAX_FORKS >= 3);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_from_others_breaks_and_is_never_alone() {
        for rule in [Rule::Ij4, Rule::Ij7, Rule::C1] {
            let tried = implied(rule).unwrap();
            eprintln!("{rule:?} {tried:?}");
            assert!(tried.broken > 0, "{rule:?} cannot break: {tried:?}");
            assert_eq!(tried.alone, 0, "{rule:?}: {tried:?}");
        }
    }

    /// With one premise less, each of them can be alone. So the search can fail.
    #[test]
    fn no_premise_can_be_left_out() {
        for (rule, from) in [(Rule::Ij4, &[Rule::Ij2][..]), (Rule::Ij4, &[Rule::Ij3]), (Rule::Ij7, &[])] {
            assert!(cells(rule, from).alone > 0, "{rule:?} from {from:?}");
        }
        assert!(owners(Rule::C1, &[Rule::B1]).alone > 0);
    }
}
