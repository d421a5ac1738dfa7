//! Pools that follow the CPUs of the process, and background pools.

#![cfg(target_os = "linux")]

use bombyx::lab::BuilderExt as _;
use bombyx::{Builder, Pool, Threads, share};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
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

/// The first of these CPUs.
fn first_of(all: &libc::cpu_set_t) -> libc::cpu_set_t {
    // SAFETY: the set is plain data.
    unsafe {
        let mut one: libc::cpu_set_t = mem::zeroed();
        let first = (0..libc::CPU_SETSIZE as usize).find(|&cpu| libc::CPU_ISSET(cpu, all)).unwrap();
        libc::CPU_SET(first, &mut one);
        one
    }
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
    let one = first_of(&all);
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

/// The CPU time of the calling thread.
fn cpu_time() -> Duration {
    // SAFETY: the structure is plain data, and the kernel fills it in.
    let time = unsafe {
        let mut time: libc::timespec = mem::zeroed();
        assert_eq!(libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time), 0);
        time
    };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Two pools of one processor share one CPU, and both have work all the time: the pool that `build` makes, and a plain one. Returns
/// how much CPU time the first pool gets while the second one uses `time`.
fn gets_beside_a_plain_pool(build: impl Fn(Builder) -> Builder, time: Duration) -> Duration {
    let all = allowed(0);
    // The threads of both pools inherit this.
    allow(0, &first_of(&all));
    let plain = || Pool::builder().processors(1);
    let (tested, other) = (build(plain()).build().unwrap(), plain().lend(false).build().unwrap());
    allow(0, &all);
    let [runs, begins, ends] = [const { AtomicBool::new(false) }; 3];
    let mut got = Duration::ZERO;
    thread::scope(|threads| {
        threads.spawn(|| {
            got = tested.run(|| {
                runs.store(true, Relaxed);
                let mut before = None;
                while !ends.load(Relaxed) {
                    if begins.load(Relaxed) {
                        before.get_or_insert_with(cpu_time);
                    }
                }
                before.map_or(Duration::ZERO, |before| cpu_time() - before)
            });
        });
        wait_until("the first pool does not run", || runs.load(Relaxed));
        other.run(|| {
            begins.store(true, Relaxed);
            let before = cpu_time();
            while cpu_time() - before < time {}
            ends.store(true, Relaxed);
        });
    });
    got
}

/// The processor of a background pool gives way to that of another pool, which wants the same CPU. Both times are CPU time, so it
/// does not matter what else the machine does. Two plain pools get about the same.
#[test]
fn a_background_pool_gives_way_to_another_pool() {
    const TIME: Duration = Duration::from_millis(300);
    let background = gets_beside_a_plain_pool(share::background, TIME);
    assert!(background < TIME / 4, "{background:?} of {TIME:?}");
    let plain = gets_beside_a_plain_pool(|builder| builder.lend(false), TIME);
    assert!(plain > TIME / 2, "the test would not see it: {plain:?} of {TIME:?}");
}
