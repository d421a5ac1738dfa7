//! What a traced program leaves behind. Each test runs this binary again, with `BOMBYX_TRACE`.
#![cfg(target_os = "linux")]

mod common;

use bombyx::{Pool, Scheduler, blocking, join, mark, phase, scope};
use bombyx_base::trace::{Event, Kind, NONE, Region};
use common::child;
use common::trace::{Trace, check};
use std::io::{BufRead as _, BufReader};
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::sync::Barrier;
use std::{env, fs, process};

/// Runs a test of this file in a child whose environment asks for a trace.
fn traced(test: &str, more: &[(&str, &str)]) -> Trace {
    let file = path(test);
    let mut environment = vec![("BOMBYX_TRACE", file.to_str().unwrap())];
    environment.extend(more);
    child::pass(test, &environment);
    let bytes = fs::read(&file).expect("the trace was written");
    fs::remove_file(&file).unwrap();
    Trace::read(&bytes)
}

fn path(test: &str) -> PathBuf {
    env::temp_dir().join(format!("bombyx-{test}-{}.trace", process::id()))
}

/// Both halves of a join run at the same time, so one of them was stolen.
fn meet(pool: &Pool) {
    let both = Barrier::new(2);
    pool.run(|| join(|| both.wait(), || both.wait()));
}

#[test]
fn a_steal_is_told_from_both_sides() {
    if child::is_child("a_steal_is_told_from_both_sides") {
        return meet(&Pool::builder().processors(2).build().unwrap());
    }
    let trace = traced("a_steal_is_told_from_both_sides", &[]);
    check(&trace);
    let ours = |event: &&Event| {
        event.kind == Kind::Begins
            && trace.codes.get(&event.b).is_some_and(|name| name.contains("trace::meet"))
    };
    let begins = trace.all().find(ours).unwrap_or_else(|| panic!("{:?}", trace.codes));
    let steal = trace.all().find(|event| event.kind == Kind::Steals && event.a == begins.a).unwrap();
    // Either the thief came for the job, or it was woken and got the job as a gift.
    let woken = trace.all().any(|event| {
        event.kind == Kind::Wakes && event.processor == steal.processor && event.time <= steal.time
    });
    assert!(if steal.other == NONE { woken } else { steal.other != steal.processor }, "{steal:?}");
    assert!(begins.time >= steal.time && begins.processor == steal.processor);
    let waits = trace.all().filter(|event| event.kind == Kind::Waits && event.a == steal.a).count();
    assert!(waits <= 1, "the join of that job waits at most once");
    assert!(trace.notes["ns_per_tick"].parse::<f64>().unwrap() > 0.0);
    assert_eq!(trace.notes["interrupted"], "false");
}

/// Both halves wait for each other, so the second is stolen. Their results have the same type.
#[test]
fn joins_from_outside_have_the_names_of_their_closures() {
    const TEST: &str = "joins_from_outside_have_the_names_of_their_closures";
    fn one(both: &Barrier) {
        join(|| both.wait(), || both.wait());
    }
    fn other(both: &Barrier) {
        join(|| both.wait(), || both.wait());
    }
    if child::is_child(TEST) {
        let both = Barrier::new(2);
        one(&both);
        return other(&both);
    }
    let trace = traced(TEST, &[("BOMBYX_PROCESSORS", "2")]);
    for name in [format!("{TEST}::one::"), format!("{TEST}::other::")] {
        let named = trace.codes.iter().filter(|(_, closure)| closure.contains(&name)).count();
        assert_eq!(named, 1, "{name}: {:?}", trace.codes);
    }
}

#[test]
fn regions_blocking_and_marks_are_told() {
    if child::is_child("regions_blocking_and_marks_are_told") {
        let pool = Pool::builder().processors(2).build().unwrap();
        mark("outside");
        pool.run(|| {
            let _phase = phase("inside");
            scope(|s| s.spawn(|_| blocking(|| mark("blocked"))));
        });
        return pool.spawn(|| ()).join().unwrap();
    }
    let trace = traced("regions_blocking_and_marks_are_told", &[]);
    check(&trace);
    let mut texts = trace.texts.clone();
    texts.sort();
    assert_eq!(texts, ["blocked", "inside", "outside"]);
    assert_eq!(trace.count(Kind::Mark), 2);
    assert_eq!((trace.count(Kind::Opens), trace.count(Kind::Blocks)), (1, 1));
    let regions = |region: Region| {
        let entered = |event: &&Event| event.kind == Kind::Enters && event.other == region as u16;
        trace.all().filter(entered).map(|event| trace.places[&event.a].as_str()).collect::<Vec<_>>()
    };
    assert_eq!(regions(Region::Scope).len(), 1);
    assert!(regions(Region::Scope)[0].ends_with("trace.rs"));
    assert_eq!(regions(Region::Run).len(), 2, "the run and the spawned closure");
}

/// Under every scheduler, what begins also ends.
#[test]
fn every_scheduler_tells_a_consistent_story() {
    if child::is_child("every_scheduler_tells_a_consistent_story") {
        for scheduler in common::schedulers() {
            let pool = Pool::builder().processors(2).scheduler(scheduler).build().unwrap();
            let half = || {
                join(|| (), || blocking(|| ()));
            };
            pool.run(|| {
                scope(|s| {
                    for _ in 0..100 {
                        s.spawn(|_| {
                            join(half, half);
                        });
                    }
                });
            });
        }
        // Under other schedulers, a victim that sleeps answers no thief.
        return meet(&Pool::builder().processors(2).scheduler(Scheduler::default()).build().unwrap());
    }
    let trace = traced("every_scheduler_tells_a_consistent_story", &[]);
    check(&trace);
    assert!(trace.count(Kind::Steals) > 0 && trace.count(Kind::Begins) > 0);
}

/// A ring keeps the newest events.
#[test]
fn memory_is_bounded_and_the_newest_events_are_kept() {
    const ROUNDS: usize = 200_000;
    if child::is_child("memory_is_bounded_and_the_newest_events_are_kept") {
        let pool = Pool::builder().processors(1).build().unwrap();
        (0..ROUNDS).for_each(|_| mark("again"));
        mark("last");
        let others = Barrier::new(3);
        return std::thread::scope(|threads| {
            // This memory is enough for one ring, and the calling thread has it.
            for _ in 0..3 {
                threads.spawn(|| {
                    others.wait();
                    mark("untold");
                });
            }
            drop(pool);
        });
    }
    let trace = traced("memory_is_bounded_and_the_newest_events_are_kept", &[("BOMBYX_TRACE_MEMORY", "1")]);
    assert_eq!(trace.rings, 1);
    let events = &trace.threads[0];
    assert!(events.len() < ROUNDS && events.len() > 1000, "{}", events.len());
    assert_eq!(trace.texts[events.last().unwrap().a as usize], "last");
    assert!(trace.notes["untold"].parse::<u64>().unwrap() >= 3);
}

/// A ring outlives its thread, and goes to the next one.
#[test]
fn threads_that_follow_one_another_share_a_ring() {
    if child::is_child("threads_that_follow_one_another_share_a_ring") {
        return (0..100).for_each(|_| std::thread::spawn(|| mark("here")).join().unwrap());
    }
    let trace = traced("threads_that_follow_one_another_share_a_ring", &[]);
    check(&trace);
    assert_eq!((trace.threads.len(), trace.count(Kind::Mark)), (100, 100));
    assert!(trace.rings < 10, "{}", trace.rings);
}

#[test]
fn nothing_is_written_without_a_wish() {
    if child::is_child("nothing_is_written_without_a_wish") {
        meet(&Pool::builder().processors(2).build().unwrap());
        mark("nobody sees this");
        let written = bombyx::write_trace();
        return assert_eq!(written.is_ok(), env::var("BOMBYX_TRACE").unwrap().is_empty());
    }
    child::pass("nothing_is_written_without_a_wish", &[("BOMBYX_TRACE", "")]);
    let message = child::pass("nothing_is_written_without_a_wish", &[("BOMBYX_TRACE", "/nowhere/x")]);
    assert!(message.contains("cannot write /nowhere/x (BOMBYX_TRACE)"), "{message}");
}

#[test]
fn a_signal_leaves_a_trace() {
    if child::is_child("a_signal_leaves_a_trace") {
        // SAFETY: no handler is installed. The process that started the tests may ignore signals.
        unsafe { libc::signal(libc::SIGTERM, libc::SIG_DFL) };
        meet(&Pool::builder().processors(2).build().unwrap());
        // SAFETY: the call has no preconditions.
        unsafe { libc::raise(libc::SIGTERM) };
        loop {
            std::thread::park();
        }
    }
    let file = path("a_signal_leaves_a_trace");
    let output = child::run("a_signal_leaves_a_trace", &[("BOMBYX_TRACE", file.to_str().unwrap())]);
    assert_eq!(output.status.signal(), Some(libc::SIGTERM), "{output:?}");
    let trace = Trace::read(&fs::read(&file).unwrap());
    fs::remove_file(&file).unwrap();
    assert_eq!(trace.notes["interrupted"], "true");
    assert!(trace.count(Kind::Steals) > 0);
}

/// Not a timing test: however long it takes, the program that hangs is told on.
#[test]
fn a_program_that_hangs_is_told_on() {
    let test = "a_program_that_hangs_is_told_on";
    if child::is_child(test) {
        let pool = Pool::builder().processors(2).build().unwrap();
        let never = Barrier::new(3);
        pool.run(|| join(|| never.wait(), || never.wait()));
    }
    let file = path(test);
    let mut hangs = child::command()
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .envs([("BOMBYX_TEST_CHILD", test), ("BOMBYX_TRACE_STALL", "0.2")])
        .env("BOMBYX_TRACE", &file)
        .stdout(process::Stdio::null())
        .stderr(process::Stdio::piped())
        .spawn()
        .unwrap();
    let errors = BufReader::new(hangs.stderr.take().unwrap());
    // The first word may come before the second half has begun, on a busy machine. Then another one follows.
    let told =
        errors.lines().map(Result::unwrap).filter(|line| line.contains("nothing has happened for 0.2 s"));
    let mut shown = told.map(|line| {
        assert!(line.contains(file.to_str().unwrap()), "{line}");
        Trace::read(&fs::read(&file).unwrap())
    });
    // One half runs on the thread that forked, and the other one was stolen.
    let hung = shown.find(|trace| trace.count(Kind::Begins) == trace.count(Kind::Ends) + 1);
    hangs.kill().unwrap();
    hangs.wait().unwrap();
    fs::remove_file(&file).unwrap();
    assert!(hung.is_some());
}

/// Long strands are told with their fork sites, and short ones are not. Without a profile none is.
#[test]
fn long_strands_are_told() {
    let test = "long_strands_are_told";
    if child::is_child(test) {
        let pool = Pool::builder().processors(1).build().unwrap();
        let nap = || std::thread::sleep(std::time::Duration::from_millis(30));
        return pool.run(|| {
            // One processor, so nothing is stolen.
            for _ in 0..100 {
                join(|| (), || ());
            }
            join(nap, nap);
        });
    }
    let strands = |trace: &Trace| -> Vec<Event> {
        trace.all().filter(|event| event.kind == Kind::Strand).copied().collect()
    };
    assert_eq!(strands(&traced(test, &[])), []);
    let long = [("BOMBYX_PROFILE", "/dev/null"), ("BOMBYX_TRACE_STRANDS", "20000")];
    let trace = traced(test, &long);
    let told = strands(&trace);
    assert!(told.len() >= 2, "{told:?}");
    let scale: f64 = trace.notes["ns_per_tick"].parse().unwrap();
    for strand in &told {
        assert!((strand.time - strand.b) as f64 * scale > 19.9e6, "{strand:?}");
        assert!(trace.places[&strand.a].ends_with("trace.rs"), "{strand:?}");
    }
    let all = [("BOMBYX_PROFILE", "/dev/null"), ("BOMBYX_TRACE_STRANDS", "0")];
    assert!(strands(&traced(test, &all)).len() >= 300);
    let said = [long[0], ("BOMBYX_TRACE_STRANDS", "long"), ("BOMBYX_TRACE", "/dev/null")];
    let said = child::pass(test, &said);
    assert!(said.contains("BOMBYX_TRACE_STRANDS is `long`, but must be a number of microseconds"), "{said}");
}

/// The program says itself who waits for what.
#[test]
fn a_stalled_pool_prints_its_post_mortem() {
    let test = "a_stalled_pool_prints_its_post_mortem";
    if child::is_child(test) {
        let pool = Pool::builder().processors(2).build().unwrap();
        let (begun, never) = (Barrier::new(2), Barrier::new(2));
        pool.run(|| {
            let second = || {
                begun.wait();
                blocking(|| never.wait())
            };
            join(|| begun.wait(), second)
        });
    }
    let file = path(test);
    let mut hangs = child::command()
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .envs([("BOMBYX_TEST_CHILD", test), ("BOMBYX_TRACE_STALL", "0.2")])
        .env("BOMBYX_TRACE", &file)
        .stdout(process::Stdio::null())
        .stderr(process::Stdio::piped())
        .spawn()
        .unwrap();
    let errors = BufReader::new(hangs.stderr.take().unwrap());
    // A busy machine may hold the program up before it hangs. Then another post-mortem follows.
    let (mut waits, mut blocks) = (None, None);
    for line in errors.lines().map(Result::unwrap) {
        if line.contains("nothing has happened") {
            (waits, blocks) = (None, None);
        }
        if let Some((who, whom)) = line.split_once(" waits for a job that ") {
            let whom = whom.split(" runs, for ").next().unwrap();
            waits = Some((who.trim().to_owned(), whom.to_owned()));
        }
        if let Some((who, _)) = line.split_once(" is in `blocking`, for ") {
            blocks = Some(who.trim().to_owned());
        }
        if let (Some((_, whom)), Some(who)) = (&waits, &blocks) {
            if whom == who {
                break;
            }
        }
    }
    hangs.kill().unwrap();
    hangs.wait().unwrap();
    let _ = fs::remove_file(&file);
    let (who, whom) = waits.expect("somebody waits");
    assert!(who.starts_with("thread ") && who != whom, "{who}, {whom}");
    assert_eq!(Some(whom), blocks);
}

/// A flight recorder writes nothing if all goes well, and the last seconds at the first panic.
#[test]
fn a_flight_recorder_writes_at_a_panic() {
    let test = "a_flight_recorder_writes_at_a_panic";
    if child::is_child(test) {
        let pool = Pool::builder().processors(2).build().unwrap();
        mark("long ago");
        std::thread::sleep(std::time::Duration::from_millis(700));
        mark("just now");
        if env::var_os("BOMBYX_TEST_PANIC").is_some() {
            for _ in 0..2 {
                let run = std::panic::AssertUnwindSafe(|| pool.run(|| panic!("as expected")));
                let caught = std::panic::catch_unwind(run);
                assert!(caught.is_err());
            }
        }
        return meet(&pool);
    }
    let file = path(test);
    let flight = [("BOMBYX_TRACE", file.to_str().unwrap()), ("BOMBYX_TRACE_FLIGHT", "0.5")];
    child::pass(test, &flight);
    assert!(!fs::exists(&file).unwrap(), "nothing went wrong");
    let said = child::pass(test, &[flight[0], flight[1], ("BOMBYX_TEST_PANIC", "1")]);
    assert_eq!(said.matches("a thread panics; the trace up to now is in").count(), 1, "{said}");
    let trace = Trace::read(&fs::read(&file).unwrap());
    fs::remove_file(&file).unwrap();
    let marks: Vec<_> = trace.all().filter(|event| event.kind == Kind::Mark).collect();
    let texts: Vec<_> = marks.iter().map(|mark| trace.texts[mark.a as usize].as_str()).collect();
    assert_eq!(texts, ["just now"]);
    let said = child::pass(test, &[flight[0], ("BOMBYX_TRACE_FLIGHT", "soon")]);
    assert!(said.contains("BOMBYX_TRACE_FLIGHT is `soon`, but must be a number of seconds"), "{said}");
    fs::remove_file(&file).unwrap();
}

#[test]
fn a_signal_on_demand_writes_and_the_program_goes_on() {
    let test = "a_signal_on_demand_writes_and_the_program_goes_on";
    if child::is_child(test) {
        let file = env::var_os("BOMBYX_TRACE").unwrap();
        // SAFETY: no handler is installed. The process that started the tests may ignore signals.
        unsafe { libc::signal(libc::SIGUSR2, libc::SIG_DFL) };
        let pool = Pool::builder().processors(2).build().unwrap();
        for _ in 0..2 {
            meet(&pool);
            // SAFETY: the call has no preconditions.
            unsafe { libc::raise(libc::SIGUSR2) };
            common::wait_until(|| fs::exists(&file).unwrap());
            fs::remove_file(&file).unwrap();
        }
        // SAFETY: the child does only what the runtime promises to support there.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // The signal is one of the parent's. Here it acts as if nobody had asked.
            // SAFETY: the calls have no preconditions.
            unsafe {
                libc::raise(libc::SIGUSR2);
                libc::_exit(0)
            };
        }
        let mut status = 0;
        // SAFETY: the number is one of a child, and the status is written to a place that lives.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(libc::WTERMSIG(status), libc::SIGUSR2);
        // A child that was made without the C library's knowledge has the handler, and nobody tells it of the fork. There
        // the signal is ignored.
        // SAFETY: the child only calls the system, and ends.
        let child = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) } as libc::pid_t;
        if child == 0 {
            // SAFETY: the calls have no preconditions. `raise` would use a number that the C library remembers.
            unsafe {
                libc::kill(libc::getpid(), libc::SIGUSR2);
                libc::kill(libc::getpid(), libc::SIGTERM);
                libc::_exit(0)
            };
        }
        // SAFETY: as above.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(libc::WTERMSIG(status), libc::SIGTERM);
        return assert!(!fs::exists(&file).unwrap());
    }
    let file = path(test);
    let environment = [("BOMBYX_TRACE", file.to_str().unwrap()), ("BOMBYX_TRACE_SIGNAL", "USR2")];
    let said = child::pass(test, &environment);
    assert_eq!(said.matches("a signal asks for the trace; the trace up to now is in").count(), 2, "{said}");
    fs::remove_file(&file).unwrap();
    let other = [environment[0], ("BOMBYX_TRACE_SIGNAL", "KILL")];
    let said = child::pass("a_steal_is_told_from_both_sides", &other);
    assert!(said.contains("BOMBYX_TRACE_SIGNAL is `KILL`, but must be USR1 or USR2"), "{said}");
    fs::remove_file(&file).unwrap();
}

/// Nobody reads standard error any more. The program goes on after a panic that it catches, as without the recorder.
#[test]
fn a_flight_recorder_needs_no_standard_error() {
    let test = "a_flight_recorder_needs_no_standard_error";
    if child::is_child(test) {
        let pool = Pool::builder().processors(2).build().unwrap();
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        // SAFETY: both numbers are those of open files.
        assert_eq!(unsafe { libc::dup2(writer.as_raw_fd(), 2) }, 2);
        let run = std::panic::AssertUnwindSafe(|| pool.run(|| panic!("as expected")));
        assert!(std::panic::catch_unwind(run).is_err());
        return meet(&pool);
    }
    let file = path(test);
    child::pass(test, &[("BOMBYX_TRACE", file.to_str().unwrap()), ("BOMBYX_TRACE_FLIGHT", "10")]);
    fs::remove_file(&file).unwrap();
}

/// A program may close all its files. What it opens then gets the same numbers, and signals leave it alone.
#[test]
fn a_signal_on_demand_touches_no_file_of_the_program() {
    let test = "a_signal_on_demand_touches_no_file_of_the_program";
    if child::is_child(test) {
        let file = env::var_os("BOMBYX_TRACE").unwrap();
        // SAFETY: no handler is installed.
        unsafe { libc::signal(libc::SIGUSR2, libc::SIG_DFL) };
        let pool = Pool::builder().processors(2).build().unwrap();
        meet(&pool);
        // SAFETY: this process has no other files that it uses.
        assert_eq!(unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, 0) }, 0);
        let opened: Vec<_> = (0..16).map(|_| tempfile()).collect();
        // SAFETY: the call has no preconditions.
        unsafe { libc::raise(libc::SIGUSR2) };
        common::wait_until(|| fs::exists(&file).unwrap());
        opened.iter().for_each(|file| assert_eq!(file.metadata().unwrap().len(), 0));
        return;
    }
    let file = path(test);
    child::pass(test, &[("BOMBYX_TRACE", file.to_str().unwrap()), ("BOMBYX_TRACE_SIGNAL", "USR2")]);
    fs::remove_file(&file).unwrap();
}

/// A new file without a name.
fn tempfile() -> fs::File {
    // SAFETY: the name is a text that ends with zero, and the file that is made belongs to nobody else.
    unsafe { fs::File::from_raw_fd(libc::memfd_create(c"bombyx-test".as_ptr(), libc::MFD_CLOEXEC)) }
}

/// Signals that come faster than the trace is written never hold up the thread that gets them.
#[test]
fn a_flood_of_signals_on_demand_passes() {
    let test = "a_flood_of_signals_on_demand_passes";
    if child::is_child(test) {
        // SAFETY: no handler is installed. If this fails, the process ends by the alarm.
        unsafe {
            libc::signal(libc::SIGUSR2, libc::SIG_DFL);
            libc::alarm(60);
        }
        let pool = Pool::builder().processors(2).build().unwrap();
        meet(&pool);
        // The writer waits for somebody who reads the trace. A pipe holds 65536 bytes.
        for _ in 0..70_000 {
            // SAFETY: the call has no preconditions.
            unsafe { libc::raise(libc::SIGUSR2) };
        }
        println!("test result: 1 passed");
        // Nobody reads what would be written at the end either.
        // SAFETY: as above.
        unsafe { libc::_exit(0) };
    }
    let pipe = path(test);
    let name = std::ffi::CString::new(pipe.to_str().unwrap()).unwrap();
    // SAFETY: the name outlives the call.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    child::pass(test, &[("BOMBYX_TRACE", pipe.to_str().unwrap()), ("BOMBYX_TRACE_SIGNAL", "USR2")]);
    fs::remove_file(&pipe).unwrap();
}

/// A child of fork(2) has its own pool, which is not traced, and the file is the parent's.
#[test]
fn the_child_of_a_fork_leaves_the_trace_alone() {
    if child::is_child("the_child_of_a_fork_leaves_the_trace_alone") {
        let pool = Pool::builder().processors(2).build().unwrap();
        meet(&pool);
        // SAFETY: the child does only what the runtime promises to support there.
        let child = unsafe { libc::fork() };
        if child == 0 {
            mark("in the child");
            bombyx::join(|| (), || ());
            // SAFETY: the process has nothing more to do, and runs the functions that were registered for its end.
            unsafe { libc::exit(0) };
        }
        let mut status = 0;
        // SAFETY: the number is one of a child, and the status is written to a place that lives.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0);
        return mark("in the parent");
    }
    let trace = traced("the_child_of_a_fork_leaves_the_trace_alone", &[]);
    check(&trace);
    assert_eq!(trace.texts, ["in the parent"]);
}
