//! The schedulers of Bender and Rabin's paper on processors of different speeds. The paper proves bounds and measures
//! nothing, so ours stand beside its bounds: Theorem 2 for maximum utilization, Theorem 4 for high utilization,
//! Theorem 6 for the enhanced Cilk scheduler.

use super::exhibit::{Exhibit, Page, Sheet, none};
use super::lab::Lab;
use super::plot::{Bars, Scale, Whose};
use crate::Result;
use bombyx_dag::Measures;
use bombyx_dag::generate::Spec;
use bombyx_sim::{Simulation, Speeds};
use serde_json::{Value, json};

pub(super) const EXHIBITS: &[Exhibit] = &[Exhibit {
    id: "het-speeds",
    about: "greedy, maximum utilization, high utilization and enhanced Cilk over speed profiles",
    make: speeds,
}];

const BETA: f64 = 1.5;
/// Name in the plot, heading in the tables, name in the simulator, colour.
const SCHEDULERS: [(&str, &str, &str, usize); 5] = [
    ("greedy", "greedy", "greedy", 7),
    ("maximum utilization", "max util", "maximum-utilization", 0),
    ("high utilization(1.5)", "high util", "high-utilization:1.5", 5),
    ("Cilk (work stealing)", "Cilk", "work-stealing", 3),
    ("enhanced Cilk(1.5)", "enhanced", "heterogeneous:1.5", 1),
];

/// Eight processors each.
const PROFILES: [(&str, &str); 6] = [
    ("equal", "8x1"),
    ("one fast", "8,7x1"),
    ("one slow", "7x4,1/2"),
    ("halves", "4x4,4x1"),
    ("geometric", "16,8,4,2,1,1/2,1/4,1/8"),
    ("changing", "4x4,4x1;"),
];

/// Programs with much and with little parallelism for eight processors.
fn programs(lab: &Lab) -> [&'static str; 3] {
    lab.pick(
        ["fib:12", "skewed:leaves=40,work=6", "greedy-trap:long=100,rounds=2"],
        ["fib:20", "skewed:leaves=400,work=50", "greedy-trap:long=2000,rounds=6"],
    )
}

/// The profile; one that changes swaps fast and slow processors ten times while the program runs.
fn profile(text: &str, work: u64) -> Result<Speeds> {
    let Some(base) = text.strip_suffix(';') else { return Ok(text.parse()?) };
    let (half, total) = (4, 20);
    let every = (work / total / 10).max(1);
    let mut text = base.to_owned();
    for nth in 1..=10u64 {
        for p in 1..=8u64 {
            let fast = (p <= half) == nth.is_multiple_of(2);
            text += &format!(";{}:p{p}={}", nth * every, if fast { 4 } else { 1 });
        }
    }
    Ok(text.parse()?)
}

/// The second terms of Theorems 2, 4 and 6 in units of W∞/π_tot, for speeds in falling order.
fn brackets(speeds: &[f64]) -> [f64; 3] {
    let p = speeds.len() as f64;
    [speeds.windows(2).map(|pair| pair[1] / pair[0]).sum(), (p - 1.0) * BETA, p * BETA]
}

fn speeds(lab: &Lab) -> Result<Page> {
    let (mut sheets, mut groups) = (Vec::new(), Vec::new());
    let (mut bounded, mut held, mut gains) = (0, 0, Vec::new());
    for program in programs(lab) {
        let spec: Spec = program.parse()?;
        let computation = spec.build()?;
        let measures = Measures::of(&computation);
        let mut headings = vec!["speeds", "W1/π_tot"];
        headings.extend(SCHEDULERS.map(|(_, heading, ..)| heading));
        headings.extend(["Thm 2", "Thm 4", "mugs", "thr"]);
        let mut sheet = Sheet::new(
            format!("{spec}: work {}, span {}; time in units", measures.work, measures.span),
            &headings,
        );
        for (name, text) in PROFILES {
            let speeds = profile(text, measures.work)?;
            let list: Vec<f64> =
                speeds.list().unwrap_or_default().iter().map(|speed| speed.to_f64()).collect();
            let total: f64 = list.iter().sum();
            let ideal = measures.work as f64 / total;
            let mut cells: Vec<Value> = vec![name.into(), json!(ideal)];
            let mut bars = Vec::new();
            let (mut times, mut threads, mut muggings) = (Vec::new(), Vec::new(), 0);
            for (_, _, scheduler, _) in SCHEDULERS {
                let outcome = Simulation::new(&computation, scheduler.parse()?)
                    .speeds(speeds.clone())
                    .seed(42)
                    .run()
                    .map_err(|error| error.to_string())?;
                muggings = outcome.muggings;
                times.push(outcome.time());
                threads.push(outcome.peak.threads);
                cells.push(json!(outcome.time()));
                bars.push(Some(outcome.time() / ideal));
            }
            let bounds = brackets(&list).map(|bracket| ideal + bracket * measures.span as f64 / total);
            if speeds.changes().is_empty() {
                bounded += 2;
                held +=
                    usize::from(times[1] <= bounds[0] * 1.001) + usize::from(times[2] <= bounds[1] * 1.001);
                cells.extend([json!(bounds[0]), json!(bounds[1])]);
            } else {
                cells.extend([none(), none()]);
            }
            cells.extend([json!(muggings), json!(threads)]);
            gains.push(times[3] / times[4]);
            sheet.row(cells);
            groups
                .push((format!("{}, {name}", spec.to_string().split(':').next().unwrap_or_default()), bars));
        }
        sheets.push(sheet);
    }
    let bars = Bars {
        title: "Time over W1/π_tot on 8 processors of different speeds (Bender and Rabin)".into(),
        unit: "times the time of a perfect schedule of the work, logarithmic".into(),
        scale: Scale::Log(2),
        lanes: SCHEDULERS
            .iter()
            .map(|(name, _, _, color)| ((*name).to_owned(), Whose::Ours, *color))
            .collect(),
        groups,
    };
    let best = gains.iter().copied().fold(0.0, f64::max);
    Ok(Page {
        method: format!(
            "Simulated on 8 processors, exact speeds ({}), β = 1.5; `changing` exchanges fast and slow processors ten \
             times. max util, high util: maximum and high utilization; enhanced: enhanced Cilk, mugs: its muggings; thr: the \
             most living threads of the five schedulers in turn. The programs allocate nothing, and simulated processors \
             have no carriers.",
            PROFILES.map(|(name, text)| format!("{name} {}", text.trim_end_matches(';'))).join("; ")
        ),
        sheets,
        agrees: format!(
            "{held} of {bounded} times are within Theorems 2 and 4; on equal speeds enhanced Cilk is Cilk; mugging gains up to \
             {best:.2} ×."
        ),
        differs: "nothing to compare with: the paper proves and does not measure.".into(),
        plot: bars.draw()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_of_equal_speeds() {
        assert_eq!(brackets(&[1.0; 4]), [3.0, 4.5, 6.0]);
    }

    #[test]
    fn a_changing_profile_changes() {
        assert_eq!(profile("4x4,4x1;", 1000).unwrap().changes().len(), 80);
        assert!(profile("8x1", 1000).unwrap().changes().is_empty());
    }
}
