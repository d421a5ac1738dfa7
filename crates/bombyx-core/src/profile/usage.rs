//! What the system says about the process and the machine: how much CPU time the process got, how often it had to stop,
//! and who else wanted the CPUs.

use bombyx_base::profile::Machine;
use std::fs;

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
        Used::of(libc::RUSAGE_SELF)
    }

    /// The figures of the calling thread alone. `None` if the system does not say.
    #[cfg(target_os = "linux")]
    pub(crate) fn of_thread() -> Option<Used> {
        Used::of(libc::RUSAGE_THREAD)
    }

    #[cfg(target_os = "linux")]
    fn of(whom: libc::c_int) -> Option<Used> {
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
        // SAFETY: the call writes the structure that it is given, and the structure has the right type.
        if unsafe { libc::getrusage(whom, usage.as_mut_ptr()) } != 0 {
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

/// The most memory that the process had, in bytes. 0 if the system does not say.
pub(crate) fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.and_then(|kib| kib.trim().trim_end_matches("kB").trim().parse::<u64>().ok())
        .map_or(0, |kib| kib << 10)
}

/// The machine. `None` if the system does not say how many CPUs there are.
pub(crate) fn machine() -> Option<Machine> {
    let cpus = std::thread::available_parallelism().ok()?.get() as u32;
    let caches = fs::read_dir("/sys/devices/system/cpu/cpu0/cache").into_iter().flatten().flatten();
    let sizes = caches.filter_map(|cache| fs::read_to_string(cache.path().join("size")).ok());
    Some(Machine { cpus, cache_bytes: sizes.filter_map(|size| bytes(&size)).max().unwrap_or(0) })
}

/// `32K` or `16M`, as the system writes sizes of caches.
fn bytes(size: &str) -> Option<u64> {
    let size = size.trim();
    let (number, shift) = match size.strip_suffix('K') {
        Some(number) => (number, 10),
        None => match size.strip_suffix('M') {
            Some(number) => (number, 20),
            None => (size, 0),
        },
    };
    number.parse::<u64>().ok().map(|number| number << shift)
}

/// What disturbs all programs of the machine, counted since it was started. 0 if the system does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Disturbed {
    /// Time that a hypervisor took from the CPUs.
    pub(crate) stolen_ns: u64,
    /// Time in which some thread could have gone on and had no CPU.
    pub(crate) pressure_ns: u64,
}

impl Disturbed {
    pub(crate) fn now() -> Disturbed {
        let text = |file: &str| fs::read_to_string(file).unwrap_or_default();
        Disturbed {
            stolen_ns: stolen_ns(&text("/proc/stat")).unwrap_or(0),
            pressure_ns: pressure_ns(&text("/proc/pressure/cpu")).unwrap_or(0),
        }
    }

    /// What came after `before`.
    pub(crate) fn since(self, before: Disturbed) -> Disturbed {
        Disturbed {
            stolen_ns: self.stolen_ns.saturating_sub(before.stolen_ns),
            pressure_ns: self.pressure_ns.saturating_sub(before.pressure_ns),
        }
    }
}

/// The eighth number of the first line of `/proc/stat` (proc_stat(5)), which counts hundredths of a second.
fn stolen_ns(stat: &str) -> Option<u64> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    line.split_whitespace().nth(7)?.parse::<u64>().ok().map(|ticks| ticks * 10_000_000)
}

/// The total of the line `some` in `/proc/pressure/cpu`, which counts microseconds.
fn pressure_ns(pressure: &str) -> Option<u64> {
    let some = pressure.lines().find(|line| line.starts_with("some "))?;
    let total = some.split_whitespace().find_map(|word| word.strip_prefix("total="))?;
    total.parse::<u64>().ok().map(|us| us * 1000)
}

/// How old the process is at least, in nanoseconds. The system counts hundredths of a second, and this is at most one of
/// them too little. No time on a CPU is missing. 0 if the system does not say.
#[cfg(target_os = "linux")]
pub(crate) fn age_ns() -> u64 {
    let began_before = || -> Option<u64> {
        let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
        // The name, in parentheses, may contain anything. The 20th field after it is when the process began.
        let ticks: u64 = stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()?;
        // SAFETY: the call has no preconditions.
        let per_second =
            u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).ok().filter(|&n| n > 0)?;
        // The system cuts off what is left of a tick.
        Some((ticks + 1) * (1_000_000_000 / per_second))
    };
    let mut now = std::mem::MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the call writes the structure that it is given, and the structure has the right type.
    if unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, now.as_mut_ptr()) } != 0 {
        return 0;
    }
    // SAFETY: the call succeeded, so it has written all of it.
    let now = unsafe { now.assume_init() };
    let now = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
    let age = began_before().map_or(0, |began| now.saturating_sub(began));
    age.max(Used::now().map_or(0, |used| used.cpu_ns))
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
        assert!(age_ns() > 0 && peak_memory() > 0);
    }

    #[test]
    fn the_machine_is_described() {
        assert!(machine().is_some_and(|machine| machine.cpus > 0));
        assert_eq!(["32K\n", "16M\n", "7", "x"].map(bytes), [Some(32 << 10), Some(16 << 20), Some(7), None]);
        let stat = "cpu  78801 53507 19301 84251 401 0 75 215 0 0\ncpu0 1 2\n";
        assert_eq!((stolen_ns(stat), stolen_ns("cpu0 1"), stolen_ns("")), (Some(2_150_000_000), None, None));
        let pressure = "some avg10=99.74 avg60=99.04 avg300=64.57 total=352016653\nfull avg10=0.00 total=7\n";
        assert_eq!((pressure_ns(pressure), pressure_ns("full total=1")), (Some(352_016_653_000), None));
    }
}
