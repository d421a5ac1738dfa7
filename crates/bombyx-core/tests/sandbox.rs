//! What the system may forbid or take away: `membarrier`, pinning, further threads, CPUs. Each test runs in a separate
//! process, under a watchdog, because what is forbidden stays forbidden. Nothing hangs, nothing dies, and the message
//! says what is wrong.
#![cfg(target_os = "linux")]

mod common;

use bombyx::lab::BuilderExt as _;
use bombyx::{Builder, Error, Pool, Scheduler, blocking, join, scope};
use common::{builder, child, cpus, schedulers, watchdog};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// Forks of all sizes, spawns, blocking calls, and a pause in which processors fall asleep.
fn round(pool: &Pool) {
    let nap = || thread::sleep(Duration::from_micros(300));
    let (count, number) = pool.run(|| {
        let count = AtomicUsize::new(0);
        scope(|scope| {
            for _ in 0..20 {
                scope.spawn(|_| {
                    count.fetch_add(1, Relaxed);
                });
            }
        });
        let ((), number) = join(|| blocking(nap), || fib(14));
        let ((), ()) = join(nap, nap);
        (count.into_inner(), number)
    });
    assert_eq!((count, number), (20, 377));
    nap();
}

/// A pool of two processors for every scheduler.
fn pools(with: impl Fn(Builder) -> Builder) -> Vec<Pool> {
    let pool = |scheduler| with(builder(2).scheduler(scheduler)).build().expect("a small pool can be built");
    schedulers().map(pool).collect()
}

/// Runs the body of `test` in a child process. Returns what it wrote on standard error, or `None` in the child.
fn in_child(test: &str, body: impl FnOnce() + Send) -> Option<String> {
    if child::is_child(test) {
        watchdog(test, body);
        return None;
    }
    Some(child::pass(test, &[]))
}

mod seccomp {
    use super::*;

    const SAID: &str = "the system refuses membarrier(2)";

    /// From now on, in all threads of the process, `membarrier` ends like this. So does the call that pins threads,
    /// unless the process should die of `membarrier`.
    fn forbid(ending: u32) {
        let dies = ending == libc::SECCOMP_RET_KILL_PROCESS;
        let pinning = if dies { libc::SYS_membarrier } else { libc::SYS_sched_setaffinity };
        forbid_calls([libc::SYS_membarrier, pinning], ending);
    }

    /// From now on, in all threads of the process, these calls end like this.
    fn forbid_calls([first, second]: [libc::c_long; 2], ending: u32) {
        let op = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
        let is = |call: libc::c_long, jt| op(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, jt, 0, call as u32);
        let mut filter = [
            op(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
            is(first, 2),
            is(second, 1),
            op(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
            op(libc::BPF_RET | libc::BPF_K, 0, 0, ending),
        ];
        let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
        // SAFETY: the program outlives the calls.
        let status = unsafe {
            assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
            libc::syscall(
                libc::SYS_seccomp,
                libc::SECCOMP_SET_MODE_FILTER,
                libc::SECCOMP_FILTER_FLAG_TSYNC,
                &raw const program,
            )
        };
        assert_eq!(status, 0, "the system takes the filter: {}", std::io::Error::last_os_error());
    }

    fn fails_with(error: i32) -> u32 {
        libc::SECCOMP_RET_ERRNO | error as u32
    }

    /// More forks than it takes to prepare the barrier, and the time that takes.
    fn make_it_rely(pools: &[Pool]) {
        for pool in pools {
            pool.run(|| fib(23));
        }
        thread::sleep(Duration::from_millis(200));
    }

    /// A pool that does without `membarrier` never calls it: here the process would die of the first call.
    #[test]
    fn fence_makes_no_call() {
        const TEST: &str = "seccomp::fence_makes_no_call";
        let said = in_child(TEST, || {
            let before = pools(|builder| builder.fence(true));
            forbid(libc::SECCOMP_RET_KILL_PROCESS);
            let after = pools(|builder| builder.fence(true));
            make_it_rely(&before);
            for pool in before.iter().chain(&after) {
                (0..20).for_each(|_| round(pool));
            }
        });
        assert!(said.is_none_or(|said| !said.contains(SAID)));
    }

    /// The kernel has forbidden the call from the start, or forbids it in the middle. Pools go on without it, and say
    /// so once.
    fn refused(test: &str, ending: u32, from_the_start: bool) {
        let said = in_child(test, || {
            if from_the_start {
                forbid(ending);
            }
            let pools = pools(|builder| builder);
            make_it_rely(&pools);
            thread::scope(|threads| {
                if !from_the_start {
                    // While all pools are in the middle of something.
                    threads.spawn(|| {
                        thread::sleep(Duration::from_millis(5));
                        forbid(ending);
                    });
                }
                for pool in &pools {
                    threads.spawn(|| (0..40).for_each(|_| round(pool)));
                }
            });
            // Also pools that are built afterwards.
            for pool in super::pools(|builder| builder) {
                round(&pool);
            }
        });
        if let Some(said) = said {
            assert_eq!(said.matches(SAID).count(), 1, "{said}");
            assert!(said.contains("going on without it"), "{said}");
        }
    }

    #[test]
    fn forbidden_from_the_start() {
        refused("seccomp::forbidden_from_the_start", fails_with(libc::EPERM), true);
    }

    #[test]
    fn forbidden_while_it_runs() {
        refused("seccomp::forbidden_while_it_runs", fails_with(libc::EPERM), false);
    }

    #[test]
    fn out_of_memory_while_it_runs() {
        refused("seccomp::out_of_memory_while_it_runs", fails_with(libc::ENOMEM), false);
    }

    /// The files that `bombyx top` looks at.
    fn boards() -> usize {
        let files = std::fs::read_dir("/proc/self/fd").expect("the system lists files").flatten();
        let names = files.filter_map(|file| std::fs::read_link(file.path()).ok());
        names.filter(|name| name.to_string_lossy().contains(bombyx_base::live::NAME)).count()
    }

    /// Runs a pool where the system has no memory files, or none that this process may make. Nobody can look at it, and
    /// nothing is said.
    fn without_board(test: &str, ending: u32, environment: &[(&str, &str)]) {
        if !child::is_child(test) {
            let said = child::pass(test, environment);
            return assert!(!said.contains("bombyx:"), "{said}");
        }
        watchdog(test, || {
            forbid_calls([libc::SYS_memfd_create; 2], ending);
            for pool in pools(|builder| builder) {
                (0..5).for_each(|_| round(&pool));
                assert!(pool.stats().carriers > 0);
            }
            assert_eq!(boards(), 0);
        });
    }

    /// The other tests of boards count on this.
    #[test]
    fn allowed_memory_files() {
        const TEST: &str = "seccomp::allowed_memory_files";
        in_child(TEST, || {
            round(&builder(2).build().unwrap());
            assert_eq!(boards(), 1);
        });
    }

    #[test]
    fn forbidden_memory_files() {
        without_board("seccomp::forbidden_memory_files", fails_with(libc::EPERM), &[]);
    }

    #[test]
    fn a_kernel_without_memory_files() {
        without_board("seccomp::a_kernel_without_memory_files", fails_with(libc::ENOSYS), &[]);
    }

    /// Here the process would die of the first call.
    #[test]
    fn the_environment_can_forbid_memory_files() {
        let kill = libc::SECCOMP_RET_KILL_PROCESS;
        without_board("seccomp::the_environment_can_forbid_memory_files", kill, &[("BOMBYX_LIVE", "0")]);
    }

    /// A kernel that has no such call is no reason for a message.
    #[test]
    fn a_kernel_without_the_call() {
        const TEST: &str = "seccomp::a_kernel_without_the_call";
        let said = in_child(TEST, || {
            forbid(fails_with(libc::ENOSYS));
            for pool in [builder(2).build(), builder(2).build()].map(Result::unwrap) {
                pool.run(|| fib(23));
                round(&pool);
            }
        });
        assert!(said.is_none_or(|said| !said.contains(SAID)));
    }
}

/// `RLIMIT_NPROC`, which does not bind the superuser.
mod no_processes {
    use super::*;

    /// Becomes an ordinary user, and forbids every further thread.
    fn forbid_threads() {
        const NOBODY: libc::uid_t = 65534;
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: `none` is valid for reads; the ids are numbers.
        unsafe {
            assert_eq!(libc::setrlimit(libc::RLIMIT_NPROC, &raw const none), 0);
            if libc::geteuid() == 0 {
                assert_eq!(libc::setresuid(NOBODY, NOBODY, NOBODY), 0);
            }
        }
        assert!(thread::Builder::new().spawn(|| ()).is_err(), "the system starts no more threads");
    }

    #[test]
    fn a_pool_that_cannot_be_built_says_why() {
        const TEST: &str = "no_processes::a_pool_that_cannot_be_built_says_why";
        in_child(TEST, || {
            forbid_threads();
            for scheduler in schedulers() {
                let error = builder(2).scheduler(scheduler).build().expect_err("no thread can be started");
                let text = error.to_string();
                assert!(
                    matches!(error, Error::Thread(_)) && text.contains("refused to start a thread"),
                    "{text}"
                );
            }
            // The callers do the work of the global pool.
            assert_eq!((fib(23), Pool::global().stats().carriers), (28657, 0));
        });
    }

    #[test]
    fn pools_go_on_with_the_threads_that_they_have() {
        const TEST: &str = "no_processes::pools_go_on_with_the_threads_that_they_have";
        in_child(TEST, || {
            let pools = pools(|builder| builder);
            forbid_threads();
            for pool in &pools {
                (0..20).for_each(|_| round(pool));
                assert_eq!(pool.run(|| fib(20)), 6765);
            }
        });
    }
}

mod few_cpus {
    use super::*;

    #[test]
    fn one_cpu() {
        const TEST: &str = "few_cpus::one_cpu";
        in_child(TEST, || {
            cpus::pin(&cpus::allowed()[..1]);
            assert_eq!(builder(1).build().unwrap().processors(), 1);
            let error = builder(2).scheduler("heterogeneous:1.25".parse().unwrap()).build().unwrap_err();
            assert!(
                matches!(error, Error::OneCpu) && error.to_string().contains("may use only one"),
                "{error}"
            );
            for pinned in [false, true] {
                for pool in pools(|builder| builder.pin(pinned)) {
                    (0..10).for_each(|_| round(&pool));
                }
            }
            let crowded = builder(8).build().unwrap();
            (0..10).for_each(|_| round(&crowded));
            assert_eq!(fib(20), 6765, "the global pool");
        });
    }

    /// All threads of the process may use these CPUs from now on, as when its cpuset is changed.
    fn confine_process(cpus: &[usize]) {
        // SAFETY: an all-zero cpu_set_t is the empty set.
        let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        for &cpu in cpus {
            // SAFETY: the CPU came out of a set of the same size.
            unsafe { libc::CPU_SET(cpu, &mut set) };
        }
        for task in std::fs::read_dir("/proc/self/task").expect("the system lists threads").flatten() {
            let number = task.file_name().into_string().expect("a number").parse().expect("a number");
            // SAFETY: the set is valid for reads of its own size. It is not a failure if a thread has ended.
            unsafe { libc::sched_setaffinity(number, size_of::<libc::cpu_set_t>(), &raw const set) };
        }
    }

    #[test]
    fn cpus_change_while_it_runs() {
        const TEST: &str = "few_cpus::cpus_change_while_it_runs";
        in_child(TEST, || {
            let all = cpus::allowed();
            for pinned in [false, true] {
                let pools = pools(|builder| builder.pin(pinned));
                let over = AtomicBool::new(false);
                thread::scope(|threads| {
                    threads.spawn(|| {
                        let single = all.iter().map(std::slice::from_ref);
                        let mut sets = single.chain([&all[..]]).cycle();
                        while !over.load(Relaxed) {
                            confine_process(sets.next().expect("endless"));
                            thread::sleep(Duration::from_millis(3));
                        }
                        confine_process(&all);
                    });
                    for pool in &pools {
                        (0..20).for_each(|_| round(pool));
                    }
                    over.store(true, Relaxed);
                });
                for pool in &pools {
                    assert_eq!(pool.run(|| fib(20)), 6765);
                }
            }
        });
    }
}

/// If the tests above leave out schedulers, these are the ones that the machine does not allow.
#[test]
fn the_default_is_never_left_out() {
    assert!(schedulers().any(|scheduler| scheduler == Scheduler::default()));
}
