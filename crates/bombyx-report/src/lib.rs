//! A run of a program, or two of them side by side, as one page of HTML, which opens from disk and loads nothing else.
//!
//! **Not here:** traces, profiles and computations. `bombyx-trace`, `bombyx-profile` and `bombyx-dag` read them and say
//! what they mean. And nothing that reads arguments or writes files.
//!
//! | file | makes |
//! |---|---|
//! | `trace.rs` | the timeline, and tables of processors and closures; `packed.rs`: its slices as few bytes |
//! | `profile.rs` | advice, and the table of fork sites |
//! | `recording/` | grain graph, flame graphs, memory over time |
//! | `model.rs` | what the speedup would be on other processors and with faster fork sites |
//! | `compare.rs` | what differs between two runs |
//! | `page/` | the page's own code and styles, as plain JavaScript and CSS |
//!
//! Everything that a program named (its functions, files, threads, marks) reaches the page as text: in HTML it is escaped,
//! and the page's code never makes HTML of it.
//!
//! ```no_run
//! let bytes = std::fs::read("run.trace")?;
//! let timeline = bombyx_trace::Timeline::of(&bombyx_trace::read(&bytes)?);
//! let page = bombyx_report::Report::new("sort").with_trace(&timeline).render();
//! std::fs::write("report.html", page)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod compare;
mod html;
mod model;
mod packed;
mod profile;
mod recording;
mod trace;

use bombyx_dag::Computation;
use bombyx_profile::Profile;
use bombyx_trace::Timeline;
use compare::Figure;
use html::{Section, escaped};
pub use model::{Model, On};
use serde_json::{Map, Value, json};

/// What is known of one run, part by part.
#[derive(Clone, Debug)]
pub struct Report {
    title: String,
    sections: Vec<Section>,
    figures: Vec<Figure>,
    data: Map<String, Value>,
}

impl Report {
    /// A page about this program, or about this run of it.
    pub fn new(program: &str) -> Report {
        let data = Map::from_iter([("name".to_owned(), json!(program))]);
        Report { title: program.to_owned(), sections: vec![], figures: vec![], data }
    }

    /// With a profile: summary, advice, predicted speedups, fork sites. `cores` is how many cores the advice is for.
    #[must_use]
    pub fn with_profile(mut self, profile: &Profile, cores: u32) -> Report {
        self.sections.extend(profile::sections(profile, cores));
        self.figures.extend(profile::figures(profile));
        self.data.insert("profile".to_owned(), profile::data(profile));
        self
    }

    /// With a recorded computation: grain graph, flame graphs, what the simulator says of other machines, memory over time.
    #[must_use]
    pub fn with_recording(mut self, computation: &Computation) -> Report {
        let (sections, data) = recording::of(computation);
        self.sections.extend(sections);
        self.figures.extend(recording::figures(computation));
        self.data.insert("recording".to_owned(), data);
        self
    }

    /// With a trace: summary, timeline, processors, closures.
    #[must_use]
    pub fn with_trace(mut self, timeline: &Timeline) -> Report {
        self.sections.extend(trace::sections(timeline));
        self.figures.extend(trace::figures(timeline));
        self.data.insert("trace".to_owned(), trace::data(timeline));
        self
    }

    /// The page.
    pub fn render(&self) -> String {
        let mut body = format!("<h1>{}</h1>\n", escaped(&self.title));
        for section in self.in_order() {
            body += &section.html(0);
        }
        page(&self.title, &body, vec![self.data.clone()])
    }

    /// A page that shows this run beside a later one: what has changed, in numbers, and the parts of both.
    pub fn render_beside(&self, after: &Report) -> String {
        let title = format!("{} and {}", self.title, after.title);
        let mut body = format!(
            "<h1>{} <span class=\"soft\">before</span>, {} <span class=\"soft\">after</span></h1>\n",
            escaped(&self.title),
            escaped(&after.title)
        );
        body += &compare::section(&self.figures, &after.figures);
        let mut theirs = after.in_order();
        for section in self.in_order() {
            let other =
                theirs.iter().position(|other| other.part == section.part).map(|at| theirs.remove(at));
            body += &compare::pair(Some(section), other);
        }
        for section in theirs {
            body += &compare::pair(None, Some(section));
        }
        page(&title, &body, vec![self.data.clone(), after.data.clone()])
    }

    fn in_order(&self) -> Vec<&Section> {
        let mut sections: Vec<&Section> = self.sections.iter().collect();
        sections.sort_by_key(|section| section.part);
        sections
    }
}

/// The page's own code. Each file is a part of one script.
const SCRIPTS: [&str; 10] = [
    include_str!("page/base.js"),
    include_str!("page/rows.js"),
    include_str!("page/timeline.js"),
    include_str!("page/tables.js"),
    include_str!("page/speedup.js"),
    include_str!("page/graph.js"),
    include_str!("page/flame.js"),
    include_str!("page/memory.js"),
    include_str!("page/compare.js"),
    include_str!("page/page.js"),
];

fn page(title: &str, body: &str, runs: Vec<Map<String, Value>>) -> String {
    // In JSON, `<` occurs only in texts. Escaped, no text can end the script that the data is in.
    let data = json!({ "runs": runs });
    let data = serde_json::to_string(&data).expect("numbers and texts are JSON").replace('<', "\\u003c");
    let parts = [
        ("@title@", escaped(title)),
        ("@style@", include_str!("page/page.css").to_owned()),
        ("@body@", body.to_owned()),
        ("@data@", data),
        ("@script@", format!("\"use strict\";\n{}", SCRIPTS.join("\n"))),
    ];
    html::filled(include_str!("page/page.html"), &parts)
}
