//! The services `checks:*`, and of them `checks:project`: the project's own checks, and the progress of the build loop.

use std::path::Path;

use rawko_core::{Map, Value};
use rawko_host::{Call, ServiceError};

use super::{Workshop, evidence, part, patch, trees, value};
use rawko_arbiter::loop_control::{Detector, Pass, PassHistory, PassKind, Verdict, judge_passes};
use rawko_programs::checks::{CheckFinding, CheckReport, detect, run_all};

pub(super) async fn check(workshop: &Workshop, call: Call) -> Result<Value, ServiceError> {
    match &*call.name {
        // A check may format files, and files that agents must not change are restored.
        "checks:base" => {
            trees::recorded(workshop, &call, &call.name, evidence::base(workshop, &call)).await.0
        }
        "checks:close" => {
            trees::recorded(workshop, &call, &call.name, evidence::close(workshop, &call)).await.0
        }
        "checks:round" => {
            trees::recorded(workshop, &call, &call.name, evidence::round(workshop, &call)).await.0
        }
        "checks:patch" => patch::patch(workshop, &call).await,
        "checks:progress" => evidence::progress(workshop, &call).await,
        _ => trees::recorded(workshop, &call, &call.name, project(workshop, &call)).await.0,
    }
}

async fn project(workshop: &Workshop, call: &Call) -> Result<Value, ServiceError> {
    let history = if call.input.get("history").is_null() {
        PassHistory::default()
    } else {
        part(&call.input, "history")?
    };
    let now_ms = call.input.get("now_ms").as_i64().unwrap_or(history.started_ms);
    // A chart that recorded a base wants its progress judged, too.
    let (report, more) = if call.input.get("base").is_null() {
        (run(workshop).await, Map::default())
    } else {
        evidence::pass(workshop, call).await?
    };
    let history = history
        .with(Pass { kind: PassKind::Implement, errors: None })
        .with(Pass { kind: PassKind::Validate, errors: Some(report.errors_total) });
    let verdict = if report.clean { Verdict::Fine } else { judge_passes(&history, now_ms, &workshop.loops) };
    let (word, notice, detector) = words(&verdict);
    let mut told = value(&report).as_map().cloned().unwrap_or_default();
    told.insert("text".into(), Value::from(text(&report)));
    told.insert("notice".into(), notice.map_or(Value::Null, Value::str));
    let all = Value::map([
        ("report", Value::Map(told.into())),
        ("history", value(&history)),
        ("verdict", Value::str(word)),
        ("notice", notice.map_or(Value::Null, Value::str)),
        ("detector", detector.map_or(Value::Null, |detector| Value::str(detector.as_str()))),
    ]);
    let mut all = all.as_map().cloned().unwrap_or_default();
    all.extend(more);
    Ok(Value::Map(all.into()))
}

pub(super) async fn run(workshop: &Workshop) -> CheckReport {
    let checks = workshop.checks.clone().unwrap_or_else(|| detect(&workshop.root));
    let Workshop { root, environment, confinement, language_servers, .. } = workshop;
    let mut report = run_all(&checks, root, environment, confinement, language_servers).await;
    shorten_paths(&mut report, &workshop.root);
    report
}

/// Makes paths relative to the project: agents may only refer to those.
pub(super) fn shorten_paths(report: &mut CheckReport, root: &Path) {
    let findings = report.checks.iter_mut().flat_map(|check| &mut check.findings);
    for file in findings.filter_map(|finding| finding.file.as_mut()) {
        if let Ok(short) = Path::new(file.as_str()).strip_prefix(root) {
            *file = short.display().to_string();
        }
    }
}

/// Formats the findings for a prompt.
pub(super) fn text(report: &CheckReport) -> String {
    let mut lines = Vec::new();
    for check in &report.checks {
        let word = match (check.ok, check.decides) {
            (true, _) => "ok",
            (false, true) => "failed",
            (false, false) => "advice",
        };
        lines.push(format!("{} ({}): {word}: {}", check.name, check.command, check.summary));
        lines.extend(check.findings.iter().map(|finding| format!("  {}{}", place(finding), finding.message)));
    }
    lines.join("\n")
}

/// `stock.py:12: `
fn place(finding: &CheckFinding) -> String {
    match (&finding.file, finding.line) {
        (Some(file), Some(line)) => format!("{file}:{line}: "),
        (Some(file), None) => format!("{file}: "),
        (None, _) => String::new(),
    }
}

fn words(verdict: &Verdict) -> (&'static str, Option<&str>, Option<Detector>) {
    match verdict {
        Verdict::Fine => ("fine", None, None),
        Verdict::Notice { text } => ("notice", Some(text), None),
        Verdict::Block { text } => ("block", Some(text), None),
        Verdict::Doom { detector, text } => ("doom", Some(text), Some(*detector)),
    }
}
