//! [`Mutant`]: a wrong scheduler under which a claim is tried, to see whether the claim notices.

use bombyx_sim::{Mutation, Scheduler, tso};
use std::fmt;

/// A deliberate error in what a claim is tried on. The claim's bound stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mutant {
    /// An error planted in the scheduler.
    Scheduler(Mutation),
    /// Another scheduler, which does not promise what the claim says, in place of the right one.
    Instead(Scheduler),
    /// An error planted in the protocols of the TSO machine.
    Protocol(tso::Mutation),
    /// An error that only this claim can make.
    Own {
        /// Its name, in few letters.
        name: &'static str,
        /// What is wrong.
        about: &'static str,
    },
}

impl Mutant {
    /// What is wrong, in a phrase.
    pub fn about(&self) -> String {
        match self {
            Self::Scheduler(mutation) => mutation.about().to_owned(),
            Self::Instead(scheduler) => format!("{scheduler} in place of the right scheduler"),
            Self::Protocol(mutation) => format!("{mutation} in RW's protocols"),
            Self::Own { about, .. } => (*about).to_owned(),
        }
    }
}

/// Errors of schedulers as mutants, and other mutants behind a semicolon.
macro_rules! mutants {
    ($($mutation:ident),* $(; $($other:expr),*)?) => {
        &[$($crate::Mutant::Scheduler(bombyx_sim::Mutation::$mutation),)* $($($other),*)?]
    };
}
pub(crate) use mutants;

/// What a work stealer can do wrong with its deques.
pub(crate) const WRONG_DEQUES: &[Mutant] =
    mutants![KeepParent, PushTop, PopTop, StealBottom, StealTwo, EnableElsewhere, Share, LeavesParent];

/// Its name, in few letters.
impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scheduler(mutation) => f.pad(&mutation.to_string()),
            Self::Instead(scheduler) => f.pad(&scheduler.to_string()),
            Self::Protocol(mutation) => f.pad(&mutation.to_string()),
            Self::Own { name, .. } => f.pad(name),
        }
    }
}

/// Whether a claim noticed a mutant.
#[derive(Clone, Debug, PartialEq)]
pub struct Noticed {
    /// The mutant.
    pub mutant: Mutant,
    /// What gave it away. `None` if the claim held in everything that was tried.
    pub by: Option<String>,
}
