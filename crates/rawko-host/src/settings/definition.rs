//! Services and endpoints in the settings: the common keys, and the form of each.

use std::sync::Arc;
use std::time::Duration;

use rawko_chart::codes::settings::{CONFLICTING_KEYS, MISSING_KEY};
use rawko_chart::{Document, DocumentData, DocumentEntry, Span};
use rawko_core::{Schema, ServiceClass, ServiceName, Value};

use super::reader::Reader;
use super::{command, http};
use crate::services::OnRestart;
use crate::services::command::CommandForm;
use crate::services::http::HttpForm;

/// One service or endpoint.
#[derive(Clone, Debug)]
pub(super) struct Definition {
    /// `None` if it is invalid, which was reported.
    pub(super) form: Option<Form>,
    pub(super) on_restart: OnRestart,
    pub(super) timeout: Option<Duration>,
    pub(super) description: Option<String>,
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
}

const KEYS: [&str; 13] = [
    "command",
    "sandbox",
    "http",
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
];
/// Keys that are valid only for a program.
const COMMAND_ONLY: [&str; 5] = ["cwd", "env", "pass_env", "output_max", "sandbox"];

impl Reader<'_> {
    /// Reads all definitions of a section.
    pub(super) fn definitions(
        &mut self,
        at: &Document,
        kind: &str,
        file: &Arc<str>,
    ) -> Vec<(String, Definition)> {
        let entries = self.entries(at, &format!("`{kind}s`"));
        entries.iter().map(|entry| (entry.key.clone(), self.definition(entry, kind, file))).collect()
    }

    fn definition(&mut self, entry: &DocumentEntry, kind: &str, file: &Arc<str>) -> Definition {
        let what = format!("{kind} `{}`", entry.key);
        self.check_name(entry, kind);
        let mut definition = Definition {
            form: None,
            on_restart: OnRestart::Unknown,
            timeout: None,
            description: None,
            provenance: Value::Null,
            input: None,
            output: None,
            file: Arc::clone(file),
            span: entry.key_span,
        };
        for part in self.record(&entry.value, &what, &KEYS) {
            self.take_common(&mut definition, part, &what);
        }
        definition.form = self.form(entry, &what, &mut definition.timeout);
        definition
    }

    fn take_common(&mut self, definition: &mut Definition, part: &DocumentEntry, what: &str) {
        let named = format!("`{}` of {what}", part.key);
        match part.key.as_str() {
            "on_restart" => definition.on_restart = self.on_restart(&part.value, &named),
            "timeout" => definition.timeout = self.duration(&part.value, &named),
            "description" => definition.description = self.text(&part.value, &named).map(str::to_owned),
            "input" => definition.input = Some(self.schema(&part.value, &named)),
            "output" => definition.output = Some(self.schema(&part.value, &named)),
            "provenance" => definition.provenance = Value::from_json(part.value.to_json()),
            _ => {}
        }
    }

    /// A JSON Schema, for `check` of the charts that call the service.
    fn schema(&mut self, at: &Document, what: &str) -> Schema {
        let (schema, problems) = Schema::compile(&Value::from_json(at.to_json()));
        for problem in problems {
            let place = problem.path.iter().fold(at, |at, key| at.get(key).unwrap_or(at));
            let message = format!("{what} is not a schema that can be used: {}", problem.message);
            self.invalid(place.span, message, "see the keywords in docs/errors/invalid_schema.md");
        }
        schema
    }

    fn on_restart(&mut self, at: &Document, what: &str) -> OnRestart {
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
                    let message = format!("{what} has neither `command` nor `http`");
                    let help = "add `command: [program, argument]` or `http: {url: …}`";
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
