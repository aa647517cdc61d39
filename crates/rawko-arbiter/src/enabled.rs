//! `EnabledDecisions`: the decisions possible under the chart's guards, and the JSON Schema that describes them to a model.

use serde_json::{Value as Json, json};

use super::context::{EntryResult, Orchestration};
use super::decide::{Case, Moment};
use super::decision::{Decision, DecisionKind};
use super::input::choosable;
use super::plan::Plan;
use super::rules::{AgentVerdict, verdict};

/// The decisions that are possible now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnabledDecisions {
    /// The agents that SELECT_MODE may name; if empty, SELECT_MODE is disabled.
    pub modes: Vec<String>,
    /// The agent that CONTINUE, or RETRY while selecting, runs.
    pub current: Option<String>,
    /// The same agent may run again without a failure in between.
    pub can_continue: bool,
    /// The last execution may be repeated.
    pub can_retry: bool,
    /// The task may end with success.
    pub can_complete: bool,
    /// The plan has a step that can be left out.
    pub can_skip: bool,
    /// Something went wrong, so that giving up is a choice.
    pub can_abort: bool,
    /// A person may be asked.
    pub can_ask: bool,
}

impl EnabledDecisions {
    pub(super) fn of(case: &Case<'_>) -> Self {
        let names: Vec<String> =
            choosable(case.context, case.agents).into_iter().map(|profile| profile.name.clone()).collect();
        let current = case.context.current().filter(|current| names.iter().any(|name| name == current));
        let current = current.map(str::to_owned);
        match case.moment {
            Moment::Select => Self::selecting(case.context, names, current),
            Moment::Evaluate => Self::evaluating(case.context, names, current),
        }
    }

    fn selecting(context: &Orchestration, modes: Vec<String>, current: Option<String>) -> Self {
        let failed = context.last().is_some_and(|entry| entry.result != EntryResult::Success);
        let was_retry = context.last_arbiter_decision.get("type").as_str() == Some("RETRY");
        Self {
            can_continue: false,
            can_retry: current.is_some() && (failed || was_retry),
            can_complete: !failed && !was_retry && context.is_clean() && is_plan_complete(context),
            can_skip: has_step(context),
            can_abort: has_trouble(context),
            can_ask: may_ask(context),
            modes,
            current,
        }
    }

    /// Returns the decisions enabled while evaluating. At the iteration cap the task stops after any decision; the
    /// selected agent runs first if the cap is raised.
    fn evaluating(context: &Orchestration, names: Vec<String>, current: Option<String>) -> Self {
        let succeeded = context.last().is_some_and(|entry| entry.result == EntryResult::Success);
        let others = names.into_iter().filter(|name| Some(name) != current.as_ref());
        Self {
            modes: others.collect(),
            can_continue: current.is_some(),
            can_retry: !context.is_at_cap(),
            can_complete: succeeded && context.is_clean(),
            can_skip: has_step(context),
            can_abort: has_trouble(context),
            can_ask: may_ask(context),
            current,
        }
    }

    /// Returns true if the chart's guards accept this decision.
    pub fn allows(&self, decision: &Decision) -> bool {
        match decision {
            Decision::SelectMode { mode, .. } => self.modes.contains(mode),
            Decision::Continue { .. } => self.can_continue,
            Decision::Complete { .. } => self.can_complete,
            Decision::Retry { .. } => self.can_retry,
            Decision::Skip { .. } => self.can_skip,
            Decision::Abort { .. } => self.can_abort,
            Decision::Ask { .. } => self.can_ask,
        }
    }

    /// Returns the enabled kinds, in a fixed order.
    pub fn kinds(&self) -> Vec<DecisionKind> {
        let all = [
            (DecisionKind::SelectMode, !self.modes.is_empty()),
            (DecisionKind::Continue, self.can_continue),
            (DecisionKind::Complete, self.can_complete),
            (DecisionKind::Retry, self.can_retry),
            (DecisionKind::Skip, self.can_skip),
            (DecisionKind::Abort, self.can_abort),
            (DecisionKind::Ask, self.can_ask),
        ];
        all.into_iter().filter(|(_, enabled)| *enabled).map(|(kind, _)| kind).collect()
    }

    /// Returns a flat object schema with every key required, which every provider's structured output accepts. The rule
    /// that `mode` belongs to SELECT_MODE is checked when the response is parsed.
    pub fn schema(&self) -> Json {
        let kinds: Vec<&str> = self.kinds().into_iter().map(DecisionKind::as_str).collect();
        let mut properties = serde_json::Map::new();
        properties.insert("type".into(), json!({"type": "string", "enum": kinds}));
        if !self.modes.is_empty() {
            let mut modes: Vec<Json> = self.modes.iter().map(|mode| mode.as_str().into()).collect();
            modes.push(Json::Null);
            let description = "the agent, for SELECT_MODE; otherwise null";
            properties.insert(
                "mode".into(),
                json!({"type": ["string", "null"], "enum": modes, "description": description}),
            );
        }
        let reason = "why, in one sentence; for COMPLETE, what was achieved; for ASK, the question";
        properties.insert("reason".into(), json!({"type": "string", "description": reason}));
        let required: Vec<&String> = properties.keys().collect();
        let required = json!(required);
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
    }
}

/// A model that asks instead of deciding is stopped.
const QUESTIONS_MAX: u64 = 3;

fn may_ask(context: &Orchestration) -> bool {
    context.asked < QUESTIONS_MAX
}

/// Returns true after a failure, with failing checks, or without progress.
fn has_trouble(context: &Orchestration) -> bool {
    let failed = context.last().is_some_and(|entry| entry.result != EntryResult::Success);
    failed || context.last_error.is_some() || !context.is_clean() || context.notice.is_some()
}

fn has_step(context: &Orchestration) -> bool {
    Plan::of(&context.plan).is_some_and(|plan| plan.current().is_some())
}

fn is_plan_complete(context: &Orchestration) -> bool {
    let contradicted = context.last().is_some_and(|entry| match verdict(entry) {
        AgentVerdict::Bad | AgentVerdict::Other => true,
        AgentVerdict::Good | AgentVerdict::None => false,
    });
    !contradicted && Plan::of(&context.plan).is_some_and(|plan| plan.is_complete())
}
