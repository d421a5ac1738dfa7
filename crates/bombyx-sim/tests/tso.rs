//! The read-write protocol holds on every machine small enough to explore in seconds, and every mutation meets its
//! fate. Larger machines: the `tso` example.

use bombyx_sim::tso::{
    Ask, Config, FIGURE_1, Fate, LOST_JOIN, Mutation, Outcome, Rule, ScriptError, Tree, Violation, explore,
    follow, walk,
};

fn run(config: &Config) -> Outcome {
    explore(config, |_| {}).unwrap()
}

fn config(processors: usize, tree: &str) -> Config {
    Config::new(processors, tree.parse().unwrap())
}

/// The mutations under which the machine stays finite: rounds become ranks only while they keep their order.
fn finite() -> impl Iterator<Item = Mutation> {
    let endless = [Mutation::ForgedRound, Mutation::RepeatsRound, Mutation::FutureQuery];
    Mutation::ALL.iter().copied().filter(move |m| !endless.contains(m))
}

fn assert_holds(config: &Config) -> Outcome {
    let outcome = run(config);
    if let Some(found) = outcome.counterexample() {
        panic!("{} on {} processors:\n{found}", config.tree, config.processors);
    }
    assert!(outcome.holds(), "{} on {} processors: incomplete", config.tree, config.processors);
    outcome
}

#[test]
fn two_processors_hold_even_with_unbounded_buffers() {
    for tree in (0..=2).flat_map(Tree::all).chain(["((. .) (. .))".parse().unwrap()]) {
        let stats = assert_holds(&Config::new(2, tree).with_capacity(16)).stats;
        assert!(stats.longest_buffer < 16, "a buffer was full, so the bound matters");
        assert_eq!(stats.exits, 1);
    }
}

#[test]
fn three_processors_hold() {
    assert_holds(&config(3, ".").with_capacity(1));
}

#[test]
fn buffers_of_any_capacity_give_the_same_answer() {
    for capacity in 1..=4 {
        assert_holds(&config(2, "((. .) .)").with_capacity(capacity));
    }
}

#[test]
fn an_open_join_is_one_join_with_two_entries() {
    let stats = assert_holds(&config(2, "(. .)")).stats;
    assert_eq!((stats.watched_joins, stats.watched_entries), (1, 2));
}

#[test]
fn caught_mutations_have_counterexamples() {
    for &mutation in Mutation::ALL {
        // Found by walking below; exploring takes some hundred thousand states.
        let far = [Mutation::NoTransfer, Mutation::KeepsTransferred, Mutation::DropsTransferred];
        if far.contains(&mutation) {
            continue;
        }
        if let Fate::Caught(config) = Fate::of(mutation) {
            let outcome = run(&config);
            let found = outcome.counterexample().unwrap_or_else(|| panic!("{mutation} is not caught"));
            let endless = matches!(
                found.violation,
                Violation::Livelock | Violation::QueryUnanswered { .. } | Violation::JoinUnanswered { .. }
            );
            assert_eq!(endless, !found.cycle.is_empty(), "{mutation}");
            assert!(!found.steps.is_empty(), "{mutation}");
        }
    }
}

#[test]
fn harmless_mutations_break_nothing() {
    for mutation in [Mutation::NoAcceptTest, Mutation::AnyTop] {
        let Fate::Harmless { shown_on, .. } = Fate::of(mutation) else { panic!("{mutation} is caught") };
        assert_holds(&shown_on);
    }
}

#[test]
fn the_proof_holds() {
    for tree in (0..=2).flat_map(Tree::all).chain(["((. .) (. .))".parse().unwrap()]) {
        assert_holds(&Config { proof: true, application: true, ..Config::new(2, tree).with_capacity(16) });
    }
    assert_holds(&Config { proof: true, symmetry: true, ..config(3, ".").with_capacity(1) });
}

#[test]
fn the_proof_holds_in_random_runs() {
    for (processors, capacity) in [(3, 2), (4, 3), (6, 4)] {
        let tree = "(((. .) (. .)) ((. .) (. (. .))))";
        let config =
            Config { proof: true, application: true, ..config(processors, tree).with_capacity(capacity) };
        if let Some((seed, found)) = walk(&config, 3, 40, 1_000_000).unwrap().broken {
            panic!("{processors} processors, seed {seed}:\n{found}");
        }
    }
}

#[test]
fn watch_lists_that_stay_or_get_lost_are_found_by_walking() {
    for mutation in [Mutation::KeepsTransferred, Mutation::DropsTransferred] {
        let config = Config { proof: true, ..config(3, "(. (. .))").with_mutation(mutation) };
        let (_, found) = walk(&config, 1, 2_000, 100_000).unwrap().broken.expect("the mutation shows");
        assert!(matches!(found.violation, Violation::Proof { .. }), "{found}");
    }
}

#[test]
fn symmetry_changes_no_answer() {
    let whole = Config { liveness: false, ..config(3, ".").with_capacity(1) };
    let reduced = Config { symmetry: true, ..whole.clone() };
    let (one, other) = (assert_holds(&whole), assert_holds(&reduced));
    assert!(other.stats.states * 3 < one.stats.states * 2, "{} of {}", other.stats.states, one.stats.states);
    for mutation in [Mutation::NoSelfBlock, Mutation::NoResend, Mutation::NoClear, Mutation::BlockRoundFirst]
    {
        let [one, other] = [&whole, &reduced].map(|c| run(&c.clone().with_mutation(mutation)));
        assert_eq!(one.holds(), other.holds(), "{mutation}");
    }
}

#[test]
fn fences_and_counters_are_steps_of_the_machine() {
    let plain = assert_holds(&config(2, "((. .) (. .))"));
    let fenced = assert_holds(&Config { fences: true, ..config(2, "((. .) (. .))") });
    assert!(fenced.stats.states < plain.stats.states, "fences leave fewer interleavings");
    let counted =
        Config { joins: bombyx_rw::Joins::FetchAdd, application: true, ..config(2, "((. .) (. .))") };
    assert_holds(&counted);
}

#[test]
fn every_mutation_that_only_the_proof_sees_names_its_rule() {
    let rule_of = |mutation, rule| {
        let config = Config { proof: true, ask: Ask::Rule(rule), ..config(2, "(. .)").with_capacity(4) };
        run(&config.with_mutation(mutation)).counterexample().map(|found| found.violation.clone())
    };
    for (mutation, rule) in [
        (Mutation::NoAccept, Rule::Ia2),
        (Mutation::ForgedRound, Rule::Ir1),
        (Mutation::KeepsEnded, Rule::Rc2),
    ] {
        assert!(
            matches!(rule_of(mutation, rule), Some(Violation::Proof { rule: found, .. }) if found == rule),
            "{mutation}"
        );
    }
}

#[test]
fn a_lost_watch_list_is_found_by_walking() {
    let config = config(3, "(. (. .))").with_mutation(Mutation::NoTransfer);
    let (seed, found) = walk(&config, 1, 2_000, 100_000).unwrap().broken.expect("the mutation shows");
    assert!(matches!(found.violation, Violation::Unwatched(_)), "seed {seed}: {found}");
}

/// RW §4.3 says that it does not matter where `communicate` is called.
#[test]
fn polling_between_threads_loses_a_join() {
    let config = Config { ask: Ask::Threads, ..config(4, "((. .) (. .))") };
    let wrong = config.clone().with_mutation(Mutation::PollBetweenThreads);
    let run = follow(&wrong, LOST_JOIN).unwrap();
    assert_eq!(run.broken, Some(Violation::Lost("A.join".to_owned())), "{:#?}", run.steps);
    // The published protocol does not poll there.
    assert!(matches!(follow(&config, LOST_JOIN), Err(ScriptError::Move(..))));
}

/// RW Figure 1: processor k runs both joins, and gets processor i's watch list with the first.
#[test]
fn figure_1_runs_as_drawn() {
    let run = follow(&config(3, "((. .) .)"), FIGURE_1).unwrap();
    assert!(run.exited && run.broken.is_none(), "{:#?}", run.broken);
    let says = |p, text: &str| run.steps.iter().any(|s| s.processor == p && s.text.contains(text));
    assert!(says(1, "takes A.right") && says(2, "takes B.right"));
    assert!(says(0, "TRANSFER [{A.join, LEFT}]") && says(2, "runs B.join") && says(2, "runs A.join"));
}

#[test]
fn reduction_changes_no_answer() {
    let machines =
        [config(2, "((. .) .)"), config(2, "(. (. .))").with_capacity(4), config(3, ".").with_capacity(1)];
    for whole in machines {
        let whole = Config { ask: Ask::Threads, liveness: false, ..whole };
        let reduced = Config { reduce: true, ..whole.clone() };
        let (one, other) = (assert_holds(&whole), assert_holds(&reduced));
        assert!(other.stats.states < one.stats.states, "{} of {}", other.stats.states, one.stats.states);
        assert_eq!(one.stats.exits, other.stats.exits);
    }
}

fn reduced(processors: usize, tree: &str) -> Config {
    Config { symmetry: true, reduce: true, ..config(processors, tree) }
}

#[test]
fn three_and_four_processors_hold_with_unbounded_buffers() {
    for (processors, tree) in [(3, "((. .) .)"), (3, "(. (. .))"), (3, "(. . (. .))"), (4, "(. .)")] {
        let stats = assert_holds(&Config { application: true, ..reduced(processors, tree) }).stats;
        assert!(stats.longest_buffer < 16 && stats.exits == 1, "{stats:?}");
    }
    assert_eq!(assert_holds(&reduced(4, "((. .) (. .))")).stats.watched_joins, 3);
}

#[test]
fn reduced_machines_find_errors_of_joins() {
    for mutation in
        [Mutation::TieToBoth, Mutation::TieToNone, Mutation::EarlyAck, Mutation::TakesAcknowledged]
    {
        let found = run(&Config { ask: Ask::Threads, ..reduced(4, "(. .)") }.with_mutation(mutation));
        assert!(found.counterexample().is_some(), "{mutation}");
    }
    let between = reduced(4, "((. .) (. .))").with_mutation(Mutation::PollBetweenThreads);
    let outcome = run(&Config { ask: Ask::Threads, ..between });
    assert!(matches!(outcome.counterexample().unwrap().violation, Violation::Lost(_)));
}

#[test]
fn watch_lists_are_too_long_if_entries_stay() {
    for mutation in [Mutation::NoRemoval, Mutation::NoRemovalAfterAck, Mutation::TransfersItself] {
        let config = Config { ask: Ask::WatchLists, ..reduced(2, "(. . (. .))") }.with_mutation(mutation);
        let outcome = run(&config);
        assert!(
            matches!(outcome.counterexample().unwrap().violation, Violation::WatchLists { .. }),
            "{mutation}"
        );
    }
}

#[test]
fn merging_stores_changes_no_answer() {
    let mutated = finite().map(|m| Config { max_states: 20_000, ..config(2, "(. .)").with_mutation(m) });
    for merged in mutated.chain([config(2, "(. (. .))"), config(2, "((. .) .)")]) {
        let separate = Config { merge_stores: false, ..merged.clone() };
        let (one, other) = (run(&merged), run(&separate));
        assert_eq!(one.holds(), other.holds(), "{merged:?}");
        if one.holds() {
            assert!(one.stats.states < other.stats.states, "{merged:?}");
        }
    }
}

#[test]
fn the_shortest_tie_for_both_reads_like_this() {
    let outcome = run(&config(2, "(. .)").with_mutation(Mutation::TieToBoth));
    let expected = "\
   1  p0  line  45  main forks
   2  p0  line  43  runs A.left
   3  p1  line  70  writes received[1] = NULL
   4  p1     flush  received[1] = NULL
   5  p1  line  73  chooses victim 0, reads round[0]: 1
   6  p1  line  75  reads in_query[0]: (0, round 0), 0 accepts queries
   7  p1  line  77  writes in_query[0] = (1, round 1)
   8  p1     flush  in_query[0] = (1, round 1)
   9  p0  line  94  polls, reads in_query[0]: (1, round 1), gives A.right
  10  p0  line 103  writes received[1] = A.right
  11  p0  line 104  writes round[0] = 2
  12  p0     flush  received[1] = A.right (1 more buffered)
  13  p0     flush  round[0] = 2
  14  p0  line  67  A.left ends, resolves {A.join, LEFT}
  15  p0  line 117  reads its own status of A.join: WORK
  16  p0  line 120  writes status of {A.join, LEFT} = READY
  17  p0     flush  status of {A.join, LEFT} = READY
  18  p1  line  78  reads round[0]: 2, the attempt is over
  19  p1  line  84  reads received[1]: takes A.right, watches its join
  20  p1  line  88  writes round[1] = 2
  21  p1  line  43  runs A.right
  22  p1     flush  round[1] = 2
  23  p1  line  67  A.right ends, resolves {A.join, RIGHT}
  24  p1  line 117  reads its own status of A.join: WORK
  25  p1  line 120  writes status of {A.join, RIGHT} = READY
  26  p1     flush  status of {A.join, RIGHT} = READY
  27  p0  line 122  reads the other status of A.join: READY
  28  p0  line 124  reads the other status of A.join: READY, takes the join
  29  p0  line  43  runs A.join
  30  p1  line 122  reads the other status of A.join: READY
  31  p1  line 124  reads the other status of A.join: READY, takes the join
  32  p1  line  43  runs A.join
      => A.join runs twice";
    let found = outcome.counterexample().unwrap().to_string();
    assert_eq!(
        found.lines().map(str::trim).collect::<Vec<_>>(),
        expected.lines().map(str::trim).collect::<Vec<_>>()
    );
}

#[test]
fn exploring_twice_gives_the_same() {
    let config = config(3, ".").with_mutation(Mutation::NoSelfBlock);
    assert_eq!(run(&config), run(&config));
}

#[test]
fn random_runs_of_larger_machines_hold() {
    for (processors, capacity) in [(4, 2), (6, 4), (8, 8)] {
        let config = config(processors, "(((. .) (. .)) ((. .) (. (. .))))").with_capacity(capacity);
        let outcome = walk(&config, 7, 12, 1_000_000).unwrap();
        if let Some((seed, found)) = outcome.broken {
            panic!("{processors} processors, seed {seed}:\n{found}");
        }
        assert!(outcome.steals > 12, "only {} steals", outcome.steals);
        assert!((outcome.watched_joins as usize) < processors);
    }
}

#[test]
fn random_runs_find_what_exploring_finds() {
    for mutation in
        [Mutation::TieToBoth, Mutation::NoClear, Mutation::NoRoundCheck, Mutation::RoundBeforeHandOut]
    {
        let config = config(3, "((. .) (. .))").with_mutation(mutation);
        assert!(walk(&config, 1, 2_000, 100_000).unwrap().broken.is_some(), "{mutation}");
    }
}

#[test]
fn impossible_machines_are_refused_with_a_reason() {
    let refuse = |config: &Config| explore(config, |_| {}).unwrap_err().to_string();
    assert_eq!(refuse(&config(1, ".")), "1 processors asked for; choose 2 to 4");
    assert_eq!(refuse(&config(2, ".").with_capacity(0)), "0 store buffer entries asked for; choose 1 to 16");
}
