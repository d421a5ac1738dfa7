//! The flight recorder: tracing is always on, but the file is written only when something goes wrong, with the last
//! seconds. What goes wrong is a panic, a signal that ends the program, or a stall ([`super::stall`]); or the user asks
//! by a signal.

use super::file::write_because;
use crate::system::output;
use crate::system::process::Generation;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use std::{env, panic, thread};

/// The variable that asks for it.
const VARIABLE: &str = "BOMBYX_TRACE_FLIGHT";
/// The variable that names the signal on demand.
const SIGNAL: &str = "BOMBYX_TRACE_SIGNAL";

/// How much of the past the user wants, if this is to be a flight recorder.
pub(super) fn asked() -> Option<Duration> {
    let given = env::var(VARIABLE).ok()?;
    let seconds = given.trim().parse().ok().filter(|seconds| (0.001..=1e6).contains(seconds));
    if seconds.is_none() {
        output::say(format_args!(
            "{VARIABLE} is `{given}`, but must be a number of seconds; the whole trace is kept"
        ));
    }
    seconds.map(Duration::from_secs_f64)
}

/// Begins to listen to the signal on demand and, in a flight recorder, to panics.
pub(super) fn begin(flight: bool) {
    listen();
    // A hook cannot be set while this thread panics.
    if flight && !thread::panicking() {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            before(info);
            panicked();
        }));
    }
}

/// The first panic is written down. Others may follow from it, and would overwrite it.
fn panicked() {
    static WRITTEN: AtomicBool = AtomicBool::new(false);
    if Generation::current().is_first() && !WRITTEN.swap(true, Relaxed) {
        write_because("a thread panics");
    }
}

#[cfg(target_os = "linux")]
fn listen() {
    let Ok(given) = env::var(SIGNAL) else { return };
    let signal = match given.trim().trim_start_matches("SIG") {
        "USR1" => libc::SIGUSR1,
        "USR2" => libc::SIGUSR2,
        _ => {
            return output::say(format_args!(
                "{SIGNAL} is `{given}`, but must be USR1 or USR2; nobody listens"
            ));
        }
    };
    if !crate::system::interrupt::on_demand(signal, || write_because("a signal asks for the trace")) {
        let name = given.trim().trim_start_matches("SIG");
        output::say(format_args!("the program handles SIG{name} itself; nobody else listens"));
    }
}

#[cfg(not(target_os = "linux"))]
fn listen() {
    if env::var_os(SIGNAL).is_some() {
        output::say(format_args!("{SIGNAL} works on Linux only; nobody listens"));
    }
}
