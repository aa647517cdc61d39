//! A project on disk: the charts below a directory, the registries that name them, and the agents and services its
//! charts may call. Reading is lenient here: what is wrong with a chart is said by its own check.

mod recursion;
mod registry;
mod twins;

use std::path::{Path, PathBuf};

use rawko_agents::agent::Agents;
use rawko_chart::{Document, Finding, Registry, Source};
use rawko_core::{AgentEntry, ServiceSpec};
use rawko_host::Environment;

pub(crate) use recursion::Recursion;
use registry::Registered;
pub(crate) use twins::Twins;

use crate::failure::Failure;
use crate::files;
use crate::walk;

/// Where charts lie that were uploaded to the server.
pub(crate) const UPLOADED: &str = ".rawko/charts/uploaded";

/// What there is in a project.
#[derive(Debug, Default)]
pub(crate) struct Project {
    /// Chart files, sorted.
    pub(crate) charts: Vec<PathBuf>,
    pub(crate) registry: Vec<Registered>,
    pub(crate) agents: Vec<AgentEntry>,
    /// Agents that are there, but whose files are wrong.
    unusable: Vec<String>,
    /// `None` when the project has no settings, so that nothing can be said about a name.
    pub(crate) services: Option<Vec<String>>,
    /// Configured targets of `send`.
    endpoints: Vec<String>,
    /// What settings say about services.
    specs: Vec<ServiceSpec>,
    /// What is wrong with registries, agents and settings, each with the file it is about.
    pub(crate) problems: Vec<(Source, Vec<Finding>)>,
}

impl Project {
    /// Everything below a directory.
    pub(crate) fn at(dir: &Path) -> Result<Project, Failure> {
        let mut project = Project::default();
        for path in walk::files_below(dir, &walk::is_yaml_or_json)? {
            project.take_file(&path)?;
        }
        project.take_surroundings(&dir.join(".rawko"));
        Ok(project)
    }

    /// The project a file lies in: the nearest directory upward that has a `.rawko`.
    pub(crate) fn around(file: &Path) -> Result<Option<Project>, Failure> {
        Project::home_of(file).map(|root| Project::at(&root)).transpose()
    }

    /// The nearest directory upward of a file that has a `.rawko`.
    pub(crate) fn home_of(file: &Path) -> Option<PathBuf> {
        let full = file.canonicalize().ok().filter(|_| !files::is_stdin(file))?;
        Project::home_above(full.parent()?)
    }

    /// The nearest directory that has a `.rawko`: this one, or one upward of it.
    pub(crate) fn home_above(directory: &Path) -> Option<PathBuf> {
        let full = directory.canonicalize().ok()?;
        let root = full.ancestors().find(|dir| dir.join(".rawko").is_dir())?;
        // Findings name files as the person did, so the root is made relative where that is possible.
        let here = std::env::current_dir().ok()?.canonicalize().ok()?;
        let root = root.strip_prefix(here).unwrap_or(root);
        Some(if root.as_os_str().is_empty() { PathBuf::from(".") } else { root.to_owned() })
    }

    /// What charts of this project may refer to.
    pub(crate) fn known(&self) -> Registry {
        let mut known = Registry::default();
        for entry in &self.registry {
            known.add_chart(&entry.id, &entry.version);
        }
        for (id, version) in self.charts.iter().filter_map(|path| identity(&files::read(path).ok()?)) {
            known.add_chart(id, version);
        }
        for agent in &self.agents {
            known.add_agent(&agent.id);
        }
        // What is wrong with them is said once, at their files.
        for agent in &self.unusable {
            known.add_agent(agent);
        }
        for service in self.services.iter().flatten() {
            known.add_service(service);
        }
        for spec in rawko_agents::work::service_specs().into_iter().chain(self.specs.iter().cloned()) {
            known.add_spec(spec);
        }
        for endpoint in &self.endpoints {
            known.add_endpoint(endpoint);
        }
        // Only a project with settings can say that a name is not among its services.
        if self.services.is_some() { known.complete() } else { known }
    }

    /// Charts that others may invoke: those of registries, then those in `.rawko/charts` and what was uploaded.
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

    /// What a chart is called that cannot be loaded: as it says itself, else as a registry does, else by its file's name.
    pub(crate) fn id_of(&self, path: &Path) -> String {
        let own = || Some(identity(&files::read(path).ok()?)?.0);
        let registered =
            || self.registry.iter().find(|entry| entry.path == path).map(|entry| entry.id.clone());
        let stem = || path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        own().or_else(registered).or_else(stem).unwrap_or_default()
    }

    /// The charts that one registry lists, when a file is a registry and nothing else.
    pub(crate) fn of_registry(path: &Path) -> Option<Project> {
        // What comes from standard input can be read only once, and a registry there has no files beside it.
        if files::is_stdin(path) {
            return None;
        }
        let text = files::read_text(path).ok()?;
        if !looks_like(&text, "machine_registry") || is_chart(&text) {
            return None;
        }
        let mut project = Project::default();
        project.take_registry(path, &text);
        project.charts = project.registry.iter().map(|entry| entry.path.clone()).collect();
        Some(project)
    }

    fn take_file(&mut self, path: &Path) -> Result<(), Failure> {
        let is_scenario = path.file_name().is_some_and(|name| walk::is_scenario(&name.to_string_lossy()));
        if is_scenario {
            return Ok(());
        }
        let Ok(text) = files::read_text(path) else {
            // Unreadable or not text: only worth a word when somebody named it.
            return Ok(());
        };
        if looks_like(&text, "machine_registry") {
            self.take_registry(path, &text);
        }
        if is_chart(&text) {
            self.charts.push(path.to_owned());
        }
        Ok(())
    }

    fn take_registry(&mut self, path: &Path, text: &str) {
        let source = Source::new(files::shown(path), text);
        let (entries, mut findings) = registry::read(path, &source);
        if looks_like(text, "statechart") {
            // The chart in the same file reports the structure of the whole document when it is checked.
            findings.retain(|finding| finding.code.starts_with("rawko::project::"));
        }
        self.registry.extend(entries);
        self.complain(source, findings);
    }

    fn take_surroundings(&mut self, folder: &Path) {
        let root = folder.parent().unwrap_or(Path::new("."));
        let (agents, problems) = Agents::read(root, &Environment::of_process());
        self.unusable = agents.unusable().iter().map(|agent| agent.name.clone()).collect();
        self.agents = agents.with_built_in().entries();
        problems.into_iter().for_each(|(source, findings)| self.complain(source, findings));
        self.take_settings(&folder.join("config.yaml"));
    }

    fn take_settings(&mut self, path: &Path) {
        let Ok(text) = files::read_text(path) else { return };
        match Document::read(&text) {
            Ok(document) => {
                let names = |key: &str| {
                    let entries = document.get(key).and_then(Document::entries).unwrap_or_default();
                    entries.iter().map(|entry| entry.key.clone()).collect::<Vec<_>>()
                };
                let services = document.get("services").and_then(Document::entries).unwrap_or_default();
                self.specs = services.iter().map(|entry| spec(&entry.key, &entry.value)).collect();
                self.services = Some(names("services"));
                self.endpoints = names("endpoints");
            }
            Err(findings) => self.complain(Source::new(files::shown(path), text), findings),
        }
    }

    fn complain(&mut self, source: Source, findings: Vec<Finding>) {
        if !findings.is_empty() {
            self.problems.push((source, findings));
        }
    }
}

/// A configured service with the schemas that its settings give.
fn spec(name: &str, settings: &Document) -> ServiceSpec {
    let spec = ServiceSpec::named(name);
    let spec = settings.get("input").into_iter().fold(spec, |spec, input| spec.taking(&input.to_json()));
    settings.get("output").into_iter().fold(spec, |spec, output| spec.giving(&output.to_json()))
}

/// The id and version of the chart in a text, as far as they can be read.
pub(crate) fn identity(bytes: &[u8]) -> Option<(String, String)> {
    let document = Document::read(std::str::from_utf8(bytes).ok()?).ok()?;
    let chart = document.get("statechart").unwrap_or(&document);
    let plain = |json: serde_json::Value| json.as_str().map_or_else(|| json.to_string(), str::to_owned);
    let version = chart.get("version").map(|version| plain(version.to_json())).unwrap_or_default();
    Some((chart.get("id")?.text()?.to_owned(), version))
}

/// Whether a text is meant to be a chart: wrapped in `statechart:`, or bare. A bare one in JSON is more likely XState's.
fn is_chart(text: &str) -> bool {
    looks_like(text, "statechart")
        || (!is_json(text)
            && looks_like(text, "states")
            && looks_like(text, "initial")
            && looks_like(text, "id"))
}

fn is_json(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim_start().starts_with('{')
}

/// Whether a text has a top-level key, judged by its lines: a chart with a syntax error is still meant to be a chart.
fn looks_like(text: &str, key: &str) -> bool {
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
