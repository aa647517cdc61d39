//! Every problem of the settings, in all sections: those of the host, agents, tools, phases, channels, server, telemetry,
//! retention, queue and triggers. Commands that act stop on them, whichever section they use, because a misspelt rule protects nothing.

use std::path::Path;

use rawko_chart::codes::settings::INVALID_VALUE;
use rawko_chart::{Finding, Registry, SourceFile};
use rawko_host::Settings;
use rawko_server::TurnSettings;
use rawko_triggers::Triggers;

use crate::retention::RetentionSettings;
use crate::{host_telemetry, queue};

type SettingsProblems = Vec<(SourceFile, Vec<Finding>)>;

/// Returns all problems by file. `read` are those found while the files were read, `agents` those of everything agents
/// need.
pub(crate) fn all(
    root: &Path,
    settings: &Settings,
    read: &SettingsProblems,
    agents: &SettingsProblems,
) -> SettingsProblems {
    let mut all: SettingsProblems = Vec::new();
    let mut add = |source: SourceFile, findings: Vec<Finding>| match all
        .iter_mut()
        .find(|(known, _)| known.name == source.name)
    {
        Some((_, known)) => {
            let new: Vec<Finding> = findings.into_iter().filter(|it| !known.contains(it)).collect();
            known.extend(new);
        }
        None => all.push((source, findings)),
    };
    for (source, findings) in read {
        add(source.clone(), findings.clone());
    }
    for (source, findings) in agents.iter().filter(|(source, _)| settings.has_file(&source.name)) {
        add(settings.source(&source.name), findings.clone());
    }
    for (file, findings) in TurnSettings::read(settings, root).1.into_iter().chain(of_server(settings, root))
    {
        add(settings.source(&file), findings);
    }
    let sections = host_telemetry::problems(settings).into_iter();
    let sections = sections.chain(RetentionSettings::look(settings).1);
    let sections = sections.chain(crate::session::settings::look(settings).1);
    for (file, finding) in sections.chain(queue::look_at_settings(settings).1) {
        add(settings.source(&file), vec![finding]);
    }
    for (file, findings) in Triggers::read(settings).problems {
        add(settings.source(&file), findings);
    }
    for (_, findings) in &mut all {
        findings.sort_by_key(|finding| finding.span);
    }
    all
}

#[cfg(feature = "server")]
fn of_server(settings: &Settings, root: &Path) -> Vec<(String, Vec<Finding>)> {
    rawko_server::ServerSettings::read(settings, root).1
}

#[cfg(not(feature = "server"))]
fn of_server(_settings: &Settings, _root: &Path) -> Vec<(String, Vec<Finding>)> {
    Vec::new()
}

/// Returns findings about charts that triggers start and that no file publishes.
pub(crate) fn unknown_charts(settings: &Settings, known: &Registry) -> SettingsProblems {
    let mut problems: SettingsProblems = Vec::new();
    for (file, chart, span) in Triggers::read(settings).charts {
        let id = chart.split('@').next().unwrap_or_default();
        if known.charts().any(|known| known == id)
            || rawko_agents::work::CHARTS.iter().any(|(name, _)| is_own(name, id))
        {
            continue;
        }
        let finding = INVALID_VALUE.at(span, format!("a trigger starts the unknown chart `{chart}`"));
        let finding = finding.help("write the id of a chart of the project; `rawko charts` lists them");
        problems.push((settings.source(&file), vec![finding]));
    }
    problems
}

fn is_own(name: &str, id: &str) -> bool {
    name.strip_suffix(".yaml").is_some_and(|name| name.ends_with(&format!(" {id}")))
}
