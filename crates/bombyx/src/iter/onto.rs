//! Loops inside loops, for `flat_map` and its relatives. The inner loop goes on with the folder of the outer one, so a
//! thousand short inner loops are like one.

use super::IndexedParallelIterator;
use super::driver;
use super::plumbing::{Consumer, Extent, Producer, ProducerCallback, as_base};

/// The outcome of a loop that began with a folder: the folder, unless the loop was shared.
#[doc(hidden)]
#[derive(Debug)]
pub enum Onto<F, R> {
    /// The folder took all items.
    Folder(F),
    /// The results of all runs together.
    Result(R),
}

/// Feeds a folder with all items of an iterator that has a producer.
pub(crate) fn bridge_onto<I, C>(iter: I, consumer: &C, folder: C::Folder) -> Onto<C::Folder, C::Result>
where
    I: IndexedParallelIterator,
    C: Consumer<I::Item>,
{
    struct Feed<'a, C, F> {
        len: usize,
        consumer: &'a C,
        folder: F,
    }

    impl<T, C: Consumer<T>> ProducerCallback<T> for Feed<'_, C, C::Folder> {
        type Output = Onto<C::Folder, C::Result>;

        #[inline]
        fn callback<P: Producer<Item = T>>(self, producer: P) -> Self::Output {
            let source = driver::Indexed { producer, len: self.len };
            driver::drive_onto(source, self.consumer, self.folder)
        }
    }

    let len = iter.len();
    iter.with_producer(Feed { len, consumer, folder })
}

/// A consumer of an inner loop. Its runs have no positions, or all have the position of the outer loop's item.
pub(crate) struct Inner<'a, C> {
    pub(crate) base: &'a C,
    pub(crate) at: Option<usize>,
}

impl<T, C: Consumer<T>> Consumer<T> for Inner<'_, C> {
    type Folder = C::Folder;
    type Result = C::Result;

    fn start(&self, extent: Extent) -> C::Folder {
        self.base.start(match self.at {
            Some(at) => Extent { start: at, end: at, exact: false },
            None => extent.inexact(),
        })
    }
    #[inline]
    fn consume_iter<I: Iterator<Item = T>>(&self, folder: C::Folder, iter: I) -> C::Folder {
        self.base.consume_iter(folder, iter)
    }
    #[inline]
    fn full(&self, folder: &C::Folder) -> bool {
        self.base.full(folder)
    }
    as_base!(folder);
}
