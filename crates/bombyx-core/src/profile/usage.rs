//! What the system says about the process and the machine: how much CPU time the process got, how often its threads
//! waited, what other processes used, and what a hypervisor took.

use bombyx_base::profile::Machine;
use std::fs;
use std::time::Instant;

/// The time of all threads of the process on CPUs, in nanoseconds. `None` if the system does not say.
#[cfg(target_os = "linux")]
pub(crate) fn cpu_ns() -> Option<u64> {
    let used = used_by(libc::RUSAGE_SELF)?;
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    Some(ns(used.ru_utime) + ns(used.ru_stime))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn cpu_ns() -> Option<u64> {
    None
}

/// How often the calling thread gave up its CPU: it slept, or waited for a lock, a file, a child.
#[cfg(target_os = "linux")]
pub(crate) fn waits_of_thread() -> Option<u64> {
    used_by(libc::RUSAGE_THREAD).map(|used| used.ru_nvcsw as u64)
}

#[cfg(target_os = "linux")]
fn used_by(whom: libc::c_int) -> Option<libc::rusage> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: the call writes the structure that it is given, and the structure has the right type.
    if unsafe { libc::getrusage(whom, usage.as_mut_ptr()) } != 0 {
        return None;
    }
    // SAFETY: the call succeeded, so it has written all of it.
    Some(unsafe { usage.assume_init() })
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

/// What the CPUs have done until some time: the system's sums over all of them, and the process's own part.
#[derive(Clone, Copy)]
pub(crate) struct Census {
    at: Instant,
    sums: Sums,
    own_ns: u64,
}

/// The system's sums since the machine was started. It counts hundredths of a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sums {
    cpus: u64,
    idle_ns: u64,
    /// What a hypervisor took.
    stolen_ns: u64,
}

/// What the CPUs have done since another time, besides running this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Elsewhere {
    pub(crate) others_ns: u64,
    pub(crate) stolen_ns: u64,
}

impl Census {
    /// `None` if the system does not say.
    pub(crate) fn now() -> Option<Census> {
        let stat = fs::read_to_string("/proc/stat").ok()?;
        Some(Census { at: Instant::now(), sums: Sums::of(&stat)?, own_ns: cpu_ns()? })
    }

    pub(crate) fn since(&self, then: &Census) -> Elsewhere {
        let passed_ns = self.at.duration_since(then.at).as_nanos() as u64 * self.sums.cpus;
        let stolen_ns = self.sums.stolen_ns.saturating_sub(then.sums.stolen_ns);
        let idle_ns = self.sums.idle_ns.saturating_sub(then.sums.idle_ns);
        let own_ns = self.own_ns.saturating_sub(then.own_ns);
        Elsewhere { others_ns: passed_ns.saturating_sub(stolen_ns + idle_ns + own_ns), stolen_ns }
    }
}

impl Sums {
    /// From the text of `/proc/stat` (proc_stat(5)). In its first line, the fourth and the fifth number are the time in which
    /// CPUs had nothing to do, and the eighth is the time that a hypervisor took.
    fn of(stat: &str) -> Option<Sums> {
        let mut lines = stat.lines().take_while(|line| line.starts_with("cpu"));
        let all: Vec<u64> = lines
            .next()?
            .strip_prefix("cpu ")?
            .split_whitespace()
            .map(|ticks| ticks.parse::<u64>().ok()?.checked_mul(10_000_000))
            .collect::<Option<_>>()?;
        let idle_ns = all.get(3)?.checked_add(*all.get(4)?)?;
        Some(Sums { cpus: lines.count() as u64, idle_ns, stolen_ns: *all.get(7)? })
    }
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
    age.max(cpu_ns().unwrap_or(0))
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
        let waits = waits_of_thread().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(1));
        assert!(waits_of_thread().unwrap() > waits);
        let used = cpu_ns().unwrap();
        while cpu_ns().unwrap() < used + 2_000_000 {}
        assert!(age_ns() > 0 && peak_memory() > 0);
    }

    #[test]
    fn the_machine_is_described() {
        assert!(machine().is_some_and(|machine| machine.cpus > 0));
        assert_eq!(["32K\n", "16M\n", "7", "x"].map(bytes), [Some(32 << 10), Some(16 << 20), Some(7), None]);
    }

    #[test]
    fn what_others_used_is_what_remains() {
        let stat = "cpu  78801 53507 19301 84251 401 0 75 215 0 0\ncpu0 1 2\ncpu1 1 2\nintr 5\n";
        let sums = Sums { cpus: 2, idle_ns: 846_520_000_000, stolen_ns: 2_150_000_000 };
        assert_eq!([stat, "cpu0 1", "cpu  1 2 3", ""].map(Sums::of), [Some(sums), None, None, None]);
        let then = Census { at: Instant::now(), sums, own_ns: 1_000 };
        let later =
            Sums { idle_ns: sums.idle_ns + 40_000_000, stolen_ns: sums.stolen_ns + 10_000_000, ..sums };
        let at = then.at + std::time::Duration::from_millis(100);
        let now = Census { at, sums: later, own_ns: 90_001_000 };
        assert_eq!(now.since(&then), Elsewhere { others_ns: 60_000_000, stolen_ns: 10_000_000 });
        assert!(Census::now().is_some(), "Linux says all of this");
    }
}
