//! `--faster SITE=FACTOR`: what would happen if the closures forked at a site were faster.

use super::Result;
use super::input::Input;
use super::runs::{Plan, Run};
use crate::table::{Cell, Style, Table, Tone};
use crate::text::{grouped, ratio};
use bombyx_dag::{Computation, SiteId, Sites};
use std::str::FromStr;

/// How many candidates an error lists.
const MOST_CANDIDATES: usize = 12;

/// A part of a site's name, and how much faster.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Faster {
    site: String,
    factor: f64,
}

impl FromStr for Faster {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let (site, factor) =
            text.rsplit_once('=').ok_or_else(|| format!("`{text}` lacks a factor, as in `{text}=2`"))?;
        let number = factor.parse().ok().filter(|number: &f64| (1e-6..=1e6).contains(number));
        match number {
            _ if site.is_empty() => Err(format!("`{text}` names no site, as in `src/sort.rs:41=2`")),
            Some(factor) => Ok(Self { site: site.to_owned(), factor }),
            None => Err(format!("`{factor}` is not a factor between 0.000001 and 1000000")),
        }
    }
}

/// A site that strands of the computation belong to, and its name. A recording also names sites at which nothing was
/// forked while it recorded.
type Used = (SiteId, String);

/// The sites of a computation.
fn used(computation: &Computation) -> Vec<Used> {
    let measures = Sites::of(computation).measures(computation);
    let sites = measures.iter().filter(|measured| measured.strands > 0).filter_map(|measured| measured.site);
    let mut used: Vec<Used> = sites.map(|site| (site, computation.site_name(site).to_owned())).collect();
    used.sort();
    used
}

/// The site that this part of a name identifies.
fn find(sites: &[Used], part: &str) -> Result<SiteId> {
    if let Some((site, _)) = sites.iter().find(|(_, name)| name == part) {
        return Ok(*site);
    }
    // `sort.rs:4` means line 4 before it means line 41.
    let whole = |name: &str| {
        name.match_indices(part)
            .any(|(at, _)| !name[at + part.len()..].starts_with(|c: char| c.is_ascii_digit()))
    };
    let containing: Vec<&Used> = sites.iter().filter(|(_, name)| name.contains(part)).collect();
    let exact: Vec<&Used> = containing.iter().copied().filter(|(_, name)| whole(name)).collect();
    match (&exact[..], &containing[..]) {
        (&[(site, _)], _) | (_, &[(site, _)]) => Ok(*site),
        (_, []) if sites.is_empty() => {
            Err("this computation has no fork sites; record a program with `bombyx record`".into())
        }
        (_, []) => {
            let all = sites.iter().map(|(_, name)| name);
            Err(format!("there is no fork site `{part}`; there are {}", listed(all)).into())
        }
        (_, several) => {
            let several = several.iter().map(|(_, name)| name);
            Err(format!("`{part}` may be {}; say more of it", listed(several)).into())
        }
    }
}

fn listed<'a>(names: impl ExactSizeIterator<Item = &'a String>) -> String {
    let more = names.len().saturating_sub(MOST_CANDIDATES);
    let mut out = names.take(MOST_CANDIDATES).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if more > 0 {
        out.push_str(&format!(" and {more} more (--sites lists all)"));
    }
    out
}

/// The computation with all changes.
pub(super) fn apply(changes: &[Faster], input: &Input) -> Result<Input> {
    let sites = used(&input.computation);
    let factors: Vec<(SiteId, f64)> = changes
        .iter()
        .map(|change| Ok((find(&sites, &change.site)?, change.factor)))
        .collect::<Result<_>>()?;
    let computation = Sites::of(&input.computation).faster(&input.computation, &factors)?;
    let what: Vec<String> = factors
        .iter()
        .map(|&(site, factor)| format!("{} {factor} times faster", input.computation.site_name(site)))
        .collect();
    Ok(Input::new(format!("{} with {}", input.name, what.join(", ")), computation))
}

/// Measures and times before and after the change, and what the change gains.
pub(super) fn comparison(before: (&Plan<'_>, &[Run]), after: (&Plan<'_>, &[Run]), style: Style) -> String {
    let table = Table::new(style)
        .words("scheduler", 18)
        .numbers("P", 6)
        .numbers("before", 15)
        .numbers("after", 15)
        .numbers("gain", 7)
        .numbers("speedup", 8);
    let mut out = table.head();
    let gain = |was: f64, is: f64| Cell::new(format!("{:.1} %", 100.0 * (was / is - 1.0)), Tone::Strong);
    let (was, is) = (&before.0.input.measures, &after.0.input.measures);
    for (name, was, is) in [("work T1", was.work, is.work), ("span T∞", was.span, is.span)] {
        let numbers =
            [Cell::from(grouped(was)), Cell::from(grouped(is)), gain(was as f64, is as f64), Cell::from("")];
        out.push_str(&table.line([Cell::from(name), Cell::from("")].into_iter().chain(numbers)));
    }
    let plan = after.0;
    for (s, scheduler) in plan.schedulers.iter().enumerate() {
        for (p, processors) in plan.processors.iter().enumerate() {
            let mean = |(plan, runs): (&Plan<'_>, &[Run])| {
                let group = plan.group(runs, s, p);
                group.iter().map(Run::time).sum::<f64>() / group.len() as f64
            };
            let (was, is) = (mean(before), mean(after));
            out.push_str(&table.line([
                Cell::from(scheduler.to_string()),
                Cell::from(processors.to_string()),
                Cell::from(grouped(was.round() as u64)),
                Cell::from(grouped(is.round() as u64)),
                gain(was, is),
                Cell::from(ratio(before.0.input.measures.work as f64 / is)),
            ]));
        }
    }
    out.push_str(
        "\nthe gain is in speed, before / after − 1; the speedup is over the original on one processor\n",
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_go_by_any_unique_part() {
        let names = ["src/sort.rs:4:9", "src/sort.rs:41:9", "src/main.rs:7:5"];
        let names: Vec<Used> =
            names.iter().enumerate().map(|(nth, name)| (SiteId::new(nth), (*name).to_owned())).collect();
        for (part, nth) in [
            ("src/sort.rs:41:9", 1),
            ("main", 2),
            ("sort.rs:41", 1),
            ("sort.rs:4", 0),
            (":7:", 2),
            ("4:9", 0),
        ] {
            assert_eq!(find(&names, part).unwrap(), SiteId(nth), "{part}");
        }
        let error = |part: &str| find(&names, part).unwrap_err().to_string();
        assert_eq!(
            error("sort.rs"),
            "`sort.rs` may be `src/sort.rs:4:9`, `src/sort.rs:41:9`; say more of it"
        );
        assert!(error("merge").starts_with("there is no fork site `merge`; there are `src/sort.rs:4:9`, "));
        assert!(find(&[], "merge").unwrap_err().to_string().contains("bombyx record"));
    }

    #[test]
    fn factors_are_numbers() {
        assert_eq!("a=b=2.5".parse(), Ok(Faster { site: "a=b".to_owned(), factor: 2.5 }));
        for text in ["sort.rs:41", "=2", "x=", "x=0", "x=-1", "x=NaN", "x=inf", "x=two"] {
            assert!(text.parse::<Faster>().is_err(), "{text} was accepted");
        }
    }
}
