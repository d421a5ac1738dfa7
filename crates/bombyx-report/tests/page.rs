//! The page as text: whole, closed to hostile names, and without anything to load.

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

#[test]
fn hostile_names_are_texts() {
    let page = Report::new(HOSTILE).with_profile(&profile(), 8).with_trace(&timeline()).render();
    assert_eq!(page.matches("<script").count(), 2, "the data and the code, and nothing else");
    assert_eq!(page.matches("</script>").count(), 2);
    assert!(!page.contains("<img") && !page.contains("onerror=alert(2)>\"'"));
    assert!(page.trim_end().ends_with("</html>"));
}

#[test]
fn the_data_is_json_and_has_everything() {
    let page = Report::new("sort").with_profile(&profile(), 8).with_trace(&timeline()).render();
    let begin = page.find("id=\"data\">").unwrap() + "id=\"data\">".len();
    let data = &page[begin..begin + page[begin..].find("</script>").unwrap()];
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    assert_eq!(data["trace"]["names"][0], HOSTILE);
    assert_eq!(data["trace"]["tracks"].as_array().unwrap().len(), 2);
    assert_eq!(data["trace"]["closures"][0][1], 2, "two slices on threads");
    let bands = data["profile"]["bands"].as_array().unwrap();
    let site = &data["profile"]["sites"][0];
    assert_eq!(site["faster"][0].as_array().unwrap().len(), bands.len());
    assert!(bands.iter().all(|band| band[1].as_f64() <= band[2].as_f64()));
}

#[test]
fn nothing_is_loaded() {
    let mut timeline = timeline();
    timeline.program = "sort".to_owned();
    timeline.names = vec!["sort".to_owned()];
    timeline.tracks[1].name = "thread 7".to_owned();
    let page = Report::new("sort").with_trace(&timeline).render();
    for word in ["http:", "https:", "//cdn", "@import", "url(", "<link rel=\"stylesheet\"", " src="] {
        let found = page.replace("http://www.w3.org/2000/svg", "").contains(word);
        assert!(!found, "the page has `{word}`");
    }
    assert!(page.contains("default-src 'none'"));
}
