//! Time as the profiler and the trace read it: the CPU's cycle counter if it is steady, else the system's monotonic clock. A *tick*
//! is whatever the clock counts. Only [`Scale`] turns ticks into nanoseconds, at the very end, by comparing how far
//! both clocks got over the life of the program.
//!
//! A strand runs on one thread from its beginning to its end, so its length is the difference of two readings on the
//! same thread. That is why tests can use a virtual clock that each thread advances by hand. What they measure is then
//! exact, wherever the strands ran.

use bombyx_base::profile;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Which clock a profiler uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// The time stamp counter of x86-64.
    #[cfg(target_arch = "x86_64")]
    Tsc,
    /// Nanoseconds of [`Instant`].
    Monotonic,
    /// A virtual clock: the calling thread's own count ([`advance`]).
    #[cfg(test)]
    Virtual,
}

impl Clock {
    /// The cheapest clock that is steady here.
    pub(crate) fn best() -> Clock {
        #[cfg(target_arch = "x86_64")]
        if tsc::is_invariant() {
            return Clock::Tsc;
        }
        Clock::Monotonic
    }

    /// The reading, in ticks.
    #[inline(always)]
    pub(crate) fn now(self) -> u64 {
        match self {
            #[cfg(target_arch = "x86_64")]
            Clock::Tsc => tsc::read(),
            Clock::Monotonic => monotonic(),
            #[cfg(test)]
            Clock::Virtual => VIRTUAL.get(),
        }
    }

    /// What profiles say of it.
    pub(crate) fn named(self) -> profile::Clock {
        match self {
            #[cfg(target_arch = "x86_64")]
            Clock::Tsc => profile::Clock::Tsc,
            Clock::Monotonic => profile::Clock::Monotonic,
            #[cfg(test)]
            Clock::Virtual => profile::Clock::Monotonic,
        }
    }

    /// Whether it goes on by itself.
    pub(crate) fn is_real(self) -> bool {
        match self {
            #[cfg(test)]
            Clock::Virtual => false,
            _ => true,
        }
    }

    /// Nanoseconds per tick, to a few parts in a hundred thousand. Measured once per process.
    pub(crate) fn ns_per_tick(self) -> f64 {
        static MEASURED: OnceLock<f64> = OnceLock::new();
        if self.counts_nanoseconds() {
            return 1.0;
        }
        *MEASURED.get_or_init(|| Scale::new(self).ns_per_tick())
    }

    /// Whether a tick is a nanosecond.
    fn counts_nanoseconds(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Clock::Tsc => false,
            Clock::Monotonic => true,
            #[cfg(test)]
            Clock::Virtual => true,
        }
    }
}

#[cold]
fn monotonic() -> u64 {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    u64::try_from(ORIGIN.get_or_init(Instant::now).elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Compares a clock with the system's clock, from the time when this is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    clock: Clock,
    ticks: u64,
    instant: Instant,
}

/// How long two clocks must have run before their ratio is exact to a few parts in a hundred thousand.
const COMPARED: Duration = Duration::from_millis(2);

impl Scale {
    pub(crate) fn new(clock: Clock) -> Scale {
        let (ticks, instant) = Scale::both(clock);
        Scale { clock, ticks, instant }
    }

    /// Reads both clocks at the same time, as nearly as several tries allow: the thread may be interrupted between the
    /// readings.
    fn both(clock: Clock) -> (u64, Instant) {
        const TRIES: usize = 8;
        let read = || {
            let before = clock.now();
            let instant = Instant::now();
            let between = clock.now().saturating_sub(before);
            (between, before + between / 2, instant)
        };
        let (_, ticks, instant) =
            (1..TRIES).map(|_| read()).fold(read(), |best, next| if next.0 < best.0 { next } else { best });
        (ticks, instant)
    }

    /// Nanoseconds per tick. Waits if the clocks have not run long enough to say.
    pub(crate) fn ns_per_tick(&self) -> f64 {
        if self.clock.counts_nanoseconds() {
            return 1.0;
        }
        while self.instant.elapsed() < COMPARED {
            std::hint::spin_loop();
        }
        let (ticks, instant) = Scale::both(self.clock);
        instant.duration_since(self.instant).as_nanos() as f64 / (ticks - self.ticks) as f64
    }
}

#[cfg(target_arch = "x86_64")]
mod tsc {
    use std::arch::x86_64::{__cpuid, _rdtsc};

    /// Whether the counter runs at one rate, whatever the processor's frequency, and never stops.
    pub(super) fn is_invariant() -> bool {
        const POWER_MANAGEMENT: u32 = 0x8000_0007;
        const INVARIANT: u32 = 1 << 8;
        if cfg!(miri) {
            return false; // Miri knows neither instruction.
        }
        #[allow(unused_unsafe)] // Not unsafe in newer toolchains.
        // SAFETY: every x86-64 processor has `cpuid`; a leaf is read only if the processor says that it has it.
        unsafe {
            __cpuid(0x8000_0000).eax >= POWER_MANAGEMENT && __cpuid(POWER_MANAGEMENT).edx & INVARIANT != 0
        }
    }

    #[inline(always)]
    pub(super) fn read() -> u64 {
        // SAFETY: every x86-64 processor has the counter. (A system that forbids reading it does not call it invariant.)
        unsafe { _rdtsc() }
    }
}

#[cfg(test)]
thread_local! {
    static VIRTUAL: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Lets time pass on the calling thread's virtual clock.
#[cfg(test)]
pub(crate) fn advance(ticks: u64) {
    VIRTUAL.set(VIRTUAL.get() + ticks);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_clock_goes_on_and_can_be_scaled() {
        let clock = Clock::best();
        let scale = Scale::new(clock);
        let (start, started) = (clock.now(), Instant::now());
        while started.elapsed() < Duration::from_millis(1) {}
        let ns = (clock.now() - start) as f64 * scale.ns_per_tick();
        assert!(ns > 0.99e6, "{ns} ns of at least 1 ms");
    }

    #[test]
    fn virtual_time_is_each_threads_own() {
        advance(5);
        let other = std::thread::spawn(|| {
            advance(7);
            Clock::Virtual.now()
        });
        assert_eq!((Clock::Virtual.now(), other.join().unwrap()), (5, 7));
    }
}
