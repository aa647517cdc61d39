//! Parses a script; every problem has a source location.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Mutex;

use rawko_chart::codes::settings::{CONFLICTING_KEYS, MISSING_KEY};
use rawko_chart::{DocumentData, DocumentEntry, Finding, Severity, SourceFile, SpannedValue};
use rawko_core::Value;
use rawko_settings::{Environment, SettingsReader};

use super::Scripted;
use super::step::{AgentScript, ScriptStep, StepKind};
use crate::message::{StopReason, Usage};
use crate::provider::{ErrorCode, ProviderError};

/// A script that cannot be used.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}", shown(.source_text, .findings))]
#[non_exhaustive]
pub struct ScriptProblem {
    /// Text and name of the script, for showing locations.
    pub source_text: SourceFile,
    /// All problems, not only the first.
    pub findings: Vec<Finding>,
}

fn shown(source: &SourceFile, findings: &[Finding]) -> String {
    let line = |finding: &Finding| {
        format!("{}:{}: {}", source.name, line_at(&source.text, finding.span.start), finding.message)
    };
    findings.iter().map(line).collect::<Vec<_>>().join("; ")
}

pub(super) fn file(path: &Path) -> Result<Scripted, ScriptProblem> {
    let name = path.display().to_string();
    match crate::provider::regular_text(path) {
        Ok(content) => text(&name, &content),
        Err(error) => {
            let finding = rawko_chart::codes::settings::UNREADABLE
                .at(rawko_chart::Span::default(), format!("cannot be read: {error}"));
            Err(ScriptProblem { source_text: SourceFile::new(name, ""), findings: vec![finding] })
        }
    }
}

pub(super) fn text(name: &str, text: &str) -> Result<Scripted, ScriptProblem> {
    let problem = |findings| ScriptProblem { source_text: SourceFile::new(name, text), findings };
    let document = SpannedValue::read(text).map_err(problem)?;
    let environment = Environment::default();
    let line_ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect();
    let reader = SettingsReader::new(&environment);
    let mut reading =
        ScriptReader { reader, line_ends, scripts: Vec::new(), known: HashMap::new(), steps: 0 };
    reading.root(&document);
    let ScriptReader { reader, scripts, .. } = reading;
    if reader.findings.iter().any(|finding| finding.severity > Severity::Warning) {
        return Err(problem(reader.findings));
    }
    Ok(Scripted { file: name.to_owned(), scripts, used: Mutex::default() })
}

struct ScriptReader<'t> {
    reader: SettingsReader<'t>,
    /// The offset of each line's end, so that a long script is read once.
    line_ends: Vec<usize>,
    scripts: Vec<AgentScript>,
    /// The position of each script by its agent and occasion.
    known: HashMap<(Option<String>, Option<String>), usize>,
    steps: usize,
}

const STEP_KEYS: [&str; 9] =
    ["reasoning", "text", "data", "tool_calls", "stop_reason", "usage", "expect", "delay_ms", "error"];
const USAGE_KEYS: [&str; 6] =
    ["input_tokens", "output_tokens", "cached_tokens", "cache_write_tokens", "reasoning_tokens", "cost_usd"];

impl ScriptReader<'_> {
    /// Parses a list, or a map with `steps`.
    fn root(&mut self, at: &SpannedValue) {
        let list = at.get("steps").filter(|_| at.get("agent").is_none()).unwrap_or(at);
        self.items(list, "a script").iter().for_each(|item| self.item(item));
    }

    fn items<'d>(&mut self, at: &'d SpannedValue, what: &str) -> &'d [SpannedValue] {
        let items = at.items();
        if items.is_none() && at.data != DocumentData::Null {
            self.reader.wrong_type(at, what, "a list of steps");
        }
        items.unwrap_or_default()
    }

    /// Parses a script with its steps, or one step.
    fn item(&mut self, at: &SpannedValue) {
        let mut text = |key: &str| {
            let value = at.get(key)?;
            self.reader.text(value, &format!("`{key}`")).map(str::to_owned)
        };
        let (agent, when) = (text("agent"), text("when"));
        let Some(steps) = at.get("steps") else {
            let keys = [&["agent", "when"], STEP_KEYS.as_slice()].concat();
            let step = self.step(at, &keys);
            return self.add(agent, when, step);
        };
        self.reader.record(at, "a script", &["agent", "when", "steps"]);
        for item in self.items(steps, "`steps`") {
            let step = self.step(item, &STEP_KEYS);
            self.add(agent.clone(), when.clone(), step);
        }
    }

    fn add(&mut self, agent: Option<String>, when: Option<String>, step: Option<ScriptStep>) {
        let Some(step) = step else { return };
        let end = self.scripts.len();
        let at = *self.known.entry((agent.clone(), when.clone())).or_insert(end);
        if at == end {
            self.scripts.push(AgentScript { agent, when, turns: Vec::new() });
        }
        self.scripts[at].push(step);
    }

    fn step(&mut self, at: &SpannedValue, keys: &[&str]) -> Option<ScriptStep> {
        let entries = self.reader.record(at, "a step", keys);
        let find = |key: &str| entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value);
        let kind = match find("error") {
            Some(error) => StepKind::Error(self.error(error, &entries)?),
            None => self.answer(at, &entries)?,
        };
        let expect = find("expect").map(|it| self.expected(it)).unwrap_or_default();
        let delay_ms = find("delay_ms").and_then(|it| self.reader.whole(it, "`delay_ms`", 0)).unwrap_or(0);
        self.steps += 1;
        let line = 1 + self.line_ends.partition_point(|end| *end < at.span.start as usize);
        Some(ScriptStep { number: self.steps, line, expect, delay_ms, kind })
    }

    fn expected(&mut self, at: &SpannedValue) -> Vec<String> {
        match &at.data {
            DocumentData::Str(one) => vec![one.clone()],
            _ => self.reader.texts(at, "`expect`").into_iter().map(|(text, _)| text.to_owned()).collect(),
        }
    }

    fn error(&mut self, at: &SpannedValue, beside: &[&DocumentEntry]) -> Option<ProviderError> {
        for entry in beside
            .iter()
            .filter(|it| !["error", "expect", "delay_ms", "agent", "when"].contains(&it.key.as_str()))
        {
            let message = format!("`{}` cannot be combined with `error`", entry.key);
            self.reader.say(&CONFLICTING_KEYS, entry.key_span, message, "split it into two steps");
        }
        let entries = self.reader.record(at, "`error`", &["code", "message", "retry_after_ms", "status"]);
        let find = |key: &str| entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value);
        let code = find("code").and_then(|it| self.error_code(it));
        if find("code").is_none() {
            self.reader.say(
                &MISSING_KEY,
                at.span,
                "`error` has no `code`",
                "write for example `code: rate_limited`",
            );
        }
        let message = find("message").and_then(|it| self.reader.text(it, "`message`"));
        let retry_after_ms =
            find("retry_after_ms").and_then(|it| self.reader.whole(it, "`retry_after_ms`", 0));
        let status = find("status").and_then(|it| self.reader.whole(it, "`status`", 100));
        let code = code?;
        let message = message.map_or_else(|| format!("scripted error: {}", code.as_str()), str::to_owned);
        Some(ProviderError {
            code,
            message,
            retry_after_ms,
            status: status.and_then(|it| u16::try_from(it).ok()),
        })
    }

    fn error_code(&mut self, at: &SpannedValue) -> Option<ErrorCode> {
        let text = self.reader.text(at, "`code`")?;
        let code = ErrorCode::ALL.into_iter().find(|code| code.as_str() == text);
        if code.is_none() {
            let known = ErrorCode::ALL.map(ErrorCode::as_str).join(", ");
            self.reader.invalid(at.span, format!("there is no error `{text}`"), format!("one of {known}"));
        }
        code
    }

    fn answer(&mut self, at: &SpannedValue, entries: &[&DocumentEntry]) -> Option<StepKind> {
        let find = |key: &str| entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value);
        let (said, data, calls) = (find("text"), find("data"), find("tool_calls"));
        if said.is_none() && data.is_none() && calls.is_none() && find("stop_reason").is_none() {
            let help = "add `text`, `data`, `tool_calls` or `error`";
            self.reader.say(&MISSING_KEY, at.span, "the step is empty", help);
            return None;
        }
        let text = match (said, data) {
            (Some(text), None) => self.reader.scalar(text, "`text`")?,
            (None, Some(data)) => data.to_json().to_string(),
            (None, None) => String::new(),
            (Some(_), Some(data)) => {
                self.reader.say(
                    &CONFLICTING_KEYS,
                    data.span,
                    "`data` and `text` conflict",
                    "remove `text`: `data` is the text of the answer",
                );
                return None;
            }
        };
        let tools = calls.map(|it| self.calls(it)).unwrap_or_default();
        let stop = find("stop_reason").and_then(|it| self.stop_reason(it));
        let usage = find("usage").map(|it| self.usage(it));
        let reasoning = find("reasoning").and_then(|it| self.reader.scalar(it, "`reasoning`"));
        Some(StepKind::Answer { reasoning: reasoning.unwrap_or_default(), text, tools, stop, usage })
    }

    fn calls(&mut self, at: &SpannedValue) -> Vec<(String, Value)> {
        let items = self.items(at, "`tool_calls`");
        items.iter().filter_map(|item| self.call(item)).collect()
    }

    fn call(&mut self, at: &SpannedValue) -> Option<(String, Value)> {
        let entries = self.reader.record(at, "a tool call", &["name", "input"]);
        let find = |key: &str| entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value);
        let Some(name) = find("name") else {
            self.reader.say(
                &MISSING_KEY,
                at.span,
                "a tool call has no `name`",
                "write `{name: Read, input: {…}}`",
            );
            return None;
        };
        let name = self.reader.text(name, "`name` of a tool call")?;
        let input = find("input").map(|it| Value::from_json(it.to_json()));
        Some((name.to_owned(), input.unwrap_or_else(|| Value::map([] as [(&str, Value); 0]))))
    }

    fn stop_reason(&mut self, at: &SpannedValue) -> Option<StopReason> {
        let text = self.reader.text(at, "`stop_reason`")?;
        let reason = serde_json::from_value(text.into()).ok();
        if reason.is_none() {
            let help = "one of stop, tool_calls, length, content_filter, other";
            self.reader.invalid(at.span, format!("there is no stop reason `{text}`"), help);
        }
        reason
    }

    fn usage(&mut self, at: &SpannedValue) -> Usage {
        let mut usage = Usage::default();
        for entry in self.reader.record(at, "`usage`", &USAGE_KEYS) {
            let what = format!("`{}`", entry.key);
            if entry.key == "cost_usd" {
                usage.cost_usd = self.cost(&entry.value);
                continue;
            }
            let tokens = self.reader.whole(&entry.value, &what, 0).unwrap_or(0);
            match entry.key.as_str() {
                "input_tokens" => usage.input_tokens = tokens,
                "output_tokens" => usage.output_tokens = tokens,
                "cache_write_tokens" => usage.cache_write_tokens = tokens,
                "reasoning_tokens" => usage.reasoning_tokens = tokens,
                _ => usage.cached_tokens = tokens,
            }
        }
        usage
    }

    fn cost(&mut self, at: &SpannedValue) -> Option<f64> {
        let cost = Value::from_json(at.to_json()).as_f64();
        if cost.is_none() {
            self.reader.wrong_type(at, "`cost_usd`", "a number");
        }
        cost
    }
}

fn line_at(text: &str, offset: u32) -> usize {
    let before = text.as_bytes().get(..offset as usize).unwrap_or_default();
    1 + before.iter().filter(|byte| **byte == b'\n').count()
}
