//! What the claims' scopes say does not hold indeed does not hold.

use bombyx_dag::{Augmented, Class, Computation, Measures, generate::Spec};
use bombyx_sim::{Contention, Invariant, Mode, Quota, Ready, Scheduler, Simulation};
use bombyx_verify::delay::{DelaySequence, Edges, History};
use bombyx_verify::game::{Game, Service, Strategy, Toss};

fn computation(spec: &str) -> Computation {
    spec.parse::<Spec>().unwrap().build().unwrap()
}

/// How many of this many random runs on fully strict computations that are not nested-parallel break an invariant.
fn broken(invariant: Invariant, seeds: u64) -> usize {
    let breaks = |seed: &u64| {
        let c = computation(&format!("random:threads=60,join=60,work=1,seed={seed}"));
        assert_eq!(c.class(), Class::FullyStrict);
        let simulation = Simulation::new(&c, Scheduler::WorkStealing).processors(4).seed(*seed);
        simulation.mode(Mode::Step).check(invariant).run().is_err()
    };
    (0..seeds).filter(breaks).count()
}

#[test]
fn the_lectures_lemmas_need_cilks_joins() {
    assert!(broken(Invariant::DepthLemma, 20) > 0, "the depth lemma was never broken");
    assert!(broken(Invariant::Proposition7, 40) > 0, "Proposition 7 was never broken");
    assert_eq!(broken(Invariant::Lemma4, 20), 0);
    assert_eq!(broken(Invariant::Lemma10, 20), 0);
}

#[test]
fn deque_edges_more_than_double_paths_of_heavy_strands() {
    let c = computation("chain:length=20,work=100");
    assert!(Augmented::of(&c).span() > 2 * Measures::of(&c).span);
}

#[test]
fn an_instruction_may_have_three_edges_in_the_augmented_dag() {
    let c = computation("fan:children=3,work=1");
    let edges = |s| {
        let deque = Augmented::of(&c).deque_edge(s);
        c.spawned(s).into_iter().chain(c.next(s)).chain(deque).chain(c.joins_from(s).iter().copied()).count()
    };
    assert_eq!(c.strands().map(edges).max(), Some(3));
}

/// HET §2: the bound on migrations is for constant speeds.
#[test]
fn changing_speeds_migrate_more_often() {
    let c = computation("chain:length=1,work=200");
    let changes: String = (1..100).map(|n| format!(";{n}:p1={};{n}:p2={}", 1 + n % 2, 2 - n % 2)).collect();
    let speeds = format!("1,2{changes}").parse().unwrap();
    let outcome = Simulation::new(&c, Scheduler::MaximumUtilization).speeds(speeds).run().unwrap();
    assert!(outcome.migrations > 2 * c.strand_count() as u64, "{} migrations", outcome.migrations);
}

/// DFD Lemma 3.1 is said to hold for nested-parallel "(or fully strict)" computations. It does not for the latter.
#[test]
fn the_order_of_deques_needs_nested_parallelism() {
    let quotas = [Quota::of(100), Quota::of(500), Quota::Infinite];
    let breaks = |&seed: &u64| {
        let c = computation(&format!("random:threads=60,join=60,work=1,memory=20,frame=0,seed={seed}"));
        assert_eq!(c.class(), Class::FullyStrict);
        quotas.iter().any(|&quota| {
            let simulation = Simulation::new(&c, Scheduler::Dfdeques(quota)).processors(4).seed(seed);
            simulation
                .contention(Contention::Denied)
                .mode(Mode::Step)
                .check(Invariant::Lemma31)
                .run()
                .is_err()
        })
    };
    assert!((0..60).filter(breaks).count() > 0, "Lemma 3.1 was never broken");
}

/// BL §5, inequality (3): an adversary that knows where balls lie tosses ball 1 only when two given others share a bin.
/// Then both delay it with chance 1/P, not 1/P². The mean of Lemma 6 still holds.
#[test]
fn an_ambush_breaks_inequality_3() {
    let (balls, games) = (8, 3_000);
    let (mut both, mut delay, mut cycles) = (0, 0, 0);
    for seed in 0..games {
        let game = Game {
            balls,
            tosses: 4_000,
            strategy: Strategy::Ambush,
            seed,
            toss: Toss::Any,
            service: Service::Fifo,
        };
        let played = game.play();
        delay += played.delay();
        if let Some(first) = played.ahead.first() {
            cycles += 1;
            both += usize::from(first.contains(&1) && first.contains(&2));
        }
    }
    let chance = both as f64 / cycles as f64;
    assert!(cycles > games as usize / 2, "ball 1 was tossed in {cycles} games only");
    assert!(chance > 3.0 / (balls * balls) as f64, "both delay it in {chance} of the games");
    assert!(delay < games * 4_000);
}

/// LEC Example 1: with the edges of G alone, an instruction without unexecuted predecessors may lie below another thread.
#[test]
fn proposition_7_needs_deque_edges() {
    let c = computation("chain:length=4,work=2");
    let mut buried = 0;
    let simulation = Simulation::new(&c, Scheduler::WorkStealing).processors(1).mode(Mode::Step);
    let watched = simulation.watch(|_, ready| {
        let Ready::Deques(deques) = ready else { return };
        // What is in a deque is ready: nothing before it in G is left. All but the top lie below another thread.
        buried += deques.iter().map(|deque| deque.threads.len().saturating_sub(1)).sum::<usize>();
    });
    watched.unwrap();
    assert!(buried > 0, "no ready thread lay below another");
}

/// LEC Lemma 21, note: a delay sequence of R rounds does not imply 2P(2T∞ + R) attempts.
#[test]
fn the_converse_of_lemma_21_fails() {
    let c = computation("figure1");
    let found = (0..50).any(|seed| {
        let simulation = Simulation::new(&c, Scheduler::WorkStealing).processors(2).seed(seed);
        let outcome = simulation.trace().run().unwrap();
        let history = History::of(&c, &outcome).unwrap();
        let rounds: u64 = DelaySequence::of(&history, 2, Edges::Augmented).within.iter().sum();
        rounds > 0 && (history.attempts() as u64) < 2 * 2 * (2 * Measures::of(&c).span + rounds)
    });
    assert!(found);
}

/// LEC Observation 19: an executing thread need not be critical; the last instruction is when it executes.
#[test]
fn executing_is_not_critical() {
    let c = computation("fan:children=4,work=1");
    let outcome = Simulation::new(&c, Scheduler::WorkStealing).processors(1).trace().run().unwrap();
    let history = History::of(&c, &outcome).unwrap();
    assert!(c.strands().any(|s| history.critical(s).is_none()));
    let last = history.critical(c.last_strand(c.root())).unwrap();
    assert_eq!(*last.end(), history.steps());
}

/// BL Lemma 4, the remark after it: the topmost thread of a deque may have been worked on since it spawned.
#[test]
fn a_top_thread_may_have_been_worked_on() {
    let shown = (0..200).any(|seed| {
        let c = computation(&format!("random:threads=30,join=60,work=1,seed={seed}"));
        let mut shown = false;
        let simulation =
            Simulation::new(&c, Scheduler::WorkStealing).processors(3).seed(seed).mode(Mode::Step);
        let watched = simulation.watch(|m, ready| {
            let Ready::Deques(deques) = ready else { return };
            for deque in deques.iter().filter(|deque| deque.threads.len() > 1) {
                let (top, below) =
                    (deque.threads[deque.threads.len() - 1], deque.threads[deque.threads.len() - 2]);
                let after_spawn = c.spawner(below).and_then(|spawner| c.next(spawner));
                shown |= m.next_strand(top) != after_spawn;
            }
        });
        watched.unwrap();
        shown
    });
    assert!(shown, "no deque had a top thread that was worked on");
}

/// BL §3: not every computation has a schedule that keeps its leaves busy. The root spawns A and then B, and A's second
/// instruction waits for B. One processor cannot execute it depth first, so the builder refuses it; here all schedules of
/// up to three processors are tried by hand.
#[test]
fn a_computation_without_busy_leaves() {
    // Instructions: 0, 1, 2, 3 of the root (0 spawns A, 1 spawns B), 4, 5 of A, 6 of B.
    const PREDECESSORS: [&[usize]; 7] = [&[], &[0], &[1], &[2, 5, 6], &[0], &[4, 6], &[1]];
    const THREADS: [&[usize]; 3] = [&[0, 1, 2, 3], &[4, 5], &[6]];
    const SPAWNED_BY: [Option<usize>; 3] = [None, Some(0), Some(1)];
    fn keeps_leaves_busy(done: u8, processors: usize) -> bool {
        if done == 0x7F {
            return true;
        }
        let is_done = |i: &usize| done >> i & 1 == 1;
        let ready: Vec<usize> =
            (0..7).filter(|i| !is_done(i) && PREDECESSORS[*i].iter().all(is_done)).collect();
        let living = |t: usize| SPAWNED_BY[t].is_none_or(|s| is_done(&s)) && !THREADS[t].iter().all(is_done);
        let leaf = |t: usize| living(t) && (t > 0 || !living(1) && !living(2));
        (1_usize..1 << ready.len()).filter(|set| set.count_ones() as usize <= processors).any(|set| {
            let step: Vec<usize> = (0..ready.len()).filter(|n| set >> n & 1 == 1).map(|n| ready[n]).collect();
            let busy = (0..3).filter(|&t| leaf(t)).all(|t| THREADS[t].iter().any(|i| step.contains(i)));
            busy && keeps_leaves_busy(step.iter().fold(done, |done, i| done | 1 << i), processors)
        })
    }
    assert!((1..=3).all(|processors| !keeps_leaves_busy(0, processors)));
    let mut draft = bombyx_dag::Draft::new();
    let (root, a, b) = (draft.thread(1), draft.thread(1), draft.thread(1));
    let of_root = [1, 1, 1, 1].map(|weight| draft.strand(root, weight));
    let (of_a, of_b) = ([1, 1].map(|weight| draft.strand(a, weight)), draft.strand(b, 1));
    draft.spawn(of_root[0], a);
    draft.spawn(of_root[1], b);
    draft.join(of_b, of_a[1]);
    draft.join(of_a[1], of_root[3]);
    draft.join(of_b, of_root[3]);
    assert!(draft.build().unwrap_err().to_string().contains("depth first"));
}
