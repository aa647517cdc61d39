//! Decisions without a model: from the agent's structured verdict, a complete plan, or the declarations in the agents'
//! files. Prose is never interpreted.

use super::agents::AgentProfile;
use super::context::{EntryResult, ExecutionEntry, Orchestration};
use super::decide::{Case, Moment};
use super::decision::{ArbiterDecision, Decision, DecisionOrigin};
use super::enabled::EnabledDecisions;
use super::input::choosable;
use super::plan::Plan;

/// The value of an agent's `data.verdict`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AgentVerdict {
    Good,
    Bad,
    /// A verdict specific to the agent; its file may define it.
    Other,
    None,
}

pub(super) fn verdict(entry: &ExecutionEntry) -> AgentVerdict {
    match entry.verdict() {
        None => AgentVerdict::None,
        Some("passed" | "approved" | "success") => AgentVerdict::Good,
        Some("failed" | "rejected" | "failure") => AgentVerdict::Bad,
        Some(_) => AgentVerdict::Other,
    }
}

pub(super) fn ruled(case: &Case<'_>, enabled: &EnabledDecisions) -> Option<ArbiterDecision> {
    match case.moment {
        Moment::Select => selecting(case, enabled),
        Moment::Evaluate => evaluating(case, enabled),
    }
}

fn selecting(case: &Case<'_>, enabled: &EnabledDecisions) -> Option<ArbiterDecision> {
    if enabled.can_complete {
        return Some(complete(case.context));
    }
    let failed = case.context.last().filter(|entry| entry.result.is_failure());
    if let Some(decided) = failed.and_then(|entry| declared(case, enabled, entry)) {
        return Some(decided);
    }
    let [only] = enabled.modes.as_slice() else { return None };
    let decision = Decision::SelectMode { mode: only.clone(), reason: "there is no other agent".to_owned() };
    Some(by_rule(decision, Some(only.clone()), "only one agent can be chosen"))
}

/// A verdict defined in the agent's file has precedence, being the most specific; then the plan; then the file's
/// transitions for success, failure and limits.
fn evaluating(case: &Case<'_>, enabled: &EnabledDecisions) -> Option<ArbiterDecision> {
    let last = case.context.last()?;
    if let Some(decided) = custom(case, enabled, last) {
        return Some(decided);
    }
    let is_good = match verdict(last) {
        AgentVerdict::Good | AgentVerdict::None => true,
        AgentVerdict::Bad | AgentVerdict::Other => false,
    };
    if is_good && enabled.can_complete && Plan::of(&case.context.plan).is_some_and(|plan| plan.is_complete())
    {
        return Some(complete(case.context));
    }
    declared(case, enabled, last)
}

fn complete(context: &Orchestration) -> ArbiterDecision {
    let summary = context.last().and_then(said);
    let summary = summary.unwrap_or_else(|| "every step of the plan is settled".to_owned());
    by_rule(Decision::Complete { summary }, None, "the plan is complete")
}

/// Returns the agent's report, if any.
fn said(entry: &ExecutionEntry) -> Option<String> {
    entry.output.clone().filter(|text| !text.trim().is_empty())
}

fn profile<'a>(case: &Case<'a>, name: &str) -> Option<&'a AgentProfile> {
    choosable(case.context, case.agents).into_iter().find(|profile| profile.name == name)
}

fn custom(case: &Case<'_>, enabled: &EnabledDecisions, last: &ExecutionEntry) -> Option<ArbiterDecision> {
    let word = last.verdict()?;
    let target = profile(case, &last.agent)?.transitions.custom.get(word)?;
    let reason = format!("the agent {} declares where `{word}` leads", last.agent);
    towards(enabled, target, last, reason, &format!("{}.{word}", last.agent))
}

/// Follows the verdict if there is one, else the result of the execution. An undefined verdict is left to the model.
fn declared(case: &Case<'_>, enabled: &EnabledDecisions, last: &ExecutionEntry) -> Option<ArbiterDecision> {
    let transitions = &profile(case, &last.agent)?.transitions;
    let (name, target) = match (last.result, verdict(last)) {
        (EntryResult::Success, AgentVerdict::Good | AgentVerdict::None) => {
            ("onSuccess", &transitions.on_success)
        }
        (EntryResult::Success, AgentVerdict::Bad) => ("onFailure", &transitions.on_failure),
        (EntryResult::Failure | EntryResult::Timeout, _) => ("onFailure", &transitions.on_failure),
        (EntryResult::MaxIterations, _) => ("onMaxIterations", &transitions.on_max_iterations),
        (EntryResult::Success, AgentVerdict::Other) | (EntryResult::Cancelled, _) => return None,
    };
    let reason = format!("the agent {} declares {name}", last.agent);
    towards(enabled, target.as_deref()?, last, reason, &format!("{}.{name}", last.agent))
}

/// Converts a declared target to a decision, if it is enabled.
fn towards(
    enabled: &EnabledDecisions,
    target: &str,
    last: &ExecutionEntry,
    reason: String,
    why: &str,
) -> Option<ArbiterDecision> {
    let (decision, agent) = if target == "complete" {
        (Decision::Complete { summary: said(last).unwrap_or(reason) }, None)
    } else if enabled.can_continue && enabled.current.as_deref() == Some(target) {
        (Decision::Continue { reason }, Some(target.to_owned()))
    } else {
        (Decision::SelectMode { mode: target.to_owned(), reason }, Some(target.to_owned()))
    };
    enabled.allows(&decision).then(|| by_rule(decision, agent, why))
}

fn by_rule(decision: Decision, agent: Option<String>, why: &str) -> ArbiterDecision {
    ArbiterDecision { decision, agent, by: DecisionOrigin::Rule, why: why.to_owned() }
}
