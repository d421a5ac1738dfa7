//! The theory as a program: the theorems and lemmas of the papers that Bombyx is built on, each as a [`Claim`] that can
//! be tried and can fail.
//!
//! **Not here:** schedulers and computations, and the programs that the papers measure (`bombyx-lab`).
//!
//! - [`claims`] lists them. [`Claim::check`] tries one, and [`verify()`] many at once. A [`Finding`] says how much was
//!   tried, how near the claim came to its bound, and what breaks it, made as small as possible.
//! - Every claim has [mutants](Claim::mutants), deliberately wrong schedulers. [`Claim::judge`] also tries the claim on
//!   each of them, because a claim says little if a wrong scheduler passes it.
//! - [`delay`] makes delay sequences from traces (BL §6, LEC §5) and draws them. [`game`] is the recycling game of BL
//!   §5. [`interleaving`] draws RW's protocols with a mistake.
//!
//! # To add a claim
//! 1. Write `fn attempt(cx: &Context) -> Finding` in the paper's file. Make runs with `grid(cx, …)` or
//!    `Run::new(cx, …)`; judge them with `cx.always` (every run), `cx.on_average` or `cx.rarely` (chances).
//! 2. Return `Sample::of(measured, bound)`, or `Err(text)` if something is plainly broken. If the paper's proof has a
//!    constant, use a tighter bound around what you measure, and add `.constant(unit, measured, checked, proof)`.
//! 3. Add a [`Claim`] to the file's `CLAIMS`: statement, quantity, scope, and in `mutants` the wrong schedulers to try.
//!    `bombyx verify --only ID` shows which of them it notices. If it notices fewer than three, say in `few` why.
//!
//! # To add a mutant
//! A wrong scheduler is a line in `bombyx-sim`'s table of [`Mutation`](bombyx_sim::Mutation)s and the place that makes
//! the error. Runs made from a context carry the mutant by themselves: `run.simulation()` plants it. An error that only
//! one claim can make is a [`Mutant::Own`], which the claim asks for by `cx.own(name)`. A wrong *bound* is not a
//! mutant.
//!
//! The schedulers and the TSO machine are those of `bombyx-sim`, and the computations are those of `bombyx-dag`. For
//! the short names of the papers, see [`Paper`].

mod bl;
mod catalogue;
mod claim;
mod context;
pub mod delay;
mod dfd;
mod finding;
pub mod game;
mod het;
pub mod interleaving;
mod lec;
mod mutant;
mod paths;
mod run;
pub mod rw;
mod statistics;
mod verify;

pub use catalogue::{claim, claims};
pub use claim::{Claim, Paper};
pub use context::{Effort, Plan};
pub use finding::{Constant, Counterexample, Finding, Tried, Verdict, Worst};
pub use mutant::{Mutant, Noticed};
pub use statistics::{ERROR, Interval};
pub use verify::{News, verify};
