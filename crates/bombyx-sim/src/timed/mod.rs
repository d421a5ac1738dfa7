//! The schedulers of RW (Acar, Charguéraud, Muller, Rainey) in virtual time: the step machine of
//! [`bombyx_rw::protocol`], the same code that runs on threads. Here it runs on a machine whose stores become visible
//! after at most Δ, with any number of processors. Beside it are the paper's baselines: private deques with
//! compare-and-swap, and concurrent deques with their fence.
//!
//! **Not here:** all interleavings. The machine in [`crate::tso`] explores those.
//!
//! ```
//! use bombyx_dag::Builder;
//! use bombyx_rw::{Joins, Steals};
//! use bombyx_sim::timed::Timed;
//!
//! fn nest(b: &mut Builder, depth: u32) {
//!     b.strand(2_000);
//!     if depth > 0 {
//!         b.spawn(0);
//!         nest(b, depth - 1);
//!         let left = b.end();
//!         nest(b, depth - 1);
//!         b.strand(10);
//!         b.wait_for(left);
//!     }
//! }
//!
//! let mut b = Builder::new(0);
//! nest(&mut b, 8);
//! let computation = b.build()?;
//! let outcome = Timed::new(&computation, 30, Steals::ReadWrite, Joins::ReadWrite).tau(500).delta(100).run()?;
//! assert!(outcome.slowest_steal <= outcome.steal_bound());
//! println!("{} steals in {} ns", outcome.steals, outcome.time);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The machine
//!
//! Times are in the unit of the computation's weights, which is nanoseconds for recorded programs. An access to a cell
//! of the own processor takes [`Costs::own`], and one to another's takes [`Costs::remote`]. A locked instruction and a
//! fence have their own costs, and empty the store buffer. Any other store waits in the buffer for a random time of at
//! most Δ, behind the stores before it. A body polls (`communicate` and `watch`) when it starts and every τ from then
//! on. Idle processors spin.
//!
//! # What is checked
//!
//! RW §6 gives two bounds. [`Outcome`] holds the worst cases:
//!
//! - A successful steal takes at most τ + 2Δ, from the query to the thread ([`Outcome::slowest_steal`]): Δ for the
//!   query, τ until the victim polls, Δ for the answer. The paper counts no time for instructions;
//!   [`Outcome::steal_bound`] adds those on the way. Queries that had to be sent again count from the last time that
//!   they were sent. A victim that waits for the other side of a join (line 122) does not call `communicate`. τ says
//!   how often bodies do, so this wait does not count.
//! - A query that is too old arrives at most 2Δ after the round that made it so ([`Outcome::latest_stale`],
//!   [`Outcome::stale_bound`]).

mod baseline;
mod cells;
mod machine;
mod program;
mod view;

use bombyx_dag::Computation;
use bombyx_rw::protocol::Mutation;
use bombyx_rw::{Joins, Steals};
use std::fmt;

/// How long instructions take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// An access to a cell that only this processor uses most of the time.
    pub own: u64,
    /// An access to a cell of another processor.
    pub remote: u64,
    /// A locked instruction.
    pub locked: u64,
    /// A fence.
    pub fence: u64,
}

impl Default for Costs {
    /// Nanoseconds, of the order of what current processors take.
    fn default() -> Costs {
        Costs { own: 1, remote: 40, locked: 10, fence: 10 }
    }
}

/// A run in virtual time.
#[derive(Clone, Debug)]
pub struct Timed<'c> {
    computation: &'c Computation,
    processors: usize,
    steals: Steals,
    joins: Joins,
    tau: u64,
    delta: u64,
    costs: Costs,
    seed: u64,
    mutation: Option<Mutation>,
}

/// The result of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The time from the start to the end of the computation.
    pub time: u64,
    /// Time in bodies, over all processors.
    pub work: u64,
    /// Time in search of work, over all processors.
    pub idle: u64,
    /// Time in the waiting loops of joins, over all processors.
    pub waiting: u64,
    /// Bodies that ran.
    pub threads: u64,
    /// Threads that changed processors.
    pub steals: u64,
    /// Queries or requests sent; attempts at concurrent deques.
    pub asked: u64,
    /// Queries sent again.
    pub resent: u64,
    /// Queries answered, with a thread or without.
    pub answered: u64,
    /// Queries that arrived too late.
    pub stale: u64,
    /// Joins between processors that were taken after ACK, in a tie, or by counting down.
    pub joins: [u64; 3],
    /// Watch lists handed over.
    pub transfers: u64,
    /// The longest time from a query to the thread that it brought.
    pub slowest_steal: u64,
    /// The longest time from the round that made a query too old to its arrival.
    pub latest_stale: u64,
    bounds: [u64; 2],
}

impl Outcome {
    /// τ + 2Δ, and the instructions on the way.
    pub fn steal_bound(&self) -> u64 {
        self.bounds[0]
    }

    /// 2Δ, and the instructions on the way.
    pub fn stale_bound(&self) -> u64 {
        self.bounds[1]
    }
}

/// Why a run cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TimedError {
    /// No processors, or too many.
    Processors(usize),
    /// The computation is not a nest of forks with two branches.
    Shape(String),
    /// These steals and joins cannot be combined.
    Lane(Steals, Joins),
    /// τ is 0.
    Tau,
}

impl fmt::Display for TimedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TimedError::Processors(n) => write!(f, "{n} processors asked for; choose 1 to 65536"),
            TimedError::Shape(why) => write!(f, "not a nest of forks with two branches: {why}"),
            TimedError::Lane(steals, joins) => {
                write!(f, "{steals} steals do not go together with {joins} joins")
            }
            TimedError::Tau => f.write_str("τ must be at least 1"),
        }
    }
}

impl std::error::Error for TimedError {}

impl<'c> Timed<'c> {
    /// A run with τ = 1000, Δ = 100 and the default costs.
    pub fn new(computation: &'c Computation, processors: usize, steals: Steals, joins: Joins) -> Timed<'c> {
        Timed {
            computation,
            processors,
            steals,
            joins,
            tau: 1000,
            delta: 100,
            costs: Costs::default(),
            seed: 1,
            mutation: None,
        }
    }

    /// The longest time that a body runs without a poll.
    #[must_use]
    pub fn tau(self, tau: u64) -> Self {
        Timed { tau, ..self }
    }

    /// The longest time until a store is visible.
    #[must_use]
    pub fn delta(self, delta: u64) -> Self {
        Timed { delta, ..self }
    }

    /// How long instructions take.
    #[must_use]
    pub fn costs(self, costs: Costs) -> Self {
        Timed { costs, ..self }
    }

    /// The seed of all random choices.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Timed { seed, ..self }
    }

    /// A deliberate error that only virtual time shows: [`Mutation::SkipsPolls`], [`Mutation::Dawdles`],
    /// [`Mutation::Lingers`], [`Mutation::OldRound`] or [`Mutation::LongDelta`]. Others change nothing.
    #[must_use]
    pub fn mutation(self, mutation: impl Into<Option<Mutation>>) -> Self {
        Timed { mutation: mutation.into(), ..self }
    }

    /// Runs the computation.
    ///
    /// # Errors
    /// If there are no processors, if τ is 0, if the computation is not a nest of forks with two branches, or if
    /// concurrent deques are combined with joins by messages, which need to look at the bottom of a deque.
    pub fn run(&self) -> Result<Outcome, TimedError> {
        if self.processors == 0 || self.processors > 1 << 16 {
            return Err(TimedError::Processors(self.processors));
        }
        if self.tau == 0 {
            return Err(TimedError::Tau);
        }
        if (self.steals, self.joins) == (Steals::ChaseLev, Joins::ReadWrite) {
            return Err(TimedError::Lane(self.steals, self.joins));
        }
        let program = program::Program::new(self.computation)?;
        Ok(machine::Machine::new(self, &program).run())
    }

    /// τ + 2Δ and 2Δ, with the instructions on the way. A thief stores its query. The victim may have begun a poll just
    /// before, and polls again after τ. It answers with two stores. The thief finds the new round after one turn of its
    /// waiting loop, at most five accesses, and then its thread.
    fn bounds(&self) -> [u64; 2] {
        let Costs { own, remote, .. } = self.costs;
        let poll = 2 * own + 2 * remote;
        let turn = 2 * own + 4 * remote;
        let steal = self.tau + 2 * self.delta + 2 * poll + 2 * turn;
        [steal, 2 * self.delta + turn]
    }
}
