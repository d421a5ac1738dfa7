//! Timing: Bombyx with a clock around every strand. This measures the time that all processors together spend in the
//! program itself (the *total parallel work* of Acar, Charguéraud, Muller and Rainey, appendix A). In the rest of their
//! time they fork, search or wait. The price is two looks at the clock per fork, so times of such runs are not for
//! comparing runtimes.

use crate::Fork;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// On how many cache lines threads add up what they did. With more threads, they share lines.
const LINES: usize = 16;

#[derive(Debug, Default)]
#[repr(align(128))]
struct Line(AtomicU64);

/// Adds up the time that threads spend in strands.
#[derive(Debug, Default)]
pub struct StrandTime {
    nanoseconds: [Line; LINES],
}

impl StrandTime {
    /// What was added up so far.
    pub fn total(&self) -> Duration {
        Duration::from_nanos(self.nanoseconds.iter().map(|line| line.0.load(Relaxed)).sum())
    }

    fn add(&self, time: Duration) {
        self.nanoseconds[line()].0.fetch_add(time.as_nanos() as u64, Relaxed);
    }
}

/// The line of the calling thread: threads take them in turn.
fn line() -> usize {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    thread_local!(static LINE: usize = NEXT.fetch_add(1, Relaxed) as usize % LINES);
    LINE.with(|line| *line)
}

/// The handle of a timed run: a strand is running since `begun`.
pub(crate) struct Timed<'t> {
    time: &'t StrandTime,
    begun: Instant,
}

impl<'t> Timed<'t> {
    /// Runs `strand` and whatever it forks.
    pub(crate) fn run<R>(time: &'t StrandTime, strand: impl FnOnce(&mut Self) -> R) -> R {
        let mut timed = Self { time, begun: Instant::now() };
        let result = strand(&mut timed);
        time.add(timed.begun.elapsed());
        result
    }
}

impl Fork for Timed<'_> {
    fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(&mut Self) -> RA + Send,
        B: FnOnce(&mut Self) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        let time = self.time;
        time.add(self.begun.elapsed());
        let results = bombyx::join(|| Timed::run(time, a), || Timed::run(time, b));
        self.begun = Instant::now();
        results
    }

    fn reserve(&mut self, bytes: usize) {
        bombyx::reserve(bytes);
    }
}
