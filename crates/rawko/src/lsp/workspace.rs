//! The project around a document, read once and again after files change: what names mean, and which file is which.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rawko_chart::{Finding, Registry, Severity, SourceFile, load_bytes, read_registry};
use rawko_host::{Environment, Settings};
use rawko_language::ProjectNames;

use super::documents::OpenDocument;
use crate::files;
use crate::project::{self, LoadedProject, Recursion};
use crate::settings_problems;
use crate::walk;

/// What a document is, by its place and its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DocumentKind {
    Chart,
    Registry,
    Agent,
    Settings,
    /// A text that may become a chart: it gets suggestions, but no findings.
    New,
    /// Nothing that rawko reads.
    Other,
}

impl DocumentKind {
    pub(super) fn of(document: &OpenDocument) -> DocumentKind {
        let path = document.path.as_deref().unwrap_or(Path::new(""));
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let folder = path.parent().unwrap_or(Path::new(""));
        if folder.ends_with(".rawko") && name == "config.yaml" {
            return DocumentKind::Settings;
        }
        let is_agents =
            |folder: &Path| folder.ends_with(".rawko/agents") || folder.ends_with(".claude/agents");
        let is_agent_file = [".md", ".yaml", ".yml"].iter().any(|ending| name.ends_with(ending));
        if is_agent_file && folder.ancestors().any(is_agents) {
            return DocumentKind::Agent;
        }
        let is_data = name.is_empty() || walk::is_yaml_or_json(&name);
        if walk::is_scenario(&name) || !is_data {
            return DocumentKind::Other;
        }
        let is_new = !document.text.contains(':') && !document.text.contains('{');
        let is_meant = document.language.starts_with("rawko") || folder.ends_with(".rawko/charts");
        if project::is_chart(&document.text) || is_meant {
            return DocumentKind::Chart;
        }
        if is_new {
            return DocumentKind::New;
        }
        let is_registry = project::looks_like(&document.text, "machine_registry");
        if is_registry { DocumentKind::Registry } else { DocumentKind::Other }
    }
}

/// A project as it was when it was read.
#[derive(Debug)]
pub(super) struct Workspace {
    home: Option<PathBuf>,
    project: LoadedProject,
    registry: Registry,
    pub(super) names: ProjectNames,
}

impl Workspace {
    fn read(home: Option<PathBuf>) -> Workspace {
        // A directory that cannot be read is a project without names; its files are still checked one by one.
        let project = home.as_deref().and_then(|home| LoadedProject::at(home).ok()).unwrap_or_default();
        let registry = if home.is_some() { project.known() } else { crate::loading::registry() };
        let names = ProjectNames::of(&registry);
        Workspace { home, project, registry, names }
    }

    /// Returns the names for a text: those of the project, and its own.
    pub(super) fn registry_of(&self, text: &str) -> Registry {
        let mut registry = self.registry.clone();
        if let Some((id, version)) = project::identity(text.as_bytes())
            && registry.resolve(&id, &version) == rawko_chart::Resolution::Unknown
        {
            registry.add_chart(id, version);
        }
        registry
    }

    /// Returns the file of a chart.
    pub(super) fn chart_file(&self, id: &str) -> Option<PathBuf> {
        let charts = self.project.charts.iter();
        let registered = self.project.registry.iter().filter(|entry| entry.id == id).map(|entry| &entry.path);
        let found = charts.filter(|path| self.project.id_of(path) == id).chain(registered).next()?;
        std::path::absolute(found).ok()
    }

    /// Returns the file of an agent of the project or its user.
    pub(super) fn agent_file(&self, name: &str) -> Option<PathBuf> {
        let (agents, _) = self.project.read_agents();
        let file = PathBuf::from(&agents.get(name)?.file);
        let path = if file.exists() { file } else { self.home.as_ref()?.join(file) };
        std::path::absolute(path).ok().filter(|path| path.exists())
    }

    /// Returns the findings of `rawko check` for a document.
    pub(super) fn check(&self, kind: DocumentKind, document: &OpenDocument) -> Vec<Finding> {
        let name = document.path.as_deref().map_or_else(|| "chart.yaml".to_owned(), files::shown);
        let source = SourceFile::new(name, document.text.as_str());
        match kind {
            DocumentKind::Chart => self.check_chart(&source),
            DocumentKind::Registry => read_registry(&source).findings,
            DocumentKind::Agent => self.check_agent(&source, document),
            DocumentKind::Settings => self.check_settings(&source),
            DocumentKind::New | DocumentKind::Other => Vec::new(),
        }
    }

    fn check_chart(&self, source: &SourceFile) -> Vec<Finding> {
        if source.text.trim().is_empty() {
            return Vec::new();
        }
        let (_, loaded) = load_bytes(&source.name, source.text.as_bytes(), &self.registry_of(&source.text));
        let mut recursion = Recursion::default();
        recursion.add(&loaded, Some(0));
        if recursion.is_open() {
            recursion.follow(&self.project.charts);
        }
        let mut findings = loaded.findings;
        findings.extend(recursion.findings().into_iter().map(|(_, finding)| finding));
        findings
    }

    /// A saved file is checked beside all others; one that is being changed, alone.
    fn check_agent(&self, source: &SourceFile, document: &OpenDocument) -> Vec<Finding> {
        let is_it = |name: &str| {
            let path = std::path::absolute(name).ok().and_then(|path| path.canonicalize().ok());
            path.is_some() && path == document.path.as_deref().and_then(|path| path.canonicalize().ok())
        };
        let saved = self.project.problems.iter().find(|(problem, _)| is_it(&problem.name));
        if let Some((_, findings)) = saved.filter(|(problem, _)| problem.text == source.text) {
            return findings.clone();
        }
        rawko_agents::agent::Agents::of_source(source, &Environment::of_process()).1
    }

    /// Errors only, as in `rawko check`: warnings depend on the environment of the host.
    fn check_settings(&self, source: &SourceFile) -> Vec<Finding> {
        let home = self.home.as_deref().unwrap_or(Path::new("."));
        let (settings, wrong) = Settings::of_source(source, &Environment::of_process());
        let read = self.project.read_agents();
        let (_, agents) = rawko_agents::work::AgentServices::read_with(home, &settings, read);
        let problems = settings_problems::all(home, &settings, &vec![(source.clone(), wrong)], &agents);
        let own = problems.into_iter().filter(|(known, _)| known.name == source.name);
        own.flat_map(|(_, findings)| findings).filter(|it| it.severity >= Severity::Error).collect()
    }
}

/// Projects by their directory.
#[derive(Debug, Default)]
pub(super) struct Workspaces {
    known: BTreeMap<Option<PathBuf>, Arc<Workspace>>,
}

impl Workspaces {
    /// Returns the project around a document.
    pub(super) fn around(&mut self, document: &OpenDocument) -> Arc<Workspace> {
        let home = document.path.as_deref().and_then(Path::parent).and_then(LoadedProject::home_above);
        let read = || Arc::new(Workspace::read(home.clone()));
        Arc::clone(self.known.entry(home.clone()).or_insert_with(read))
    }

    /// Forgets everything that was read, because files changed.
    pub(super) fn forget(&mut self) {
        self.known.clear();
    }
}
