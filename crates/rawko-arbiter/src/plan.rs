//! `Plan`: a goal and steps with dependencies. Agents write it with the plan tools, charts store it, the arbiter judges it.
//! A plan in the seed's shape, with positions and descriptions in place of ids and titles, is read too;
//! `PlanOverview` is that shape, for the arbiter's input.

use std::collections::BTreeSet;

use rawko_core::Value;
use serde::{Deserialize, Serialize};

/// A plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The goal in one sentence.
    pub goal: String,
    /// Steps in the order in which they were planned.
    pub steps: Vec<PlanStep>,
    /// The position that a plan without steps states.
    #[serde(skip)]
    stated: (usize, bool),
}

/// A step of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanStep {
    /// Id, unique within the plan; other steps depend on it.
    pub id: String,
    /// Step in one line.
    pub title: String,
    /// Further explanation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
    /// Ids of the steps that must be settled first.
    #[serde(default)]
    pub depends_on: Vec<String>,
    /// Criteria that make the step done.
    #[serde(default)]
    pub acceptance: Vec<String>,
    /// Progress of the step.
    #[serde(default)]
    pub status: StepStatus,
    /// Remarks of agents about the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// The agent that worked on it last.
    #[serde(default, rename = "agentUsed", skip_serializing_if = "Option::is_none")]
    pub agent_used: Option<String>,
    /// Counted from 1; `None` is its place in the list.
    #[serde(skip)]
    stated_index: Option<u64>,
}

/// The progress of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// Not begun.
    #[default]
    Pending,
    /// An agent works on it.
    InProgress,
    /// All criteria are met.
    #[serde(alias = "complete")]
    Done,
    /// Ended without success.
    Failed,
    /// Left out by decision.
    Skipped,
}

/// The plan in the arbiter's input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanOverview {
    /// Steps in order.
    pub steps: Vec<StepOverview>,
    /// Counted from 0; equal to the number of steps if none is left.
    pub current_step_index: usize,
    /// True if every step is settled.
    pub is_complete: bool,
}

/// A step in the arbiter's input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StepOverview {
    /// Counted from 1.
    pub index: u64,
    /// Title of the step.
    pub description: String,
    /// As in [`StepStatus`], with `complete` for `done`.
    pub status: &'static str,
    /// Agent that worked on it last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_used: Option<String>,
    /// Ids of the steps that must be settled first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// Criteria that make the step done.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub acceptance: Vec<String>,
}

impl Plan {
    /// Reads a plan in any shape that agents store. Returns `None` if there is none; a plan without steps is still one.
    pub fn of(value: &Value) -> Option<Self> {
        let steps = value.get("steps").as_list();
        if value.as_map().is_none() || (steps.is_none() && value.get("currentStepIndex").is_null()) {
            return None;
        }
        let index = value.get("currentStepIndex").as_i64().and_then(|index| usize::try_from(index).ok());
        Some(Self {
            goal: value.get("goal").as_str().unwrap_or_default().to_owned(),
            steps: steps.unwrap_or_default().iter().map(PlanStep::of).collect(),
            stated: (index.unwrap_or(0), value.get("isComplete").as_bool().unwrap_or(false)),
        })
    }

    /// Reads a plan that can be followed, or returns all its problems.
    pub fn checked(value: &Value) -> Result<Self, Vec<String>> {
        let plan: Plan = value.read().map_err(|error| vec![error.to_string()])?;
        let problems = plan.problems();
        if problems.is_empty() { Ok(plan) } else { Err(problems) }
    }

    /// Converts to the form that charts store.
    pub fn to_value(&self) -> Value {
        Value::of(self)
    }

    /// Returns the position of the step in progress, else of the failed one, else of the next: the step that SKIP_STEP
    /// skips.
    pub fn current_index(&self) -> usize {
        if self.steps.is_empty() {
            return self.stated.0;
        }
        let first = |status| self.steps.iter().position(|step| step.status == status);
        let found = first(StepStatus::InProgress).or_else(|| first(StepStatus::Failed));
        found.or_else(|| first(StepStatus::Pending)).unwrap_or(self.steps.len())
    }

    /// Returns the first step that is not settled.
    pub fn current(&self) -> Option<&PlanStep> {
        self.steps.get(self.current_index())
    }

    /// Returns true if there are steps, and every one is done or skipped.
    pub fn is_complete(&self) -> bool {
        if self.steps.is_empty() { self.stated.1 } else { self.settled() == self.steps.len() }
    }

    pub(super) fn settled(&self) -> usize {
        self.steps.iter().filter(|step| step.status.is_settled()).count()
    }

    /// Returns the number of a step, counted from 1.
    pub(super) fn number(&self, place: usize) -> u64 {
        self.steps.get(place).and_then(|step| step.stated_index).unwrap_or(place as u64 + 1)
    }

    /// Returns the plan as the arbiter's prompt shows it.
    pub fn overview(&self) -> PlanOverview {
        let step = |(place, step): (usize, &PlanStep)| StepOverview {
            index: self.number(place),
            description: step.title.clone(),
            status: step.status.seed_word(),
            agent_used: step.agent_used.clone(),
            depends_on: step.depends_on.clone(),
            acceptance: step.acceptance.clone(),
        };
        PlanOverview {
            steps: self.steps.iter().enumerate().map(step).collect(),
            current_step_index: self.current_index(),
            is_complete: self.is_complete(),
        }
    }

    fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let mut seen = BTreeSet::new();
        for step in &self.steps {
            if step.id.trim().is_empty() {
                problems.push("a step has no id".to_owned());
            } else if !seen.insert(step.id.as_str()) {
                problems.push(format!("two steps have the id `{}`", step.id));
            }
        }
        for step in &self.steps {
            for other in step.depends_on.iter().filter(|other| !seen.contains(other.as_str())) {
                problems.push(format!("the step `{}` depends on `{other}`, which does not exist", step.id));
            }
        }
        if problems.is_empty() { self.circle().into_iter().collect() } else { problems }
    }

    /// Finds a dependency cycle: removes steps whose dependencies are gone until none is left or the rest depend on
    /// each other.
    fn circle(&self) -> Option<String> {
        let mut left: Vec<&PlanStep> = self.steps.iter().collect();
        loop {
            let ids: BTreeSet<&str> = left.iter().map(|step| step.id.as_str()).collect();
            let before = left.len();
            left.retain(|step| step.depends_on.iter().any(|other| ids.contains(other.as_str())));
            if left.is_empty() {
                return None;
            }
            if left.len() == before {
                let names: Vec<String> = left.iter().map(|step| format!("`{}`", step.id)).collect();
                return Some(format!("the steps {} wait for each other", names.join(", ")));
            }
        }
    }
}

impl PlanOverview {
    /// Returns the first step that is not settled.
    pub fn current(&self) -> Option<&StepOverview> {
        self.steps.get(self.current_step_index)
    }
}

impl PlanStep {
    fn of(step: &Value) -> Self {
        let text = |key: &str| step.get(key).as_str().map(str::to_owned);
        let texts = |key: &str| {
            let list = step.get(key).as_list().unwrap_or_default();
            list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        Self {
            id: text("id").unwrap_or_default(),
            title: text("description").or_else(|| text("title")).unwrap_or_default(),
            details: text("details"),
            depends_on: texts("depends_on"),
            acceptance: texts("acceptance"),
            status: step.get("status").read().unwrap_or_default(),
            notes: text("notes"),
            agent_used: text("agentUsed"),
            stated_index: step.get("index").as_i64().and_then(|index| u64::try_from(index).ok()),
        }
    }
}

impl StepStatus {
    /// True if the step is done or skipped.
    pub fn is_settled(self) -> bool {
        match self {
            StepStatus::Done | StepStatus::Skipped => true,
            StepStatus::Pending | StepStatus::InProgress | StepStatus::Failed => false,
        }
    }

    /// Returns the name used in charts and prompts.
    pub fn as_str(self) -> &'static str {
        match self {
            StepStatus::Pending => "pending",
            StepStatus::InProgress => "in_progress",
            StepStatus::Done => "done",
            StepStatus::Failed => "failed",
            StepStatus::Skipped => "skipped",
        }
    }

    fn seed_word(self) -> &'static str {
        if self == StepStatus::Done { "complete" } else { self.as_str() }
    }
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
            assert_eq!((plan.current_index(), plan.is_complete()), (index, is_complete), "{name}");
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
            (&ours.steps[0].title, ours.steps[0].status),
            (&seed.steps[0].title, seed.steps[0].status)
        );
        assert_eq!(ours.steps[0].acceptance, ["green"]);
        assert_eq!(ours.overview().current_step_index, seed.overview().current_step_index);
        assert_eq!(ours.overview().steps[0].status, "complete");
    }

    #[test]
    fn no_plan_is_no_plan() {
        for text in ["null", "{}", "5", r#"{"goal":"g"}"#] {
            assert_eq!(plan(text), None, "{text}");
        }
        assert!(!plan(r#"{"steps":[]}"#).unwrap().is_complete(), "an empty plan is no finished work");
    }
}
