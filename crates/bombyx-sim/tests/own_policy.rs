//! A policy from outside the crate: a shared stack of ready threads, written with the public interface only.

mod common;

use bombyx_dag::{Measures, ThreadId};
use bombyx_sim::{Invariant, Machine, Mode, Policy, ProcessorId, Ready, Scheduler, Simulation};
use common::{assert_legal, computation};

#[derive(Default)]
struct Stack {
    threads: Vec<ThreadId>,
    /// How many processors never get anything. Anything but 0 is an error.
    forgotten: usize,
}

impl Policy for Stack {
    fn begin(&mut self, m: &mut Machine<'_>) {
        self.threads.push(m.computation().root());
    }

    fn spawned(&mut self, m: &mut Machine<'_>, p: ProcessorId, parent: ThreadId, child: ThreadId) {
        self.threads.push(parent);
        m.work(p, child);
    }

    fn stalled(&mut self, m: &mut Machine<'_>, p: ProcessorId, _: ThreadId) {
        m.rest(p);
    }

    fn died(&mut self, m: &mut Machine<'_>, p: ProcessorId, _: ThreadId) {
        m.rest(p);
    }

    fn enabled(&mut self, _: &mut Machine<'_>, _: ProcessorId, thread: ThreadId) {
        self.threads.push(thread);
    }

    fn settle(&mut self, m: &mut Machine<'_>) {
        let served = m.processor_count() - self.forgotten;
        while !self.threads.is_empty()
            && let Some(p) = m.first_idle().filter(|p| p.index() < served)
        {
            let thread = self.threads.pop().unwrap();
            m.acquire(p, thread);
        }
    }

    fn ready(&self) -> Ready {
        Ready::Pool(self.threads.clone())
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

#[test]
fn a_forgotten_processor_is_caught() {
    let c = computation("fib:10");
    let simulation = Simulation::new(&c, Scheduler::Greedy).processors(4).check(Invariant::Greedy);
    let lazy = |_: &_| -> Box<dyn Policy> { Box::new(Stack { threads: Vec::new(), forgotten: 1 }) };
    let error = simulation.run_policy(lazy).unwrap_err().to_string();
    assert!(error.contains("greedy (BL §2) is broken: p4 is idle although"), "{error}");
}
