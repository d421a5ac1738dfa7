//! CPUs: which ones there are, which one a carrier runs on, and how much of it the carrier has used. This works on
//! Linux; elsewhere there seem to be no CPUs to choose from.

use std::sync::OnceLock;

/// The CPUs that the process could use when this was first asked.
pub(crate) fn cpus() -> &'static [usize] {
    static ALLOWED: OnceLock<Vec<usize>> = OnceLock::new();
    ALLOWED.get_or_init(|| Thread::HERE.allowed().map(|set| set.cpus().collect()).unwrap_or_default())
}

/// A set of CPUs.
#[derive(Clone, Copy)]
pub(crate) struct CpuSet(system::Set);

impl CpuSet {
    pub(crate) fn of(cpus: impl IntoIterator<Item = usize>) -> CpuSet {
        CpuSet(system::of(cpus))
    }

    pub(crate) fn contains(&self, cpu: usize) -> bool {
        system::contains(&self.0, cpu)
    }

    pub(crate) fn cpus(&self) -> impl Iterator<Item = usize> {
        (0..system::CPUS).filter(|&cpu| self.contains(cpu))
    }
}

/// The CPU that the calling thread is on, if there are others.
pub(crate) fn here() -> Option<usize> {
    if cpus().len() > 1 { system::cpu() } else { None }
}

/// Confines the sleeping thread with this number to a CPU. Returns the CPUs that it could run on before. Returns `None`
/// if the thread is left alone: because it may not run there, because it may run nowhere else, or because the number is
/// 0.
pub(crate) fn confine(thread: u32, cpu: usize) -> Option<CpuSet> {
    let thread = Thread::from_number(thread)?;
    let allowed = thread.allowed()?;
    let elsewhere = allowed.cpus().any(|other| other != cpu);
    (elsewhere && allowed.contains(cpu) && thread.pin(cpu)).then_some(allowed)
}

/// Moves the calling thread to a CPU, from where it may run wherever it could before. Does nothing if it may not run there.
pub(crate) fn move_to(cpu: usize) {
    let Some(allowed) = Thread::HERE.allowed() else { return };
    if system::contains(&allowed.0, cpu) && Thread::HERE.pin(cpu) {
        Thread::HERE.allow(&allowed);
    }
}

/// Pins the sleeping thread with this number to a CPU. If the system refuses, or the number is 0, the thread stays as
/// it is.
pub(crate) fn pin_sleeper(thread: u32, cpu: usize) {
    if let Some(thread) = Thread::from_number(thread) {
        thread.pin(cpu);
    }
}

/// The CPU of the processor with this index, if processors are pinned. The CPUs that the process may use are dealt out
/// in turn.
pub(crate) fn cpu_of(index: usize) -> Option<usize> {
    cpus().get(index % cpus().len().max(1)).copied()
}

/// Pins the calling thread to the CPU of the processor with this index. If the system refuses (a CPU went offline, the
/// set was narrowed), the thread stays as it is.
pub(crate) fn pin(index: usize) {
    if let Some(cpu) = cpu_of(index) {
        Thread::HERE.pin(cpu);
    }
}

/// A thread of this process, by the system's number for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Thread(u32);

impl Thread {
    /// The calling thread, whichever it is.
    pub(crate) const HERE: Thread = Thread(0);

    /// The calling thread, by a number that others can use.
    pub(crate) fn current() -> Thread {
        Thread(system::thread())
    }

    /// A number for an atomic word. Never 0 for [`Thread::current`].
    pub(crate) fn number(self) -> u32 {
        self.0
    }

    /// The thread with this number, if it is not 0.
    pub(crate) fn from_number(number: u32) -> Option<Thread> {
        (number != 0).then_some(Thread(number))
    }

    /// Pins the thread to a CPU, at once. Returns false if the system refuses.
    pub(crate) fn pin(self, cpu: usize) -> bool {
        system::set(self.0, &CpuSet::of([cpu]).0)
    }

    /// Lets the thread run on all CPUs again.
    pub(crate) fn unpin(self) {
        system::set(self.0, &CpuSet::of(cpus().iter().copied()).0);
    }

    /// The CPUs that the thread may run on, or `None` if the system does not say.
    pub(crate) fn allowed(self) -> Option<CpuSet> {
        system::allowed(self.0).map(CpuSet)
    }

    /// Lets the thread run on these CPUs. If the process may use none of them any more, the thread stays as it is.
    pub(crate) fn allow(self, cpus: &CpuSet) {
        system::set(self.0, &cpus.0);
    }

    /// The CPU time that the thread has had, in nanoseconds.
    pub(crate) fn cpu_time(self) -> Option<u64> {
        system::cpu_time(self.0)
    }

    /// Whether the thread runs or waits only for its CPU, rather than for a lock, a file or the time.
    pub(crate) fn is_runnable(self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/self/task/{}/stat", self.0)).unwrap_or_default();
        // The name is in parentheses, and may itself contain some.
        stat.rsplit_once(") ").is_some_and(|(_, fields)| fields.starts_with('R'))
    }
}

#[cfg(target_os = "linux")]
mod system {
    pub(super) type Set = libc::cpu_set_t;
    pub(super) const CPUS: usize = libc::CPU_SETSIZE as usize;

    /// CPUs beyond what a set can hold are left out.
    pub(super) fn of(cpus: impl IntoIterator<Item = usize>) -> Set {
        // SAFETY: an all-zero cpu_set_t is the empty set.
        let mut set: Set = unsafe { std::mem::zeroed() };
        for cpu in cpus.into_iter().filter(|&cpu| cpu < CPUS) {
            // SAFETY: the index is below CPU_SETSIZE.
            unsafe { libc::CPU_SET(cpu, &mut set) };
        }
        set
    }

    pub(super) fn contains(set: &Set, cpu: usize) -> bool {
        // SAFETY: the index is below CPU_SETSIZE.
        cpu < CPUS && unsafe { libc::CPU_ISSET(cpu, set) }
    }

    /// The CPU that the calling thread is on.
    pub(super) fn cpu() -> Option<usize> {
        // SAFETY: the call has no preconditions.
        usize::try_from(unsafe { libc::sched_getcpu() }).ok()
    }

    pub(super) fn allowed(thread: u32) -> Option<Set> {
        let mut set = of([]);
        // SAFETY: `set` is valid for writes of its own size.
        let status =
            unsafe { libc::sched_getaffinity(thread as libc::pid_t, size_of::<Set>(), &raw mut set) };
        (status == 0).then_some(set)
    }

    pub(super) fn set(thread: u32, set: &Set) -> bool {
        // SAFETY: `set` is valid for reads of its own size.
        unsafe { libc::sched_setaffinity(thread as libc::pid_t, size_of::<Set>(), set) == 0 }
    }

    pub(super) fn thread() -> u32 {
        // SAFETY: the call has no preconditions.
        unsafe { libc::gettid() as u32 }
    }

    pub(super) fn cpu_time(thread: u32) -> Option<u64> {
        // This is what `pthread_getcpuclockid` computes: the complement of the thread's number, then three bits that
        // ask for the time that the scheduler has counted (2) for one thread (4).
        let clock = (!thread << 3 | 4 | 2) as libc::clockid_t;
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is valid for writes. The system refuses the clocks of threads that are gone.
        let status = unsafe { libc::clock_gettime(clock, &raw mut time) };
        (status == 0).then_some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    pub(super) type Set = ();
    pub(super) const CPUS: usize = 0;

    pub(super) fn of(_: impl IntoIterator<Item = usize>) -> Set {}

    pub(super) fn contains(_: &Set, _: usize) -> bool {
        false
    }

    pub(super) fn cpu() -> Option<usize> {
        None
    }

    pub(super) fn allowed(_: u32) -> Option<Set> {
        None
    }

    pub(super) fn set(_: u32, _: &Set) -> bool {
        false
    }

    pub(super) fn thread() -> u32 {
        0
    }

    pub(super) fn cpu_time(_: u32) -> Option<u64> {
        None
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::{Thread, cpus, here, move_to};

    #[test]
    fn a_thread_that_moves_may_still_run_everywhere() {
        std::thread::spawn(|| {
            let allowed = || Thread::HERE.allowed().expect("Linux tells").cpus().collect::<Vec<_>>();
            let before = allowed();
            for &cpu in cpus() {
                move_to(cpu);
                assert_eq!(allowed(), before);
            }
            Thread::HERE.pin(before[0]);
            move_to(before[before.len() - 1]);
            assert_eq!(allowed(), [before[0]], "a pinned thread stays");
            assert!(here().is_none_or(|cpu| cpu == before[0]));
        })
        .join()
        .unwrap();
    }
}
