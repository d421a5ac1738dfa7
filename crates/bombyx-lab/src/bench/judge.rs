//! The bars that Bombyx must clear over all workloads, on two processors: against rayon and chili, in overhead, in
//! utilisation, and between its schedulers.
//!
//! At medium grain forks do not show, so runtimes that balance well are all close to the same limit, the utilisation of
//! the machine. At fine grain forks show. Means are taken over both. Of bars on single workloads, the worst is listed,
//! and all that are missed.

use super::bar::{Bar, Verdict};
use super::case::{Case, Entry};
use crate::statistics::geometric_mean;
use crate::table::{Style, Table};
use bombyx::Scheduler;
use bombyx_workloads::{Bound, Grain, Suite};

/// The processors that the bars speak of.
pub(super) const PROCESSORS: usize = 2;
/// The schedulers that are compared with work stealing.
pub(super) const SCHEDULERS: [&str; 2] = [HETEROGENEOUS, DFDEQUES];
const HETEROGENEOUS: &str = "heterogeneous:1.25";
/// K is ten times Narlikar's. With 50,000 bytes, `dense-mm` and `strassen` at fine grain steal every 50 to 100 µs on
/// today's processors, and a hand-over takes 5 to 20 µs.
const DFDEQUES: &str = "dfdeques:500000";

/// A workload's measurements, and what is known of it.
pub(super) struct Judged<'a> {
    pub(super) case: &'a Case,
    pub(super) suite: Suite,
    pub(super) bound: Bound,
    pub(super) grain: Grain,
}

impl Judged<'_> {
    fn scheduled(&self, scheduler: &str) -> Option<&Entry> {
        self.case.scheduled(scheduler.parse::<Scheduler>().ok()?, PROCESSORS)
    }

    /// A scheduler's time over that of work stealing.
    fn over_work_stealing(&self, scheduler: &str) -> Option<f64> {
        Some(self.scheduled(scheduler)?.over(self.scheduled("work-stealing")?))
    }

    /// Bombyx's time on one processor over the serial one.
    fn overhead(&self) -> Option<f64> {
        self.case.against("serial", 1)
    }

    /// Bombyx's time if forks cost nothing and everything else stayed the same, over rayon's.
    fn with_free_forks(&self) -> Option<f64> {
        Some(self.case.against("rayon", PROCESSORS)? / self.overhead()?.max(1.0))
    }

    /// The serial time divided by the number of processors, over rayon's.
    fn ideal(&self) -> Option<f64> {
        let rayon = self.case.against("rayon", PROCESSORS)? / self.case.against("serial", PROCESSORS)?;
        Some(rayon / PROCESSORS as f64)
    }
}

/// All bars over these workloads.
pub(super) fn bars(judged: &[Judged<'_>]) -> Vec<Bar> {
    let mut bars = Vec::new();
    for (runtime, limit) in [("rayon", 0.90), ("chili", 1.0)] {
        let ratios = judged.iter().filter_map(|one| one.case.against(runtime, PROCESSORS));
        let what = format!("all workloads, P = {PROCESSORS}, geometric mean");
        bars.push(Bar::times(what, geometric_mean(ratios), limit, runtime));
    }
    bars.extend(single(judged));
    let fine = judged.iter().filter(|one| one.grain == Grain::Fine);
    let dfdeques = geometric_mean(fine.filter_map(|one| one.over_work_stealing(DFDEQUES)));
    bars.push(Bar::times(format!("{DFDEQUES}, fine, geometric mean"), dfdeques, 1.05, "work-stealing"));
    let heterogeneous = geometric_mean(judged.iter().filter_map(|one| one.over_work_stealing(HETEROGENEOUS)));
    bars.push(Bar::times(format!("{HETEROGENEOUS}, geometric mean"), heterogeneous, 1.03, "work-stealing"));
    bars.push(Bar::times(format!("{HETEROGENEOUS}, muggings in a second"), muggings(judged), 1.0, "one"));
    bars
}

/// Which workloads, at which grain.
type Choice = fn(&Judged<'_>) -> bool;

/// The best that could be reached against rayon: with forks that cost nothing, and also with processors that never wait
/// or slow each other down, so that a workload takes TS/P. `None` if nothing was compared.
pub(super) fn limits(judged: &[Judged<'_>], style: Style) -> Option<String> {
    let rows: [(&str, Choice); 4] = [
        ("both grains", |_| true),
        ("medium grain", |one| one.grain == Grain::Medium),
        ("fine grain", |one| one.grain == Grain::Fine),
        ("fine, and medium where a paper has both", |one| {
            one.grain == Grain::Fine || one.suite == Suite::DfDeques
        }),
    ];
    let widest = rows.iter().map(|(part, _)| part.len()).max().unwrap_or(0);
    let table = Table::new(style)
        .words("geometric mean over rayon", widest)
        .numbers("Bombyx", 0)
        .numbers("if its forks were free", 0)
        .numbers(format!("TS/{PROCESSORS}"), 5);
    let lines = rows.iter().filter_map(|(part, choice)| {
        let mean = |figure: fn(&Judged<'_>) -> Option<f64>| {
            let mean = geometric_mean(judged.iter().filter(|one| choice(one)).filter_map(figure))?;
            Some(format!("{mean:.3}"))
        };
        Some(table.line([
            (*part).to_owned(),
            mean(|one| one.case.against("rayon", PROCESSORS))?,
            mean(|one| one.with_free_forks())?,
            mean(|one| one.ideal())?,
        ]))
    });
    let lines: String = lines.collect();
    (!lines.is_empty()).then(|| table.head() + &lines)
}

/// Whether a bar on this workload alone is missed.
pub(super) fn misses(judged: Judged<'_>) -> bool {
    single(&[judged]).iter().any(|bar| bar.verdict() == Verdict::Missed)
}

/// The bars on single workloads.
fn single(judged: &[Judged<'_>]) -> Vec<Bar> {
    let medium = |one: &Judged<'_>| one.grain == Grain::Medium;
    let mut bars = each(judged, |_| true, |one| one.case.against("rayon", PROCESSORS), &|what, measured| {
        Bar::times(format!("{what}, P = {PROCESSORS}"), measured, 1.05, "rayon")
    });
    bars.extend(each(judged, medium, |one| one.overhead(), &|what, measured| {
        Bar::times(format!("{what}, P = 1"), measured, 1.10, "serial")
    }));
    let fib = judged.iter().find(|one| one.case.name.starts_with("fib") && one.grain == Grain::Fine);
    bars.push(Bar::times("fib, fine, P = 1".into(), fib.and_then(Judged::overhead), 2.2, "serial"));
    let share = |one: &Judged<'_>| Some(1.0 / (one.case.against("serial", PROCESSORS)? * PROCESSORS as f64));
    let compute = |one: &Judged<'_>| one.bound == Bound::Compute && medium(one);
    bars.extend(each(judged, compute, |one| share(one).map(|share| 1.0 / share), &|what, inverse| {
        let share = inverse.map(|inverse| 1.0 / inverse);
        Bar::at_least(format!("{what}, utilisation, P = {PROCESSORS}"), share, 0.85, "of both")
    }));
    bars.extend(each(judged, |_| true, |one| one.over_work_stealing(HETEROGENEOUS), &|what, measured| {
        Bar::times(format!("{what}, heterogeneous"), measured, 1.03, "work-stealing")
    }));
    bars
}

/// How often per second, over all workloads, processors on equal CPUs exchanged them.
fn muggings(judged: &[Judged<'_>]) -> Option<f64> {
    let samples = judged.iter().filter_map(|one| one.scheduled(HETEROGENEOUS)).flat_map(Entry::samples);
    let (count, seconds) = samples.fold((0, 0.0), |(count, seconds), sample| {
        (count + sample.counts.map_or(0, |counts| counts.muggings), seconds + sample.seconds)
    });
    (seconds > 0.0).then(|| count as f64 / seconds)
}

/// The bar of the workload with the greatest figure, and those of all others that miss it.
fn each(
    judged: &[Judged<'_>],
    concerns: impl Fn(&Judged<'_>) -> bool,
    figure: impl Fn(&Judged<'_>) -> Option<f64>,
    bar: &dyn Fn(&str, Option<f64>) -> Bar,
) -> Vec<Bar> {
    let mut figures: Vec<(&str, f64)> = judged
        .iter()
        .filter(|one| concerns(one))
        .filter_map(|one| Some((one.case.name.as_str(), figure(one)?)))
        .collect();
    figures.sort_by(|a, b| b.1.total_cmp(&a.1));
    let Some(((worst, most), rest)) = figures.split_first() else { return vec![bar("every workload", None)] };
    let mut bars = vec![bar(&format!("worst: {worst}"), Some(*most))];
    let others = rest.iter().map(|(name, figure)| bar(name, Some(*figure)));
    bars.extend(others.filter(|bar| bar.verdict() == Verdict::Missed));
    bars
}

#[cfg(test)]
mod tests {
    use super::super::case::Entry;
    use super::*;
    use crate::sample::Sample;

    fn case(name: &str, serial: f64, one: f64, two: f64, rayon: f64) -> Case {
        let entry = |runtime: &str, p, seconds| Entry::new(runtime, None, p, vec![Sample::seconds(seconds)]);
        let entries = vec![
            entry("serial", 1, serial),
            entry("bombyx", 1, one),
            entry("bombyx", 2, two),
            entry("rayon", 2, rayon),
        ];
        Case { name: name.into(), about: String::new(), entries }
    }

    fn judge(case: &Case, grain: Grain) -> Judged<'_> {
        Judged { case, suite: Suite::Classics, bound: Bound::Compute, grain }
    }

    #[test]
    fn the_worst_and_the_missed_are_named() {
        let cases = [
            case("good", 1.0, 1.05, 0.5, 0.6),
            case("bad", 1.0, 1.2, 0.8, 0.5),
            case("worse", 1.0, 1.3, 1.0, 0.5),
        ];
        let judged: Vec<Judged<'_>> = cases.iter().map(|case| judge(case, Grain::Medium)).collect();
        let table = super::super::bar::table(&bars(&judged), false.into());
        for (line, verdict) in [
            ("worst: worse, P = 2 ", "MISSED"),
            ("bad, P = 2 ", "MISSED"),
            ("worst: worse, P = 1 ", "MISSED"),
            ("worst: worse, utilisation", "MISSED"),
            ("bad, utilisation", "MISSED"),
            ("fib, fine, P = 1 ", "not measured"),
        ] {
            let found =
                table.lines().find(|shown| shown.starts_with(line)).unwrap_or_else(|| panic!("{table}"));
            assert!(found.ends_with(verdict), "{found}");
        }
        assert!(!table.contains("good"), "{table}");
        assert!(table.contains("0.500 ×  ≥ 0.850 × of both"), "{table}");
    }

    #[test]
    fn schedulers_are_compared_with_work_stealing_at_their_grain() {
        let scheduled = |name: &str, dfdeques: f64, heterogeneous: f64| {
            let mut case = case(name, 1.0, 1.0, 0.5, 0.5);
            for (scheduler, seconds) in
                [("work-stealing", 0.5), (DFDEQUES, dfdeques), (HETEROGENEOUS, heterogeneous)]
            {
                let samples = vec![Sample::seconds(seconds)];
                case.entries.push(Entry::new("bombyx", Some(scheduler.parse().unwrap()), 2, samples));
            }
            case
        };
        let cases = [scheduled("calm", 5.0, 0.5), scheduled("hungry", 0.55, 0.6)];
        let judged = [judge(&cases[0], Grain::Medium), judge(&cases[1], Grain::Fine)];
        let table = super::super::bar::table(&bars(&judged), false.into());
        for line in [
            "dfdeques:500000, fine, geometric mean          1.100 ×  ≤ 1.050 × work-stealing  MISSED",
            "worst: hungry, heterogeneous                   1.200 ×  ≤ 1.030 × work-stealing  MISSED",
            "heterogeneous:1.25, muggings in a second       0.000 ×  ≤ 1.000 × one            holds",
        ] {
            let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(table.lines().any(|shown| words(shown) == words(line)), "{line} is not in\n{table}");
        }
    }

    #[test]
    fn what_any_scheduler_could_reach_is_told() {
        let cases = [case("a", 1.0, 1.0, 0.6, 0.625), case("b", 1.0, 1.25, 0.7, 1.0)];
        let judged = [judge(&cases[0], Grain::Medium), judge(&cases[1], Grain::Fine)];
        let limits = limits(&judged, false.into()).unwrap();
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let lines: Vec<String> = limits.lines().filter(|line| !line.starts_with('─')).map(words).collect();
        assert_eq!(
            lines,
            [
                "geometric mean over rayon Bombyx if its forks were free TS/2",
                "both grains 0.820 0.733 0.632",
                "medium grain 0.960 0.960 0.800",
                "fine grain 0.700 0.560 0.500",
                "fine, and medium where a paper has both 0.700 0.560 0.500",
            ]
        );
        assert!(super::limits(&judged[..0], false.into()).is_none());
    }
}
