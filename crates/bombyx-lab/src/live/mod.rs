//! Looks at a program that runs: at the board on which its pools keep their counters ([`bombyx_base::live`]). The program
//! does nothing for a look, and does not notice it.
//!
//! **Not here:** screens (`bombyx top`), and whatever writes the board (`bombyx-core`).
//!
//! | file | has |
//! |---|---|
//! | `process.rs` | processes: which of them have a board, who may look, and whether they have ended |
//! | `board.rs` | the board of another process |
//! | `names.rs` | the names of closures, read from the file of the program |
//! | `watch.rs` | many looks at a program, and what they show together |

mod board;
mod names;
mod process;
mod watch;

pub use board::Doing;
pub use process::{CannotLook, Process, with_boards};
pub use watch::{ClosureReading, PoolReading, ProcessorReading, Reading, Watch};
