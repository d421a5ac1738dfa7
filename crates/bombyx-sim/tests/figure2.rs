//! BL Figure 2, to the letter: the Busy-Leaves Algorithm's schedule of Figure 1's computation on two processors,
//! with the content of the pool, ready or stalled, and every processor's instruction at all 14 steps.

mod common;

use bombyx_base::FIGURE_2;
use bombyx_dag::generate::figure1;
use bombyx_sim::{Mode, Scheduler, Simulation, step_table};
use common::assert_legal;

#[test]
fn busy_leaves_computes_figure_2() {
    let computation = figure1(1);
    for mode in [Mode::Event, Mode::Step] {
        let simulation = Simulation::new(&computation, Scheduler::BusyLeaves).processors(2).mode(mode);
        let outcome = simulation.trace().check_all().run().unwrap();
        assert_eq!(outcome.makespan, 14);
        assert_eq!(outcome.dollars.work, 23);
        assert_eq!(outcome.dollars.idle, 5);
        assert_legal(&computation, &outcome, true);
        assert_eq!(step_table(&computation, &outcome).unwrap(), FIGURE_2);
    }
}
