//! Pools that follow the CPUs of the process, and background pools.

#![cfg(target_os = "linux")]

use bombyx::{Pool, Threads, share};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{fs, mem, panic, ptr, thread};

/// Waits for something that another thread brings about.
fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < Duration::from_secs(100), "{what}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Tests with followers run one after another, because their threads have the same name.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The thread of this process with this name.
fn thread_named(name: &str) -> Option<libc::pid_t> {
    fs::read_dir("/proc/self/task").unwrap().find_map(|task| {
        let path = task.unwrap().path();
        let found = fs::read_to_string(path.join("comm")).is_ok_and(|comm| comm.trim() == name);
        found.then(|| path.file_name().unwrap().to_str().unwrap().parse().unwrap())
    })
}

fn allowed(thread: libc::pid_t) -> libc::cpu_set_t {
    // SAFETY: the set is plain data, and the kernel fills it in.
    unsafe {
        let mut set: libc::cpu_set_t = mem::zeroed();
        assert_eq!(libc::sched_getaffinity(thread, size_of_val(&set), &raw mut set), 0);
        set
    }
}

fn allow(thread: libc::pid_t, set: &libc::cpu_set_t) {
    // SAFETY: the kernel reads the set.
    let done = unsafe { libc::sched_setaffinity(thread, size_of_val(set), ptr::from_ref(set)) };
    assert_eq!(done, 0);
}

/// The kernel changes the CPUs of all threads of a container like this.
#[test]
fn a_pool_follows_the_cpus_that_the_process_may_use() {
    let _alone = alone();
    let pool = Pool::builder().processors(1).max_processors(256).build().unwrap();
    let follower = share::follow_cpus(&pool.handle(), Duration::from_millis(1)).unwrap();
    let cpus = thread::available_parallelism().unwrap().get().min(256);
    wait_until("the pool does not grow", || pool.processors() == cpus);
    wait_until("there is no such thread", || thread_named("bombyx-cpus").is_some());
    let watcher = thread_named("bombyx-cpus").unwrap();
    let all = allowed(watcher);
    // SAFETY: the set is plain data.
    let one = unsafe {
        let mut one: libc::cpu_set_t = mem::zeroed();
        let first = (0..libc::CPU_SETSIZE as usize).find(|&cpu| libc::CPU_ISSET(cpu, &all)).unwrap();
        libc::CPU_SET(first, &mut one);
        one
    };
    for _ in 0..3 {
        allow(watcher, &one);
        wait_until("the pool does not shrink", || pool.processors() == 1);
        assert_eq!(pool.run(|| bombyx::join(|| 1, || 2)), (1, 2));
        allow(watcher, &all);
        wait_until("the pool does not grow again", || pool.processors() == cpus);
    }
    drop(follower);
    assert_eq!(thread_named("bombyx-cpus"), None, "the thread has ended");
}

/// The child of a fork(2) has neither the pool nor the thread. It need not wait for them.
#[test]
fn a_follower_can_be_dropped_in_a_child() {
    let _alone = alone();
    let pool = Pool::builder().processors(1).max_processors(2).build().unwrap();
    let follower = share::follow_cpus(&pool.handle(), Duration::from_millis(1)).unwrap();
    // SAFETY: the child does only what the runtime promises to support there.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: the calls have no preconditions. If the child waits, the alarm ends it.
        unsafe { libc::alarm(10) };
        let dropped = panic::catch_unwind(panic::AssertUnwindSafe(|| drop((follower, pool))));
        // SAFETY: as above.
        unsafe { libc::_exit(i32::from(dropped.is_err())) };
    }
    let mut status = 0;
    // SAFETY: the number is one of a child, and the status is written to a place that lives.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
}

#[test]
fn a_pool_that_cannot_be_resized_follows_nothing() {
    let pool = Pool::builder().processors(1).threads(Threads::Fixed).build().unwrap();
    let error = share::follow_cpus(&pool.handle(), Duration::from_secs(1)).unwrap_err();
    assert!(error.to_string().contains("fixed threads"), "{error}");
}

fn policy() -> libc::c_int {
    // SAFETY: asks about the calling thread.
    unsafe { libc::sched_getscheduler(0) }
}

/// All threads of a background pool let others go first, also those that start later. The caller's thread is none of them.
#[test]
fn background_threads_let_others_go_first() {
    let before = policy();
    let pool = share::background(Pool::builder().processors(2)).build().unwrap();
    let both = pool.run(|| bombyx::join(policy, || bombyx::blocking(policy)));
    assert_eq!(both, (libc::SCHED_IDLE, libc::SCHED_IDLE));
    // These block at the same time, so more carriers start.
    let all = std::sync::Barrier::new(8);
    pool.run(|| {
        bombyx::scope(|s| {
            for _ in 0..8 {
                s.defer(|_| {
                    assert_eq!(policy(), libc::SCHED_IDLE);
                    bombyx::blocking(|| all.wait());
                });
            }
        });
    });
    assert_eq!(policy(), before);
}
