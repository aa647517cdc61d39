//! Services and endpoints in the settings: the common keys, and the form of each.

use std::sync::Arc;
use std::time::Duration;

use rawko_chart::codes::settings::{CONFLICTING_KEYS, MISSING_KEY};
use rawko_chart::{DocumentData, DocumentEntry, Span, SpannedValue};
use rawko_core::{Schema, ServiceClass, ServiceName, Value};

use super::reader::HostSettingsReader;
use super::{command, http, remote};
use crate::services::OnRestart;
use crate::services::command::CommandForm;
use crate::services::http::HttpForm;
use crate::services::remote::RemoteForm;

/// One service or endpoint.
#[derive(Clone, Debug)]
pub(super) struct ServiceDefinition {
    /// `None` if it is invalid, which was reported.
    pub(super) form: Option<Form>,
    pub(super) on_restart: OnRestart,
    pub(super) timeout: Option<Duration>,
    pub(super) description: Option<String>,
    /// True if agents may call it as a tool.
    pub(super) is_tool: bool,
    /// The owner's notes, copied to the audit.
    pub(super) provenance: Value,
    /// Schemas of input and output, if the settings have them.
    pub(super) input: Option<Schema>,
    pub(super) output: Option<Schema>,
    /// Its file and position.
    pub(super) file: Arc<str>,
    pub(super) span: Span,
}

#[derive(Clone, Debug)]
pub(super) enum Form {
    Command(CommandForm),
    Http(HttpForm),
    Remote(RemoteForm),
}

const KEYS: [&str; 15] = [
    "command",
    "sandbox",
    "http",
    "remote",
    "cwd",
    "env",
    "pass_env",
    "output_max",
    "on_restart",
    "timeout",
    "description",
    "provenance",
    "input",
    "output",
    "tool",
];
/// Keys that are valid only for a program.
const COMMAND_ONLY: [&str; 5] = ["cwd", "env", "pass_env", "output_max", "sandbox"];

impl HostSettingsReader<'_> {
    /// Reads all definitions of a section.
    pub(super) fn definitions(
        &mut self,
        at: &SpannedValue,
        kind: &str,
        file: &Arc<str>,
    ) -> Vec<(String, ServiceDefinition)> {
        let entries = self.entries(at, &format!("`{kind}s`"));
        entries.iter().map(|entry| (entry.key.clone(), self.definition(entry, kind, file))).collect()
    }

    fn definition(&mut self, entry: &DocumentEntry, kind: &str, file: &Arc<str>) -> ServiceDefinition {
        let what = format!("{kind} `{}`", entry.key);
        self.check_name(entry, kind);
        let mut definition = ServiceDefinition {
            form: None,
            on_restart: OnRestart::Unknown,
            timeout: None,
            description: None,
            is_tool: false,
            provenance: Value::Null,
            input: None,
            output: None,
            file: Arc::clone(file),
            span: entry.key_span,
        };
        for part in self.record(&entry.value, &what, &KEYS) {
            self.take_common(&mut definition, part, &what);
        }
        definition.form = match self.only_form(entry, &what) {
            Some(remote) => self.remote(remote, &entry.value, kind, &what).map(Form::Remote),
            None => self.form(entry, &what, &mut definition.timeout),
        };
        self.check_tool(&definition, entry, kind, &what);
        definition
    }

    /// A model chooses a tool by its description, and writes an object as its input.
    fn check_tool(&mut self, definition: &ServiceDefinition, entry: &DocumentEntry, kind: &str, what: &str) {
        let of = |key: &str| entry.value.entries()?.iter().find(|part| part.key == key);
        let Some(tool) = of("tool").filter(|_| definition.is_tool) else { return };
        if kind != "service" {
            self.invalid(tool.key_span, format!("{what} cannot be a tool"), "only `services` can be tools");
        }
        if definition.description.as_deref().is_none_or(|text| text.trim().is_empty()) {
            let message = format!("{what} is a tool of agents, but has no `description`");
            self.say(&MISSING_KEY, tool.key_span, message, "add `description`: models choose tools by it");
        }
        let kind_of_input = definition.input.as_ref().map(|input| input.source().get("type").clone());
        if let Some(kind) = kind_of_input.filter(|kind| kind.as_str() != Some("object")) {
            let message = format!("{what} is a tool of agents, but its `input` has the type {kind}");
            self.invalid(tool.key_span, message, "write a schema with `type: object`");
        }
    }

    fn take_common(&mut self, definition: &mut ServiceDefinition, part: &DocumentEntry, what: &str) {
        let named = format!("`{}` of {what}", part.key);
        match part.key.as_str() {
            "on_restart" => definition.on_restart = self.on_restart(&part.value, &named),
            "timeout" => definition.timeout = self.duration(&part.value, &named),
            "description" => definition.description = self.text(&part.value, &named).map(str::to_owned),
            "input" => definition.input = Some(self.schema(&part.value, &named)),
            "output" => definition.output = Some(self.schema(&part.value, &named)),
            "tool" => definition.is_tool = self.flag(&part.value, &named).unwrap_or_default(),
            "provenance" => definition.provenance = Value::from_json(part.value.to_json()),
            _ => {}
        }
    }

    /// A JSON Schema, for `check` of the charts that call the service.
    fn schema(&mut self, at: &SpannedValue, what: &str) -> Schema {
        let (schema, problems) = Schema::compile(&Value::from_json(at.to_json()));
        for problem in problems {
            let place = problem.path.iter().fold(at, |at, key| at.get(key).unwrap_or(at));
            let message = format!("{what} is not a schema that can be used: {}", problem.message);
            self.invalid(place.span, message, "see the keywords in docs/errors/invalid_schema.md");
        }
        schema
    }

    fn on_restart(&mut self, at: &SpannedValue, what: &str) -> OnRestart {
        match self.text(at, what) {
            Some("retry") => return OnRestart::Retry,
            Some("unknown") | None => {}
            Some(other) => self.invalid(
                at.span,
                format!("{what} cannot be `{other}`"),
                "`retry` when calling it twice with one idempotency key does no harm, else `unknown`",
            ),
        }
        OnRestart::Unknown
    }

    /// Returns `remote` if it is the only form.
    fn only_form<'d>(&mut self, entry: &'d DocumentEntry, what: &str) -> Option<&'d DocumentEntry> {
        let of = |key: &str| entry.value.entries()?.iter().find(|part| part.key == key);
        let remote = of("remote")?;
        if let Some(other) = of("command").or_else(|| of("http")) {
            let message = format!("{what} is both `remote` and `{}`", other.key);
            let finding = CONFLICTING_KEYS.at(remote.key_span, message).related(other.key_span, "and here");
            self.report(finding.help("remove one of them, or define two services"));
        }
        Some(remote)
    }

    fn remote(
        &mut self,
        remote: &DocumentEntry,
        at: &SpannedValue,
        kind: &str,
        what: &str,
    ) -> Option<RemoteForm> {
        let of = |key: &str| at.entries()?.iter().find(|part| part.key == key);
        for misplaced in COMMAND_ONLY.into_iter().filter_map(of) {
            let message = format!("`{}` has no effect with `remote`", misplaced.key);
            let finding = CONFLICTING_KEYS.at(misplaced.key_span, message).related(remote.key_span, "");
            self.report(finding.help("it applies to programs that rawko starts"));
        }
        if kind != "service" {
            let message = format!("{what} cannot be `remote`");
            self.invalid(remote.key_span, message, "only `services` can be remote");
            return None;
        }
        Some(remote::read(self, &remote.value, what))
    }

    fn form(&mut self, entry: &DocumentEntry, what: &str, timeout: &mut Option<Duration>) -> Option<Form> {
        let at = &entry.value;
        let of = |key: &str| at.entries()?.iter().find(|part| part.key == key);
        match (of("command"), of("http")) {
            (Some(command), None) => command::read(self, at, &command.value, what).map(Form::Command),
            (None, Some(http)) => {
                for misplaced in COMMAND_ONLY.into_iter().filter_map(of) {
                    let message = format!("`{}` has no effect with `http`", misplaced.key);
                    let finding = CONFLICTING_KEYS.at(misplaced.key_span, message).related(http.key_span, "");
                    self.report(finding.help("it applies to programs; use `${NAME}` in headers"));
                }
                let (form, own_timeout) = http::read(self, &http.value, what);
                self.take_timeout(timeout, own_timeout, of("timeout"));
                form.map(Form::Http)
            }
            (Some(command), Some(http)) => {
                let message = format!("{what} is both a command and an HTTP call");
                let finding =
                    CONFLICTING_KEYS.at(http.key_span, message).related(command.key_span, "and here");
                self.report(finding.help("remove one of them, or define two services"));
                None
            }
            (None, None) => {
                if at.entries().is_some() || at.data == DocumentData::Null {
                    let message = format!("{what} has none of `command`, `http` and `remote`");
                    let help = "add `command: [program, argument]`, `http: {url: …}` or `remote: {}`";
                    self.say(&MISSING_KEY, entry.key_span, message, help);
                }
                None
            }
        }
    }

    /// Reads a timeout, inside `http` or beside it.
    fn take_timeout(
        &mut self,
        timeout: &mut Option<Duration>,
        inside: Option<(Duration, Span)>,
        beside: Option<&DocumentEntry>,
    ) {
        let Some((inside, span)) = inside else { return };
        if let Some(beside) = beside {
            let finding =
                CONFLICTING_KEYS.at(span, "duplicate `timeout`").related(beside.key_span, "and here");
            self.report(finding.help("remove one of them"));
        }
        *timeout = Some(inside);
    }

    /// Reports names that have another meaning in a chart and could never be called.
    fn check_name(&mut self, entry: &DocumentEntry, kind: &str) {
        let name = entry.key.as_str();
        let reason = match ServiceName::of(name).class {
            _ if name.is_empty() => "something",
            ServiceClass::Human => "a request to a person",
            ServiceClass::Chart => "another chart",
            _ => return,
        };
        self.invalid(
            entry.key_span,
            format!("`{name}` cannot be the name of a {kind}"),
            format!("in a chart it means {reason}; give it another name"),
        );
    }
}
