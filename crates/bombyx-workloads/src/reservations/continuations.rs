//! Deterministic reservations in continuation-passing style.

use super::Speculative;
use crate::continuations::{Tally, gather, halves};
use crate::par::fill;
use bombyx_rw::{Discipline, Ended, Pool, Slice, Task};

/// Runs iterations `0..n`, at most `round` of them at a time, in pieces of `grain`.
pub(crate) fn speculative_on<K: Discipline, S: Speculative>(
    pool: &mut Pool<K>,
    step: &S,
    n: u32,
    round: usize,
    grain: usize,
) {
    let (mut active, mut room) = (vec![0; round], vec![0; round]);
    let mut plans = vec![S::Plan::default(); round];
    let rounds = Rounds { step, n, grain };
    let tables = Tables {
        active: Slice::from(&mut active[..]),
        plans: Slice::from(&mut plans[..]),
        room: Slice::from(&mut room[..]),
    };
    pool.run(move |task| rounds.next(task, tables, 0, 0));
}

/// What does not change from round to round.
struct Rounds<'e, S> {
    step: &'e S,
    n: u32,
    grain: usize,
}

impl<S> Clone for Rounds<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Rounds<'_, S> {}

/// Iterations under way, what they learned, and room for those that must try again.
struct Tables<'e, P> {
    active: Slice<'e, u32>,
    plans: Slice<'e, P>,
    room: Slice<'e, u32>,
}

impl<'e, P> Tables<'e, P> {
    fn split(self, at: usize) -> [Tables<'e, P>; 2] {
        let ((a0, a1), (p0, p1), (r0, r1)) =
            (self.active.split(at), self.plans.split(at), self.room.split(at));
        [Tables { active: a0, plans: p0, room: r0 }, Tables { active: a1, plans: p1, room: r1 }]
    }

    fn rejoin(self, right: Tables<'e, P>) -> Tables<'e, P> {
        Tables {
            active: self.active.rejoin(right.active),
            plans: self.plans.rejoin(right.plans),
            room: self.room.rejoin(right.room),
        }
    }
}

impl<'e, S: Speculative> Rounds<'e, S> {
    /// One round and those after it. `left` iterations try again, and those from `next` on are new.
    fn next<'w, K: Discipline>(
        self,
        task: Task<'w, 'e, (), K>,
        mut tables: Tables<'e, S::Plan>,
        left: usize,
        next: u32,
    ) -> Ended<'w> {
        if left == 0 && next == self.n {
            return task.end(());
        }
        let fresh = ((tables.active.len() - left) as u32).min(self.n - next);
        let now = left + fresh as usize;
        for (slot, iteration) in tables.active[left..now].iter_mut().zip(next..) {
            *slot = iteration;
        }
        let [tables, rest] = tables.split(now);
        task.call(
            move |task| self.plan(task, tables),
            move |task, tables| {
                task.call(
                    move |task| self.commit(task, tables),
                    move |task, (tables, tally)| self.again(task, tables, rest, tally, next + fresh),
                )
            },
        )
    }

    /// First phase.
    fn plan<'w, K: Discipline>(
        self,
        task: Task<'w, 'e, Tables<'e, S::Plan>, K>,
        mut tables: Tables<'e, S::Plan>,
    ) -> Ended<'w> {
        let Some(half) = halves(tables.active.len(), self.grain) else {
            for (plan, iteration) in tables.plans.iter_mut().zip(&*tables.active) {
                *plan = self.step.reserve(*iteration);
            }
            return task.end(tables);
        };
        let [left, right] = tables.split(half);
        task.fork(
            move |task| self.plan(task, left),
            move |task| self.plan(task, right),
            |task, left, right| task.end(left.rejoin(right)),
        )
    }

    /// Second phase: leaves in the room those that must try again.
    fn commit<'w, K: Discipline>(
        self,
        task: Task<'w, 'e, (Tables<'e, S::Plan>, Tally), K>,
        mut tables: Tables<'e, S::Plan>,
    ) -> Ended<'w> {
        let Some(half) = halves(tables.active.len(), self.grain) else {
            let tried = tables.active.iter().zip(&*tables.plans);
            let again = tried.filter(|(iteration, plan)| !self.step.commit(**iteration, **plan));
            let count = fill(&mut tables.room, again.map(|(iteration, _)| *iteration));
            return task.end((tables, Tally::leaf([count, 0])));
        };
        let [left, right] = tables.split(half);
        task.fork(
            move |task| self.commit(task, left),
            move |task| self.commit(task, right),
            |task, (left, tally), (right, more)| task.end((left.rejoin(right), Tally::join(tally, more))),
        )
    }

    /// Brings together those that must try again, and goes on.
    fn again<'w, K: Discipline>(
        self,
        task: Task<'w, 'e, (), K>,
        tables: Tables<'e, S::Plan>,
        rest: Tables<'e, S::Plan>,
        tally: Tally,
        next: u32,
    ) -> Ended<'w> {
        let left = tally.total[0];
        let Tables { active, plans, room } = tables;
        let (front, behind) = active.split(left);
        let (grain, none) = (self.grain, Slice::from(&mut [][..]));
        task.call(
            move |task| gather(task, tally, grain, [room, front, none]),
            move |task, [room, front, _]| {
                let tables = Tables { active: front.rejoin(behind), plans, room };
                self.next(task, tables.rejoin(rest), left, next)
            },
        )
    }
}
