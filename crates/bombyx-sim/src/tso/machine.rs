//! Which moves a state allows, and what each of them does. The steps are those of [`bombyx_rw::protocol`], the same
//! code that runs on threads. `view.rs` gives it the buffers of this machine as memory.
//!
//! A move is a flush of one processor's oldest store, or a step of one processor's program. A step makes one access to
//! shared memory, together with the private work next to it. Stores that follow it directly are taken along while the
//! buffer has room, unless [`Machine::merge_stores`] is off. Line numbers are those of RW's figures 3 to 7.

use super::config::Ask;
use super::ghost::Ghost;
use super::proof::{Rule, RuleSet};
use super::reduce;
use super::state::{Pc, Processor, State, Status, Store, Watch};
use super::symmetry::canonical;
use super::trace::Log;
use super::tree::{Cont, ContSet, Thread, Threads};
use super::view::View;
use super::{Mutation, Violation};
use bombyx_rw::Joins;
use bombyx_rw::protocol::{self, Side};
use std::cell::Cell;

/// What a processor does next where its program leaves a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Choice {
    /// The program leaves no choice.
    Next,
    /// Line 72: the random victim.
    Victim(Processor),
    /// The body calls `communicate`.
    Communicate,
    /// The body or a waiting loop calls `watch`, which looks at this continuation.
    Watch(Cont),
    /// The body ends.
    Finish,
}

/// One transition of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Move {
    Flush(Processor),
    /// Only if the machine is not TSO: the newest store overtakes the others.
    Overtake(Processor),
    /// Only in a reduced machine: an outdated query, from wherever, overwrites what is in a query cell.
    Overwrite(Processor),
    Step(Processor, Choice),
}

/// The protocol, its computation and the shape of the machine that it runs on.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    pub(super) threads: Threads,
    pub(super) processors: usize,
    pub(super) capacity: usize,
    pub(super) mutation: Option<Mutation>,
    pub(super) merge_stores: bool,
    pub(super) joins: Joins,
    pub(super) application: bool,
    pub(super) fences: bool,
    pub(super) proof: bool,
    pub(super) symmetry: bool,
    pub(super) reduce: bool,
    pub(super) ask: Ask,
    /// If present, broken parts of the proof are noted here and do not end the run.
    pub(super) broken: Option<Cell<RuleSet>>,
}

impl Machine {
    pub(super) fn initial(&self) -> State {
        self.normalised(self.start())
    }

    /// The initial state with round numbers as they are.
    pub(super) fn start(&self) -> State {
        let mut s = State::initial(self.processors);
        if self.proof {
            s.memory.ghost = Ghost::initial();
        }
        s
    }

    pub(super) fn is(&self, mutation: Mutation) -> bool {
        self.mutation == Some(mutation)
    }

    /// Whether the configuration asks about this violation.
    pub(super) fn asks(&self, violation: &Violation) -> bool {
        use Violation::*;
        match (self.ask, violation) {
            (Ask::All, _) => true,
            (Ask::Threads, RunsTwice(_) | RunsTooEarly(_) | ExitsEarly(_) | Lost(_) | Unseen { .. }) => true,
            (Ask::WatchLists, WatchLists { .. }) => true,
            (Ask::Rule(only), Proof { rule, .. }) => *rule == only,
            _ => false,
        }
    }

    /// Notes that a part of the proof is broken, if that is wanted.
    pub(super) fn notes(&self, rule: Rule) -> bool {
        let Some(broken) = &self.broken else { return false };
        broken.set(broken.get().with(rule));
        true
    }

    /// Whether something was noted.
    pub(super) fn has_noted(&self) -> bool {
        self.broken.as_ref().is_some_and(|broken| !broken.get().is_empty())
    }

    /// Whether this part of the proof was noted.
    pub(super) fn has_noted_of(&self, rule: Rule) -> bool {
        self.broken.as_ref().is_some_and(|broken| broken.get().contains(rule))
    }

    fn normalise(&self, s: &mut State) {
        use Mutation::*;
        // These look at cells that the real protocol never looks at again.
        let looks = matches!(
            self.mutation,
            Some(
                NoRoundCheck
                    | ServesStale
                    | NoClear
                    | NoAccept
                    | ForgedRound
                    | RepeatsRound
                    | ForgedQuery
                    | FutureQuery
                    | NoWaiting
                    | EarlyReceive
                    | WrongReception
                    | SnoopsReception
                    | UnorderedFlush
                    | KeepsGiven
                    | NewestFirst
                    | WrongCell
            )
        );
        // And these break the order of rounds, which ranks rely on, or compare a round with the first one.
        let ranks = !matches!(self.mutation, Some(ForgedRound | RepeatsRound | FutureQuery | ServesStale));
        s.normalise(looks || self.proof, ranks && !self.reduce);
        if self.reduce && !s.memory.exited {
            reduce::seen_from_outside(s);
        }
        if self.symmetry {
            *s = canonical(s);
        }
    }

    /// The representative of the state's class.
    pub(super) fn normalised(&self, mut s: State) -> State {
        self.normalise(&mut s);
        s
    }

    /// Whether the next step of `p` is a store.
    pub(super) fn stores_next(&self, s: &State, p: Processor) -> bool {
        let local = &s.locals[usize::from(p)];
        match local.watch {
            Watch::Ack(_) | Watch::InnerAck { .. } => true,
            Watch::AwaitTransfer(_) | Watch::MatchTransfer(_) => false,
            Watch::Idle => matches!(
                local.pc,
                Pc::Clear
                    | Pc::Send { .. }
                    | Pc::Resend { .. }
                    | Pc::BlockQuery { .. }
                    | Pc::BlockRound { .. }
                    | Pc::Accept
                    | Pc::HandOut { .. }
                    | Pc::NextRound { .. }
                    | Pc::LateAck { .. }
                    | Pc::WriteReady { .. }
                    | Pc::Transfer { .. }
            ),
        }
    }

    fn has_room(&self, s: &State, p: Processor) -> bool {
        s.locals[usize::from(p)].buffer.len() < self.capacity
    }

    /// Every move that `s` allows. A state without moves has exited.
    pub(super) fn moves(&self, s: &State, out: &mut Vec<Move>) {
        out.clear();
        if s.memory.exited {
            return;
        }
        for p in 0..s.processors {
            let local = &s.locals[usize::from(p)];
            if local.buffer.len() > 0 {
                out.push(Move::Flush(p));
                if self.is(Mutation::UnorderedFlush) && local.buffer.len() > 1 {
                    out.push(Move::Overtake(p));
                }
            }
            let stores = self.stores_next(s, p);
            if self.reduce && reduce::is_asked(s, p) {
                out.push(Move::Overwrite(p));
            }
            if self.reduce && reduce::waits(s, p) {
                continue;
            }
            if stores && !self.has_room(s, p) {
                continue;
            }
            // A locked instruction waits until the buffer is empty, and so does a load behind a fence.
            let locked = matches!(local.pc, Pc::Decrement { .. }) && !self.is(Mutation::PlainCounter);
            if (locked || self.fences && !stores) && local.buffer.len() > 0 {
                continue;
            }
            let watching = if self.is(Mutation::NoWatch) { ContSet::default() } else { local.watching };
            let watches = || watching.iter().map(move |c| Move::Step(p, Choice::Watch(c)));
            let waiting_watches = || watches().filter(|_| !self.is(Mutation::NoWatchInWait));
            match (local.watch, local.pc) {
                // The inner call of line 147 does not wait: for a right side it would have to (`Violation::TwoRightSides`).
                (Watch::AwaitTransfer(_), _) => {
                    out.push(Move::Step(p, Choice::Next));
                    let left =
                        |m: &Move| matches!(m, Move::Step(_, Choice::Watch(c)) if c.side == Side::Left);
                    out.extend(waiting_watches().filter(left));
                }
                (Watch::Idle, Pc::AwaitReply { .. }) => {
                    out.push(Move::Step(p, Choice::Next));
                    out.extend(waiting_watches());
                }
                (Watch::Idle, Pc::Choose) => {
                    let victims =
                        (0..s.processors).filter(|&j| j != p && (!self.reduce || reduce::can_be_asked(s, j)));
                    out.extend(victims.map(|j| Move::Step(p, Choice::Victim(j))));
                }
                (Watch::Idle, Pc::Between) => {
                    out.push(Move::Step(p, Choice::Communicate));
                    out.push(Move::Step(p, Choice::Next));
                }
                (Watch::Idle, Pc::Body { .. }) => {
                    out.push(Move::Step(p, Choice::Communicate));
                    out.extend(watches());
                    if !self.application || self.has_room(s, p) {
                        out.push(Move::Step(p, Choice::Finish));
                    }
                }
                _ => out.push(Move::Step(p, Choice::Next)),
            }
        }
    }

    /// Executes `m` and leaves `s` normalised.
    pub(super) fn apply(&self, s: &mut State, m: Move) -> Result<(), Violation> {
        self.replay(s, m, &mut Log::off())?;
        self.normalise(s);
        Ok(())
    }

    /// Executes `m` and reports it to `log`. The state keeps its round numbers as they are, so that a reader of the log
    /// can follow them. This is only for short runs.
    pub(super) fn replay(&self, s: &mut State, m: Move, log: &mut Log<'_>) -> Result<(), Violation> {
        match m {
            Move::Flush(p) | Move::Overtake(p) => {
                let store = s.flush(p, matches!(m, Move::Overtake(_)));
                log.flush(self, s, p, store);
            }
            Move::Overwrite(p) => {
                let query = reduce::outdated(p);
                s.memory.in_query[usize::from(p)] = query;
                log.flush(self, s, p, Store::Query { to: p, query });
            }
            Move::Step(p, choice) => {
                self.step(s, p, choice, log)?;
                if self.reduce
                    && let Pc::TestQuery { victim, round } = s.locals[usize::from(p)].pc
                {
                    s.local(p).pc = Pc::Send { victim, round };
                }
                while self.merge_stores && self.stores_next(s, p) && self.has_room(s, p) {
                    self.step(s, p, Choice::Next, log)?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn step(
        &self,
        s: &mut State,
        p: Processor,
        choice: Choice,
        log: &mut Log<'_>,
    ) -> Result<(), Violation> {
        let (watch, pc) = (s.locals[usize::from(p)].watch, s.locals[usize::from(p)].pc);
        let mut view = View::new(self, s, p, log);
        let step = match (watch, choice) {
            (_, Choice::Watch(c)) => protocol::watch_test(&mut view, c),
            (Watch::Idle, _) => match pc {
                Pc::Body { thread } if choice == Choice::Finish => view.finish(thread),
                Pc::Body { thread } => protocol::communicate(&mut view, Some(thread)),
                Pc::Between if choice == Choice::Communicate => protocol::communicate(&mut view, None),
                Pc::Between => protocol::next_thread(&mut view),
                Pc::HandOut { .. } | Pc::NextRound { .. } => protocol::answer(&mut view),
                _ => match pc.resolving().filter(|_| !matches!(pc, Pc::Decrement { .. })) {
                    Some(c) => protocol::resolve_join(&mut view, c),
                    None => protocol::acquire(&mut view, |_| match choice {
                        Choice::Victim(victim) => u32::from(victim),
                        _ => unreachable!("line 72 needs a victim"),
                    }),
                },
            },
            _ => protocol::watch(&mut view),
        };
        view.checked(step)
    }

    pub(super) fn blame(&self, t: Thread, violation: fn(String) -> Violation) -> Violation {
        violation(self.threads.name(t).to_owned())
    }

    pub(super) fn show(&self, status: Status) -> String {
        match status {
            Status::Work => "WORK".to_owned(),
            Status::Ack => "ACK".to_owned(),
            Status::Ready => "READY".to_owned(),
            Status::Transfer(list) => {
                let conts: Vec<_> = list.iter().map(|c| self.threads.cont_name(c)).collect();
                format!("TRANSFER [{}]", conts.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tso::{Config, Fate};
    use bombyx_base::Random;

    /// The normalised run and the plain one must allow the same moves and stay in the same class, whatever happens.
    /// This makes normalisation sound.
    fn run_side_by_side(config: &Config, seed: u64) {
        let machine = config.machine();
        let mut random = Random::new(seed);
        let mut plain = State::initial(config.processors);
        let mut normal = machine.initial();
        let (mut moves, mut plain_moves) = (Vec::new(), Vec::new());
        for step in 0..150 {
            machine.moves(&normal, &mut moves);
            machine.moves(&plain, &mut plain_moves);
            assert_eq!(moves, plain_moves, "{config:?}, seed {seed}, step {step}");
            if moves.is_empty() {
                return;
            }
            let m = moves[random.index(moves.len())];
            let outcome = machine.apply(&mut normal, m);
            assert_eq!(machine.replay(&mut plain, m, &mut Log::off()), outcome);
            if outcome.is_err() {
                return;
            }
            assert_eq!(machine.normalised(plain), normal, "{config:?}, seed {seed}, step {step}: {m:?}");
        }
    }

    #[test]
    fn normalisation_keeps_every_distinction_that_matters() {
        let config = Config::new(3, "((. .) (. .))".parse().unwrap()).with_capacity(4);
        // Not those that only the proof stops. They lead out of the protocol's states altogether, and exploring them
        // without the proof says nothing.
        let plain = |m: &&Mutation| !matches!(Fate::of(**m), Fate::Caught(Config { proof: true, .. }));
        let mutated = Mutation::ALL.iter().filter(plain).map(|&m| config.clone().with_mutation(m));
        for config in mutated.chain([config.clone()]) {
            (0..60).for_each(|seed| run_side_by_side(&config, seed));
        }
    }
}
