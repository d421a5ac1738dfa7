//! Children of fork(2) that go on without exec, like those of pre-forking servers and of Python's multiprocessing.
//! There the global pool works, an inherited pool says clearly that it does not, and signals do what they always did.
//!
//! Each test runs itself again in a separate process, and forks there.
#![cfg(target_os = "linux")]

mod common;

use bombyx::dropin::{BuilderExt as _, HandleExt as _};
use bombyx::reducers::Append;
use bombyx::{
    CancelToken, Cancelled, Pool, Reducer, TaskLocal, Threads, block_on, blocking, for_each, join, scope,
};
use common::{Census, child, pool, watchdog};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc;

/// Forks. The child calls `f` and ends with 0, or by a panic with 101. If it takes longer than 20 seconds, it is
/// killed. Returns its status as `waitpid` does.
fn in_child(f: impl FnOnce()) -> i32 {
    // SAFETY: the child does what the test is about.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "fork: {}", std::io::Error::last_os_error());
    if child == 0 {
        // SAFETY: as declared by the system.
        unsafe { libc::alarm(20) };
        let code = i32::from(catch_unwind(AssertUnwindSafe(f)).is_err()) * 101;
        // SAFETY: ends the process.
        unsafe { libc::_exit(code) };
    }
    let mut status = 0;
    // SAFETY: `status` is valid for writes.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    status
}

/// Whether the child ended by itself, without an error.
fn well(status: i32) -> bool {
    libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
}

/// The text of the panic of `f`.
fn panic_of<R>(f: impl FnOnce() -> R) -> String {
    let payload = catch_unwind(AssertUnwindSafe(f)).err().expect("a panic");
    let text = payload.downcast_ref::<String>().cloned();
    text.or_else(|| payload.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}

fn use_global_pool() {
    let sum = AtomicUsize::new(0);
    for_each(0..1_000, |i| {
        sum.fetch_add(i, SeqCst);
    });
    assert_eq!(sum.load(SeqCst), 499_500);
    assert_eq!(join(|| 1, || scope(|_| 2)), (1, 2));
    // More than one processor takes part: the two halves meet.
    let met = AtomicUsize::new(0);
    let meet = || {
        met.fetch_add(1, SeqCst);
        common::wait_until(|| met.load(SeqCst) == 2);
    };
    if Pool::global().processors() > 1 {
        join(meet, meet);
    }
}

/// Runs `f` as the test of this name in a separate process.
fn alone(test: &str, f: impl FnOnce()) {
    if child::is_child(test) { watchdog(test, f) } else { drop(child::pass(test, &[])) }
}

#[test]
fn the_global_pool_works_in_children_and_grandchildren() {
    alone("the_global_pool_works_in_children_and_grandchildren", || {
        use_global_pool();
        let family = || {
            use_global_pool();
            assert!(well(in_child(use_global_pool)));
            use_global_pool();
        };
        for _ in 0..5 {
            assert!(well(in_child(family)));
            use_global_pool();
        }
    });
}

/// Forks while the threads of the global pool are busy, and hold whatever locks they hold.
#[test]
fn children_of_a_busy_process() {
    alone("children_of_a_busy_process", || {
        let stop = AtomicUsize::new(0);
        std::thread::scope(|threads| {
            for _ in 0..2 {
                threads.spawn(|| {
                    while stop.load(SeqCst) == 0 {
                        for_each(0..10_000, |_| std::hint::spin_loop());
                        scope(|s| (0..100).for_each(|_| s.spawn(|_| ())));
                    }
                });
            }
            for _ in 0..50 {
                assert!(well(in_child(use_global_pool)));
            }
            stop.store(1, SeqCst);
        });
    });
}

#[test]
fn an_inherited_pool_panics_and_can_be_dropped() {
    alone("an_inherited_pool_panics_and_can_be_dropped", || {
        let mut inherited = Some(pool(2));
        let pool = inherited.as_ref().unwrap();
        let handle = pool.handle();
        pool.run(|| join(|| (), || ()));
        let status = in_child(|| {
            let pool = inherited.take().unwrap();
            let expected = |text: String| assert!(text.contains("built before fork(2)"), "{text}");
            expected(panic_of(|| pool.run(|| ())));
            expected(panic_of(|| pool.spawn(|| ())));
            expected(panic_of(|| pool.stats()));
            expected(panic_of(|| handle.run(|| ())));
            expected(panic_of(|| handle.spawn(|| ())));
            expected(panic_of(|| handle.spawn_fifo(|| ())));
            expected(panic_of(|| handle.broadcast(|_| ())));
            expected(panic_of(|| handle.spawn_broadcast(|_| ())));
            expected(panic_of(|| handle.in_place_scope(|s| s.spawn(|_| ()))));
            expected(panic_of(|| handle.close()));
            drop(pool);
            drop(handle);
            use_global_pool();
        });
        assert!(well(status), "{status:#x}");
    });
}

/// What a process has begun when it forks. In the child, its tasks say clearly that they belong to the parent; everything
/// else works. The parent notices nothing.
#[test]
fn tasks_reducers_and_tokens_in_children() {
    static WHO: TaskLocal<u32> = TaskLocal::new();
    type List = Append<Vec<usize>>;
    alone("tasks_reducers_and_tokens_in_children", || {
        for threads in [Threads::Moving, Threads::Fixed] {
            let census = Census::default();
            let pool = common::builder(2).threads(threads).build().unwrap();
            let (go, wait) = mpsc::channel::<()>();
            let carried = census.count(());
            let mut running = Some(pool.spawn(move || {
                let _carried = carried;
                blocking(|| wait.recv()).unwrap();
                5
            }));
            let mut awaited = Some(pool.run_async(|| 6));
            let (token, mut list) = (CancelToken::new(), Reducer::new(List::new()));
            list.with(|list| list.push(0));
            for _ in 0..3 {
                let status = WHO.scope(7, || {
                    in_child(|| {
                        let expected =
                            |text: String| assert!(text.contains("built before fork(2)"), "{text}");
                        let mut task = running.take().unwrap();
                        assert!(format!("{task:?}").contains("None"));
                        expected(panic_of(|| task.is_finished()));
                        expected(panic_of(|| task.try_join()));
                        expected(panic_of(|| task.abort()));
                        expected(panic_of(|| block_on(&mut task)));
                        expected(panic_of(|| task.join()));
                        expected(panic_of(|| block_on(awaited.take().unwrap())));
                        let bound = || assert_eq!(WHO.get(), Some(7));
                        for_each(1..500, |n| {
                            bound();
                            list.with(|list| list.push(n));
                        });
                        assert_eq!(list.take(), (0..500).collect::<Vec<_>>());
                        assert_eq!(bombyx::spawn(move || join(bound, || 8).1).join().unwrap(), 8);
                        let cancel = |n: u64| {
                            if n == 1_000 {
                                token.cancel()
                            }
                        };
                        assert_eq!(token.for_each(0..u64::MAX, cancel), Err(Cancelled));
                    })
                });
                assert!(well(status), "{status:#x}");
                assert!(!token.is_cancelled());
                assert_eq!(census.alive(), 1);
            }
            go.send(()).unwrap();
            assert_eq!(running.unwrap().join().unwrap(), 5);
            assert_eq!(block_on(awaited.unwrap()), 6);
            pool.run(|| for_each(1..100, |n| list.with(|list| list.push(n))));
            assert_eq!(list.into_inner(), (0..100).collect::<Vec<_>>());
            drop(pool);
            assert_eq!(census.alive(), 0);
        }
    });
}

/// The thread that forks holds a processor for good. Its child does not.
#[test]
fn a_thread_that_is_part_of_a_pool() {
    alone("a_thread_that_is_part_of_a_pool", || {
        let pool = Pool::builder().processors(2).use_current_thread().build().unwrap();
        assert_eq!(join(|| 1, || 2), (1, 2));
        assert!(well(in_child(|| {
            assert!(!bombyx::in_pool());
            use_global_pool();
        })));
        assert_eq!(join(|| 1, || 2), (1, 2));
        drop(pool);
    });
}

/// What a parent does inside its pool: it forks.
type Call<'a> = &'a (dyn Fn() + Sync);

/// A child that is made inside a pool and returns to what its parent has begun there.
#[test]
fn frames_of_the_parent() {
    alone("frames_of_the_parent", || {
        let pool = pool(2);
        let forked = AtomicUsize::new(0);
        // In both directions: the child works in its own pool while it is there, and a clear message says what it
        // cannot return to.
        let fork_inside = |inside: &dyn Fn(Call<'_>)| {
            let text = catch_unwind(AssertUnwindSafe(|| {
                inside(&|| {
                    // SAFETY: the child does what the test is about.
                    let child = unsafe { libc::fork() };
                    if child == 0 {
                        // SAFETY: as declared by the system.
                        unsafe { libc::alarm(20) };
                        forked.store(1, SeqCst);
                        use_global_pool();
                    } else {
                        forked.store(child as usize, SeqCst);
                    }
                });
            }));
            let child = forked.load(SeqCst);
            if child == 1 {
                let text =
                    text.err().map(|payload| panic_of(|| -> () { std::panic::resume_unwind(payload) }));
                let clear = text.is_none_or(|text| text.contains("made by fork(2)"));
                // SAFETY: ends the process.
                unsafe { libc::_exit(if clear { 0 } else { 1 }) };
            }
            assert!(text.is_ok(), "the parent goes on");
            let mut ended = 0;
            // SAFETY: valid for writes.
            assert_eq!(unsafe { libc::waitpid(child as i32, &raw mut ended, 0) }, child as i32);
            ended
        };
        let in_run = fork_inside(&|f: Call<'_>| pool.run(f));
        assert!(well(in_run), "{in_run:#x}");
        let in_join = fork_inside(&|f: Call<'_>| {
            pool.run(|| join(f, || ()));
        });
        assert!(well(in_join), "{in_join:#x}");
        let in_scope = fork_inside(&|f: Call<'_>| {
            pool.run(|| {
                scope(|s| {
                    s.spawn(|_| ());
                    f();
                })
            });
        });
        assert!(well(in_scope), "{in_scope:#x}");
        let in_blocking = fork_inside(&|f: Call<'_>| {
            pool.run(|| blocking(f));
        });
        assert!(well(in_blocking), "{in_blocking:#x}");
        // On a carrier's own stack there is nobody to return to.
        let (sender, receiver) = std::sync::mpsc::channel();
        pool.spawn(move || {
            // SAFETY: the child does what the test is about.
            let child = unsafe { libc::fork() };
            if child != 0 {
                sender.send(child).unwrap();
            }
        });
        let (child, mut ended) = (receiver.recv().unwrap(), 0);
        // SAFETY: valid for writes.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut ended, 0) }, child);
        assert!(libc::WIFSIGNALED(ended) && libc::WTERMSIG(ended) == libc::SIGABRT, "{ended:#x}");
    });
}

/// A profiled parent: its children write no files. Signals end the children at once, and not their parent.
#[test]
fn a_profiled_process() {
    const TEST: &str = "a_profiled_process";
    let folder = std::env::temp_dir().join(format!("bombyx-fork-{}", std::process::id()));
    if !child::is_child(TEST) {
        fs::create_dir_all(&folder).unwrap();
        let profile = folder.join("profile.json");
        child::pass(TEST, &[("BOMBYX_PROFILE", profile.to_str().unwrap())]);
        let json = fs::read_to_string(&profile).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert!(json.contains("\"interrupted\":false"), "{json}");
        return;
    }
    // SAFETY: no handler is installed. The process that started the tests may ignore the signal.
    unsafe { libc::signal(libc::SIGTERM, libc::SIG_DFL) };
    let profile = std::env::var("BOMBYX_PROFILE").unwrap();
    join(|| (), || ());
    let killed = in_child(|| {
        use_global_pool();
        // SAFETY: has no memory effects.
        unsafe { libc::raise(libc::SIGTERM) };
    });
    assert!(libc::WIFSIGNALED(killed) && libc::WTERMSIG(killed) == libc::SIGTERM, "{killed:#x}");
    let ended = in_child(|| {
        use_global_pool();
        // SAFETY: ends the process as `main` would, with everything that belongs to that.
        unsafe { libc::exit(0) };
    });
    assert!(well(ended), "{ended:#x}");
    std::thread::sleep(std::time::Duration::from_millis(100));
    assert!(!Path::new(&profile).exists(), "only the parent writes");
    join(|| (), || ());
}
