//! Runs one call of a remote function in this process: on Bombyx, with its panic caught.
//!
//! **Backtraces.** The function may fork, so its panic may begin on another thread than the one that catches it. The
//! hook keeps the last few panics with their backtraces. Whoever catches a panic looks for the newest one with the same
//! message.

use crate::current::{self, Running};
use crate::engine::Engine;
use crate::key::Key;
use crate::outcome::{Panic, Tagged};
use crate::registry;
use std::any::Any;
use std::backtrace::Backtrace;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

/// Calls the function with this name. Its nested calls go to `engine`.
pub(crate) fn execute(
    engine: Arc<dyn Engine>,
    key: Key,
    depth: u32,
    function: &str,
    argument: &[u8],
) -> Tagged {
    watch_panics();
    let Some(invoke) = registry::find(function) else {
        let message = format!("this program has no remote function `{function}`");
        return Tagged::panic(&Panic { message, backtrace: String::new() });
    };
    bombyx::Pool::global().run(|| {
        let running = Running { engine, key, depth, waited: Duration::ZERO };
        let outer = current::replace(Some(running));
        let began = Instant::now();
        let result = catch_unwind(AssertUnwindSafe(|| invoke(argument)));
        let elapsed = began.elapsed();
        let waited = current::replace(outer).map_or(Duration::ZERO, |running| running.waited);
        let tagged = result.unwrap_or_else(|payload| Tagged::panic(&caught(&*payload)));
        tagged.took(elapsed.saturating_sub(waited))
    })
}

const KEPT: usize = 64;
static LAST: Mutex<VecDeque<Panic>> = Mutex::new(VecDeque::new());

fn watch_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let message = message(info.payload());
            let place = info.location().map(|place| format!("at {place}\n")).unwrap_or_default();
            let backtrace = format!("{place}{}", Backtrace::force_capture());
            let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
            last.truncate(KEPT - 1);
            last.push_front(Panic { message, backtrace });
            drop(last);
            before(info);
        }));
    });
}

fn caught(payload: &(dyn Any + Send)) -> Panic {
    let message = message(payload);
    let last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    let backtrace = last.iter().find(|panic| panic.message == message);
    let backtrace = backtrace.map(|panic| panic.backtrace.clone()).unwrap_or_default();
    Panic { message, backtrace }
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic with a payload that is not text".to_owned())
}
