//! Which CPU a carrier runs on. Processors are pinned, so a carrier moves when it takes hold of another one.

use crate::error::Error;

/// Whether carriers can be pinned here at all.
pub(crate) fn check() -> Result<(), Error> {
    match allowed() {
        Some(cpus) if !cpus.is_empty() => Ok(()),
        _ => Err(Error::Pin("this system does not tell which CPUs the process may use".to_owned())),
    }
}

/// Pins the calling thread to the CPU of the processor with this index: they take turns on the CPUs that the
/// process may use. If the system refuses (a CPU went offline, the set was narrowed), the thread stays as it is.
pub(crate) fn pin(index: usize) {
    static ALLOWED: std::sync::OnceLock<Vec<usize>> = std::sync::OnceLock::new();
    let cpus = ALLOWED.get_or_init(|| allowed().unwrap_or_default());
    if !cpus.is_empty() {
        set(cpus[index % cpus.len()]);
    }
}

#[cfg(target_os = "linux")]
fn allowed() -> Option<Vec<usize>> {
    // SAFETY: an all-zero cpu_set_t is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is valid for writes of its own size; 0 names the calling thread.
    if unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) } != 0 {
        return None;
    }
    // SAFETY: the index is below CPU_SETSIZE.
    Some((0..libc::CPU_SETSIZE as usize).filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) }).collect())
}

#[cfg(target_os = "linux")]
fn set(cpu: usize) {
    // SAFETY: an all-zero cpu_set_t is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the CPU came out of a set of the same size.
    unsafe { libc::CPU_SET(cpu, &mut set) };
    // SAFETY: `set` is valid for reads of its own size; 0 names the calling thread.
    unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) };
}

#[cfg(not(target_os = "linux"))]
fn allowed() -> Option<Vec<usize>> {
    None
}

#[cfg(not(target_os = "linux"))]
fn set(_: usize) {}
