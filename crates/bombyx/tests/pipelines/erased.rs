//! Iterators that have forgotten their types, so that chains of any length are one type for the compiler. Their producers
//! are cut and read as those of the chain.

use bombyx::iter::plumbing::{Producer, ProducerCallback, UnindexedConsumer, bridge};
use bombyx::prelude::*;

/// What a producer yields.
trait Both: DoubleEndedIterator<Item = u64> + ExactSizeIterator {}
impl<I: DoubleEndedIterator<Item = u64> + ExactSizeIterator> Both for I {}

trait AnyProducer<'p>: Send + 'p {
    fn items(self: Box<Self>) -> Box<dyn Both + 'p>;
    fn lens(&self) -> (usize, usize);
    fn cut(self: Box<Self>, at: usize) -> (ErasedProducer<'p>, ErasedProducer<'p>);
}

impl<'p, P: Producer<Item = u64> + 'p> AnyProducer<'p> for P {
    fn items(self: Box<Self>) -> Box<dyn Both + 'p> {
        Box::new((*self).into_iter())
    }
    fn lens(&self) -> (usize, usize) {
        (self.min_len(), self.max_len())
    }
    fn cut(self: Box<Self>, at: usize) -> (ErasedProducer<'p>, ErasedProducer<'p>) {
        let (left, right) = self.split_at(at);
        (ErasedProducer(Box::new(left)), ErasedProducer(Box::new(right)))
    }
}

struct ErasedProducer<'p>(Box<dyn AnyProducer<'p>>);

impl<'p> Producer for ErasedProducer<'p> {
    type Item = u64;
    type IntoIter = Box<dyn Both + 'p>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.items()
    }
    fn min_len(&self) -> usize {
        self.0.lens().0
    }
    fn max_len(&self) -> usize {
        self.0.lens().1
    }
    fn split_at(self, index: usize) -> (Self, Self) {
        self.0.cut(index)
    }
}

type Use<'f> = &'f mut dyn FnMut(ErasedProducer<'_>);

trait AnyIterator: Send {
    fn count(&self) -> usize;
    fn produce(self: Box<Self>, with: Use<'_>);
}

impl<I: IndexedParallelIterator<Item = u64>> AnyIterator for I {
    fn count(&self) -> usize {
        self.len()
    }
    fn produce(self: Box<Self>, with: Use<'_>) {
        struct Erase<'f>(Use<'f>);

        impl ProducerCallback<u64> for Erase<'_> {
            type Output = ();
            fn callback<P: Producer<Item = u64>>(self, producer: P) {
                (self.0)(ErasedProducer(Box::new(producer)));
            }
        }
        (*self).with_producer(Erase(with));
    }
}

/// Any iterator that knows its length.
pub(crate) struct Erased(Box<dyn AnyIterator>);

impl Erased {
    pub(crate) fn new<I: IndexedParallelIterator<Item = u64> + 'static>(iter: I) -> Erased {
        Erased(Box::new(iter))
    }
}

impl ParallelIterator for Erased {
    type Item = u64;

    fn drive_unindexed<C: UnindexedConsumer<u64>>(self, consumer: C) -> C::Result {
        bridge(self, consumer)
    }
    fn opt_len(&self) -> Option<usize> {
        Some(self.len())
    }
}

impl IndexedParallelIterator for Erased {
    fn len(&self) -> usize {
        self.0.count()
    }
    fn with_producer<CB: ProducerCallback<u64>>(self, callback: CB) -> CB::Output {
        let (mut callback, mut output) = (Some(callback), None);
        self.0.produce(&mut |producer| {
            output = callback.take().map(|callback| callback.callback(producer));
        });
        output.expect("a producer was made once")
    }
}
