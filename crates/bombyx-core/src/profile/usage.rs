//! What the system says about the process: how much CPU time it got, and how often it had to stop.

/// Counted since the process began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Used {
    /// Time on a CPU, of all threads.
    pub(crate) cpu_ns: u64,
    /// How often a thread gave up its CPU: it slept, or waited for a lock, a file, a child.
    pub(crate) voluntary: u64,
    /// How often the system took a CPU from a thread that could have gone on.
    pub(crate) involuntary: u64,
}

impl Used {
    /// What came after `before`.
    pub(crate) fn since(self, before: Used) -> Used {
        Used {
            cpu_ns: self.cpu_ns.saturating_sub(before.cpu_ns),
            voluntary: self.voluntary.saturating_sub(before.voluntary),
            involuntary: self.involuntary.saturating_sub(before.involuntary),
        }
    }

    pub(crate) fn plus(self, more: Used) -> Used {
        Used {
            cpu_ns: self.cpu_ns + more.cpu_ns,
            voluntary: self.voluntary + more.voluntary,
            involuntary: self.involuntary + more.involuntary,
        }
    }

    /// The figures until now. `None` if the system does not say.
    #[cfg(target_os = "linux")]
    pub(crate) fn now() -> Option<Used> {
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
        // SAFETY: the call writes the structure that it is given, and the structure has the right type.
        if unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) } != 0 {
            return None;
        }
        // SAFETY: the call succeeded, so it has written all of it.
        let usage = unsafe { usage.assume_init() };
        let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
        Some(Used {
            cpu_ns: ns(usage.ru_utime) + ns(usage.ru_stime),
            voluntary: usage.ru_nvcsw as u64,
            involuntary: usage.ru_nivcsw as u64,
        })
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn now() -> Option<Used> {
        None
    }
}

/// How old the process is, in nanoseconds, to within a hundredth of a second. 0 if the system does not say.
#[cfg(target_os = "linux")]
pub(crate) fn age_ns() -> u64 {
    let began = || -> Option<u64> {
        let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
        // The name, in parentheses, may contain anything. The 20th field after it is when the process began.
        let ticks: u64 = stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()?;
        // SAFETY: the call has no preconditions.
        let per_second =
            u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).ok().filter(|&n| n > 0)?;
        Some(ticks * (1_000_000_000 / per_second))
    };
    let mut now = std::mem::MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the call writes the structure that it is given, and the structure has the right type.
    if unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, now.as_mut_ptr()) } != 0 {
        return 0;
    }
    // SAFETY: the call succeeded, so it has written all of it.
    let now = unsafe { now.assume_init() };
    let now = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
    began().map_or(0, |began| now.saturating_sub(began))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn age_ns() -> u64 {
    0
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn work_uses_cpu_time_and_sleep_does_not() {
        let before = Used::now().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(1));
        let slept = Used::now().unwrap();
        assert!(slept.since(before).voluntary >= 1);
        let mut ns = 0;
        while ns < 2_000_000 {
            ns = Used::now().unwrap().since(slept).cpu_ns;
        }
        assert!(age_ns() > 0);
    }
}
