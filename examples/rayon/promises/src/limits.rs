//! Promises in case the system refuses something.

use crate::{Outcome, ensure};
use rayon::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

/// A thread name that the system does not accept must not unwind a join whose second half still runs.
pub(crate) fn join_outlives(threads: usize) -> Outcome {
    static BEGUN: AtomicBool = AtomicBool::new(false);
    static ENDED: AtomicBool = AtomicBool::new(false);
    // The first name is not used for a thread that exists already.
    let _pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .use_current_thread()
        .thread_name(|index| if index == 0 { "a\0b".into() } else { "worker".into() })
        .build()
        .map_err(|error| error.to_string())?;
    // The other thread rests then.
    thread::sleep(Duration::from_millis(100));
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        rayon::join(
            || {
                while !BEGUN.load(SeqCst) {
                    thread::yield_now();
                }
                for _ in 0..2 {
                    rayon::spawn(|| thread::sleep(Duration::from_millis(10)));
                }
            },
            || {
                BEGUN.store(true, SeqCst);
                thread::sleep(Duration::from_millis(300));
                ENDED.store(true, SeqCst);
            },
        );
    }));
    ensure(ENDED.load(SeqCst), || "the join was over before its second half".to_string())?;
    ensure(outcome.is_ok(), || "the join panicked".to_string())
}

/// The program forbids, after its pool has started, two system calls that the original does not make.
pub(crate) fn filtered(threads: usize) -> Outcome {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().map_err(|error| error.to_string())?;
    let sum = || {
        (0..100_000u64)
            .into_par_iter()
            .map(|x| (0..50).fold(x, |y, _| y.wrapping_mul(31) ^ 7) % 7)
            .sum::<u64>()
    };
    let before = sum();
    forbid(&[libc::SYS_membarrier, libc::SYS_sched_setaffinity])?;
    for _ in 0..200 {
        ensure(sum() == before, || "the sum is another one".to_string())?;
        // So that threads fall asleep and are woken.
        thread::sleep(Duration::from_micros(300));
    }
    Ok(Vec::new())
}

/// Makes these system calls fail with EPERM in all threads, from now on.
fn forbid(calls: &[libc::c_long]) -> Result<(), String> {
    let step = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf, k };
    let mut filter = vec![step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0)];
    for (position, &call) in calls.iter().enumerate() {
        // To the last step, over the other calls and the one that allows.
        let far = (calls.len() - position) as u8;
        filter.push(step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, far, 0, call as u32));
    }
    filter.push(step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW));
    filter.push(step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32));
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: plain call.
    let allowed = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    // SAFETY: the kernel copies the program, which is there for the call.
    let filtered = unsafe {
        let all = libc::SECCOMP_FILTER_FLAG_TSYNC;
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, all, &raw const program)
    };
    if allowed == 0 && filtered == 0 {
        Ok(())
    } else {
        Err(format!("this system does not filter calls: {}", std::io::Error::last_os_error()))
    }
}
