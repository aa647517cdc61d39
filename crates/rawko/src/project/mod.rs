//! A project on disk: the charts below a directory, the registries that name them, and the agents and services its
//! charts may call. Reading is lenient here: problems of a chart are reported by its own check.

mod duplicate_charts;
mod recursion;
mod registry;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rawko_agents::agent::Agents;
use rawko_chart::codes::agents::INVALID_VALUE;
use rawko_chart::{Finding, Registry, SourceFile, Span, SpannedValue};
use rawko_core::{AgentEntry, ServiceSpec};
use rawko_host::Environment;

pub(crate) use duplicate_charts::Twins;
pub(crate) use recursion::Recursion;
use registry::RegisteredChart;

use crate::failure::CommandFailure;
use crate::files;
use crate::walk;

/// Directory of charts that were uploaded to the server.
pub(crate) const UPLOADED: &str = ".rawko/charts/uploaded";

/// The contents of a project.
#[derive(Debug, Default)]
pub(crate) struct LoadedProject {
    /// Chart files, sorted.
    pub(crate) charts: Vec<PathBuf>,
    pub(crate) registry: Vec<RegisteredChart>,
    /// Files that contain registries.
    registries: Vec<PathBuf>,
    pub(crate) agents: Vec<AgentEntry>,
    /// The agent files and their problems, read once.
    read_agents: (Agents, Vec<(SourceFile, Vec<Finding>)>),
    /// The contents of chart files, read once.
    texts: BTreeMap<PathBuf, Arc<[u8]>>,
    /// Agents that exist, but whose files are invalid.
    unusable: Vec<String>,
    /// `None` if the project has no settings, so that names cannot be checked.
    pub(crate) services: Option<Vec<String>>,
    /// Configured targets of `send`.
    endpoints: Vec<String>,
    /// Specs of configured services.
    specs: Vec<ServiceSpec>,
    /// Problems of registries, agents and settings, each with its file.
    pub(crate) problems: Vec<(SourceFile, Vec<Finding>)>,
}

impl LoadedProject {
    /// Reads everything below a directory.
    pub(crate) fn at(dir: &Path) -> Result<LoadedProject, CommandFailure> {
        let mut project = LoadedProject::default();
        for path in walk::files_below(dir, &walk::is_yaml_or_json)? {
            project.take_file(&path)?;
        }
        project.take_surroundings(&dir.join(".rawko"));
        Ok(project)
    }

    /// Returns the project around a file: the nearest parent directory with a `.rawko`.
    pub(crate) fn around(file: &Path) -> Result<Option<LoadedProject>, CommandFailure> {
        LoadedProject::home_of(file).map(|root| LoadedProject::at(&root)).transpose()
    }

    /// Returns the nearest parent directory of a file with a `.rawko`.
    pub(crate) fn home_of(file: &Path) -> Option<PathBuf> {
        let full = file.canonicalize().ok().filter(|_| !files::is_stdin(file))?;
        LoadedProject::home_above(full.parent()?)
    }

    /// Returns the nearest directory with a `.rawko`: this one, or a parent.
    pub(crate) fn home_above(directory: &Path) -> Option<PathBuf> {
        let full = directory.canonicalize().ok()?;
        let root = full.ancestors().find(|dir| dir.join(".rawko").is_dir())?;
        // Findings name files as the user did, so the root is made relative if possible.
        let here = std::env::current_dir().ok()?.canonicalize().ok()?;
        let root = root.strip_prefix(here).unwrap_or(root);
        Some(if root.as_os_str().is_empty() { PathBuf::from(".") } else { root.to_owned() })
    }

    /// Returns the names that charts of this project may refer to.
    pub(crate) fn known(&self) -> Registry {
        let mut known = crate::loading::registry();
        for entry in &self.registry {
            match self.content(&entry.path).ok().and_then(|text| source(&entry.path, &text)) {
                Some(source) => known.add_chart_of(&entry.id, &entry.version, &source),
                None => known.add_chart(&entry.id, &entry.version),
            }
        }
        for path in &self.charts {
            self.content(path).iter().for_each(|text| add_chart(&mut known, path, text));
        }
        for agent in &self.agents {
            known.add_agent(&agent.id);
        }
        // Their problems are reported once, at their files.
        for agent in &self.unusable {
            known.add_agent(agent);
        }
        for service in self.services.iter().flatten() {
            known.add_service(service);
        }
        for spec in rawko_agents::work::service_specs().into_iter().chain(self.specs.iter().cloned()) {
            known.add_spec(spec);
        }
        rawko_agents::work::add_service_names(&mut known);
        for endpoint in &self.endpoints {
            known.add_endpoint(endpoint);
        }
        // An unknown name can be reported only if the project has settings.
        if self.services.is_some() { known.complete() } else { known }
    }

    /// Returns the agents of the project and its user, without the built-in ones, and the problems of their files.
    pub(crate) fn read_agents(&self) -> (Agents, Vec<(SourceFile, Vec<Finding>)>) {
        self.read_agents.clone()
    }

    /// Returns the content of a file: as it was when the project was read, for its charts.
    pub(crate) fn content(&self, path: &Path) -> Result<Arc<[u8]>, CommandFailure> {
        self.texts.get(path).map_or_else(|| Ok(files::read(path)?.into()), |text| Ok(Arc::clone(text)))
    }

    /// Returns the charts that others may invoke: those of registries, then those in `.rawko/charts` and the uploaded
    /// ones.
    pub(crate) fn invocable_charts(&self) -> Vec<PathBuf> {
        let mut paths: Vec<PathBuf> = self.registry.iter().map(|entry| entry.path.clone()).collect();
        let folders = [".rawko/charts", UPLOADED];
        let shipped = |path: &&PathBuf| {
            path.parent().is_some_and(|parent| folders.iter().any(|folder| parent.ends_with(folder)))
        };
        for path in self.charts.iter().filter(shipped) {
            if !paths.contains(path) {
                paths.push(path.clone());
            }
        }
        paths
    }

    /// Returns the files outside `.rawko` that decide which charts others may invoke.
    pub(crate) fn authority(&self) -> Vec<PathBuf> {
        self.registries.iter().cloned().chain(self.invocable_charts()).collect()
    }

    /// Returns the id of a chart that cannot be loaded: its own, else that in a registry, else its file name.
    pub(crate) fn id_of(&self, path: &Path) -> String {
        let own = || Some(identity(&self.content(path).ok()?)?.0);
        let registered =
            || self.registry.iter().find(|entry| entry.path == path).map(|entry| entry.id.clone());
        let stem = || path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        own().or_else(registered).or_else(stem).unwrap_or_default()
    }

    /// Returns the charts that one registry lists, if a file is only a registry.
    pub(crate) fn of_registry(path: &Path) -> Option<LoadedProject> {
        // Standard input can be read only once, and a registry there has no files beside it.
        if files::is_stdin(path) {
            return None;
        }
        let text = files::read_text(path).ok()?;
        if !looks_like(&text, "machine_registry") || is_chart(&text) {
            return None;
        }
        let mut project = LoadedProject::default();
        project.take_registry(path, &text);
        project.charts = project.registry.iter().map(|entry| entry.path.clone()).collect();
        Some(project)
    }

    fn take_file(&mut self, path: &Path) -> Result<(), CommandFailure> {
        let is_scenario = path.file_name().is_some_and(|name| walk::is_scenario(&name.to_string_lossy()));
        if is_scenario {
            return Ok(());
        }
        let Ok(text) = files::read_text(path) else {
            // Unreadable or not text, which matters only if the user named the file.
            return Ok(());
        };
        if looks_like(&text, "machine_registry") {
            self.take_registry(path, &text);
        }
        if is_chart(&text) {
            self.charts.push(path.to_owned());
            self.texts.insert(path.to_owned(), text.into_bytes().into());
        }
        Ok(())
    }

    fn take_registry(&mut self, path: &Path, text: &str) {
        let source = SourceFile::new(files::shown(path), text);
        let (entries, mut findings) = registry::read(path, &source);
        if looks_like(text, "statechart") {
            // The chart in the same file reports the structure of the whole document when it is checked.
            findings.retain(|finding| finding.code.starts_with("rawko::project::"));
        }
        self.registry.extend(entries);
        self.registries.push(path.to_owned());
        self.complain(source, findings);
    }

    fn take_surroundings(&mut self, folder: &Path) {
        let root = folder.parent().unwrap_or(Path::new("."));
        let (agents, problems) = Agents::read(root, &Environment::of_process());
        self.unusable = agents.unusable().iter().map(|agent| agent.name.clone()).collect();
        self.read_agents = (agents.clone(), problems.clone());
        problems.into_iter().for_each(|(source, findings)| self.complain(source, findings));
        self.check_charts_of(&agents, root);
        self.agents = agents.with_built_in().entries();
        self.take_settings(&folder.join("config.yaml"));
    }

    /// Reports agents of kind `chart` whose chart no one can invoke.
    fn check_charts_of(&mut self, agents: &Agents, root: &Path) {
        let lost: Vec<(String, String)> = agents
            .all()
            .iter()
            .filter_map(|agent| Some((agent.file.clone(), agent.chart.clone()?)))
            .filter(|(_, chart)| !self.is_invocable(chart))
            .collect();
        for (file, chart) in lost {
            let text = files::read_text(&root.join(&file)).unwrap_or_default();
            let start = text.find(&chart).unwrap_or(0);
            let span = Span::new(start, start + if start == 0 { 0 } else { chart.len() });
            let finding = INVALID_VALUE.at(span, format!("there is no chart `{chart}`"));
            let help = "add it to .rawko/charts, or name one that `rawko charts` lists";
            self.complain(SourceFile::new(file, text), vec![finding.help(help)]);
        }
    }

    fn is_invocable(&self, reference: &str) -> bool {
        let id = reference.split_once('@').map_or(reference, |(id, _)| id);
        let own = self.invocable_charts().iter().any(|path| self.id_of(path) == id);
        own || rawko_agents::work::chart_ids().any(|known| known == id)
    }

    fn take_settings(&mut self, path: &Path) {
        let Ok(text) = files::read_text(path) else { return };
        match SpannedValue::read(&text) {
            Ok(document) => {
                let names = |key: &str| {
                    let entries = document.get(key).and_then(SpannedValue::entries).unwrap_or_default();
                    entries.iter().map(|entry| entry.key.clone()).collect::<Vec<_>>()
                };
                let services = document.get("services").and_then(SpannedValue::entries).unwrap_or_default();
                self.specs = services.iter().map(|entry| spec(&entry.key, &entry.value)).collect();
                self.services = Some(names("services"));
                self.endpoints = names("endpoints");
            }
            Err(findings) => self.complain(SourceFile::new(files::shown(path), text), findings),
        }
    }

    fn complain(&mut self, source: SourceFile, findings: Vec<Finding>) {
        if !findings.is_empty() {
            self.problems.push((source, findings));
        }
    }
}

/// A configured service with the schemas that its settings give.
fn spec(name: &str, settings: &SpannedValue) -> ServiceSpec {
    let spec = ServiceSpec::named(name);
    let spec = settings.get("input").into_iter().fold(spec, |spec, input| spec.taking(&input.to_json()));
    settings.get("output").into_iter().fold(spec, |spec, output| spec.giving(&output.to_json()))
}

/// Adds the chart in a file to a registry.
pub(crate) fn add_chart(known: &mut Registry, path: &Path, text: &[u8]) {
    let Some((id, version)) = identity(text) else { return };
    match source(path, text) {
        Some(source) => known.add_chart_of(&id, &version, &source),
        None => known.add_chart(id, version),
    }
}

fn source(path: &Path, text: &[u8]) -> Option<SourceFile> {
    Some(SourceFile::new(files::shown(path), std::str::from_utf8(text).ok()?))
}

/// Returns the id and version of the chart in a text, as far as they are readable.
pub(crate) fn identity(bytes: &[u8]) -> Option<(String, String)> {
    let document = SpannedValue::read(std::str::from_utf8(bytes).ok()?).ok()?;
    let chart = document.get("statechart").unwrap_or(&document);
    let plain = |json: serde_json::Value| json.as_str().map_or_else(|| json.to_string(), str::to_owned);
    let version = chart.get("version").map(|version| plain(version.to_json())).unwrap_or_default();
    Some((chart.get("id")?.text()?.to_owned(), version))
}

/// Returns true if a text is meant to be a chart: wrapped in `statechart:`, or bare. A bare one in JSON is more likely
/// XState's.
pub(crate) fn is_chart(text: &str) -> bool {
    looks_like(text, "statechart")
        || (!is_json(text)
            && looks_like(text, "states")
            && looks_like(text, "initial")
            && looks_like(text, "id"))
}

fn is_json(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim_start().starts_with('{')
}

/// Returns true if a text has a top-level key, based on its lines: a chart with a syntax error is still meant to be a
/// chart.
pub(crate) fn looks_like(text: &str, key: &str) -> bool {
    let yaml = |line: &str| {
        let line = line.trim_start_matches('\u{feff}');
        let line = line.strip_prefix(['"', '\'']).unwrap_or(line);
        line.strip_prefix(key)
            .is_some_and(|rest| rest.trim_start_matches(['"', '\'']).trim_start().starts_with(':'))
    };
    let trimmed = text.trim_start_matches('\u{feff}').trim_start();
    if !is_json(text) {
        return text.lines().any(yaml);
    }
    // JSON has the key somewhere near its opening brace; strings that merely mention it are not followed by a colon.
    let quoted = format!("\"{key}\"");
    trimmed.match_indices(&quoted).any(|(at, _)| {
        let outside = trimmed[..at].matches('{').count() == 1 + trimmed[..at].matches('}').count();
        outside && trimmed[at + quoted.len()..].trim_start().starts_with(':')
    })
}

#[cfg(test)]
mod tests {
    use super::looks_like;

    #[test]
    fn a_chart_is_known_by_its_key() {
        let table = [
            ("statechart:\n  id: a", true),
            ("# a comment\n\"statechart\" :\n", true),
            ("statechart:\n  id: [broken", true),
            ("{\"statechart\": {}}", true),
            ("{\"machine_registry\": [], \"statechart\" : {}}", true),
            ("{\"a\": {\"statechart\": 1}}", false),
            ("{\"a\": \"statechart\"}", false),
            ("steps:\n  statechart: a", false),
            ("statecharts: []", false),
            ("", false),
        ];
        for (text, expected) in table {
            assert_eq!(looks_like(text, "statechart"), expected, "{text}");
        }
    }
}
