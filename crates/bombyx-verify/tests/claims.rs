//! Every claim holds on small cases, and every mutation is caught.

use bombyx_verify::{Effort, News, Plan, Variant, claim, claims, verify};
use std::collections::BTreeSet;

fn quick(seed: u64, variant: Variant) -> Plan {
    Plan { effort: Effort::Quick, seed, variant }
}

#[test]
fn all_claims_hold() {
    for claim in claims() {
        let finding = claim.check(quick(1, Variant::Faithful));
        assert!(finding.holds(), "{}: {:?}", claim.id, finding.counterexample);
        assert!(finding.tried.runs > 0 && finding.worst.is_some(), "{} tried nothing", claim.id);
    }
}

#[test]
fn all_mutations_are_caught() {
    for claim in claims() {
        let finding = claim.check(quick(1, Variant::Mutated));
        let broken = finding
            .counterexample
            .unwrap_or_else(|| panic!("{}: {} is not caught", claim.id, claim.mutation));
        assert!(!broken.text.is_empty() && broken.replay.contains(claim.id), "{}: {broken:?}", claim.id);
    }
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
        assert!(
            !claim.scope.is_empty() && !claim.mutation.is_empty() && !claim.quantity.is_empty(),
            "{}",
            claim.id
        );
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
    let plan = quick(3, Variant::Faithful);
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
    let finding = claim("bl-lem-4").unwrap().check(quick(1, Variant::Mutated));
    let broken = finding.counterexample.unwrap();
    assert!(broken.run.contains("P = 2") && broken.run != broken.found, "{broken:?}");
}
