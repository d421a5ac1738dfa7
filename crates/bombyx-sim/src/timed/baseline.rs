//! The baselines' steals: private deques with compare-and-swap, and concurrent deques.

use super::cells::Store;
use super::view::View;
use bombyx_rw::Joins;
use bombyx_rw::protocol::{Cont, Id, Next, Pc, Processor, Side, next_thread, start};

impl View<'_, '_> {
    /// A locked instruction empties the buffer.
    pub(super) fn locked(&mut self) {
        let costs = self.machine.config.costs;
        self.now += costs.remote + costs.locked;
        self.machine.memory.flush(self.p, self.now);
    }

    fn store_at(&mut self, to: Id, store: Store) {
        let costs = self.machine.config.costs;
        self.now += if to == self.p { costs.own } else { costs.remote };
        self.machine.memory.store(self.p, self.now, store);
    }

    /// Private deques with compare-and-swap: answers the open request, and says whether it is worth asking.
    pub(super) fn answer_request(&mut self) {
        let (p, at) = (self.p, self.p as usize);
        let worth = !self.machine.locals[at].deque.is_empty();
        let said = self.machine.memory.load(
            p,
            |store| match *store {
                Store::HasWork { of, worth } if of == p => Some(worth),
                _ => None,
            },
            |shared| shared.has_work[at],
        );
        if said != worth {
            self.store_at(p, Store::HasWork { of: p, worth });
        }
        self.now += self.machine.config.costs.own;
        let request = self.machine.memory.load(
            p,
            |store| match *store {
                Store::Free { of } if of == p => Some(None),
                _ => None,
            },
            |shared| shared.request[at],
        );
        let Some(thief) = request else { return };
        let open = |t| matches!(self.machine.conti[t as usize], Next::Branch(Cont { side: Side::Right, .. }));
        let given = self.peek_top().filter(|&t| open(t));
        if let Some(thread) = given {
            self.pop_top();
            self.watch_branch(thread, Side::Left);
        }
        self.machine.outcome.answered += 1;
        self.store_at(p, Store::Free { of: p });
        self.store_at(thief, Store::Answer { to: thief, thread: given });
    }

    fn watch_branch(&mut self, thread: u32, side: Side) {
        if self.machine.config.joins == Joins::ReadWrite
            && let Next::Branch(cont) = self.conti(thread)
        {
            self.watch_push(Cont { join: cont.join, side });
        }
    }

    /// Private deques with compare-and-swap: one step of `acquire`.
    pub(super) fn request(&mut self) {
        let (p, at) = (self.p, self.p as usize);
        let costs = self.machine.config.costs;
        self.answer_request();
        if self.machine.locals[at].asking {
            self.now += costs.own;
            let Some(answer) = self.machine.memory.shared.answer[at].take() else { return };
            self.machine.locals[at].asking = false;
            let Some(thread) = answer else { return };
            self.machine.stolen(p, self.now);
            self.watch_branch(thread, Side::Right);
            self.push_bottom(thread);
            let Ok(()) = next_thread(self);
            return;
        }
        self.go(Pc::Choose);
        let victim = self.machine.victim(p);
        self.now += costs.remote;
        if !self.machine.memory.shared.has_work[victim as usize] {
            return;
        }
        self.locked();
        let cell = &mut self.machine.memory.shared.request[victim as usize];
        if cell.is_some() {
            return;
        }
        *cell = Some(p);
        self.machine.outcome.asked += 1;
        self.machine.locals[at].asking = true;
        self.machine.asks(p, victim, self.now);
    }

    /// Concurrent deques: one attempt of `acquire`. A thread that was pushed less than Δ ago may not be visible yet.
    pub(super) fn steal_concurrent(&mut self) {
        self.go(Pc::Choose);
        let victim = self.machine.victim(self.p);
        let (costs, delta) = (self.machine.config.costs, self.machine.config.delta);
        self.machine.outcome.asked += 1;
        self.machine.asks(self.p, victim, self.now);
        self.now += costs.remote + costs.fence;
        let seen =
            self.machine.locals[victim as usize].deque.front().filter(|(_, at)| at + delta <= self.now);
        let Some(&(thread, _)) = seen else { return };
        self.machine.locals[victim as usize].deque.pop_front();
        self.locked();
        self.machine.stolen(self.p, self.now);
        let Ok(()) = start(self, thread);
    }
}
