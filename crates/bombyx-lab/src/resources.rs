//! What runs cost besides time: memory, as the allocator of this program and the operating system count it, and
//! processor time. The system's figures are optional, because not every system has them.

use crate::heap;
use serde::{Deserialize, Serialize};
use std::fs;

/// The memory that a run took.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Memory {
    /// The peak of heap memory above what was in use when the run began.
    pub heap: u64,
    /// The peak of resident memory, inputs included.
    pub resident: Option<u64>,
    /// How far that is above what was resident when the run began.
    pub growth: Option<u64>,
}

impl Memory {
    /// The larger of both, figure by figure.
    pub fn max(self, other: Self) -> Self {
        Self {
            heap: self.heap.max(other.heap),
            resident: self.resident.max(other.resident),
            growth: self.growth.max(other.growth),
        }
    }
}

/// Measures the memory of a run, from when this is made until [`Watch::memory`].
pub struct Watch {
    heap: i64,
    resident: Option<u64>,
}

impl Watch {
    /// Forgets earlier peaks and starts.
    pub fn start() -> Self {
        // "5" sets the peak to what is resident now (proc_pid_clear_refs(5)).
        let cleared = fs::write("/proc/self/clear_refs", "5").is_ok();
        Self { resident: cleared.then(|| status("VmRSS:")).flatten(), heap: heap::forget_peak() }
    }

    /// The peaks since then.
    pub fn memory(&self) -> Memory {
        let heap = (heap::peak() - self.heap).max(0) as u64;
        let resident = self.resident.and_then(|_| status("VmHWM:"));
        let growth = resident.zip(self.resident).map(|(peak, before)| peak.saturating_sub(before));
        Memory { heap, resident, growth }
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
pub fn cpu_seconds() -> Option<f64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec that outlives the call.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    (status == 0).then(|| time.tv_sec as f64 + time.tv_nsec as f64 / 1e9)
}

/// Seconds of processor time that all threads of this process have used.
#[cfg(not(unix))]
pub fn cpu_seconds() -> Option<f64> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_touched_buffer_shows_in_the_peaks() {
        let watch = Watch::start();
        let buffer = std::hint::black_box(vec![1u8; 8 << 20]);
        drop(buffer);
        let memory = watch.memory();
        assert!(memory.growth.expect("Linux tells") >= 7 << 20);
        assert!(memory.heap >= 8 << 20, "{memory:?}");
    }

    #[test]
    fn work_takes_processor_time() {
        let before = cpu_seconds().expect("Linux tells");
        std::hint::black_box((0..3_000_000u64).fold(0, |a, b| std::hint::black_box(a ^ b)));
        assert!(cpu_seconds().expect("Linux tells") > before);
    }
}
