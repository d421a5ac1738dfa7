//! The part of the page that shows a profile.

use crate::html::{escaped, time};
use bombyx_profile::{Comparison, Profile, Scaling, SiteProfile, advise};
use serde_json::{Value, json};

/// How many fork sites the table has.
const SITES: usize = 30;

/// How many times as fast a site could be.
const FACTORS: [f64; 5] = [1.25, 1.5, 2.0, 4.0, 10.0];

/// The HTML of the part.
pub(crate) fn section(profile: &Profile, cores: u32) -> String {
    let scaling = Scaling::of(profile);
    let comparison = Comparison::of(profile);
    let alone = comparison.as_ref().map_or(profile, |comparison| comparison.one);
    let burdened = match alone.knows_migrations() {
        true => format!("with the cost of steals {:.1}", scaling.burdened_parallelism()),
        false => "the machine was too busy to measure what steals cost".to_owned(),
    };
    let mut sentences = vec![format!(
        "The work is {}, the span {}: parallelism {:.1}; {burdened}.",
        time(profile.work_ns as f64),
        time(profile.span_ns as f64),
        scaling.parallelism(),
    )];
    if let Some(comparison) = comparison {
        sentences.push(format!(
            "On {} processors the program was {:.2} times as fast as on one.",
            comparison.many.processors,
            comparison.speedup()
        ));
    }
    if profile.interrupted {
        sentences.push("A signal ended the program; this is its profile up to then.".to_owned());
    }
    let items = |sentences: &[String]| -> String {
        sentences.iter().map(|sentence| format!("<li>{}</li>", escaped(sentence))).collect()
    };
    let advice: Vec<String> = advise(profile, cores).iter().map(ToString::to_string).collect();
    let what_if = if sites(profile).is_empty() {
        String::new()
    } else {
        "<div class=\"bar\"><label>If <select id=\"site\"></select></label> <label>were <select id=\"factor\"></select></label>: \
         <output id=\"what-if\" class=\"accent\"></output></div>\n\
         <p class=\"soft\">The critical path may move to other sites when one gets faster. So this is the most that such a \
         change gains.</p>\n"
            .to_owned()
    };
    format!(
        "<section aria-labelledby=\"profile\">\n<h2 id=\"profile\">Work, span and advice</h2>\n<ul>{}</ul>\n\
         <h2>Advice</h2>\n<ul>{}</ul>\n\
         <h2>Speedup</h2>\n\
         <div class=\"bar\"><label for=\"processors-slider\">on <span id=\"p\"></span></label>\n\
         <input type=\"range\" id=\"processors-slider\" min=\"0\" value=\"0\">\n\
         <output id=\"band\" class=\"big\" for=\"processors-slider\"></output></div>\n\
         {what_if}\
         <svg id=\"speedup\" viewBox=\"0 0 640 320\" role=\"img\" aria-label=\"Predicted speedups against processors, with \
         their band. The slider above says the same in numbers.\"></svg>\n\
         <h2>Fork sites</h2><div class=\"scroll\"><table id=\"sites\"></table></div>\n</section>\n",
        items(&sentences),
        items(&advice)
    )
}

/// The sites of the table: those that forks belong to, by their part of the span.
fn sites(profile: &Profile) -> Vec<&SiteProfile> {
    let mut sites = profile.sites_by_span();
    sites.truncate(SITES);
    sites
}

/// For which numbers of processors the page knows the answer.
fn processors(profile: &Profile) -> Vec<u32> {
    let mut all: Vec<u32> =
        (1..=16).chain([20, 24, 28, 32, 40, 48, 56, 64, 96, 128, 192, 256, 512, 1024]).collect();
    all.push(profile.processors.clamp(1, 4096));
    all.sort_unstable();
    all.dedup();
    all
}

/// What the page's code needs.
pub(crate) fn data(profile: &Profile) -> Value {
    let scaling = Scaling::of(profile);
    let processors = processors(profile);
    let bands: Vec<Value> = processors
        .iter()
        .map(|&p| {
            let band = scaling.predict(p).band;
            json!([p, band.from, band.likely, band.to])
        })
        .collect();
    let sites: Vec<Value> = sites(profile)
        .into_iter()
        .map(|site| {
            let faster = FACTORS.map(|factor| {
                let on = |&p: &u32| scaling.predict(p).band.likely * gain(&scaling, site, factor, p);
                processors.iter().map(on).collect::<Vec<f64>>()
            });
            json!({
                "name": format!("{} at {}", site.kind, site.location()),
                "forks": site.forks,
                "grain": (site.forks > 0).then(|| site.grain_ns()),
                "work": site.work_ns as f64 / profile.work_ns.max(1) as f64,
                "span": profile.share_of_span(site.span_ns),
                "faster": faster,
            })
        })
        .collect();
    json!({ "bands": bands, "sites": sites, "factors": FACTORS, "shown": profile.processors })
}

/// How many times as fast the program is on `p` processors if the strands of a site are faster, and if the critical path
/// stays where it is.
fn gain(scaling: &Scaling, site: &SiteProfile, factor: f64, p: u32) -> f64 {
    // What was measured on that very number of processors holds for the program as it is.
    let growth = scaling.growth.map(|beside| bombyx_profile::Beside { speedup: None, ..beside });
    let before = Scaling { growth, ..*scaling };
    let saved = |ns: u64| ns as f64 * 1e-9 * (1.0 - 1.0 / factor);
    let after = Scaling {
        work: (before.work - saved(site.work_ns)).max(0.0),
        span: (before.span - saved(site.span_ns)).max(0.0),
        burdened_span: (before.burdened_span - saved(site.span_ns)).max(0.0),
        ..before
    };
    let ratio = before.time(p) / after.time(p);
    if ratio.is_finite() { ratio.max(1.0) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half of the work and all of the span are one site. On one processor the work counts, on many the span.
    #[test]
    fn what_if_follows_work_and_span() {
        let site = SiteProfile { work_ns: 500_000_000, span_ns: 100_000_000, ..SiteProfile::default() };
        let scaling = Scaling::new(1.0, 0.1, 0.1);
        assert!((gain(&scaling, &site, 2.0, 1) - 1.0 / 0.75).abs() < 1e-9);
        assert!(gain(&scaling, &site, 2.0, 1024) > 1.8);
        assert!(gain(&scaling, &site, 10.0, 8) > gain(&scaling, &site, 2.0, 8));
    }
}
