//! The page as text: whole, closed to hostile names, and without anything to load.

use bombyx_dag::{Builder, Computation};
use bombyx_report::Report;
use bombyx_trace::{Arrow, Category, Counter, Mark, Point, Slice, Timeline, Track, TrackKind};

const HOSTILE: &str = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&@data@";

fn timeline() -> Timeline {
    let slice = |start, end, depth| Slice { start, end, name: 0, category: Category::Run, depth };
    let thread = TrackKind::Thread { number: 7 };
    Timeline {
        program: HOSTILE.to_owned(),
        length: 1000,
        tracks: vec![
            Track {
                name: "processor 0".to_owned(),
                kind: TrackKind::Processor { pool: 0, index: 0 },
                slices: vec![slice(0, 500, 0)],
            },
            Track {
                name: HOSTILE.to_owned(),
                kind: thread,
                slices: vec![slice(0, 500, 0), slice(10, 20, 1)],
            },
        ],
        names: vec![HOSTILE.to_owned()],
        arrows: vec![Arrow {
            name: "steal",
            points: vec![Point { track: 0, time: 5 }, Point { track: 1, time: 10 }],
        }],
        marks: vec![Mark { at: Point { track: 1, time: 15 }, name: 0 }],
        counters: vec![Counter { name: "busy processors".to_owned(), values: vec![(0, 1), (500, 0)] }],
        ..Timeline::default()
    }
}

fn profile() -> bombyx_profile::Profile {
    let file = include_bytes!("../../bombyx-profile/corpus/sort.json");
    let mut profile = bombyx_profile::read(&file[..]).unwrap();
    profile.sites[0].file = HOSTILE.to_owned();
    profile
}

/// A recording with a site of this name.
fn recording(site: &str) -> Computation {
    let mut b = Builder::new(8);
    let site = b.site(site);
    b.strand(3);
    b.allocate(4096);
    b.spawn_at(site, 8);
    b.strand(10);
    let end = b.end();
    b.strand(5);
    b.strand(1);
    b.free(4096);
    b.wait_for(end);
    b.build().unwrap()
}

/// A page with everything, whose names are hostile.
fn hostile() -> Report {
    Report::new(HOSTILE)
        .with_profile(&profile(), 8)
        .with_recording(&recording(HOSTILE))
        .with_trace(&timeline())
}

/// The data that the page carries.
fn data(page: &str) -> serde_json::Value {
    let begin = page.find("id=\"data\">").unwrap() + "id=\"data\">".len();
    let data = &page[begin..begin + page[begin..].find("</script>").unwrap()];
    serde_json::from_str(data).unwrap()
}

#[test]
fn hostile_names_are_texts() {
    for page in [hostile().render(), hostile().render_beside(&hostile())] {
        assert_eq!(page.matches("<script").count(), 2, "the data and the code, and nothing else");
        assert_eq!(page.matches("</script>").count(), 2);
        assert!(!page.contains("<img") && !page.contains("onerror=alert(2)>\"'"));
        assert!(page.trim_end().ends_with("</html>"));
        data(&page);
    }
}

/// The page's code may name elements and set texts, but never makes HTML or code of a text.
#[test]
fn the_code_makes_no_html_of_texts() {
    let page = Report::new("sort").with_trace(&timeline()).render();
    let code = &page[page.rfind("<script>").unwrap()..];
    for word in [
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "new Function",
        "setTimeout(",
    ] {
        assert!(!code.contains(word), "the code has `{word}`");
    }
}

#[test]
fn the_data_is_json_and_has_everything() {
    let data = data(&hostile().render());
    let [run] = data["runs"].as_array().unwrap().as_slice() else { panic!("one run") };
    assert_eq!(run["trace"]["names"][0], HOSTILE);
    assert_eq!(run["trace"]["tracks"].as_array().unwrap().len(), 2);
    assert_eq!(run["trace"]["closures"][0][1], 2, "two slices on threads");
    let model = &run["profile"]["model"];
    let sites = model["sites"].as_array().unwrap().len();
    assert!(
        model["paths"].as_array().unwrap().iter().all(|path| path.as_array().unwrap().len() == sites + 1)
    );
    assert!(model["on"].as_array().unwrap().iter().all(|on| on[1].as_f64() <= on[2].as_f64()));
    let recording = &run["recording"];
    assert_eq!(recording["names"][1], HOSTILE);
    assert_eq!((recording["work"].as_u64(), recording["span"].as_u64()), (Some(19), Some(14)));
    assert_eq!(recording["tree"].as_array().unwrap().len(), 2);
    assert_eq!(recording["memory"][0]["peak"], 4096 + 16);
}

/// Each file alone gives a page with what it has.
#[test]
fn each_part_stands_alone() {
    for (report, parts) in [
        (Report::new("a").with_profile(&profile(), 8), &["advice", "speedup", "sites"][..]),
        (Report::new("a").with_recording(&recording("a.rs:1")), &["simulated", "graph", "flame", "memory"]),
        (Report::new("a").with_trace(&timeline()), &["timeline"]),
    ] {
        let page = report.render();
        for part in parts {
            assert!(page.contains(&format!("data-part=\"{part}\"")), "{part}");
        }
        assert_eq!(page.matches("data-part=").count(), parts.len());
    }
}

#[test]
fn two_runs_stand_beside_each_other() {
    let after = Report::new("after").with_recording(&recording("a.rs:1")).with_trace(&timeline());
    let page = hostile().render_beside(&after);
    assert_eq!(data(&page)["runs"].as_array().unwrap().len(), 2);
    assert_eq!(page.matches("data-part=\"timeline\"").count(), 2);
    assert_eq!(page.matches("data-part=\"comparison\"").count(), 1);
    assert!(page.contains("recorded span") && page.contains("the same"));
    assert!(page.contains("This run has no such part"), "only one of them has a profile");
}

#[test]
fn nothing_is_loaded() {
    let mut timeline = timeline();
    timeline.program = "sort".to_owned();
    timeline.names = vec!["sort".to_owned()];
    timeline.tracks[1].name = "thread 7".to_owned();
    let page = Report::new("sort").with_recording(&recording("a.rs:1")).with_trace(&timeline).render();
    for word in ["http:", "https:", "//cdn", "@import", "url(h", "<link rel=\"stylesheet\"", " src="] {
        let found = page.replace("http://www.w3.org/2000/svg", "").contains(word);
        assert!(!found, "the page has `{word}`");
    }
    assert!(page.contains("default-src 'none'"));
}
