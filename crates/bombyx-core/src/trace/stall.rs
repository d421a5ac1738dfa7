//! Notices that nothing happens any more. If no thread has written an event for a time that the user chose, this writes the
//! trace, says so, and says which thread waits for what ([`super::post_mortem`]).
//!
//! Work that nobody steals writes no events either, even if it forks. So only the user can say how long is too long.

use super::rings;
use crate::system::output;
use std::thread;
use std::time::{Duration, Instant};

/// The variable that asks for it.
const VARIABLE: &str = "BOMBYX_TRACE_STALL";

/// How often the watch looks within the time that the user chose.
const LOOKS: u32 = 8;

/// Begins to watch, if the environment asks for it. `tell` writes the trace, and says so.
pub(super) fn begin(tell: fn(Duration)) {
    let Ok(given) = std::env::var(VARIABLE) else { return };
    let seconds = given.trim().parse().ok().filter(|seconds| (0.01..=1e6).contains(seconds));
    let Some(seconds) = seconds else {
        return output::say(format_args!(
            "{VARIABLE} is `{given}`, but must be a number of seconds; nobody watches"
        ));
    };
    let patience = Duration::from_secs_f64(seconds);
    // Without a thread, nobody watches; the program goes on.
    let _ = thread::Builder::new().name("bombyx-stall".to_owned()).spawn(move || watch(patience, tell));
}

fn watch(patience: Duration, tell: fn(Duration)) -> ! {
    let (mut written, mut since, mut told) = (rings::written(), Instant::now(), false);
    loop {
        thread::sleep(patience / LOOKS);
        let now = rings::written();
        if now != written {
            (written, since, told) = (now, Instant::now(), false);
        } else if !told && written > 0 && since.elapsed() >= patience {
            told = true;
            output::complain(|| {
                tell(patience);
                Ok(())
            });
        }
    }
}
