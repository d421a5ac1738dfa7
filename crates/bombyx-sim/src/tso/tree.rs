//! The small fork-join computations that the machine runs, and their threads.
//!
//! A computation is fixed before the run: the model checker needs every thread, continuation and predecessor to be a
//! constant. [`Tree`] is the shape as a user writes it. [`Threads`] is the numbering derived from it, on which the
//! protocol works. Nothing here changes while the machine runs.

use bombyx_rw::protocol::Side;
use std::fmt;
use std::str::FromStr;

/// Largest number of forks in a [`Tree`]; keeps every set of threads and continuations in one machine word.
pub const MAX_FORKS: usize = 8;

/// A thread's body: it ends, or it forks two threads and names the thread that joins them (RW §4, `fork`).
///
/// Written `.` for a thread that only ends, `(L R)` for a fork whose join thread only ends, and `(L R J)` for
/// a fork whose join thread has the body `J`.
///
/// ```
/// use bombyx_sim::tso::Tree;
///
/// let tree: Tree = "((. .) (. .))".parse()?;
/// assert_eq!(tree.forks(), 3);
/// assert_eq!(tree.to_string(), "((. .) (. .))");
/// assert_eq!("(. . .)".parse::<Tree>()?.to_string(), "(. .)");
/// # Ok::<(), bombyx_sim::tso::TreeError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Tree {
    /// The thread ends without forking.
    Leaf,
    /// The thread's last act is a fork of the first two; the third runs after both.
    Fork(Box<[Tree; 3]>),
}

impl Tree {
    /// A fork of `left` and `right` whose join thread has the body `join`.
    pub fn fork(left: Tree, right: Tree, join: Tree) -> Tree {
        Tree::Fork(Box::new([left, right, join]))
    }

    /// The number of forks.
    pub fn forks(&self) -> usize {
        match self {
            Tree::Leaf => 0,
            Tree::Fork(parts) => 1 + parts.iter().map(Tree::forks).sum::<usize>(),
        }
    }

    /// Every shape with exactly `forks` forks, forks inside join threads included.
    ///
    /// ```
    /// use bombyx_sim::tso::Tree;
    ///
    /// assert_eq!(Tree::all(2).iter().map(Tree::to_string).collect::<Vec<_>>(), ["(. . (. .))", "(. (. .))", "((. .) .)"]);
    /// assert_eq!(Tree::all(3).len(), 12);
    /// ```
    pub fn all(forks: usize) -> Vec<Tree> {
        if forks == 0 {
            return vec![Tree::Leaf];
        }
        let mut shapes = Vec::new();
        for left in 0..forks {
            for right in 0..forks - left {
                let join = forks - 1 - left - right;
                for l in Tree::all(left) {
                    for r in Tree::all(right) {
                        shapes
                            .extend(Tree::all(join).into_iter().map(|j| Tree::fork(l.clone(), r.clone(), j)));
                    }
                }
            }
        }
        shapes
    }
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tree::Leaf => f.write_str("."),
            Tree::Fork(parts) => match &**parts {
                [left, right, Tree::Leaf] => write!(f, "({left} {right})"),
                [left, right, join] => write!(f, "({left} {right} {join})"),
            },
        }
    }
}

/// Why a text is not a [`Tree`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeError {
    text: String,
    at: usize,
    expected: &'static str,
}

impl fmt::Display for TreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TreeError { text, at, expected } = self;
        write!(
            f,
            "tree `{text}`: expected {expected} at byte {at}; write `.` for a leaf, `(L R)` or `(L R J)` for a fork"
        )
    }
}

impl std::error::Error for TreeError {}

impl FromStr for Tree {
    type Err = TreeError;

    fn from_str(text: &str) -> Result<Tree, TreeError> {
        let mut parser = Parser { text, at: 0 };
        let tree = parser.tree()?;
        match parser.peek() {
            None => Ok(tree),
            Some(_) => Err(parser.error("the end")),
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    fn error(&self, expected: &'static str) -> TreeError {
        TreeError { text: self.text.to_owned(), at: self.at, expected }
    }

    fn tree(&mut self) -> Result<Tree, TreeError> {
        match self.peek() {
            Some(b'.') => {
                self.at += 1;
                Ok(Tree::Leaf)
            }
            Some(b'(') => {
                self.at += 1;
                let left = self.tree()?;
                let right = self.tree()?;
                let join = if self.peek() == Some(b')') { Tree::Leaf } else { self.tree()? };
                if self.peek() != Some(b')') {
                    return Err(self.error("`)`"));
                }
                self.at += 1;
                Ok(Tree::fork(left, right, join))
            }
            _ => Err(self.error("`.` or `(`")),
        }
    }
}

/// A thread of the computation. Thread 0 is the initial one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Thread(pub(super) u8);

/// A fork of the computation, and with it the join thread that it creates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Fork(pub(super) u8);

/// An edge into a join thread (RW Fig. 3, `cont`): which fork's join, and from which side. SINGLE is not a separate
/// side here. It is a flag of the fork, set when the left branch ended with the right one still in the own deque.
pub(super) type Cont = bombyx_rw::protocol::Cont<Fork>;

/// The number of an edge, among all edges into joins.
pub(super) fn index_of(c: Cont) -> usize {
    2 * usize::from(c.join.0) + usize::from(c.side == Side::Right)
}

/// Most threads of a tree.
pub(super) const MAX_THREADS: usize = 1 + 3 * MAX_FORKS;

/// An edge for each thread, or none: END. One byte each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Edges([u8; MAX_THREADS]);

impl Edges {
    pub(super) fn get(&self, t: Thread) -> Option<Cont> {
        self.0[usize::from(t.0)].checked_sub(1).map(|index| edge_of(usize::from(index)))
    }

    pub(super) fn set(&mut self, t: Thread, edge: Option<Cont>) {
        self.0[usize::from(t.0)] = edge.map_or(0, |c| 1 + index_of(c) as u8);
    }

    /// The threads that have this edge.
    pub(super) fn sources(&self, c: Cont) -> impl Iterator<Item = Thread> + '_ {
        let wanted = 1 + index_of(c) as u8;
        (0..MAX_THREADS as u8).map(Thread).filter(move |t| self.0[usize::from(t.0)] == wanted)
    }
}

/// The edge of this number.
pub(super) fn edge_of(index: usize) -> Cont {
    let side = if index.is_multiple_of(2) { Side::Left } else { Side::Right };
    Cont { join: Fork((index / 2) as u8), side }
}

/// A set of continuations: a watch list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct ContSet(pub(super) u16);

impl ContSet {
    pub(super) fn contains(self, c: Cont) -> bool {
        self.0 & (1 << index_of(c)) != 0
    }

    pub(super) fn insert(&mut self, c: Cont) {
        self.0 |= 1 << index_of(c);
    }

    pub(super) fn remove(&mut self, c: Cont) {
        self.0 &= !(1 << index_of(c));
    }

    pub(super) fn add_multiple(&mut self, other: ContSet) {
        self.0 |= other.0;
    }

    pub(super) fn retain(&mut self, kept: ContSet) {
        self.0 &= kept.0;
    }

    pub(super) fn mentions(self, fork: Fork) -> bool {
        self.0 >> (2 * fork.0) & 0b11 != 0
    }

    pub(super) fn len(self) -> u32 {
        self.0.count_ones()
    }

    pub(super) fn iter(self) -> impl Iterator<Item = Cont> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let index = rest.trailing_zeros() as usize;
            (rest != 0).then(|| {
                rest &= rest - 1;
                edge_of(index)
            })
        })
    }
}

/// The threads of a [`Tree`]: what each one does at its end.
#[derive(Clone, Debug)]
pub(super) struct Threads {
    bodies: Vec<Option<Fork>>,
    forkers: Vec<Thread>,
    names: Vec<String>,
}

impl Threads {
    pub(super) fn new(tree: &Tree) -> Threads {
        let count = 1 + 3 * tree.forks();
        let mut threads =
            Threads { bodies: vec![None; count], forkers: Vec::new(), names: vec![String::new(); count] };
        threads.names[0] = "main".to_owned();
        threads.number(tree, Thread(0));
        threads
    }

    fn number(&mut self, tree: &Tree, thread: Thread) {
        let Tree::Fork(parts) = tree else { return };
        let fork = Fork(self.forkers.len() as u8);
        self.forkers.push(thread);
        self.bodies[usize::from(thread.0)] = Some(fork);
        let letter = char::from(b'A' + fork.0);
        let roles = [(self.left(fork), "left"), (self.right(fork), "right"), (self.join(fork), "join")];
        for (part, (thread, role)) in parts.iter().zip(roles) {
            self.names[usize::from(thread.0)] = format!("{letter}.{role}");
            self.number(part, thread);
        }
    }

    pub(super) fn forks(&self) -> impl Iterator<Item = Fork> + use<> {
        (0..self.forkers.len() as u8).map(Fork)
    }

    /// All threads.
    pub(super) fn all(&self) -> impl Iterator<Item = Thread> + use<> {
        (0..self.names.len() as u8).map(Thread)
    }

    /// The fork that ends the thread's body, if it ends in one.
    pub(super) fn body(&self, t: Thread) -> Option<Fork> {
        self.bodies[usize::from(t.0)]
    }

    pub(super) fn left(&self, f: Fork) -> Thread {
        Thread(1 + 3 * f.0)
    }

    pub(super) fn right(&self, f: Fork) -> Thread {
        Thread(2 + 3 * f.0)
    }

    /// The right branch beside a left one.
    pub(super) fn right_of(&self, t: Thread) -> Option<Thread> {
        let f = self.creator(t).filter(|&f| t == self.left(f))?;
        Some(self.right(f))
    }

    pub(super) fn join(&self, f: Fork) -> Thread {
        Thread(3 + 3 * f.0)
    }

    /// The thread whose body ends in `f`.
    pub(super) fn forker(&self, f: Fork) -> Thread {
        self.forkers[usize::from(f.0)]
    }

    /// The fork that created `t`; `None` for the initial thread.
    pub(super) fn creator(&self, t: Thread) -> Option<Fork> {
        t.0.checked_sub(1).map(|i| Fork(i / 3))
    }

    pub(super) fn is_join(&self, t: Thread) -> bool {
        t.0 != 0 && t.0.is_multiple_of(3)
    }

    /// Of all the threads that `t` becomes by forking, the one that ends last.
    pub(super) fn last(&self, t: Thread) -> Thread {
        self.body(t).map_or(t, |f| self.last(self.join(f)))
    }

    pub(super) fn name(&self, t: Thread) -> &str {
        &self.names[usize::from(t.0)]
    }

    pub(super) fn cont_name(&self, c: Cont) -> String {
        let side = if c.side == Side::Left { "LEFT" } else { "RIGHT" };
        format!("{{{}, {side}}}", self.name(self.join(c.join)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_numbered_by_fork_and_role() {
        let threads = Threads::new(&"((. .) . (. .))".parse().unwrap());
        assert_eq!(
            threads.names,
            [
                "main", "A.left", "A.right", "A.join", "B.left", "B.right", "B.join", "C.left", "C.right",
                "C.join"
            ]
        );
        let a = Fork(0);
        assert_eq!(threads.last(Thread(0)), threads.join(Fork(2)));
        assert_eq!(threads.last(threads.left(a)), threads.join(Fork(1)));
        assert_eq!(threads.forker(Fork(2)), threads.join(a));
    }

    #[test]
    fn broken_trees_say_where() {
        assert!("".parse::<Tree>().unwrap_err().to_string().contains("byte 0"));
        assert!("(. .".parse::<Tree>().unwrap_err().to_string().contains("byte 4"));
        assert!("(. .) .".parse::<Tree>().unwrap_err().to_string().contains("expected the end at byte 6"));
    }
}
