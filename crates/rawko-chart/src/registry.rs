//! `Registry`: the charts, agents and services that a chart's invokes may name (rule 8). Filled by the caller, who
//! knows the project; this crate does not read files.

use rawko_core::{Schema, ServiceClass, ServiceName, ServiceSpec, ServiceSpecs};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::def::RegistryEntryKey;
use crate::finding::{Finding, Severity};
use crate::interface::ChartInterface;
use crate::read::{ReadDocument, classify};
use crate::source::{SourceFile, Span};
use crate::tree::{NodeView, TextTree, to_value};
use crate::version::{ChartVersion, VersionRange};

const NOT_A_REGISTRY: &str = crate::codes::NOT_A_REGISTRY.name;

/// Known charts, agents, services and endpoints. `Registry::default()` holds only built-in specs and is not complete.
#[derive(Clone, Debug)]
pub struct Registry {
    charts: BTreeMap<String, Vec<String>>,
    agents: BTreeSet<String>,
    services: BTreeSet<String>,
    endpoints: BTreeSet<String>,
    specs: ServiceSpecs,
    tools: Option<KnownTools>,
    /// What charts are to those that invoke them, by id and version.
    interfaces: BTreeMap<(String, String), Arc<ChartInterface>>,
    /// Services that rawko provides, and further names of them with letters and digits only.
    built_in: BTreeSet<String>,
    aliases: BTreeSet<String>,
    complete: bool,
    strict: bool,
}

/// Tools of agents, which policies of states name.
#[derive(Clone, Copy, Debug)]
pub struct KnownTools {
    /// Returns true for an entry of a policy that names no tool.
    pub is_unknown: fn(&str) -> bool,
    /// Returns the name that a wrong one is probably meant to be.
    pub suggestion: fn(&str) -> Option<&'static str>,
}

impl Default for Registry {
    fn default() -> Self {
        Self {
            charts: BTreeMap::new(),
            agents: BTreeSet::new(),
            services: BTreeSet::new(),
            endpoints: BTreeSet::new(),
            specs: ServiceSpecs::built_in(),
            tools: None,
            interfaces: BTreeMap::new(),
            built_in: BTreeSet::new(),
            aliases: BTreeSet::new(),
            complete: false,
            strict: false,
        }
    }
}

/// Result of resolving a chart reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// The newest matching version.
    Found(String),
    /// The chart is known, but not in a matching version; lists the existing ones.
    NoVersion(Vec<String>),
    /// The text after the `@` is not a version range.
    BadRange,
    /// No chart has this id.
    Unknown,
}

impl Registry {
    /// Adds one version of a chart. Invokes of it are only resolved; see [`Registry::add_chart_of`].
    pub fn add_chart(&mut self, id: impl Into<String>, version: impl Into<String>) {
        let (versions, version) = (self.charts.entry(id.into()).or_default(), version.into());
        if !versions.contains(&version) {
            versions.push(version);
        }
    }

    /// Adds one version of a chart with its text, so that input, events and outputs of its invokes are checked. The first
    /// text of a version counts.
    pub fn add_chart_of(&mut self, id: &str, version: &str, source: &SourceFile) {
        self.add_chart(id, version);
        let key = (id.to_owned(), version.to_owned());
        if !self.interfaces.contains_key(&key)
            && let Some(interface) = ChartInterface::read(id, source)
        {
            self.interfaces.insert(key, Arc::new(interface));
        }
    }

    /// Removes one version of a chart.
    pub fn remove_chart(&mut self, id: &str, version: &str) {
        if let Some(versions) = self.charts.get_mut(id) {
            versions.retain(|known| known != version);
        }
        self.charts.retain(|_, versions| !versions.is_empty());
        self.interfaces.remove(&(id.to_owned(), version.to_owned()));
    }

    /// Adds an agent, by the name after `agent:`.
    pub fn add_agent(&mut self, id: impl Into<String>) {
        self.agents.insert(id.into());
    }

    /// Adds a service, by the `src` that invokes it.
    pub fn add_service(&mut self, name: impl Into<String>) {
        self.services.insert(name.into());
    }

    /// Adds the schemas of a service. Does not register the service; see [`Registry::add_service`].
    pub fn add_spec(&mut self, spec: ServiceSpec) {
        self.specs.add(spec);
    }

    /// Adds a service that rawko provides. Once there is one, other names of built-in classes are unknown.
    pub fn add_built_in(&mut self, name: impl Into<String>) {
        self.built_in.insert(name.into());
    }

    /// Adds another name of a tool, without `tool:`. Only its letters and digits count, in any case.
    pub fn add_tool_alias(&mut self, name: &str) {
        self.aliases.insert(folded(name));
    }

    /// Returns the services that [`Registry::add_built_in`] added, sorted.
    pub fn built_in(&self) -> impl Iterator<Item = &str> {
        self.built_in.iter().map(String::as_str)
    }

    /// Returns true unless a name of a built-in class is surely not the name of a service.
    pub(crate) fn may_be_built_in(&self, name: &str) -> bool {
        let ServiceName { class, member } = ServiceName::of(name);
        if !class.is_built_in() {
            return false;
        }
        if self.built_in.is_empty() {
            return !self.complete || self.spec(name).is_some();
        }
        // The tools of MCP servers are known only to the servers.
        let is_tool = || member.starts_with("mcp__") || self.aliases.contains(&folded(member));
        self.built_in.contains(name) || (class == ServiceClass::Tool && is_tool())
    }

    /// Returns the spec of the service that a `src` names.
    pub fn spec(&self, src: &str) -> Option<&ServiceSpec> {
        match ServiceName::member_of(src, ServiceClass::Chart) {
            Some(_) => self.interface(src).map(|interface| &interface.spec),
            None => self.specs.find(src),
        }
    }

    /// Returns the interface of the chart that a `src` names.
    pub(crate) fn interface(&self, src: &str) -> Option<&Arc<ChartInterface>> {
        let reference = ServiceName::member_of(src, ServiceClass::Chart)?;
        let (id, range) = reference.split_once('@').unwrap_or((reference, ""));
        let Resolution::Found(version) = self.resolve(id, range) else { return None };
        self.interfaces.get(&(id.to_owned(), version))
    }

    /// Returns the schema of the failures of a service: its own details, or those of all services in a strict registry,
    /// because actions are shared between the handlers of several services.
    pub(crate) fn failure_of(&self, spec: Option<&ServiceSpec>) -> Schema {
        if self.strict {
            return ServiceSpec::failure_with(self.specs.iter());
        }
        ServiceSpec::failure_with(spec)
    }

    /// Reports every key that no schema of a failure or of an agent's result mentions. For charts whose services are all
    /// known, such as the built-in ones: other services may add keys of their own.
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.strict = true;
        self
    }

    /// Returns true after [`Registry::strict`].
    pub fn is_strict(&self) -> bool {
        self.strict
    }

    /// A configured target of `send`.
    pub fn add_endpoint(&mut self, name: impl Into<String>) {
        self.endpoints.insert(name.into());
    }

    /// Returns true if an endpoint with this name was added.
    pub fn has_endpoint(&self, name: &str) -> bool {
        self.endpoints.contains(name)
    }

    /// Returns the names of endpoints, sorted.
    pub fn endpoints(&self) -> impl Iterator<Item = &str> {
        self.endpoints.iter().map(String::as_str)
    }

    /// Checks the tools that policies of states name. Without it, any name counts as one.
    #[must_use]
    pub fn with_tools(mut self, tools: KnownTools) -> Self {
        self.tools = Some(tools);
        self
    }

    pub(crate) fn tools(&self) -> Option<KnownTools> {
        self.tools
    }

    /// Marks the registry as complete: an unknown agent or service is then an error, not a warning.
    #[must_use]
    pub fn complete(mut self) -> Self {
        self.complete = true;
        self
    }

    /// Returns true after [`Registry::complete`].
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Returns true if an agent with this id was added.
    pub fn has_agent(&self, id: &str) -> bool {
        self.agents.contains(id)
    }

    /// Returns true if a service was added, or is the built-in `human`.
    pub fn has_service(&self, name: &str) -> bool {
        is_person(name) || self.services.contains(name)
    }

    /// Returns the ids of charts, sorted, each once.
    pub fn charts(&self) -> impl Iterator<Item = &str> {
        self.charts.keys().map(String::as_str)
    }

    /// Returns the ids of agents, sorted.
    pub fn agents(&self) -> impl Iterator<Item = &str> {
        self.agents.iter().map(String::as_str)
    }

    /// Returns the names of added services, sorted, then the built-in `human`.
    pub fn services(&self) -> impl Iterator<Item = &str> {
        let people = self.specs.iter().map(|spec| &*spec.name).filter(|name| is_person(name));
        self.services.iter().map(String::as_str).chain(people)
    }

    /// Returns the newest version of a chart within a range (`^1.2`, `~1.2`, `1.x`, `>=1 <3`, `1.2.0`, `latest` or
    /// nothing).
    pub fn resolve(&self, id: &str, range: &str) -> Resolution {
        Resolution::among(self.charts.get(id).map(Vec::as_slice).unwrap_or_default(), range)
    }
}

impl Resolution {
    /// Returns the newest of a chart's versions within a range; `Unknown` if there are none.
    pub fn among(versions: &[String], range: &str) -> Resolution {
        if versions.is_empty() {
            return Resolution::Unknown;
        }
        let Some(range) = VersionRange::parse(range) else { return Resolution::BadRange };
        let parsed = versions.iter().filter_map(|text| Some((ChartVersion::parse(text)?, text)));
        let newest = parsed.filter(|(version, _)| range.contains(version)).max();
        newest.map_or_else(
            || Resolution::NoVersion(versions.to_vec()),
            |(_, text)| Resolution::Found(text.clone()),
        )
    }
}

fn folded(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
}

/// The one service that every host has.
fn is_person(name: &str) -> bool {
    ServiceName::of(name).class == ServiceClass::Human
}

/// One line of a `machine_registry`.
#[derive(Clone, Debug, PartialEq)]
pub struct RegistryEntry {
    /// Id of the chart.
    pub id: String,
    /// Version of the chart as text, also if it is written as a number.
    pub version: String,
    /// The file, relative to the registry's own.
    pub src: String,
    /// Location of the entry in the registry.
    pub span: Span,
}

/// A `machine_registry` document, as far as it could be read.
#[derive(Clone, Debug, Default)]
pub struct RegistryFile {
    /// Entries with `id`, `version` and `src`, in document order; incomplete ones are left out.
    pub entries: Vec<RegistryEntry>,
    /// Problems of the document, including duplicate entries.
    pub findings: Vec<Finding>,
}

/// Reads a `machine_registry` document.
pub fn read_registry(source: &SourceFile) -> RegistryFile {
    let mut file = RegistryFile::default();
    let tree = match TextTree::read(&source.text) {
        Ok(tree) => tree,
        Err(findings) => return RegistryFile { findings, ..file },
    };
    let root = tree.root();
    match classify(root, &mut file.findings) {
        ReadDocument::Registry(list) => file.entries = entries(list, &mut file.findings),
        ReadDocument::Chart(_) => match root.get("machine_registry") {
            Some(list) => file.entries = entries(list, &mut file.findings),
            None => file.findings.push(not_a_registry(root.span())),
        },
        ReadDocument::Neither => {
            file.findings.clear();
            file.findings.push(not_a_registry(root.span()));
        }
    }
    file
}

fn not_a_registry(span: Span) -> Finding {
    Finding::new(NOT_A_REGISTRY, Severity::Fatal, span, "the file has no `machine_registry`")
        .help("a registry is a list under `machine_registry:`, each entry with `id`, `version` and `src`")
}

fn entries(list: NodeView<'_>, findings: &mut Vec<Finding>) -> Vec<RegistryEntry> {
    let mut entries: Vec<RegistryEntry> = Vec::new();
    for item in list.each_item() {
        let Some(entry) = entry(item) else { continue };
        if let Some(earlier) =
            entries.iter().find(|other| (&other.id, &other.version) == (&entry.id, &entry.version))
        {
            let message = format!("`{}` is listed twice in version {}", entry.id, entry.version);
            findings.push(
                Finding::new(crate::codes::DUPLICATE_ENTRY.name, Severity::Error, entry.span, message)
                    .related(earlier.span, "first listed here"),
            );
        }
        entries.push(entry);
    }
    entries
}

fn entry(item: NodeView<'_>) -> Option<RegistryEntry> {
    let (mut id, mut version, mut src) = (None, None, None);
    for pair in item.pairs()? {
        match RegistryEntryKey::parse(pair.key) {
            Some(RegistryEntryKey::Id) => id = pair.value.text(),
            Some(RegistryEntryKey::Version) => version = Some(to_value(pair.value).to_string()),
            Some(RegistryEntryKey::Src) => src = pair.value.text(),
            Some(RegistryEntryKey::Description) | None => {}
        }
    }
    Some(RegistryEntry { id: id?.to_owned(), version: version?, src: src?.to_owned(), span: item.span() })
}
