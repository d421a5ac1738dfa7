//! The theory as a program: the theorems and lemmas of the papers that Bombyx is built on, each as a [`Claim`] that can
//! be tried and can fail.
//!
//! - [`claims`] lists them; [`Claim::check`] tries one, [`verify`] many at once. A [`Finding`] tells how much was tried,
//!   how near to its bound the claim came, and what breaks it, made as small as possible.
//! - Every claim has a [mutation](Claim::mutation), a deliberately wrong scheduler or bound, under which it turns out
//!   broken: so that it is known that it can.
//! - [`delay`] makes delay sequences from traces (BL §6, LEC §5) and draws them; [`game`] is the recycling game of BL §5.
//!
//! The schedulers and the TSO machine are those of `bombyx-sim`, the computations those of `bombyx-dag`. The papers, by
//! their short names: see [`Paper`].

mod bl;
mod claim;
mod context;
pub mod delay;
mod dfd;
mod finding;
pub mod game;
mod het;
mod lec;
mod run;
mod rw;
mod statistics;
mod verify;

pub use claim::{Claim, Paper, claim, claims};
pub use context::{Effort, Plan, Variant};
pub use finding::{Counterexample, Finding, Tried, Verdict, Worst};
pub use statistics::{ERROR, Interval};
pub use verify::{News, verify};
