//! Spans of the crate `tracing`: the current span follows the work to whichever thread runs it.
//!
//! If a span is entered on one thread, other threads do not know it. [`follow`] makes a span the current one for
//! everything that a closure does, even where a thief runs a part of it.
//!
//! ```
//! use tracing::{info, info_span};
//! let sum = bombyx::spans::follow(info_span!("request", id = 17), || {
//!     // Whoever runs these halves, the lines belong to the request.
//!     let (a, b) = bombyx::join(|| { info!("left"); 1 }, || { info!("right"); 2 });
//!     a + b
//! });
//! assert_eq!(sum, 3);
//! ```
//!
//! Spans that a closure enters in other ways, such as `Span::enter` or `#[instrument]`, stay on their thread. To make such
//! a span follow the work below it, write `follow(Span::current(), || …)`.

use bombyx_core::{TaskLocal, follow_contexts};
use tracing::Span;

static SPAN: TaskLocal<Span> = TaskLocal::new();

/// Runs `f` in `span`. Every fork, spawn and iteration below also runs in the span, on any thread.
pub fn follow<R>(span: Span, f: impl FnOnce() -> R) -> R {
    follow_contexts(enter, exit);
    let here = span.clone();
    let _entered = here.enter();
    SPAN.scope(span, f)
}

fn enter() {
    SPAN.with(|span| {
        if let Some(span) = span {
            span.with_subscriber(|(id, dispatch)| dispatch.enter(id));
        }
    });
}

fn exit() {
    SPAN.with(|span| {
        if let Some(span) = span {
            span.with_subscriber(|(id, dispatch)| dispatch.exit(id));
        }
    });
}
