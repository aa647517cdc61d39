//! A layer: the settings of one file, the environment or the flags. Settings are layers, merged by precedence.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rawko_chart::codes::settings::INVALID_VALUE;
use rawko_chart::{DocumentEntry, Finding, SourceFile, Span, SpannedValue};

use super::checklist::ChecklistEntry;
use super::definition::ServiceDefinition;
use rawko_settings::{SIZE_HELP, Section, parse_size};

use super::reader::HostSettingsReader;
use crate::services::Environment;
use rawko_instance::Gate;

/// The settings of one source; `None` and empty mean unset.
#[derive(Clone, Debug, Default)]
pub(super) struct SettingsLayer {
    pub(super) services: BTreeMap<String, ServiceDefinition>,
    pub(super) endpoints: BTreeMap<String, ServiceDefinition>,
    /// One list per file that has one, nearest to the project first; each only narrows the next.
    pub(super) allow: Vec<Vec<Pattern>>,
    pub(super) deny: Vec<Pattern>,
    pub(super) calls_max: Option<u64>,
    pub(super) checklist: Vec<ChecklistEntry>,
    pub(super) store_path: Option<PathBuf>,
    pub(super) store_size_max: Option<u64>,
    pub(super) instances_in_memory: Option<usize>,
    pub(super) generations_max: Option<u32>,
    pub(super) children_per_second_max: Option<u32>,
    pub(super) zero_delay_steps_max: Option<u32>,
    pub(super) failed_calls_max: Option<u32>,
    pub(super) family_instances_max: Option<u32>,
    pub(super) family_per_second_max: Option<u32>,
    pub(super) family_per_hour_max: Option<u32>,
    pub(super) message_hops_max: Option<u32>,
    pub(super) messages_per_cause_max: Option<u32>,
    pub(super) shutdown_grace: Option<Duration>,
    pub(super) env: Option<Vec<String>>,
    /// Sections for other readers, in order of precedence.
    pub(super) sections: Vec<Section>,
}

/// A pattern on names, and the file that contains it.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    pub(super) text: String,
    pub(super) file: Arc<str>,
}

const KEYS: [&str; 7] = ["services", "endpoints", "governance", "store", "host", "shutdown", "env"];
const HOST_KEYS: [&str; 10] = [
    "instances_in_memory",
    "generations_max",
    "children_per_second_max",
    "zero_delay_steps_max",
    "failed_calls_max",
    "family_instances_max",
    "family_per_second_max",
    "family_per_hour_max",
    "message_hops_max",
    "messages_per_cause_max",
];
/// Sections for other readers.
const ELSEWHERE: &[&str] = &[
    "checks",
    "providers",
    "phases",
    "loop",
    "tools",
    "permissions",
    "turns",
    "server",
    "telemetry",
    "task",
    "queue",
    "arbiter",
    "memories",
    "instructions",
    "restate",
    "retention",
    "worktrees",
    "triggers",
    "terminal",
];

impl SettingsLayer {
    /// Merges two layers; this one takes precedence, except that it only narrows permissions and limits of the layer
    /// below. A name denied by any layer stays denied.
    pub(super) fn over(mut self, below: SettingsLayer) -> SettingsLayer {
        let merged = |mut below: BTreeMap<String, ServiceDefinition>, above| {
            below.extend::<BTreeMap<_, _>>(above);
            below
        };
        self.deny.extend(below.deny);
        self.allow.extend(below.allow);
        self.checklist.extend(below.checklist);
        self.sections.extend(below.sections);
        SettingsLayer {
            services: merged(below.services, self.services),
            endpoints: merged(below.endpoints, self.endpoints),
            allow: self.allow,
            deny: self.deny,
            calls_max: least(self.calls_max, below.calls_max),
            checklist: self.checklist,
            store_path: self.store_path.or(below.store_path),
            store_size_max: self.store_size_max.or(below.store_size_max),
            instances_in_memory: self.instances_in_memory.or(below.instances_in_memory),
            generations_max: least(self.generations_max, below.generations_max),
            children_per_second_max: least(self.children_per_second_max, below.children_per_second_max),
            zero_delay_steps_max: least(self.zero_delay_steps_max, below.zero_delay_steps_max),
            failed_calls_max: least(self.failed_calls_max, below.failed_calls_max),
            family_instances_max: least(self.family_instances_max, below.family_instances_max),
            family_per_second_max: least(self.family_per_second_max, below.family_per_second_max),
            family_per_hour_max: least(self.family_per_hour_max, below.family_per_hour_max),
            message_hops_max: least(self.message_hops_max, below.message_hops_max),
            messages_per_cause_max: least(self.messages_per_cause_max, below.messages_per_cause_max),
            shutdown_grace: self.shutdown_grace.or(below.shutdown_grace),
            env: common(self.env, below.env),
            sections: self.sections,
        }
    }

    /// Reads the text of a file. `file` is its name in the gate and the audit.
    pub(super) fn of_text(
        text: &str,
        file: &Arc<str>,
        environment: &Environment,
    ) -> (SettingsLayer, Vec<Finding>) {
        let mut layer = SettingsLayer::default();
        // A file with only comments is an empty layer.
        let is_empty = text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'));
        let document = match SpannedValue::read(text) {
            _ if is_empty => return (layer, Vec::new()),
            Ok(document) => document,
            Err(findings) => return (layer, findings),
        };
        let mut reader = HostSettingsReader::new(environment);
        let keys = [KEYS.as_slice(), ELSEWHERE].concat();
        for entry in reader.record(&document, "a settings file", &keys) {
            layer.take(&mut reader, entry, file);
        }
        reader.findings.sort_by_key(|finding| finding.span);
        (layer, std::mem::take(&mut reader.findings))
    }

    fn take(&mut self, reader: &mut HostSettingsReader<'_>, entry: &DocumentEntry, file: &Arc<str>) {
        let at = &entry.value;
        match entry.key.as_str() {
            "services" => self.services.extend(reader.definitions(at, "service", file)),
            "endpoints" => self.endpoints.extend(reader.definitions(at, "endpoint", file)),
            "governance" => self.take_governance(reader, at, file),
            "store" => self.take_store(reader, at),
            "host" => self.take_host(reader, at),
            "shutdown" => self.take_shutdown(reader, at),
            "env" => {
                let names = reader.variable_names(at, "`env`");
                self.env = Some(names.into_iter().map(|(name, _)| name).collect());
            }
            key => {
                let (key, file) = (key.to_owned(), Arc::clone(file));
                self.sections.push(Section { key, file, document: at.clone() });
            }
        }
    }

    fn take_governance(&mut self, reader: &mut HostSettingsReader<'_>, at: &SpannedValue, file: &Arc<str>) {
        for entry in reader.record(at, "`governance`", &["allow", "deny", "budget", "require", "approvals"]) {
            match entry.key.as_str() {
                "allow" => self.allow = vec![reader.patterns(entry, file)],
                "deny" => self.deny = reader.patterns(entry, file),
                "require" => self.checklist.extend(reader.required(entry, file)),
                "approvals" => self.checklist.extend(reader.approvals(entry, file)),
                _ => {
                    for part in reader.record(&entry.value, "`budget`", &["calls"]) {
                        self.calls_max = reader.whole(&part.value, "`calls` of `budget`", 0);
                    }
                }
            }
        }
    }

    fn take_store(&mut self, reader: &mut HostSettingsReader<'_>, at: &SpannedValue) {
        for entry in reader.record(at, "`store`", &["path", "size_max"]) {
            match entry.key.as_str() {
                "path" => self.store_path = reader.text(&entry.value, "`path` of `store`").map(PathBuf::from),
                _ => self.store_size_max = reader.size(&entry.value, "`size_max` of `store`"),
            }
        }
    }

    fn take_host(&mut self, reader: &mut HostSettingsReader<'_>, at: &SpannedValue) {
        for entry in reader.record(at, "`host`", &HOST_KEYS) {
            let number = reader.whole(&entry.value, &format!("`{}` of `host`", entry.key), 1);
            let limit = number.and_then(|number| u32::try_from(number).ok());
            match entry.key.as_str() {
                "generations_max" => self.generations_max = limit,
                "children_per_second_max" => self.children_per_second_max = limit,
                "zero_delay_steps_max" => self.zero_delay_steps_max = limit,
                "failed_calls_max" => self.failed_calls_max = limit,
                "family_instances_max" => self.family_instances_max = limit,
                "family_per_second_max" => self.family_per_second_max = limit,
                "family_per_hour_max" => self.family_per_hour_max = limit,
                "message_hops_max" => self.message_hops_max = limit,
                "messages_per_cause_max" => self.messages_per_cause_max = limit,
                _ => self.instances_in_memory = number.and_then(|number| usize::try_from(number).ok()),
            }
        }
    }

    fn take_shutdown(&mut self, reader: &mut HostSettingsReader<'_>, at: &SpannedValue) {
        for entry in reader.record(at, "`shutdown`", &["grace"]) {
            self.shutdown_grace = reader.duration(&entry.value, "`grace` of `shutdown`");
        }
    }

    /// Reads `RAWKO_STORE`, `RAWKO_STORE_SIZE_MAX` and `RAWKO_INSTANCES_IN_MEMORY` from the environment.
    pub(super) fn of_environment(environment: &Environment) -> (SettingsLayer, Vec<(SourceFile, Finding)>) {
        let set = |name: &str| environment.get(name).filter(|value| !value.is_empty());
        // As usual for command lines, a relative path is relative to the working directory.
        let absolute = |path: &str| std::path::absolute(path).unwrap_or_else(|_| PathBuf::from(path));
        let mut layer =
            SettingsLayer { store_path: set("RAWKO_STORE").map(absolute), ..SettingsLayer::default() };
        let mut problems = Vec::new();
        if let Some(text) = set("RAWKO_STORE_SIZE_MAX") {
            layer.store_size_max = parse_size(text).filter(|bytes| *bytes > 0);
            if layer.store_size_max.is_none() {
                problems.push(in_environment("RAWKO_STORE_SIZE_MAX", text, "is not a size", SIZE_HELP));
            }
        }
        if let Some(text) = set("RAWKO_INSTANCES_IN_MEMORY") {
            layer.instances_in_memory = text.parse().ok().filter(|number| *number > 0);
            if layer.instances_in_memory.is_none() {
                let what = "is not a number of instances";
                problems.push(in_environment(
                    "RAWKO_INSTANCES_IN_MEMORY",
                    text,
                    what,
                    "write a number from 1",
                ));
            }
        }
        (layer, problems)
    }
}

/// Returns the smaller limit, or the only one.
fn least<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Returns the names in both lists, or the only list.
fn common(one: Option<Vec<String>>, other: Option<Vec<String>>) -> Option<Vec<String>> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.into_iter().filter(|name| other.contains(name)).collect()),
        (one, other) => one.or(other),
    }
}

fn in_environment(name: &str, value: &str, what: &str, help: &str) -> (SourceFile, Finding) {
    let text = format!("{name}={value}");
    let span = Span::new(name.len() + 1, text.len());
    (SourceFile::new("the environment", text), INVALID_VALUE.at(span, format!("`{value}` {what}")).help(help))
}

impl HostSettingsReader<'_> {
    fn patterns(&mut self, entry: &DocumentEntry, file: &Arc<str>) -> Vec<Pattern> {
        let mut patterns = Vec::new();
        for (text, span) in self.texts(&entry.value, &format!("`{}` of `governance`", entry.key)) {
            if let Err(error) = Gate::new(&[text], &[], None) {
                self.invalid(
                    span,
                    error.to_string(),
                    "a name, where `*` stands for anything: `book_*`, `agent:*`",
                );
            }
            patterns.push(Pattern { text: text.to_owned(), file: Arc::clone(file) });
        }
        patterns
    }
}
