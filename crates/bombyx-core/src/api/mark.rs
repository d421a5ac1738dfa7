//! Marks and phases that the program puts into its trace.

use crate::machine::tracer::{Event, Text};
use crate::trace;
use std::marker::PhantomData;

/// Marks this moment in the trace, if there is one (`BOMBYX_TRACE`). Otherwise this does nothing.
///
/// ```
/// bombyx::mark("phase 2");
/// ```
///
/// A trace keeps at most 16,384 different texts of up to 256 bytes. So do not put a number that changes with every call into
/// the text.
pub fn mark(text: &str) {
    if let Some(text) = trace::text(text) {
        trace::note(Event::Mark(text));
    }
}

/// A phase in the trace, from this call until the value is dropped. The text is limited as in [`mark`].
///
/// ```
/// let _phase = bombyx::phase("sort");
/// let mut words = vec!["steal", "fork", "join"];
/// words.sort();
/// ```
#[must_use = "the phase ends when this is dropped"]
pub fn phase(text: &str) -> Phase {
    let text = trace::text(text);
    if let Some(text) = text {
        trace::note(Event::Opens(text));
    }
    Phase { text, _here: PhantomData }
}

/// Ends a phase when it is dropped. From [`phase`]. It stays on its thread.
#[derive(Debug)]
pub struct Phase {
    text: Option<Text>,
    _here: PhantomData<*const ()>,
}

impl Drop for Phase {
    fn drop(&mut self) {
        if let Some(text) = self.text {
            trace::note(Event::Closes(text));
        }
    }
}
