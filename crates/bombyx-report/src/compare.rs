//! What differs between two runs: figures beside each other, and the parts of both pages in pairs.

use crate::html::{self, Section, escaped};

/// A number by which runs are compared.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figure {
    name: &'static str,
    value: f64,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Time,
    Instructions,
    Count,
    Share,
    Ratio,
    Bytes,
}

impl Figure {
    /// Nanoseconds.
    pub(crate) fn time(name: &'static str, ns: f64) -> Figure {
        Figure { name, value: ns, kind: Kind::Time }
    }

    /// Instructions of a computation.
    pub(crate) fn instructions(name: &'static str, value: f64) -> Figure {
        Figure { name, value, kind: Kind::Instructions }
    }

    /// How many there are.
    pub(crate) fn count(name: &'static str, value: f64) -> Figure {
        Figure { name, value, kind: Kind::Count }
    }

    /// A part of a whole, between 0 and 1.
    pub(crate) fn share(name: &'static str, value: f64) -> Figure {
        Figure { name, value, kind: Kind::Share }
    }

    /// One number divided by another.
    pub(crate) fn ratio(name: &'static str, value: f64) -> Figure {
        Figure { name, value, kind: Kind::Ratio }
    }

    /// Memory.
    pub(crate) fn bytes(name: &'static str, value: f64) -> Figure {
        Figure { name, value, kind: Kind::Bytes }
    }

    fn text(&self) -> String {
        match self.kind {
            Kind::Time => html::time(self.value),
            Kind::Instructions => format!("{:.0} instructions", self.value),
            Kind::Count => format!("{:.0}", self.value),
            Kind::Share => format!("{:.1} %", 100.0 * self.value),
            Kind::Ratio => format!("{:.2}", self.value),
            Kind::Bytes => html::bytes(self.value),
        }
    }
}

/// The table of what both runs have.
pub(crate) fn section(before: &[Figure], after: &[Figure]) -> String {
    let mut rows = String::new();
    for was in before {
        let same = |other: &&Figure| other.name == was.name && other.kind == was.kind;
        let Some(is) = after.iter().find(same) else { continue };
        let change = match (was.value, is.value) {
            (was, is) if was == is => "the same".to_owned(),
            (0.0, _) => "–".to_owned(),
            (was, is) => format!("{:.2} ×", is / was),
        };
        let name = escaped(was.name);
        rows += &format!(
            "<tr><th scope=\"row\">{name}</th><td>{}</td><td>{}</td><td>{change}</td></tr>\n",
            was.text(),
            is.text()
        );
    }
    if rows.is_empty() {
        return "<p>The two files have no figure in common.</p>\n".to_owned();
    }
    format!(
        "<section data-part=\"comparison\" aria-label=\"What has changed\">\n<h2>What has changed</h2>\n\
         <div class=\"scroll\"><table><thead><tr><th scope=\"col\">figure</th><th scope=\"col\">before</th>\
         <th scope=\"col\">after</th><th scope=\"col\">after / before</th></tr></thead>\n<tbody>{rows}</tbody></table></div>\n\
         <div data-is=\"sites\"></div>\n</section>\n"
    )
}

/// A part of both runs, side by side where there is room.
pub(crate) fn pair(before: Option<&Section>, after: Option<&Section>) -> String {
    let side = |section: Option<&Section>, run: usize, name: &str| {
        let html = section.map_or_else(
            || "<p class=\"soft\">This run has no such part.</p>".to_owned(),
            |one| one.html(run),
        );
        format!(
            "<div class=\"side\" role=\"group\" aria-label=\"{name}\"><p class=\"which\">{name}</p>\n{html}</div>\n"
        )
    };
    format!("<div class=\"pair\">\n{}{}</div>\n", side(before, 0, "before"), side(after, 1, "after"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_both_runs_are_compared() {
        let before = [Figure::time("work", 2e6), Figure::count("forks", 10.0), Figure::share("busy", 0.5)];
        let after = [Figure::time("work", 1e6), Figure::count("forks", 10.0)];
        let html = section(&before, &after);
        assert!(html.contains("<td>2.00 ms</td><td>1.00 ms</td><td>0.50 ×</td>"), "{html}");
        assert!(html.contains("the same") && !html.contains("busy"), "{html}");
        assert!(section(&before, &[]).contains("no figure in common"));
    }
}
