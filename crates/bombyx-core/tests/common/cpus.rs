//! CPUs for tests and measurements that slow one of them down: which there are, and how to stay on some.

/// The CPUs that the calling thread may use.
pub(crate) fn allowed() -> Vec<usize> {
    // SAFETY: an all-zero cpu_set_t is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set is valid for writes of its own size; 0 names the calling thread.
    let status = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) };
    assert_eq!(status, 0, "the system tells which CPUs may be used");
    // SAFETY: the index is below CPU_SETSIZE.
    (0..libc::CPU_SETSIZE as usize).filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) }).collect()
}

/// Narrows the CPUs that the calling thread, and those that it starts, may use.
pub(crate) fn pin(cpus: &[usize]) {
    // SAFETY: an all-zero cpu_set_t is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for &cpu in cpus {
        // SAFETY: the CPU came out of a set of the same size.
        unsafe { libc::CPU_SET(cpu, &mut set) };
    }
    // SAFETY: the set is valid for reads of its own size; 0 names the calling thread.
    let status = unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) };
    assert_eq!(status, 0, "CPUs {cpus:?} can be used");
}

/// The CPU that the calling thread is on.
pub(crate) fn here() -> usize {
    // SAFETY: the call has no preconditions.
    usize::try_from(unsafe { libc::sched_getcpu() }).expect("the system tells which CPU this is")
}
