//! [`advise`]: what a colleague would say after a look at the profile. One sentence per finding: the reason with its share
//! of the time, what to try, and what that would gain. The most expensive finding comes first.
//!
//! **Not here:** measuring, and the layout of a report.
//!
//! Each [`Rule`] (`rules.rs`) looks at one thing, and speaks only if it matters. If no rule speaks, the advice says that
//! nothing limits the program.

mod machine;
mod rules;
mod words;

use crate::Profile;
use rules::Look;
use serde::Serialize;
use std::fmt;

/// A gain of less than this is not worth a word.
const LITTLE: f64 = 1.05;

/// What a sentence is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// The program never forked.
    NoForks,
    /// The system, or another program, used the CPUs.
    MachineBusy,
    /// More processors than CPUs.
    Oversubscribed,
    /// Runs too short to be worth a second core.
    ShortRuns,
    /// Time in which the program is in no pool.
    Outside,
    /// A lock that several strands want at the same time.
    Lock,
    /// Cache lines that several cores write.
    Sharing,
    /// Memory that several cores want at the same time.
    Memory,
    /// Strands slept or waited in the kernel, and not in `blocking`.
    Waiting,
    /// Time spent in `blocking`.
    Blocked,
    /// One piece much longer than the others of its place.
    LongPiece,
    /// A loop of fewer pieces than cores could use.
    FewPieces,
    /// A call makes as many pieces as there are threads, so its parallelism cannot be seen.
    Unseen,
    /// Less parallelism than cores could use.
    LowParallelism,
    /// Strands so short that forking shows.
    FineGrain,
    /// Pieces so small that stealing them costs more than it gains.
    HeavyBurden,
    /// Time spent moving processors between carriers.
    HandOvers,
    /// Processors without work although there was parallelism.
    Idle,
    /// Nothing to complain about, but a signal ended the program.
    Interrupted,
    /// Nothing to complain about.
    Fine,
}

impl Rule {
    /// Whether it is about the machine and not about the program. Such a sentence comes first, because it casts doubt on
    /// the others.
    pub fn is_about_machine(self) -> bool {
        matches!(self, Self::MachineBusy | Self::Oversubscribed)
    }
}

/// One sentence.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// What it is about.
    pub rule: Rule,
    /// What was found, and what to try: a sentence without a full stop.
    pub text: String,
    /// The share of the program's time that it is about, where there is one.
    pub share: Option<f64>,
    /// What mending it would gain, if that can be said.
    pub gain: Option<Gain>,
}

/// How many times as fast the program would be on a machine of some number of cores. Before and after, it uses as many
/// of them as are best for it. So a program that more cores make slower is compared with itself on few.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Gain {
    /// Under which condition.
    pub condition: &'static str,
    /// How many times as fast.
    pub factor: f64,
    /// Of how many cores.
    pub cores: u32,
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        match self.gain {
            Some(Gain { condition, factor, cores }) if factor >= LITTLE => {
                write!(f, "; {condition}: {factor:.2} × at {cores} cores")
            }
            _ => Ok(()),
        }
    }
}

/// What to change so that a program scales to `cores` cores, most important first. There is always at least one sentence.
///
/// ```
/// let profile = bombyx_profile::read(&include_bytes!("../../corpus/sort.json")[..])?;
/// assert_eq!(
///     bombyx_profile::advise(&profile, 8)[0].to_string(),
///     "parallelism 7.6: more than 8 cores will not help; the join in src/sort.rs:41 is 71 % of the span; if it were \
///      twice as fast: 1.37 × at 8 cores"
/// );
/// # Ok::<(), bombyx_profile::ReadError>(())
/// ```
pub fn advise(profile: &Profile, cores: u32) -> Vec<Advice> {
    let look = Look::new(profile, cores);
    let mut advice = if profile.no_run_ended() { look.machine() } else { look.all() };
    if advice.iter().all(|advice| advice.rule.is_about_machine()) {
        advice.push(look.fine());
    }
    // The machine first, then what would gain most. The sort is stable, so rules without a gain keep their order.
    let by_share = |advice: &Advice| 1.0 / (1.0 - advice.share.unwrap_or(0.0).min(0.99));
    let worth = |advice: &Advice| match advice.gain {
        _ if advice.rule.is_about_machine() => f64::INFINITY,
        _ if matches!(advice.rule, Rule::NoForks | Rule::ShortRuns) => f64::MAX,
        // The gain is for half of what blocks, and does not know what else could go on meanwhile.
        Some(gain) if advice.rule == Rule::Blocked => gain.factor.max(by_share(advice)),
        Some(gain) => gain.factor,
        None => by_share(advice),
    };
    advice.sort_by(|a, b| worth(b).total_cmp(&worth(a)));
    advice
}
