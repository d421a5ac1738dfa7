//! [`Mutation`]: deliberately wrong schedulers, to see which claims notice them.
//!
//! A mutation is an error in a *scheduler*. The machine, the computation and the bounds stay as they are. Some errors
//! are made by a policy (which thread goes where), some by the engine (which processors work, whom a thief asks). A
//! scheduler without the affected rule ignores the mutation.
//!
//! # To add one
//! Add a line to the table below, and make the error in its place: look at [`Setup::mutation`](crate::Setup) when the
//! policy is made, or at `Rules::mutation` in the engine.

use std::fmt;
use std::str::FromStr;

macro_rules! mutations {
    ($( $variant:ident = $name:literal: $about:literal; )*) => {
        /// A deliberate error in a scheduler, with the name that `verify` uses.
        ///
        /// ```
        /// use bombyx_sim::Mutation;
        /// assert_eq!("serial".parse(), Ok(Mutation::Serial));
        /// assert_eq!(Mutation::Serial.to_string(), "serial");
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Mutation {
            $( #[doc = $about] $variant, )*
        }

        impl Mutation {
            /// All mutations.
            pub const ALL: &'static [Self] = &[$( Self::$variant ),*];

            /// What goes wrong.
            pub fn about(self) -> &'static str {
                match self {
                    $( Self::$variant => $about, )*
                }
            }
        }

        impl fmt::Display for Mutation {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(match self {
                    $( Self::$variant => $name, )*
                })
            }
        }
    };
}

mutations! {
    Serial = "serial": "only the first processor ever works";
    Half = "half": "only every second processor ever works";
    Victim0 = "victim-0": "every thief asks the first processor";
    Neighbour = "neighbour": "every thief asks only the processor after itself";
    Themselves = "themselves": "every thief asks only itself";
    GivesUp = "gives-up": "a thief that failed eight times in a row never tries again";
    KeepParent = "parent-first": "at a spawn the processor goes on with the parent, and the child waits";
    PushTop = "push-top": "at a spawn the parent goes on top of the deque";
    Share = "share": "at a spawn the parent goes to the next processor's deque";
    PopTop = "pop-top": "a processor takes the oldest thread of its own deque";
    StealBottom = "steal-newest": "thieves take the newest thread";
    StealTwo = "steal-two": "a thief takes two threads and keeps one in its deque";
    EnableElsewhere = "enable-elsewhere": "an enabled thread goes to the next processor's deque";
    LeavesParent = "leaves-parent": "a processor whose thread died leaves the waiting parent and looks elsewhere";
    BlocksAtStall = "blocks": "a processor whose thread stalls waits until the thread is enabled";
    Wanders = "wanders": "at a spawn a processor leaves both threads in its deque and becomes a thief";
    Early = "early": "a thread goes on although its next strand waits for a join";
    Forgets = "forgets": "a processor that spawns goes on with the parent and forgets the child";
    Rushes = "rushes": "strands end after half their time";
    NewDequeLeft = "new-deque-left": "a stolen thread's deque is placed left of its victim";
    NoDummies = "no-dummies": "no dummy threads stand before large allocations";
    KeepDequeAfterDummy = "keep-deque": "a processor keeps its deque after a dummy thread";
    IgnoreQuota = "ignore-quota": "a processor whose quota is used up goes on";
    CreditNothing = "credit-nothing": "what is freed is not credited to the quota";
    StealAnywhere = "steal-anywhere": "thieves choose among all deques of R, not among the leftmost P";
    StealRight = "steal-right": "thieves choose among the rightmost P deques of R";
    NoMugging = "no-mugging": "a thief never mugs";
    MugFaster = "mug-faster": "a thief mugs victims that are faster than itself, and no others";
    MugAnyone = "mug-anyone": "a thief mugs any victim with an empty deque, whatever the speeds";
    MugInVain = "mug-in-vain": "a thief that mugs interrupts its victim and keeps nothing";
    NeverMoves = "never-moves": "a thread stays on its processor, however slow that is";
    Shuffles = "shuffles": "two threads exchange processors whenever something happens";
    TakesTurns = "takes-turns": "whenever something happens, every running thread goes to the end of the queue";
    SlowestFirst = "slowest-first": "ready threads go to the slowest idle processor and stay there";
}

impl FromStr for Mutation {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.iter().copied().find(|mutation| mutation.to_string() == text).ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_read_back() {
        let names: BTreeSet<String> = Mutation::ALL.iter().map(Mutation::to_string).collect();
        assert_eq!(names.len(), Mutation::ALL.len());
        assert!(Mutation::ALL.iter().all(|mutation| mutation.to_string().parse() == Ok(*mutation)));
        assert_eq!("right".parse::<Mutation>(), Err(()));
    }
}
