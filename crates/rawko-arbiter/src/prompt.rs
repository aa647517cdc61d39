//! The arbiter's prompts: templates with `{placeholders}` and their values. Filled in one pass, so that braces inside a
//! value are kept.

use super::agents::AgentDescription;
use super::constraints::ConstraintContext;
use super::context::Orchestration;
use super::decision::DecisionKind;
use super::enabled::EnabledDecisions;
use super::error::{ErrorCategory, ErrorContext};
use super::history::{ExecutionSummary, SummaryError};
use super::input::{EvaluateProgressInput, SelectAgentInput};
use super::plan::PlanOverview;

/// The supported placeholders.
pub const PLACEHOLDERS: [&str; 11] = [
    "checks",
    "task",
    "plan",
    "agents",
    "history",
    "error",
    "last",
    "iteration",
    "maxIterations",
    "constraints",
    "decisions",
];

/// A prompt text with `{placeholders}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptTemplate(String);

pub(super) type PromptValues = Vec<(&'static str, String)>;

impl PromptTemplate {
    /// Creates a template; unknown placeholders are kept as text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Replaces every known placeholder, once. Other braces are kept.
    pub(super) fn fill(&self, values: &PromptValues) -> String {
        let mut filled = String::with_capacity(self.0.len());
        for piece in pieces(&self.0) {
            match piece {
                PromptPiece::Text(text) => filled.push_str(text),
                PromptPiece::Name { name, whole } => {
                    let value = values.iter().find(|(known, _)| *known == name);
                    filled.push_str(value.map_or(whole, |(_, value)| value));
                }
            }
        }
        filled
    }
}

/// Returns unknown placeholders, which are probably typos.
pub fn unknown_placeholders(template: &PromptTemplate) -> Vec<String> {
    let names = pieces(&template.0).into_iter().filter_map(|piece| match piece {
        PromptPiece::Name { name, .. } if !PLACEHOLDERS.contains(&name) => Some(name.to_owned()),
        PromptPiece::Name { .. } | PromptPiece::Text(_) => None,
    });
    names.collect()
}

enum PromptPiece<'t> {
    Text(&'t str),
    Name { name: &'t str, whole: &'t str },
}

/// Splits a template; `{name}` is a placeholder if it consists of letters only.
fn pieces(text: &str) -> Vec<PromptPiece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let (before, from) = rest.split_at(open);
        pieces.push(PromptPiece::Text(before));
        let name = from[1..].split_once('}').map(|(name, _)| name);
        match name.filter(|name| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphabetic())) {
            Some(name) => {
                let (whole, after) = from.split_at(name.len() + 2);
                pieces.push(PromptPiece::Name { name, whole });
                rest = after;
            }
            None => {
                pieces.push(PromptPiece::Text(&from[..1]));
                rest = &from[1..];
            }
        }
    }
    pieces.push(PromptPiece::Text(rest));
    pieces
}

pub(super) fn select_values(input: &SelectAgentInput, enabled: &EnabledDecisions) -> PromptValues {
    let mut values =
        common(&input.task, input.plan.as_ref(), &input.history, &input.available_agents, &input.constraints);
    values.push(("error", input.last_error.as_ref().map_or_else(|| "No recent errors".to_owned(), error)));
    values.push(("last", input.history.last().map_or_else(|| "Nothing".to_owned(), execution)));
    values.push(("decisions", decisions(enabled)));
    values
}

pub(super) fn evaluate_values(
    input: &EvaluateProgressInput,
    agents: &[AgentDescription],
    enabled: &EnabledDecisions,
) -> PromptValues {
    let mut values = common(&input.task, input.plan.as_ref(), &input.history, agents, &input.constraints);
    let last_agent = &input.last_execution.agent;
    let failed = input.last_execution.error.as_ref().map(|error| failure(last_agent, error));
    values.push(("error", failed.unwrap_or_else(|| "No recent errors".to_owned())));
    values.push(("last", last(&input.last_execution)));
    values.push(("decisions", decisions(enabled)));
    values
}

fn common(
    task: &str,
    plan: Option<&PlanOverview>,
    history: &[ExecutionSummary],
    agents: &[AgentDescription],
    constraints: &ConstraintContext,
) -> PromptValues {
    let listed =
        |texts: Vec<String>, none: &str| if texts.is_empty() { none.to_owned() } else { texts.join("\n\n") };
    vec![
        ("task", task.to_owned()),
        ("plan", plan.map_or_else(|| "No plan yet".to_owned(), progress)),
        ("history", listed(history.iter().map(execution).collect(), "Nothing yet")),
        ("agents", listed(agents.iter().map(agent).collect(), "None")),
        ("iteration", constraints.current_iteration.to_string()),
        ("maxIterations", constraints.max_iterations.to_string()),
        ("constraints", limits(constraints)),
    ]
}

fn agent(agent: &AgentDescription) -> String {
    let mut text =
        format!("- **{}** ({})\n    When to use: {}", agent.display_name, agent.name, agent.when_to_use);
    if let Some(seen) = &agent.recent_performance {
        text += &format!("\n    Success rate: {} %", seen.success_rate);
    }
    text
}

fn execution(entry: &ExecutionSummary) -> String {
    let output = entry.output.as_ref().map_or("N/A", |output| output.summary.as_str());
    let mut text = format!(
        "- **{}** (iteration {}): {}\n    Output: {output}\n    Duration: {}ms",
        entry.agent,
        entry.iteration,
        entry.status.as_str(),
        entry.duration_ms
    );
    if let Some(error) = &entry.error {
        text += &format!("\n    Error ({}): {}", error.category.as_str(), error.message);
    }
    text
}

/// Formats the execution being evaluated, with as much output as fits.
fn last(entry: &ExecutionSummary) -> String {
    let full = entry.output.as_ref().and_then(|output| output.full.as_deref()).unwrap_or("N/A");
    let files = entry.output.as_ref().and_then(|output| output.files_modified.as_ref());
    let mut text = format!(
        "**{}** (iteration {}): {}, {}ms",
        entry.agent,
        entry.iteration,
        entry.status.as_str(),
        entry.duration_ms
    );
    if let Some(files) = files {
        text += &format!("\nFiles modified: {}", files.join(", "));
    }
    if let Some(error) = &entry.error {
        text += &format!("\nError ({}): {}", error.category.as_str(), error.message);
        if !error.recovery_options.is_empty() {
            text += &format!("\nRecovery options:\n- {}", error.recovery_options.join("\n- "));
        }
    }
    text + "\nOutput:\n" + full
}

/// Formats the failure of the last execution for an evaluation.
fn failure(agent: &str, error: &SummaryError) -> String {
    error_lines(&error.message, error.category, agent, &error.recovery_options)
}

fn error(error: &ErrorContext) -> String {
    let options = error.recovery_options.iter();
    let options: Vec<String> =
        options.map(|option| format!("{}: {}", option.action.as_str(), option.description)).collect();
    error_lines(&error.message, error.category, &error.agent, &options)
}

fn error_lines(message: &str, category: ErrorCategory, agent: &str, options: &[String]) -> String {
    let category = category.as_str();
    let mut text = format!("**Error**: {message}\n   Category: {category}\n   Agent: {agent}");
    if !options.is_empty() {
        text += &format!("\n   Recovery options:\n   - {}", options.join("\n   - "));
    }
    text
}

fn progress(plan: &PlanOverview) -> String {
    let current = plan.current().map_or("N/A", |step| step.description.as_str());
    let place = (plan.current_step_index + 1).min(plan.steps.len());
    let mut text = format!("**Plan Progress**: Step {place} of {}\n   Current: {current}", plan.steps.len());
    for step in &plan.steps {
        let by = step.agent_used.as_ref().map(|agent| format!(" (by {agent})")).unwrap_or_default();
        text += &format!("\n   {}. [{}] {}{by}", step.index, step.status, step.description);
    }
    text
}

fn limits(constraints: &ConstraintContext) -> String {
    let remaining = constraints.estimated_time_remaining;
    let remaining = remaining.map_or_else(|| "unknown".to_owned(), |ms| format!("{ms}ms"));
    format!(
        "Consecutive failures: {} of {}. Elapsed: {}ms, estimated remaining: {remaining}. Tokens used: about {}.",
        constraints.consecutive_failures,
        constraints.max_consecutive_failures,
        constraints.time_elapsed_ms,
        constraints.estimated_tokens_used
    )
}

/// Formats the result of the checks and what follows from it.
pub(super) fn checks(context: &Orchestration) -> String {
    let mut text = match &context.evidence {
        None => "Not run yet".to_owned(),
        Some(evidence) if !evidence.verified => "The project has no checks".to_owned(),
        Some(evidence) if evidence.clean => format!("All checks pass.\n{}", evidence.text),
        Some(evidence) => {
            format!("Some checks fail, so COMPLETE is not possible.\n{}", evidence.text)
        }
    };
    let restored = context.evidence.iter().flat_map(|evidence| &evidence.restored);
    let restored: Vec<&str> = restored.map(String::as_str).collect();
    if !restored.is_empty() {
        text += &format!("\nRestored, because a check depends on them: {}", restored.join(", "));
    }
    if let Some(notice) = &context.notice {
        text += &format!("\n{notice}");
    }
    if let Some(answer) = &context.answer {
        text += &format!("\nA person was asked and answered: {answer}");
    }
    text
}

/// Lists the enabled decisions only.
fn decisions(enabled: &EnabledDecisions) -> String {
    let lines = enabled.kinds().into_iter().map(|kind| match kind {
        DecisionKind::SelectMode => format!(
            "- `{{\"type\": \"SELECT_MODE\", \"mode\": …, \"reason\": …}}`: run this agent next; `mode` is one of {}",
            enabled.modes.join(", ")
        ),
        DecisionKind::Continue => {
            let current = enabled.current.as_deref().unwrap_or_default();
            format!("- `{{\"type\": \"CONTINUE\", \"reason\": …}}`: {current} continues its work")
        }
        DecisionKind::Complete => {
            "- `{\"type\": \"COMPLETE\", \"reason\": …}`: the task is done; `reason` describes what was achieved".to_owned()
        }
        DecisionKind::Retry => {
            "- `{\"type\": \"RETRY\", \"reason\": …}`: the result is not acceptable; run the same agent again".to_owned()
        }
        DecisionKind::Skip => {
            "- `{\"type\": \"SKIP\", \"reason\": …}`: skip the current step of the plan".to_owned()
        }
        DecisionKind::Abort => {
            "- `{\"type\": \"ABORT\", \"reason\": …}`: stop; the task ends as failed".to_owned()
        }
        DecisionKind::Ask => {
            "- `{\"type\": \"ASK\", \"reason\": …}`: ask a person; `reason` is the question"
                .to_owned()
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_never_searched_for_placeholders() {
        let values: PromptValues =
            vec![("task", "use {plan} and {task} and $1".into()), ("plan", "{agents}".into())];
        let table = [
            ("{task}", "use {plan} and {task} and $1"),
            ("{plan}{plan}", "{agents}{agents}"),
            ("a {task", "a {task"),
            ("{ task }", "{ task }"),
            ("{{plan}}", "{{agents}}"),
            ("{\"json\": {plan}}", "{\"json\": {agents}}"),
            ("{nobody} {}", "{nobody} {}"),
            ("ä{plan}ö", "ä{agents}ö"),
        ];
        for (template, expected) in table {
            assert_eq!(PromptTemplate::new(template).fill(&values), expected, "{template}");
        }
    }

    #[test]
    fn slips_in_templates_are_found() {
        let unknown = unknown_placeholders(&PromptTemplate::new("{task} {taks} {\"x\": {plan}} {error}"));
        assert_eq!(unknown, ["taks"]);
        for text in [include_str!("select.md"), include_str!("evaluate.md")] {
            assert!(unknown_placeholders(&PromptTemplate::new(text)).is_empty());
        }
    }
}
