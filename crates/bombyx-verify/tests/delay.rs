//! Delay sequences of hand-made and random runs.

use bombyx_dag::{Computation, StrandId, generate::Spec, generate::figure1};
use bombyx_sim::{Outcome, Scheduler, Simulation};
use bombyx_verify::delay::{DelaySequence, Edges, History, NoHistory, explain, picture};

fn run(c: &Computation, processors: usize, seed: u64) -> Outcome {
    Simulation::new(c, Scheduler::WorkStealing).processors(processors).seed(seed).trace().run().unwrap()
}

#[test]
fn alone_every_instruction_on_the_path_is_critical_at_once_or_later() {
    let c = figure1(1);
    let outcome = run(&c, 1, 0);
    let history = History::of(&c, &outcome).unwrap();
    assert_eq!((history.steps(), history.attempts()), (23, 0));
    // One processor executes v3 before v16, its predecessor across a deque edge: v3 is never critical.
    assert_eq!(history.critical(StrandId(2)), None);
    assert_eq!(history.critical(StrandId(0)), Some(1..=1));
    assert_eq!(history.critical(StrandId(15)), Some(3..=16));
    let sequence = DelaySequence::of(&history, 3, Edges::Augmented);
    sequence.check(&history).unwrap();
    sequence.check_coverage(&history).unwrap();
    assert!(sequence.rounds.is_empty());
}

#[test]
fn rounds_hold_what_they_should() {
    let c = "chain:length=30,work=1".parse::<Spec>().unwrap().build().unwrap();
    for processors in [2, 3, 8] {
        let outcome = run(&c, processors, 5);
        let history = History::of(&c, &outcome).unwrap();
        for (least, most) in [(processors, 2 * processors - 1), (3 * processors, 4 * processors - 1)] {
            let rounds = history.rounds(least);
            assert!(rounds.iter().all(|round| (least..=most).contains(&round.attempts)), "P = {processors}");
            assert!(rounds.windows(2).all(|pair| pair[0].end + 1 == pair[1].begin));
            let counted: usize = rounds.iter().map(|round| round.attempts).sum();
            assert!(counted <= history.attempts() && history.attempts() < counted + least);
        }
    }
}

#[test]
fn a_forged_sequence_is_refused() {
    let c = figure1(1);
    let outcome = run(&c, 2, 1);
    let history = History::of(&c, &outcome).unwrap();
    let real = DelaySequence::of(&history, 2, Edges::Augmented);
    real.check(&history).unwrap();
    assert!(real.within.iter().sum::<u64>() > 0);
    let mut short = real.clone();
    short.path.remove(1);
    short.within.remove(1);
    short.across.remove(1);
    assert!(short.check(&history).unwrap_err().contains("without an edge"));
    let mut elsewhere = real.clone();
    elsewhere.within.rotate_right(1);
    assert!(elsewhere.check(&history).is_err());
    let mut lost = real.clone();
    lost.rounds.pop();
    assert!(lost.check(&history).unwrap_err().contains("Π counts"));
}

#[test]
fn pictures_show_the_path() {
    let c = figure1(1);
    let outcome = run(&c, 2, 1);
    let svg = picture(&c, &outcome, 2).unwrap();
    assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n") && svg.contains("v23 of Γ1"));
    assert!(explain(&c, &outcome, 2).unwrap().contains("The path U has"));
    let untraced = Simulation::new(&c, Scheduler::WorkStealing).processors(2).run().unwrap();
    assert_eq!(picture(&c, &untraced, 2), Err(NoHistory::NoTrace));
    let long = "fan:children=2,work=5".parse::<Spec>().unwrap().build().unwrap();
    assert_eq!(explain(&long, &run(&long, 2, 1), 2), Err(NoHistory::NotInUnits));
}
