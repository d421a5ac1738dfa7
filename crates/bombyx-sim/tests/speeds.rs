//! Speeds that change at any time, processors that stop, crash and come back: the engine against a second implementation
//! in fractions, run for run, to the tick. `scripts/speeds` runs it with optimizations.

mod common;
mod exact;

use bombyx_dag::Computation;
use bombyx_sim::{Contention, EventKind, ProcessorId, Ratio, Simulation, SimulationError, Speeds};
use common::{computation, nested, scheduler};
use exact::fraction::{Fraction, fraction};
use exact::{Case, Meeting, Rule};

struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % n
    }

    fn one_of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len() as u64) as usize]
    }
}

fn ratio(text: &str) -> Ratio {
    text.parse().unwrap()
}

/// Speeds that often stop a processor or make it crash. At the end all processors work, so that no thread waits for
/// ever.
fn random_speeds(dice: &mut Dice, processors: usize) -> Speeds {
    let palette: &[&str] = match dice.below(4) {
        0 => &["1", "2", "0", "1"],
        1 => &["1", "2", "4", "1/2", "0"],
        2 => &["1", "3", "3/2", "0"],
        _ => &["1", "1/4", "5", "2"],
    };
    let mut speeds = Speeds::from_list((0..processors).map(|_| ratio(dice.one_of(palette))));
    for _ in 0..dice.below(9) {
        let at = Ratio::new(dice.below(60), 1 + dice.below(2)).unwrap();
        let p = ProcessorId(dice.below(processors as u64) as u32);
        speeds = match dice.below(6) {
            0 => speeds.crash(at, p),
            _ => speeds.change(at, p, ratio(dice.one_of(palette))),
        };
    }
    (0..processors as u32)
        .fold(speeds, |speeds, p| speeds.change(60 + u64::from(p), ProcessorId(p), Ratio::ONE))
}

fn random_computation(dice: &mut Dice) -> Computation {
    let seed = dice.below(1000);
    match dice.below(5) {
        0 => computation(&format!("random:threads=12,work=3,seed={seed}")),
        1 => nested(10, 0, seed),
        2 => computation("greedy-trap:long=30,short=6,rounds=1"),
        3 => computation(&format!("fan:children={},work={}", 2 + seed % 9, 1 + seed % 7)),
        _ => computation(&format!("chain:length={},work={}", 1 + seed % 6, 1 + seed % 9)),
    }
}

/// Compares one random run. Returns whether the engine could be exact; if so, everything agreed.
fn compare(seed: u64) -> bool {
    let mut dice = Dice(seed);
    let c = random_computation(&mut dice);
    let processors = 1 + dice.below(4) as usize;
    let speeds = random_speeds(&mut dice, processors);
    let beta = dice.one_of(&["1", "1.5", "3"]);
    let exact_beta: Fraction = ratio(beta).into();
    let (name, rule) = match dice.below(5) {
        0 => ("work-stealing".to_owned(), Rule::Stealing(None)),
        1 => (format!("heterogeneous:{beta}"), Rule::Stealing(Some(exact_beta))),
        2 => ("maximum-utilization".to_owned(), Rule::Utilization(fraction(1, 1))),
        3 => (format!("high-utilization:{beta}"), Rule::Utilization(exact_beta)),
        _ => ("greedy".to_owned(), Rule::Greedy),
    };
    let (contention, meeting) = match dice.below(3) {
        0 => (Contention::default(), Meeting::Queued),
        1 => (Contention::Denied, Meeting::Denied),
        _ => (Contention::Free, Meeting::Free),
    };
    let choice = |dice: &mut Dice| match dice.below(20) {
        0 => None,
        _ => Some(dice.below(processors as u64) as u32),
    };
    let choices: Vec<Vec<Option<u32>>> =
        (0..processors).map(|_| (0..3000).map(|_| choice(&mut dice)).collect()).collect();
    let (steal_cost, migration_cost) = (1 + dice.below(2), [0, 0, 1][dice.below(3) as usize]);
    let at_victims_speed = dice.below(6) == 0;
    let factors = ["1", "1", "2", "1/2"];
    let estimates: Vec<Ratio> = match dice.below(4) {
        0 => (0..processors).map(|_| ratio(dice.one_of(&factors))).collect(),
        _ => vec![Ratio::ONE; processors],
    };
    let mut simulation = Simulation::new(&c, scheduler(&name))
        .speeds(speeds.clone())
        .contention(contention)
        .steal_cost(steal_cost)
        .migration_cost(migration_cost)
        .estimates(estimates.iter().copied())
        .choices(choices.clone())
        .trace();
    if at_victims_speed {
        simulation = simulation.steals_at_victims_speed();
    }
    let context = format!(
        "seed {seed}: {name}, {contention}, speeds {speeds}, steal {steal_cost}, toll {migration_cost}"
    );
    let outcome = simulation.run().unwrap_or_else(|e| panic!("{context}: {e}"));
    let Some(time) = outcome.exact_time() else { return false };
    let case = Case {
        computation: &c,
        rule,
        processors,
        speeds: &speeds,
        beliefs: estimates.iter().map(|&factor| factor.into()).collect(),
        choices,
        meeting,
        steal_cost,
        migration_cost,
        at_victims_speed,
    };
    let expected = exact::run(&case).unwrap_or_else(|| panic!("{context}: the other one never ends"));
    let unit = i128::from(outcome.ticks_per_unit);
    let at = |tick: u64| fraction(tick.into(), unit);
    let events = outcome.trace.as_ref().unwrap().events().iter();
    let mut executed: Vec<_> = events
        .filter_map(|e| match e.kind {
            EventKind::Execute { strand, .. } => Some((e.processor.index(), strand, at(e.from), at(e.to))),
            EventKind::Attempt { .. } => None,
        })
        .collect();
    let mut theirs = expected.executed;
    for list in [&mut executed, &mut theirs] {
        list.sort_by_key(|&(p, strand, from, to)| (from, p, to, strand));
    }
    for (ours, theirs) in executed.iter().zip(&theirs) {
        assert_eq!(ours, theirs, "{context}");
    }
    assert_eq!(executed.len(), theirs.len(), "{context}");
    assert_eq!(Some(Fraction::from(time)), expected.time, "{context}");
    let capacity = outcome.capacity;
    let part = |quanta: u128| Some(fraction(quanta as i128, capacity.instruction.into()));
    assert_eq!(part(capacity.idle), expected.idle, "{context}: idle");
    assert_eq!(part(capacity.stealing), expected.stealing, "{context}: stealing");
    assert_eq!(part(capacity.lost + capacity.migrations), expected.lost, "{context}: lost");
    let counts = |a, b, c, d| (a, b, c, d);
    assert_eq!(
        counts(outcome.steals, outcome.muggings, outcome.migrations, outcome.preemptions),
        counts(expected.steals, expected.muggings, expected.migrations, expected.preemptions),
        "{context}"
    );
    true
}

fn compare_many(runs: u64) {
    let (mut exact, mut seed) = (0, 0);
    while exact < runs {
        exact += u64::from(compare(seed));
        seed += 1;
    }
    assert!(seed * 95 / 100 <= runs, "only {runs} of {seed} runs were exact");
}

#[test]
fn ten_thousand_random_runs_agree_with_fractions() {
    compare_many(10_000);
}

/// Examples whose exact answers are known by hand.
#[test]
fn changes_take_effect_in_the_middle_of_an_instruction() {
    let time = |spec: &str, name: &str, speeds: &str| {
        let c = computation(spec);
        let outcome = Simulation::new(&c, scheduler(name)).speeds(speeds.parse().unwrap()).run().unwrap();
        (outcome.exact_time().unwrap().to_string(), outcome)
    };
    let (slow_then_fast, outcome) = time("chain:length=1,work=10", "work-stealing", "1/1000;1:p1=100");
    assert_eq!(slow_then_fast, "1.09999"); // 1/1000 in the first unit of time, then 9.999 at 100
    assert_eq!(outcome.capacity.idle, 0);
    assert_eq!(outcome.utilisation(), 1.0);
    for name in ["heterogeneous:1.5", "maximum-utilization"] {
        let (_, outcome) = time("fan:children=20,work=50", name, "1,1/2000;1:p2=100");
        assert!(outcome.time() < 15.0, "{name} takes {}", outcome.time());
        let capacity = outcome.capacity;
        assert_eq!(capacity.work + capacity.stealing + capacity.idle, capacity.total, "{name}");
        assert!(outcome.utilisation() <= 1.0);
    }
    let (stopped, _) = time("chain:length=1,work=4", "work-stealing", "2;1:p1=0;11:p1=2");
    assert_eq!(stopped, "12");
}

/// Whatever the speeds, no run is faster than the least time.
#[test]
fn no_run_falls_below_the_least_time() {
    let schedulers = ["work-stealing", "heterogeneous:1", "maximum-utilization", "critical-path", "fifo"];
    for seed in 0..100 {
        let mut dice = Dice(1_000_000 + seed);
        let c = random_computation(&mut dice);
        let processors = 1 + dice.below(4) as usize;
        let speeds = random_speeds(&mut dice, processors);
        let m = bombyx_dag::Measures::of(&c);
        let least = speeds.least_time(processors, m.work, m.span);
        for name in schedulers {
            let outcome = Simulation::new(&c, scheduler(name)).speeds(speeds.clone()).run().unwrap();
            assert!(
                outcome.time() >= least * (1.0 - 1e-12),
                "{name} at {speeds}: {} < {least}",
                outcome.time()
            );
        }
    }
}

/// HET's footnote 2: the root's processor stands still. Thieves at their own speed take the root away. Thieves at the
/// victim's speed wait for ever.
#[test]
fn a_stopped_root_holds_up_thieves_at_the_victims_speed() {
    let c = computation("fan:children=8,work=20");
    let speeds: Speeds = "4x1;1:p1=0".parse().unwrap();
    let simulation = Simulation::new(&c, scheduler("heterogeneous:2")).speeds(speeds).seed(1);
    let outcome = simulation.run().unwrap();
    assert!(outcome.muggings > 0 && outcome.time() < 100.0, "{}", outcome.time());
    for simulation in [simulation.clone().trace(), simulation] {
        let stuck = simulation.clone().steals_at_victims_speed().run();
        assert!(matches!(stuck, Err(SimulationError::Stuck { .. })), "{stuck:?}");
    }
}

/// Nobody can take the thread of a processor that stops for ever: that is an error, not an endless run.
#[test]
fn a_thread_that_stops_for_ever_is_reported() {
    let c = computation("fan:children=8,work=20");
    let speeds: Speeds = "4x1;1/2:p1=0".parse().unwrap();
    for name in ["work-stealing", "greedy", "busy-leaves", "fifo", "dfdeques:inf", "depth-first:inf"] {
        let simulation = Simulation::new(&c, scheduler(name)).speeds(speeds.clone());
        for simulation in [simulation.clone().trace(), simulation] {
            let stuck = simulation.run();
            assert!(matches!(stuck, Err(SimulationError::Stuck { .. })), "{name}: {stuck:?}");
        }
    }
    let speeds: Speeds = "2;1:p1=0".parse().unwrap();
    let c = computation("chain:length=1,work=1");
    assert!(Simulation::new(&c, scheduler("work-stealing")).speeds(speeds).run().is_ok());
}

/// Crashed processors lose their strands, other processors execute them again, for every scheduler.
#[test]
fn every_scheduler_survives_crashes() {
    let c = computation("random:threads=40,work=6,seed=4,memory=50");
    let work = bombyx_dag::Measures::of(&c).work;
    for scheduler in common::every_scheduler() {
        let clean = Simulation::new(&c, scheduler).processors(4).seed(2);
        // The processors that work at time 6 crash, and one never comes back.
        let speeds = (0..3)
            .fold(Speeds::equal(), |s, p| s.crash(6, ProcessorId(p)).change(12, ProcessorId(p), Ratio::ONE));
        let speeds = speeds.crash(20, ProcessorId(3));
        let crashed = clean.clone().speeds(speeds).trace();
        let outcome = crashed.run().unwrap_or_else(|e| panic!("{scheduler}: {e}"));
        let stepped = crashed.mode(bombyx_sim::Mode::Step).run().unwrap();
        assert_eq!(outcome.trace, stepped.trace, "{scheduler}");
        common::assert_legal(&c, &outcome, false);
        let ran =
            outcome.with_dummies.as_ref().map_or(work, |w| bombyx_dag::Measures::of(&w.computation).work);
        assert_eq!(outcome.dollars.work, ran, "{scheduler}");
        let capacity = outcome.capacity;
        assert_eq!(
            capacity.work + capacity.lost + capacity.stealing + capacity.idle,
            capacity.total,
            "{scheduler}"
        );
        assert_eq!(clean.run().unwrap().capacity.lost, 0, "{scheduler}");
    }
}
