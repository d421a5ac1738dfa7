//! `bombyx verify` as its users see it. The tests run the program and look at what it prints and writes.

mod common;

use common::bombyx;
use std::process::Output;

fn verify(arguments: &[&str]) -> Output {
    bombyx(&[&["verify"], arguments].concat())
}

fn succeeds(arguments: &[&str]) -> String {
    common::succeeds(&[&["verify"], arguments].concat())
}

#[test]
fn claims_hold_and_say_so() {
    let printed = succeeds(&["--quick", "--only", "bl-thm-1,bl-fig-2,lec-obs-8", "--seed", "5"]);
    assert_eq!(printed.lines().filter(|line| line.ends_with(" holds")).count(), 3, "{printed}");
    assert!(printed.contains("all 3 claims hold") && printed.contains("seed 5"), "{printed}");
}

#[test]
fn a_paper_stands_for_its_claims() {
    let printed = succeeds(&["--quick", "--only", "rw"]);
    assert!(printed.contains("rw-watch") && !printed.contains("bl-"), "{printed}");
}

#[test]
fn mutants_are_noticed() {
    let printed = succeeds(&["--mutate", "bl-lem-4,rw-thm-5-1"]);
    for expected in ["thieves take the newest thread: noticed", "smallest", "replay", "A.join runs twice"] {
        assert!(printed.contains(expected), "{expected}: {printed}");
    }
    assert!(printed.contains("bl-lem-4: ") && printed.contains(" mutants noticed"), "{printed}");
}

#[test]
fn the_table_shows_who_notices_whom() {
    let printed = succeeds(&["--table", "--only", "bl-lem-4,bl-thm-5"]);
    assert!(printed.contains("steal-newest: thieves take the newest thread"), "{printed}");
    assert!(printed.lines().any(|line| line.starts_with("bl-lem-4") && line.contains('●')), "{printed}");
}

#[test]
fn findings_as_json() {
    let path = std::env::temp_dir().join(format!("bombyx-verify-{}.json", std::process::id()));
    succeeds(&["--quick", "--only", "bl-lem-6-mean,lec-lem-3", "--json", "-o", path.to_str().unwrap()]);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let claims = value["claims"].as_array().unwrap();
    assert_eq!(claims.len(), 2);
    assert_eq!(claims[0]["id"], "bl-lem-6-mean");
    assert_eq!(claims[0]["holds"], true);
    assert!(
        claims[0]["worst"]["interval"][0].as_f64().unwrap() < claims[0]["worst"]["bound"].as_f64().unwrap()
    );
    assert!(claims[1]["mutants"][0]["noticed"].is_boolean());
}

#[test]
fn the_list_tells_scope_and_mutants() {
    let printed = succeeds(&["--list"]);
    for expected in
        ["bl-thm-13", "het-degradation", "scope:", "mutants:", "claims. `bombyx verify --only ID`"]
    {
        assert!(printed.contains(expected), "{expected}");
    }
    assert!(printed.lines().all(|line| line.chars().count() <= 140), "a line is too long");
}

#[test]
fn pictures_are_drawn() {
    let path = std::env::temp_dir().join(format!("bombyx-delay-{}.svg", std::process::id()));
    let printed = succeeds(&["--explain", "delay-sequence", "--output", path.to_str().unwrap()]);
    let svg = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(svg.starts_with("<svg") && printed.contains("The path U has"), "{printed}");
    succeeds(&["--explain", "recycling-game", "--output", path.to_str().unwrap()]);
    let svg = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(svg.contains("favourite"));
}

#[test]
fn mistakes_are_explained() {
    let output = verify(&["--only", "thm-13"]);
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("there is no claim `thm-13`; did you mean `bl-thm-13`"), "{error}");
    assert!(output.stdout.is_empty());
    let output = verify(&["--explain", "everything"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("delay-sequence"));
}
