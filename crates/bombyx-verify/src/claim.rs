//! [`Claim`]: a theorem or lemma as a check that can be tried and can fail.

use crate::context::{Context, Effort, Plan};
use crate::finding::Finding;
use crate::mutant::{Mutant, Noticed};
pub use bombyx_base::Paper;

/// A theorem or lemma of a paper, made executable.
///
/// ```
/// use bombyx_verify::{Effort, Mutant, Plan, claim};
///
/// let theorem_1 = claim("bl-thm-1").unwrap();
/// let plan = Plan { effort: Effort::Quick, ..Plan::default() };
/// assert!(theorem_1.check(plan).holds());
///
/// let serial = Mutant::Scheduler(bombyx_sim::Mutation::Serial);
/// let broken = theorem_1.check(Plan { mutant: Some(serial), ..plan });
/// println!("{}", broken.counterexample.unwrap().text);
/// ```
#[derive(Debug)]
pub struct Claim {
    /// The name by which it is chosen: paper, kind and number, as in `bl-thm-1`.
    pub id: &'static str,
    /// The paper that claims it.
    pub paper: Paper,
    /// The paper's name for it.
    pub name: &'static str,
    /// What it says, in one line.
    pub statement: &'static str,
    /// What is measured and compared with the bound.
    pub quantity: &'static str,
    /// Where it applies, which constants replace O(·) and where they come from, and what is known not to hold.
    pub scope: &'static str,
    /// Wrong schedulers on which the claim is tried, to see whether it notices them.
    pub mutants: &'static [Mutant],
    /// Why it notices fewer than three. Empty if it notices more.
    pub few: &'static str,
    pub(crate) attempt: fn(&Context<'_>) -> Finding,
}

impl Claim {
    /// Tries the claim.
    pub fn check(&self, plan: Plan) -> Finding {
        self.check_with(plan, &|_, _| {})
    }

    /// Tries the claim, and reports now and then how many runs are done and how many there are.
    pub fn check_with(&self, plan: Plan, progress: &dyn Fn(u64, u64)) -> Finding {
        (self.attempt)(&Context::new(plan, self.id, progress))
    }

    /// Tries the claim as [`check_with`](Self::check_with) does. Then tries it on each of its mutants, on a few small
    /// cases, to see which of them it notices.
    pub fn judge(&self, plan: Plan, progress: &dyn Fn(u64, u64)) -> Finding {
        let mut finding = self.check_with(plan, progress);
        finding.mutants = self.mutants.iter().map(|&mutant| self.try_mutant(mutant, plan.seed)).collect();
        finding
    }

    fn try_mutant(&self, mutant: Mutant, seed: u64) -> Noticed {
        let plan = Plan { effort: Effort::Quick, seed, mutant: Some(mutant) };
        let finding = (self.attempt)(&Context::new(plan, self.id, &|_, _| {}).without_shrinking());
        Noticed { mutant, by: finding.counterexample.map(|broken| broken.text) }
    }
}
