//! The schedulers of Bender and Rabin's paper on processors of different speeds. The paper proves bounds and measures
//! nothing, so our figures are beside its bounds: Theorem 2 for maximum utilization, Theorem 4 for high utilization,
//! Claim 3 for the fastest on the critical path. The paper leaves open how to choose β: [`betas`] shows what β trades.

use super::exhibit::{Exhibit, Page, Sheet};
use super::lab::Lab;
use super::plot::{Bars, Scale, Whose};
use super::verdict::Verdicts;
use crate::Result;
use bombyx_dag::generate::Spec;
use bombyx_dag::{Computation, Measures};
use bombyx_sim::{Simulation, Speeds};
use serde_json::{Value, json};

pub(super) const EXHIBITS: &[Exhibit] = &[
    Exhibit {
        id: "het-speeds",
        about: "greedy, critical path, maximum and high utilization, Cilk and enhanced Cilk over speed profiles",
        make: speeds,
    },
    Exhibit {
        id: "het-beta",
        about: "what β trades: time against migrations and muggings, high utilization and enhanced Cilk",
        make: betas,
    },
];

const BETA: f64 = 1.5;
/// Name in the plot, heading in the tables, name in the simulator, colour.
const SCHEDULERS: [(&str, &str, &str, usize); 6] = [
    ("greedy", "greedy", "greedy", 7),
    ("critical path", "crit path", "critical-path", 6),
    ("maximum utilization", "max util", "maximum-utilization", 0),
    ("high utilization(1.5)", "high util", "high-utilization:1.5", 5),
    ("Cilk (work stealing)", "Cilk", "work-stealing", 3),
    ("enhanced Cilk(1.5)", "enhanced", "heterogeneous:1.5", 1),
];
/// Their places in the list.
const GREEDY: usize = 0;
const CRITICAL: usize = 1;
const MAXIMUM: usize = 2;
const HIGH: usize = 3;
const CILK: usize = 4;
const ENHANCED: usize = 5;

/// Eight processors each. Some ratios lie below the β of the table, some above.
const PROFILES: [(&str, &str); 9] = [
    ("equal", "8x1"),
    ("within 1.1", "4x1.1,4x1"),
    ("within 1.4", "2x1.4,2x1.25,2x1.1,2x1"),
    ("1 to 2", "2,1.9,1.7,1.5,1.4,1.25,1.1,1"),
    ("1 to 8", "8,6,4,3,2,1.5,1.25,1"),
    ("one fast", "8,7x1"),
    ("one slow", "7x4,1/2"),
    ("halves", "4x4,4x1"),
    ("changing", "4x4,4x1;"),
];

/// Programs with much and with little parallelism for eight processors.
fn programs(lab: &Lab) -> [&'static str; 3] {
    lab.pick(
        ["fib:12", "skewed:leaves=40,work=6", "greedy-trap:long=100,rounds=2"],
        ["fib:20", "skewed:leaves=400,work=50", "greedy-trap:processors=8,long=2000,rounds=6"],
    )
}

fn seeds(lab: &Lab) -> u64 {
    lab.pick(3, 11)
}

/// The profile. One that changes swaps fast and slow processors ten times while the program runs.
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

/// The second terms of Theorem 2, Theorem 4 and Claim 3 in units of W∞/π_tot, for speeds in falling order.
fn brackets(speeds: &[f64], beta: f64) -> [f64; 3] {
    let sum = |i: usize| speeds[..i].iter().sum::<f64>();
    let claim_3 = (1..speeds.len()).map(|i| i as f64 * speeds[i] / sum(i)).sum();
    [speeds.windows(2).map(|pair| pair[1] / pair[0]).sum(), (speeds.len() - 1) as f64 * beta, claim_3]
}

/// Means over the seeds, and the runs' times one by one.
struct Mean {
    time: f64,
    times: Vec<f64>,
    migrations: f64,
    muggings: f64,
    preemptions: f64,
    threads: u64,
    /// Instructions that idle processors could have executed.
    idle: f64,
}

fn mean(c: &Computation, scheduler: &str, speeds: &Speeds, seeds: u64) -> Result<Mean> {
    let mut outcomes = Vec::new();
    for seed in 1..=seeds {
        let simulation = Simulation::new(c, scheduler.parse()?).speeds(speeds.clone()).seed(seed);
        outcomes.push(simulation.run().map_err(|error| error.to_string())?);
    }
    let count = outcomes.len() as f64;
    let times: Vec<f64> = outcomes.iter().map(|outcome| outcome.time()).collect();
    let average = |what: fn(&bombyx_sim::Outcome) -> f64| outcomes.iter().map(what).sum::<f64>() / count;
    Ok(Mean {
        time: times.iter().sum::<f64>() / count,
        times,
        migrations: average(|outcome| outcome.migrations as f64),
        muggings: average(|outcome| outcome.muggings as f64),
        preemptions: average(|outcome| outcome.preemptions as f64),
        threads: outcomes.iter().map(|outcome| outcome.peak.threads).max().unwrap_or(0),
        idle: average(|outcome| outcome.capacity.instructions(outcome.capacity.idle)),
    })
}

/// How often something held.
#[derive(Default)]
struct Held {
    held: usize,
    of: usize,
}

impl Held {
    fn note(&mut self, holds: bool) {
        self.held += usize::from(holds);
        self.of += 1;
    }

    fn judge(&self, verdicts: &mut Verdicts, claim: &str) {
        verdicts.count(claim, self.held, self.of, None);
    }
}

/// At most the bound, apart from rounding.
fn at_most(value: f64, bound: f64) -> bool {
    value <= bound * (1.0 + 1e-9)
}

fn falling(speeds: &Speeds) -> Vec<f64> {
    let mut list: Vec<f64> = speeds.list().unwrap_or_default().iter().map(|speed| speed.to_f64()).collect();
    list.sort_by(|a, b| b.total_cmp(a));
    list
}

fn speeds(lab: &Lab) -> Result<Page> {
    let (mut sheets, mut groups) = (Vec::new(), Vec::new());
    let [mut bounded, mut changing, mut as_cilk, mut unmugged, mut helped, mut behind] =
        [const { Held { held: 0, of: 0 } }; 6];
    let (mut best, mut worst_greedy) = (0.0f64, 0.0f64);
    for program in programs(lab) {
        let spec: Spec = program.parse()?;
        let computation = spec.build()?;
        let measures = Measures::of(&computation);
        let mut headings = vec!["speeds", "W1/π_tot"];
        headings.extend(SCHEDULERS.map(|(_, heading, ..)| heading));
        headings.extend(["Thm 2", "Thm 4", "Claim 3", "mugs", "thr"]);
        let mut sheet = Sheet::new(
            format!("{spec}: work {}, span {}; time in units", measures.work, measures.span),
            &headings,
        );
        for (name, text) in PROFILES {
            let speeds = profile(text, measures.work)?;
            let list = falling(&speeds);
            let (total, span) = (list.iter().sum::<f64>(), measures.span as f64);
            let ideal = measures.work as f64 / total;
            let mut means = Vec::new();
            for (_, _, scheduler, _) in SCHEDULERS {
                means.push(mean(&computation, scheduler, &speeds, seeds(lab))?);
            }
            let terms = brackets(&list, BETA).map(|bracket| bracket * span);
            let judged = [MAXIMUM, HIGH, CRITICAL];
            let steady = speeds.changes().is_empty();
            for (&which, term) in judged.iter().zip(terms) {
                match steady {
                    true => bounded.note(at_most(means[which].time, ideal + term / total)),
                    false => changing.note(at_most(means[which].idle, term)),
                }
            }
            let ratio = list[0] / list[list.len() - 1];
            if steady && ratio <= BETA {
                as_cilk.note(means[ENHANCED].times == means[CILK].times);
                unmugged.note(means[ENHANCED].muggings == 0.0);
            } else {
                helped.note(means[ENHANCED].time <= means[CILK].time);
            }
            behind.note(means[GREEDY].time >= means[MAXIMUM].time * (1.0 - 1e-9));
            best = best.max(means[CILK].time / means[ENHANCED].time);
            worst_greedy = worst_greedy.max(means[GREEDY].time / means[MAXIMUM].time);
            let mut cells: Vec<Value> = vec![name.into(), json!(ideal)];
            cells.extend(means.iter().map(|mean| json!(mean.time)));
            let bound = |term: f64| if steady { json!(ideal + term / total) } else { super::exhibit::none() };
            cells.extend(terms.map(bound));
            cells.push(json!(means[ENHANCED].muggings));
            cells.push(json!(means[ENHANCED].threads));
            sheet.row(cells);
            let program = spec.to_string().split(':').next().unwrap_or_default().to_owned();
            groups.push((
                format!("{program}, {name}"),
                means.iter().map(|mean| Some(mean.time / ideal)).collect(),
            ));
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
    let mut verdicts = Verdicts::default();
    bounded.judge(&mut verdicts, "times are within Theorem 2, Theorem 4 and Claim 3");
    changing
        .judge(&mut verdicts, "while speeds change, idle processors waste no more than their second terms");
    as_cilk.judge(&mut verdicts, "with speeds within β enhanced Cilk takes Cilk's time, seed by seed");
    unmugged.judge(&mut verdicts, "with speeds within β nobody is mugged");
    helped.judge(
        &mut verdicts,
        "with speeds further apart enhanced Cilk takes no longer than Cilk, on average",
    );
    behind.judge(&mut verdicts, "greedy takes at least as long as maximum utilization");
    verdicts.note(format!(
        "the paper proves and does not measure; mugging gains up to {best:.2} ×, and greedy loses up to {worst_greedy:.2} × \
         against maximum utilization"
    ));
    let (agrees, differs) = verdicts.texts();
    Ok(Page {
        method: format!(
            "Simulated on 8 processors, exact speeds ({}), β = 1.5, means of {} seeds; `changing` exchanges fast and slow \
             processors ten times. crit path: the i-th fastest on the i-th farthest, once per instruction; max util, high util: \
             maximum and high utilization; enhanced: enhanced Cilk, mugs: its muggings, thr: its most living threads. The \
             programs allocate nothing, and simulated processors have no carriers.",
            PROFILES.map(|(name, text)| format!("{name} {}", text.trim_end_matches(';'))).join("; "),
            seeds(lab)
        ),
        sheets,
        agrees,
        differs,
        plot: bars.draw()?,
    })
}

/// The β of [`betas`]: below, between and above the ratios of its speeds.
const SWEEP: [&str; 8] = ["1", "1.1", "1.25", "1.5", "2", "3", "5", "10"];
/// Speeds whose ratios lie between 1.07 and 8.
const GRADED: &str = "8,6,4,3,2,1.5,1.25,1";

fn betas(lab: &Lab) -> Result<Page> {
    let speeds: Speeds = GRADED.parse()?;
    let list = falling(&speeds);
    let total: f64 = list.iter().sum();
    let (mut sheets, mut groups) = (Vec::new(), Vec::new());
    let [mut bounded, mut fewer, mut fewest, mut slower, mut as_cilk] =
        [const { Held { held: 0, of: 0 } }; 5];
    for program in programs(lab) {
        let spec: Spec = program.parse()?;
        let computation = spec.build()?;
        let measures = Measures::of(&computation);
        let ideal = measures.work as f64 / total;
        let headings = [
            "β",
            "high util",
            "Thm 4",
            "migrations",
            "preemptions",
            "enhanced",
            "migrations ",
            "mugs",
            "preemptions ",
        ];
        let mut sheet = Sheet::new(
            format!("{spec}: work {}, span {}; time in units", measures.work, measures.span),
            &headings,
        );
        let (mut high, mut enhanced) = (Vec::new(), Vec::new());
        for beta in SWEEP {
            let utilization = mean(&computation, &format!("high-utilization:{beta}"), &speeds, 1)?;
            let mugging = mean(&computation, &format!("heterogeneous:{beta}"), &speeds, seeds(lab))?;
            let bracket = brackets(&list, beta.parse()?)[1];
            let bound = ideal + bracket * measures.span as f64 / total;
            bounded.note(at_most(utilization.time, bound));
            sheet.row(vec![
                beta.into(),
                json!(utilization.time),
                json!(bound),
                json!(utilization.migrations),
                json!(utilization.preemptions),
                json!(mugging.time),
                json!(mugging.migrations),
                json!(mugging.muggings),
                json!(mugging.preemptions),
            ]);
            let program = spec.to_string().split(':').next().unwrap_or_default().to_owned();
            groups.push((
                format!("{program}, β = {beta}"),
                vec![Some(utilization.time / ideal), Some(mugging.time / ideal)],
            ));
            high.push(utilization);
            enhanced.push(mugging);
        }
        fewer.note(enhanced.windows(2).all(|pair| pair[1].muggings <= pair[0].muggings));
        let last = SWEEP.len() - 1;
        fewest.note(high[last].preemptions <= high[0].preemptions);
        slower.note(enhanced[last].time >= enhanced[0].time);
        let cilk = mean(&computation, "work-stealing", &speeds, seeds(lab))?;
        as_cilk.note(enhanced[last].muggings == 0.0 && enhanced[last].times == cilk.times);
        sheets.push(sheet);
    }
    let bars = Bars {
        title: format!("Time over W1/π_tot at speeds {GRADED}, over β (Bender and Rabin)"),
        unit: "times the time of a perfect schedule of the work, logarithmic".into(),
        scale: Scale::Log(2),
        lanes: [(HIGH, "high utilization(β)"), (ENHANCED, "enhanced Cilk(β)")]
            .map(|(which, name)| (name.to_owned(), Whose::Ours, SCHEDULERS[which].3))
            .to_vec(),
        groups,
    };
    let mut verdicts = Verdicts::default();
    bounded.judge(&mut verdicts, "high utilization is within Theorem 4 at every β");
    fewer.judge(&mut verdicts, "muggings never grow with β, on average");
    fewest.judge(&mut verdicts, "high utilization preempts no more often with the largest β than with 1");
    slower.judge(&mut verdicts, "enhanced Cilk is at least as slow with the largest β as with 1");
    as_cilk.judge(
        &mut verdicts,
        "with β above all ratios nobody is mugged, and enhanced Cilk is Cilk, seed by seed",
    );
    verdicts.note("the paper leaves the choice of β open (§2, §3.1)");
    let (agrees, differs) = verdicts.texts();
    Ok(Page {
        method: format!(
            "Simulated at speeds {GRADED}; enhanced Cilk as means of {} seeds. high util: high utilization; mugs: muggings, which \
             are among the migrations of enhanced Cilk, as steals are.",
            seeds(lab)
        ),
        sheets,
        agrees,
        differs,
        plot: bars.draw()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_of_equal_speeds() {
        assert_eq!(brackets(&[1.0; 4], 1.5), [3.0, 4.5, 3.0]);
        assert_eq!(brackets(&[4.0, 2.0, 1.0], 1.0)[0], 1.0);
    }

    #[test]
    fn a_changing_profile_changes() {
        assert_eq!(profile("4x4,4x1;", 1000).unwrap().changes().len(), 80);
        assert!(profile("8x1", 1000).unwrap().changes().is_empty());
    }

    #[test]
    fn ratios_lie_on_both_sides_of_beta() {
        let ratio = |text: &str| {
            let list = falling(&profile(text, 1000).unwrap());
            list[0] / list[list.len() - 1]
        };
        let ratios: Vec<f64> = PROFILES.iter().map(|(_, text)| ratio(text)).collect();
        assert!(ratios.iter().filter(|&&ratio| ratio > 1.0 && ratio <= BETA).count() >= 2);
        assert!(ratios.iter().filter(|&&ratio| ratio > BETA && ratio <= 8.0).count() >= 4);
    }
}
