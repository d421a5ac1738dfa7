//! The parts of the page that show a recorded computation: the grain graph, the flame graphs, what other machines would do,
//! and memory over time.
//!
//! **Not here:** recording, and schedulers. The runtime records, and `bombyx-sim` schedules.
//!
//! A recording can have any number of fork sites. The page has the [`names::MOST`] sites that matter most, and one entry
//! for all others.

mod graph;
mod names;
mod paths;
mod runs;
mod tree;

use crate::compare::Figure;
use crate::html::{Part, Section, bytes, list, number, time};
use crate::model::{Model, On};
use bombyx_dag::{Computation, Measures, Sites, WeightUnit};
use names::Names;
use runs::Runs;
use serde_json::{Value, json};

/// The parts as HTML, and what the page's code needs.
pub(crate) fn of(c: &Computation) -> (Vec<Section>, Value) {
    let sites = Sites::of(c);
    let rows = sites.measures(c);
    let names = Names::of(c, &rows);
    let runs = Runs::of(c);
    let (model, found) = model(c, &sites, &names, &runs);
    let totals: Vec<Value> =
        names.totals(&rows).iter().map(|row| json!([row.forks, row.strands, row.work, row.span])).collect();
    let graph = graph::Graph::of(c, &sites, &names);
    let data = json!({
        "unit": match c.weight_unit() { WeightUnit::Nanoseconds => "ns", WeightUnit::Instructions => "instructions" },
        "work": rows.iter().map(|row| row.work).sum::<u64>(),
        "span": c.span(),
        "names": names.texts,
        "sites": totals,
        "tree": tree::data(c, &names),
        "edges": graph.edges,
        "strip": graph.strip,
        "model": model.data(),
        "memory": runs.memory(),
    });
    (sections(c, &sentences(c, &model, &runs), &runs, found), data)
}

fn sections(c: &Computation, sentences: &[String], runs: &Runs, found: Found) -> Vec<Section> {
    let answers = match found {
        Found::All => {
            "For one site at a time the span is exact, because every path that its factor can make the longest was \
             computed. If you move several sliders, it is the longest of these paths, and the real span may be longer."
        }
        Found::Some => {
            "The recording is large, so the span is the longest of some paths. The real span may be longer. \
             <code>bombyx simulate --faster</code> computes it exactly."
        }
    };
    let how = if runs.simulated() {
        "The simulator ran the recording under work stealing on each number of processors, with the cost of a steal that was \
         measured. The band of the speedup goes from T1/(T1/P + (1 − 1/P)·T∞) to the smaller of P and T1/T∞."
    } else {
        "The recording is too large to simulate for a page. So these are the times T1/P + (1 − 1/P)·T∞, which no greedy \
         scheduler exceeds if steals cost nothing. <code>bombyx simulate</code> runs it."
    };
    let speedup = format!(
        "{}<div data-is=\"controls\"></div>\n<p class=\"soft\">{how} With factors, the time is W/P + c·(1 − 1/P)·S, \
         where W is the new work, S the new span, and c is such that the formula gives the simulated time where nothing is \
         changed. {answers}</p>\n",
        list(sentences)
    );
    let graph = "<div class=\"bar\"><label>colour: <select data-is=\"colour\"><option value=\"span\">share of the span</option>\
        <option value=\"inflation\">work inflation</option></select></label> \
        <span data-is=\"about\" class=\"soft\" role=\"status\"></span></div>\n\
        <div data-is=\"graph\" class=\"graph\"></div>\n\
        <p class=\"soft\">One box for each fork site, with all closures that were forked there. Arrows lead from a closure to \
        those that it forks; thick ones are on the critical path. ↻ counts forks within the site: loops and recursion.</p>\n\
        <h3>The critical path</h3>\n<div data-is=\"strip\" class=\"strip\"></div>\n\
        <details><summary>The graph as a table</summary><div class=\"scroll\"><table data-is=\"table\"></table></div></details>\n"
        .to_owned();
    let flame = "<div class=\"bar\"><label>show: <select data-is=\"measure\"><option value=\"work\">work</option>\
        <option value=\"span\">span</option></select></label> <button data-is=\"reset\">whole</button> \
        <span data-is=\"about\" class=\"soft\" role=\"status\"></span></div>\n\
        <div data-is=\"flame\" class=\"flame\"></div>\n\
        <p class=\"soft\">A closure lies below the one that forked it; recursion is folded. The width is the work of its \
        strands and of what they fork, or the part of that on the critical path. Enter or a click zooms.</p>\n\
        <details><summary>The flame graph as a table</summary><div class=\"scroll\"><table data-is=\"table\"></table></div>\
        </details>\n"
        .to_owned();
    let mut sections = vec![
        Section { part: Part::Simulated, title: "Speedup, simulated from the recording", body: speedup },
        Section { part: Part::Graph, title: "Grain graph", body: graph },
        Section { part: Part::Flame, title: "Flame graphs of work and span", body: flame },
    ];
    if c.uses_heap() && runs.simulated() {
        let memory = "<div class=\"bar\"><label>on <select data-is=\"processors\"></select></label> \
            <span data-is=\"about\" class=\"soft\" role=\"status\"></span></div>\n<div data-is=\"memory\" class=\"memory\"></div>\n\
            <p class=\"soft\">Memory in use over time, as the simulator ran the recording under work stealing: frames of living \
            threads, and what the strands had allocated and not yet freed.</p>\n"
            .to_owned();
        sections.push(Section { part: Part::Memory, title: "Memory over time", body: memory });
    }
    sections
}

fn quantity(c: &Computation, amount: f64) -> String {
    match c.weight_unit() {
        WeightUnit::Nanoseconds => time(amount),
        WeightUnit::Instructions => format!("{amount:.0} instructions"),
    }
}

fn sentences(c: &Computation, model: &Model, runs: &Runs) -> Vec<String> {
    let measures = Measures::of(c);
    let mut sentences = vec![format!(
        "The recording has {} in {}. The work is {}, the span {}: parallelism {:.1}.",
        number(c.strand_count() as u64, "strand"),
        number(c.thread_count() as u64, "thread"),
        quantity(c, measures.work as f64),
        quantity(c, measures.span as f64),
        measures.parallelism()
    )];
    if runs.simulated()
        && let Some(last) = model.on.iter().rfind(|on| on.likely >= 0.8 * f64::from(on.processors))
    {
        sentences.push(match last.processors {
            1 => "In the simulator, more than one processor is not used well.".to_owned(),
            several => format!(
                "In the simulator, {several} processors are still used well: the speedup there is {:.1}.",
                last.likely
            ),
        });
    }
    if c.uses_heap() {
        let peak = bytes(measures.serial_space as f64);
        sentences.push(format!("One processor needs at most {peak} of memory at once."));
    }
    for (key, text) in [
        ("coarsened", "Short forks were folded into the strands around them."),
        ("interrupted", "A signal ended the program; these are the runs that had ended by then."),
    ] {
        if c.notes().iter().any(|(name, _)| name == key) {
            sentences.push(text.to_owned());
        }
    }
    sentences
}

/// What two recordings are compared by.
pub(crate) fn figures(c: &Computation) -> Vec<Figure> {
    let measures = Measures::of(c);
    let amount = match c.weight_unit() {
        WeightUnit::Nanoseconds => Figure::time,
        WeightUnit::Instructions => Figure::instructions,
    };
    let mut figures = vec![
        amount("recorded work", measures.work as f64),
        amount("recorded span", measures.span as f64),
        Figure::ratio("recorded parallelism", measures.parallelism()),
        Figure::count("recorded strands", c.strand_count() as f64),
    ];
    if c.uses_heap() {
        figures.push(Figure::bytes("memory that one processor needs", measures.serial_space as f64));
    }
    figures
}

/// Whether all longest paths of one changed site are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    All,
    Some,
}

fn model(c: &Computation, sites: &Sites, names: &Names, runs: &Runs) -> (Model, Found) {
    let (paths, found) = paths::of(c, sites, names);
    let span = c.span() as f64;
    let work: f64 = c.strands().map(|strand| c.weight(strand) as f64).sum();
    let on = runs.times.iter().map(|&(processors, time)| {
        let p = f64::from(processors);
        let share = 1.0 - 1.0 / p;
        let coefficient = if processors == 1 { 0.0 } else { ((time - work / p) / (share * span)).max(0.0) };
        let likely = work / time;
        On {
            processors,
            from: (work / (work / p + span * share)).min(likely),
            likely,
            to: p.min(work / span).max(likely),
            growth: 1.0,
            coefficient,
        }
    });
    let on: Vec<On> = on.collect();
    let rows = sites.measures(c);
    let name = |&row: &usize| (names.text_of(row).to_owned(), rows[row].work as f64);
    let model = Model {
        work,
        burden: 0.0,
        serial: 0.0,
        sites: names.sliders.iter().map(name).collect(),
        paths,
        on,
        // One processor has nothing to show.
        shown: if runs.recorded > 1 { runs.recorded } else { 8 },
    };
    (model, found)
}

impl Model {
    /// The model of a recording. Where nothing is changed it has the times that the simulator gives. If one site is changed,
    /// it has the exact span.
    pub fn of_recording(c: &Computation) -> Model {
        let sites = Sites::of(c);
        let names = Names::of(c, &sites.measures(c));
        model(c, &sites, &names, &Runs::of(c)).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bombyx_dag::{Builder, SiteId};
    use bombyx_sim::{Scheduler, Simulation};

    /// Two loops beside each other, of which one has a long closure.
    fn computation() -> Computation {
        let mut b = Builder::new(0);
        let (even, odd) = (b.site("even"), b.site("odd"));
        b.strand(10);
        for (site, count, long) in [(even, 40_u64, 1000), (odd, 20, 700)] {
            let mut ends = vec![];
            for nth in 0..count {
                b.spawn_at(site, 0);
                b.strand(if nth == 3 { long } else { 100 + 7 * nth });
                ends.push(b.end());
                b.strand(1);
            }
            b.strand(1);
            ends.into_iter().for_each(|end| b.wait_for(end));
        }
        b.build().unwrap()
    }

    #[test]
    fn the_model_is_the_simulator_where_nothing_is_changed() {
        let c = computation();
        let model = Model::of_recording(&c);
        for on in model.on.iter().filter(|on| on.processors <= 64) {
            let run = Simulation::new(&c, Scheduler::WorkStealing).processors(on.processors as usize).seed(1);
            let speedup = model.work / run.run().unwrap().time();
            assert!((model.speedup(on, &[1.0, 1.0]) - speedup).abs() < 1e-9, "on {}", on.processors);
            assert!(on.from <= on.likely && on.likely <= on.to);
        }
    }

    #[test]
    fn one_changed_site_has_the_exact_span() {
        let c = computation();
        let (sites, model) = (Sites::of(&c), Model::of_recording(&c));
        for factor in [0.5, 0.9, 1.1, 1.5, 3.0, 10.0, 16.0] {
            for nth in 0..2 {
                let at = model.sites.iter().position(|site| site.0 == ["even", "odd"][nth]).unwrap();
                let mut scale = [1.0; 3];
                scale[nth + 1] = 1.0 / factor;
                let parts = sites.longest_path_if(&c, &scale);
                let span: f64 = parts.iter().zip(scale).map(|(part, factor)| *part as f64 * factor).sum();
                let length = |path: &Vec<f64>| path.iter().sum::<f64>() - path[at + 1] * (1.0 - 1.0 / factor);
                let ours = model.paths.iter().map(length).fold(0.0, f64::max);
                assert!((ours - span).abs() < 1e-6, "{factor}, {nth}: {ours} and {span}");
            }
        }
    }

    /// The formula in place of a simulation of the changed computation: near it, while one site is faster.
    #[test]
    fn a_faster_site_is_near_the_simulator() {
        let c = computation();
        let (sites, model) = (Sites::of(&c), Model::of_recording(&c));
        let at = model.sites.iter().position(|site| site.0 == "even").unwrap();
        for processors in [2, 4, 8] {
            let on = model.on.iter().find(|on| on.processors == processors).unwrap();
            let mut factors = [1.0, 1.0];
            factors[at] = 2.0;
            let faster = sites.faster(&c, &[(SiteId::new(0), 2.0)]).unwrap();
            let run =
                Simulation::new(&faster, Scheduler::WorkStealing).processors(processors as usize).seed(1);
            let simulated = model.work / run.run().unwrap().time();
            let ours = model.speedup(on, &factors);
            assert!((ours / simulated - 1.0).abs() < 0.15, "on {processors}: {ours}, simulated {simulated}");
        }
    }
}
