//! Recording: a [`Fork`] that runs the serial elision and tells a [`Builder`] what it sees. So the simulator can run
//! the same program on machines that do not exist.
//!
//! `join(a, b)` becomes what it is on Bombyx: a child thread for `a`, while `b` is the rest of the parent, which a
//! thief may take. Then comes a strand that waits for the child. The weight of a strand, and the memory that it
//! allocates and frees, are differences of two [`Reading`]s. So the caller decides whether the weight is time, or
//! whether only the shape is wanted.

use crate::Fork;
use bombyx_dag::{Accesses, BuildError, Builder, Computation, StrandId, WeightUnit};
use std::cell::RefCell;

thread_local! {
    /// What the run recorded by this thread has touched, if that is recorded.
    static TOUCHED: RefCell<Option<Accesses>> = const { RefCell::new(None) };
}

/// Running totals at some moment of a serial run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Time since some fixed moment.
    pub nanoseconds: u64,
    /// Heap bytes allocated so far, freed or not.
    pub allocated: u64,
    /// Heap bytes freed so far.
    pub freed: u64,
}

/// What [`Prepared::record`](crate::Prepared::record) measures strands with.
pub struct Meter<'m> {
    read: &'m mut dyn FnMut() -> Reading,
    frame: u64,
}

impl<'m> Meter<'m> {
    /// Strands weigh the differences of what `read` returns; every thread has a frame of `frame` bytes.
    ///
    /// ```
    /// use bombyx_workloads::{Grain, Meter, Reading, Size, find};
    ///
    /// let mut ticks = 0;
    /// let mut one_per_strand = || {
    ///     ticks += 1;
    ///     Reading { nanoseconds: ticks, ..Reading::default() }
    /// };
    /// let mut nqueens = find("nqueens")?.prepare(Size::Small, Grain::Medium, 42);
    /// let computation = nqueens.record(Meter::new(&mut one_per_strand, 64))?;
    /// assert!(computation.thread_count() > 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(read: &'m mut dyn FnMut() -> Reading, frame: u64) -> Self {
        Self { read, frame }
    }
}

/// The handle of a recorded run.
pub(crate) struct Recorder<'m> {
    builder: Builder,
    meter: Meter<'m>,
    /// When the current strand began.
    begun: Reading,
    /// The end of the child that the current strand waits for.
    awaited: Option<StrandId>,
}

impl<'m> Recorder<'m> {
    /// Records the accesses to memory too, until [`accesses`](Self::accesses) takes them.
    pub(crate) fn with_accesses(meter: Meter<'m>) -> Self {
        TOUCHED.set(Some(Accesses::default()));
        Self::new(meter)
    }

    /// What the run has touched.
    pub(crate) fn accesses() -> Accesses {
        TOUCHED.take().unwrap_or_default()
    }

    pub(crate) fn new(meter: Meter<'m>) -> Self {
        let mut builder = Builder::new(meter.frame);
        builder.weight_unit(WeightUnit::Nanoseconds);
        let begun = (meter.read)();
        Self { builder, meter, begun, awaited: None }
    }

    /// Records the strand that ends here.
    fn end_strand(&mut self) {
        let now = (self.meter.read)();
        self.builder.strand((now.nanoseconds - self.begun.nanoseconds).max(1));
        TOUCHED.with_borrow_mut(|touched| {
            if let Some(accesses) = touched {
                accesses.end_strand();
            }
        });
        self.builder.allocate(now.allocated - self.begun.allocated);
        self.builder.free(now.freed - self.begun.freed);
        if let Some(child) = self.awaited.take() {
            self.builder.wait_for(child);
        }
    }

    /// The next strand begins now. What the recording itself cost lies before.
    fn begin_strand(&mut self) {
        self.begun = (self.meter.read)();
    }

    pub(crate) fn finish(mut self) -> Result<Computation, BuildError> {
        self.end_strand();
        self.builder.build()
    }
}

impl Fork for Recorder<'_> {
    fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(&mut Self) -> RA + Send,
        B: FnOnce(&mut Self) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.end_strand();
        self.builder.spawn(self.meter.frame);
        self.begin_strand();
        let ra = a(self);
        self.end_strand();
        let child = self.builder.end();
        self.begin_strand();
        let rb = b(self);
        self.end_strand();
        self.awaited = Some(child);
        self.begin_strand();
        (ra, rb)
    }

    const TOUCHES: bool = true;

    fn touch<T>(data: &[T]) {
        TOUCHED.with_borrow_mut(|touched| {
            if let Some(accesses) = touched {
                let bytes =
                    u32::try_from(size_of_val(data)).expect("a strand touches less than 4 GiB at a time");
                accesses.touch(data.as_ptr().addr() as u64, bytes);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bombyx_dag::{Class, Measures};

    fn fib<F: Fork>(fork: &mut F, n: u64) -> u64 {
        if n < 2 {
            return n;
        }
        let (a, b) = fork.join(|fork| fib(fork, n - 1), |fork| fib(fork, n - 2));
        a + b
    }

    #[test]
    fn forks_become_threads_and_readings_weights() {
        let mut ticks = 0;
        let mut read = || {
            ticks += 1;
            Reading { nanoseconds: ticks, ..Reading::default() }
        };
        let mut recorder = Recorder::new(Meter::new(&mut read, 64));
        assert_eq!(fib(&mut recorder, 10), 55);
        let computation = recorder.finish().unwrap();
        assert_eq!(computation.class(), Class::NestedParallel);
        assert_eq!(computation.thread_count(), 89, "88 forks and the root");
        let measures = Measures::of(&computation);
        assert_eq!(measures.work, computation.strand_count() as u64, "each strand saw one tick");
        assert_eq!(measures.stack, 64 * 10);
    }

    #[test]
    fn memory_is_charged_to_the_strand_that_uses_it() {
        let allocated = std::cell::Cell::new(0);
        let freed = std::cell::Cell::new(0);
        let mut read = || Reading { nanoseconds: 0, allocated: allocated.get(), freed: freed.get() };
        let mut recorder = Recorder::new(Meter::new(&mut read, 0));
        allocated.set(100);
        // The counters are told through the meter only; the closures stand for halves that allocate nothing.
        recorder.join(|_| (), |_| ());
        freed.set(100);
        let computation = recorder.finish().unwrap();
        let strands: Vec<_> = computation.strands().collect();
        assert_eq!(computation.allocated(strands[0]), 100);
        assert_eq!(computation.freed(*strands.last().unwrap()), 100);
        assert_eq!(Measures::of(&computation).serial_space, 100);
    }
}
