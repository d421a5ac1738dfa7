//! Findings as JSON: everything that the table shows, and what the claims say about themselves.

use super::Result;
use bombyx_verify::{Claim, ERROR, Effort, Finding, Noticed, Plan};
use serde_json::{Value, json};

/// One object with the plan and a list of claims.
pub(super) fn json(chosen: &[&Claim], findings: &[Finding], plan: Plan) -> Result<Value> {
    let claims: Vec<Value> =
        chosen.iter().zip(findings).map(|(claim, finding)| entry(claim, finding)).collect();
    let effort = match plan.effort {
        Effort::Quick => "quick",
        Effort::Normal => "normal",
        Effort::Thorough => "thorough",
    };
    Ok(json!({
        "seed": plan.seed,
        "effort": effort,
        "confidence": 1.0 - ERROR,
        "claims": claims,
    }))
}

/// A row per claim.
pub(super) fn rows(chosen: &[&Claim], findings: &[Finding]) -> Vec<Value> {
    let row = |(claim, finding): (&&Claim, &Finding)| {
        let worst = finding.worst.as_ref();
        json!({
            "id": claim.id,
            "name": claim.name,
            "holds": finding.holds(),
            "runs": finding.tried.runs,
            "measured": worst.map(|worst| worst.measured),
            "bound": worst.map(|worst| worst.bound),
            "mutants": finding.mutants.len(),
            "noticed": finding.noticed(),
        })
    };
    chosen.iter().zip(findings).map(row).collect()
}

fn entry(claim: &Claim, finding: &Finding) -> Value {
    let worst = finding.worst.as_ref().map(|worst| {
        json!({
            "measured": worst.measured,
            "bound": worst.bound,
            "ratio": finite(worst.ratio()),
            "interval": worst.interval.map(|i| [i.low, i.high]),
            "at": worst.at,
        })
    });
    let counterexample = finding.counterexample.as_ref().map(|broken| {
        json!({ "text": broken.text, "run": broken.run, "found": broken.found, "replay": broken.replay })
    });
    let constant = finding.constant.map(|constant| {
        json!({
            "unit": constant.unit,
            "measured": constant.measured,
            "checked": constant.checked,
            "proof": constant.proof,
            "from_below": constant.from_below,
        })
    });
    let mutant = |noticed: &Noticed| {
        json!({
            "name": noticed.mutant.to_string(),
            "about": noticed.mutant.about(),
            "noticed": noticed.by.is_some(),
            "by": noticed.by,
        })
    };
    let mutants: Vec<Value> = finding.mutants.iter().map(mutant).collect();
    json!({
        "id": claim.id,
        "paper": claim.paper.id(),
        "name": claim.name,
        "statement": claim.statement,
        "quantity": claim.quantity,
        "scope": claim.scope,
        "holds": finding.holds(),
        "tried": {
            "computations": finding.tried.computations,
            "processors": finding.tried.processors,
            "seeds": finding.tried.seeds,
            "runs": finding.tried.runs,
        },
        "worst": worst,
        "counterexample": counterexample,
        "constant": constant,
        "mutants": mutants,
        "few": claim.few,
    })
}

/// JSON has no infinity.
fn finite(ratio: f64) -> Option<f64> {
    ratio.is_finite().then_some(ratio)
}
