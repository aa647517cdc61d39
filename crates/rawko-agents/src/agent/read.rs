//! Reads one agent file and collects all its findings.

use std::collections::BTreeMap;

use rawko_chart::codes::agents::{CONFLICTING_KEYS, MISSING_KEY, NO_DESCRIPTION};
use rawko_chart::{DocumentData, Finding, Severity, SourceFile, Span, SpannedValue, nearest};
use rawko_core::Value;
use rawko_host::Environment;

use super::fields::{Fields, Reader, about_agents};
use super::file::{AgentFile, AgentKind, AgentLimits, AgentSuccessors, Level};
use super::{COMPLETE, claude, frontmatter, lenient, model, tools};
use rawko_tools::read_agent;

const KEYS: [&str; 27] = [
    "name",
    "displayName",
    "whenToUse",
    "description",
    "systemPrompt",
    "provider",
    "model",
    "visionModel",
    "reasoning",
    "kind",
    "command",
    "args",
    "env",
    "cwd",
    "script",
    "chart",
    "tools",
    "disallowedTools",
    "permissions",
    "transitions",
    "limits",
    "memory",
    "metadata",
    "roles",
    "role",
    "taskTypes",
    "taskType",
];

/// The result of reading a file.
pub(super) struct FileReading {
    pub(super) name: String,
    /// `None` if the file has errors.
    pub(super) agent: Option<AgentFile>,
    /// Location of its name, or the start of the file.
    pub(super) name_span: Span,
    /// Targets of its transitions, with their locations.
    pub(super) targets: Vec<(String, Span)>,
    pub(super) findings: Vec<Finding>,
}

/// `stem` is the file name without its extension: the agent's name if the file does not give one.
pub(super) fn read(source: &SourceFile, stem: &str, level: Level, environment: &Environment) -> FileReading {
    let mut reader = Reader::new(environment);
    let mut reading = FileReading {
        name: stem.to_owned(),
        agent: None,
        name_span: Span::new(0, 0),
        targets: Vec::new(),
        findings: Vec::new(),
    };
    match texts(source, level) {
        Ok((document, _)) if document.entries().is_none() => {
            reader.wrong_type(&document, "an agent", "a map")
        }
        Ok((document, body)) => {
            let mut one = AgentFileReader { reader: &mut reader, body, level, file: &source.name };
            let agent = one.agent(&document, &mut reading);
            let is_wrong = reader.findings.iter().any(|finding| finding.severity > Severity::Warning);
            reading.agent = Some(agent).filter(|_| !is_wrong);
        }
        Err(findings) => reader.findings = findings,
    }
    reading.findings = reader.findings.into_iter().map(about_agents).collect();
    reading.findings.sort_by_key(|finding| finding.span);
    reading
}

/// The keys, and the body of a Markdown file with its offset.
type Texts<'t> = (SpannedValue, Option<(&'t str, usize)>);

fn texts(source: &SourceFile, level: Level) -> Result<Texts<'_>, Vec<Finding>> {
    let text: &str = &source.text;
    if !source.name.ends_with(".md") {
        return Ok((document(text, Level::Project)?, None));
    }
    let parts = frontmatter::split(text)?;
    if level.is_claude() && parts.yaml.is_none() {
        let finding = MISSING_KEY.at(Span::new(0, 0), "the file has no frontmatter, so it is not an agent");
        return Err(vec![
            finding.help("begin it with `---`, `name` and `description`, or move it elsewhere"),
        ]);
    }
    let document = document(parts.yaml.as_deref().unwrap_or_default(), level)?;
    Ok((document, Some((parts.body, parts.body_start))))
}

fn document(yaml: &str, level: Level) -> Result<SpannedValue, Vec<Finding>> {
    if yaml.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
        return Ok(SpannedValue { span: Span::new(0, 0), data: DocumentData::Map(Vec::new()) });
    }
    SpannedValue::read(yaml).or_else(|findings| match level.is_claude() {
        true => lenient::read(yaml).ok_or(findings),
        false => Err(findings),
    })
}

/// State while reading one file.
pub(super) struct AgentFileReader<'r, 'e, 't> {
    pub(super) reader: &'r mut Reader<'e>,
    body: Option<(&'t str, usize)>,
    level: Level,
    file: &'t str,
}

impl AgentFileReader<'_, '_, '_> {
    fn agent(&mut self, document: &SpannedValue, reading: &mut FileReading) -> AgentFile {
        let fields = Fields::of_agent(self.reader, document, &KEYS);
        self.name(&fields, reading);
        let kind = self.kind(&fields);
        let (mut tools, mut limits) = (tools::read(self.reader, &fields), self.limits(&fields));
        claude::apply(self.reader, &fields, self.level, &mut tools, &mut limits);
        AgentFile {
            name: reading.name.clone(),
            display_name: self.text(&fields, "displayName").unwrap_or_else(|| reading.name.clone()),
            when_to_use: self.when_to_use(&fields, reading.name_span),
            system_prompt: self.system_prompt(&fields, kind, reading.name_span),
            kind,
            model: model::choice(self.reader, &fields),
            fallback_models: model::fallbacks(self.reader, &fields),
            vision_model: fields
                .entry("visionModel")
                .and_then(|entry| model::text_choice(self.reader, entry)),
            reasoning: claude::reasoning(self.reader, &fields),
            command: self.command(&fields, kind),
            chart: self.chart(&fields, kind, reading.name_span),
            script: fields.get("script").and_then(|at| self.inside(at, "`script`")),
            tools,
            skills: claude::skills(self.reader, &fields),
            permissions: fields.get("permissions").map(|at| read_agent(self.reader, at, self.file)),
            transitions: self.transitions(&fields, reading),
            limits,
            isolation: claude::isolation(self.reader, &fields, kind),
            memory: value(fields.get("memory")),
            metadata: self.metadata(&fields),
            roles: self.words(&fields, &["roles", "role"]),
            task_types: self.words(&fields, &["taskTypes", "taskType"]),
            file: self.file.to_owned(),
            level: self.level,
            details: details(document),
        }
    }

    fn text(&mut self, fields: &Fields<'_>, key: &str) -> Option<String> {
        let entry = fields.entry(key)?;
        self.reader.text(&entry.value, &format!("`{}`", entry.key)).map(|text| text.trim().to_owned())
    }

    fn name(&mut self, fields: &Fields<'_>, reading: &mut FileReading) {
        let Some(at) = fields.get("name") else {
            self.check_name(&reading.name.clone(), Span::new(0, 0));
            return;
        };
        reading.name_span = at.span;
        if let Some(name) = self.reader.text(at, "`name`") {
            self.check_name(name, at.span);
            reading.name = name.to_owned();
        }
    }

    fn check_name(&mut self, name: &str, span: Span) {
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        if name == COMPLETE {
            let message = format!("no agent can be named `{COMPLETE}`");
            self.reader.invalid(span, message, "it is the target of transitions that end the task");
        } else if name.is_empty() || !name.chars().all(is_plain) {
            let message = format!("`{name}` is not a valid agent name");
            let help = "use letters, digits, `-`, `_` and `.`; a name for people goes into `displayName`";
            self.reader.invalid(span, message, help);
        }
    }

    fn kind(&mut self, fields: &Fields<'_>) -> AgentKind {
        let Some(at) = fields.get("kind") else { return AgentKind::Llm };
        let Some(text) = self.reader.text(at, "`kind`") else { return AgentKind::Llm };
        if let Some(kind) = AgentKind::ALL.into_iter().find(|kind| kind.as_str() == text) {
            return kind;
        }
        let near = nearest(text, AgentKind::ALL.iter().map(|kind| kind.as_str()));
        let help = near.map_or_else(
            || "the kinds are `llm`, `process`, `acp`, `human`, `scripted` and `chart`".to_owned(),
            |near| format!("did you mean `{near}`?"),
        );
        self.reader.invalid(at.span, format!("unknown agent kind `{text}`"), help);
        AgentKind::Llm
    }

    /// The chart of a `chart` agent. Whether it exists is checked with the project's charts.
    fn chart(&mut self, fields: &Fields<'_>, kind: AgentKind, place: Span) -> Option<String> {
        let chart = self.text(fields, "chart").filter(|chart| !chart.is_empty());
        match (kind, fields.entry("chart")) {
            (AgentKind::Chart, _) if chart.is_none() => {
                let finding = MISSING_KEY.at(place, "the agent has no chart");
                self.reader.report(finding.help("add `chart`, for example `chart: plan_build`"));
            }
            (
                AgentKind::Llm | AgentKind::Process | AgentKind::Acp | AgentKind::Human | AgentKind::Scripted,
                Some(entry),
            ) => {
                let message = format!("`chart` has no effect on an agent of kind `{}`", kind.as_str());
                self.reader.invalid(entry.key_span, message, "write `kind: chart`, or remove it");
            }
            _ => {}
        }
        chart
    }

    fn when_to_use(&mut self, fields: &Fields<'_>, place: Span) -> String {
        let said = self.text(fields, "whenToUse").or_else(|| self.text(fields, "description"));
        let is_given = fields.get("whenToUse").or_else(|| fields.get("description")).is_some();
        let said = said.unwrap_or_default();
        if said.is_empty() && !is_given {
            let message = "this agent has no `whenToUse`";
            self.reader.report(
                NO_DESCRIPTION
                    .at(place, message)
                    .help("add `whenToUse`; until then only charts that name the agent use it"),
            );
        }
        said
    }

    fn system_prompt(&mut self, fields: &Fields<'_>, kind: AgentKind, place: Span) -> String {
        let said = self.text(fields, "systemPrompt");
        let body = self.body.filter(|(body, _)| !body.is_empty());
        if let (Some(entry), Some((_, start))) = (fields.entry("systemPrompt"), body) {
            let finding = CONFLICTING_KEYS.at(entry.key_span, "the prompt is given twice");
            let finding = finding.related(Span::new(start, start), "the body of the file is also the prompt");
            self.reader.report(finding.help("keep one of them"));
        }
        let prompt = said.or_else(|| body.map(|(body, _)| body.to_owned())).unwrap_or_default();
        if prompt.is_empty() && kind == AgentKind::Llm && !fields.get("systemPrompt").is_some_and(is_no_text)
        {
            let help = match self.body {
                Some(_) => "write it below the second `---`",
                None => "add `systemPrompt`",
            };
            self.reader.report(MISSING_KEY.at(place, "the agent has no prompt").help(help));
        }
        prompt
    }

    fn transitions(&mut self, fields: &Fields<'_>, reading: &mut FileReading) -> AgentSuccessors {
        let Some(at) = fields.get("transitions") else { return AgentSuccessors::default() };
        let keys = ["onSuccess", "onFailure", "onMaxIterations", "custom"];
        let fields = Fields::read(self.reader, at, "`transitions`", &keys);
        let mut target = |at: &SpannedValue, what: &str| {
            let name = self.reader.text(at, what)?.to_owned();
            reading.targets.push((name.clone(), at.span));
            Some(name)
        };
        let mut of = |key: &str| target(fields.get(key)?, &format!("`{key}` of `transitions`"));
        let (on_success, on_failure) = (of("onSuccess"), of("onFailure"));
        let on_max_iterations = of("onMaxIterations");
        let mut custom = BTreeMap::new();
        for entry in fields.get("custom").map(|at| self.reader.entries(at, "`custom`")).unwrap_or_default() {
            if let Some(name) = self.reader.text(&entry.value, &format!("`{}` of `custom`", entry.key)) {
                reading.targets.push((name.to_owned(), entry.value.span));
                custom.insert(entry.key.clone(), name.to_owned());
            }
        }
        AgentSuccessors { on_success, on_failure, on_max_iterations, custom }
    }

    fn limits(&mut self, fields: &Fields<'_>) -> AgentLimits {
        let Some(at) = fields.get("limits") else { return AgentLimits::default() };
        let fields =
            Fields::read(self.reader, at, "`limits`", &["maxIterations", "timeout", "maxTokens", "parallel"]);
        let timeout = fields.get("timeout").and_then(|at| self.reader.duration(at, "`timeout`"));
        let mut whole = |key: &str| self.reader.whole(fields.get(key)?, &format!("`{key}` of `limits`"), 1);
        AgentLimits {
            max_iterations: whole("maxIterations"),
            timeout_ms: timeout.and_then(|timeout| u64::try_from(timeout.as_millis()).ok()),
            max_tokens: whole("maxTokens"),
            parallel: whole("parallel"),
        }
    }

    fn metadata(&mut self, fields: &Fields<'_>) -> Value {
        if let Some(at) = fields.get("metadata") {
            self.reader.entries(at, "`metadata`");
        }
        value(fields.get("metadata"))
    }

    /// Reads one word or a list, at the top level or under `metadata`.
    fn words(&mut self, fields: &Fields<'_>, keys: &[&str]) -> Vec<String> {
        let snake = |key: &str| if key == "taskTypes" { "task_types" } else { "task_type" };
        let below = |key: &str| {
            let metadata = fields.get("metadata")?;
            metadata.get(key).or_else(|| metadata.get(snake(key)).filter(|_| key.starts_with("task")))
        };
        let found = keys.iter().find_map(|key| fields.get(key).or_else(|| below(key)).map(|at| (*key, at)));
        let Some((key, at)) = found else { return Vec::new() };
        match &at.data {
            DocumentData::Str(one) => vec![one.clone()],
            DocumentData::Null
            | DocumentData::Bool(_)
            | DocumentData::Int(_)
            | DocumentData::Float(_)
            | DocumentData::List(_)
            | DocumentData::Map(_) => {
                let texts = self.reader.texts(at, &format!("`{key}`"));
                texts.into_iter().map(|(text, _)| text.to_owned()).collect()
            }
        }
    }
}

/// Returns the value of `agents.get(name)`: the file's keys, merged over those of its `metadata`.
fn details(document: &SpannedValue) -> Value {
    let mut json = document.to_json();
    let metadata = json.get("metadata").and_then(|metadata| metadata.as_object().cloned());
    if let (Some(mut all), Some(own)) = (metadata, json.as_object().cloned()) {
        all.extend(own);
        json = all.into();
    }
    Value::from_json(json)
}

fn is_no_text(at: &SpannedValue) -> bool {
    at.text().is_none()
}

fn value(at: Option<&SpannedValue>) -> Value {
    at.map_or(Value::Null, |at| Value::from_json(at.to_json()))
}
