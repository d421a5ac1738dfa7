//! As much of HTML as the page needs.

/// A section of the page: a part of what is known of one run.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    pub(crate) part: Part,
    /// Its heading, as text.
    pub(crate) title: &'static str,
    /// What follows the heading, as HTML.
    pub(crate) body: String,
}

/// The parts of a page, in their order. The page's code finds them by their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    Advice,
    Speedup,
    Simulated,
    Graph,
    Flame,
    Memory,
    Timeline,
    Sites,
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Self::Advice => "advice",
            Self::Speedup => "speedup",
            Self::Simulated => "simulated",
            Self::Graph => "graph",
            Self::Flame => "flame",
            Self::Memory => "memory",
            Self::Timeline => "timeline",
            Self::Sites => "sites",
        }
    }
}

impl Section {
    /// The section of a run, which has this number on the page.
    pub(crate) fn html(&self, run: usize) -> String {
        let (name, title, body) = (self.part.name(), self.title, &self.body);
        format!(
            "<section data-part=\"{name}\" data-run=\"{run}\" aria-label=\"{title}\">\n<h2>{title}</h2>\n{body}</section>\n"
        )
    }
}

/// Sentences as a list.
pub(crate) fn list(sentences: &[String]) -> String {
    let items: String = sentences.iter().map(|one| format!("<li>{}</li>", escaped(one))).collect();
    format!("<ul>{items}</ul>\n")
}

/// A text in HTML, between tags or in an attribute.
pub(crate) fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => html += "&amp;",
            '<' => html += "&lt;",
            '>' => html += "&gt;",
            '"' => html += "&quot;",
            '\'' => html += "&#39;",
            control if control.is_control() && control != '\n' => html.push('\u{fffd}'),
            plain => html.push(plain),
        }
    }
    html
}

/// A page with its parts in place. A part may have the name of another one in it.
pub(crate) fn filled(page: &str, parts: &[(&str, String)]) -> String {
    let mut filled = String::new();
    let mut rest = page;
    loop {
        let next =
            parts.iter().filter_map(|part| rest.find(part.0).map(|at| (at, part))).min_by_key(|next| next.0);
        let Some((at, (name, part))) = next else { return filled + rest };
        filled += &rest[..at];
        filled += part;
        rest = &rest[at + name.len()..];
    }
}

/// A time for people, with three digits.
pub(crate) fn time(ns: f64) -> String {
    let (number, unit) = match ns {
        _ if ns >= 1e9 => (ns / 1e9, "s"),
        _ if ns >= 1e6 => (ns / 1e6, "ms"),
        _ if ns >= 1e3 => (ns / 1e3, "µs"),
        _ => (ns, "ns"),
    };
    let digits = if number >= 100.0 { 0 } else { usize::from(number < 10.0) + 1 };
    format!("{number:.digits$} {unit}")
}

/// A number of bytes for people, with three digits.
pub(crate) fn bytes(bytes: f64) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let fits = units.into_iter().find(|&(_, power)| bytes >= f64::from(1_u32 << power));
    match fits {
        Some((unit, power)) => format!("{:.1} {unit}", bytes / f64::from(1_u32 << power)),
        None => format!("{bytes:.0} bytes"),
    }
}

/// A number of things, of which `one` is one.
pub(crate) fn number(count: u64, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_gets_out_of_a_text() {
        assert_eq!(escaped("<b a=\"x\">'&\u{1b}"), "&lt;b a=&quot;x&quot;&gt;&#39;&amp;\u{fffd}");
    }

    #[test]
    fn parts_are_not_looked_into() {
        let parts = [("@a@", "@b@".to_owned()), ("@b@", "two".to_owned())];
        assert_eq!(filled("1 @a@ 2 @b@ 3", &parts), "1 @b@ 2 two 3");
    }

    #[test]
    fn times_have_three_digits() {
        assert_eq!([3.0, 41.5e3, 123.4e6, 1.5e9].map(time), ["3.00 ns", "41.5 µs", "123 ms", "1.50 s"]);
    }
}
