//! Findings as text: a block per claim, the table of claims and mutants, and the list of claims.

use crate::terminal;
use crate::text::wrapped;
use bombyx_sim::tso::implied;
use bombyx_verify::rw::parts::{PARTS, Shown};
use bombyx_verify::{Claim, Counterexample, Finding, Mutant, Noticed, Plan, Worst, claims};
use std::fmt::Write;
use std::time::Duration;

/// A claim and its result.
pub(super) fn block(claim: &Claim, finding: &Finding) -> String {
    let mut out = format!("{:16} {} {:24} {}\n", claim.id, claim.paper, claim.name, finding.verdict);
    let mut tell = |title: &str, text: &str| {
        let _ = writeln!(out, "{}", folded(&format!("    {title:9} "), text));
    };
    tell("says", claim.statement);
    tell("scope", claim.scope);
    let t = finding.tried;
    let seeds = if t.seeds == 1 { "seed" } else { "seeds" };
    tell(
        "tried",
        &format!(
            "{} computations × {} P × {} {seeds}, {} runs",
            t.computations, t.processors, t.seeds, t.runs
        ),
    );
    if let Some(worst) = &finding.worst {
        let at = if worst.measured > 0.0 { format!(", in {}", worst.at) } else { String::new() };
        tell("worst", &format!("{}: {}{at}", claim.quantity, against(worst)));
    }
    if let Some(constant) = &finding.constant {
        let proof = constant.proof.map_or_else(
            || "the paper gives none".to_owned(),
            |proof| format!("the proof's is {}", short(proof)),
        );
        tell(
            "constant",
            &format!(
                "{}{} × {} measured, {} checked, {proof}",
                if constant.from_below { "at least " } else { "" },
                short(constant.measured),
                constant.unit,
                short(constant.checked)
            ),
        );
    }
    if !finding.mutants.is_empty() || !claim.few.is_empty() {
        tell("mutants", &mutants(claim, finding));
    }
    if let Some(broken) = &finding.counterexample {
        out.push_str(&counterexample(broken));
    }
    out.push('\n');
    out
}

/// `5 of 6 noticed: serial, …; not noticed: half`.
fn mutants(claim: &Claim, finding: &Finding) -> String {
    let names = |noticed: bool| {
        let of = |n: &&Noticed| n.by.is_some() == noticed;
        finding.mutants.iter().filter(of).map(|n| n.mutant.to_string()).collect::<Vec<_>>().join(", ")
    };
    let mut text = format!("{} of {} noticed", finding.noticed(), finding.mutants.len());
    for (title, names) in [(": ", names(true)), ("; not noticed: ", names(false))] {
        if !names.is_empty() {
            text += title;
            text += &names;
        }
    }
    if !claim.few.is_empty() {
        text += ". Why not more: ";
        text += claim.few;
    }
    text
}

fn counterexample(broken: &Counterexample) -> String {
    let mut out = String::new();
    let text = broken.text.replace('\n', "\n      ");
    let _ = writeln!(out, "    broken    {text}");
    let _ = writeln!(out, "    smallest  {}", broken.run);
    if broken.found != broken.run {
        let _ = writeln!(out, "    first in  {}", broken.found);
    }
    let _ = writeln!(out, "    replay    {}", broken.replay);
    out
}

/// A claim on one of its mutants.
pub(super) fn mutant(claim: &Claim, mutant: &Mutant, finding: &Finding) -> String {
    let verdict = if finding.holds() { "not noticed" } else { "noticed" };
    let mut out = format!("{} on {mutant}: {}: {verdict}\n", claim.id, mutant.about());
    if let Some(broken) = &finding.counterexample {
        out.push_str(&counterexample(broken));
    }
    out
}

/// How many of its mutants a claim notices.
pub(super) fn noticed(claim: &Claim, noticed: usize) -> String {
    let few = if claim.few.is_empty() { String::new() } else { format!(". Why not more: {}", claim.few) };
    format!("{}: {noticed} of {} mutants noticed{few}\n\n", claim.id, claim.mutants.len())
}

/// Claims against mutants: `●` noticed, `·` tried and not noticed.
pub(super) fn matrix(chosen: &[&Claim], findings: &[Finding]) -> String {
    let mut columns: Vec<Mutant> = Vec::new();
    for noticed in findings.iter().flat_map(|finding| &finding.mutants) {
        if !columns.contains(&noticed.mutant) {
            columns.push(noticed.mutant);
        }
    }
    let shared = |mutant: &Mutant| {
        findings.iter().filter(|f| f.mutants.iter().any(|n| n.mutant == *mutant)).count() > 1
    };
    columns.retain(shared);
    let mut out =
        String::from("\nWhich claim notices which wrong scheduler: ● noticed, · tried and not noticed.\n\n");
    for (at, mutant) in columns.iter().enumerate() {
        let _ = writeln!(out, "{:>3}  {mutant}: {}", at + 1, mutant.about());
    }
    let _ = write!(out, "\n{:16}", "");
    for at in 1..=columns.len() {
        let _ = write!(out, "{at:>3}");
    }
    out.push_str("  others\n");
    for (claim, finding) in chosen.iter().zip(findings) {
        let _ = write!(out, "{:16}", claim.id);
        let mark = |noticed: &Noticed| if noticed.by.is_some() { "●" } else { "·" };
        for column in &columns {
            let cell = finding.mutants.iter().find(|noticed| noticed.mutant == *column);
            let _ = write!(out, "{:>3}", cell.map_or(" ", mark));
        }
        let own = finding.mutants.iter().filter(|noticed| !columns.contains(&noticed.mutant));
        let own: Vec<String> = own.map(|n| format!("{} {}", mark(n), n.mutant)).collect();
        let _ = writeln!(out, "  {}", own.join(", "));
    }
    out
}

/// The parts of RW's proof, each with the error that it notices alone, or with what it follows from.
pub(super) fn parts() -> String {
    let mut out = String::from(
        "\nRW, the proof: an error for each part, which every run breaks by this part first and by no other.\n\n",
    );
    for part in PARTS {
        let name = part.rule.name();
        let shown = if part.is_shown() { "" } else { "NOT SO: " };
        let line = match part.shown {
            Shown::By(mutation, processors, tree) => {
                let states = part.noticed().map_or(0, |found| found.states);
                format!("{mutation:<20} {tree:10} {processors} processors, {states} states without a break")
            }
            Shown::Follows(from) => {
                let tried = implied(part.rule).unwrap_or_default();
                format!(
                    "follows {from} (broken in {} of {} states, alone in {})",
                    tried.broken, tried.states, tried.alone
                )
            }
        };
        let _ = writeln!(out, "{name:10} {shown}{line}");
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

/// The last lines: how many claims hold and how many mutants they notice.
pub(super) fn summary(chosen: &[&Claim], findings: &[Finding], plan: Plan, took: Duration) -> String {
    let broken: Vec<&str> = chosen
        .iter()
        .zip(findings)
        .filter(|(_, finding)| !finding.holds())
        .map(|(claim, _)| claim.id)
        .collect();
    let runs: u64 = findings.iter().map(|finding| finding.tried.runs).sum();
    let count = chosen.len();
    let verdict = match broken.as_slice() {
        [] if count == 1 => "the claim holds".to_owned(),
        [] => format!("all {count} claims hold"),
        broken => format!("{} of {count} claims are broken: {}", broken.len(), broken.join(", ")),
    };
    let noticed: usize = findings.iter().map(Finding::noticed).sum();
    let tried: usize = findings.iter().map(|finding| finding.mutants.len()).sum();
    let seconds = took.as_secs_f64();
    let text = format!(
        "{verdict}; {noticed} of {tried} wrong schedulers noticed; {runs} runs with seed {} in {seconds:.0} s",
        plan.seed
    );
    folded("", &text) + "\n"
}

/// What `--list` prints.
pub(super) fn list() -> String {
    let mut out = String::new();
    for claim in claims() {
        let heading = format!("{} {}: {}", claim.paper, claim.name, claim.statement);
        let _ = writeln!(out, "{}", folded(&format!("{}  ", claim.id), &heading));
        for (title, text) in [("measured", claim.quantity), ("scope", claim.scope), ("few", claim.few)] {
            if !text.is_empty() {
                let _ = writeln!(out, "{}", folded(&format!("    {title}: "), text));
            }
        }
        let mutants: Vec<String> = claim.mutants.iter().map(|m| format!("{m} ({})", m.about())).collect();
        let _ = writeln!(out, "{}", folded("    mutants: ", &mutants.join("; ")));
        out.push('\n');
    }
    let _ = writeln!(
        out,
        "{} claims. `bombyx verify --only ID` tries one, `--mutate ID` shows how it notices its mutants.",
        claims().count()
    );
    out
}

/// Text folded at the width of the terminal. Its later lines begin below its first word.
fn folded(first: &str, text: &str) -> String {
    wrapped(&format!("{first}{text}"), terminal::style().prose(), first.chars().count())
}
