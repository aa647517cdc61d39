//! `Enabled`: the decisions possible under the chart's guards, and the JSON Schema that describes them to a model.

use serde_json::{Value as Json, json};

use super::context::{EntryResult, Orchestration};
use super::decide::{Case, Moment};
use super::decision::{Decision, Kind};
use super::input::choosable;
use super::plan::Plan;
use super::rules::{Verdict, verdict};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Enabled {
    /// The agents that SELECT_MODE may name; if empty, SELECT_MODE is disabled.
    pub modes: Vec<String>,
    /// The agent that CONTINUE, or RETRY while selecting, runs.
    pub current: Option<String>,
    pub can_continue: bool,
    pub can_retry: bool,
    pub can_complete: bool,
}

impl Enabled {
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
            can_complete: !failed && !was_retry && is_plan_complete(context),
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
            can_complete: succeeded,
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
        }
    }

    /// Returns the enabled kinds, in a fixed order.
    pub fn kinds(&self) -> Vec<Kind> {
        let all = [
            (Kind::SelectMode, !self.modes.is_empty()),
            (Kind::Continue, self.can_continue),
            (Kind::Complete, self.can_complete),
            (Kind::Retry, self.can_retry),
        ];
        all.into_iter().filter(|(_, enabled)| *enabled).map(|(kind, _)| kind).collect()
    }

    /// Returns a flat object schema with every key required, which every provider's structured output accepts. The rule
    /// that `mode` belongs to SELECT_MODE is checked when the response is parsed.
    pub fn schema(&self) -> Json {
        let kinds: Vec<&str> = self.kinds().into_iter().map(Kind::as_str).collect();
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
        let reason = "why, in one sentence; for COMPLETE, what was achieved";
        properties.insert("reason".into(), json!({"type": "string", "description": reason}));
        let required: Vec<&String> = properties.keys().collect();
        let required = json!(required);
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
    }
}

fn is_plan_complete(context: &Orchestration) -> bool {
    let contradicted = context.last().is_some_and(|entry| match verdict(entry) {
        Verdict::Bad | Verdict::Other => true,
        Verdict::Good | Verdict::None => false,
    });
    !contradicted && Plan::of(&context.plan).is_some_and(|plan| plan.is_complete)
}
