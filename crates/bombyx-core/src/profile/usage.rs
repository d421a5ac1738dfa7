//! What the system says about the process and the machine: how much CPU time the process got, how often its threads
//! waited, and what a hypervisor took.

use bombyx_base::profile::Machine;
use std::fs;

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

/// The time that a hypervisor took from the CPUs since the machine was started. 0 if the system does not say.
pub(crate) fn stolen_ns() -> u64 {
    fs::read_to_string("/proc/stat").ok().and_then(|stat| stolen_ns_in(&stat)).unwrap_or(0)
}

/// The eighth number of the first line of `/proc/stat` (proc_stat(5)), which counts hundredths of a second.
fn stolen_ns_in(stat: &str) -> Option<u64> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    line.split_whitespace().nth(7)?.parse::<u64>().ok().map(|ticks| ticks * 10_000_000)
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
        let stat = "cpu  78801 53507 19301 84251 401 0 75 215 0 0\ncpu0 1 2\n";
        assert_eq!([stat, "cpu0 1", ""].map(stolen_ns_in), [Some(2_150_000_000), None, None]);
    }
}
