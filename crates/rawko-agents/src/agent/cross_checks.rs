//! Checks across agent files: precedence, duplicate names, transitions to unknown agents.

use rawko_chart::codes::agents::{DUPLICATE_AGENT, UNKNOWN_TRANSITION};
use rawko_chart::{Finding, Severity, SourceFile, nearest};
use rawko_host::Environment;

use super::folders::FoundFile;
use super::read::{self, FileReading};
use super::{Agents, COMPLETE, Level, Unusable, tool_names};

type FileProblems = Vec<(SourceFile, Vec<Finding>)>;

/// A file with its reading.
struct One {
    source: SourceFile,
    level: Level,
    reading: FileReading,
}

pub(super) fn join(
    found: Vec<FoundFile>,
    environment: &Environment,
    servers: Option<&[String]>,
) -> (Agents, FileProblems) {
    let (mut files, mut problems): (Vec<One>, FileProblems) = (Vec::new(), Vec::new());
    for file in found {
        match file {
            FoundFile { is_other: true, source, unread, .. } => {
                problems.push((source, unread.into_iter().collect()))
            }
            file => files.push(one(file, environment)),
        }
    }
    report_duplicates(&mut files);
    report_targets(&mut files);
    for file in &mut files {
        if let Some(agent) = &file.reading.agent {
            let unknown = tool_names::unknown(agent, &file.source, servers);
            if unknown.iter().any(|finding| finding.severity >= Severity::Error) {
                file.reading.agent = None;
            }
            file.reading.findings.extend(unknown);
        }
    }
    let mut agents = Agents::default();
    for file in files {
        agents.take(&file.source, file.reading, &mut problems);
    }
    agents.all.sort_by(|a, b| a.name.cmp(&b.name));
    problems.retain(|(_, findings)| !findings.is_empty());
    (agents, problems)
}

fn one(found: FoundFile, environment: &Environment) -> One {
    let mut reading = match &found.unread {
        Some(_) => read::read(&SourceFile::new("unread.yaml", ""), &found.stem, found.level, environment),
        None => read::read(&found.source, &found.stem, found.level, environment),
    };
    if let Some(finding) = found.unread {
        reading.agent = None;
        reading.findings = vec![finding];
    }
    One { source: found.source, level: found.level, reading }
}

/// Within one folder the first by file name keeps the name; the others cannot be used.
fn report_duplicates(files: &mut [One]) {
    for index in 0..files.len() {
        let (before, rest) = files.split_at_mut(index);
        let file = &mut rest[0];
        let is_same = |other: &&One| other.level == file.level && other.reading.name == file.reading.name;
        if let Some(first) = before.iter().find(is_same) {
            let message = format!("there is already an agent `{}`: {}", file.reading.name, first.source.name);
            let finding = DUPLICATE_AGENT.at(file.reading.name_span, message);
            file.reading.findings.push(finding.help("give one of them another `name`"));
            file.reading.agent = None;
        }
    }
}

fn report_targets(files: &mut [One]) {
    let names: Vec<String> = files.iter().map(|file| file.reading.name.clone()).collect();
    for file in files {
        let findings = &mut file.reading.findings;
        let unknown =
            file.reading.targets.iter().filter(|(name, _)| *name != COMPLETE && !names.contains(name));
        let count = findings.len();
        findings.extend(unknown.map(|(name, span)| {
            let candidates = names.iter().map(String::as_str).chain([COMPLETE]);
            let help = nearest(name, candidates).map_or_else(
                || format!("an agent's name, or `{COMPLETE}` when nothing is left to do"),
                |near| format!("did you mean `{near}`?"),
            );
            UNKNOWN_TRANSITION.at(*span, format!("there is no agent `{name}`")).help(help)
        }));
        if findings.len() > count {
            file.reading.agent = None;
        }
    }
}

impl Agents {
    /// Files nearest to the project come first; the first of a name is the agent, valid or not.
    fn take(&mut self, source: &SourceFile, reading: FileReading, problems: &mut FileProblems) {
        let is_taken = self.get(&reading.name).is_some()
            || self.unusable.iter().any(|unusable| unusable.name == reading.name);
        match reading.agent {
            Some(agent) if is_taken => self.shadowed.push(agent),
            Some(agent) => self.all.push(agent),
            None if is_taken => {}
            None => self.unusable.push(Unusable { name: reading.name, file: source.name.to_string() }),
        }
        let mut findings = reading.findings;
        findings.sort_by_key(|finding| finding.span);
        problems.push((source.clone(), findings));
    }
}
