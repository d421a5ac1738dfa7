//! A look at a program that runs: at the board on which its pools keep their counters ([`bombyx_base::live`]). The
//! program does nothing for it, and does not notice.
//!
//! **Not here:** screens (`bombyx top`), and whatever writes the board (`bombyx-core`).
//!
//! | file | has |
//! |---|---|
//! | `process.rs` | processes: which have a board, who may look, and how they end |
//! | `board.rs` | the board of another process |
//! | `names.rs` | the names of closures, read from the file of the program |
//! | `watch.rs` | many looks, and what they say about a time |

mod board;
mod names;
mod process;
mod watch;

pub use board::Doing;
pub use process::{CannotLook, Process, with_boards};
pub use watch::{ClosureView, PoolView, ProcessorView, View, Watch};
