//! Parses SARIF, the output of static analysers. Only results of level `error` that are not suppressed are errors.

use serde_json::Value;

use super::{CheckCount, Unreadable, as_count, many};
use crate::checks::report::CheckFinding;

pub(super) fn count(text: &str) -> Result<CheckCount, Unreadable> {
    let json: Value = serde_json::from_str(text.trim()).map_err(|error| format!("no JSON: {error}"))?;
    let runs = json.get("runs").and_then(Value::as_array).ok_or("no SARIF: it has no `runs`")?;
    let results: Vec<(&Value, &Value)> = runs.iter().flat_map(results_of).collect();
    let findings: Vec<CheckFinding> = results
        .iter()
        .filter(|(run, result)| is_error(run, result))
        .map(|(_, result)| finding(result))
        .collect();
    let errors = as_count(findings.len());
    let others = as_count(results.len()) - errors;
    let summary = if results.is_empty() {
        String::new()
    } else {
        format!("{}, {}", many(errors, "error"), many(others, "lesser finding"))
    };
    Ok(CheckCount { errors, summary, findings, ..CheckCount::default() })
}

fn results_of(run: &Value) -> impl Iterator<Item = (&Value, &Value)> {
    let results = run.get("results").and_then(Value::as_array);
    results.into_iter().flatten().filter(|result| !is_suppressed(result)).map(move |result| (run, result))
}

fn is_suppressed(result: &Value) -> bool {
    result.get("suppressions").and_then(Value::as_array).is_some_and(|all| !all.is_empty())
}

/// A result without a level takes its rule's; the default is a warning.
fn is_error(run: &Value, result: &Value) -> bool {
    let of_rule = || {
        let rules = run.pointer("/tool/driver/rules")?.as_array()?;
        let id = result.get("ruleId").and_then(Value::as_str)?;
        let rule = rules.iter().find(|rule| rule.get("id").and_then(Value::as_str) == Some(id))?;
        rule.pointer("/defaultConfiguration/level")?.as_str()
    };
    result.get("level").and_then(Value::as_str).or_else(of_rule) == Some("error")
}

fn finding(result: &Value) -> CheckFinding {
    let place = result.pointer("/locations/0/physicalLocation");
    let file = place.and_then(|place| place.pointer("/artifactLocation/uri")?.as_str());
    let line = place.and_then(|place| place.pointer("/region/startLine")?.as_u64());
    let message = result.pointer("/message/text").and_then(Value::as_str).unwrap_or_default();
    CheckFinding::new(file, line, message)
}
