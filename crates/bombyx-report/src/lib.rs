//! A run of a program as one page of HTML, which opens from disk and loads nothing else.
//!
//! **Not here:** what traces and profiles mean. `bombyx-trace` and `bombyx-profile` read and interpret them. This crate also
//! reads no arguments and writes no files.
//!
//! The page's own code and styles are in `src/page/`, as plain JavaScript and CSS. All names from a program (functions,
//! files, threads, marks) reach the page as text: HTML escapes them, and the page's code never turns them into HTML.
//!
//! ```no_run
//! let bytes = std::fs::read("run.trace")?;
//! let timeline = bombyx_trace::Timeline::of(&bombyx_trace::read(&bytes)?);
//! let page = bombyx_report::Report::new("sort").with_trace(&timeline).render();
//! std::fs::write("report.html", page)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod html;
mod profile;
mod trace;

use bombyx_profile::Profile;
use bombyx_trace::Timeline;
use html::escaped;
use serde_json::{Map, Value};

/// A page that grows by sections.
#[derive(Clone, Debug)]
pub struct Report {
    title: String,
    body: String,
    data: Map<String, Value>,
}

impl Report {
    /// A page about this program.
    pub fn new(program: &str) -> Report {
        let body = format!("<h1>{}</h1>", escaped(program));
        Report { title: program.to_owned(), body, data: Map::new() }
    }

    /// With a profile: summary, advice, predicted speedups, fork sites. `cores` is how many cores the advice is for.
    #[must_use]
    pub fn with_profile(mut self, profile: &Profile, cores: u32) -> Report {
        self.body += &profile::section(profile, cores);
        self.data.insert("profile".to_owned(), profile::data(profile));
        self
    }

    /// With a trace: summary, timeline, processors, closures.
    #[must_use]
    pub fn with_trace(mut self, timeline: &Timeline) -> Report {
        self.body += &trace::section(timeline);
        self.data.insert("trace".to_owned(), trace::data(timeline));
        self
    }

    /// The page.
    pub fn render(&self) -> String {
        // In JSON, `<` occurs only in texts. Escaped, no text can end the script that the data is in.
        let data =
            serde_json::to_string(&self.data).expect("numbers and texts are JSON").replace('<', "\\u003c");
        let script = concat!(include_str!("page/timeline.js"), "\n", include_str!("page/page.js"));
        let parts = [
            ("@title@", escaped(&self.title)),
            ("@style@", include_str!("page/page.css").to_owned()),
            ("@body@", self.body.clone()),
            ("@data@", data),
            ("@script@", script.to_owned()),
        ];
        html::filled(include_str!("page/page.html"), &parts)
    }
}
