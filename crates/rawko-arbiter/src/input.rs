//! `SelectAgentInput` and `EvaluateProgressInput`: the exact input of the arbiter, as specified in SPEC-0006.

use serde::Serialize;

use super::agents::{AgentDescription, AgentProfile, describe};
use super::constraints::{ConstraintContext, constraints};
use super::context::{ContextError, Orchestration};
use super::error::{ErrorContext, error_context, recovery_options};
use super::history::{ExecutionSummary, in_full, recent};
use super::plan::{Plan, PlanOverview};

/// Number of executions in a selection's input.
const SELECT_HISTORY: usize = 10;
/// Number of executions in an evaluation's input.
const EVALUATE_HISTORY: usize = 5;

/// Input in the state `selecting`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SelectAgentInput {
    /// Task text as the person wrote it.
    pub task: String,
    /// The plan; `None` before one was made.
    pub plan: Option<PlanOverview>,
    /// Executions to show, oldest first.
    pub history: Vec<ExecutionSummary>,
    /// The last failure, until an agent succeeds.
    pub last_error: Option<ErrorContext>,
    /// Agents that may be selected.
    pub available_agents: Vec<AgentDescription>,
    /// Limits and their use.
    pub constraints: ConstraintContext,
}

/// Input in the state `evaluating`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EvaluateProgressInput {
    /// Task text as the person wrote it.
    pub task: String,
    /// The plan; `None` before one was made.
    pub plan: Option<PlanOverview>,
    /// The execution to judge.
    pub last_execution: ExecutionSummary,
    /// Earlier executions to show, oldest first.
    pub history: Vec<ExecutionSummary>,
    /// Limits and their use.
    pub constraints: ConstraintContext,
}

/// `agents`: the selectable agents in the project's order; `now_ms`: since 1970.
pub fn select_agent_input(context: &Orchestration, agents: &[AgentProfile], now_ms: i64) -> SelectAgentInput {
    let plan = Plan::of(&context.plan);
    let agents = choosable(context, agents);
    let available = agents.iter().map(|profile| describe(profile, &context.history)).collect();
    SelectAgentInput {
        task: context.task.clone(),
        last_error: error_context(context, plan.as_ref(), agents.len() > 1),
        constraints: constraints(context, plan.as_ref(), now_ms),
        history: recent(&context.history, SELECT_HISTORY),
        available_agents: available,
        plan: plan.as_ref().map(Plan::overview),
    }
}

/// Builds the input of `evaluating`. Fails if no agent has run yet.
pub fn evaluate_progress_input(
    context: &Orchestration,
    agents: &[AgentProfile],
    now_ms: i64,
) -> Result<EvaluateProgressInput, ContextError> {
    let plan = Plan::of(&context.plan);
    let last = context.last().ok_or(ContextError::NothingDone)?;
    let others = choosable(context, agents).len() > 1;
    let has_step = plan.as_ref().and_then(Plan::current).is_some();
    let options = last.error.as_ref().map(|error| recovery_options(&error.details(), has_step, others));
    let options = options.unwrap_or_default().into_iter().map(|option| option.description).collect();
    Ok(EvaluateProgressInput {
        task: context.task.clone(),
        last_execution: in_full(last, context.history.len() - 1, options),
        history: recent(&context.history, EVALUATE_HISTORY),
        constraints: constraints(context, plan.as_ref(), now_ms),
        plan: plan.as_ref().map(Plan::overview),
    })
}

/// Returns the agents that the task may use.
pub(super) fn choosable<'a>(context: &Orchestration, agents: &'a [AgentProfile]) -> Vec<&'a AgentProfile> {
    let allowed =
        |profile: &&AgentProfile| context.agents.as_ref().is_none_or(|names| names.contains(&profile.name));
    agents.iter().filter(allowed).collect()
}
