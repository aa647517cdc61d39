//! The fallback decision, if no rule applies and no response is usable. It is declared, deterministic and never
//! violates a guard: without a plan the planner, after an error the same agent again, else the default agent. It never
//! completes a task.

use super::context::EntryResult;
use super::decide::{Case, Moment};
use super::decision::{ArbiterDecision, Decision, DecisionOrigin};
use super::enabled::EnabledDecisions;
use super::plan::Plan;

/// Returns `None` only if no agent can be selected.
pub(super) fn fallback(case: &Case<'_>, enabled: &EnabledDecisions) -> Option<ArbiterDecision> {
    no_plan(case, enabled)
        .or_else(|| error(case, enabled))
        .or_else(|| agent(enabled, usual(case, enabled)?, "it is the default agent"))
        .or_else(|| last_resort(case, enabled))
}

fn no_plan(case: &Case<'_>, enabled: &EnabledDecisions) -> Option<ArbiterDecision> {
    let planner = case.settings.planner.as_str();
    // A planner that has already run without leaving a plan is not selected again: the work has to start.
    let was_asked =
        case.context.last().is_some_and(|last| last.agent == planner && last.result == EntryResult::Success);
    if Plan::of(&case.context.plan).is_some() || was_asked {
        return None;
    }
    agent(enabled, planner, "there is no plan")
}

fn error(case: &Case<'_>, enabled: &EnabledDecisions) -> Option<ArbiterDecision> {
    let failed = case.context.last().is_some_and(|entry| entry.result != EntryResult::Success);
    if !failed || !enabled.can_retry {
        return None;
    }
    let decision = Decision::Retry { reason: "the last attempt did not succeed".to_owned() };
    let agent = match case.moment {
        Moment::Select => enabled.current.clone(),
        Moment::Evaluate => None,
    };
    Some(decided(decision, agent))
}

/// Returns the default agent of the settings, else the first one that is not the planner.
fn usual<'c>(case: &Case<'c>, enabled: &'c EnabledDecisions) -> Option<&'c str> {
    let wanted = case.settings.fallback_agent.as_deref();
    let known = |name: &&str| {
        enabled.modes.iter().any(|mode| mode == name) || enabled.current.as_deref() == Some(*name)
    };
    let names = || case.agents.iter().map(|profile| profile.name.as_str()).filter(known);
    let first = || names().find(|name| *name != case.settings.planner).or_else(|| names().next());
    wanted.filter(known).or_else(first)
}

/// Selects an agent by whichever decision is enabled.
fn agent(enabled: &EnabledDecisions, name: &str, reason: &str) -> Option<ArbiterDecision> {
    let reason = reason.to_owned();
    let decision = if enabled.can_continue && enabled.current.as_deref() == Some(name) {
        Decision::Continue { reason }
    } else {
        Decision::SelectMode { mode: name.to_owned(), reason }
    };
    enabled.allows(&decision).then(|| decided(decision, Some(name.to_owned())))
}

/// RETRY is always safe while evaluating: the chart checks its cap first.
fn last_resort(case: &Case<'_>, enabled: &EnabledDecisions) -> Option<ArbiterDecision> {
    match case.moment {
        Moment::Select => None,
        Moment::Evaluate if enabled.can_continue => {
            let reason = "there is more to do".to_owned();
            Some(decided(Decision::Continue { reason }, enabled.current.clone()))
        }
        Moment::Evaluate => Some(decided(Decision::Retry { reason: "there is more to do".to_owned() }, None)),
    }
}

fn decided(decision: Decision, agent: Option<String>) -> ArbiterDecision {
    let why = "no rule applies, and no answer could be used".to_owned();
    ArbiterDecision { decision, agent, by: DecisionOrigin::Fallback, why }
}
