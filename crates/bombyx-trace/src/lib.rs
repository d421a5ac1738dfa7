//! Traces of fork-join programs: what the runtime wrote down, as a timeline, and in the formats of other tools.
//!
//! **Not here:** tracing, which the runtime does (`BOMBYX_TRACE`); running programs and printing, which `bombyx-cli` does.
//!
//! - [`read`] reads a trace file, and treats it as hostile. `docs/trace-format.md` describes the file.
//! - [`Timeline`] makes slices, arrows and counters of the events.
//! - [`perfetto`], [`chrome`] and [`firefox`] write a timeline for ui.perfetto.dev, profiler.firefox.com and similar programs.
//!
//! ```no_run
//! let bytes = std::fs::read("run.trace")?;
//! let timeline = bombyx_trace::Timeline::of(&bombyx_trace::read(&bytes)?);
//! std::fs::write("run.pftrace", bombyx_trace::perfetto::encode(&timeline))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod arrows;
pub mod chrome;
mod error;
pub mod firefox;
mod names;
pub mod perfetto;
mod reader;
mod replay;
mod timeline;

pub use error::ReadError;
pub use names::short_name;
pub use reader::{Place, Pool, Thread, Trace, read};
pub use timeline::{Arrow, Category, Counter, Mark, Point, Slice, Timeline, Track, TrackKind, Unfinished};
