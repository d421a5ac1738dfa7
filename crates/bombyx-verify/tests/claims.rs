//! Every claim holds on small cases, and notices wrong schedulers.

use bombyx_sim::Mutation;
use bombyx_sim::tso::{self, Ask, Config, Rule, Violation, walk};
use bombyx_verify::rw::parts::PARTS;
use bombyx_verify::{Effort, Mutant, News, Plan, claim, claims, verify};
use std::collections::BTreeSet;
use std::panic::catch_unwind;

fn quick(seed: u64) -> Plan {
    Plan { effort: Effort::Quick, seed, mutant: None }
}

#[test]
fn all_claims_hold() {
    for claim in claims() {
        let finding = claim.check(quick(1));
        assert!(finding.holds(), "{}: {:?}", claim.id, finding.counterexample);
        assert!(finding.tried.runs > 0 && finding.worst.is_some(), "{} tried nothing", claim.id);
    }
}

#[test]
fn all_claims_notice_wrong_schedulers() {
    notice_wrong_schedulers(1);
}

/// What is noticed does not depend on one seed.
#[test]
fn all_claims_notice_wrong_schedulers_with_another_seed() {
    notice_wrong_schedulers(4);
}

fn notice_wrong_schedulers(seed: u64) {
    for claim in claims() {
        let finding = claim.judge(quick(seed), &|_, _| {});
        assert_eq!(finding.mutants.len(), claim.mutants.len(), "{}", claim.id);
        let missed: Vec<String> =
            finding.mutants.iter().filter(|n| n.by.is_none()).map(|n| n.mutant.to_string()).collect();
        let enough = finding.noticed() >= 3 || !claim.few.is_empty();
        assert!(enough, "{} notices {} only, not {missed:?}", claim.id, finding.noticed());
    }
}

#[test]
fn every_part_of_the_proof_notices_each_of_its_errors() {
    let mut missed = Vec::new();
    for claim in claims().filter(|claim| claim.scope.starts_with("Every transition, flushes included")) {
        for &mutant in claim.mutants {
            if claim.check(Plan { mutant: Some(mutant), ..quick(1) }).holds() {
                missed.push(format!("{} does not notice {mutant}", claim.id));
            }
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

/// Parts of the proof with fewer than three errors say that no other error was seen to break them. So none is seen here, in
/// random runs on two processors.
#[test]
fn parts_that_notice_few_errors_list_them_all() {
    let parts = [
        ("rw-lem-5-2-fork", Rule::Fork),
        ("rw-lem-5-2-step", Rule::Step),
        ("rw-lem-b-1", Rule::B1),
        ("rw-rt1", Rule::Rt1),
        ("rw-rc2", Rule::Rc2),
        ("rw-ir1", Rule::Ir1),
        ("rw-iq1", Rule::Iq1),
        ("rw-ij1", Rule::Ij1),
        ("rw-ij7", Rule::Ij7),
    ];
    let few: Vec<_> = claims().filter(|claim| claim.few.starts_with("it speaks of")).map(|c| c.id).collect();
    assert_eq!(few, parts.map(|(id, _)| id));
    let mut unlisted = Vec::new();
    for (id, rule) in parts {
        let listed = |m: tso::Mutation| claim(id).unwrap().mutants.contains(&Mutant::Protocol(m));
        for &mutation in tso::Mutation::ALL.iter().filter(|m| !listed(**m)) {
            for (seed, tree) in (0..6).zip(["((. .) (. .))", "((. .) .)"].iter().cycle()) {
                let config = Config::new(2, tree.parse().unwrap()).with_capacity(9).with_mutation(mutation);
                let config = Config { proof: true, application: true, ask: Ask::Rule(rule), ..config };
                // Nothing stops a run that is wrong otherwise, so it may come where the program must not: that says nothing.
                let run = catch_unwind(|| walk(&config, seed, 1, 1_000).unwrap().broken);
                if let Ok(Some((_, found))) = run
                    && matches!(found.violation, Violation::Proof { .. })
                {
                    unlisted.push(format!("{id} notices {mutation}: {}", found.violation));
                    break;
                }
            }
        }
    }
    assert!(unlisted.is_empty(), "{unlisted:#?}");
}

/// Every part of the proof says something that no other part says, or follows from others.
#[test]
fn every_part_of_the_proof_notices_an_error_alone() {
    let rules: Vec<_> = PARTS.iter().map(|part| part.rule).collect();
    assert_eq!(rules, Rule::ALL, "each part once");
    let not: Vec<_> = PARTS.iter().filter(|part| !part.is_shown()).map(|part| part.rule.name()).collect();
    assert!(not.is_empty(), "not shown: {not:?}");
    let follow = PARTS.iter().filter(|part| part.noticed().is_none()).count();
    assert_eq!(follow, 3, "all others have an error of their own");
}

#[test]
fn the_table_is_complete_and_readable() {
    let ids: BTreeSet<&str> = claims().map(|claim| claim.id).collect();
    assert_eq!(ids.len(), claims().count(), "two claims have one id");
    assert!(ids.len() >= 30, "only {} claims", ids.len());
    for claim in claims() {
        let paper = claim.paper.to_string().to_lowercase();
        assert!(claim.id.starts_with(&format!("{paper}-")), "{} is not of {paper}", claim.id);
        assert!(claim.statement.chars().count() <= 110, "{}: the statement is too long for a line", claim.id);
        assert!(!claim.scope.is_empty() && !claim.quantity.is_empty(), "{}", claim.id);
    }
    for id in ["bl-thm-1", "bl-fig-2", "lec-lem-24", "dfd-lem-3-1", "rw-watch", "het-degradation"] {
        assert_eq!(claim(id).unwrap().id, id);
    }
    assert!(claim("bl-thm-99").is_none());
}

#[test]
fn findings_do_not_depend_on_threads() {
    let some: Vec<_> =
        ["bl-lem-6-mean", "lec-thm-17", "dfd-k-inf", "het-thm-2"].map(|id| claim(id).unwrap()).into();
    let plan = quick(3);
    let mut told = Vec::new();
    let one = verify(&some, plan, 1, |_| {});
    let three = verify(&some, plan, 3, |news| {
        if let News::Found { claim, .. } = news {
            told.push(claim.id);
        }
    });
    assert_eq!(one, three);
    assert_eq!(told, ["bl-lem-6-mean", "lec-thm-17", "dfd-k-inf", "het-thm-2"]);
}

#[test]
fn counterexamples_are_made_smaller() {
    let newest = Mutant::Scheduler(Mutation::StealBottom);
    let finding = claim("bl-lem-4").unwrap().check(Plan { mutant: Some(newest), ..quick(1) });
    let broken = finding.counterexample.unwrap();
    assert!(broken.run.contains("P = 2") && broken.run != broken.found, "{broken:?}");
}

/// For every error of the protocols, `verify --mutate` has a claim that shows it.
#[test]
fn every_error_of_the_protocols_belongs_to_a_claim() {
    let tried: BTreeSet<String> =
        claims().flat_map(|claim| claim.mutants).map(std::string::ToString::to_string).collect();
    let missing: Vec<String> = bombyx_sim::tso::Mutation::ALL
        .iter()
        .map(std::string::ToString::to_string)
        .filter(|mutation| !tried.contains(mutation))
        .collect();
    assert!(missing.is_empty(), "no claim tries {missing:?}");
}
