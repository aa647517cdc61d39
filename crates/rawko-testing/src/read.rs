//! Reads a scenario file. Reports all findings at once, each with its place; an unknown key is an error, because a
//! scenario must not test less than its author thinks.

use std::path::Path;

use rawko_chart::{DocumentEntry, Finding, Severity, SourceFile, Span, SpannedValue};
use rawko_sim::{Stimulus, Stubs, agents_from_json};
use serde_json::Value as Json;

use crate::model::{Expectation, LineField, Matcher, Scenario, ScenarioFile, ScenarioSetup, ScenarioStep};

const UNKNOWN_KEY: &str = "rawko::scenario::unknown_key";
pub(crate) const WRONG_TYPE: &str = "rawko::scenario::wrong_type";
const MISSING: &str = "rawko::scenario::missing";
pub(crate) const BAD_VALUE: &str = "rawko::scenario::bad_value";

const FILE_KEYS: &[&str] = &[
    "description",
    "chart",
    "with",
    "services",
    "agents",
    "env",
    "input",
    "open_gate",
    "faults",
    "scenarios",
];
const SCENARIO_KEYS: &[&str] =
    &["name", "description", "services", "agents", "env", "input", "open_gate", "steps", "faults"];
const STEP_KEYS: &[&str] = &["send", "data", "advance", "expect", "description"];
const STATUSES: &[&str] = &["active", "done", "error", "cancelled"];
const AMONG_KEYS: &[&str] = &["contains", "excludes"];

/// The scenarios of a file, or all findings about it.
pub(crate) fn read(path: &Path, source: &SourceFile) -> Result<ScenarioFile, Vec<Finding>> {
    let document = SpannedValue::read(&source.text)?;
    let mut reader = ScenarioReader { text: &source.text, findings: Vec::new() };
    let file = reader.file(path, &document);
    if reader.findings.is_empty() { Ok(file) } else { Err(reader.findings) }
}

pub(crate) struct ScenarioReader<'a> {
    text: &'a str,
    findings: Vec<Finding>,
}

impl ScenarioReader<'_> {
    fn file(&mut self, path: &Path, document: &SpannedValue) -> ScenarioFile {
        self.only_keys(document, FILE_KEYS, "a scenario file");
        let scenarios = match document.get("scenarios") {
            Some(list) => self.list(list, "`scenarios`"),
            None => {
                self.complain(MISSING, document.span, "there are no `scenarios`").help =
                    Some("add `scenarios:`, a list of `{name, steps}`".to_owned());
                Vec::new()
            }
        };
        ScenarioFile {
            path: path.to_owned(),
            chart: document.get("chart").and_then(|chart| self.text(chart, "`chart`")),
            with: self.texts(document.get("with"), "`with`"),
            setup: self.setup(document),
            faults: self.faults(document.get("faults")),
            scenarios: scenarios.into_iter().map(|scenario| self.scenario(scenario)).collect(),
        }
    }

    fn setup(&mut self, document: &SpannedValue) -> ScenarioSetup {
        let services = self.object(document.get("services"), "`services`");
        if let (Err(problem), Some(place)) = (stubs(&services), document.get("services")) {
            self.complain(BAD_VALUE, place.span, problem);
        }
        let agents = document.get("agents").map(SpannedValue::to_json);
        if let (Some(Err(problem)), Some(place)) =
            (agents.as_ref().map(agents_from_json), document.get("agents"))
        {
            self.complain(BAD_VALUE, place.span, problem.to_string());
        }
        ScenarioSetup {
            services,
            agents,
            env: self.object(document.get("env"), "`env`"),
            input: self.object(document.get("input"), "`input`"),
            open_gate: self.flag(document.get("open_gate"), "`open_gate`"),
        }
    }

    fn scenario(&mut self, document: &SpannedValue) -> Scenario {
        self.only_keys(document, SCENARIO_KEYS, "a scenario");
        let name = match document.get("name") {
            Some(name) => self.text(name, "`name`"),
            None => {
                self.complain(MISSING, document.span, "a scenario needs a `name`");
                None
            }
        };
        let steps = document.get("steps").map(|steps| self.list(steps, "`steps`")).unwrap_or_default();
        Scenario {
            name: name.unwrap_or_default(),
            line: self.line(document.span),
            setup: self.setup(document),
            faults: self.faults(document.get("faults")),
            steps: steps.into_iter().map(|step| self.step(step)).collect(),
        }
    }

    fn step(&mut self, document: &SpannedValue) -> ScenarioStep {
        self.only_keys(document, STEP_KEYS, "a step");
        let stimulus = self.stimulus(document);
        let expectations = match document.get("expect") {
            Some(expect) => self.expectations(expect),
            None => Vec::new(),
        };
        if stimulus.is_none() && document.get("expect").is_none() && document.entries().is_some() {
            self.complain(MISSING, document.span, "a step needs `send`, `advance` or `expect`");
        }
        ScenarioStep { line: self.line(document.span), stimulus, expectations }
    }

    fn stimulus(&mut self, document: &SpannedValue) -> Option<Json> {
        let (send, advance) = (document.get("send"), document.get("advance"));
        if let (Some(_), Some(advance)) = (send, advance) {
            self.complain(BAD_VALUE, advance.span, "a step either sends or advances").help =
                Some("make two steps of it".to_owned());
        }
        if let (None, Some(data)) = (send, document.get("data")) {
            self.complain(BAD_VALUE, data.span, "`data` belongs to an event").help =
                Some("add `send: EVENT`".to_owned());
        }
        let (place, json) = match (send, advance) {
            (Some(send), _) => (send.span, event_json(self.text(send, "`send`")?, document.get("data"))),
            (None, Some(advance)) => (advance.span, serde_json::json!({ "advance": advance.to_json() })),
            (None, None) => return None,
        };
        if let Err(problem) = stimulus(&json) {
            self.complain(BAD_VALUE, place, problem);
        }
        Some(json)
    }

    pub(crate) fn expectations(&mut self, document: &SpannedValue) -> Vec<Expectation> {
        let names = LineField::ALL.map(LineField::name);
        self.only_keys(document, &names, "`expect`");
        let entries = document.entries().unwrap_or_default();
        entries
            .iter()
            .filter_map(|entry| {
                let field = LineField::ALL.into_iter().find(|field| field.name() == entry.key)?;
                let wanted = if field.is_list() {
                    self.wanted_list(field, entry)
                } else {
                    Matcher::Like(entry.value.to_json())
                };
                self.known_status(field, &entry.value);
                Some(Expectation { line: self.line(entry.key_span), field, wanted })
            })
            .collect()
    }

    /// A word that no status has could only ever fail.
    fn known_status(&mut self, field: LineField, document: &SpannedValue) {
        let known = document.text().is_some_and(|text| STATUSES.contains(&text));
        if field == LineField::Status && !known {
            let message = format!("`status` is one of {}", listed(STATUSES));
            self.complain(BAD_VALUE, document.span, message);
        }
    }

    /// A list, one item instead of a list of one, or `{contains, excludes}`. A map with other keys is an item.
    fn wanted_list(&mut self, field: LineField, entry: &DocumentEntry) -> Matcher {
        let among =
            |entries: &[DocumentEntry]| entries.iter().any(|entry| AMONG_KEYS.contains(&entry.key.as_str()));
        if let Some(items) = entry.value.items() {
            return Matcher::Exactly(items.iter().map(SpannedValue::to_json).collect());
        }
        if !entry.value.entries().is_some_and(|entries| field.has_plain_entries() || among(entries)) {
            return Matcher::Exactly(vec![entry.value.to_json()]);
        }
        self.only_keys(&entry.value, AMONG_KEYS, &format!("`{}`", entry.key));
        let items = |key: &str| match entry.value.get(key) {
            Some(SpannedValue { data: rawko_chart::DocumentData::List(items), .. }) => {
                items.iter().map(SpannedValue::to_json).collect()
            }
            Some(one) => vec![one.to_json()],
            None => Vec::new(),
        };
        Matcher::Among { contains: items("contains"), excludes: items("excludes") }
    }

    pub(crate) fn only_keys(&mut self, document: &SpannedValue, known: &[&str], what: &str) {
        let Some(entries) = document.entries() else {
            let message = format!("{what} must be a map, not {}", document.kind_words());
            self.complain(WRONG_TYPE, document.span, message);
            return;
        };
        for entry in entries.iter().filter(|entry| !known.contains(&entry.key.as_str())) {
            let help = match closest(&entry.key, known) {
                Some(name) => format!("did you mean `{name}`?"),
                None => format!("known keys are {}", listed(known)),
            };
            let message = format!("{what} has no key `{}`", entry.key);
            self.complain(UNKNOWN_KEY, entry.key_span, message).help = Some(help);
        }
    }

    fn list<'d>(&mut self, document: &'d SpannedValue, what: &str) -> Vec<&'d SpannedValue> {
        if document.items().is_none() {
            let message = format!("{what} must be a list, not {}", document.kind_words());
            self.complain(WRONG_TYPE, document.span, message);
        }
        document.items().unwrap_or_default().iter().collect()
    }

    fn text(&mut self, document: &SpannedValue, what: &str) -> Option<String> {
        if document.text().is_none() {
            let message = format!("{what} must be text, not {}", document.kind_words());
            self.complain(WRONG_TYPE, document.span, message);
        }
        document.text().map(str::to_owned)
    }

    /// One text or a list of them.
    fn texts(&mut self, document: Option<&SpannedValue>, what: &str) -> Vec<String> {
        let Some(document) = document else { return Vec::new() };
        match document.items() {
            Some(items) => items.iter().filter_map(|item| self.text(item, what)).collect(),
            None => self.text(document, what).into_iter().collect(),
        }
    }

    fn object(&mut self, document: Option<&SpannedValue>, what: &str) -> serde_json::Map<String, Json> {
        match document.map(|document| (document, document.to_json())) {
            Some((_, Json::Object(map))) => map,
            None | Some((_, Json::Null)) => serde_json::Map::new(),
            Some((document, _)) => {
                let message = format!("{what} must be a map, not {}", document.kind_words());
                self.complain(WRONG_TYPE, document.span, message);
                serde_json::Map::new()
            }
        }
    }

    fn flag(&mut self, document: Option<&SpannedValue>, what: &str) -> bool {
        let Some(document) = document else { return false };
        let Json::Bool(flag) = document.to_json() else {
            let message = format!("{what} must be true or false, not {}", document.kind_words());
            self.complain(WRONG_TYPE, document.span, message);
            return false;
        };
        flag
    }

    pub(crate) fn complain(
        &mut self,
        code: &'static str,
        span: Span,
        message: impl Into<String>,
    ) -> &mut Finding {
        let index = self.findings.len();
        self.findings.push(Finding::new(code, Severity::Fatal, span, message));
        &mut self.findings[index]
    }

    pub(crate) fn line(&self, span: Span) -> usize {
        let before = self.text.get(..span.start as usize).unwrap_or(self.text);
        before.bytes().filter(|byte| *byte == b'\n').count() + 1
    }
}

fn event_json(name: String, data: Option<&SpannedValue>) -> Json {
    match data {
        Some(data) => serde_json::json!({ "type": name, "data": data.to_json() }),
        None => serde_json::json!({ "type": name }),
    }
}

pub(crate) fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// The known word a misspelt one was probably meant to be.
fn closest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let scored = known.iter().map(|name| (strsim::damerau_levenshtein(word, name), *name));
    scored.filter(|(distance, name)| *distance <= 1 + name.len() / 4).min().map(|(_, name)| name)
}

/// Reads a stimulus in the form of the stimuli file.
pub(crate) fn stimulus(json: &Json) -> Result<Stimulus, String> {
    Stimulus::from_value(&json.clone().into()).map_err(|error| error.to_string())
}

/// Reads stubs in the form of the services file.
pub(crate) fn stubs(services: &serde_json::Map<String, Json>) -> Result<Stubs, String> {
    Stubs::from_value(&Json::Object(services.clone()).into()).map_err(|error| error.to_string())
}
