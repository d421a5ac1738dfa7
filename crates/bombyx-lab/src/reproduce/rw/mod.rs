//! Exhibits of Acar, Charguéraud, Muller and Rainey's paper, on their scheduler and its baselines as in `bombyx-rw`:
//! one program, in continuation-passing style, on private deques with compare-and-swap, on concurrent deques with their
//! fence, and on loads and stores. The paper also compares with a runtime of others, Cilk Plus; here that is rayon.
//! The authors used 30 cores. We use the cores that this machine has, and 30 processors in virtual time.
//!
//! **Not here:** the paper's figures as numbers. They are in [`super::seed`].

mod lanes;

use super::exhibit::{Exhibit, Page, Sheet, none, over, percent};
use super::lab::Lab;
use super::plot::{Bars, Scale, Whose};
use super::seed::rw::{ROWS, Row};
use super::verdict::{Verdicts, holds};
use crate::Result;
use crate::statistics::{geometric_mean, median, middle};
use lanes::{
    CHASE_LEV, DELTA, Interval, LANES, PD_CAS, RAYON, Run, Runs, SERIAL, TAU, THIRTY, Thirty, WS, WS_JR,
};
use serde_json::{Value, json};

pub(super) const EXHIBITS: &[Exhibit] = &[
    Exhibit {
        id: "rw-table-1",
        about: "steals and joins with loads and stores only, against private deques with compare-and-swap",
        make: table_1,
    },
    Exhibit {
        id: "rw-table-2",
        about: "the same against a runtime of others and concurrent deques with their fence",
        make: table_2,
    },
    Exhibit { id: "rw-figure-8", about: "numbers of steals", make: figure_8 },
    Exhibit { id: "rw-figure-9", about: "total parallel work: time spent in threads", make: figure_9 },
    Exhibit { id: "rw-figure-10", about: "relative idle time", make: figure_10 },
];

fn seconds(run: &Run) -> f64 {
    run.seconds
}

/// A benchmark of the paper with our runs.
struct Bench {
    row: &'static Row,
    runs: Runs,
}

impl Bench {
    fn all(lab: &Lab) -> Result<Vec<Bench>> {
        ROWS.iter().map(|row| Ok(Bench { row, runs: lanes::runs(lab, row.workload)? })).collect()
    }

    fn thirty(&self, lane: &str) -> Option<&Thirty> {
        self.runs.thirty.get(lane)
    }

    /// A lane's time against another's.
    fn time(&self, lane: &str, base: &str) -> Option<Interval> {
        self.runs.against(lane, base, seconds)
    }

    /// How many times as fast as the serial program.
    fn speedup(&self, lane: &str) -> Option<f64> {
        Some(self.runs.median(SERIAL, seconds)? / self.runs.median(lane, seconds)?)
    }
}

fn method(lab: &Lab, benches: &[Bench]) -> String {
    let rounds =
        benches.iter().filter_map(|bench| bench.runs.lanes.get(PD_CAS)).map(Vec::len).min().unwrap_or(0);
    let absent = if benches.iter().any(|bench| bench.runs.lanes.contains_key(RAYON)) {
        ""
    } else {
        " This build does not contain rayon, so rayon has no figures."
    };
    format!(
        "Measured on {} processors of this machine, {} inputs at medium grain, {rounds} rounds in which lanes run one after \
         the other. [ , ]: an interval that holds the true median with 95 % confidence, from the order of the rounds. \
         `sim 30`: the same schedulers on 30 processors in virtual time, on recordings of the same programs, with \
         τ = {} µs and Δ = {} µs.{absent}",
        lab.processors(),
        lab.size(),
        TAU as f64 / 1000.0,
        DELTA as f64 / 1000.0,
    )
}

/// The inputs. The paper's are larger.
fn inputs(benches: &[Bench]) -> Sheet {
    let mut sheet = Sheet::new("Our inputs; the paper's are larger", &["benchmark", "workload", "input"]);
    for Bench { row, runs } in benches {
        sheet.row(vec![row.name.into(), row.workload.into(), runs.input.clone().into()]);
    }
    sheet
}

/// Our directions beside the paper's: 1 for more, −1 for less, 0 if ours is open. Also the paper's per cent.
struct Directions(Vec<(i32, f64)>);

impl Directions {
    /// The number of rows in which the paper has a direction, in which ours is surely the same, and in which it is
    /// surely the opposite.
    fn same_and_opposite(&self) -> [usize; 3] {
        let decided = |(_, paper): &(i32, f64)| paper.abs() > NOISE;
        let agrees =
            |wanted: f64| holds(&self.0, |row| decided(row) && f64::from(row.0) * row.1.signum() == wanted);
        [holds(&self.0, decided), agrees(1.0), agrees(-1.0)]
    }

    /// Agrees if no direction is the opposite of the paper's, and at least half of the paper's directions are also
    /// ours.
    fn judge(&self, verdicts: &mut Verdicts, what: &str, [more, less]: [&str; 2]) {
        let [decided, same, opposite] = self.same_and_opposite();
        let count = |wanted: i32| holds(&self.0, |(direction, _)| *direction == wanted);
        let paper = |wanted: fn(f64) -> bool| holds(&self.0, |(_, paper)| wanted(*paper));
        verdicts.judge(
            opposite == 0 && 2 * same >= decided,
            format!(
                "{what}: {more} in {} of {} benchmarks, {less} in {}, open in {} (paper, by more than {NOISE} %: {more} in {}, \
                 {less} in {}); as in the paper in {same}, the opposite in {opposite}",
                count(1),
                self.0.len(),
                count(-1),
                count(0),
                paper(|per_cent| per_cent > NOISE),
                paper(|per_cent| per_cent < -NOISE),
            ),
        );
    }
}

fn value(of: Option<f64>) -> Value {
    of.map_or_else(none, |of| json!(of))
}

/// A ratio, as per cent more, with its interval.
fn interval(of: Option<Interval>) -> Value {
    let Some(Interval { median, ends }) = of else { return none() };
    let per_cent = |ratio: f64| (ratio - 1.0) * 100.0;
    match ends {
        None => percent(Some(per_cent(median))),
        Some([low, high]) => {
            format!("{:+.1} [{:+.1}, {:+.1}]", per_cent(median), per_cent(low), per_cent(high)).into()
        }
    }
}

/// How much more one lane has than another in virtual time, in per cent.
fn virtual_over(bench: &Bench, lane: &str, base: &str, of: fn(&Thirty) -> f64) -> Option<f64> {
    let (ours, base) = (of(bench.thirty(lane)?), of(bench.thirty(base)?));
    (base > 0.0).then(|| over(ours, base))
}

/// The geometric mean of a lane's time against another's, over all benchmarks.
fn mean(benches: &[Bench], lane: &str, base: &str) -> Option<f64> {
    geometric_mean(benches.iter().filter_map(|bench| bench.time(lane, base)).map(|interval| interval.median))
}

/// The geometric mean of a column of the paper that is in per cent.
fn paper_mean(of: fn(&Row) -> f64) -> f64 {
    geometric_mean(ROWS.iter().map(|row| 1.0 + of(row) / 100.0)).unwrap_or(1.0)
}

/// A difference in per cent that the paper's tables cannot tell from zero: it speaks of 5 % to 10 % of noise, averaged
/// over 20 runs.
const NOISE: f64 = 2.0;

/// Compares our comparison of two lanes with the paper's, benchmark by benchmark and in the mean, in both directions.
fn compare(verdicts: &mut Verdicts, benches: &[Bench], [lane, base]: [&str; 2], theirs: fn(&Row) -> f64) {
    let Some(ours) = mean(benches, lane, base) else {
        return verdicts.judge(false, format!("{lane} against {base}: not in this build"));
    };
    let paper = paper_mean(theirs);
    verdicts.judge(
        (ours - paper).abs() <= 0.05,
        format!(
            "{lane} takes {ours:.3} × the time of {base} in geometric mean (paper: {paper:.3} ×; agrees within 0.05 in both \
             directions)"
        ),
    );
    let directions =
        benches.iter().filter_map(|bench| Some((bench.time(lane, base)?.direction(), theirs(bench.row))));
    let what = format!("{lane} against {base}");
    Directions(directions.collect()).judge(verdicts, &what, ["slower", "faster"]);
}

/// The same in virtual time: the mean of speedups.
fn compare_thirty(
    verdicts: &mut Verdicts,
    benches: &[Bench],
    [lane, base]: [&str; 2],
    theirs: fn(&Row) -> f64,
) {
    let ratios =
        benches.iter().filter_map(|bench| Some(bench.thirty(base)?.speedup / bench.thirty(lane)?.speedup));
    let (ours, paper) = (geometric_mean(ratios).unwrap_or(f64::NAN), paper_mean(theirs));
    verdicts.judge(
        (ours - paper).abs() <= 0.05,
        format!("on {THIRTY} processors in virtual time {lane} takes {ours:.3} × the time of {base} (paper: {paper:.3} ×)"),
    );
}

fn table_1(lab: &Lab) -> Result<Page> {
    let benches = Bench::all(lab)?;
    let p = format!("P={}", lab.processors());
    let mut sheet = Sheet::new(
        "Speedup and time of PD/CAS; the others against it, % (smaller is better)",
        &[
            "benchmark",
            "PD/CAS",
            "sim 30",
            &p,
            "sec",
            "ours",
            "WS %",
            "ours",
            "sim 30",
            "WS+JR %",
            "ours",
            "sim 30",
        ],
    );
    let mut groups = Vec::new();
    for bench in &benches {
        let [speedup, time, ws, jr] = bench.row.table1;
        let (our_ws, our_jr) = (bench.time(WS, PD_CAS), bench.time(WS_JR, PD_CAS));
        let slower = |lane| {
            let ratio = bench.thirty(PD_CAS)?.speedup / bench.thirty(lane)?.speedup;
            Some(over(ratio, 1.0))
        };
        sheet.row(vec![
            bench.row.name.into(),
            json!(speedup),
            value(bench.thirty(PD_CAS).map(|thirty| thirty.speedup)),
            value(bench.speedup(PD_CAS)),
            json!(time),
            value(bench.runs.median(PD_CAS, seconds)),
            percent(Some(ws)),
            interval(our_ws),
            percent(slower(WS)),
            percent(Some(jr)),
            interval(our_jr),
            percent(slower(WS_JR)),
        ]);
        groups.push((bench.row.name.to_owned(), vec![Some(ws), bar(our_ws), Some(jr), bar(our_jr)]));
    }
    let bars = Bars {
        title: "Time against PD/CAS (Acar et al., Table 1)".into(),
        unit: "% more time than PD/CAS (cut at 200)".into(),
        scale: Scale::Linear,
        lanes: lanes_of(&[("WS", 0), ("WS+JR", 1)]),
        groups,
    };
    let mut verdicts = Verdicts::default();
    compare(&mut verdicts, &benches, [WS, PD_CAS], |row| row.table1[2]);
    compare(&mut verdicts, &benches, [WS_JR, PD_CAS], |row| row.table1[3]);
    compare_thirty(&mut verdicts, &benches, [WS, PD_CAS], |row| row.table1[2]);
    compare_thirty(&mut verdicts, &benches, [WS_JR, PD_CAS], |row| row.table1[3]);
    let jr_costs = |bench: &Bench| bench.time(WS_JR, WS).is_some_and(|interval| interval.direction() >= 0);
    verdicts.count(
        "joins by messages are not surely faster than joins by fetch-and-add",
        holds(&benches, jr_costs),
        benches.len(),
        Some(holds(&ROWS, |row| row.table1[3] >= row.table1[2])),
    );
    verdicts.note(format!("their 30 cores against our {}, and larger inputs", lab.processors()));
    page(lab, &benches, verdicts, vec![sheet, inputs(&benches)], &bars)
}

fn page(lab: &Lab, benches: &[Bench], verdicts: Verdicts, sheets: Vec<Sheet>, bars: &Bars) -> Result<Page> {
    let (agrees, differs) = verdicts.texts();
    Ok(Page { method: method(lab, benches), sheets, agrees, differs, plot: bars.draw()? })
}

/// A bar. Longer ones are cut, so that the others remain visible.
fn bar(of: Option<Interval>) -> Option<f64> {
    cut(of.map(|interval| (interval.median - 1.0) * 100.0))
}

fn cut(percent: Option<f64>) -> Option<f64> {
    percent.map(|percent| percent.min(200.0))
}

/// The paper's lane and ours for each name.
fn lanes_of(names: &[(&str, usize)]) -> Vec<(String, Whose, usize)> {
    let both = names.iter().flat_map(|(name, color)| {
        [(format!("{name}, paper"), Whose::Paper, *color), (format!("{name}, ours"), Whose::Ours, *color)]
    });
    both.collect()
}

fn table_2(lab: &Lab) -> Result<Page> {
    let benches = Bench::all(lab)?;
    let p = format!("P={}", lab.processors());
    let mut sheet = Sheet::new(
        "Speedup and time of Cilk Plus (ours: rayon); the others against it, % (smaller is better)",
        &[
            "benchmark",
            "Cilk Plus",
            &p,
            "sec",
            "ours",
            "Chase Lev %",
            "ours",
            "WS %",
            "ours",
            "WS+JR %",
            "ours",
        ],
    );
    let mut groups = Vec::new();
    for bench in &benches {
        let [speedup, time, theirs @ ..] = bench.row.table2;
        let mut cells: Vec<Value> = vec![
            bench.row.name.into(),
            json!(speedup),
            value(bench.speedup(RAYON)),
            json!(time),
            value(bench.runs.median(RAYON, seconds)),
        ];
        let mut bars = Vec::new();
        for (theirs, lane) in theirs.into_iter().zip([CHASE_LEV, WS, WS_JR]) {
            let ours = bench.time(lane, RAYON);
            cells.extend([percent(Some(theirs)), interval(ours)]);
            bars.extend([Some(theirs), bar(ours)]);
        }
        sheet.row(cells);
        groups.push((bench.row.name.to_owned(), bars));
    }
    let bars = Bars {
        title: "Time against a runtime of others (Acar et al., Table 2)".into(),
        unit: "% more time than Cilk Plus (paper), rayon (ours); cut at 200".into(),
        scale: Scale::Linear,
        lanes: lanes_of(&[("Chase Lev", 2), ("WS", 0), ("WS+JR", 1)]),
        groups,
    };
    let (spawns, fence) = spawn_costs(lab)?;
    let mut verdicts = Verdicts::default();
    compare(&mut verdicts, &benches, [CHASE_LEV, RAYON], |row| row.table2[2]);
    compare(&mut verdicts, &benches, [WS, RAYON], |row| row.table2[3]);
    compare(&mut verdicts, &benches, [WS_JR, RAYON], |row| row.table2[4]);
    verdicts.judge(
        fence.is_some_and(|fence| fence.direction() > 0),
        format!(
            "the fence of concurrent deques shows: a fork on Chase Lev takes {:.2} × as long as on WS on one processor",
            fence.map_or(f64::NAN, |fence| fence.median)
        ),
    );
    verdicts.note("rayon is not Cilk Plus, and runs the programs in direct form, so these figures include the cost of continuations");
    page(lab, &benches, verdicts, vec![sheet, spawns], &bars)
}

/// What a fork takes on one processor, and Chase Lev's against that of WS.
fn spawn_costs(lab: &Lab) -> Result<(Sheet, Option<Interval>)> {
    let costs = lanes::spawns(lab)?;
    let mut sheet = Sheet::new(
        "A fork and its join on one processor (fib, fine grain), ns",
        &["lane", "ns", "against WS, %"],
    );
    let against = |lane: &str| {
        let pairs = costs.get(lane)?.iter().zip(costs.get(WS)?);
        Interval::of(pairs.map(|(ours, base)| ours / base).collect())
    };
    for (name, ..) in LANES {
        let mut figures = costs.get(name).cloned().unwrap_or_default();
        figures.sort_by(f64::total_cmp);
        let middle = (!figures.is_empty()).then(|| median(&figures));
        sheet.row(vec![
            name.into(),
            value(middle),
            if name == WS { none() } else { interval(against(name)) },
        ]);
    }
    Ok((sheet, against(CHASE_LEV)))
}

/// A statistic of the appendix: the paper's columns, our figure of a run, and that of a run in virtual time.
struct Statistic {
    title: &'static str,
    of: &'static str,
    unit: &'static str,
    theirs: fn(&Row) -> [f64; 4],
    /// `None` if it says nothing in virtual time.
    thirty: Option<fn(&Thirty) -> f64>,
}

/// The other lanes, in the order of the paper's columns.
const OTHERS: [&str; 3] = [WS_JR, CHASE_LEV, PD_CAS];

impl Statistic {
    /// The sheets and the picture.
    fn show(&self, benches: &[Bench], ours: &dyn Fn(&Run) -> f64) -> (Vec<Sheet>, Bars) {
        let mut sheet = Sheet::new(
            format!("{}: {} of WS; the others against it, %", self.title, self.of),
            &["benchmark", "WS", "ours", "WS+JR %", "ours", "Chase Lev %", "ours", "PD/CAS %", "ours"],
        );
        let mut thirty = Sheet::new(
            format!("The same on {THIRTY} processors in virtual time"),
            &[
                "benchmark",
                "WS",
                "sim 30",
                "WS+JR %",
                "sim 30",
                "Chase Lev %",
                "sim 30",
                "PD/CAS %",
                "sim 30",
            ],
        );
        let mut groups = Vec::new();
        for bench in benches {
            let theirs = (self.theirs)(bench.row);
            let mut cells: Vec<Value> =
                vec![bench.row.name.into(), json!(theirs[0]), value(bench.runs.median(WS, ours))];
            let of_thirty = |lane: &str| Some((self.thirty?)(bench.thirty(lane)?));
            let mut virtual_cells: Vec<Value> =
                vec![bench.row.name.into(), json!(theirs[0]), value(of_thirty(WS))];
            let mut bars = Vec::new();
            for (lane, theirs) in OTHERS.into_iter().zip(&theirs[1..]) {
                let against = bench.runs.against(lane, WS, ours);
                cells.extend([percent(Some(*theirs)), interval(against)]);
                bars.extend([Some(*theirs), bar(against)]);
                let simulated = self.thirty.and_then(|of| virtual_over(bench, lane, WS, of));
                virtual_cells.extend([percent(Some(*theirs)), percent(simulated)]);
            }
            sheet.row(cells);
            thirty.row(virtual_cells);
            groups.push((bench.row.name.to_owned(), bars));
        }
        let bars = Bars {
            title: self.title.to_owned(),
            unit: self.unit.to_owned(),
            scale: Scale::Linear,
            lanes: lanes_of(&[("WS+JR", 1), ("Chase Lev", 2), ("PD/CAS", 3)]),
            groups,
        };
        (if self.thirty.is_some() { vec![sheet, thirty] } else { vec![sheet] }, bars)
    }

    /// For each other lane: in how many benchmarks it has more or less than WS, beside the paper's. Differs if a
    /// direction is the opposite of the paper's, measured or in virtual time.
    fn judge(&self, verdicts: &mut Verdicts, benches: &[Bench], ours: &dyn Fn(&Run) -> f64) {
        for (nth, lane) in OTHERS.into_iter().enumerate() {
            let theirs = |bench: &Bench| (self.theirs)(bench.row)[nth + 1];
            let words = ["more", "less"];
            let measured =
                benches.iter().filter_map(|b| Some((b.runs.against(lane, WS, ours)?.direction(), theirs(b))));
            let what = format!("{}, {lane} against WS, measured", self.of);
            Directions(measured.collect()).judge(verdicts, &what, words);
            let Some(of) = self.thirty else { continue };
            let simulated = benches.iter().filter_map(|b| {
                let over = virtual_over(b, lane, WS, of)?;
                Some((if over.abs() <= NOISE { 0 } else { over.signum() as i32 }, theirs(b)))
            });
            let what = format!("{}, {lane} against WS, in virtual time", self.of);
            Directions(simulated.collect()).judge(verdicts, &what, words);
        }
    }
}

/// Spearman's rank correlation: 1 if both sides order the benchmarks alike.
fn rank_correlation(pairs: &[(f64, f64)]) -> f64 {
    let ranks = |values: Vec<f64>| -> Vec<f64> {
        let rank = |x: &f64| {
            let below = values.iter().filter(|y| *y < x).count();
            let ties = values.iter().filter(|y| *y == x).count();
            below as f64 + (ties as f64 - 1.0) / 2.0
        };
        values.iter().map(rank).collect()
    };
    let (a, b) = (ranks(pairs.iter().map(|p| p.0).collect()), ranks(pairs.iter().map(|p| p.1).collect()));
    let mean = (pairs.len() as f64 - 1.0) / 2.0;
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| (x - mean) * (y - mean)).sum::<f64>();
    dot(&a, &b) / (dot(&a, &a) * dot(&b, &b)).sqrt().max(f64::MIN_POSITIVE)
}

fn figure_8(lab: &Lab) -> Result<Page> {
    let benches = Bench::all(lab)?;
    let statistic = Statistic {
        title: "Steals (Acar et al., Figure 8)",
        of: "steals",
        unit: "% more steals than WS (cut at 200)",
        theirs: |row| row.steals,
        thirty: Some(|thirty| thirty.steals as f64),
    };
    let steals = |run: &Run| run.steals as f64;
    let (sheets, bars) = statistic.show(&benches, &steals);
    let mut verdicts = Verdicts::default();
    let measured: Vec<_> = benches
        .iter()
        .filter_map(|bench| Some((bench.row.steals[0], bench.runs.median(WS, steals)?)))
        .collect();
    let simulated: Vec<_> = benches
        .iter()
        .filter_map(|bench| Some((bench.row.steals[0], bench.thirty(WS)?.steals as f64)))
        .collect();
    let (here, thirty) = (rank_correlation(&measured), rank_correlation(&simulated));
    verdicts.judge(
        thirty >= 0.5,
        format!("which benchmarks steal much: rank correlation with the paper {thirty:.2} on 30 processors in virtual time"),
    );
    verdicts.judge(here >= 0.5, format!("the same measured here: {here:.2}"));
    statistic.judge(&mut verdicts, &benches, &steals);
    verdicts.note("few processors steal seldom, and numbers that small vary by chance");
    page(lab, &benches, verdicts, sheets, &bars)
}

fn figure_9(lab: &Lab) -> Result<Page> {
    let benches = Bench::all(lab)?;
    let statistic = Statistic {
        title: "Total parallel work (Acar et al., Figure 9)",
        of: "seconds of work",
        unit: "% more time in threads than with WS (cut at 200)",
        theirs: |row| row.work,
        thirty: None,
    };
    let work = Runs::work(lab.processors());
    let (sheets, bars) = statistic.show(&benches, &work);
    let mut verdicts = Verdicts::default();
    let theirs: Vec<f64> = ROWS.iter().flat_map(|row| row.work[1..].to_vec()).map(f64::abs).collect();
    let ours = benches.iter().flat_map(|bench| OTHERS.map(|lane| bench.runs.against(lane, WS, &work)));
    let ours: Vec<f64> = ours.flatten().map(|interval| ((interval.median - 1.0) * 100.0).abs()).collect();
    let [ours, theirs] = [ours, theirs].map(|all| middle(all).unwrap_or(0.0));
    verdicts.judge(
        ours <= 2.0 * theirs.max(1.0),
        format!("what threads take depends little on the scheduler: half of our differences are below {ours:.1} % (paper: {theirs:.1} %)"),
    );
    statistic.judge(&mut verdicts, &benches, &work);
    verdicts.note("work is the processors' time without search and without the waiting loops of joins; virtual time has no caches, so that work is the same there for all");
    page(lab, &benches, verdicts, sheets, &bars)
}

fn figure_10(lab: &Lab) -> Result<Page> {
    let benches = Bench::all(lab)?;
    let statistic = Statistic {
        title: "Relative idle time (Acar et al., Figure 10)",
        of: "idle time in % of all processors' time",
        unit: "% more idle time than WS (cut at 200)",
        theirs: |row| row.idle,
        thirty: Some(|thirty| thirty.idle),
    };
    let idle = |run: &Run| 100.0 * run.idle;
    let (sheets, bars) = statistic.show(&benches, &idle);
    let mut verdicts = Verdicts::default();
    let medians: Vec<f64> = benches.iter().filter_map(|bench| bench.runs.median(WS, idle)).collect();
    let theirs = middle(ROWS.iter().map(|row| row.idle[0])).unwrap_or(0.0);
    let ours = middle(medians).unwrap_or(0.0);
    verdicts.judge(
        ours <= theirs.max(5.0),
        format!("idle time is small: a median of {ours:.1} % here (paper: {theirs:.0} %)"),
    );
    statistic.judge(&mut verdicts, &benches, &idle);
    verdicts.note("idle is the search for work alone, as in the paper, and not the waiting loops of joins; where idle time is next to nothing, ratios of it are chance");
    page(lab, &benches, verdicts, sheets, &bars)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_correlate() {
        let alike = rank_correlation(&[(1.0, 10.0), (2.0, 30.0), (5.0, 31.0)]);
        let opposed = rank_correlation(&[(1.0, 3.0), (2.0, 2.0), (5.0, 1.0)]);
        assert!((alike - 1.0).abs() < 1e-9 && (opposed + 1.0).abs() < 1e-9);
    }

    /// A benchmark whose lane takes `ratio` times as long as its base.
    fn bench(row: &'static Row, ratio: f64) -> Bench {
        let run = |seconds| vec![Run { seconds, ..Run::default() }; 20];
        let lanes = [(PD_CAS, 1.0), (WS, ratio)].map(|(lane, seconds)| (lane.to_owned(), run(seconds)));
        Bench { row, runs: Runs { lanes: lanes.into(), ..Runs::default() } }
    }

    #[test]
    fn what_contradicts_the_paper_differs() {
        let judged = |ratio: f64| {
            let benches: Vec<Bench> = ROWS.iter().map(|row| bench(row, ratio)).collect();
            let mut verdicts = Verdicts::default();
            compare(&mut verdicts, &benches, [WS, PD_CAS], |row| row.table1[2]);
            verdicts.texts()
        };
        let (agrees, differs) = judged(1.3);
        assert!(differs.contains("1.300") && differs.contains("slower in 14 of 14"), "{agrees} {differs}");
        let (agrees, differs) = judged(1.0);
        assert!(agrees.contains("1.000 ×") && differs.contains("open in 14"), "{agrees} {differs}");
    }
}
