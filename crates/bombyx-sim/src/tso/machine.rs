//! The protocol of RW §4 as a step machine: which moves a state allows, and what each of them does. The steps of the
//! main loop and of `fork` (RW Figures 4 and 5) are here, those of stealing in `steal.rs`, of joining in `join.rs`.
//!
//! A move is a flush of one processor's oldest store, or a step of one processor's program. A step makes one access
//! to shared memory, together with the private work next to it; stores that follow it directly are taken along
//! while the buffer has room, unless [`Machine::merge_stores`] is off. Line numbers are those of RW's figures 3 to 7.

use super::Violation;
use super::mutation::Mutation;
use super::state::{Pc, Processor, State, Status, Store, Watch};
use super::trace::Log;
use super::tree::{Cont, ContSet, Fork, Side, Thread, Threads};

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
}

impl Machine {
    pub(super) fn initial(&self) -> State {
        self.normalised(State::initial(self.processors))
    }

    pub(super) fn is(&self, mutation: Mutation) -> bool {
        self.mutation == Some(mutation)
    }

    fn normalise(&self, s: &mut State) {
        let keep = matches!(self.mutation, Some(Mutation::NoRoundCheck | Mutation::NoClear));
        s.normalise(keep);
    }

    /// The representative of the state's class.
    pub(super) fn normalised(&self, mut s: State) -> State {
        self.normalise(&mut s);
        s
    }

    /// Whether the next step of `p` is a store.
    fn stores_next(&self, s: &State, p: Processor) -> bool {
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
            }
            if self.stores_next(s, p) && !self.has_room(s, p) {
                continue;
            }
            let watching = if self.is(Mutation::NoWatch) { ContSet::default() } else { local.watching };
            let watches = || watching.iter().map(move |c| Move::Step(p, Choice::Watch(c)));
            let waiting_watches = || watches().filter(|_| !self.is(Mutation::NoWatchInWait));
            match (local.watch, local.pc) {
                (Watch::AwaitTransfer(_), _) | (Watch::Idle, Pc::AwaitReply { .. }) => {
                    out.push(Move::Step(p, Choice::Next));
                    out.extend(waiting_watches());
                }
                (Watch::Idle, Pc::Choose) => {
                    let victims = (0..s.processors).filter(|&j| j != p);
                    out.extend(victims.map(|j| Move::Step(p, Choice::Victim(j))));
                }
                (Watch::Idle, Pc::Between) => {
                    out.push(Move::Step(p, Choice::Communicate));
                    out.push(Move::Step(p, Choice::Next));
                }
                (Watch::Idle, Pc::Body { .. }) => {
                    out.push(Move::Step(p, Choice::Communicate));
                    out.extend(watches());
                    out.push(Move::Step(p, Choice::Finish));
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

    /// Executes `m` and tells `log` about it. The state keeps its round numbers as they are, so that a reader of the
    /// log can follow them; this is for short runs only.
    pub(super) fn replay(&self, s: &mut State, m: Move, log: &mut Log<'_>) -> Result<(), Violation> {
        match m {
            Move::Flush(p) => {
                let store = s.flush(p);
                log.flush(self, s, p, store);
            }
            Move::Step(p, choice) => {
                self.step(s, p, choice, log)?;
                while self.merge_stores && self.stores_next(s, p) && self.has_room(s, p) {
                    self.step(s, p, Choice::Next, log)?;
                }
            }
        }
        Ok(())
    }

    fn step(&self, s: &mut State, p: Processor, choice: Choice, log: &mut Log<'_>) -> Result<(), Violation> {
        let local = &s.locals[usize::from(p)];
        match (local.watch, choice) {
            (watch, Choice::Watch(c)) => self.watch_test(s, p, watch, c, log),
            (Watch::Idle, _) => match local.pc {
                Pc::Body { thread } if choice == Choice::Finish => self.finish(s, p, thread, log),
                Pc::Body { thread } => self.communicate(s, p, Some(thread), log),
                Pc::Between if choice == Choice::Communicate => self.communicate(s, p, None, log),
                Pc::Between => self.next_thread(s, p, log),
                Pc::HandOut { .. } | Pc::NextRound { .. } => self.answer(s, p, log),
                pc => match s.locals[usize::from(p)].resolving() {
                    Some(c) => self.resolve_join(s, p, pc, c, log),
                    None => self.acquire(s, p, pc, choice, log),
                },
            },
            (watch, _) => self.watch(s, p, watch, log),
        }
    }

    /// The end of a body: `fork` (lines 45 to 53) if it ends in one, then `handle_cont` (54 to 67) and the main
    /// loop. All of it is private.
    fn finish(&self, s: &mut State, p: Processor, t: Thread, log: &mut Log<'_>) -> Result<(), Violation> {
        let name = self.threads.name(t);
        if let Some(fork) = self.threads.body(t) {
            log.step(p, 45, || format!("{name} forks"));
            let local = s.local(p);
            local.deque.push_bottom(self.threads.right(fork));
            local.deque.push_bottom(self.threads.left(fork));
            return self.main_loop(s, p, log);
        }
        let Some(cont) = self.threads.cont(t) else {
            log.step(p, 56, || format!("{name} ends, exit"));
            s.local(p).pc = Pc::Clear;
            s.memory.exited = true;
            return Ok(());
        };
        if s.is_single(cont.fork) {
            log.step(p, 58, || format!("{name} ends, its join has no other branch"));
            s.local(p).deque.push_bottom(self.threads.join(cont.fork));
            return self.main_loop(s, p, log);
        }
        let local_join = cont.side == Side::Left && !s.locals[usize::from(p)].deque.threads().is_empty();
        if local_join && !self.is(Mutation::NoLocalJoin) {
            log.step(p, 65, || format!("{name} ends, the right branch is still here and becomes SINGLE"));
            s.memory.single |= 1 << cont.fork.0;
            return self.main_loop(s, p, log);
        }
        log.step(p, 67, || format!("{name} ends, resolves {}", self.threads.cont_name(cont)));
        s.local(p).pc = Pc::TestAck { cont };
        Ok(())
    }

    pub(super) fn push_join(
        &self,
        s: &mut State,
        p: Processor,
        fork: Fork,
        log: &mut Log<'_>,
    ) -> Result<(), Violation> {
        s.local(p).deque.push_bottom(self.threads.join(fork));
        self.main_loop(s, p, log)
    }

    /// Lines 38 to 43, entered with the previous thread done.
    pub(super) fn main_loop(&self, s: &mut State, p: Processor, log: &mut Log<'_>) -> Result<(), Violation> {
        if self.is(Mutation::PollBetweenThreads) {
            s.local(p).pc = Pc::Between;
            return Ok(());
        }
        self.next_thread(s, p, log)
    }

    /// Lines 39 to 43: take the bottom thread and enter its body, or `acquire` one.
    pub(super) fn next_thread(
        &self,
        s: &mut State,
        p: Processor,
        log: &mut Log<'_>,
    ) -> Result<(), Violation> {
        let Some(t) = s.local(p).deque.pop_bottom() else {
            s.local(p).pc = if self.is(Mutation::NoClear) { Pc::Choose } else { Pc::Clear };
            return Ok(());
        };
        log.step(p, 43, || format!("runs {}", self.threads.name(t)));
        s.local(p).pc = Pc::Body { thread: t };
        if s.has_started(t) {
            return Err(self.blame(t, Violation::RunsTwice));
        }
        s.memory.started |= 1 << t.0;
        let ready = self.threads.creator(t).is_none_or(|f| {
            let branches = [self.threads.left(f), self.threads.right(f)];
            let branches_ended = branches.iter().all(|&b| s.has_ended(self.threads.last(b)));
            s.has_ended(self.threads.forker(f)) && (!self.threads.is_join(t) || branches_ended)
        });
        if ready { Ok(()) } else { Err(self.blame(t, Violation::RunsTooEarly)) }
    }

    pub(super) fn next_round(&self, s: &mut State, p: Processor, line: u16, log: &mut Log<'_>) {
        let round = s.round(p, p) + 1;
        self.store(s, p, line, Store::Round(round), log);
    }

    pub(super) fn store(&self, s: &mut State, p: Processor, line: u16, store: Store, log: &mut Log<'_>) {
        s.local(p).buffer.push(store);
        log.store(self, p, line, store);
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
    use crate::tso::Config;
    use crate::tso::walk::SplitMix64;

    /// The normalised run and the plain one must allow the same moves and stay in the same class, whatever happens:
    /// this is what makes normalisation sound.
    fn run_side_by_side(config: &Config, seed: u64) {
        let machine = config.machine();
        let mut random = SplitMix64::new(seed);
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
            let m = moves[random.below(moves.len())];
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
        let mutated = Mutation::ALL.iter().map(|&m| config.clone().with_mutation(m));
        for config in mutated.chain([config.clone()]) {
            (0..60).for_each(|seed| run_side_by_side(&config, seed));
        }
    }
}
