//! `ConstraintContext`: the remaining limits. Everything is computed from recorded data; an unknown value is null
//! rather than a guess.

use rawko_core::Value;
use serde::Serialize;

use super::context::{EntryResult, ExecutionEntry, Orchestration, millis};
use super::history::TokenUsage;
use super::plan::Plan;

/// Estimated characters per token, where tokens were not counted.
const CHARS_PER_TOKEN: u64 = 4;

/// The limits of a task and their use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConstraintContext {
    /// Limit on iterations of the task.
    pub max_iterations: u64,
    /// The iteration being decided: one more than were started.
    pub current_iteration: u64,
    /// Number of iterations that could follow it.
    pub iterations_remaining: u64,
    /// Failures since the last success.
    pub consecutive_failures: u64,
    /// Failures in a row that end the task.
    pub max_consecutive_failures: u64,
    /// Tokens of all models in this task so far.
    pub estimated_tokens_used: u64,
    /// Time since the start of the task, in milliseconds.
    pub time_elapsed_ms: u64,
    /// Milliseconds; null without a basis for an estimate.
    pub estimated_time_remaining: Option<u64>,
}

pub(super) fn constraints(context: &Orchestration, plan: Option<&Plan>, now_ms: i64) -> ConstraintContext {
    let current_iteration = (context.iteration_count + 1).min(context.max_iterations);
    let time_elapsed_ms = elapsed_ms(context, now_ms);
    ConstraintContext {
        max_iterations: context.max_iterations,
        current_iteration,
        iterations_remaining: context.max_iterations - current_iteration,
        consecutive_failures: context.consecutive_failures,
        max_consecutive_failures: context.max_failures,
        estimated_tokens_used: tokens_used(context),
        time_elapsed_ms,
        estimated_time_remaining: time_remaining(context, plan, time_elapsed_ms),
    }
}

fn elapsed_ms(context: &Orchestration, now_ms: i64) -> u64 {
    let start = context.started_at.as_deref().and_then(millis);
    start.and_then(|start| u64::try_from(now_ms - start).ok()).unwrap_or(0)
}

/// Sums the tokens agents reported; for those without a report, estimates from the length of their conversation.
fn tokens_used(context: &Orchestration) -> u64 {
    let counted = context.history.iter().filter_map(|entry| TokenUsage::of(&entry.token_usage));
    let counted: u64 = counted.map(|tokens| tokens.total).sum();
    let mut silent: Vec<&str> =
        context.history.iter().filter(|entry| is_silent(entry)).map(|e| e.agent.as_str()).collect();
    silent.sort_unstable();
    silent.dedup();
    let chars: u64 = silent.into_iter().map(|agent| chars_in(context.sessions.get(agent))).sum();
    counted + chars / CHARS_PER_TOKEN
}

fn is_silent(entry: &ExecutionEntry) -> bool {
    TokenUsage::of(&entry.token_usage).is_none()
}

/// Counts the characters of all texts in a value.
fn chars_in(value: &Value) -> u64 {
    match value {
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => 0,
        Value::Str(text) => text.chars().count() as u64,
        Value::List(items) => items.iter().map(chars_in).sum(),
        Value::Map(map) => map.values().map(chars_in).sum(),
    }
}

/// Estimates the open steps at the pace of the settled ones, capped by the time limit. Without a plan the amount of
/// work is unknown, and only the time limit counts.
fn time_remaining(context: &Orchestration, plan: Option<&Plan>, elapsed_ms: u64) -> Option<u64> {
    let left = context.timeout_ms.map(|limit| limit.saturating_sub(elapsed_ms));
    let estimate = plan.and_then(|plan| at_this_pace(context, plan));
    match (estimate, left) {
        (Some(estimate), Some(left)) => Some(estimate.min(left)),
        (estimate, left) => estimate.or(left),
    }
}

/// Multiplies the average time per settled step, over all executions, by the number of open steps.
fn at_this_pace(context: &Orchestration, plan: &Plan) -> Option<u64> {
    if plan.steps.is_empty() {
        return None;
    }
    let open = (plan.steps.len() - plan.settled()) as u64;
    let worked: Vec<u64> =
        context.history.iter().filter(|entry| counts(entry)).map(ExecutionEntry::duration_ms).collect();
    if open > 0 && worked.is_empty() {
        return None;
    }
    let spent: u64 = worked.iter().sum();
    let pieces = if plan.settled() > 0 { plan.settled() as u64 } else { worked.len() as u64 };
    Some(spent.checked_div(pieces).unwrap_or(0) * open)
}

/// An execution stopped by a person is no measure of pace.
fn counts(entry: &ExecutionEntry) -> bool {
    match entry.result {
        EntryResult::Cancelled => false,
        EntryResult::Success | EntryResult::Failure | EntryResult::Timeout | EntryResult::MaxIterations => {
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(text: &str) -> Orchestration {
        serde_json::from_str(text).unwrap()
    }

    fn entry(agent: &str, seconds: u32, usage: &str) -> String {
        format!(
            r#"{{"agent":"{agent}","startedAt":"2026-01-01T00:00:00Z","completedAt":"2026-01-01T00:00:{seconds:02}Z","result":"success","tokenUsage":{usage}}}"#
        )
    }

    #[test]
    fn iterations_count_the_one_that_is_decided_about() {
        let table = [(0, 50, 1, 49), (3, 50, 4, 46), (49, 50, 50, 0), (50, 50, 50, 0), (0, 0, 0, 0)];
        for (count, max, current, remaining) in table {
            let context = context(&format!(r#"{{"iterationCount":{count},"maxIterations":{max}}}"#));
            let seen = constraints(&context, None, 0);
            assert_eq!(
                (seen.current_iteration, seen.iterations_remaining),
                (current, remaining),
                "{count} of {max}"
            );
        }
    }

    #[test]
    fn tokens_are_counted_where_they_are_known_and_estimated_where_not() {
        let known = entry("dev", 1, r#"{"input_tokens":100,"output_tokens":20}"#);
        let silent = entry("acp", 1, "null");
        let sessions = r#"{"acp":[{"role":"user","parts":[{"type":"text","text":"12345678"}]}],"dev":["x"]}"#;
        let context = context(&format!(r#"{{"history":[{known},{silent},{silent}],"sessions":{sessions}}}"#));
        // "user" + "text" + "12345678" are 16 characters; the counted agent's conversation is not counted again.
        assert_eq!(tokens_used(&context), 120 + 4);
    }

    #[test]
    fn the_time_that_remains_is_what_settled_steps_took_or_unknown() {
        let plan = |statuses: &[&str]| {
            let steps: Vec<String> =
                statuses.iter().map(|s| format!(r#"{{"title":"x","status":"{s}"}}"#)).collect();
            Plan::of(&serde_json::from_str(&format!(r#"{{"steps":[{}]}}"#, steps.join(","))).unwrap())
        };
        let work = format!("{},{}", entry("a", 10, "null"), entry("b", 20, "null"));
        let table = [
            ("no plan, no limit", None, work.as_str(), "null", None),
            ("no plan, a limit", None, work.as_str(), "60000", Some(55_000)),
            ("nothing done yet", plan(&["pending"]), "", "null", None),
            (
                "30 s for one step, two to go",
                plan(&["done", "pending", "pending"]),
                work.as_str(),
                "null",
                Some(60_000),
            ),
            (
                "no step settled: by pieces of work",
                plan(&["pending", "pending"]),
                work.as_str(),
                "null",
                Some(30_000),
            ),
            ("never more than is left", plan(&["done", "pending"]), work.as_str(), "15000", Some(10_000)),
            ("nothing left to do", plan(&["done"]), work.as_str(), "null", Some(0)),
        ];
        for (name, plan, history, limit, expected) in table {
            let text = format!(
                r#"{{"startedAt":"1970-01-01T00:00:00Z","history":[{history}],"timeoutMs":{limit}}}"#
            );
            let seen = constraints(&context(&text), plan.as_ref(), 5_000);
            assert_eq!(seen.estimated_time_remaining, expected, "{name}");
            assert_eq!(seen.time_elapsed_ms, 5_000);
        }
    }
}
