//! Deliberately wrong versions of the protocol. The checker must tell each of them from the real one.

use std::fmt;
use std::str::FromStr;

macro_rules! mutations {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// One change to the protocol of RW §4.
        ///
        /// `FromStr` and `Display` use the names in kebab case:
        ///
        /// ```
        /// use bombyx_rw::Mutation;
        ///
        /// let mutation: Mutation = "no-resend".parse()?;
        /// assert_eq!(mutation, Mutation::NoResend);
        /// assert_eq!(mutation.to_string(), "no-resend");
        /// # Ok::<(), bombyx_rw::UnknownMutation>(())
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Mutation {
            $($(#[$doc])* $variant,)*
        }

        impl Mutation {
            /// Every mutation, in the order of the table in the module's documentation.
            pub const ALL: &[Mutation] = &[$(Mutation::$variant,)*];

            fn name(self) -> &'static str {
                match self {
                    $(Mutation::$variant => $name,)*
                }
            }
        }
    };
}

mutations! {
    /// `communicate` serves any query that it finds (lines 95 and 96 left out).
    NoRoundCheck = "no-round-check",
    /// `communicate` serves another processor's query of an older round, if it was a real one.
    ServesStale = "serves-stale",
    /// A thief does not repeat a query that an older one overwrote (lines 80 and 81 left out).
    NoResend = "no-resend",
    /// An idle processor does not query itself (`block` does nothing).
    NoSelfBlock = "no-self-block",
    /// After READY on both sides the right side pushes the join thread as well (test of line 131 left out).
    TieToBoth = "tie-to-both",
    /// After READY on both sides neither side pushes the join thread (line 132 left out).
    TieToNone = "tie-to-none",
    /// The left side hands over an empty watch list (line 127 copies nothing).
    NoTransfer = "no-transfer",
    /// A processor that found no ACK on line 117 still answers a READY with ACK, then goes on to line 120.
    AckBeforeResponsibility = "ack-before-responsibility",
    /// `communicate` opens the next round before it writes the thread (lines 103 and 104 exchanged).
    RoundBeforeHandOut = "round-before-hand-out",
    /// `acquire` does not reset its reception cell (line 70 left out).
    NoClear = "no-clear",
    /// The left side never writes TRANSFER (line 128 left out).
    SilentTransfer = "silent-transfer",
    /// `watch` writes ACK without having seen READY (test of line 139 left out while the other side works).
    EarlyAck = "early-ack",
    /// `watch` does nothing (lines 135 to 150 left out).
    NoWatch = "no-watch",
    /// A continuation stays in the watch list while its READY waits for the answer (line 121 left out).
    NoRemoval = "no-removal",
    /// `block` opens the next round before it occupies it (lines 110 and 111 exchanged).
    BlockRoundFirst = "block-round-first",
    /// Waiting loops do not call `watch` (lines 123 and 147 stay no-ops).
    NoWatchInWait = "no-watch-in-wait",
    /// A left branch always resolves its join with messages (lines 61 to 65 left out).
    NoLocalJoin = "no-local-join",
    /// A thief queries a victim that does not accept queries (test of line 75 left out).
    NoAcceptTest = "no-accept-test",
    /// `communicate` hands out the top thread whatever its branch (test of line 99 left out).
    AnyTop = "any-top",
    /// `communicate` is also called between two threads, when the next one already lies in the deque (before line 41).
    PollBetweenThreads = "poll-between-threads",
    /// A processor does not note the continuation of the thread that it runs (line 42 left out).
    StaleContinuation = "stale-continuation",
    /// A thread that forks keeps its continuation (line 47 left out).
    KeepsContinuation = "keeps-continuation",
    /// `cur_cont` keeps what the last thread left there, as in the paper's figures (RC2 says otherwise).
    KeepsEnded = "keeps-ended",
    /// A processor that leaves `acquire` does not open a round (line 88 left out).
    NoAccept = "no-accept",
    /// A thief stores the victim's next round itself, so as not to wait for it (after line 77).
    ForgedRound = "forged-round",
    /// A processor stores its old round again in place of the next one (lines 88 and 104).
    RepeatsRound = "repeats-round",
    /// A thief signs its query with the victim's number (lines 77 and 81).
    ForgedQuery = "forged-query",
    /// A thief asks in a round that the victim has not opened yet (lines 77 and 81).
    FutureQuery = "future-query",
    /// A thief asks and goes on to the next victim without waiting for the answer (lines 78 to 85 left out).
    NoWaiting = "no-waiting",
    /// A thief looks into its reception cell before the victim's round has changed (test of line 78 left out).
    EarlyReceive = "early-receive",
    /// A thief looks into the victim's reception cell, not into its own (line 84).
    WrongReception = "wrong-reception",
    /// A thief does not watch the join of the thread that it received (line 86 left out).
    NoWatchByThief = "no-watch-by-thief",
    /// A victim does not watch the join of the thread that it gives away (line 102 left out).
    NoWatchByVictim = "no-watch-by-victim",
    /// A victim gives away the top thread and removes the bottom one (`pop_bottom` on line 100).
    NewestFirst = "newest-first",
    /// A victim gives away the top thread and keeps it (line 100 only looks).
    KeepsGiven = "keeps-given",
    /// READY goes into the other branch's status cell (line 120).
    WrongCell = "wrong-cell",
    /// The side that ended first takes the join although the other side said that it will (line 126).
    TakesAcknowledged = "takes-acknowledged",
    /// The left side keeps the watch list that it hands over (line 129 left out).
    KeepsTransferred = "keeps-transferred",
    /// The right side does not take over the watch list (line 150 left out).
    DropsTransferred = "drops-transferred",
    /// A join stays in the watch list after ACK (line 142 left out).
    NoRemovalAfterAck = "no-removal-after-ack",
    /// A thief that received nothing looks into the victim's reception cell, too (line 84).
    SnoopsReception = "snoops-reception",
    /// ACK goes into the cell that READY came from (line 141).
    AckInPlace = "ack-in-place",
    /// A branch is READY as soon as its thread is received, and is not watched (in place of line 86).
    EarlyReady = "early-ready",
    /// A left branch turns the right one SINGLE and resolves the join besides (lines 65 and 67).
    SingleAndResolves = "single-and-resolves",
    /// The left side hands its watch list over with the join itself in it (line 121 left out on the left).
    TransfersItself = "transfers-itself",
    /// The machine is not TSO: a buffer may drain its newest store first.
    UnorderedFlush = "unordered-flush",
    /// A thread forks its branches twice (lines 45 to 53 twice).
    ForksTwice = "forks-twice",
    /// A thread that ends runs `handle_cont` twice (line 44 twice).
    EndsTwice = "ends-twice",
    /// The main loop enters the join that follows the thread it took (line 43).
    StartsJoin = "starts-join",
    /// A branch that ended does not resolve its join (line 67 left out).
    NoResolution = "no-resolution",
    /// A victim stores the thread into the thief's cell twice (line 103).
    HandsOutTwice = "hands-out-twice",
    /// A thief empties its reception cell once more when it has taken the thread (after line 88).
    ClearsAgain = "clears-again",
    /// The side that ends first also stores WORK into the other side's status cell (line 120).
    ResetsOther = "resets-other",
    /// The left side also hands over the join that it has just lost (line 127).
    TransfersMore = "transfers-more",
    /// A join does not get the continuation of the thread that forks (line 46 left out).
    NoInheritance = "no-inheritance",
    /// An error in the abstract machine of the proof, not in the protocol: in its rule FORK the join does not get the edge of
    /// the thread that forks.
    ForkDropsEdge = "fork-drops-edge",
    /// The left branch of a fork gets the right one's body, too (`run` of line 48).
    SameBody = "same-body",
    /// A side that leaves a join to the other waits for it again (lines 126 and 131 go to 122).
    WaitsAgain = "waits-again",
    /// A thief whose query was overwritten by one of a later round does not wait for that round (line 80 goes to 84).
    EndsOverwritten = "ends-overwritten",
    /// A thief that received a thread resolves the left side of its join before it runs the thread (after line 88).
    ResolvesOther = "resolves-other",
    /// The side that ends first stores READY twice (line 120).
    ReadyTwice = "ready-twice",
    /// On a tie the right side takes the join, and the left side goes on waiting (lines 130 to 132).
    RightTakesTie = "right-takes-tie",
    /// On a tie the left side leaves the join, and the right side goes on waiting (lines 130 to 132).
    LeftLeavesTie = "left-leaves-tie",
    /// A victim that gives away a right branch says ACK for the left one, and does not watch it (line 102), if the left branch
    /// has forked.
    AcksGiven = "acks-given",
    /// A body calls `communicate` a quarter as often as τ says. Only a clock notices.
    SkipsPolls = "skips-polls",
    /// A thief waits for 10 Δ between the victim's round and its query (lines 73 and 77). Only a clock notices.
    Dawdles = "dawdles",
    /// A victim waits for 10 Δ before it stores the thread into the thief's cell (line 103). Only a clock notices.
    Lingers = "lingers",
    /// A thief signs its query with the round in which it last asked this victim (line 77). Only virtual time has this error.
    OldRound = "old-round",
    /// Stores become visible after up to 10 Δ, not Δ. Only a clock notices.
    LongDelta = "long-delta",
    /// A counter is counted down without waiting for the buffer (where joins are counted).
    PlainCounter = "plain-counter",
}

impl fmt::Display for Mutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The text is not the name of a [`Mutation`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownMutation(String);

impl fmt::Display for UnknownMutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = Mutation::ALL.iter().map(|m| m.name()).collect();
        write!(f, "no mutation is called `{}`; choose one of {}", self.0, names.join(", "))
    }
}

impl std::error::Error for UnknownMutation {}

impl FromStr for Mutation {
    type Err = UnknownMutation;

    fn from_str(text: &str) -> Result<Mutation, UnknownMutation> {
        let found = Mutation::ALL.iter().find(|m| m.name() == text);
        found.copied().ok_or_else(|| UnknownMutation(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for &mutation in Mutation::ALL {
            assert_eq!(mutation.to_string().parse(), Ok(mutation));
        }
        assert!("no-such".parse::<Mutation>().unwrap_err().to_string().contains("no-resend"));
    }
}
