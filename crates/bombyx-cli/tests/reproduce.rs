//! `bombyx reproduce` as its users see it, on small inputs: what is printed and written, never how long it takes.

mod common;

use common::{Folder, refused, succeeds};

#[test]
fn the_list_has_every_paper() {
    let list = succeeds(&["reproduce"]);
    for id in ["bl-figure-2", "dfd-figure-1 ", "dfd-figure-14", "rw-table-1", "rw-figure-10", "het-speeds"] {
        assert!(list.contains(id), "{id}: {list}");
    }
}

#[test]
fn one_exhibit_prints_and_writes() {
    let folder = Folder::new("reproduce-one");
    let printed = succeeds(&["reproduce", "bl-figure-2", "--quick", "-o", folder.0.to_str().unwrap()]);
    assert!(printed.contains("14 of 14 steps are the paper's"), "{printed}");
    assert!(printed.contains("Agrees: ") && printed.contains("Differs: "), "{printed}");
    assert_eq!(folder.names(), ["bl-figure-2.svg", "bl-figure-2.txt"]);
}

#[test]
fn everything_can_be_reproduced_quickly() {
    let folder = Folder::new("reproduce-all");
    let printed = succeeds(&["reproduce", "all", "--quick", "--json", "-o", folder.0.to_str().unwrap()]);
    let documents: serde_json::Value = serde_json::from_str(&printed).expect("it is JSON");
    let documents = documents["exhibits"].as_array().expect("a list");
    assert_eq!(documents.len(), 23);
    for exhibit in documents {
        for table in exhibit["tables"].as_array().expect("tables") {
            let headings = table["headings"].as_array().expect("headings").len();
            let rows = table["rows"].as_array().expect("rows");
            assert!(!rows.is_empty(), "{}: an empty table", exhibit["id"]);
            assert!(rows.iter().all(|row| row.as_array().is_some_and(|row| row.len() == headings)));
        }
        let text = std::fs::read_to_string(folder.file(&format!("{}.txt", exhibit["id"].as_str().unwrap())));
        let text = text.expect("a text");
        // Those that only simulate, and those of RW, whose pool is not the runtime that counts its memory.
        let measures_nothing = [
            "bl-figure-2",
            "dfd-figure-2",
            "dfd-figure-3",
            "dfd-figure-4",
            "dfd-figure-6",
            "dfd-figure-7",
            "dfd-figure-13",
            "dfd-locality",
            "het-speeds",
            "het-beta",
            "rw-table-1",
            "rw-table-2",
            "rw-figure-8",
            "rw-figure-9",
            "rw-figure-10",
        ]
        .contains(&exhibit["id"].as_str().unwrap());
        assert_ne!(
            text.contains("\nheap, RSS: peaks"),
            measures_nothing,
            "{}: memory of runs",
            exhibit["id"]
        );
        let tables = text.split("\n\n").filter(|part| part.contains("──"));
        let wide = tables.flat_map(str::lines).find(|line| line.chars().count() > 120);
        assert_eq!(wide, None, "{}: tables fit into 120 columns", exhibit["id"]);
        let plot = std::fs::read_to_string(folder.file(&format!("{}.svg", exhibit["id"].as_str().unwrap())));
        assert!(plot.expect("a plot").contains("</svg>"), "{}", exhibit["id"]);
    }
}

#[test]
fn typos_are_answered() {
    assert!(refused(&["reproduce", "dfd-figur-9"]).contains("did you mean `dfd-figure-9`?"));
}
