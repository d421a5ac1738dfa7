//! Findings as text: a line per claim, details of what is broken, and the list of claims.

use bombyx_verify::{Claim, Finding, Plan, Variant, Worst, claims};
use std::fmt::Write;
use std::time::Duration;

/// The first lines of the table. Statements come last, so that a narrow terminal folds only them.
pub(super) fn header(plan: Plan) -> String {
    let mutated = match plan.variant {
        Variant::Mutated => "Deliberate errors: every claim should turn out broken.\n\n",
        Variant::Faithful => "",
    };
    let titles = row(["claim", "paper", "name", "comp × P × seeds", "worst ≤ bound", "verdict", "statement"]);
    format!("{mutated}{titles}")
}

fn row(cells: [&str; 7]) -> String {
    let [id, paper, name, tried, worst, verdict, statement] = cells;
    format!("{id:15}  {paper:5}  {name:21}  {tried:>16}  {worst:>31}  {verdict:7}  {statement}\n")
}

/// A claim and what came of it; what breaks it in lines below.
pub(super) fn line(claim: &Claim, finding: &Finding, plan: Plan) -> String {
    let t = finding.tried;
    let tried = format!("{} × {} × {}", t.computations, t.processors, t.seeds);
    let worst = finding.worst.as_ref().map_or_else(String::new, against);
    let (paper, verdict) = (claim.paper.to_string(), finding.verdict.to_string());
    let mut out = row([claim.id, &paper, claim.name, &tried, &worst, &verdict, claim.statement]);
    if plan.variant == Variant::Mutated {
        let _ = writeln!(out, "    the error: {}", claim.mutation);
    }
    if let Some(broken) = &finding.counterexample {
        let text = broken.text.replace('\n', "\n      ");
        let _ = writeln!(out, "    measured: {}", claim.quantity);
        let _ = writeln!(out, "    broken:   {text}");
        let _ = writeln!(out, "    smallest: {}", broken.run);
        if broken.found != broken.run {
            let _ = writeln!(out, "    first in: {}", broken.found);
        }
        let _ = writeln!(out, "    replay:   {}", broken.replay);
    }
    out
}

/// `945 ≤ 966 (98 %)`, or with its interval of confidence, `0.142 [0.111, 0.180] ≤ 0.316`.
fn against(worst: &Worst) -> String {
    match (worst.interval, worst.bound) {
        (Some(_), bound) if worst.measured == 0.0 && bound <= 1.0 => format!("0 ≤ {}", short(bound)),
        (Some(i), bound) => {
            format!("{} [{}, {}] ≤ {}", short(worst.measured), short(i.low), short(i.high), short(bound))
        }
        (None, 0.0) if worst.measured == 0.0 => "never broken".to_owned(),
        (None, bound) => {
            format!("{} ≤ {} ({:.0} %)", short(worst.measured), short(bound), 100.0 * worst.ratio())
        }
    }
}

fn short(value: f64) -> String {
    match value {
        v if v == v.trunc() && v.abs() < 1e7 => format!("{v:.0}"),
        v if v.abs() >= 1e7 => format!("{v:.2e}"),
        v if v.abs() >= 100.0 => format!("{v:.0}"),
        v if v.abs() >= 1.0 => format!("{v:.1}"),
        v if v.abs() >= 0.01 => format!("{v:.3}"),
        v => format!("{v:.4}"),
    }
}

/// The last lines of the table.
pub(super) fn summary(chosen: &[&Claim], findings: &[Finding], plan: Plan, took: Duration) -> String {
    let broken: Vec<&str> = chosen
        .iter()
        .zip(findings)
        .filter(|(_, finding)| !finding.holds())
        .map(|(claim, _)| claim.id)
        .collect();
    let held: Vec<&str> = chosen
        .iter()
        .zip(findings)
        .filter(|(_, finding)| finding.holds())
        .map(|(claim, _)| claim.id)
        .collect();
    let runs: u64 = findings.iter().map(|finding| finding.tried.runs).sum();
    let count = chosen.len();
    let seconds = took.as_secs_f64();
    let verdict = match (plan.variant, broken.as_slice(), held.as_slice()) {
        (Variant::Faithful, [], _) => format!("all {count} claims hold"),
        (Variant::Faithful, broken, _) => {
            format!("{} of {count} claims are broken: {}", broken.len(), broken.join(", "))
        }
        (Variant::Mutated, _, []) => format!("all {count} deliberate errors are caught"),
        (Variant::Mutated, _, held) => {
            format!("{} of {count} deliberate errors are not caught: {}", held.len(), held.join(", "))
        }
    };
    format!("\n{verdict}; {runs} runs with seed {} in {seconds:.0} s\n", plan.seed)
}

/// What `--list` prints.
pub(super) fn list() -> String {
    let mut out = String::new();
    for claim in claims() {
        let _ = writeln!(out, "{}  {} {}: {}", claim.id, claim.paper, claim.name, claim.statement);
        for (title, text) in
            [("measured", claim.quantity), ("scope", claim.scope), ("mutation", claim.mutation)]
        {
            let _ = writeln!(out, "{}", folded(&format!("    {title}: "), text));
        }
        out.push('\n');
    }
    let _ = writeln!(
        out,
        "{} claims. `bombyx verify --only ID` tries one, `--mutate ID` its mutation.",
        claims().count()
    );
    out
}

/// Text folded at 110 characters, its later lines indented.
fn folded(first: &str, text: &str) -> String {
    let mut lines = vec![first.to_owned()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("there is a line");
        if last.chars().count() + word.chars().count() > 110 {
            lines.push(format!("        {word} "));
        } else {
            last.push_str(word);
            last.push(' ');
        }
    }
    lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n")
}
