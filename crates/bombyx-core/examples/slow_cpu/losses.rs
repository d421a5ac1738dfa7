//! Where the time of a run goes. What no schedule can save is the long leaves, one after the other, on a CPU that is all ours. The
//! rest is lost: a long leaf begins late, or stands still, first while the other processor is busy with short leaves, so that
//! nobody could mug, and then until somebody has.

use crate::linux::{LONG, PHASES, SHORT, SHORTS};
use bombyx::{for_each, join};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// How long a step of a long leaf takes.
const STEP: Duration = Duration::from_micros(250);
/// A step that takes longer by more than this was interrupted; one that takes less longer ran at another pace.
const STOPPED: Duration = Duration::from_micros(100);

/// What was lost, in nanoseconds.
#[derive(Default)]
pub(crate) struct Losses {
    /// From the beginning of a phase to that of its long leaf.
    begin: AtomicU64,
    /// A long leaf stood still while the other processor had short leaves.
    covered: AtomicU64,
    /// A long leaf stood still later.
    late: AtomicU64,
    /// A long leaf went on more slowly than when the loop was calibrated.
    pace: AtomicU64,
    /// From the end of a long leaf to that of its phase.
    end: AtomicU64,
}

pub(crate) const HEADINGS: [&str; 5] = ["begin", "covered", "late", "pace", "end"];

fn add(to: &AtomicU64, time: Duration) {
    to.fetch_add(time.as_nanos() as u64, Relaxed);
}

impl Losses {
    /// The computation of the table, which notes what is lost.
    pub(crate) fn chain(&self, work: impl Fn(Duration) + Sync) {
        for _ in 0..PHASES {
            let covered = AtomicBool::new(true);
            let begin = Instant::now();
            let shorts = || {
                for_each(0..SHORTS, |_| work(SHORT));
                covered.store(false, Relaxed);
            };
            let ((), end) = join(shorts, || {
                add(&self.begin, begin.elapsed());
                self.long(&covered, &work);
                Instant::now()
            });
            add(&self.end, end.elapsed());
        }
    }

    fn long(&self, covered: &AtomicBool, work: &impl Fn(Duration)) {
        let mut before = Instant::now();
        for _ in 0..LONG.as_micros() / STEP.as_micros() {
            work(STEP);
            let now = Instant::now();
            let lost = (now - before).saturating_sub(STEP);
            let to = match () {
                () if lost < STOPPED => &self.pace,
                () if covered.load(Relaxed) => &self.covered,
                () => &self.late,
            };
            add(to, lost);
            before = now;
        }
    }

    /// In milliseconds, in the order of the headings.
    pub(crate) fn milliseconds(&self) -> [f64; 5] {
        [&self.begin, &self.covered, &self.late, &self.pace, &self.end]
            .map(|lost| lost.load(Relaxed) as f64 / 1e6)
    }
}
