//! Slow CPUs, made by processes that take their time: competitors, which get as much of the CPU as we do, and quotas.
//!
//! A CPU has a quota if a hypervisor or the kernel's bandwidth control rations its time: for a part of every period it
//! is all ours, and then it stands still. A process of real-time priority makes a quota by taking the rest of every
//! period. Periods here are 20 ms, or 100 ms, the default of the kernel's bandwidth control.

use crate::cpus::pin;
use std::env;
use std::hint::black_box;
use std::process::{Child, Command, exit};
use std::thread;
use std::time::{Duration, Instant};

/// The first argument of a process that takes CPU time. Then come the milliseconds that it takes, those of the period,
/// and the CPUs on which it takes turns.
pub(crate) const TAKE: &str = "--take";
/// How long it stays on a CPU.
pub(crate) const FLIP: Duration = Duration::from_millis(200);

/// How a CPU is slowed.
#[derive(Clone, Copy)]
pub(crate) enum Load {
    None,
    /// This many processes compete for the CPU.
    Competitors(u32),
    /// The CPU gives the first number of milliseconds in every period, whose length is the second.
    Quota(usize, usize),
}

/// Whether the system lets us make quotas.
pub(crate) fn has_quotas() -> bool {
    // In a separate thread, whose priority ends with it.
    thread::spawn(real_time).join().is_ok_and(|allowed| allowed)
}

/// Gives the calling thread priority over all ordinary ones. Returns false if the system refuses.
fn real_time() -> bool {
    let priority = libc::sched_param { sched_priority: 1 };
    // SAFETY: the parameters are valid for reads; 0 names the calling thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const priority) == 0 }
}

/// Processes that slow CPUs until this is dropped.
pub(crate) struct Slowed(Vec<Child>);

impl Slowed {
    /// Slows these CPUs, one after the other for [`FLIP`] each.
    pub(crate) fn start(load: Load, cpus: &[usize]) -> Slowed {
        let (count, taken, period) = match load {
            Load::None => (0, 0, 1),
            Load::Competitors(count) => (count, 1, 1),
            Load::Quota(left, period) => (1, period - left, period),
        };
        let this = env::current_exe().expect("the program has a path");
        let process = |_| {
            let arguments = [taken, period].iter().chain(cpus).map(usize::to_string).collect::<Vec<_>>();
            Command::new(&this).arg(TAKE).args(arguments).spawn().expect("a process can be started")
        };
        Slowed((0..count).map(process).collect())
    }
}

impl Drop for Slowed {
    fn drop(&mut self) {
        for process in &mut self.0 {
            // If this fails, the process has ended already. It is waited for either way.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// Takes CPU time for ever, as the arguments say.
pub(crate) fn take(arguments: &[String]) -> ! {
    // SAFETY: the call only asks to be ended together with the parent.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    let numbers: Vec<usize> = arguments.iter().filter_map(|argument| argument.parse().ok()).collect();
    let [taken, period, cpus @ ..] = &numbers[..] else { exit(2) };
    if cpus.is_empty() || (taken < period && !real_time()) {
        exit(2);
    }
    let milliseconds = |&number: &usize| Duration::from_millis(number as u64);
    let (taken, left) = (milliseconds(taken), milliseconds(&(period - taken)));
    loop {
        for &cpu in cpus {
            pin(&[cpu]);
            let arrived = Instant::now();
            while arrived.elapsed() < FLIP {
                let start = Instant::now();
                while start.elapsed() < taken {
                    spin(1000);
                }
                if !left.is_zero() {
                    thread::sleep(left);
                }
            }
        }
    }
}

/// This many steps of a loop that only computes.
pub(crate) fn spin(steps: u64) {
    let mut x = black_box(1u64);
    for _ in 0..steps {
        x = black_box(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    }
}
