//! Sources that hand out items in batches: trees that are explored on the way ([`walk_tree`]), and sources that never
//! end ([`repeat`]).

use super::driver::{Source, drive};
use super::plumbing::{Folder, Producer, UnindexedConsumer, UnindexedProducer, bridge_unindexed};
use super::{ParallelIterator, delegate};
use std::iter;
use std::mem;

/// Hands out items.
trait Supply: Send + Sized {
    type Item;

    /// The most items that there may be. 0 only if there are none.
    fn weight(&self) -> usize;

    /// The next items, about `count` of them. An empty batch means that there are no more.
    fn pull(&mut self, count: usize) -> Vec<Self::Item>;

    /// Lets somebody else take part.
    fn share(self) -> (Self, Option<Self>);
}

/// A batch has at most this many items.
pub(super) const LARGEST: usize = 1 << 16;

/// Cuts a batch after its first `weight` items.
pub(super) fn cut_batch<T>(mut items: Vec<T>, weight: usize) -> (Vec<T>, Option<Vec<T>>) {
    if weight >= items.len() {
        return (items, None);
    }
    let rest = items.split_off(weight);
    (items, Some(rest))
}

/// A supply, or a batch from it.
enum Supplied<S: Supply> {
    Batch(Vec<S::Item>),
    More(S),
}

// The items go wherever the supply goes.
impl<S: Supply<Item: Send>> Source for Supplied<S> {
    type Item = S::Item;

    fn weight(&self) -> usize {
        match self {
            Supplied::Batch(items) => items.len(),
            Supplied::More(supply) => supply.weight(),
        }
    }

    fn cut(self, weight: usize) -> (Self, Option<Self>) {
        match self {
            Supplied::Batch(items) => {
                let (items, rest) = cut_batch(items, weight);
                (Supplied::Batch(items), rest.map(Supplied::Batch))
            }
            Supplied::More(mut supply) => {
                let batch = supply.pull(weight.clamp(1, LARGEST));
                let rest = (!batch.is_empty() && supply.weight() > 0).then_some(Supplied::More(supply));
                (Supplied::Batch(batch), rest)
            }
        }
    }

    fn halve(self) -> (Self, Option<Self>) {
        match self {
            Supplied::Batch(_) => {
                let half = self.weight() / 2;
                self.cut(half)
            }
            Supplied::More(supply) => {
                let (here, there) = supply.share();
                (Supplied::More(here), there.map(Supplied::More))
            }
        }
    }

    fn has_positions(&self) -> bool {
        false
    }

    fn fold_with<F: Folder<S::Item>>(self, mut folder: F) -> F {
        match self {
            Supplied::Batch(items) => folder.consume_iter(items),
            Supplied::More(mut supply) => loop {
                let batch = supply.pull(64);
                if batch.is_empty() || folder.full() {
                    return folder;
                }
                folder = folder.consume_iter(batch);
            },
        }
    }
}

// ---- repeat -------------------------------------------------------------------------------------------------

/// Clones of `element`, without end. For chains that end early, or that are zipped with something that ends.
///
/// ```
/// use bombyx::prelude::*;
/// assert_eq!(bombyx::iter::repeat(7).zip(0..3).collect::<Vec<_>>(), [(7, 0), (7, 1), (7, 2)]);
/// ```
pub fn repeat<T: Clone + Send>(element: T) -> Repeat<T> {
    Repeat { element }
}

/// From [`repeat()`].
#[derive(Clone, Debug)]
#[must_use = "iterators do nothing unless they are used"]
pub struct Repeat<T> {
    element: T,
}

impl<T: Clone + Send> Repeat<T> {
    /// The first `n` clones.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!(bombyx::iter::repeat(2).take(5).sum::<i32>(), 10);
    /// ```
    pub fn take(self, n: usize) -> RepeatN<T> {
        repeat_n(self.element, n)
    }

    /// Pairs with the items of another iterator.
    ///
    /// ```
    /// use bombyx::prelude::*;
    /// assert_eq!(bombyx::iter::repeat(2).zip(vec![1, 2]).map(|(a, b)| a * b).sum::<i32>(), 6);
    /// ```
    pub fn zip<Z>(self, zip_op: Z) -> super::Zip<RepeatN<T>, Z::Iter>
    where
        Z: super::IntoParallelIterator<Iter: super::IndexedParallelIterator>,
    {
        let other = zip_op.into_par_iter();
        let len = super::IndexedParallelIterator::len(&other);
        super::IndexedParallelIterator::zip(self.take(len), other)
    }
}

impl<T: Clone + Send> ParallelIterator for Repeat<T> {
    type Item = T;

    fn drive_unindexed<C: UnindexedConsumer<T>>(self, consumer: C) -> C::Result {
        drive(Supplied::More(self), &consumer)
    }
}

impl<T: Clone + Send> Supply for Repeat<T> {
    type Item = T;

    fn weight(&self) -> usize {
        usize::MAX / 2
    }
    fn pull(&mut self, count: usize) -> Vec<T> {
        vec![self.element.clone(); count]
    }
    fn share(self) -> (Self, Option<Self>) {
        let other = self.clone();
        (self, Some(other))
    }
}

/// `n` clones of `element`.
///
/// ```
/// use bombyx::prelude::*;
/// assert_eq!(bombyx::iter::repeat_n('x', 3).collect::<String>(), "xxx");
/// ```
pub fn repeat_n<T: Clone + Send>(element: T, n: usize) -> RepeatN<T> {
    RepeatN { element, count: n }
}

/// The same as [`repeat_n`].
///
/// ```
/// use bombyx::prelude::*;
/// assert_eq!(bombyx::iter::repeatn(1, 3).count(), 3);
/// ```
pub fn repeatn<T: Clone + Send>(element: T, n: usize) -> RepeatN<T> {
    repeat_n(element, n)
}

/// From [`repeat_n`].
#[derive(Clone, Debug)]
#[must_use = "iterators do nothing unless they are used"]
pub struct RepeatN<T> {
    element: T,
    count: usize,
}

delegate::indexed! {
    [T: Clone + Send] RepeatN<T> => T;
    len(this) { this.count }
    with_producer(this, callback) { callback.callback(this) }
}

impl<T: Clone + Send> Producer for RepeatN<T> {
    type Item = T;
    type IntoIter = iter::RepeatN<T>;

    fn into_iter(self) -> Self::IntoIter {
        iter::repeat_n(self.element, self.count)
    }
    fn split_at(self, index: usize) -> (Self, Self) {
        let right = RepeatN { element: self.element.clone(), count: self.count - index };
        (RepeatN { element: self.element, count: index }, right)
    }
}

// ---- split --------------------------------------------------------------------------------------------------

/// Pieces of `data`. As long as somebody wants work, `splitter` cuts them in two, or leaves them as they are.
///
/// ```
/// use bombyx::prelude::*;
/// use std::ops::Range;
/// let halve = |range: Range<u64>| {
///     if range.end - range.start < 10 {
///         return (range, None);
///     }
///     let middle = range.start + (range.end - range.start) / 2;
///     (range.start..middle, Some(middle..range.end))
/// };
/// assert_eq!(bombyx::iter::split(0..1000, halve).map(|range| range.sum::<u64>()).sum::<u64>(), 499_500);
/// ```
pub fn split<D, S>(data: D, splitter: S) -> Split<D, S>
where
    D: Send,
    S: Fn(D) -> (D, Option<D>) + Sync,
{
    Split { data, splitter }
}

/// From [`split`].
#[derive(Clone)]
#[must_use = "iterators do nothing unless they are used"]
pub struct Split<D, S> {
    data: D,
    splitter: S,
}

delegate::debug!(Split<D> [S] data);

impl<D: Send, S: Fn(D) -> (D, Option<D>) + Sync + Send> ParallelIterator for Split<D, S> {
    type Item = D;

    fn drive_unindexed<C: UnindexedConsumer<D>>(self, consumer: C) -> C::Result {
        bridge_unindexed(SplitProducer { data: self.data, splitter: &self.splitter }, consumer)
    }
}

struct SplitProducer<'s, D, S> {
    data: D,
    splitter: &'s S,
}

impl<D: Send, S: Fn(D) -> (D, Option<D>) + Sync> UnindexedProducer for SplitProducer<'_, D, S> {
    type Item = D;

    fn split(self) -> (Self, Option<Self>) {
        let SplitProducer { data, splitter } = self;
        let (data, other) = splitter(data);
        (SplitProducer { data, splitter }, other.map(|data| SplitProducer { data, splitter }))
    }

    fn fold_with<F: Folder<D>>(self, folder: F) -> F {
        folder.consume(self.data)
    }
}

// ---- walk_tree ----------------------------------------------------------------------------------------------

/// All nodes of a tree, each before its children. `children_of` finds the children.
///
/// ```
/// use bombyx::prelude::*;
/// let nodes = bombyx::iter::walk_tree_prefix(1, |&n| [2 * n, 2 * n + 1].into_iter().filter(|&c| c < 8));
/// assert_eq!(nodes.collect::<Vec<_>>(), [1, 2, 4, 5, 3, 6, 7]);
/// ```
pub fn walk_tree_prefix<S, B, I>(root: S, children_of: B) -> WalkTreePrefix<S, B>
where
    S: Send,
    B: Fn(&S) -> I + Send + Sync,
    I: IntoIterator<Item = S, IntoIter: DoubleEndedIterator>,
{
    WalkTreePrefix { root, children_of }
}

/// All nodes of a tree, each after its children. `children_of` finds the children.
///
/// ```
/// use bombyx::prelude::*;
/// let nodes = bombyx::iter::walk_tree_postfix(1, |&n| [2 * n, 2 * n + 1].into_iter().filter(|&c| c < 8));
/// assert_eq!(nodes.collect::<Vec<_>>(), [4, 5, 2, 6, 7, 3, 1]);
/// ```
pub fn walk_tree_postfix<S, B, I>(root: S, children_of: B) -> WalkTreePostfix<S, B>
where
    S: Send,
    B: Fn(&S) -> I + Send + Sync,
    I: IntoIterator<Item = S, IntoIter: DoubleEndedIterator>,
{
    WalkTreePostfix { root, children_of }
}

/// All nodes of a tree, in any order. For a known order, see [`walk_tree_prefix`] and [`walk_tree_postfix`].
///
/// ```
/// use bombyx::prelude::*;
/// let nodes = bombyx::iter::walk_tree(1, |&n| [2 * n, 2 * n + 1].into_iter().filter(|&c| c < 8));
/// assert_eq!(nodes.sum::<i32>(), 28);
/// ```
pub fn walk_tree<S, B, I>(root: S, children_of: B) -> WalkTree<S, B>
where
    S: Send,
    B: Fn(&S) -> I + Send + Sync,
    I: IntoIterator<Item = S, IntoIter: DoubleEndedIterator>,
{
    WalkTree { inner: walk_tree_prefix(root, children_of) }
}

/// From [`walk_tree`].
#[derive(Clone, Debug)]
#[must_use = "iterators do nothing unless they are used"]
pub struct WalkTree<S, B> {
    inner: WalkTreePrefix<S, B>,
}

/// From [`walk_tree_prefix`].
#[derive(Clone)]
#[must_use = "iterators do nothing unless they are used"]
pub struct WalkTreePrefix<S, B> {
    root: S,
    children_of: B,
}

/// From [`walk_tree_postfix`].
#[derive(Clone)]
#[must_use = "iterators do nothing unless they are used"]
pub struct WalkTreePostfix<S, B> {
    root: S,
    children_of: B,
}

delegate::debug!(WalkTreePrefix<S> [B] root);
delegate::debug!(WalkTreePostfix<S> [B] root);

/// What is left to do: the last entry is next.
struct Walk<'b, S, B> {
    steps: Vec<Step<S>>,
    children_of: &'b B,
    prefix: bool,
}

enum Step<S> {
    Enter(S),
    Leave(S),
}

impl<S, I, B> Supply for Walk<'_, S, B>
where
    S: Send,
    B: Fn(&S) -> I + Send + Sync,
    I: IntoIterator<Item = S, IntoIter: DoubleEndedIterator>,
{
    type Item = S;

    fn weight(&self) -> usize {
        if self.steps.is_empty() { 0 } else { usize::MAX / 2 }
    }

    fn pull(&mut self, count: usize) -> Vec<S> {
        let mut batch = Vec::with_capacity(count.min(64));
        while batch.len() < count {
            let Some(step) = self.steps.pop() else { break };
            match step {
                Step::Leave(node) => batch.push(node),
                Step::Enter(node) => {
                    let children = (self.children_of)(&node).into_iter().rev().map(Step::Enter);
                    if self.prefix {
                        self.steps.extend(children);
                        batch.push(node);
                    } else {
                        let at = self.steps.len();
                        self.steps.extend(children);
                        // A node without children comes now.
                        if self.steps.len() == at {
                            batch.push(node);
                        } else {
                            self.steps.insert(at, Step::Leave(node));
                        }
                    }
                }
            }
        }
        batch
    }

    fn share(mut self) -> (Self, Option<Self>) {
        if self.steps.len() < 2 {
            return (self, None);
        }
        // What is further down in the stack comes later.
        let next = self.steps.split_off(self.steps.len() / 2);
        let later = mem::replace(&mut self.steps, next);
        let later = Walk { steps: later, ..self };
        (self, Some(later))
    }
}

impl<S, I, B> ParallelIterator for WalkTreePrefix<S, B>
where
    S: Send,
    B: Fn(&S) -> I + Send + Sync,
    I: IntoIterator<Item = S, IntoIter: DoubleEndedIterator>,
{
    type Item = S;

    fn drive_unindexed<C: UnindexedConsumer<S>>(self, consumer: C) -> C::Result {
        let steps = vec![Step::Enter(self.root)];
        drive(Supplied::More(Walk { steps, children_of: &self.children_of, prefix: true }), &consumer)
    }
}

impl<S, I, B> ParallelIterator for WalkTreePostfix<S, B>
where
    S: Send,
    B: Fn(&S) -> I + Send + Sync,
    I: IntoIterator<Item = S, IntoIter: DoubleEndedIterator>,
{
    type Item = S;

    fn drive_unindexed<C: UnindexedConsumer<S>>(self, consumer: C) -> C::Result {
        let steps = vec![Step::Enter(self.root)];
        drive(Supplied::More(Walk { steps, children_of: &self.children_of, prefix: false }), &consumer)
    }
}

impl<S, I, B> ParallelIterator for WalkTree<S, B>
where
    S: Send,
    B: Fn(&S) -> I + Send + Sync,
    I: IntoIterator<Item = S, IntoIter: DoubleEndedIterator>,
{
    type Item = S;

    fn drive_unindexed<C: UnindexedConsumer<S>>(self, consumer: C) -> C::Result {
        self.inner.drive_unindexed(consumer)
    }
}
