//! Settings, agents and charts: all problems in the files of a project.

use rawko_chart::{Finding, Severity, SourceFile};

use super::{CheckState, DoctorResult};
use crate::commands::check;
use crate::failure::CommandFailure;
use crate::hosting::ProjectContext;
use crate::trust::{self, TrustStanding};

pub(super) fn look(place: &ProjectContext) -> Vec<DoctorResult> {
    let problems = place.settings_problems();
    let mut checks: Vec<DoctorResult> =
        problems.iter().flat_map(|(source, findings)| of_findings("settings", source, findings)).collect();
    if checks.iter().any(|check| check.state == CheckState::Problem) {
        return checks;
    }
    let file = place.root.join(".rawko/config.yaml");
    let text = match file.exists() {
        true => format!("{}: valid", crate::files::shown(&file)),
        false => "no settings file; charts cannot call services".to_owned(),
    };
    checks.insert(0, DoctorResult::new("settings", CheckState::Ok, text));
    checks
}

/// Checks that commands may act: the files of the project are trusted.
pub(super) fn look_at_trust(place: &ProjectContext) -> Vec<DoctorResult> {
    let files = place.authority_files();
    let standing = files.and_then(|files| trust::standing(&place.root, files));
    let check = match standing {
        Ok(TrustStanding::Empty) => return Vec::new(),
        Ok(TrustStanding::Trusted) => {
            DoctorResult::new("trust", CheckState::Ok, "the files of this project are trusted")
        }
        Ok(TrustStanding::Differs(differences)) => {
            let named: Vec<String> = differences
                .iter()
                .map(|(path, difference)| format!("{path} ({})", difference.as_str()))
                .collect();
            let text = format!("not trusted: {}", named.join(", "));
            DoctorResult::new("trust", CheckState::Warn, text).help("review them with `rawko trust`")
        }
        Err(CommandFailure::Usage(why) | CommandFailure::Invalid(why)) => {
            DoctorResult::new("trust", CheckState::Problem, why)
        }
        Err(_) => {
            DoctorResult::new("trust", CheckState::Problem, "the files of this project cannot be checked")
        }
    };
    vec![check]
}

fn of_findings<'a>(
    about: &'static str,
    source: &'a SourceFile,
    findings: &'a [Finding],
) -> impl Iterator<Item = DoctorResult> + 'a {
    findings.iter().map(move |finding| {
        let state = if finding.severity >= Severity::Error { CheckState::Problem } else { CheckState::Warn };
        let before = source.text.get(..finding.span.start as usize).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let check = DoctorResult::new(about, state, format!("{}:{line}: {}", source.name, finding.message));
        match &finding.help {
            Some(help) => check.help(help.clone()),
            None => check,
        }
    })
}

/// Checks agents and charts.
pub(super) fn look_at_project(place: &ProjectContext) -> Vec<DoctorResult> {
    let Some(project) = place.project() else { return Vec::new() };
    let is_about_settings = |source: &SourceFile| source.name.ends_with("config.yaml");
    let problems = project.problems.iter().filter(|(source, _)| !is_about_settings(source));
    let mut checks: Vec<DoctorResult> =
        problems.flat_map(|(source, findings)| of_findings("project", source, findings)).collect();
    if !project.agents.is_empty() {
        let names: Vec<_> = project.agents.iter().map(|agent| agent.id.as_str()).collect();
        checks.push(DoctorResult::new("agents", CheckState::Ok, names.join(", ")));
    }
    if !project.agents.is_empty() {
        let services = place.agent_services().0;
        let skipped = services.hooks.skipped().iter();
        checks.extend(skipped.map(|hook| {
            let text = format!("does not run for rawko's agents: {hook}");
            DoctorResult::new("hooks", CheckState::Warn, text)
        }));
        let search = services.search_health();
        let state = if search.ok { CheckState::Ok } else { CheckState::Problem };
        checks.push(DoctorResult::new("search", state, search.text));
    }
    match check::charts_of(&place.root) {
        Ok(charts) => checks.extend(charts.iter().map(|(source, findings)| of_chart(source, findings))),
        Err(CommandFailure::Usage(why) | CommandFailure::Invalid(why)) => {
            checks.push(DoctorResult::new("chart", CheckState::Problem, why));
        }
        Err(_) => {
            checks.push(DoctorResult::new("chart", CheckState::Problem, "the charts cannot be checked"))
        }
    }
    checks
}

/// Judges a chart as `rawko check` does, in one line.
fn of_chart(source: &SourceFile, findings: &[Finding]) -> DoctorResult {
    let worst = findings.iter().map(|finding| finding.severity).max();
    let state = match worst {
        Some(severity) if severity >= Severity::Error => CheckState::Problem,
        Some(Severity::Warning) => CheckState::Warn,
        Some(_) | None => return DoctorResult::new("chart", CheckState::Ok, source.name.to_string()),
    };
    let first = findings.iter().find(|finding| Some(finding.severity) == worst);
    let first = first.map_or_else(String::new, |finding| finding.message.clone());
    let more = match findings.len() {
        0 | 1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    let help = format!("see `rawko check {}`", source.name);
    DoctorResult::new("chart", state, format!("{}: {first}{more}", source.name)).help(help)
}
