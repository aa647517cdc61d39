//! Every problem of the settings, in all sections: those of the host, agents, tools, phases, channels, server, telemetry
//! and retention. Commands that act stop on them, whichever section they use, because a misspelt rule protects nothing.

use std::path::Path;

use rawko_chart::{Finding, Source};
use rawko_host::Settings;
use rawko_server::TurnSettings;

use crate::retention::RetentionSettings;
use crate::watching;

type Problems = Vec<(Source, Vec<Finding>)>;

/// Returns all problems by file. `read` are those found while the files were read, `agents` those of everything agents
/// need.
pub(crate) fn all(root: &Path, settings: &Settings, read: &Problems, agents: &Problems) -> Problems {
    let mut all: Problems = Vec::new();
    let mut add = |source: Source, findings: Vec<Finding>| match all
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
    for (file, finding) in watching::problems(settings).into_iter().chain(RetentionSettings::look(settings).1)
    {
        add(settings.source(&file), vec![finding]);
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
