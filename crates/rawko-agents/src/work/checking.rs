//! The services `checks:*`, and of them `checks:project`: the project's own checks, and the progress of the build loop.

use std::path::Path;

use rawko_host::{ServiceCall, ServiceError};

use super::types::{
    BaseOutput, CloseChecksInput, CloseChecksOutput, ProjectInput, ProjectOutput, ReportRecord, RoundInput,
    RoundOutput, VerdictWord,
};
use super::{AgentServices, evidence, tool, trees};
use rawko_arbiter::loop_control::{LoopVerdict, Pass, PassKind, judge_passes};
use rawko_programs::checks::{CheckFinding, CheckReport, detect, run_all};

// A check may format files, and files that agents must not change are restored: each leaves a checkpoint.

/// `checks:base`.
pub(super) async fn base(
    agent_services: &AgentServices,
    call: &ServiceCall,
) -> Result<BaseOutput, ServiceError> {
    trees::recorded(agent_services, call, &call.name, evidence::base(agent_services, call)).await.0
}

/// `checks:close`.
pub(super) async fn close(
    agent_services: &AgentServices,
    call: &ServiceCall,
    input: CloseChecksInput,
) -> Result<CloseChecksOutput, ServiceError> {
    trees::recorded(agent_services, call, &call.name, evidence::close(agent_services, call, input)).await.0
}

/// `checks:round`.
pub(super) async fn round(
    agent_services: &AgentServices,
    call: &ServiceCall,
    input: RoundInput,
) -> Result<RoundOutput, ServiceError> {
    trees::recorded(agent_services, call, &call.name, evidence::round(agent_services, call, input)).await.0
}

/// `checks:project`.
pub(super) async fn project(
    agent_services: &AgentServices,
    call: &ServiceCall,
    input: ProjectInput,
) -> Result<ProjectOutput, ServiceError> {
    trees::recorded(agent_services, call, &call.name, pass(agent_services, call, input)).await.0
}

async fn pass(
    agent_services: &AgentServices,
    call: &ServiceCall,
    input: ProjectInput,
) -> Result<ProjectOutput, ServiceError> {
    let history = input.history.clone();
    let now_ms = input.now_ms.unwrap_or(history.started_ms);
    // A chart that recorded a base wants its progress judged, too.
    let judged = match input.base.clone() {
        Some(base) => Some(evidence::pass(agent_services, call, base, input).await?),
        None => None,
    };
    let report = match &judged {
        Some(judged) => judged.evidence.report.clone(),
        None => run(agent_services).await,
    };
    let history = history
        .with(Pass { kind: PassKind::Implement, errors: None })
        .with(Pass { kind: PassKind::Validate, errors: Some(report.errors_total) });
    let verdict =
        if report.clean { LoopVerdict::Fine } else { judge_passes(&history, now_ms, &agent_services.loops) };
    let notice = tool::words(&verdict).map(str::to_owned);
    let text = text(&report);
    let CheckReport { checks, errors_total, clean } = report;
    let output = ProjectOutput {
        report: ReportRecord { checks, errors_total, clean, text, notice: notice.clone() },
        history,
        verdict: VerdictWord::from(&verdict),
        notice,
        detector: tool::detector(&verdict),
        progress: None,
        standing: None,
        tell: None,
        restored: None,
        verified: None,
        tree: None,
        changes: None,
    };
    Ok(match judged {
        None => output,
        Some(judged) => ProjectOutput {
            progress: Some(judged.progress),
            standing: Some(judged.standing),
            tell: judged.tell,
            restored: Some(judged.evidence.restored),
            verified: Some(judged.evidence.verified),
            tree: Some(judged.evidence.tree),
            changes: judged.evidence.changes,
            ..output
        },
    })
}

pub(super) async fn run(agent_services: &AgentServices) -> CheckReport {
    let checks = agent_services.checks.clone().unwrap_or_else(|| detect(&agent_services.root));
    let AgentServices { root, environment, confinement, language_servers, .. } = agent_services;
    let mut report = run_all(&checks, root, environment, confinement, language_servers).await;
    shorten_paths(&mut report, &agent_services.root);
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
