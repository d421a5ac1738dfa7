//! What others can see of a program that runs: its board. Each test runs this binary again, because a process has one
//! board.
#![cfg(target_os = "linux")]

mod common;

use bombyx::{Pool, Stats, Threads, blocking, join};
use bombyx_base::live::{self, head, pool, slot};
use bombyx_base::trace::State;
use common::{child, schedulers, wait_until, watchdog};
use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// A look at a board.
struct Look(Vec<u64>);

impl Look {
    /// The boards among the files of a process.
    fn all(process: u32) -> Vec<Look> {
        let file = |path: PathBuf| {
            let name = fs::read_link(&path).ok()?;
            name.to_str()?.contains(live::NAME).then(|| Look::at(&File::open(&path).unwrap()))
        };
        let files = fs::read_dir(format!("/proc/{process}/fd")).unwrap();
        files.filter_map(|entry| file(entry.unwrap().path())).collect()
    }

    fn at(file: &File) -> Look {
        assert_eq!(file.metadata().unwrap().len() as usize, live::WORDS * size_of::<u64>());
        let mut bytes = vec![0; live::WORDS * size_of::<u64>()];
        file.read_exact_at(&mut bytes, 0).unwrap();
        let words = bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap()));
        let look = Look(words.collect());
        assert_eq!(look.0[head::MAGIC], live::MAGIC);
        look
    }

    /// The board that this process writes.
    fn own() -> Look {
        let process = std::process::id();
        let own = |look: &Look| look.0[head::PROCESS] == u64::from(process);
        Look::all(process).into_iter().find(own).expect("there is a board")
    }

    fn text(&self, length: usize, at: usize) -> String {
        let bytes: Vec<u8> = self.0[at..].iter().take(512).flat_map(|word| word.to_le_bytes()).collect();
        String::from_utf8(bytes[..self.0[length] as usize].to_vec()).unwrap()
    }

    /// Where the pools are.
    fn pools(&self) -> Vec<usize> {
        let at = (0..live::POOLS).map(live::pool_at);
        at.filter(|&at| self.0[at + pool::NUMBER] > 0).collect()
    }

    /// A word of each processor of a pool.
    fn processors(&self, at: usize, word: usize) -> Vec<u64> {
        let (first, count) = (self.0[at + pool::FIRST] as usize, self.0[at + pool::PROCESSORS] as usize);
        (first..first + count).map(|index| self.0[live::slot_at(index) + word]).collect()
    }

    fn counted(&self, at: usize, name: &str) -> u64 {
        let names = self.text(head::NAMES_LENGTH, head::NAMES);
        let counter = names.split(' ').position(|other| other == name).expect("the counter has a name");
        self.processors(at, slot::COUNTERS + counter).iter().sum()
    }

    fn closures(&self, at: usize) -> Vec<&'static str> {
        let name = |word| {
            let (address, length) = live::closure_at(word)?;
            let text = std::ptr::with_exposed_provenance(address as usize);
            // SAFETY: the board names texts of this program, which never change.
            Some(std::str::from_utf8(unsafe { std::slice::from_raw_parts(text, length) }).unwrap())
        };
        self.processors(at, slot::CLOSURE).into_iter().filter_map(name).collect()
    }
}

/// Runs the body of `test` in a child process.
fn in_child(test: &str, environment: &[(&str, &str)], body: impl FnOnce() + Send) -> Option<String> {
    if child::is_child(test) {
        watchdog(test, body);
        return None;
    }
    Some(child::pass(test, environment))
}

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// Both halves run at the same time, so one of them was stolen.
fn meet(pool: &Pool) {
    let both = Barrier::new(2);
    pool.run(|| join(|| both.wait(), || both.wait()));
}

/// A look while the processors of a pool rest, and what the pool had counted then. A carrier that has just come to rest may
/// wake another one. So a look counts only if nothing was counted around it.
fn at_rest(shown: &Pool) -> (Look, Stats) {
    loop {
        wait_until(|| shown.metrics().resting == shown.processors());
        let before = shown.stats();
        let look = Look::own();
        if shown.stats() == before && shown.metrics().resting == shown.processors() {
            return (look, before);
        }
    }
}

#[test]
fn the_board_has_what_the_pools_count() {
    in_child("the_board_has_what_the_pools_count", &[], || {
        for scheduler in schedulers() {
            let shown = Pool::builder().processors(2).scheduler(scheduler).build().unwrap();
            assert_eq!(shown.run(|| fib(15)), 610);
            let (look, stats) = at_rest(&shown);
            let [at] = look.pools()[..] else { panic!("one pool") };
            assert_eq!(look.text(at + pool::SCHEDULER_LENGTH, at + pool::SCHEDULER), scheduler.to_string());
            assert_eq!(look.counted(at, "steals"), stats.steals);
            assert_eq!(look.counted(at, "hand_overs"), stats.hand_overs);
            assert_eq!(look.counted(at, "sleeps"), stats.sleeps);
            assert_eq!(look.0[at + pool::CARRIERS], stats.carriers);
            assert_eq!(look.processors(at, slot::STATE), [State::Idle as u64; 2]);
            assert_eq!(look.processors(at, slot::WAITS), [0; 2]);
            assert_eq!(look.processors(at, slot::CLOSURE), [0; 2]);
            drop(shown);
            assert_eq!(Look::own().pools(), []);
        }
    });
}

#[test]
fn the_board_says_what_runs_and_who_waits() {
    in_child("the_board_says_what_runs_and_who_waits", &[], || {
        let shown = Pool::builder().processors(2).threads(Threads::Fixed).build().unwrap();
        let (begun, seen) = (AtomicBool::new(false), AtomicBool::new(false));
        let long = || {
            begun.store(true, SeqCst);
            wait_until(|| seen.load(SeqCst));
        };
        std::thread::scope(|threads| {
            threads.spawn(|| shown.run(|| join(|| wait_until(|| begun.load(SeqCst)), long)));
            // The thief runs one half. The other half ends at once, and its join waits.
            wait_until(|| {
                let look = Look::own();
                let at = look.pools()[0];
                let named = look.closures(at).iter().any(|name| name.contains("who_waits"));
                let mut waits = look.processors(at, slot::WAITS);
                waits.sort();
                named && waits == [0, 1] && look.processors(at, slot::STATE).contains(&(State::Busy as u64))
            });
            seen.store(true, SeqCst);
        });
        drop(shown);
        for threads in [Threads::Moving, Threads::Fixed] {
            let shown = Pool::builder().processors(1).threads(threads).build().unwrap();
            shown.run(|| {
                blocking(|| {
                    let look = Look::own();
                    let at = *look.pools().last().unwrap();
                    assert_eq!(look.0[at + pool::BLOCKED], 1);
                    let blocks = look.processors(at, slot::WAITS) == [live::BLOCKED];
                    assert_eq!(blocks, threads == Threads::Fixed);
                    assert_eq!(look.0[at + pool::FIXED] == 1, threads == Threads::Fixed);
                });
                let look = Look::own();
                let at = *look.pools().last().unwrap();
                assert_eq!((look.0[at + pool::BLOCKED], look.processors(at, slot::WAITS)), (0, vec![0]));
            });
        }
    });
}

#[test]
fn the_board_counts_the_queue() {
    in_child("the_board_counts_the_queue", &[], || {
        let shown = Pool::builder().processors(1).build().unwrap();
        let go = AtomicBool::new(false);
        std::thread::scope(|threads| {
            threads.spawn(|| shown.run(|| wait_until(|| go.load(SeqCst))));
            wait_until(|| shown.metrics().busy == 1 && shown.metrics().queued == 0);
            let queued: Vec<_> = (0..3).map(|_| shown.spawn(|| ())).collect();
            let look = Look::own();
            assert_eq!(look.0[look.pools()[0] + pool::QUEUED], 3);
            go.store(true, SeqCst);
            queued.into_iter().for_each(|task| task.join().unwrap());
            let look = Look::own();
            assert_eq!(look.0[look.pools()[0] + pool::QUEUED], 0);
        });
    });
}

#[test]
fn the_board_says_how_many_processors_serve() {
    in_child("the_board_says_how_many_processors_serve", &[], || {
        let shown = Pool::builder().processors(2).max_processors(4).build().unwrap();
        let says = || {
            let look = Look::own();
            let at = look.pools()[0];
            (look.0[at + pool::IN_SERVICE], look.0[at + pool::PROCESSORS])
        };
        assert_eq!(says(), (2, 4));
        shown.set_processors(3).unwrap();
        assert_eq!(says(), (3, 4));
    });
}

#[test]
fn pools_without_room_work_and_are_counted() {
    in_child("pools_without_room_work_and_are_counted", &[], || {
        let small = || Pool::builder().processors(1).build().unwrap();
        let many: Vec<_> = (0..live::POOLS + 2).map(|_| small()).collect();
        many.iter().for_each(|pool| assert_eq!(pool.run(|| join(|| 1, || 2)), (1, 2)));
        let look = Look::own();
        assert_eq!((look.pools().len(), look.0[head::LEFT_OUT]), (live::POOLS, 2));
        assert!(many.last().unwrap().stats().sleeps > 0);
        drop(many);
        let _again = small();
        assert_eq!(Look::own().pools().len(), 1);
    });
}

/// A child of fork(2) does not answer for its parent, and does not write on its board.
#[test]
fn the_child_of_a_fork_has_its_own_board() {
    in_child("the_child_of_a_fork_has_its_own_board", &[], || {
        let shown = Pool::builder().processors(2).build().unwrap();
        meet(&shown);
        let (before, _) = at_rest(&shown);
        // SAFETY: the child does only what the runtime promises to support there.
        let forked = unsafe { libc::fork() };
        if forked == 0 {
            let process = u64::from(std::process::id());
            let own = |look: &Look| look.0[head::PROCESS] == process;
            let none_yet = !Look::all(std::process::id()).iter().any(own);
            let pool = Pool::builder().processors(2).build().unwrap();
            meet(&pool);
            let look = Look::own();
            let well = none_yet && look.pools().len() == 1 && look.counted(look.pools()[0], "steals") > 0;
            // SAFETY: the process ends here.
            unsafe { libc::_exit(i32::from(!well)) };
        }
        let mut status = 0;
        // SAFETY: the number is one of a child, and the status is written to a place that lives.
        assert_eq!(unsafe { libc::waitpid(forked, &mut status, 0) }, forked);
        assert_eq!(status, 0);
        assert_eq!(Look::own().0, before.0);
    });
}

#[test]
fn the_board_can_be_declined() {
    let test = "the_board_can_be_declined";
    if child::is_child(test) {
        let pool = Pool::builder().processors(2).build().unwrap();
        meet(&pool);
        assert!(pool.stats().steals > 0);
        return assert!(Look::all(std::process::id()).is_empty());
    }
    assert!(!child::pass(test, &[("BOMBYX_LIVE", "0")]).contains("BOMBYX_LIVE"));
    assert!(
        child::pass(test, &[("BOMBYX_LIVE", "maybe")]).contains("BOMBYX_LIVE is `maybe`, but must be 0 or 1")
    );
}

/// The system would end a process that makes a file larger than its limit.
#[test]
fn a_limit_on_files_is_respected() {
    in_child("a_limit_on_files_is_respected", &[], || {
        let limit = libc::rlimit { rlim_cur: 1 << 20, rlim_max: 1 << 20 };
        // SAFETY: the structure outlives the call.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &limit) }, 0);
        meet(&Pool::builder().processors(2).build().unwrap());
        assert!(Look::all(std::process::id()).is_empty());
    });
}

/// A program may close all its files. The next file that it opens gets the number of the board.
#[test]
fn a_program_that_closes_its_files_keeps_those_that_it_opens() {
    in_child("a_program_that_closes_its_files_keeps_those_that_it_opens", &[], || {
        let first = Pool::builder().processors(2).build().unwrap();
        meet(&first);
        // SAFETY: this process has no other files that it uses.
        assert_eq!(unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, 0) }, 0);
        let paths: Vec<_> = (0..16)
            .map(|n| std::env::temp_dir().join(format!("bombyx-live-{}-{n}", std::process::id())))
            .collect();
        paths.iter().for_each(|path| fs::write(path, "precious").unwrap());
        let files: Vec<_> = paths.iter().map(|path| File::open(path).unwrap()).collect();
        drop(first);
        meet(&Pool::builder().processors(2).build().unwrap());
        for (file, path) in files.iter().zip(&paths) {
            let mut bytes = [0; 8];
            file.read_exact_at(&mut bytes, 0).unwrap();
            assert_eq!((&bytes, file.metadata().unwrap().len()), (b"precious", 8));
            fs::remove_file(path).unwrap();
        }
    });
}
