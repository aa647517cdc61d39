//! `Plan`: the plan as the arbiter sees it, in the seed's shape, converted from any shape that agents store. The plan
//! tools write steps with ids and titles; the seed's have positions and descriptions.

use rawko_core::Value;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    pub steps: Vec<PlanStep>,
    /// Counted from 0; equal to the number of steps if none is left.
    pub current_step_index: usize,
    pub is_complete: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanStep {
    /// Counted from 1.
    pub index: u64,
    pub description: String,
    pub status: StepStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_used: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub acceptance: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    #[default]
    Pending,
    InProgress,
    #[serde(alias = "done")]
    Complete,
    Failed,
    Skipped,
}

impl Plan {
    /// Returns `None` if there is no plan. A plan without steps is still a plan.
    pub fn of(value: &Value) -> Option<Self> {
        let steps = value.get("steps").as_list();
        if value.as_map().is_none() || (steps.is_none() && value.get("currentStepIndex").is_null()) {
            return None;
        }
        let steps: Vec<PlanStep> = steps
            .unwrap_or_default()
            .iter()
            .zip(1..)
            .map(|(step, place)| PlanStep::of(step, place))
            .collect();
        let given = value.get("currentStepIndex").as_i64().and_then(|index| usize::try_from(index).ok());
        let current_step_index = if steps.is_empty() { given.unwrap_or(0) } else { current(&steps) };
        let is_complete = if steps.is_empty() {
            value.get("isComplete").as_bool().unwrap_or(false)
        } else {
            steps.iter().all(|step| step.status.is_settled())
        };
        Some(Self { steps, current_step_index, is_complete })
    }

    pub fn current(&self) -> Option<&PlanStep> {
        self.steps.get(self.current_step_index)
    }

    pub(super) fn settled(&self) -> usize {
        self.steps.iter().filter(|step| step.status.is_settled()).count()
    }
}

impl PlanStep {
    fn of(step: &Value, place: u64) -> Self {
        let text = |key: &str| step.get(key).as_str().map(str::to_owned);
        let texts = |key: &str| {
            let list = step.get(key).as_list().unwrap_or_default();
            list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let status = serde_json::from_value(step.get("status").to_json()).unwrap_or_default();
        Self {
            index: step.get("index").as_i64().and_then(|index| u64::try_from(index).ok()).unwrap_or(place),
            description: text("description").or_else(|| text("title")).unwrap_or_default(),
            status,
            agent_used: text("agentUsed"),
            depends_on: texts("depends_on"),
            acceptance: texts("acceptance"),
        }
    }
}

impl StepStatus {
    /// True if the step is done or skipped.
    pub fn is_settled(self) -> bool {
        match self {
            StepStatus::Complete | StepStatus::Skipped => true,
            StepStatus::Pending | StepStatus::InProgress | StepStatus::Failed => false,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            StepStatus::Pending => "pending",
            StepStatus::InProgress => "in_progress",
            StepStatus::Complete => "complete",
            StepStatus::Failed => "failed",
            StepStatus::Skipped => "skipped",
        }
    }
}

/// Returns the step in progress, else the failed one, else the next: the step that SKIP_STEP skips.
fn current(steps: &[PlanStep]) -> usize {
    let first = |status| steps.iter().position(|step| step.status == status);
    let found = first(StepStatus::InProgress).or_else(|| first(StepStatus::Failed));
    found.or_else(|| first(StepStatus::Pending)).unwrap_or(steps.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(text: &str) -> Option<Plan> {
        Plan::of(&serde_json::from_str(text).unwrap())
    }

    #[test]
    fn the_current_step_is_what_somebody_is_at_or_what_failed_or_what_is_next() {
        let table = [
            ("nothing begun", "pending pending", 0, false),
            ("one done", "done pending", 1, false),
            ("somebody is at it", "done pending in_progress", 2, false),
            ("failed before pending", "pending failed", 1, false),
            ("at it before failed", "failed in_progress", 1, false),
            ("all done", "done complete", 2, true),
            ("skipped counts", "skipped done", 2, true),
            ("a word nobody knows is to be done", "done tomorrow", 1, false),
        ];
        for (name, statuses, index, is_complete) in table {
            let steps = statuses.split(' ').map(|status| format!(r#"{{"title":"x","status":"{status}"}}"#));
            let steps: Vec<String> = steps.collect();
            let plan = plan(&format!(r#"{{"steps":[{}]}}"#, steps.join(","))).unwrap();
            assert_eq!((plan.current_step_index, plan.is_complete), (index, is_complete), "{name}");
        }
    }

    #[test]
    fn both_shapes_are_read() {
        let ours = plan(
            r#"{"goal":"g","steps":[{"id":"a","title":"Mend","status":"done","acceptance":["green"]}]}"#,
        );
        let seed =
            plan(r#"{"steps":[{"index":1,"description":"Mend","status":"complete"}],"currentStepIndex":1}"#);
        let (ours, seed) = (ours.unwrap(), seed.unwrap());
        assert_eq!(
            (&ours.steps[0].description, ours.steps[0].status),
            (&seed.steps[0].description, seed.steps[0].status)
        );
        assert_eq!(ours.steps[0].acceptance, ["green"]);
        assert_eq!(ours.current_step_index, seed.current_step_index);
    }

    #[test]
    fn no_plan_is_no_plan() {
        for text in ["null", "{}", "5", r#"{"goal":"g"}"#] {
            assert_eq!(plan(text), None, "{text}");
        }
        assert!(!plan(r#"{"steps":[]}"#).unwrap().is_complete, "an empty plan is no finished work");
    }
}
