//! How long the calling thread had no CPU, whether it wanted one, and how often it waited.
//!
//! The system counts, for each thread, the time on a CPU, and the time in which the thread could have gone on but waited
//! for a CPU (`schedstat` in proc(5)). In the rest of the time the thread slept, or waited for a lock, a file or another
//! thread. A strand that waits for a CPU does not work, and that is not the program's fault. So this time is not part of the
//! strand, and strands are as long on a busy machine, or with more processors than CPUs, as on an idle machine.
//!
//! It also counts how often a thread gave up its CPU. A thread that finds a lock taken spins before it sleeps, so the time
//! asleep alone does not show a lock that is held for a few microseconds. The number of waits does.

use std::fs::File;

/// What a thread has read last.
pub(super) struct Presence {
    /// The system's figures of this thread. `None` before the first question.
    file: Option<File>,
    /// Whether the system does not answer.
    silent: bool,
    last: Reading,
}

/// In nanoseconds, since the thread began.
#[derive(Clone, Copy)]
struct Reading {
    on_cpu: u64,
    delayed: u64,
    /// How often the thread gave up its CPU.
    waits: u64,
}

/// The time without a CPU, and how often the thread gave it up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Absent {
    /// The thread could have gone on.
    pub(super) delayed_ns: u64,
    /// The thread slept or waited.
    pub(super) asleep_ns: u64,
    /// How often it slept or waited.
    pub(super) waits: u64,
}

impl Reading {
    /// What was missing from here to `now`, `passed_ns` later.
    ///
    /// The system likes to take the CPU away at the end of a call, such as the one that reads these figures. Such a delay
    /// is no part of the time that passed, so there is never more delay than time off the CPU.
    fn absent(self, now: Reading, passed_ns: u64) -> Absent {
        /// Both clocks are read at slightly different times.
        const NOISE: u64 = 20_000;
        let off = passed_ns.saturating_sub(now.on_cpu.saturating_sub(self.on_cpu));
        let delayed_ns = now.delayed.saturating_sub(self.delayed).min(off);
        let asleep_ns = off - delayed_ns;
        Absent {
            delayed_ns,
            asleep_ns: if asleep_ns < NOISE { 0 } else { asleep_ns },
            waits: now.waits.saturating_sub(self.waits),
        }
    }
}

impl Presence {
    pub(super) const fn new() -> Presence {
        Presence { file: None, silent: false, last: Reading { on_cpu: 0, delayed: 0, waits: 0 } }
    }

    /// What follows counts.
    pub(super) fn begin(&mut self) {
        match self.read() {
            Some(reading) => self.last = reading,
            None => self.silent = true,
        }
    }

    /// The calling thread's time without a CPU since it was last asked, `passed_ns` ago.
    pub(super) fn absent(&mut self, passed_ns: u64) -> Option<Absent> {
        let reading = self.read()?;
        let last = std::mem::replace(&mut self.last, reading);
        Some(last.absent(reading, passed_ns))
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    fn read(&mut self) -> Option<Reading> {
        use std::os::unix::fs::FileExt as _;
        if self.silent {
            return None;
        }
        if self.file.is_none() {
            self.file = File::open("/proc/thread-self/schedstat").ok();
        }
        let mut text = [0; 96];
        let length = self.file.as_ref()?.read_at(&mut text, 0).ok()?;
        // The first number is the time on a CPU as of the last tick of the system, so that time is asked for.
        let delayed = std::str::from_utf8(&text[..length]).ok()?.split_whitespace().nth(1)?.parse().ok()?;
        let mut time = std::mem::MaybeUninit::<libc::timespec>::uninit();
        // SAFETY: the call writes the structure that it is given, and the structure has the right type.
        if unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, time.as_mut_ptr()) } != 0 {
            return None;
        }
        // SAFETY: the call succeeded, so it has written all of it.
        let time = unsafe { time.assume_init() };
        let waits = super::usage::waits_of_thread()?;
        Some(Reading { on_cpu: time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64, delayed, waits })
    }

    #[cfg(not(all(target_os = "linux", not(miri))))]
    fn read(&mut self) -> Option<Reading> {
        None
    }
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn only_what_was_missing_is_taken_away() {
        let before = Reading { on_cpu: 1_000_000, delayed: 500_000, waits: 7 };
        let after = |on_cpu: u64, delayed: u64| Reading {
            on_cpu: 1_000_000 + on_cpu,
            delayed: 500_000 + delayed,
            waits: 9,
        };
        let absent = |now: Reading, passed| {
            let Absent { delayed_ns, asleep_ns, waits } = before.absent(now, passed);
            assert_eq!(waits, 2);
            (delayed_ns, asleep_ns)
        };
        assert_eq!(absent(after(1_000_000, 0), 1_000_000), (0, 0));
        assert_eq!(absent(after(200_000, 4_000_000), 4_200_000), (4_000_000, 0));
        assert_eq!(absent(after(200_000, 1_000_000), 5_200_000), (1_000_000, 4_000_000));
        assert_eq!(absent(after(500_000, 4_000_000), 505_000), (5_000, 0), "the delay was before");
        assert_eq!(absent(after(510_000, 4_000_000), 500_000), (0, 0));
    }

    #[test]
    fn sleep_is_told_from_work() {
        let mut presence = Presence::new();
        presence.begin();
        if presence.silent {
            return; // A system without these figures.
        }
        let start = Instant::now();
        std::thread::sleep(Duration::from_millis(20));
        let slept = presence.absent(start.elapsed().as_nanos() as u64).unwrap();
        assert!(slept.asleep_ns >= 15_000_000 && slept.waits >= 1, "{slept:?}");
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(5) {}
        let passed = start.elapsed().as_nanos() as u64;
        let worked = presence.absent(passed).unwrap();
        assert!(worked.asleep_ns < passed / 2, "{worked:?}");
    }
}
