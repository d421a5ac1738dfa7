//! The machine as one processor sees it while it takes a step. The step machine of `bombyx-rw` runs on this.

use super::cells::{Edge, List, Store, side};
use super::machine::Machine;
use super::program::Thread;
use bombyx_rw::protocol::{Id, Mutation, Next, Pc, Processor, Query, Status, Watch};
use bombyx_rw::{Joins, Steals};
use std::convert::Infallible;

/// Processor `p` at a moment.
pub(super) struct View<'m, 'c> {
    pub(super) machine: &'m mut Machine<'c>,
    pub(super) p: Id,
    /// When the next access happens.
    pub(super) now: u64,
}

impl View<'_, '_> {
    /// An access to a cell of processor `of`.
    fn access(&mut self, of: Id) {
        let costs = self.machine.config.costs;
        self.now += if of == self.p { costs.own } else { costs.remote };
    }

    fn store(&mut self, of: Id, store: Store) {
        self.access(of);
        self.machine.memory.store(self.p, self.now, store);
    }

    /// Whether this error is planted.
    pub(super) fn errs(&self, mutation: Mutation) -> bool {
        self.machine.config.mutation == Some(mutation)
    }

    /// An access to a status cell, which another processor may have used last.
    fn access_join(&mut self) {
        self.now += self.machine.config.costs.remote;
    }
}

impl Processor for View<'_, '_> {
    type Thread = Thread;
    type Join = Thread;
    type Round = u64;
    type List = List;
    type Fault = Infallible;

    const FIRST: u64 = 0;

    fn id(&self) -> Id {
        self.p
    }

    fn pc(&self) -> Pc<Thread, Thread, u64> {
        self.machine.locals[self.p as usize].pc
    }

    fn go(&mut self, to: Pc<Thread, Thread, u64>) {
        self.machine.locals[self.p as usize].pc = to;
    }

    fn load_round(&mut self, of: Id) -> u64 {
        self.access(of);
        self.machine.memory.load(
            self.p,
            |store| match *store {
                Store::Round { of: cell, round } if cell == of => Some(round),
                _ => None,
            },
            |shared| shared.round[of as usize],
        )
    }

    fn store_round(&mut self, of: Id, round: u64) {
        if let Pc::NextRound { .. } = self.pc() {
            self.machine.outcome.answered += 1;
        }
        self.store(of, Store::Round { of, round });
    }

    fn next(round: u64) -> u64 {
        round + 1
    }

    fn load_query(&mut self, of: Id) -> Query<u64> {
        self.access(of);
        self.machine.memory.load(
            self.p,
            |store| match *store {
                Store::Query { to, query } if to == of => Some(query),
                _ => None,
            },
            |shared| shared.query[of as usize],
        )
    }

    fn store_query(&mut self, to: Id, mut query: Query<u64>) {
        if self.errs(Mutation::OldRound) && matches!(self.pc(), Pc::Send { .. }) {
            let last = &mut self.machine.locals[self.p as usize].last_asked;
            query.round = last.insert(to, query.round).unwrap_or(query.round);
        }
        if to != self.p {
            if self.errs(Mutation::Dawdles) {
                self.now += 10 * self.machine.config.delta;
            }
            let again = matches!(self.pc(), Pc::Resend { .. });
            let outcome = &mut self.machine.outcome;
            *(if again { &mut outcome.resent } else { &mut outcome.asked }) += 1;
            self.machine.asks(self.p, to, self.now);
        }
        self.store(to, Store::Query { to, query });
    }

    fn load_received(&mut self, of: Id) -> Option<Thread> {
        self.access(of);
        let thread = self.machine.memory.load(
            self.p,
            |store| match *store {
                Store::Received { to, thread } if to == of => Some(thread),
                _ => None,
            },
            |shared| shared.received[of as usize],
        );
        if thread.is_some() {
            self.machine.stolen(self.p, self.now);
        }
        thread
    }

    fn store_received(&mut self, to: Id, thread: Option<Thread>) {
        if to != self.p && self.errs(Mutation::Lingers) {
            self.now += 10 * self.machine.config.delta;
        }
        self.store(to, Store::Received { to, thread });
    }

    fn load_status(&mut self, of: Edge) -> Status<List> {
        self.access_join();
        self.machine.memory.load(
            self.p,
            |store| match *store {
                Store::Status { of: cell, value } if cell == of => Some(value),
                _ => None,
            },
            |shared| shared.status[of.join as usize][side(of)],
        )
    }

    fn store_status(&mut self, of: Edge, value: Status<List>) {
        if let Status::Transfer(_) = value {
            self.machine.outcome.transfers += 1;
        }
        self.access_join();
        self.machine.memory.store(self.p, self.now, Store::Status { of, value });
    }

    fn push_bottom(&mut self, t: Thread) {
        let now = self.now;
        self.machine.locals[self.p as usize].deque.push_back((t, now));
    }

    fn pop_bottom(&mut self) -> Option<Thread> {
        if self.machine.config.steals == Steals::ChaseLev {
            self.now += self.machine.config.costs.fence;
            self.machine.memory.flush(self.p, self.now);
        }
        self.machine.locals[self.p as usize].deque.pop_back().map(|(t, _)| t)
    }

    fn pop_top(&mut self) -> Option<Thread> {
        self.machine.locals[self.p as usize].deque.pop_front().map(|(t, _)| t)
    }

    fn peek_top(&self) -> Option<Thread> {
        self.machine.locals[self.p as usize].deque.front().map(|(t, _)| *t)
    }

    fn peek_bottom(&self) -> Option<Thread> {
        self.machine.locals[self.p as usize].deque.back().map(|(t, _)| *t)
    }

    fn current(&self) -> Option<Next<Thread>> {
        self.machine.locals[self.p as usize].current
    }

    fn set_current(&mut self, next: Option<Next<Thread>>) {
        self.machine.locals[self.p as usize].current = next;
    }

    fn conti(&self, t: Thread) -> Next<Thread> {
        self.machine.conti[t as usize]
    }

    fn set_conti(&mut self, t: Thread, next: Next<Thread>) {
        self.machine.conti[t as usize] = next;
    }

    fn init_status(&mut self, join: Thread) {
        // A thief learns of the join only after this, and a join is used once. So nobody can see what was there before.
        self.machine.memory.shared.status[join as usize] = [Status::Work; 2];
    }

    fn make_single(&mut self, t: Thread) {
        if let Next::Branch(cont) = self.machine.conti[t as usize] {
            self.machine.conti[t as usize] = Next::Single(cont.join);
        }
    }

    fn join_thread(&self, join: Thread) -> Thread {
        join
    }

    fn watch_push(&mut self, c: Edge) {
        self.machine.locals[self.p as usize].watching.push(c);
    }

    fn watch_remove(&mut self, c: Edge) {
        self.machine.locals[self.p as usize].watching.retain(|other| *other != c);
    }

    fn watch_take(&mut self) -> List {
        let all = std::mem::take(&mut self.machine.locals[self.p as usize].watching);
        self.machine.lists.push(all);
        self.machine.lists.len() as List - 1
    }

    fn empty_list(&self) -> List {
        unreachable!("only a mutation that has no clock sends an empty list")
    }

    fn watch_add(&mut self, list: List) {
        let entries = std::mem::take(&mut self.machine.lists[list as usize]);
        self.machine.locals[self.p as usize].watching.extend(entries);
    }

    fn watch_state(&self) -> Watch<Thread> {
        self.machine.locals[self.p as usize].watch
    }

    fn watch_go(&mut self, to: Watch<Thread>) {
        self.machine.locals[self.p as usize].watch = to;
    }

    fn joins_by_counter(&self) -> bool {
        self.machine.config.joins == Joins::FetchAdd
    }

    fn decrement(&mut self, join: Thread) -> bool {
        self.locked();
        let counter = &mut self.machine.memory.shared.counter[join as usize];
        *counter -= 1;
        let last = *counter == 0;
        self.machine.outcome.joins[2] += u64::from(last);
        last
    }

    fn leave(&mut self, _: Edge) {}

    fn take_over(&mut self, _: Thread) {
        let tied = matches!(self.pc(), Pc::MatchReply { .. });
        self.machine.outcome.joins[usize::from(tied)] += 1;
    }

    fn enter(&mut self, t: Thread) -> Result<(), Infallible> {
        let weight = self.machine.program.weight(t);
        self.machine.locals[self.p as usize].begin(weight);
        self.machine.outcome.threads += 1;
        Ok(())
    }

    fn exit(&mut self) {
        self.machine.exited = true;
    }

    fn no_case(&self, line: u16) -> Infallible {
        unreachable!("line {line} met a message that it has no case for")
    }
}
