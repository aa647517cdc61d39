//! Settings, agents and charts: all problems in the files of a project.

use rawko_chart::{Finding, Severity, Source};

use super::{Check, State};
use crate::commands::check;
use crate::failure::Failure;
use crate::hosting::ProjectContext;
use crate::trust::{self, Standing};

pub(super) fn look(place: &ProjectContext) -> Vec<Check> {
    let problems = place.settings_problems();
    let mut checks: Vec<Check> =
        problems.iter().flat_map(|(source, findings)| of_findings("settings", source, findings)).collect();
    if checks.iter().any(|check| check.state == State::Problem) {
        return checks;
    }
    let file = place.root.join(".rawko/config.yaml");
    let text = match file.exists() {
        true => format!("{}: valid", crate::files::shown(&file)),
        false => "no settings file; charts cannot call services".to_owned(),
    };
    checks.insert(0, Check::new("settings", State::Ok, text));
    checks
}

/// Checks that commands may act: the files of the project are trusted.
pub(super) fn look_at_trust(place: &ProjectContext) -> Vec<Check> {
    let files = place.authority_files();
    let standing = files.and_then(|files| trust::standing(&place.root, files));
    let check = match standing {
        Ok(Standing::Empty) => return Vec::new(),
        Ok(Standing::Trusted) => Check::new("trust", State::Ok, "the files of this project are trusted"),
        Ok(Standing::Differs(differences)) => {
            let named: Vec<String> = differences
                .iter()
                .map(|(path, difference)| format!("{path} ({})", difference.as_str()))
                .collect();
            let text = format!("not trusted: {}", named.join(", "));
            Check::new("trust", State::Warn, text).help("review them with `rawko trust`")
        }
        Err(Failure::Usage(why) | Failure::Invalid(why)) => Check::new("trust", State::Problem, why),
        Err(_) => Check::new("trust", State::Problem, "the files of this project cannot be checked"),
    };
    vec![check]
}

fn of_findings<'a>(
    about: &'static str,
    source: &'a Source,
    findings: &'a [Finding],
) -> impl Iterator<Item = Check> + 'a {
    findings.iter().map(move |finding| {
        let state = if finding.severity >= Severity::Error { State::Problem } else { State::Warn };
        let before = source.text.get(..finding.span.start as usize).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let check = Check::new(about, state, format!("{}:{line}: {}", source.name, finding.message));
        match &finding.help {
            Some(help) => check.help(help.clone()),
            None => check,
        }
    })
}

/// Checks agents and charts.
pub(super) fn look_at_project(place: &ProjectContext) -> Vec<Check> {
    let Some(project) = place.project() else { return Vec::new() };
    let is_about_settings = |source: &Source| source.name.ends_with("config.yaml");
    let problems = project.problems.iter().filter(|(source, _)| !is_about_settings(source));
    let mut checks: Vec<Check> =
        problems.flat_map(|(source, findings)| of_findings("project", source, findings)).collect();
    if !project.agents.is_empty() {
        let names: Vec<_> = project.agents.iter().map(|agent| agent.id.as_str()).collect();
        checks.push(Check::new("agents", State::Ok, names.join(", ")));
    }
    if !project.agents.is_empty() {
        let search = place.agent_services().0.search_health();
        let state = if search.ok { State::Ok } else { State::Problem };
        checks.push(Check::new("search", state, search.text));
    }
    match check::charts_of(&place.root) {
        Ok(charts) => checks.extend(charts.iter().map(|(source, findings)| of_chart(source, findings))),
        Err(Failure::Usage(why) | Failure::Invalid(why)) => {
            checks.push(Check::new("chart", State::Problem, why));
        }
        Err(_) => checks.push(Check::new("chart", State::Problem, "the charts cannot be checked")),
    }
    checks
}

/// Judges a chart as `rawko check` does, in one line.
fn of_chart(source: &Source, findings: &[Finding]) -> Check {
    let worst = findings.iter().map(|finding| finding.severity).max();
    let state = match worst {
        Some(severity) if severity >= Severity::Error => State::Problem,
        Some(Severity::Warning) => State::Warn,
        Some(_) | None => return Check::new("chart", State::Ok, source.name.to_string()),
    };
    let first = findings.iter().find(|finding| Some(finding.severity) == worst);
    let first = first.map_or_else(String::new, |finding| finding.message.clone());
    let more = match findings.len() {
        0 | 1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    let help = format!("see `rawko check {}`", source.name);
    Check::new("chart", state, format!("{}: {first}{more}", source.name)).help(help)
}
