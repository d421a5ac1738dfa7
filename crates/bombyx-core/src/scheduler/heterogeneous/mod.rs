//! `heterogeneous:BETA`: work stealing on CPUs of different speeds, with muggings (Bender and Rabin, §3, the Enhanced
//! Cilk Scheduler).
//!
//! **Not here:** stealing ([`super::work_stealing`]), and who runs on which CPU ([`crate::protocol::placement`]).
//!
//! Everything that forks, steals and waits is [`super::work_stealing`]. One rule is added (their Figure 2, line 3): a
//! processor that is idle and more than β times as fast as a busy one with an empty deque *mugs* that one. Here the two
//! exchange CPUs. The kernel moves the victim's carrier at once, in the middle of what it runs. So nothing waits for
//! the slow victim, and the stack stays where it is ([`crate::protocol::placement`]).
//!
//! **Who decides.** Every processor has a *lookout* ([`lookout`]), a thread on the processor's CPU. While the processor
//! is busy, its lookout measures how fast it is. While the processor is idle and has no carrier, its lookout is the
//! thief: it picks victims at random, one by one, and decides about each from two speeds, its own and the victim's.
//! Nobody knows all speeds, thieves do not wait for each other, and several muggings can happen at once. Lookouts sleep
//! while no processor of the pool is busy.
//!
//! **How fast a processor is** ([`speed`]): the pace of its CPU, in steps of a calibrated loop ([`pace`]), times the
//! share of the CPU's time that it receives. Thieves read the clock of their victim themselves, because a victim whose
//! CPU stands still could not report anything. No clock shows what an unused CPU would give. So a thief that does not
//! know its own speed uses its CPU for some milliseconds when a victim looks slow, and decides then. The thief forgets that
//! it was slow before the victim became slow, because a competitor that has come to one CPU may have left another. It
//! remembers for a short while that it was surely fast.
//!
//! **Hysteresis.** A mugging needs a ratio of speeds above β, and it inverts the ratio. To undo it, the ratio has to
//! change by more than β². Shares are means over several time slices, paces are medians, and a thief's speed was
//! measured a short while ago. A processor that took part in an exchange takes part in no other for [`SETTLE`]. So even
//! with β = 1 a processor moves at most 200 times a second, and with noise of less than a factor β it moves once for
//! each true change.
//!
//! **What carries over from Theorem 6.** The rule is that of Figure 2, but the rate of attempts is not. In §3.1 an idle
//! processor attempts all the time, at a rate proportional to its speed. A lookout makes P − 1 attempts at a time and
//! naps for [`lookout::NAP`] in between, so that idle processors cost little. So a thread of the critical path can run
//! on a CPU more than β times slower than an idle one until somebody notices: for some ten milliseconds, as long as an
//! estimate remembers, and a few naps more. The theorem's term β·W∞/π_ave holds except for that delay, once for each
//! time that such a thread comes to a slow CPU.

mod lookout;
mod pace;
mod speed;

use crate::machine::pool::PoolCore;
use crate::machine::processor::Processor;
use crate::machine::strategy::Cpus;
use crate::protocol::placement::Placement;
use crate::system::affinity::{self, Thread};
use bombyx_base::Beta;
use speed::Estimate;
use std::io;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::{self, JoinHandle};
use std::time::Instant;

/// How long the two processors of an exchange take part in no other one, in nanoseconds.
const SETTLE: u64 = 5_000_000;
/// After this long without a slow share, in nanoseconds, a CPU is expected to stay as fast as it is.
const CALM: u64 = 1_000_000_000;

/// The stack of a lookout, in bytes.
const STACK: usize = 128 << 10;

/// What a pool with this scheduler shares. See the module text.
pub(crate) struct Heterogeneous {
    beta: Beta,
    placement: Placement,
    known: Box<[Known]>,
    start: Instant,
    /// The best pace that a CPU of the pool has had. Speeds are shown relative to it, and it is the guess if nothing is
    /// known.
    best: AtomicU64,
    /// Whether some lookout may be waiting for a processor to become busy.
    asleep: AtomicBool,
    /// Thieves share this lock while they exchange CPUs. A thread that leaves the pool takes it exclusively.
    exchanging: RwLock<()>,
    stopping: AtomicBool,
    lookouts: Mutex<Vec<JoinHandle<()>>>,
}

/// What is known of a processor. It moves to another processor together with the CPU.
struct Known {
    /// Written by the thread that has read the processor's clock. Nobody calls the system under the lock, and only an
    /// exchange of CPUs waits for it. The fields below are copies of it, for those who only look.
    estimate: Mutex<Estimate>,
    /// The latest estimate of the speed.
    speed: AtomicU64,
    /// When the share was last confirmed, or 0 if it is a guess.
    confirmed: AtomicU64,
    /// Whether the share was measured for several time slices.
    sure: AtomicBool,
    /// Since when the share has been suspiciously small, or 0 if it is not.
    slow_since: AtomicU64,
    /// When the share of the CPU was last found to be slow. At first, the time of the start.
    slow_at: AtomicU64,
    /// Until when the processor takes part in no exchange.
    rests_until: AtomicU64,
}

impl Cpus for Arc<Heterogeneous> {
    fn least(&self) -> usize {
        2
    }

    fn took_hold(&self, processor: &Processor) {
        self.arrive(processor.index);
    }

    fn lets_go(&self, processor: &Processor) {
        self.leave(processor.index);
    }

    fn left(&self) {
        Heterogeneous::left(self);
    }

    fn cpu_of(&self, processor: &Processor) -> Option<usize> {
        self.wakes_on(processor.index)
    }

    fn start(&self, pool: Arc<PoolCore>) -> io::Result<()> {
        Heterogeneous::start(self, pool)
    }

    fn stop(&self) {
        Heterogeneous::stop(self);
    }

    fn speeds(&self, _processors: usize) -> Vec<f64> {
        Heterogeneous::speeds(self)
    }
}

impl Heterogeneous {
    /// For a pool of this many processors.
    pub(crate) fn new(beta: Beta, processors: usize) -> Heterogeneous {
        let usual = pace::usual();
        let known = || Known {
            estimate: Mutex::new(Estimate::unknown()),
            speed: AtomicU64::new(usual),
            confirmed: AtomicU64::new(0),
            sure: AtomicBool::new(false),
            slow_since: AtomicU64::new(0),
            slow_at: AtomicU64::new(0),
            rests_until: AtomicU64::new(0),
        };
        Heterogeneous {
            beta,
            placement: Placement::new(processors, affinity::cpus()),
            known: (0..processors).map(|_| known()).collect(),
            start: Instant::now(),
            best: AtomicU64::new(usual),
            asleep: AtomicBool::new(false),
            exchanging: RwLock::new(()),
            stopping: AtomicBool::new(false),
            lookouts: Mutex::default(),
        }
    }

    /// The latest estimate of each processor's speed. 1 is the best CPU with all of its time.
    pub(crate) fn speeds(&self) -> Vec<f64> {
        let best = self.best() as f64;
        self.known.iter().map(|known| (known.speed.load(Relaxed) as f64 / best).min(1.0)).collect()
    }

    /// The CPU on which a sleeping carrier should wake up when it is given this processor. This is the processor's own
    /// CPU if it has not been slow lately. Otherwise it is `None`: a carrier that is queued on a slow CPU cannot be
    /// mugged until it has run there.
    pub(crate) fn wakes_on(&self, processor: usize) -> Option<usize> {
        let slow_at = self.known[processor].slow_at.load(Relaxed);
        let calm = self.now().saturating_sub(slow_at) >= CALM;
        calm.then(|| self.placement.cpu(processor))
    }

    /// The calling thread has taken hold of a processor. Moves the thread to that processor's CPU.
    pub(crate) fn arrive(&self, processor: usize) {
        let number = Thread::current().number() as usize;
        self.placement.arrive(processor, number, |cpu| {
            Thread::HERE.pin(cpu);
        });
        // Runs after the fences of `arrive`, and pairs with the one in `fall_asleep`.
        if self.asleep.load(Relaxed) {
            self.wake_lookouts();
        }
    }

    /// The calling thread lets a processor go.
    pub(crate) fn leave(&self, processor: usize) {
        self.placement.leave(processor);
    }

    /// The calling thread has let its processor go and is about to leave the pool. From now on nobody pins it.
    pub(crate) fn left(&self) {
        drop(self.exchanging.write().unwrap_or_else(PoisonError::into_inner));
    }

    /// Starts the lookouts.
    fn start(self: &Arc<Self>, pool: Arc<PoolCore>) -> io::Result<()> {
        for index in 0..self.known.len() {
            let (this, pool) = (Arc::clone(self), Arc::clone(&pool));
            let builder = thread::Builder::new().name(format!("bombyx-lookout-{index}")).stack_size(STACK);
            let started = builder.spawn(move || lookout::Lookout::new(&this, pool.processors(), index).run());
            match started {
                Ok(lookout) => self.lookouts().push(lookout),
                Err(error) => {
                    self.stop();
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Stops the lookouts and waits for their end.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, SeqCst);
        self.wake_lookouts();
        for lookout in std::mem::take(&mut *self.lookouts()) {
            lookout.join().unwrap_or_else(|_| unreachable!("lookouts do not panic"));
        }
    }

    fn lookouts(&self) -> MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.lookouts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cold]
    fn wake_lookouts(&self) {
        self.asleep.store(false, SeqCst);
        for lookout in self.lookouts().iter() {
            lookout.thread().unpark();
        }
    }

    /// A lookout waits until a carrier arrives.
    fn fall_asleep(&self) {
        self.asleep.store(true, SeqCst);
        // Pairs with the fences of `Placement::arrive`: either this look sees the holder, or the holder sees the
        // sleeper.
        fence(SeqCst);
        if !self.is_held() && !self.stopping.load(SeqCst) {
            thread::park();
        }
    }

    /// Whether any processor has a carrier.
    fn is_held(&self) -> bool {
        (0..self.known.len()).any(|index| self.placement.holder(index) != 0)
    }

    fn best(&self) -> u64 {
        self.best.load(Relaxed)
    }

    /// Nanoseconds since the pool was built.
    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// The carrier of a processor.
    fn holder(&self, processor: usize) -> Option<Thread> {
        Thread::from_number(u32::try_from(self.placement.holder(processor)).unwrap_or_default())
    }

    /// Changes what is known of a processor, and publishes it. Does nothing if somebody else is changing it.
    fn note(&self, processor: usize, change: impl FnOnce(&mut Estimate)) {
        if let Ok(mut estimate) = self.known[processor].estimate.try_lock() {
            change(&mut estimate);
            self.publish(processor, &estimate);
        }
    }

    fn publish(&self, processor: usize, estimate: &Estimate) {
        let (known, now) = (&self.known[processor], self.now());
        if let Some(pace) = estimate.pace() {
            self.best.fetch_max(pace, Relaxed);
        }
        known.speed.store(estimate.speed(now, self.best()), Relaxed);
        known.confirmed.store(estimate.confirmed(now).unwrap_or(0), Relaxed);
        known.sure.store(estimate.is_sure(), Relaxed);
        known.slow_since.store(estimate.slow_since().unwrap_or(0), Relaxed);
        if estimate.slow_since().is_some() {
            known.slow_at.store(now, Relaxed);
        }
    }

    /// Two processors, both claimed, have exchanged CPUs. Their estimates follow.
    fn swap_known(&self, a: usize, b: usize) {
        let lock = |index: usize| self.known[index].estimate.lock().unwrap_or_else(PoisonError::into_inner);
        // Always lock the smaller index first, so that no two callers wait for each other.
        let (mut first, mut second) = (lock(a.min(b)), lock(a.max(b)));
        std::mem::swap(&mut *first, &mut *second);
        let slow_at = |index: usize| self.known[index].slow_at.load(Relaxed);
        let (slow_a, slow_b) = (slow_at(a), slow_at(b));
        self.known[a].slow_at.store(slow_b, Relaxed);
        self.known[b].slow_at.store(slow_a, Relaxed);
        for (index, estimate) in [(a.min(b), &mut first), (a.max(b), &mut second)] {
            estimate.moved();
            self.publish(index, estimate);
            self.known[index].rests_until.store(self.now() + SETTLE, Relaxed);
        }
    }

    fn rests(&self, processor: usize) -> bool {
        self.now() < self.known[processor].rests_until.load(Relaxed)
    }
}
