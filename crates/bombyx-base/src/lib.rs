//! The vocabulary of Bombyx: what the runtime, the simulator and the program must spell in the same way. Users never
//! name this crate. What they need is re-exported where they use it.
//!
//! **Not here:** anything that runs, measures or prints. Those crates share only the words.
//!
//! - [`scheduler`] has the names of all schedulers. [`Quota`] and [`Beta`] are their parameters, and [`Ratio`] is an
//!   exact fraction.
//! - [`Paper`] has the short names of the papers.
//! - [`live`] has the layout of what `bombyx top` reads from a running program.
//! - [`trace`] has the events that the runtime writes and `bombyx-trace` reads.
//! - [`profile`] has what the runtime measures and `bombyx-profile` reads.
//! - [`Random`] is the random generator, and [`Crc`] is the checksum of files.
//! - [`is_of_rayon`] and [`is_in_package`] say whose a source file is.
//! - [`nearest`] finds what was meant by a typo, and [`count()`] reads `50k`.
//!
//! This crate depends on nothing, because the runtime depends on it. The exception is the feature `serde`, which readers
//! of profiles use.

mod beta;
mod count;
mod crc;
pub mod live;
pub mod palette;
mod paper;
pub mod profile;
mod quota;
mod random;
mod ratio;
pub mod scheduler;
mod source;
mod spelling;
pub mod trace;

pub use beta::{Beta, BetaError};
pub use count::count;
pub use crc::Crc;
pub use paper::{FIGURE_2, Paper};
pub use quota::{Quota, QuotaError};
pub use random::{Random, mix};
pub use ratio::{Ratio, RatioError, gcd};
pub use scheduler::SchedulerError;
pub use source::{is_in_package, is_of_rayon};
pub use spelling::{edits, nearest};
