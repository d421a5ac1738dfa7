//! Exhibits of Acar, Charguéraud, Muller and Rainey's paper. Our schedulers stand in the places of theirs: `private-cas`
//! for PD/CAS, `work-stealing` for Chase Lev, `read-write-steals` for Our WS, `read-write` for Our WS+JR, and rayon for
//! Cilk Plus as the runtime from outside. They ran on 30 cores; ours run on those that there are, and what 30
//! processors would give is simulated.

use super::exhibit::{Exhibit, Page, Sheet, Space, none, over, percent};
use super::lab::{Lab, Timed, lane};
use super::plot::{Bars, Scale, Whose};
use super::seed::rw::{ROWS, Row};
use crate::Result;
use crate::bench::case::{Case, Entry, geometric_mean};
use bombyx_workloads::Grain;
use serde_json::{Value, json};
use std::rc::Rc;

pub(super) const EXHIBITS: &[Exhibit] = &[
    Exhibit {
        id: "rw-table-1",
        about: "steals with loads and stores only, against private deques with compare-and-swap",
        make: table_1,
    },
    Exhibit {
        id: "rw-table-2",
        about: "the same against the runtime from outside and concurrent deques",
        make: table_2,
    },
    Exhibit { id: "rw-figure-8", about: "numbers of steals", make: figure_8 },
    Exhibit {
        id: "rw-figure-9",
        about: "total parallel work: time spent in the program itself",
        make: figure_9,
    },
    Exhibit { id: "rw-figure-10", about: "relative idle time", make: figure_10 },
];

const PD_CAS: &str = "private-cas";
const CHASE_LEV: &str = "work-stealing";
const WS: &str = "read-write-steals";
const WS_JR: &str = "read-write";
const CILK: &str = "rayon";
const LANES: [&str; 5] = [PD_CAS, CHASE_LEV, WS, WS_JR, CILK];
/// Their number of cores.
const THIRTY: usize = 30;

fn case(lab: &Lab, row: &Row) -> Result<Rc<Case>> {
    lab.measured(row.workload, Grain::Medium, &LANES)
}

fn exists(name: &str) -> bool {
    name == CILK && cfg!(feature = "peers") || name.parse::<bombyx::Scheduler>().is_ok()
}

fn method(lab: &Lab) -> String {
    let absent: Vec<&str> = LANES.into_iter().filter(|name| !exists(name)).collect();
    let note = match absent.is_empty() {
        true => String::new(),
        false => format!(" Not in this build, so without figures: {}.", absent.join(", ")),
    };
    format!(
        "Measured on {} processors of this machine, medium grain, medians of interleaved runs. `sim 30`: work stealing \
         simulated on 30 processors, on recordings of our workloads.{note}",
        lab.processors()
    )
}

/// A median over another, in per cent more.
fn relative(case: &Case, of: &str, base: &str) -> Option<f64> {
    Some(over(lane(case, of)?.median(), lane(case, base)?.median()))
}

fn mean(lab: &Lab, of: &str, base: &str) -> Result<Option<f64>> {
    let mut ratios = Vec::new();
    for row in &ROWS {
        ratios.extend(relative(&*case(lab, row)?, of, base).map(|percent| 1.0 + percent / 100.0));
    }
    Ok(geometric_mean(ratios))
}

/// What the measured runs took of memory.
fn space(lab: &Lab) -> Result<Sheet> {
    let mut sheet = Sheet::spaces(&["benchmark"], &["PD/CAS", "Chase Lev", "WS", "WS+JR", CILK]);
    for row in &ROWS {
        let case = case(lab, row)?;
        let cells = LANES.map(|name| Space::of(lane(&case, name)).cell());
        sheet.row([vec![row.name.into()], cells.to_vec()].concat());
    }
    Ok(sheet)
}

/// What the runs with a clock around every strand took of memory.
fn timed_space(lab: &Lab) -> Result<Sheet> {
    let mut sheet = Sheet::spaces(&["benchmark"], &["PD/CAS", "Chase Lev", "WS", "WS+JR"]);
    for row in &ROWS {
        let mut cells: Vec<Value> = vec![row.name.into()];
        for name in [PD_CAS, CHASE_LEV, WS, WS_JR] {
            let space = lab.timed(row.workload, name)?.as_ref().as_ref().map(|timed| timed.space);
            cells.push(space.unwrap_or_default().cell());
        }
        sheet.row(cells);
    }
    Ok(sheet)
}

fn value(of: Option<f64>) -> Value {
    of.map_or_else(none, |of| json!(of))
}

/// The geometric mean of a column of the paper that is in per cent.
fn paper_mean(of: fn(&Row) -> f64) -> f64 {
    geometric_mean(ROWS.iter().map(|row| 1.0 + of(row) / 100.0)).unwrap_or(1.0)
}

/// A finding about a mean that should be at most so many per cent above 1.
fn within(what: &str, mean: Option<f64>, limit: f64, paper: fn(&Row) -> f64) -> (bool, String) {
    match mean {
        Some(mean) => {
            let (holds, paper) = (mean <= 1.0 + limit / 100.0, paper_mean(paper));
            let bar = if limit == 0.0 { "no more".to_owned() } else { format!("at most +{limit} %") };
            (
                holds,
                format!(
                    "{what} takes {mean:.3} × the time in geometric mean (bar: {bar}; paper: {paper:.3} ×)"
                ),
            )
        }
        None => (false, format!("{what} is not in this build")),
    }
}

fn findings(found: [(bool, String); 2], why: &str) -> (String, String) {
    let of = |wanted: bool| -> String {
        let texts: Vec<&str> =
            found.iter().filter(|(holds, _)| *holds == wanted).map(|(_, text)| text.as_str()).collect();
        texts.join("; ")
    };
    let agrees = match of(true) {
        text if text.is_empty() => "nothing that could be checked here.".to_owned(),
        text => text + ".",
    };
    let differs = match of(false) {
        text if text.is_empty() => why.to_owned(),
        text => format!("{text}; {why}"),
    };
    (agrees, differs)
}

fn table_1(lab: &Lab) -> Result<Page> {
    let p = format!("P={}", lab.processors());
    let mut sheet = Sheet::new(
        "Speedup and time of PD/CAS; the others against it, % (smaller is better)",
        &["benchmark", "PD/CAS", "sim 30", &p, "sec", "ours, sec", "WS %", "ours", "WS+JR %", "ours"],
    );
    let mut groups = Vec::new();
    for row in &ROWS {
        let case = case(lab, row)?;
        let base = lane(&case, PD_CAS);
        let [speedup, seconds, ws, jr] = row.table1;
        let (our_ws, our_jr) = (relative(&case, WS, PD_CAS), relative(&case, WS_JR, PD_CAS));
        sheet.row(vec![
            row.name.into(),
            json!(speedup),
            json!(lab.simulated(row.workload, Grain::Medium, CHASE_LEV, THIRTY)?.speedup),
            value(base.and_then(|entry| case.ratio(entry, "serial")).map(|over| 1.0 / over)),
            json!(seconds),
            value(base.map(Entry::median)),
            percent(Some(ws)),
            percent(our_ws),
            percent(Some(jr)),
            percent(our_jr),
        ]);
        groups.push((row.name.to_owned(), vec![Some(ws), cut(our_ws), Some(jr), cut(our_jr)]));
    }
    let bars = Bars {
        title: "Time against PD/CAS (Acar et al., Table 1)".into(),
        unit: "% more time than PD/CAS (cut at 200)".into(),
        scale: Scale::Linear,
        lanes: lanes(&[("WS", 0), ("WS+JR", 1)]),
        groups,
    };
    let (agrees, differs) = findings(
        [
            within("read-write-steals", mean(lab, WS, PD_CAS)?, 5.0, |row| row.table1[2]),
            within("read-write", mean(lab, WS_JR, PD_CAS)?, 15.0, |row| row.table1[3]),
        ],
        "their 30 cores against ours, larger inputs, and C++ against Rust.",
    );
    Ok(Page { method: method(lab), sheets: vec![sheet, space(lab)?], agrees, differs, plot: bars.draw()? })
}

/// Longer bars are cut, so that the others can be seen.
fn cut(percent: Option<f64>) -> Option<f64> {
    percent.map(|percent| percent.min(200.0))
}

/// The paper's lane and ours for each name.
fn lanes(names: &[(&str, usize)]) -> Vec<(String, Whose, usize)> {
    let both = names.iter().flat_map(|(name, color)| {
        [(format!("{name}, paper"), Whose::Paper, *color), (format!("{name}, ours"), Whose::Ours, *color)]
    });
    both.collect()
}

fn table_2(lab: &Lab) -> Result<Page> {
    let p = format!("P={}", lab.processors());
    let mut sheet = Sheet::new(
        "Speedup and time of Cilk Plus (ours: rayon); the others against it, % (smaller is better)",
        &[
            "benchmark",
            "Cilk Plus",
            &p,
            "sec",
            "ours, sec",
            "Chase Lev %",
            "ours",
            "WS %",
            "ours",
            "WS+JR %",
            "ours",
        ],
    );
    let mut groups = Vec::new();
    for row in &ROWS {
        let case = case(lab, row)?;
        let base = lane(&case, CILK);
        let [speedup, seconds, theirs @ ..] = row.table2;
        let ours = [CHASE_LEV, WS, WS_JR].map(|name| relative(&case, name, CILK));
        let mut cells: Vec<Value> = vec![
            row.name.into(),
            json!(speedup),
            value(base.and_then(|entry| case.ratio(entry, "serial")).map(|over| 1.0 / over)),
            json!(seconds),
            value(base.map(Entry::median)),
        ];
        let mut bars = Vec::new();
        for (theirs, ours) in theirs.into_iter().zip(ours) {
            cells.extend([percent(Some(theirs)), percent(ours)]);
            bars.extend([Some(theirs), cut(ours)]);
        }
        sheet.row(cells);
        groups.push((row.name.to_owned(), bars));
    }
    let bars = Bars {
        title: "Time against the runtime from outside (Acar et al., Table 2)".into(),
        unit: "% more time than Cilk Plus (paper), rayon (ours); cut at 200".into(),
        scale: Scale::Linear,
        lanes: lanes(&[("Chase Lev", 2), ("WS", 0), ("WS+JR", 1)]),
        groups,
    };
    let (agrees, differs) = findings(
        [
            within("work-stealing against rayon", mean(lab, CHASE_LEV, CILK)?, 0.0, |row: &Row| {
                row.table2[2]
            }),
            within("read-write-steals against rayon", mean(lab, WS, CILK)?, 0.0, |row| row.table2[3]),
        ],
        "at this grain both schedule well, so little is left between them; sort's −38 % is Cilk Plus' grain, and rayon runs \
         ours.",
    );
    Ok(Page { method: method(lab), sheets: vec![sheet, space(lab)?], agrees, differs, plot: bars.draw()? })
}

/// A statistic of the appendix, paper's and ours.
struct Statistic {
    sheet: Sheet,
    plot: String,
    /// Of Our WS (work stealing in a build without it), benchmark by benchmark: the paper's and ours.
    base: Vec<(f64, f64)>,
    /// The paper's and ours against that, in per cent: all other schedulers and benchmarks.
    others: Vec<(f64, f64)>,
}

/// Collects the value of Our WS, and the others against it.
fn statistic(
    title: &str,
    of: &str,
    unit: &str,
    theirs: fn(&Row) -> [f64; 4],
    ours: &dyn Fn(&Row, &str) -> Result<Option<f64>>,
) -> Result<Statistic> {
    let mut sheet = Sheet::new(
        format!("{title}: {of} of WS; the others against it, %"),
        &["benchmark", "WS", "ours", "WS+JR %", "ours", "Chase Lev %", "ours", "PD/CAS %", "ours"],
    );
    let (mut groups, mut bases, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for row in &ROWS {
        let theirs = theirs(row);
        let base = ours(row, if exists(WS) { WS } else { CHASE_LEV })?;
        bases.extend(base.map(|base| (theirs[0], base)));
        let mut cells: Vec<Value> = vec![row.name.into(), json!(theirs[0]), value(base)];
        let mut bars = Vec::new();
        for (name, theirs) in [WS_JR, CHASE_LEV, PD_CAS].into_iter().zip(&theirs[1..]) {
            let known = ours(row, name)?.zip(base).filter(|(_, base)| *base > 0.0);
            let ours = known.map(|(of, base)| over(of, base));
            cells.extend([percent(Some(*theirs)), percent(ours)]);
            bars.extend([Some(*theirs), cut(ours)]);
            others.extend(ours.map(|ours| (*theirs, ours)));
        }
        sheet.row(cells);
        groups.push((row.name.to_owned(), bars));
    }
    let bars = Bars {
        title: title.to_owned(),
        unit: unit.to_owned(),
        scale: Scale::Linear,
        lanes: lanes(&[("WS+JR", 1), ("Chase Lev", 2), ("PD/CAS", 3)]),
        groups,
    };
    Ok(Statistic { sheet, plot: bars.draw()?, base: bases, others })
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

/// The middle of numbers in any order.
fn middle(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(0.0)
}

fn figure_8(lab: &Lab) -> Result<Page> {
    let steals = |row: &Row, name: &str| -> Result<Option<f64>> {
        Ok(lane(&*case(lab, row)?, name).and_then(Entry::counts).map(|counts| counts.steals as f64))
    };
    let found = statistic(
        "Steals (Acar et al., Figure 8)",
        "number",
        "% more steals than Our WS (cut at 200)",
        |row| row.steals,
        &steals,
    )?;
    let mut thirty = Sheet::new(
        "Steals of Our WS on 30 processors, and of work stealing, simulated",
        &["benchmark", "WS", "sim 30"],
    );
    let mut pairs = Vec::new();
    for row in &ROWS {
        let steals = lab.simulated(row.workload, Grain::Medium, CHASE_LEV, THIRTY)?.steals;
        pairs.push((row.steals[0], steals as f64));
        thirty.row(vec![row.name.into(), json!(row.steals[0]), json!(steals)]);
    }
    Ok(Page {
        method: method(lab),
        agrees: format!(
            "which benchmarks steal much: rank correlation with the paper {:.2} simulated on 30 processors, {:.2} measured.",
            rank_correlation(&pairs),
            rank_correlation(&found.base)
        ),
        differs: format!(
            "numbers: a median of {:.0} where 30 processors had {:.0}, since steals grow with processors and rounds; so few \
             vary by chance.",
            middle(found.base.iter().map(|pair| pair.1).collect()),
            middle(found.base.iter().map(|pair| pair.0).collect())
        ),
        sheets: vec![found.sheet, thirty, space(lab)?],
        plot: found.plot,
    })
}

/// A quantity of the timed run.
fn timed(lab: &Lab, row: &Row, name: &str, of: fn(&Timed) -> f64) -> Result<Option<f64>> {
    Ok(lab.timed(row.workload, name)?.as_ref().as_ref().map(of))
}

fn figure_9(lab: &Lab) -> Result<Page> {
    let found = statistic(
        "Total parallel work (Acar et al., Figure 9)",
        "seconds",
        "% more time in the program itself than with Our WS (cut at 200)",
        |row| row.work,
        &|row, name| timed(lab, row, name, |timed| timed.work),
    )?;
    Ok(Page {
        method: method(lab) + " A clock stands around every strand in these runs.",
        agrees: format!(
            "what the program itself takes depends little on the scheduler: half of our differences are below {:.1} % \
             (paper: {:.1} %).",
            middle(found.others.iter().map(|(_, ours)| ours.abs()).collect()),
            middle(found.others.iter().map(|(theirs, _)| theirs.abs()).collect())
        ),
        differs:
            "their Chase Lev's extra misses on shared deques (up to +26 %) need more caches than we have."
                .into(),
        sheets: vec![found.sheet, timed_space(lab)?],
        plot: found.plot,
    })
}

fn figure_10(lab: &Lab) -> Result<Page> {
    let found = statistic(
        "Relative idle time (Acar et al., Figure 10)",
        "% of all processors' time",
        "% more idle time than Our WS (cut at 200)",
        |row| row.idle,
        &|row, name| timed(lab, row, name, |timed| timed.idle * 100.0),
    )?;
    Ok(Page {
        method: method(lab)
            + " Idle is what is left of the processors' time beside the strands: searching, waiting, forking.",
        agrees: format!(
            "idle time is small: a median of {:.1} % (paper: {:.0} %); rank correlation {:.2}.",
            middle(found.base.iter().map(|pair| pair.1).collect()),
            middle(found.base.iter().map(|pair| pair.0).collect()),
            rank_correlation(&found.base)
        ),
        differs: "their idle time is searching only, ours also forking and what the system takes; other machine, other P."
            .into(),
        sheets: vec![found.sheet, timed_space(lab)?],
        plot: found.plot,
    })
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

    #[test]
    fn findings_say_what_holds_and_what_does_not() {
        let (agrees, differs) =
            findings([within("a", Some(1.02), 5.0, |_| 0.0), within("b", Some(1.3), 15.0, |_| 0.0)], "why.");
        assert!(agrees.contains("a takes 1.020") && !agrees.contains("b takes"));
        assert!(differs.starts_with("b takes 1.300") && differs.ends_with("why."));
    }
}
