//! What is decided without asking anybody: by the agent's own structured verdict, by a plan that is complete, by what
//! the agents' files declare. Nothing is read out of prose.

use super::agents::AgentProfile;
use super::context::{EntryResult, ExecutionEntry, Orchestration};
use super::decide::{Case, Moment};
use super::decision::{By, Decided, Decision};
use super::enabled::Enabled;
use super::input::choosable;
use super::plan::Plan;

/// What an agent's `data.verdict` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Good,
    Bad,
    /// A word that is nobody's but the agent's; its file may say what it means.
    Other,
    None,
}

pub(super) fn verdict(entry: &ExecutionEntry) -> Verdict {
    match entry.verdict() {
        None => Verdict::None,
        Some("passed" | "approved" | "success") => Verdict::Good,
        Some("failed" | "rejected" | "failure") => Verdict::Bad,
        Some(_) => Verdict::Other,
    }
}

pub(super) fn ruled(case: &Case<'_>, enabled: &Enabled) -> Option<Decided> {
    match case.moment {
        Moment::Select => selecting(case, enabled),
        Moment::Evaluate => evaluating(case, enabled),
    }
}

fn selecting(case: &Case<'_>, enabled: &Enabled) -> Option<Decided> {
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

/// A word that the agent's file gives a meaning to goes first, being the most particular; then the plan; then what the
/// file says of success, failure and limits.
fn evaluating(case: &Case<'_>, enabled: &Enabled) -> Option<Decided> {
    let last = case.context.last()?;
    if let Some(decided) = custom(case, enabled, last) {
        return Some(decided);
    }
    let is_good = match verdict(last) {
        Verdict::Good | Verdict::None => true,
        Verdict::Bad | Verdict::Other => false,
    };
    if is_good && enabled.can_complete && Plan::of(&case.context.plan).is_some_and(|plan| plan.is_complete) {
        return Some(complete(case.context));
    }
    declared(case, enabled, last)
}

fn complete(context: &Orchestration) -> Decided {
    let summary = context.last().and_then(said);
    let summary = summary.unwrap_or_else(|| "every step of the plan is settled".to_owned());
    by_rule(Decision::Complete { summary }, None, "the plan is complete")
}

/// What an agent reported, if it did.
fn said(entry: &ExecutionEntry) -> Option<String> {
    entry.output.clone().filter(|text| !text.trim().is_empty())
}

fn profile<'a>(case: &Case<'a>, name: &str) -> Option<&'a AgentProfile> {
    choosable(case.context, case.agents).into_iter().find(|profile| profile.name == name)
}

fn custom(case: &Case<'_>, enabled: &Enabled, last: &ExecutionEntry) -> Option<Decided> {
    let word = last.verdict()?;
    let target = profile(case, &last.agent)?.transitions.custom.get(word)?;
    let reason = format!("the agent {} declares where `{word}` leads", last.agent);
    towards(enabled, target, last, reason, &format!("{}.{word}", last.agent))
}

/// By the verdict where there is one, else by how the work ended. A word nobody explained is left to the model.
fn declared(case: &Case<'_>, enabled: &Enabled, last: &ExecutionEntry) -> Option<Decided> {
    let transitions = &profile(case, &last.agent)?.transitions;
    let (name, target) = match (last.result, verdict(last)) {
        (EntryResult::Success, Verdict::Good | Verdict::None) => ("onSuccess", &transitions.on_success),
        (EntryResult::Success, Verdict::Bad) => ("onFailure", &transitions.on_failure),
        (EntryResult::Failure | EntryResult::Timeout, _) => ("onFailure", &transitions.on_failure),
        (EntryResult::MaxIterations, _) => ("onMaxIterations", &transitions.on_max_iterations),
        (EntryResult::Success, Verdict::Other) | (EntryResult::Cancelled, _) => return None,
    };
    let reason = format!("the agent {} declares {name}", last.agent);
    towards(enabled, target.as_deref()?, last, reason, &format!("{}.{name}", last.agent))
}

/// A declared target as a decision, if that is enabled.
fn towards(
    enabled: &Enabled,
    target: &str,
    last: &ExecutionEntry,
    reason: String,
    why: &str,
) -> Option<Decided> {
    let (decision, agent) = if target == "complete" {
        (Decision::Complete { summary: said(last).unwrap_or(reason) }, None)
    } else if enabled.can_continue && enabled.current.as_deref() == Some(target) {
        (Decision::Continue { reason }, Some(target.to_owned()))
    } else {
        (Decision::SelectMode { mode: target.to_owned(), reason }, Some(target.to_owned()))
    };
    enabled.allows(&decision).then(|| by_rule(decision, agent, why))
}

fn by_rule(decision: Decision, agent: Option<String>, why: &str) -> Decided {
    Decided { decision, agent, by: By::Rule, why: why.to_owned() }
}
