//! What the operating system knows about this process: resident memory and processor time. Everything is optional,
//! because not every system tells.

use std::fs;

/// Measures the peak of resident memory between its making and [`Peak::bytes`].
pub(crate) struct Peak {
    /// Resident when the measurement began.
    before: u64,
}

impl Peak {
    /// Forgets earlier peaks and starts.
    pub(crate) fn start() -> Option<Self> {
        // "5" sets the peak to what is resident now (proc_pid_clear_refs(5)).
        fs::write("/proc/self/clear_refs", "5").ok()?;
        Some(Self { before: status("VmRSS:")? })
    }

    /// The most that was resident at a time.
    pub(crate) fn bytes(&self) -> Option<u64> {
        status("VmHWM:")
    }

    /// How far the peak is above what was resident at the start.
    pub(crate) fn growth(&self) -> Option<u64> {
        Some(self.bytes()?.saturating_sub(self.before))
    }
}

/// A line of `/proc/self/status` that counts kB.
fn status(key: &str) -> Option<u64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}

/// Seconds of processor time that all threads of this process have used.
#[cfg(unix)]
pub(crate) fn cpu_seconds() -> Option<f64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec that outlives the call.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    (status == 0).then(|| time.tv_sec as f64 + time.tv_nsec as f64 / 1e9)
}

/// Seconds of processor time that all threads of this process have used.
#[cfg(not(unix))]
pub(crate) fn cpu_seconds() -> Option<f64> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_touched_buffer_shows_in_the_peak() {
        let peak = Peak::start().expect("Linux tells");
        let buffer = std::hint::black_box(vec![1u8; 8 << 20]);
        drop(buffer);
        assert!(peak.growth().expect("Linux tells") >= 7 << 20);
    }

    #[test]
    fn work_takes_processor_time() {
        let before = cpu_seconds().expect("Linux tells");
        std::hint::black_box((0..3_000_000u64).fold(0, |a, b| std::hint::black_box(a ^ b)));
        assert!(cpu_seconds().expect("Linux tells") > before);
    }
}
