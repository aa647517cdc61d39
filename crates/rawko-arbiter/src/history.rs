//! `ExecutionSummary`: an execution in short form for a prompt, and the selection of executions to show. In order, each
//! once, with older failures if there are many.

use rawko_core::Value;
use serde::Serialize;

use super::context::{EntryResult, ExecutionEntry};
use super::cut::{FULL_CHARS, HISTORY_CHARS, SUMMARY_CHARS, cut};
use super::error::{ErrorCategory, categorise};

/// With more failures than this among the latest entries, older ones are shown too.
const FAILURES_USUAL: usize = 2;
/// Limit of older failures.
const OLDER_FAILURES: usize = 5;

/// An execution in the arbiter's prompt.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExecutionSummary {
    /// Agent id.
    pub agent: String,
    /// Number of the iteration, counted from 1.
    pub iteration: u64,
    /// Outcome of the execution.
    pub status: EntryResult,
    /// Duration in milliseconds; 0 if a time is missing.
    #[serde(rename = "duration_ms")]
    pub duration_ms: u64,
    /// Output, shortened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputSummary>,
    /// Present if the execution failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<SummaryError>,
    /// Usage of the execution, if it was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<TokenUsage>,
    /// Start time in RFC 3339.
    pub started_at: String,
    /// End time in RFC 3339.
    pub completed_at: Option<String>,
}

/// The output of an execution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OutputSummary {
    /// Output, cut to the length that the prompt allows.
    pub summary: String,
    /// Whole output, for the last execution only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full: Option<String>,
    /// Changed files, relative to the project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files_modified: Option<Vec<String>>,
}

/// The error of an execution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SummaryError {
    /// Error message.
    pub message: String,
    /// Class of the error.
    pub category: ErrorCategory,
    /// Position of the plan's step, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<u64>,
    /// Tool whose call failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Ways to continue, one sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub recovery_options: Vec<String>,
}

/// Token usage of an execution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TokenUsage {
    /// Tokens sent to models.
    pub input: u64,
    /// Tokens received from models.
    pub output: u64,
    /// Sum of both.
    pub total: u64,
}

/// Returns the latest `most` entries; if many of them failed, also earlier failures, in chronological order.
pub(super) fn recent(history: &[ExecutionEntry], most: usize) -> Vec<ExecutionSummary> {
    let window = history.len().saturating_sub(most);
    let failing = history[window..].iter().filter(|entry| entry.result.is_failure()).count();
    let mut places: Vec<usize> = Vec::new();
    if failing > FAILURES_USUAL {
        let older = (0..window).rev().filter(|place| history[*place].result.is_failure());
        places = older.take(OLDER_FAILURES).collect();
        places.reverse();
    }
    places.extend(window..history.len());
    places.into_iter().map(|place| brief(&history[place], place)).collect()
}

/// Returns the short form for a history.
fn brief(entry: &ExecutionEntry, place: usize) -> ExecutionSummary {
    let output = entry.output.as_deref().filter(|text| !text.is_empty());
    summary(entry, place, output.map(|text| (cut(text, HISTORY_CHARS), None)), Vec::new())
}

/// Returns the full form for the execution being evaluated.
pub(super) fn in_full(
    entry: &ExecutionEntry,
    place: usize,
    recovery_options: Vec<String>,
) -> ExecutionSummary {
    let output = entry.output.as_deref().filter(|text| !text.is_empty());
    let output = output.map(|text| (cut(text, SUMMARY_CHARS), Some(cut(text, FULL_CHARS))));
    summary(entry, place, output, recovery_options)
}

fn summary(
    entry: &ExecutionEntry,
    place: usize,
    output: Option<(String, Option<String>)>,
    recovery_options: Vec<String>,
) -> ExecutionSummary {
    let files_modified = entry.files_modified.clone().filter(|files| !files.is_empty());
    let error = entry.error.as_ref().map(|error| {
        let details = error.details();
        SummaryError {
            category: categorise(&details),
            message: details.message.unwrap_or_default(),
            step: details.step,
            tool: details.tool,
            recovery_options,
        }
    });
    ExecutionSummary {
        agent: entry.agent.clone(),
        iteration: entry.iteration.unwrap_or(place as u64 + 1),
        status: entry.result,
        duration_ms: entry.duration_ms(),
        output: output.map(|(summary, full)| OutputSummary { summary, full, files_modified }),
        error,
        tokens: TokenUsage::of(&entry.token_usage),
        started_at: entry.started_at.clone(),
        completed_at: entry.completed_at.clone(),
    }
}

impl TokenUsage {
    /// Parses usage in the keys of providers or of the seed; `None` if tokens were not counted.
    pub(super) fn of(usage: &Value) -> Option<Self> {
        let number = |keys: [&str; 2]| {
            let found = keys.iter().find_map(|key| usage.get(key).as_i64());
            found.and_then(|number| u64::try_from(number).ok())
        };
        let (input, output) = (number(["input_tokens", "input"]), number(["output_tokens", "output"]));
        let total = number(["tokens", "total"]);
        if input.is_none() && output.is_none() && total.is_none() {
            return None;
        }
        let (input, output) = (input.unwrap_or(0), output.unwrap_or(0));
        Some(Self { input, output, total: total.unwrap_or(input + output) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One letter per entry: s(uccess), f(ailure), t(imeout), c(ancelled), m(ax iterations).
    fn history(letters: &str) -> Vec<ExecutionEntry> {
        let result = |letter| match letter {
            's' => "success",
            'f' => "failure",
            't' => "timeout",
            'c' => "cancelled",
            _ => "max_iterations",
        };
        let entry = |letter| {
            let text = format!(
                r#"{{"agent":"a","startedAt":"2026-01-01T00:00:00Z","completedAt":"2026-01-01T00:00:02Z","result":"{}"}}"#,
                result(letter)
            );
            serde_json::from_str(&text).unwrap()
        };
        letters.chars().map(entry).collect()
    }

    #[test]
    fn which_entries_are_shown() {
        let table: [(&str, &str, usize, &[u64]); 8] = [
            ("nothing", "", 5, &[]),
            ("all, when there are few", "sfs", 5, &[1, 2, 3]),
            ("the latest", "sssssss", 5, &[3, 4, 5, 6, 7]),
            ("two failures are usual", "fssfsfs", 5, &[3, 4, 5, 6, 7]),
            ("with three, older ones too", "fsfsfff", 4, &[1, 3, 4, 5, 6, 7]),
            ("a timeout is a failure", "fsttft", 3, &[1, 3, 4, 5, 6]),
            ("being stopped is none", "fsccc", 3, &[3, 4, 5]),
            ("five older ones at most, the latest of them", "fffffffff", 3, &[2, 3, 4, 5, 6, 7, 8, 9]),
        ];
        for (name, letters, most, expected) in table {
            let shown: Vec<u64> =
                recent(&history(letters), most).iter().map(|entry| entry.iteration).collect();
            assert_eq!(shown, expected, "{name}");
        }
    }

    #[test]
    fn tokens_are_read_in_both_forms() {
        let table = [
            (r#"{"input_tokens":2,"output_tokens":3}"#, Some((2, 3, 5))),
            (r#"{"input":2,"output":3,"total":9}"#, Some((2, 3, 9))),
            (r#"{"tokens":7}"#, Some((0, 0, 7))),
            ("{}", None),
            ("null", None),
        ];
        for (usage, expected) in table {
            let tokens = TokenUsage::of(&serde_json::from_str(usage).unwrap());
            assert_eq!(tokens.map(|tokens| (tokens.input, tokens.output, tokens.total)), expected, "{usage}");
        }
    }
}
