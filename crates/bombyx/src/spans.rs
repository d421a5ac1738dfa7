//! Spans of the crate `tracing`: the current span follows the work to whichever thread runs it, and spans show in the trace.
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
//!
//! [`Phases`] is a layer for subscribers. With it, spans are phases of the trace that `bombyx trace` shows.

use bombyx_core::{Phase, TaskLocal, follow_contexts, phase};
use std::cell::RefCell;
use tracing::span::Id;
use tracing::{Span, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

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

/// Shows spans in the trace: while a thread is in a span, the trace has a [phase](phase()) with the name of the span. Without
/// a trace (`BOMBYX_TRACE`) this does next to nothing.
///
/// ```
/// use tracing_subscriber::layer::SubscriberExt as _;
/// let subscriber = tracing_subscriber::registry().with(bombyx::spans::Phases);
/// tracing::subscriber::with_default(subscriber, || {
///     let _sort = tracing::info_span!("sort").entered();
/// });
/// ```
///
/// The phase does not have the fields of the span, because a trace keeps only 16,384 different texts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Phases;

thread_local! {
    /// The spans that the thread is in, the outermost first. When the thread ends, this list may end before its spans do. So
    /// nobody may rely on it.
    static ENTERED: RefCell<Vec<(Id, Phase)>> = const { RefCell::new(Vec::new()) };
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Phases {
    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        if let Some(span) = context.span(id) {
            let phase = phase(span.name());
            let _ = ENTERED.try_with(|entered| entered.borrow_mut().push((id.clone(), phase)));
        }
    }

    fn on_exit(&self, id: &Id, _: Context<'_, S>) {
        let _ = ENTERED.try_with(|entered| {
            let mut entered = entered.borrow_mut();
            if let Some(at) = entered.iter().rposition(|(one, _)| one == id) {
                entered.remove(at);
            }
        });
    }
}
