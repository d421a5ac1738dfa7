//! What is known of each mutation: the smallest machine that shows it, or why it does no harm.

use super::Mutation;
use super::config::Config;

/// How [`Mutation::PollBetweenThreads`] loses `A.join` on four processors with the tree `((. .) (. .))`, for
/// [`follow`](super::follow()). Processor 1 steals `A.right` and gives it to processor 2 before it runs it, but still watches its
/// join. Then it gets `C.right`. While it waits for the other side of C, it answers READY of `A.left` with ACK; that
/// ACK is still in its buffer when the true right side of A ends: each side sees that the other has ended or will take the join.
pub const LOST_JOIN: &str = "\
    0:end 0:next  1:next 1:flush 1:ask0 1:next 1:flush  0:poll 0:flush 0:flush  1:next 1:next 1:flush \
    2:next 2:flush 2:ask1 2:next 2:flush  1:poll 1:flush 1:flush  2:next 2:next 2:flush 2:next  2:end 2:next \
    1:next 1:flush 1:ask2 1:next 1:flush  2:poll 2:flush 2:flush  1:next 1:next 1:flush 1:next \
    0:end 0:next 0:end 0:next 0:end 0:next 0:end 0:next 0:flush \
    1:end 1:next 1:flush 1:watchAR  2:end 2:next 2:flush 2:next 2:next 2:next \
    2:end 2:next 2:flush 2:next 2:next  1:flush  0:next 0:next";

/// What becomes of a mutated protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Something breaks. [`explore`](super::explore()) finds a shortest counterexample on this machine.
    Caught(Config),
    /// Nothing breaks.
    Harmless {
        /// Why not, on any machine.
        argument: &'static str,
        /// A machine large enough to reach the lines that differ, on which [`explore`](super::explore()) finds nothing.
        shown_on: Config,
    },
}

impl Fate {
    /// What becomes of the protocol under this mutation.
    ///
    /// ```
    /// use bombyx_sim::tso::{Fate, Mutation, explore};
    ///
    /// let Fate::Caught(config) = Fate::of(Mutation::NoSelfBlock) else { panic!() };
    /// println!("{}", explore(&config, |_| {})?.counterexample().unwrap());
    /// # Ok::<(), bombyx_sim::tso::ConfigError>(())
    /// ```
    pub fn of(mutation: Mutation) -> Fate {
        let on = |processors, tree: &str| {
            Config::new(processors, tree.parse().expect("a constant tree")).with_mutation(mutation)
        };
        match mutation {
            Mutation::NoRoundCheck
            | Mutation::TieToBoth
            | Mutation::TieToNone
            | Mutation::AckBeforeResponsibility
            | Mutation::RoundBeforeHandOut
            | Mutation::NoClear
            | Mutation::SilentTransfer
            | Mutation::EarlyAck
            | Mutation::NoWatch
            | Mutation::NoRemoval
            | Mutation::NoLocalJoin
            | Mutation::SingleAndResolves => Fate::Caught(on(2, "(. .)")),
            // The effect of these shows in the proof. Not all of it ever shows in a result.
            Mutation::StaleContinuation
            | Mutation::KeepsContinuation
            | Mutation::KeepsEnded
            | Mutation::ServesStale
            | Mutation::NoAccept
            | Mutation::ForgedRound
            | Mutation::RepeatsRound
            | Mutation::ForgedQuery
            | Mutation::FutureQuery
            | Mutation::NoWaiting
            | Mutation::EarlyReceive
            | Mutation::WrongReception
            | Mutation::NoWatchByThief
            | Mutation::NoWatchByVictim
            | Mutation::KeepsGiven
            | Mutation::WrongCell
            | Mutation::TakesAcknowledged
            | Mutation::NoRemovalAfterAck
            | Mutation::SnoopsReception
            | Mutation::AckInPlace
            | Mutation::EarlyReady
            | Mutation::TransfersItself
            | Mutation::ForksTwice
            | Mutation::EndsTwice
            | Mutation::WaitsAgain
            | Mutation::ResolvesOther
            | Mutation::ReadyTwice
            | Mutation::RightTakesTie
            | Mutation::LeftLeavesTie
            | Mutation::StartsJoin
            | Mutation::NoResolution
            | Mutation::HandsOutTwice
            | Mutation::ClearsAgain
            | Mutation::ResetsOther
            | Mutation::TransfersMore
            | Mutation::UnorderedFlush => {
                Fate::Caught(Config { proof: true, ..on(2, "(. .)").with_capacity(4) })
            }
            Mutation::PlainCounter => Fate::Caught(Config {
                joins: bombyx_rw::Joins::FetchAdd,
                application: true,
                ..on(2, "(. .)").with_capacity(4)
            }),
            Mutation::NewestFirst
            | Mutation::SameBody
            | Mutation::AcksGiven
            | Mutation::NoInheritance
            | Mutation::ForkDropsEdge => {
                Fate::Caught(Config { proof: true, ..on(2, "((. .) .)").with_capacity(4) })
            }
            Mutation::KeepsTransferred | Mutation::DropsTransferred => {
                Fate::Caught(Config { proof: true, symmetry: true, ..on(3, "(. (. .))").with_capacity(1) })
            }
            Mutation::PollBetweenThreads => Fate::Caught(on(2, "(. (. .))")),
            Mutation::EndsOverwritten => {
                Fate::Caught(Config { proof: true, symmetry: true, ..on(3, ".").with_capacity(1) })
            }
            Mutation::NoResend | Mutation::NoSelfBlock | Mutation::BlockRoundFirst => {
                Fate::Caught(on(3, ".").with_capacity(1))
            }
            Mutation::NoTransfer => Fate::Caught(on(3, "(. (. .))").with_capacity(1)),
            Mutation::SkipsPolls
            | Mutation::Dawdles
            | Mutation::Lingers
            | Mutation::OldRound
            | Mutation::LongDelta => Fate::Harmless {
                argument: "This machine has no clock: a body calls communicate as often as it likes, and any time may pass \
                    between two steps and before a store is seen. What these do shows in virtual time \
                    (bombyx_sim::timed), where alone old-round is planted.",
                shown_on: on(2, "(. .)"),
            },
            Mutation::NoWatchInWait => Fate::Harmless {
                argument: "Waits cannot form a circle. Whoever waits on line 122 has finished one branch of a join \
                    and needs the watcher of the other branch, the processor at its leftmost leaf. If that one \
                    waits on line 122 as well, then on a join inside that branch, and so on inwards; the tree is \
                    finite, so the last one is in a body, from which it calls watch, or on line 146, where it needs \
                    only that the left side reads its ACK on line 122. What is lost is time: an answer may come one \
                    wait later.",
                shown_on: on(3, "(. (. .))").with_capacity(1),
            },
            Mutation::NoAcceptTest => Fate::Harmless {
                argument: "Line 75 only saves queries that cannot succeed. A query is served by its round (line 95), \
                    whoever wrote it and however often the cell was overwritten. A thief that overwrites a valid \
                    query of the same round is answered in its place, and both see the round change. A thief that \
                    overwrites an idle victim's query to itself makes line 109 fail there, so that the victim opens \
                    a new round, which ends the thief's attempt.",
                shown_on: on(3, ".").with_capacity(1),
            },
            Mutation::AnyTop => Fate::Harmless {
                argument: "Inside a body the deque holds only right branches whose left branch this processor is \
                    still at work on: a SINGLE right branch or a join thread is popped as soon as it is pushed. The \
                    test of line 99 matters only where communicate is called between threads, which is wrong for \
                    another reason (see poll-between-threads).",
                shown_on: on(2, "((. .) (. .))"),
            },
        }
    }
}
