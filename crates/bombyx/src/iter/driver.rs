//! The loop under all iterators: block by block, split only when somebody wants work.
//!
//! A run takes blocks from the front of its part of the loop. A block begins with one item and grows until it takes
//! about two microseconds. Within a block there is one ordinary inner loop, which the compiler sees as a whole. Between
//! blocks the run checks three things: whether the items that follow still matter (somebody found what was searched
//! for, or panicked), whether a thief would leave empty-handed, and whether the rest is worth a thief's effort. Only
//! then does it cut the rest in half.
//!
//! If the items of a loop were short when it last ran, it runs alone for a moment before it asks for help, because waking
//! somebody costs more than a thousand additions. From outside a pool, it enters the pool only after that. In its first
//! run, and if items are long, it asks for help at once.

use super::explain::Trace;
use super::onto::Onto;
use super::plumbing::{Consumer, Extent, Folder, Plan, Producer, Running, UnindexedProducer};
use bombyx_core::in_pool;
use bombyx_core::loop_plumbing::{self as runtime, BlockClock, Costs, Cuts, Pace};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// A part of a loop as the driver sees it.
pub(crate) trait Source: Send + Sized {
    type Item;

    /// How much there is, in the source's own measure: items, or bytes.
    fn weight(&self) -> usize;

    /// Cuts off a first part of about this weight, but not an empty one. `None` if nothing is left.
    fn cut(self, weight: usize) -> (Self, Option<Self>);

    /// Like [`Source::cut`], but the first part can be cut again.
    fn batch(self, weight: usize) -> (Self, Option<Self>) {
        self.cut(weight)
    }

    /// Cuts in two halves, if possible.
    #[inline]
    fn halve(self) -> (Self, Option<Self>) {
        let half = self.weight() / 2;
        self.cut(half)
    }

    /// Hands all items to the folder.
    fn fold_with<F: Folder<Self::Item>>(self, folder: F) -> F;

    /// See [`Producer::min_len`].
    fn min_weight(&self) -> usize {
        1
    }

    /// See [`Producer::max_len`].
    fn max_weight(&self) -> usize {
        usize::MAX
    }

    /// Whether weights are numbers of items.
    fn is_exact(&self) -> bool {
        false
    }

    /// Whether weights add up to positions. If not, all items have the same position.
    fn has_positions(&self) -> bool {
        true
    }
}

/// A producer and its length.
pub(crate) struct Indexed<P> {
    pub(crate) producer: P,
    pub(crate) len: usize,
}

impl<P: Producer> Source for Indexed<P> {
    type Item = P::Item;

    #[inline]
    fn weight(&self) -> usize {
        self.len
    }

    #[inline]
    fn cut(self, weight: usize) -> (Self, Option<Self>) {
        if weight >= self.len {
            return (self, None);
        }
        let (first, rest) = self.producer.split_at(weight);
        let rest = Indexed { producer: rest, len: self.len - weight };
        (Indexed { producer: first, len: weight }, Some(rest))
    }

    #[inline]
    fn fold_with<F: Folder<P::Item>>(self, folder: F) -> F {
        self.producer.fold_with(folder)
    }

    fn min_weight(&self) -> usize {
        self.producer.min_len()
    }

    fn max_weight(&self) -> usize {
        self.producer.max_len()
    }

    fn is_exact(&self) -> bool {
        true
    }
}

/// What all runs of a loop share.
struct Loop<'a, C> {
    consumer: &'a C,
    plan: Plan<'a>,
    clock: BlockClock,
    /// Somebody panicked, so the work of the others is in vain.
    stop: AtomicBool,
    min: usize,
    max: usize,
    exact: bool,
    positions: bool,
}

/// Sets the flag when its run unwinds.
struct StopOnPanic<'a>(&'a AtomicBool);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// The folder of a leaf of unknown length. Between blocks of [`Watched::BLOCK`] items it checks whether the leaf should stop.
struct Watched<'a, Item, C: Consumer<Item>> {
    running: Running<'a, Item, C>,
    stop: &'a AtomicBool,
}

impl<Item, C: Consumer<Item>> Watched<'_, Item, C> {
    const BLOCK: usize = 64;
}

impl<Item, C: Consumer<Item>> Folder<Item> for Watched<'_, Item, C> {
    type Result = C::Result;

    fn consume(self, item: Item) -> Self {
        Watched { running: self.running.consume(item), ..self }
    }

    fn consume_iter<I: IntoIterator<Item = Item>>(mut self, iter: I) -> Self {
        let mut iter = iter.into_iter();
        let mut ended = false;
        while !ended && !self.full() {
            let mut left = Self::BLOCK;
            let block = std::iter::from_fn(|| {
                left = left.checked_sub(1)?;
                let item = iter.next();
                ended |= item.is_none();
                item
            });
            self.running = self.running.consume_iter(block);
            // A consumer that wants nothing of a block wants nothing of the next one.
            ended |= left == Self::BLOCK;
        }
        self
    }

    fn complete(self) -> C::Result {
        self.running.complete()
    }

    fn full(&self) -> bool {
        self.stop.load(Relaxed) || self.running.full()
    }
}

/// Feeds the consumer with all items.
#[inline]
pub(crate) fn drive<S, C>(source: S, consumer: &C) -> C::Result
where
    S: Source,
    C: Consumer<S::Item>,
{
    Loop::over(&source, consumer, source.is_exact()).begin(source)
}

impl<'a, C> Loop<'a, C> {
    /// A loop over the items of `source`. `exact`: positions are those of the items.
    #[inline]
    fn over<S>(source: &S, consumer: &'a C, exact: bool) -> Loop<'a, C>
    where
        S: Source,
        C: Consumer<S::Item>,
    {
        Loop {
            consumer,
            plan: consumer.plan(),
            clock: BlockClock::get(),
            stop: AtomicBool::new(false),
            min: source.min_weight().max(1),
            max: source.max_weight().max(1),
            exact,
            positions: source.has_positions(),
        }
    }

    fn begin<S>(&self, source: S) -> C::Result
    where
        S: Source,
        C: Consumer<S::Item>,
    {
        let weight = source.weight();
        let inside = in_pool();
        let site = self.plan.site;
        if self.plan.fixed {
            return runtime::enter(site, || self.by_plan(source, &Cuts::fixed(weight)));
        }
        if let Some(cuts) = Cuts::of_pool(weight, self.plan.carries) {
            return self.by_plan(source, &cuts);
        }
        let short =
            weight <= self.max && self.plan.trace.is_none() && Costs::are_short(site.key(), self.clock);
        if !(short && (inside || runtime::lends())) {
            return runtime::enter(site, || match Cuts::of_pool(weight, self.plan.carries) {
                Some(cuts) => self.by_plan(source, &cuts),
                None => self.begin_run(source, 0, Pace::UNKNOWN),
            });
        }
        let folder = self.consumer.start(self.extent(0, self.behind(0, weight)));
        let (mut folder, rest) = self.alone(source, folder);
        let Some((rest, at, pace)) = rest else { return self.consumer.complete(folder) };
        if inside {
            return self.run(rest, at, folder, pace);
        }
        self.consumer.narrow(&mut folder, at);
        let first = self.consumer.complete(folder);
        let rest = runtime::enter(site, || self.begin_run(rest, at, pace));
        self.consumer.reduce(first, rest)
    }

    fn extent(&self, start: usize, end: usize) -> Extent {
        Extent { start, end, exact: self.exact }
    }

    /// The position after this much.
    fn behind(&self, at: usize, weight: usize) -> usize {
        if self.positions { at.saturating_add(weight) } else { 0 }
    }

    fn begin_run<S>(&self, source: S, at: usize, pace: Pace) -> C::Result
    where
        S: Source,
        C: Consumer<S::Item>,
    {
        let folder = self.consumer.start(self.extent(at, self.behind(at, source.weight())));
        self.run(source, at, folder, pace)
    }

    /// Runs blocks without looking for thieves, until the rest is known to be worth sharing.
    #[allow(clippy::type_complexity)]
    fn alone<S>(&self, mut source: S, mut folder: C::Folder) -> (C::Folder, Option<(S, usize, Pace)>)
    where
        S: Source,
        C: Consumer<S::Item>,
    {
        let (mut at, mut pace, mut spent) = (0, Pace::UNKNOWN, 0);
        loop {
            let (left, rest) = self.block(source, folder, &mut pace);
            folder = left;
            spent += pace.ticks;
            let Some(rest) = rest else { break };
            at = self.behind(at, pace.weight);
            if self.consumer.full(&folder) {
                break;
            }
            if spent > self.clock.block / 4 && pace.is_worth_sharing(rest.weight(), self.clock) {
                return (folder, Some((rest, at, pace)));
            }
            source = rest;
        }
        Costs::note(self.plan.site.key(), pace);
        (folder, None)
    }

    /// Takes one block, and notes how it went. Items are handed over only here, so that the inner loop is compiled
    /// once.
    #[inline(never)]
    fn block<S>(&self, source: S, folder: C::Folder, pace: &mut Pace) -> (C::Folder, Option<S>)
    where
        S: Source,
        C: Consumer<S::Item>,
    {
        let (block, rest) = source.cut(pace.block);
        let weight = block.weight();
        let start = self.clock.now();
        let running = Running { consumer: self.consumer, folder };
        let folder = block.fold_with(running).folder;
        *pace = Pace::after(weight, self.clock.now().wrapping_sub(start), self.clock);
        (folder, rest)
    }

    fn run<S>(&self, mut source: S, mut at: usize, mut folder: C::Folder, mut pace: Pace) -> C::Result
    where
        S: Source,
        C: Consumer<S::Item>,
    {
        let guard = StopOnPanic(&self.stop);
        let mut visit = self.plan.trace.map(Trace::begin_run);
        let result = loop {
            let weight = source.weight();
            if self.stop.load(Relaxed) || self.consumer.full(&folder) {
                Costs::note(self.plan.site.key(), pace);
                break self.consumer.complete(folder);
            }
            let big = weight > self.max;
            if weight / 2 >= self.min
                && (big || pace.is_worth_sharing(weight, self.clock) && runtime::hungry())
            {
                match source.halve() {
                    (whole, None) => {
                        runtime::decline();
                        source = whole;
                    }
                    (left, Some(right)) => {
                        if let Some(visit) = &mut visit {
                            visit.split();
                        }
                        let middle = self.behind(at, left.weight());
                        self.consumer.narrow(&mut folder, middle);
                        let (left, right) = runtime::fork(
                            self.plan.site,
                            || self.run(left, at, folder, pace),
                            |migrated| {
                                if let Some(trace) = self.plan.trace.filter(|_| migrated) {
                                    trace.steal();
                                }
                                self.begin_run(right, middle, pace)
                            },
                        );
                        break self.consumer.reduce(left, right);
                    }
                }
            }
            if big {
                pace.block = pace.block.min(self.max);
            }
            let (left, rest) = self.block(source, folder, &mut pace);
            folder = left;
            at = self.behind(at, pace.weight);
            if let Some(visit) = &mut visit {
                visit.block(pace.weight, pace.ticks);
            }
            match rest {
                Some(rest) => source = rest,
                None => {
                    Costs::note(self.plan.site.key(), pace);
                    break self.consumer.complete(folder);
                }
            }
        };
        std::mem::forget(guard);
        result
    }

    /// Runs a loop whose cuts are not made on demand. A source that hands out batches is not known as a whole. So it is
    /// taken in large batches, one after the other, and each is cut by itself.
    fn by_plan<S>(&self, mut source: S, cuts: &Cuts) -> C::Result
    where
        S: Source,
        C: Consumer<S::Item>,
    {
        const BATCH: usize = 1 << 12;
        if self.positions {
            return self.planned(source, 0, cuts);
        }
        let mut all = None;
        loop {
            let (batch, rest) = source.batch(BATCH);
            let cuts = if cuts.are_fixed() { &Cuts::fixed(BATCH) } else { cuts };
            let result = self.planned(batch, 0, cuts);
            let result = match all {
                Some(all) => self.consumer.reduce(all, result),
                None => result,
            };
            match rest {
                Some(rest) if !self.consumer.full(&self.consumer.start(self.extent(0, 0))) => {
                    (all, source) = (Some(result), rest);
                }
                _ => return result,
            }
        }
    }

    /// Splits where it is told to, whether or not anybody wants work.
    fn planned<S>(&self, source: S, at: usize, cuts: &Cuts) -> C::Result
    where
        S: Source,
        C: Consumer<S::Item>,
    {
        let weight = source.weight();
        let wanted = cuts.cut(weight) && weight / 2 >= self.min && !self.stop.load(Relaxed);
        match if wanted { source.halve() } else { (source, None) } {
            (left, Some(right)) => {
                let middle = self.behind(at, left.weight());
                let (left, right) = runtime::fork(
                    self.plan.site,
                    || self.planned(left, at, cuts),
                    |_| self.planned(right, middle, cuts),
                );
                self.consumer.reduce(left, right)
            }
            (leaf, None) => {
                let guard = StopOnPanic(&self.stop);
                let mut folder = self.consumer.start(self.extent(at, self.behind(at, weight)));
                if !self.stop.load(Relaxed) && !self.consumer.full(&folder) {
                    let running = Running { consumer: self.consumer, folder };
                    folder = cuts.piece(weight, || leaf.fold_with(running)).folder;
                }
                std::mem::forget(guard);
                self.consumer.complete(folder)
            }
        }
    }

    /// The same for producers that do not know how much they have. Makes `budget` cuts whether or not anybody wants
    /// work.
    fn tree<P>(
        &self,
        producer: P,
        positions: (usize, usize),
        mut folder: C::Folder,
        budget: usize,
    ) -> C::Result
    where
        P: UnindexedProducer,
        C: Consumer<P::Item>,
    {
        let guard = StopOnPanic(&self.stop);
        let result = if self.stop.load(Relaxed) || self.consumer.full(&folder) {
            self.consumer.complete(folder)
        } else {
            let fixed = self.is_fixed();
            let cut =
                if budget > 0 || !fixed && runtime::hungry() { producer.split() } else { (producer, None) };
            match cut {
                (left, Some(right)) => {
                    let (start, end) = positions;
                    let middle = start + (end - start) / 2;
                    self.consumer.narrow(&mut folder, middle);
                    let (left, right) = runtime::fork(
                        self.plan.site,
                        || self.tree(left, (start, middle), folder, budget / 2),
                        |migrated| {
                            let least = if migrated && !fixed { self.pieces() } else { 0 };
                            let budget = least.max(budget / 2);
                            let folder = self.consumer.start(self.extent(middle, end));
                            self.tree(right, (middle, end), folder, budget)
                        },
                    );
                    self.consumer.reduce(left, right)
                }
                (all, None) => {
                    let running = Running { consumer: self.consumer, folder };
                    all.fold_with(Watched { running, stop: &self.stop }).complete()
                }
            }
        };
        std::mem::forget(guard);
        result
    }

    /// Whether cuts must not depend on who wants work.
    fn is_fixed(&self) -> bool {
        self.plan.fixed || Cuts::of_pool(1, false).is_some()
    }

    /// Into how many pieces to cut a producer that cannot be cut again once it has begun.
    fn pieces(&self) -> usize {
        if self.is_fixed() { 64 } else { 4 * runtime::processors() }
    }
}

/// Like [`drive`], for producers that choose themselves where to cut.
pub(crate) fn drive_tree<P, C>(producer: P, consumer: &C) -> C::Result
where
    P: UnindexedProducer,
    C: Consumer<P::Item>,
{
    let this = Loop {
        consumer,
        plan: consumer.plan(),
        clock: BlockClock::get(),
        stop: AtomicBool::new(false),
        min: 1,
        max: usize::MAX,
        exact: false,
        positions: true,
    };
    runtime::enter(this.plan.site, || {
        let folder = consumer.start(this.extent(0, usize::MAX));
        this.tree(producer, (0, usize::MAX), folder, this.pieces())
    })
}

/// Feeds a folder with all items of an inner loop. Takes no help before the loop has proved long. If it does, this ends
/// the folder.
#[inline]
pub(crate) fn drive_onto<S, C>(source: S, consumer: &C, folder: C::Folder) -> Onto<C::Folder, C::Result>
where
    S: Source,
    C: Consumer<S::Item>,
{
    let this = Loop::over(&source, consumer, false);
    let weight = source.weight();
    if weight == 0 {
        return Onto::Folder(folder);
    }
    let cuts = Cuts::of_pool(weight, this.plan.carries);
    if weight == 1 || this.plan.fixed || cuts.as_ref().is_some_and(Cuts::are_fixed) {
        return Onto::Folder(source.fold_with(Running { consumer, folder }).folder);
    }
    if let Some(cuts) = cuts {
        let first = consumer.complete(folder);
        return Onto::Result(consumer.reduce(first, this.by_plan(source, &cuts)));
    }
    let (folder, rest) = this.alone(source, folder);
    let Some((rest, at, pace)) = rest else { return Onto::Folder(folder) };
    let first = consumer.complete(folder);
    let rest = runtime::enter(this.plan.site, || this.begin_run(rest, at, pace));
    Onto::Result(consumer.reduce(first, rest))
}
