//! `LoopSettings`: all thresholds of loop control, from the settings' section `loop` and, narrower, from a state's.

use std::collections::BTreeMap;

use rawko_chart::{DocumentEntry, Finding, SpannedValue};
use rawko_core::Value;
use rawko_core::duration::parse_ms;
use rawko_settings::{Section, SectionSource, SettingsReader};
use serde::{Deserialize, Serialize};

/// All thresholds. Keys in a file are the field names without `_ms`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoopSettings {
    /// Rounds of the same calls with the same results until the agent gets a notice.
    pub notice_after: u32,
    /// … until the next such call is blocked.
    pub block_after: u32,
    /// … until an event is sent, if the calls were not blocked.
    pub doom_after: u32,
    /// Attempts at a blocked call until an event is sent.
    pub blocked_max: u32,
    /// Maximum length of a detected cycle.
    pub cycle_max: u32,
    /// Additional polling tools; `*` matches any text.
    pub polling_tools: Vec<String>,
    /// Additional polling commands.
    pub polling_commands: Vec<String>,
    /// Alternations between implement and validate without progress.
    pub alternations_max: u32,
    /// Longest time in the build phase, in milliseconds.
    pub build_time_max_ms: u64,
    /// Passes over which errors must fall.
    pub stalled_passes: u32,
    /// Messages about missing parts to a model that stops early.
    pub challenges_max: u32,
    /// Continuations of a truncated answer.
    pub continuations_max: u32,
    /// Completions per execution; an agent's own limit may be lower.
    pub completions_max: u32,
    /// Attempts at a completion after the first.
    pub retries_max: u32,
    /// Limit of compactions of a conversation.
    pub compactions_max: u32,
    /// Depth limit of nested agents.
    pub depth_max: u32,
    /// Tool calls and sub-agents of one completion that run at the same time; an agent's own limit may be lower.
    pub parallel_max: u32,
    /// Prompt size, in tokens, that triggers compaction.
    pub prompt_tokens_max: u32,
    /// Rounds of a task without progress until the agents get a notice.
    pub tell_after: u32,
    /// … until a person is asked, or the task ends.
    pub stuck_after: u32,
    /// Returns to a former state of the files until the task ends.
    pub returns_max: u32,
    /// Rounds with the same failing checks until a person is asked, also if other things change.
    pub same_failures_max: u32,
}

impl Default for LoopSettings {
    fn default() -> Self {
        Self {
            notice_after: 3,
            block_after: 4,
            doom_after: 8,
            blocked_max: 3,
            cycle_max: 5,
            polling_tools: Vec::new(),
            polling_commands: Vec::new(),
            alternations_max: 10,
            build_time_max_ms: 60 * 60 * 1000,
            stalled_passes: 4,
            challenges_max: 3,
            continuations_max: 3,
            completions_max: 100,
            retries_max: 6,
            compactions_max: 8,
            depth_max: 2,
            parallel_max: 16,
            prompt_tokens_max: 150_000,
            tell_after: 3,
            stuck_after: 5,
            returns_max: 2,
            same_failures_max: 12,
        }
    }
}

const KEYS: [&str; 22] = [
    "notice_after",
    "block_after",
    "doom_after",
    "blocked_max",
    "cycle_max",
    "polling_tools",
    "polling_commands",
    "alternations_max",
    "build_time_max",
    "stalled_passes",
    "challenges_max",
    "continuations_max",
    "completions_max",
    "retries_max",
    "compactions_max",
    "depth_max",
    "parallel_max",
    "prompt_tokens_max",
    "tell_after",
    "stuck_after",
    "returns_max",
    "same_failures_max",
];
/// Results of more calls would not fit into one value of a context.
const PARALLEL_MAX: u64 = 32;
/// The memory holds a cycle of five, fifty times.
const ROUNDS_MAX: u64 = 50;
const CYCLE_MAX: u64 = 5;

/// Limits that settings state, by key.
#[derive(Debug, Default)]
struct LimitsSoFar {
    counts: BTreeMap<String, u32>,
    build_time_max_ms: Option<u64>,
}

impl LimitsSoFar {
    /// Reduces the values that a section has just set to what outer sections allow.
    fn apply(&mut self, own: &mut LoopSettings, section: &SpannedValue) {
        for entry in section.entries().unwrap_or_default() {
            if entry.key == "build_time_max" {
                let outer = self.build_time_max_ms.unwrap_or(u64::MAX);
                own.build_time_max_ms = own.build_time_max_ms.min(outer);
                self.build_time_max_ms = Some(own.build_time_max_ms);
            } else if let Some(count) = own.count_mut(&entry.key) {
                let outer = self.counts.get(&entry.key).copied().unwrap_or(u32::MAX);
                *count = (*count).min(outer);
                self.counts.insert(entry.key.clone(), *count);
            }
        }
    }
}

/// A state's `loop` cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NarrowingError {
    /// The value is not a map; holds its type.
    #[error("`loop` of a state must be a map, not {0}")]
    NoMap(&'static str),
    /// The map has an unknown key; holds the key.
    #[error("`loop` of a state has no key `{0}`")]
    UnknownKey(String),
    /// A threshold has the wrong type; holds the key and the value.
    #[error("`{0}` of `loop` must be a whole number, a duration or an amount, not `{1}`")]
    NoNumber(String, String),
}

impl LoopSettings {
    /// Reads the project's and the user's settings, and returns all problems by file.
    pub fn of_settings(settings: &dyn SectionSource) -> (Self, Vec<(String, Vec<Finding>)>) {
        let mut own = Self::default();
        let mut problems = Vec::new();
        // Limits of the sections so far, the outermost first: each only narrows.
        let mut limits = LimitsSoFar::default();
        let sections: Vec<&Section> = settings.sections_of("loop");
        for section in sections.into_iter().rev() {
            let mut reader = SettingsReader::new(settings.environment_of());
            own.take(&mut reader, &section.document);
            limits.apply(&mut own, &section.document);
            if !reader.findings.is_empty() {
                problems.push((section.file.to_string(), reader.findings));
            }
        }
        (own, problems)
    }

    /// Applies one section over the current values.
    pub fn take(&mut self, reader: &mut SettingsReader<'_>, section: &SpannedValue) {
        for entry in reader.record(section, "`loop`", &KEYS) {
            self.take_entry(reader, entry);
        }
        if !(self.notice_after <= self.block_after && self.block_after <= self.doom_after) {
            let message = format!(
                "an agent is warned after {} rounds, blocked after {} and stopped after {}",
                self.notice_after, self.block_after, self.doom_after
            );
            reader.invalid(section.span, message, "`notice_after` ≤ `block_after` ≤ `doom_after`");
        }
    }

    fn take_entry(&mut self, reader: &mut SettingsReader<'_>, entry: &DocumentEntry) {
        let (at, what) = (&entry.value, format!("`{}` of `loop`", entry.key));
        let words = |reader: &mut SettingsReader<'_>| {
            reader.texts(at, &what).into_iter().map(|(text, _)| text.to_owned()).collect()
        };
        match entry.key.as_str() {
            "polling_tools" => self.polling_tools = words(reader),
            "polling_commands" => self.polling_commands = words(reader),
            "build_time_max" => {
                if let Some(time) = reader.duration(at, &what) {
                    self.build_time_max_ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
                }
            }
            key => {
                let (least, most) = bounds(key);
                let number = reader.whole(at, &what, least);
                if number.is_some_and(|number| number > most) {
                    reader.invalid(
                        at.span,
                        format!("{what} must be at most {most}"),
                        "write a smaller number",
                    );
                } else if let (Some(number), Some(own)) = (number, self.count_mut(key)) {
                    *own = u32::try_from(number).unwrap_or(u32::MAX);
                }
            }
        }
    }

    /// Returns the threshold of a key that is a plain count.
    fn count_mut(&mut self, key: &str) -> Option<&mut u32> {
        Some(match key {
            "notice_after" => &mut self.notice_after,
            "block_after" => &mut self.block_after,
            "doom_after" => &mut self.doom_after,
            "blocked_max" => &mut self.blocked_max,
            "cycle_max" => &mut self.cycle_max,
            "alternations_max" => &mut self.alternations_max,
            "stalled_passes" => &mut self.stalled_passes,
            "challenges_max" => &mut self.challenges_max,
            "continuations_max" => &mut self.continuations_max,
            "completions_max" => &mut self.completions_max,
            "retries_max" => &mut self.retries_max,
            "compactions_max" => &mut self.compactions_max,
            "depth_max" => &mut self.depth_max,
            "parallel_max" => &mut self.parallel_max,
            "prompt_tokens_max" => &mut self.prompt_tokens_max,
            "tell_after" => &mut self.tell_after,
            "stuck_after" => &mut self.stuck_after,
            "returns_max" => &mut self.returns_max,
            "same_failures_max" => &mut self.same_failures_max,
            _ => return None,
        })
    }

    /// Applies the `loop: {…}` of a chart's state, which can only narrow the limits. A larger number changes nothing;
    /// of polling patterns the intersection remains.
    pub fn narrowed(&self, state: &Value) -> Result<LoopSettings, NarrowingError> {
        let mut narrow = self.clone();
        if state.is_null() {
            return Ok(narrow);
        }
        let entries = state.as_map().ok_or_else(|| NarrowingError::NoMap(state.type_name()))?;
        for (key, value) in entries.iter() {
            narrow.narrow(key, value)?;
        }
        // A cycle must stay detectable for its own thresholds to apply.
        narrow.cycle_max = self.cycle_max;
        Ok(narrow)
    }

    fn narrow(&mut self, key: &str, value: &Value) -> Result<(), NarrowingError> {
        let wrong = || NarrowingError::NoNumber(key.to_owned(), value.to_string());
        let whole = || value.as_i64().and_then(|number| u64::try_from(number).ok()).ok_or_else(wrong);
        let time = || {
            parse_ms(&value.as_str().map_or_else(|| value.to_string(), str::to_owned)).map_err(|_| wrong())
        };
        match key {
            "polling_tools" => keep_common(&mut self.polling_tools, value),
            "polling_commands" => keep_common(&mut self.polling_commands, value),
            "build_time_max" => self.build_time_max_ms = self.build_time_max_ms.min(time()?),
            key => {
                let own = self.count_mut(key).ok_or_else(|| NarrowingError::UnknownKey(key.to_owned()))?;
                *own = (*own).min(u32::try_from(whole()?.max(bounds(key).0)).unwrap_or(u32::MAX));
            }
        }
        Ok(())
    }
}

/// Returns the valid range of a key.
fn bounds(key: &str) -> (u64, u64) {
    match key {
        "notice_after" | "block_after" | "doom_after" => (2, ROUNDS_MAX),
        "cycle_max" => (1, CYCLE_MAX),
        "parallel_max" => (1, PARALLEL_MAX),
        "challenges_max" | "continuations_max" | "retries_max" | "compactions_max" | "depth_max" => {
            (0, u64::from(u32::MAX))
        }
        _ => (1, u64::from(u32::MAX)),
    }
}

fn keep_common(own: &mut Vec<String>, value: &Value) {
    let named: Vec<&str> = value.as_list().unwrap_or_default().iter().filter_map(Value::as_str).collect();
    own.retain(|pattern| named.contains(&pattern.as_str()));
}
