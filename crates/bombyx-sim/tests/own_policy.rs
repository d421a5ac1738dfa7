//! A policy from outside the crate: a shared stack of ready threads, written with the public interface only.

mod common;

use bombyx_dag::{Measures, ThreadId};
use bombyx_sim::scheduler::Ready;
use bombyx_sim::{Invariant, Machine, Mode, Policy, ProcessorId, Scheduler, Simulation};
use common::{assert_legal, computation};

#[derive(Default)]
struct Stack(Vec<ThreadId>);

impl Policy for Stack {
    fn begin(&mut self, m: &mut Machine<'_>) {
        self.0.push(m.computation().root());
    }

    fn spawned(&mut self, m: &mut Machine<'_>, p: ProcessorId, parent: ThreadId, child: ThreadId) {
        self.0.push(parent);
        m.work(p, child);
    }

    fn stalled(&mut self, m: &mut Machine<'_>, p: ProcessorId, _: ThreadId) {
        m.rest(p);
    }

    fn died(&mut self, m: &mut Machine<'_>, p: ProcessorId, _: ThreadId) {
        m.rest(p);
    }

    fn enabled(&mut self, _: &mut Machine<'_>, _: ProcessorId, thread: ThreadId) {
        self.0.push(thread);
    }

    fn settle(&mut self, m: &mut Machine<'_>) {
        while !self.0.is_empty()
            && let Some(p) = m.first_idle()
        {
            let thread = self.0.pop().unwrap();
            m.acquire(p, thread);
        }
    }

    fn ready(&self) -> Ready {
        Ready::Pool(self.0.clone())
    }
}

#[test]
fn a_policy_of_ones_own_runs() {
    for spec in ["figure1", "fib:10", "random:threads=50"] {
        let c = computation(spec);
        let simulation = Simulation::new(&c, Scheduler::Greedy).processors(4).mode(Mode::Step).trace();
        let outcome = simulation.check(Invariant::Greedy).run_policy(|_| Box::new(Stack::default())).unwrap();
        assert_legal(&c, &outcome, true);
        assert!(outcome.makespan <= Measures::of(&c).greedy_bound(4), "{spec}");
    }
}
