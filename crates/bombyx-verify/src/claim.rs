//! [`Claim`]: a theorem or lemma as something that can be tried and can fail.

use crate::context::{Context, Plan};
use crate::finding::Finding;
use crate::{bl, dfd, het, lec, rw};
use std::fmt;

/// The paper that makes a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Paper {
    /// Blumofe & Leiserson, scheduling multithreaded computations by work stealing.
    Bl,
    /// The MIT lecture on the Cilk scheduler.
    Lec,
    /// Narlikar, scheduling threads for low space and good locality.
    Dfd,
    /// Acar, Charguéraud, Muller & Rainey, work stealing without atomic read-modify-write operations.
    Rw,
    /// Bender & Rabin, online scheduling on processors of different speeds.
    Het,
}

impl fmt::Display for Paper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Bl => "BL",
            Self::Lec => "LEC",
            Self::Dfd => "DFD",
            Self::Rw => "RW",
            Self::Het => "HET",
        })
    }
}

/// A theorem or lemma of a paper, made executable.
///
/// ```
/// use bombyx_verify::{Effort, Plan, Variant, claim};
///
/// let theorem_1 = claim("bl-thm-1").unwrap();
/// let plan = Plan { effort: Effort::Quick, ..Plan::default() };
/// assert!(theorem_1.check(plan).holds());
///
/// let broken = theorem_1.check(Plan { variant: Variant::Mutated, ..plan });
/// println!("{}", broken.counterexample.unwrap().text);
/// ```
#[derive(Debug)]
pub struct Claim {
    /// The name by which it is chosen: paper, kind and number, as in `bl-thm-1`.
    pub id: &'static str,
    /// Who claims it.
    pub paper: Paper,
    /// What the paper calls it.
    pub name: &'static str,
    /// What it says, in one line.
    pub statement: &'static str,
    /// What is measured and held against the bound.
    pub quantity: &'static str,
    /// Where it applies, which constants were put for O(·) and where they come from, and what is known not to hold.
    pub scope: &'static str,
    /// The deliberate error under which it turns out broken.
    pub mutation: &'static str,
    pub(crate) attempt: fn(&Context<'_>) -> Finding,
}

impl Claim {
    /// Tries the claim.
    pub fn check(&self, plan: Plan) -> Finding {
        self.check_with(plan, &|_, _| {})
    }

    /// Tries the claim and says now and then how many of how many runs are done.
    pub fn check_with(&self, plan: Plan, progress: &dyn Fn(u64, u64)) -> Finding {
        (self.attempt)(&Context::new(plan, self.id, progress))
    }
}

/// All claims, paper by paper, in the order in which the papers make them.
pub fn claims() -> impl Iterator<Item = &'static Claim> + Clone {
    [bl::CLAIMS, bl::TIME_CLAIMS, lec::CLAIMS, dfd::CLAIMS, rw::CLAIMS, het::CLAIMS].into_iter().flatten()
}

/// The claim of this id.
pub fn claim(id: &str) -> Option<&'static Claim> {
    claims().find(|claim| claim.id == id)
}
