//! [`Map`]: a remote function over many items, in order, with a limit on how many are under way.

use crate::cluster::{Answer, Cluster, open, prepare, rethrow};
use crate::error::Error;
use crate::key::Key;
use crate::outcome::Tagged;
use crate::record::Region;
use crate::registry;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::mpsc::{Receiver, Sender, channel};

/// Results of [`Cluster::map`], in the order of the items.
///
/// Like all iterators, it begins with the first `next`. From then on it keeps up to [`in_flight`](Self::in_flight)
/// items under way: taken from the items, and not yet handed out as results. No more arguments or results than these
/// are in memory.
///
/// An item whose call is lost is an `Err`. The others go on, and results that have arrived are handed out, even when
/// the cluster is gone. A panic of the function is a panic of `next`, as soon as it arrives. Dropping the iterator
/// cancels what is under way.
#[must_use = "nothing runs until the results are asked for"]
pub struct Map<F, R, I> {
    cluster: Cluster,
    function: F,
    items: I,
    at: &'static Location<'static>,
    in_flight: Option<usize>,
    bar: Option<ProgressBar>,
    /// The oldest item under way is the front.
    window: VecDeque<Slot>,
    /// The number of the front.
    first: usize,
    to: Sender<Answer>,
    answers: Receiver<Answer>,
    region: Option<Region>,
    result: PhantomData<fn() -> R>,
}

/// An item under way.
struct Slot {
    key: Option<Key>,
    bytes: usize,
    result: Option<Result<Tagged, Error>>,
}

impl<F, R, I> Map<F, R, I>
where
    F: Fn(I::Item) -> R + 'static,
    I: Iterator,
    I::Item: Serialize,
    R: DeserializeOwned,
{
    pub(crate) fn new(cluster: &Cluster, function: F, items: I, at: &'static Location<'static>) -> Self {
        let (to, answers) = channel();
        Map {
            cluster: cluster.clone(),
            function,
            items,
            at,
            in_flight: None,
            bar: None,
            window: VecDeque::new(),
            first: 0,
            to,
            answers,
            region: None,
            result: PhantomData,
        }
    }

    /// How many items may be under way at a time. Default: four for each call that runs at a time, and at least 16.
    pub fn in_flight(mut self, items: usize) -> Self {
        self.in_flight = Some(items.max(1));
        self
    }

    /// Shows a progress bar on a terminal.
    pub fn progress(mut self, title: &'static str) -> Self {
        let bar = match self.items.size_hint() {
            (_, Some(length)) => ProgressBar::new(length as u64).with_style(
                ProgressStyle::with_template("{prefix} {wide_bar} {pos}/{len}, {eta} left")
                    .expect("the template is right"),
            ),
            _ => ProgressBar::new_spinner(),
        };
        self.bar = Some(bar.with_prefix(title));
        self
    }

    fn place(&self, number: usize) -> String {
        format!("item {number} of the map at {}:{}", self.at.file(), self.at.line())
    }

    /// Submits items until the window is full.
    fn fill(&mut self) {
        let bound = self.in_flight.unwrap_or_else(|| (4 * self.cluster.slots()).max(16));
        while self.window.len() < bound {
            let Some(item) = self.items.next() else { return };
            let number = self.first + self.window.len();
            self.region.get_or_insert_with(|| Region::begin(registry::name_of::<F>().unwrap_or("unknown")));
            self.window.push_back(match prepare(&self.function, &item, self.place(number)) {
                Ok(call) => {
                    let slot = Slot { key: Some(call.key.clone()), bytes: call.argument.len(), result: None };
                    self.cluster.submit(call, number, &self.to);
                    slot
                }
                Err(error) => Slot { key: None, bytes: 0, result: Some(Err(error)) },
            });
        }
    }

    /// Puts an answer into the window.
    fn arrive(&mut self, (number, outcome): Answer) {
        if let Err(panic) = outcome.as_ref().map_or(Ok(&[][..]), Tagged::open) {
            rethrow(registry::name_of::<F>().unwrap_or("unknown"), &self.place(number), &panic);
        }
        let slot = &mut self.window[number - self.first];
        if let (Some(key), Ok(tagged), Some(region)) = (&slot.key, &outcome, &self.region) {
            region.call(key, slot.bytes, tagged);
        }
        slot.key = None;
        slot.result = Some(outcome);
        if let Some(bar) = &self.bar {
            bar.inc(1);
        }
    }
}

impl<F, R, I> Iterator for Map<F, R, I>
where
    F: Fn(I::Item) -> R + 'static,
    I: Iterator,
    I::Item: Serialize,
    R: DeserializeOwned,
{
    type Item = Result<R, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.fill();
        while let Ok(answer) = self.answers.try_recv() {
            self.arrive(answer);
        }
        while self.window.front().is_some_and(|slot| slot.result.is_none()) {
            let answer = self.cluster.wait(|| self.answers.recv()).expect("this end holds a sender");
            self.arrive(answer);
        }
        let Some(slot) = self.window.pop_front() else {
            if let Some(bar) = self.bar.take() {
                bar.finish();
            }
            self.region = None;
            return None;
        };
        let number = self.first;
        self.first += 1;
        let tagged = match slot.result.expect("waited for") {
            Ok(tagged) => tagged,
            Err(error) => return Some(Err(error)),
        };
        Some(open(&tagged, registry::name_of::<F>().unwrap_or("unknown"), &self.place(number)))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let (low, high) = self.items.size_hint();
        let under_way = self.window.len();
        (low.saturating_add(under_way), high.and_then(|high| high.checked_add(under_way)))
    }
}

impl<F, R, I> Drop for Map<F, R, I> {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.abandon();
        }
        for key in self.window.iter().filter_map(|slot| slot.key.as_ref()) {
            self.cluster.engine().cancel(key);
        }
    }
}
