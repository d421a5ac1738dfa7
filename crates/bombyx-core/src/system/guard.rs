//! Where nothing may unwind.
//!
//! Others use the frames of this runtime: a thief uses the job of a join, a spawned closure its scope, a processor the
//! carrier that comes back to it. So a frame may end only after they have. User code is called under `catch_unwind`
//! wherever that matters, and its panic resumes when all of that has ended. Everything else on these paths is the
//! runtime's own code, which does not panic. If it does, that is a defect, and unwinding would turn it into a memory
//! error. So the runtime's own code runs under a [`Guard`], which ends the process instead, and says why.

use std::io::{self, Write as _};
use std::mem;

/// Ends the process when it is dropped, which happens only during unwinding. It has no other cost.
pub(crate) struct Guard(());

impl Guard {
    #[inline(always)]
    pub(crate) fn new() -> Guard {
        Guard(())
    }

    /// The guarded code has ended.
    #[inline(always)]
    pub(crate) fn passed(self) {
        mem::forget(self);
    }
}

impl Drop for Guard {
    #[inline(always)]
    fn drop(&mut self) {
        unwound();
    }
}

#[cold]
#[inline(never)]
fn unwound() -> ! {
    #[cfg(not(loom))]
    crate::system::process::abort_if_lost();
    abort(
        "the runtime itself panicked while others used its frames; this is a defect of bombyx, \
         please report it with the message above",
    );
}

/// Runs a piece of the runtime's own code, in which nothing may unwind.
#[inline(always)]
pub(crate) fn guarded<R>(f: impl FnOnce() -> R) -> R {
    let guard = Guard::new();
    let result = f();
    guard.passed();
    result
}

/// Prints why, if possible, and ends the process.
#[cold]
#[inline(never)]
pub(crate) fn abort(why: &str) -> ! {
    let _ = writeln!(io::stderr(), "bombyx: {why}; aborting");
    std::process::abort();
}

/// A place where a test can make the runtime panic: `BOMBYX_TRIPWIRE` names it.
#[cfg(not(all(test, not(loom))))]
#[inline(always)]
pub(crate) fn tripwire(_place: &str) {}

#[cfg(all(test, not(loom)))]
pub(crate) use tests::tripwire;

#[cfg(all(test, not(loom)))]
mod tests {
    use crate::dropin::{HandleExt as _, yield_now};
    use crate::lab::BuilderExt as _;
    use crate::system::process::tests::this_program;
    use crate::{Pool, blocking, join, scope};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
    use std::sync::mpsc;

    const TRIPWIRE: &str = "BOMBYX_TRIPWIRE";

    pub(crate) fn tripwire(place: &str) {
        if std::env::var(TRIPWIRE).is_ok_and(|wanted| wanted == place) {
            panic!("tripped at {place}");
        }
    }

    fn wait_until(flag: &AtomicBool) {
        while !flag.load(SeqCst) {
            crate::checkpoint();
            std::thread::yield_now();
        }
    }

    /// What a program does, and the places at which the runtime panics meanwhile.
    type Scenario = (&'static str, &'static [&'static str], fn(&Pool));

    /// A join whose second half is taken, and ends after the first.
    fn taken(pool: &Pool) {
        let begun = AtomicBool::new(false);
        let second = || {
            begun.store(true, SeqCst);
            std::thread::sleep(std::time::Duration::from_millis(20));
        };
        pool.run(|| join(|| wait_until(&begun), second));
    }

    const SCENARIOS: &[Scenario] = &[
        ("a fork that attends", &["serve"], |pool| {
            pool.run(|| join(|| (), || ()));
        }),
        ("a join that waits", &["wait"], taken),
        ("closures that need another carrier", &["start_carrier"], |pool| {
            let all = std::sync::Barrier::new(6);
            pool.run(|| {
                scope(|s| {
                    for _ in 0..6 {
                        s.spawn(|_| {
                            blocking(|| all.wait());
                        });
                    }
                });
            });
        }),
        ("a spawn in a scope", &["serve"], |pool| pool.run(|| scope(|s| s.spawn(|_| ())))),
        ("a scope that waits", &["wait"], |pool| {
            let begun = AtomicBool::new(false);
            pool.run(|| {
                scope(|s| {
                    s.spawn(|_| {
                        begun.store(true, SeqCst);
                        std::thread::sleep(std::time::Duration::from_millis(20));
                    });
                    wait_until(&begun);
                });
            });
        }),
        ("a closure that blocks", &["retire", "acquire"], |pool| pool.run(|| blocking(|| ()))),
        ("a run on the caller's stack", &["adopt", "retire"], |pool| pool.run(|| ())),
        ("a run from outside", &["inject"], |_| {
            Pool::builder().processors(1).lend(false).build().unwrap().run(|| ());
        }),
        ("a broadcast", &["wake_private"], |pool| drop(pool.handle().broadcast(|_| ()))),
        ("a yield", &["yield"], |pool| {
            pool.run(yield_now);
        }),
        ("a carrier", &["work"], |pool| {
            let (sender, receiver) = mpsc::channel();
            pool.spawn(move || sender.send(()).unwrap());
            receiver.recv().unwrap();
            std::thread::sleep(std::time::Duration::from_millis(200));
        }),
    ];

    /// Not a test: the program that panics. Prints a message if the panic comes out.
    #[test]
    #[ignore = "part of another test"]
    fn program() {
        let number: usize = std::env::var("SCENARIO").unwrap().parse().unwrap();
        let place = std::env::var("PLACE").unwrap();
        let pool = Pool::builder().processors(2).fence(true).build().unwrap();
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: nothing else in this process reads or writes the environment by C functions.
            unsafe { std::env::set_var(TRIPWIRE, place) };
            SCENARIOS[number].2(&pool);
        }));
        eprintln!("came out: {}", unwound.is_err());
        std::process::exit(0);
    }

    #[test]
    fn a_panic_of_the_runtime_ends_the_process() {
        for (number, (what, places, _)) in SCENARIOS.iter().enumerate() {
            for place in *places {
                let output = this_program("system::guard::tests::program")
                    .env("SCENARIO", number.to_string())
                    .env("PLACE", place)
                    .output()
                    .unwrap();
                let said = String::from_utf8_lossy(&output.stderr);
                assert!(said.contains(&format!("tripped at {place}")), "{what}: {said}");
                assert!(said.contains("a defect of bombyx"), "{what}, {place}: {said}");
                assert!(!output.status.success() && !said.contains("came out"), "{what}, {place}: {said}");
            }
        }
    }
}
