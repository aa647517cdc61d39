//! Task settings of a project: the sections `task:`, `memories:` and `arbiter:`, and the prompts; each finding has its
//! location.

use std::time::Duration;

use rawko_chart::codes::settings::{INVALID_VALUE, UNREADABLE};
use rawko_chart::{Finding, Severity, SourceFile, Span, nearest};
use rawko_core::{Map, Value};
use rawko_host::{Section, SettingsReader};

use super::read::AgentProblems;
use crate::agent::Agents;
use crate::memories::{MEMORIES_FOLDER, read_memories};
use rawko_arbiter::{ArbiterSettings, Moment, Prompts, unknown_placeholders};

/// `task:`, in the form of the chart's context: only explicit values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskSettings {
    /// `maxIterations`, `maxFailures`, `timeoutMs`, …
    pub input: Map,
}

/// `memories:`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemorySettings {
    /// Extract lessons from agents' work.
    pub remember: bool,
    /// Token limit of memories in an agent's first prompt.
    pub tokens_max: usize,
    /// `None` uses the project's default model.
    pub model: Option<String>,
}

impl Default for MemorySettings {
    fn default() -> Self {
        Self { remember: true, tokens_max: 1_000, model: None }
    }
}

/// Time for running the checks before a task begins.
const START_TIME: Duration = Duration::from_secs(5 * 60);

/// Reads `checks:`: the files that agents may not change for a check to count, and the time for the checks before a task
/// begins.
pub(super) fn checks_section(
    reader: &mut SettingsReader<'_>,
    sections: &[&Section],
) -> (Vec<String>, Duration) {
    let (mut all, mut start_time, mut at_start) = (Vec::new(), None, None);
    for section in sections {
        for entry in reader.record(&section.document, "`checks`", &["protected", "at_start", "start_time"]) {
            // The nearest section wins.
            if entry.key == "start_time" {
                start_time = start_time.or(reader.duration(&entry.value, "`start_time` of `checks`"));
                continue;
            }
            if entry.key == "at_start" {
                at_start = at_start.or(reader.flag(&entry.value, "`at_start` of `checks`"));
                continue;
            }
            let patterns = reader.texts(&entry.value, "`protected` of `checks`");
            let patterns: Vec<(String, Span)> =
                patterns.into_iter().map(|(pattern, span)| (pattern.to_owned(), span)).collect();
            for (pattern, span) in patterns {
                if let Err(error) = globset::Glob::new(&pattern) {
                    let message = format!("`{pattern}` is not a pattern: {}", error.kind());
                    reader.invalid(span, message, "write for example `tests/**`");
                }
                all.push(pattern);
            }
        }
    }
    let start_time = start_time.unwrap_or(START_TIME);
    (all, if at_start == Some(false) { Duration::ZERO } else { start_time })
}

/// Reads `worktrees:`. A nearer file only lowers the limit.
pub(super) fn worktree_bytes_max(reader: &mut SettingsReader<'_>, sections: &[&Section]) -> u64 {
    let mut most = rawko_programs::worktrees::BYTES_MAX;
    for section in sections.iter().rev() {
        for entry in reader.record(&section.document, "`worktrees`", &["disk_max"]) {
            let size = reader.text(&entry.value, "`disk_max` of `worktrees`").map(str::to_owned);
            match size.map(|text| rawko_settings::parse_size(&text)) {
                Some(Some(size)) => most = most.min(size),
                Some(None) => {
                    let help = "write for example `10GB`";
                    reader.invalid(entry.value.span, "`disk_max` is not a size".to_owned(), help);
                }
                None => {}
            }
        }
    }
    most
}

/// Keys of the settings and of the chart.
const TASK_KEYS: [(&str, &str); 7] = [
    ("max_iterations", "maxIterations"),
    ("max_failures", "maxFailures"),
    ("timeout", "timeoutMs"),
    ("agent_timeout", "agentTimeoutMs"),
    ("arbiter_timeout", "arbiterTimeoutMs"),
    ("back_off_first", "backoffMs"),
    ("back_off_longest", "backoffMaxMs"),
];

impl TaskSettings {
    /// Sections, the nearest to the project first. Each only lowers the limits of those outside of it.
    pub(super) fn read(reader: &mut SettingsReader<'_>, sections: &[&Section]) -> Self {
        let keys = TASK_KEYS.map(|(key, _)| key);
        let mut input = Map::default();
        for section in sections.iter().rev() {
            for entry in reader.record(&section.document, "`task`", &keys) {
                let what = format!("`{}` of `task`", entry.key);
                let number = match entry.key.as_str() {
                    "max_iterations" | "max_failures" => reader.whole(&entry.value, &what, 1),
                    _ => reader
                        .duration(&entry.value, &what)
                        .and_then(|time| u64::try_from(time.as_millis()).ok()),
                };
                let name = TASK_KEYS.iter().find(|(key, _)| *key == entry.key).map(|(_, name)| *name);
                if let (Some(number), Some(name)) = (number.and_then(|it| i64::try_from(it).ok()), name) {
                    let outer = input.get(name).and_then(Value::as_i64).unwrap_or(i64::MAX);
                    let is_limit = !entry.key.starts_with("back_off");
                    let number = if is_limit { number.min(outer) } else { number };
                    input.insert(name.into(), Value::Int(number));
                }
            }
        }
        Self { input }
    }
}

impl MemorySettings {
    pub(super) fn read(reader: &mut SettingsReader<'_>, sections: &[&Section]) -> Self {
        let mut own = Self::default();
        for section in sections.iter().rev() {
            for entry in reader.record(&section.document, "`memories`", &["remember", "tokens_max", "model"])
            {
                let what = format!("`{}` of `memories`", entry.key);
                match entry.key.as_str() {
                    "remember" => match entry.value.to_json().as_bool() {
                        Some(remember) => own.remember = remember,
                        None => reader.wrong_type(&entry.value, &what, "true or false"),
                    },
                    "tokens_max" => {
                        let most = reader.whole(&entry.value, &what, 0);
                        own.tokens_max =
                            most.and_then(|most| usize::try_from(most).ok()).unwrap_or(own.tokens_max);
                    }
                    _ => own.model = reader.models(&entry.value, &what),
                }
            }
        }
        own
    }
}

const ARBITER_KEYS: [&str; 6] =
    ["model", "fallback_agent", "planner", "retries", "select_prompt", "evaluate_prompt"];

/// Reads `arbiter:`. Agents that it names must exist.
pub(super) fn arbiter(
    reader: &mut SettingsReader<'_>,
    sections: &[&Section],
    agents: &Agents,
) -> ArbiterSettings {
    let mut own = ArbiterSettings::default();
    for section in sections.iter().rev() {
        for entry in reader.record(&section.document, "`arbiter`", &ARBITER_KEYS) {
            let what = format!("`{}` of `arbiter`", entry.key);
            if entry.key == "retries" {
                let retries = reader.whole(&entry.value, &what, 0).and_then(|it| u32::try_from(it).ok());
                own.retries = retries.unwrap_or(own.retries);
                continue;
            }
            if entry.key == "model" {
                own.model = reader.models(&entry.value, &what);
                continue;
            }
            let Some(text) = reader.text(&entry.value, &what).map(str::to_owned) else { continue };
            match entry.key.as_str() {
                "select_prompt" => own.select_prompt = Some(text),
                "evaluate_prompt" => own.evaluate_prompt = Some(text),
                key => {
                    insist_on_agent(reader, &text, entry.value.span, agents);
                    match key {
                        "planner" => own.planner = text,
                        _ => own.fallback_agent = Some(text),
                    }
                }
            }
        }
    }
    own
}

fn insist_on_agent(reader: &mut SettingsReader<'_>, name: &str, span: Span, agents: &Agents) {
    // An agent with an invalid file has been reported there.
    if agents.get(name).is_some() || agents.unusable().iter().any(|agent| agent.name == name) {
        return;
    }
    let names = agents.all().iter().map(|agent| agent.name.as_str());
    let help = nearest(name, names)
        .map_or_else(|| format!("add .rawko/agents/{name}.md"), |near| format!("did you mean `{near}`?"));
    reader.invalid(span, format!("there is no agent `{name}`"), help);
}

/// Reads the prompts; if that fails, reports it and uses the built-in ones.
pub(super) fn prompts(
    root: &std::path::Path,
    settings: &ArbiterSettings,
    problems: &mut AgentProblems,
) -> Prompts {
    let source = |text: &str| SourceFile::new(".rawko/prompts", text);
    let prompts = match Prompts::read(root, settings) {
        Ok(prompts) => prompts,
        Err(error) => {
            let finding = UNREADABLE.at(Span::new(0, 0), format!("a prompt cannot be read: {error}"));
            problems.push((source(""), vec![finding]));
            Prompts::default()
        }
    };
    for (moment, name) in [(Moment::Select, "select"), (Moment::Evaluate, "evaluate")] {
        for slip in unknown_placeholders(prompts.of(moment)) {
            let message = format!("the prompt `{name}` has an unknown placeholder `{{{slip}}}`");
            let finding = INVALID_VALUE.at(Span::new(0, 0), message);
            let help = "the placeholders are task, plan, agents, history, error, last, checks, iteration, maxIterations, constraints and decisions";
            problems.push((source(""), vec![Finding { severity: Severity::Warning, ..finding.help(help) }]));
        }
    }
    prompts
}

/// Unreadable memories do not prevent work.
pub(super) fn memory_problems(root: &std::path::Path) -> AgentProblems {
    let folder = root.join(MEMORIES_FOLDER);
    let memories = match read_memories(&folder) {
        Ok(memories) => memories,
        Err(error) => {
            let finding = UNREADABLE.at(Span::new(0, 0), format!("memories cannot be read: {error}"));
            let finding = Finding { severity: Severity::Warning, ..finding };
            return vec![(SourceFile::new(MEMORIES_FOLDER, ""), vec![finding])];
        }
    };
    let told = memories.problems.into_iter().map(|problem| {
        let text = std::fs::read_to_string(folder.join(&problem.file)).unwrap_or_default();
        let start: usize =
            text.split_inclusive('\n').take(problem.line.saturating_sub(1)).map(str::len).sum();
        let end = text[start..].find('\n').map_or(text.len(), |length| start + length);
        let finding = INVALID_VALUE.at(Span::new(start, end), problem.message);
        let source = SourceFile::new(format!("{MEMORIES_FOLDER}/{}", problem.file), text);
        (source, vec![Finding { severity: Severity::Warning, ..finding }])
    });
    told.collect()
}
