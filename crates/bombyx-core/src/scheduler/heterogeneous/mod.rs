//! `heterogeneous:BETA`: work stealing on CPUs of different speeds, with muggings (Bender and Rabin, §3, the Enhanced
//! Cilk Scheduler).
//!
//! Everything that forks, steals and waits is [`super::work_stealing`]. One rule is added (their Figure 2, line 3): a
//! processor that is idle and more than β times as fast as a busy one with an empty deque *mugs* that one. Here the
//! two exchange CPUs: the kernel moves the victim's carrier at once, in the middle of what it runs, so nothing waits
//! for the victim's speed, and the stack stays where it is.
//!
//! **Who looks.** An idle processor has no carrier, so that it costs nothing; on behalf of all of them the pool has
//! one thread, the *watcher*, that wakes about every millisecond while processors are both busy and idle, seldom while
//! all are busy or all have been equally fast for a while, and not at all while none is busy. It looks at all
//! processors instead of a random one, and lets the fastest idle one mug the slowest victim. How that goes together with
//! carriers that come and go is told in [`crate::protocol::placement`].
//!
//! **How fast a CPU is** that nobody uses cannot be read off any clock. So when a mugging seems worth while and
//! nothing is known of the thief's CPU, the watcher goes there and probes what share it receives itself, and decides
//! then. What was known is forgotten when a busy processor becomes slow: a competitor that has come to one CPU may have
//! left another.
//!
//! **Hysteresis.** A mugging needs a ratio of speeds above β, and afterwards the ratio is turned round: to be undone, it
//! has to change by more than β². Estimates are means over several time slices ([`speed`]), a thief's has been
//! probed or measured a short while ago, and whoever took part in an exchange rests from that for [`SETTLE`]. So even
//! with β = 1 a processor moves at most 200 times a second, and with noise of less than a factor β it moves once for
//! each true change.

mod beta;
pub(crate) mod speed;

use crate::machine::pool::PoolCore;
use crate::machine::processor::Processor;
use crate::machine::strategy::Cpus;
use crate::protocol::placement::Placement;
use crate::system::affinity::{self, Thread};
pub use beta::{Beta, BetaError};
use speed::{Estimate, FULL, Reading};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use std::{hint, io};

/// How long the watcher sleeps between two looks while a processor is idle and another one busy.
const NAP: Duration = Duration::from_millis(1);
/// The same while all are busy: only so that their speeds are known when one of them becomes idle.
const LONG_NAP: Duration = Duration::from_millis(3);
/// What naps grow to when no two speeds have differed by more than β for [`CALM`], and no mugging can be due: each look
/// stops somebody for some ten microseconds. Half of what an estimate remembers, so what changes shows at the next look.
const CALM_NAP: Duration = Duration::from_millis(10);
/// After this long without different speeds, in nanoseconds, there is no hurry to see the next.
const CALM: u64 = 1_000_000_000;
/// How long a probe takes, in nanoseconds: more than a time slice, so that a competitor shows.
const PROBE: u64 = 8_000_000;
/// For how long after an exchange its two processors take part in no other one, in nanoseconds.
const SETTLE: u64 = 5_000_000;
/// Two readings of clocks that are further apart, in nanoseconds, do not belong together.
const TOGETHER: u64 = 100_000;

/// What a pool with this scheduler shares. See the module text.
pub(crate) struct Heterogeneous {
    beta: Beta,
    placement: Placement,
    /// The last published speed of each processor, of [`FULL`].
    speeds: Box<[AtomicU64]>,
    /// Whether speeds have been equal for [`CALM`]; a hint.
    calm: AtomicBool,
    /// Whether the watcher waits for somebody to become busy.
    asleep: AtomicBool,
    /// Held while CPUs are exchanged.
    exchanging: Mutex<()>,
    stopping: AtomicBool,
    watcher: Mutex<Option<JoinHandle<()>>>,
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
        self.seat(processor.index)
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
    /// For a pool of so many processors.
    pub(crate) fn new(beta: Beta, processors: usize) -> Heterogeneous {
        Heterogeneous {
            beta,
            placement: Placement::new(processors, affinity::cpus()),
            speeds: (0..processors).map(|_| AtomicU64::new(FULL)).collect(),
            calm: AtomicBool::new(false),
            asleep: AtomicBool::new(false),
            exchanging: Mutex::new(()),
            stopping: AtomicBool::new(false),
            watcher: Mutex::new(None),
        }
    }

    /// The speed of each processor, as last estimated; 1 is that of the best CPU, all of it.
    pub(crate) fn speeds(&self) -> Vec<f64> {
        self.speeds.iter().map(|speed| speed.load(Relaxed) as f64 / FULL as f64).collect()
    }

    /// The CPU on which a sleeping carrier that is given this processor should wake up: the processor's own, while all are
    /// equally fast. On a slow one it would have to wait before it can be seen there, and mugged, so then nobody says.
    pub(crate) fn seat(&self, processor: usize) -> Option<usize> {
        self.calm.load(Relaxed).then(|| self.placement.cpu(processor))
    }

    /// The calling thread has taken hold of a processor: moves it to that one's CPU.
    pub(crate) fn arrive(&self, processor: usize) {
        let number = Thread::current().number() as usize;
        self.placement.arrive(processor, number, |cpu| {
            Thread::HERE.pin(cpu);
        });
        // After the fences of `arrive`; pairs with the one in `fall_asleep`.
        if self.asleep.load(Relaxed) {
            self.wake_watcher();
        }
    }

    /// The calling thread lets a processor go.
    pub(crate) fn leave(&self, processor: usize) {
        self.placement.leave(processor);
    }

    /// The calling thread, which has let its processor go, is about to leave the pool: from now on nobody pins it.
    pub(crate) fn left(&self) {
        drop(self.exchanging());
    }

    fn exchanging(&self) -> MutexGuard<'_, ()> {
        self.exchanging.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the watcher.
    fn start(self: &Arc<Self>, pool: Arc<PoolCore>) -> io::Result<()> {
        let mut watcher = self.watcher.lock().unwrap_or_else(PoisonError::into_inner);
        let name = "bombyx-watcher".to_owned();
        let this = Arc::clone(self);
        *watcher = Some(thread::Builder::new().name(name).spawn(move || this.watch(&pool))?);
        Ok(())
    }

    /// Stops the watcher and waits for its end.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, SeqCst);
        self.wake_watcher();
        let watcher = self.watcher.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(watcher) = watcher {
            watcher.join().unwrap_or_else(|_| unreachable!("the watcher does not panic"));
        }
    }

    #[cold]
    fn wake_watcher(&self) {
        if let Some(watcher) = self.watcher.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            watcher.thread().unpark();
        }
    }

    fn watch(&self, pool: &PoolCore) {
        // A thread inherits the CPU of the one that started it.
        Thread::HERE.unpin();
        let mut watch = Watch::new(self, pool.processors());
        let mut nap = NAP;
        while !self.stopping.load(SeqCst) {
            let held = (0..self.speeds.len()).filter(|&index| self.placement.holder(index) != 0).count();
            if held == 0 {
                self.fall_asleep();
                nap = NAP;
                continue;
            }
            let calm = watch.now() - watch.uneven >= CALM;
            self.calm.store(calm, Relaxed);
            nap = next_nap(nap, held == self.speeds.len(), calm);
            thread::park_timeout(nap);
            watch.look();
        }
    }

    /// Waits until somebody arrives.
    fn fall_asleep(&self) {
        self.asleep.store(true, SeqCst);
        // Pairs with the fences of `Placement::arrive`: the look sees the holder, or the holder sees the sleeper.
        fence(SeqCst);
        if (0..self.speeds.len()).all(|index| self.placement.holder(index) == 0)
            && !self.stopping.load(SeqCst)
        {
            thread::park();
        }
        self.asleep.store(false, SeqCst);
    }
}

/// How long the watcher sleeps after it has slept for `nap`.
fn next_nap(nap: Duration, all_busy: bool, calm: bool) -> Duration {
    let least = if all_busy { LONG_NAP } else { NAP };
    if calm { (nap * 2).clamp(least, CALM_NAP) } else { least }
}

/// What a thief sees of a victim.
#[derive(Clone, Copy, Debug)]
struct Victim {
    busy: bool,
    empty: bool,
    speed: u64,
}

/// Whether an idle processor mugs this victim: Bender and Rabin, Figure 2, line 3. The simulator has the same rule.
fn mugs(beta: Beta, thief: u64, victim: Victim) -> bool {
    victim.busy && victim.empty && beta.exceeded_by(thief, victim.speed)
}

/// What the watcher knows.
struct Watch<'a> {
    shared: &'a Heterogeneous,
    processors: &'a [Processor],
    start: Instant,
    estimates: Vec<Estimate>,
    /// Whether each CPU, as known by the processor it belongs to, gives less than its capacity by more than β.
    slow: Vec<bool>,
    /// Until when each processor takes part in no exchange.
    settles: Vec<u64>,
    /// When two speeds were last found to differ by more than β; at first, the start.
    uneven: u64,
}

impl<'a> Watch<'a> {
    fn new(shared: &'a Heterogeneous, processors: &'a [Processor]) -> Watch<'a> {
        let capacities = speed::relative(&affinity::capacities(affinity::cpus()));
        let estimates =
            capacities.iter().cycle().take(processors.len()).map(|&capacity| Estimate::unknown(capacity));
        Watch {
            shared,
            processors,
            start: Instant::now(),
            estimates: estimates.collect(),
            slow: vec![false; processors.len()],
            settles: vec![0; processors.len()],
            uneven: 0,
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Whether the speeds, as just published, differ by more than β.
    fn is_uneven(&self) -> bool {
        let speeds = || self.shared.speeds.iter().map(|speed| speed.load(Relaxed));
        let (fastest, slowest) = (speeds().max().unwrap_or(FULL), speeds().min().unwrap_or(FULL));
        self.shared.beta.exceeded_by(fastest, slowest)
    }

    /// Reads the clocks; lets one processor mug another one if that is due.
    fn look(&mut self) {
        self.read();
        let now = self.now();
        let Some((thief, mut victim)) = self.candidates(now) else { return };
        if !self.estimates[thief].is_fresh(now) {
            if !self.waits_for_its_cpu(victim) {
                self.estimates[victim].forget();
                return;
            }
            self.probe(thief);
            match self.candidates(self.now()) {
                Some((still, other)) if still == thief => victim = other,
                _ => return,
            }
        }
        if self.waits_for_its_cpu(victim) {
            self.exchange(thief, victim);
        } else {
            self.estimates[victim].forget();
        }
    }

    /// Whether a busy processor's carrier has no other reason not to run than its CPU.
    fn waits_for_its_cpu(&self, processor: usize) -> bool {
        self.holder(processor).is_some_and(Thread::is_runnable)
    }

    fn holder(&self, processor: usize) -> Option<Thread> {
        Thread::from_number(u32::try_from(self.shared.placement.holder(processor)).unwrap_or_default())
    }

    /// Reads the clocks of all carriers that are busy, and publishes the speeds.
    fn read(&mut self) {
        for (index, processor) in self.processors.iter().enumerate() {
            if let Some(reading) = self.reading(index, processor) {
                self.estimates[index].read(reading);
                let slow = self.estimates[index].is_slow(self.shared.beta);
                if slow && !self.slow[index] {
                    self.doubt_idle();
                }
                self.slow[index] = slow;
            }
            self.shared.speeds[index].store(self.estimates[index].speed(self.now()), Relaxed);
        }
        if self.is_uneven() {
            self.uneven = self.now();
        }
    }

    /// Forgets how fast idle processors are: what has just slowed a busy one may have come from their CPUs.
    fn doubt_idle(&mut self) {
        for index in 0..self.processors.len() {
            if self.holder(index).is_none() {
                self.estimates[index].forget();
            }
        }
    }

    fn reading(&self, index: usize, processor: &Processor) -> Option<Reading> {
        let spell = processor.busy_spell()?;
        let holder = self.holder(index)?;
        let now = self.now();
        let used = holder.cpu_time()?;
        (self.now() - now < TOGETHER).then_some(Reading { now, holder, spell, used })
    }

    /// The fastest idle processor and the slowest one that it would mug.
    fn candidates(&self, now: u64) -> Option<(usize, usize)> {
        let all = 0..self.processors.len();
        let thief = all
            .clone()
            .filter(|&index| self.holder(index).is_none() && now >= self.settles[index])
            .max_by_key(|&index| self.speed_of_idle(index, now))?;
        let speed = self.speed_of_idle(thief, now);
        let victim = all
            .filter(|&index| now >= self.settles[index] && self.cpu(index) != self.cpu(thief))
            .map(|index| (index, self.victim(index, now)))
            .filter(|&(_, victim)| mugs(self.shared.beta, speed, victim))
            .min_by_key(|(_, victim)| victim.speed)?;
        Some((thief, victim.0))
    }

    fn cpu(&self, processor: usize) -> usize {
        self.shared.placement.cpu(processor)
    }

    fn victim(&self, index: usize, now: u64) -> Victim {
        let processor = &self.processors[index];
        Victim {
            busy: processor.is_busy() && self.holder(index).is_some(),
            empty: !processor.has_something(),
            speed: self.estimates[index].speed(now),
        }
    }

    /// How fast an idle processor would be: where there are more processors than CPUs it shares its CPU with others.
    fn speed_of_idle(&self, index: usize, now: u64) -> u64 {
        let here = |&other: &usize| self.cpu(other) == self.cpu(index) && self.holder(other).is_some();
        let company = (0..self.processors.len()).filter(here).count() as u64;
        self.estimates[index].speed(now).min(FULL / (company + 1))
    }

    /// Finds out how much of the CPU of an idle processor there is to be had, unless it finds work meanwhile.
    fn probe(&mut self, thief: usize) {
        if !Thread::HERE.pin(self.cpu(thief)) {
            let now = self.now();
            self.processors[thief].stats.refused.add(1);
            self.estimates[thief].unusable(now);
            return;
        }
        let here = Thread::current();
        let used = || here.cpu_time().unwrap_or_default();
        let (start, used_before) = (self.now(), used());
        let mut read = start;
        let probed = loop {
            let now = self.now();
            if now - start >= PROBE {
                break Some((now, used() - used_before));
            }
            if self.holder(thief).is_some() || self.shared.stopping.load(Relaxed) {
                break None;
            }
            if now - read >= PROBE / 8 {
                self.read();
                read = now;
            }
            hint::spin_loop();
        };
        Thread::HERE.unpin();
        if let Some((now, received)) = probed {
            self.estimates[thief].probed(now, received, now - start);
        }
    }

    fn exchange(&mut self, thief: usize, victim: usize) {
        let pin = |carrier: usize, cpu| {
            u32::try_from(carrier).ok().and_then(Thread::from_number).is_none_or(|carrier| carrier.pin(cpu))
        };
        let exchanging = self.shared.exchanging();
        let exchanged = self.shared.placement.exchange(victim, thief, pin);
        drop(exchanging);
        let now = self.now();
        let stats = &self.processors[thief].stats;
        if exchanged {
            stats.muggings.add(1);
            self.estimates.swap(thief, victim);
            self.slow.swap(thief, victim);
            for processor in [thief, victim] {
                self.estimates[processor].moved();
                self.settles[processor] = now + SETTLE;
            }
        } else {
            stats.refused.add(1);
            self.estimates[thief].unusable(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Beta, CALM_NAP, FULL, LONG_NAP, NAP, Victim, mugs, next_nap};

    #[test]
    fn mugs_who_is_busy_without_entries_and_slower_by_more_than_beta() {
        let beta = Beta::new(5, 4).unwrap();
        let slow = Victim { busy: true, empty: true, speed: FULL / 2 };
        assert!(mugs(beta, FULL, slow));
        assert!(!mugs(beta, FULL, Victim { busy: false, ..slow }));
        assert!(!mugs(beta, FULL, Victim { empty: false, ..slow }));
        assert!(!mugs(beta, FULL / 2, slow));
        assert!(mugs(beta, 1001, Victim { speed: 800, ..slow }));
        assert!(!mugs(beta, 1000, Victim { speed: 800, ..slow }));
    }

    #[test]
    fn naps_grow_while_speeds_are_equal_and_are_short_again_at_once() {
        let grown = (0..10).fold(NAP, |nap, _| next_nap(nap, false, true));
        assert_eq!(grown, CALM_NAP);
        assert_eq!(next_nap(NAP, true, true), LONG_NAP);
        assert_eq!(next_nap(grown, false, false), NAP);
        assert_eq!(next_nap(grown, true, false), LONG_NAP);
    }

    #[test]
    fn with_speeds_within_beta_nobody_mugs() {
        for (numerator, denominator) in [(1, 1), (5, 4), (3, 2), (2, 1)] {
            let beta = Beta::new(numerator, denominator).unwrap();
            for speed in 1..=FULL {
                let fastest = speed * numerator / denominator;
                assert!(!mugs(beta, fastest, Victim { busy: true, empty: true, speed }));
            }
        }
    }

    #[test]
    fn to_undo_a_mugging_the_ratio_must_change_by_beta_squared() {
        let beta = Beta::new(3, 2).unwrap();
        for (fast, slow) in (1..=64).flat_map(|fast| (1..=64).map(move |slow| (fast, slow))) {
            if mugs(beta, fast, Victim { busy: true, empty: true, speed: slow }) {
                // β² is 9/4: up to there nothing is undone.
                for (fast_later, slow_later) in [(fast, slow), (fast * 2, slow * 3), (fast * 4, slow * 9)] {
                    assert!(!mugs(beta, slow_later, Victim { busy: true, empty: true, speed: fast_later }));
                }
            }
        }
        // Just beyond, it is: the bound is tight.
        assert!(mugs(beta, 151, Victim { busy: true, empty: true, speed: 100 }));
        assert!(mugs(beta, 100 * 10, Victim { busy: true, empty: true, speed: 151 * 4 }));
    }
}
