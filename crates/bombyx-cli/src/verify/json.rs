//! Findings as JSON: everything that the table shows and what the claims say about themselves.

use super::Result;
use bombyx_verify::{Claim, ERROR, Effort, Finding, Plan, Variant};
use serde_json::{Value, json};

/// One object with the plan and a list of claims.
pub(super) fn json(chosen: &[&Claim], findings: &[Finding], plan: Plan) -> Result<String> {
    let claims: Vec<Value> =
        chosen.iter().zip(findings).map(|(claim, finding)| entry(claim, finding)).collect();
    let effort = match plan.effort {
        Effort::Quick => "quick",
        Effort::Normal => "normal",
        Effort::Thorough => "thorough",
    };
    let value = json!({
        "seed": plan.seed,
        "effort": effort,
        "mutated": plan.variant == Variant::Mutated,
        "confidence": 1.0 - ERROR,
        "claims": claims,
    });
    Ok(serde_json::to_string_pretty(&value)? + "\n")
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
    json!({
        "id": claim.id,
        "paper": claim.paper.to_string(),
        "name": claim.name,
        "statement": claim.statement,
        "quantity": claim.quantity,
        "scope": claim.scope,
        "mutation": claim.mutation,
        "holds": finding.holds(),
        "tried": {
            "computations": finding.tried.computations,
            "processors": finding.tried.processors,
            "seeds": finding.tried.seeds,
            "runs": finding.tried.runs,
        },
        "worst": worst,
        "counterexample": counterexample,
    })
}

/// JSON has no infinity.
fn finite(ratio: f64) -> Option<f64> {
    ratio.is_finite().then_some(ratio)
}
