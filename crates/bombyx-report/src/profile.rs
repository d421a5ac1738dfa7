//! The parts of the page that show a profile.

use crate::compare::Figure;
use crate::html::{Part, Section, bytes, list, time};
use crate::model::{Model, called};
use bombyx_profile::{Comparison, Profile, Scaling, SiteProfile, advise};
use serde_json::{Value, json};

/// How many fork sites the table has.
const SITES: usize = 200;

/// The parts as HTML.
pub(crate) fn sections(profile: &Profile, cores: u32) -> Vec<Section> {
    let advice: Vec<String> = advise(profile, cores).iter().map(ToString::to_string).collect();
    let advice = format!("{}<h3>Advice</h3>\n{}", list(&sentences(profile)), list(&advice));
    // A call makes one piece for each thread.
    let at_least = if Scaling::of(profile).at_least {
        " More threads may show that the program scales further."
    } else {
        ""
    };
    let speedup = format!(
        "<div data-is=\"controls\"></div>\n\
        <p class=\"soft\">A formula over work, span and the cost of steals, the one of <code>bombyx profile</code>, gives these \
        speedups. It assumes that the critical path stays where it is when a fork site gets faster. So the answer is the most \
        that such a change gains. A recording tells where the path moves.{at_least}</p>\n"
    );
    let sites = "<div class=\"scroll\"><table data-is=\"sites\"></table></div>\n".to_owned();
    vec![
        Section { part: Part::Advice, title: "Work, span and advice", body: advice },
        Section { part: Part::Speedup, title: "Speedup, predicted from the profile", body: speedup },
        Section { part: Part::Sites, title: "Fork sites", body: sites },
    ]
}

fn sentences(profile: &Profile) -> Vec<String> {
    let scaling = Scaling::of(profile);
    let comparison = Comparison::of(profile);
    let alone = comparison.as_ref().map_or(profile, |comparison| comparison.one);
    let burdened = match alone.knows_migrations() {
        true => format!("with the cost of steals {:.1}", scaling.burdened_parallelism()),
        false => "the machine was too busy to measure what steals cost".to_owned(),
    };
    let mut sentences = vec![format!(
        "The work is {}, the span {}: parallelism {}{:.1}; {burdened}.",
        time(profile.work_ns as f64),
        time(profile.span_ns as f64),
        if scaling.at_least { "at least " } else { "" },
        scaling.parallelism(),
    )];
    if let Some(comparison) = comparison {
        sentences.push(format!(
            "On {} processors the program was {:.2} times as fast as on one.",
            comparison.many.processors,
            comparison.speedup()
        ));
    }
    if let Some(peak) = profile.peak_heap_bytes {
        sentences.push(format!("At most {} of heap memory were in use at once.", bytes(peak as f64)));
    }
    if profile.interrupted {
        sentences.push("A signal ended the program; this is its profile up to then.".to_owned());
    }
    sentences
}

/// What two runs are compared by.
pub(crate) fn figures(profile: &Profile) -> Vec<Figure> {
    let mut figures = vec![
        Figure::time("time of the program", profile.elapsed_ns() as f64),
        Figure::time("work", profile.work_ns as f64),
        Figure::time("span", profile.span_ns as f64),
        Figure::ratio("parallelism", profile.parallelism()),
        Figure::count("processors", f64::from(profile.processors)),
        Figure::count("forks", profile.forks as f64),
        Figure::time("mean strand", profile.grain_ns()),
        Figure::count("steals", profile.steals as f64),
        Figure::count("hand-overs", profile.hand_overs as f64),
    ];
    if let Some(peak) = profile.peak_heap_bytes {
        figures.push(Figure::bytes("most heap memory in use", peak as f64));
    }
    figures
}

/// What the page's code needs.
pub(crate) fn data(profile: &Profile) -> Value {
    let mut sites = profile.sites_by_span();
    sites.truncate(SITES);
    let sites: Vec<Value> = sites
        .into_iter()
        .map(|site| {
            json!({
                "name": called(site),
                "place": site.location(),
                "forks": site.forks,
                "grain": (site.forks > 0).then(|| site.grain_ns()),
                "work": site.work_ns as f64,
                "span": site.span_ns as f64,
                "inflation": inflation(profile, site),
            })
        })
        .collect();
    json!({ "work": profile.work_ns, "span": profile.span_ns, "sites": sites, "model": Model::of_profile(profile).data() })
}

/// How many times as much work a site has on several processors as on one, if both were run.
fn inflation(profile: &Profile, site: &SiteProfile) -> Option<f64> {
    let Comparison { one, many } = Comparison::of(profile)?;
    let work = |of: &Profile| {
        let same = |other: &&SiteProfile| other.location() == site.location() && other.kind == site.kind;
        of.sites.iter().find(same).map(|site| site.work_ns).filter(|work| *work > 0)
    };
    Some(work(many)? as f64 / work(one)? as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inflation_compares_the_two_runs() {
        let site =
            |work_ns| SiteProfile { file: "a.rs".to_owned(), work_ns, forks: 1, ..SiteProfile::default() };
        let file = include_bytes!("../../bombyx-profile/corpus/sort.json");
        let one = bombyx_profile::read(&file[..]).unwrap();
        let one = Profile { processors: 1, sites: vec![site(100)], companion: None, ..one };
        let many = Profile { processors: 4, sites: vec![site(150)], ..one.clone() };
        assert_eq!(inflation(&many, &many.sites[0]), None, "there was one run");
        let both = Profile { companion: Some(Box::new(one)), ..many };
        assert_eq!(inflation(&both, &both.sites[0]), Some(1.5));
    }
}
