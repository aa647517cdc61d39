//! Plans: a goal and steps with dependencies. The plan tools are pure: they take the current plan and return the new
//! one; the agent loop stores it.

use std::collections::BTreeSet;

use rawko_core::{Map, Value};
use serde::{Deserialize, Serialize};

use super::input::text;
use super::outcome::ToolOutcome;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    pub goal: String,
    pub steps: Vec<PlanStep>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanStep {
    pub id: String,
    pub title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
    #[serde(default)]
    pub depends_on: Vec<String>,
    #[serde(default)]
    pub acceptance: Vec<String>,
    #[serde(default)]
    pub status: StepStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    #[default]
    Pending,
    InProgress,
    Done,
    Failed,
    Skipped,
}

impl Plan {
    /// Parses a plan, or returns all its problems.
    pub fn of_value(value: &Value) -> Result<Self, Vec<String>> {
        let plan: Plan = serde_json::from_value(value.to_json()).map_err(|error| vec![error.to_string()])?;
        let problems = plan.problems();
        if problems.is_empty() { Ok(plan) } else { Err(problems) }
    }

    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).map(Value::from_json).unwrap_or_default()
    }

    /// Returns true if every step is done or skipped.
    pub fn is_complete(&self) -> bool {
        self.steps.iter().all(|step| matches!(step.status, StepStatus::Done | StepStatus::Skipped))
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

    /// Formats the plan for a model.
    fn shown(&self) -> String {
        let mut lines = vec![format!("Goal: {}", self.goal)];
        for step in &self.steps {
            let after = if step.depends_on.is_empty() {
                String::new()
            } else {
                format!(" (after {})", step.depends_on.join(", "))
            };
            lines.push(format!("[{}] {}: {}{after}", step.status.word(), step.id, step.title));
            lines.extend(step.details.iter().map(|details| format!("    {details}")));
            lines.extend(step.acceptance.iter().map(|criterion| format!("    accepted when: {criterion}")));
            lines.extend(step.notes.iter().map(|notes| format!("    notes: {notes}")));
        }
        lines.join("\n")
    }

    fn outcome(&self, said: &str) -> ToolOutcome {
        let content = format!("{said}\n{}", self.shown());
        ToolOutcome::ok(content).with_data(Value::map([("plan", self.to_value())]))
    }
}

impl StepStatus {
    fn word(self) -> &'static str {
        match self {
            StepStatus::Pending => "pending",
            StepStatus::InProgress => "in_progress",
            StepStatus::Done => "done",
            StepStatus::Failed => "failed",
            StepStatus::Skipped => "skipped",
        }
    }
}

pub(super) fn write(input: &Value) -> ToolOutcome {
    match Plan::of_value(input) {
        Ok(plan) => plan.outcome("The plan is written."),
        Err(problems) => ToolOutcome::failed(format!("the plan was rejected: {}", problems.join("; "))),
    }
}

pub(super) fn read(plan: &Value) -> ToolOutcome {
    match Plan::of_value(plan) {
        Ok(plan) => plan.outcome("The plan:"),
        Err(_) => ToolOutcome::ok("There is no plan yet: write one with PlanWrite."),
    }
}

pub(super) fn update(plan: &Value, input: &Value) -> ToolOutcome {
    let Ok(plan) = Plan::of_value(plan) else {
        return ToolOutcome::failed("there is no plan to change: write one with PlanWrite");
    };
    let id = text(input, "id");
    if !plan.steps.iter().any(|step| step.id == id) {
        let ids: Vec<&str> = plan.steps.iter().map(|step| step.id.as_str()).collect();
        return ToolOutcome::failed(format!("the plan has no step `{id}`; its steps are {}", ids.join(", ")));
    }
    match changed(&plan, id, input) {
        Ok(new) => new.outcome(&format!("The step `{id}` is changed.{}", waiting(&new, id))),
        Err(problems) => ToolOutcome::failed(problems.join("; ")),
    }
}

/// Returns the plan with one step updated from the input.
fn changed(plan: &Plan, id: &str, input: &Value) -> Result<Plan, Vec<String>> {
    let over = |step: &Value| {
        let mut map: Map = step.as_map().cloned().unwrap_or_default();
        map.extend(input.as_map().into_iter().flatten().map(|(key, value)| (key.clone(), value.clone())));
        Value::Map(map.into())
    };
    let value = plan.to_value();
    let steps = value.get("steps").as_list().unwrap_or_default().iter();
    let steps = steps.map(|step| if step.get("id").as_str() == Some(id) { over(step) } else { step.clone() });
    Plan::of_value(&Value::map([
        ("goal", value.get("goal").clone()),
        ("steps", Value::list(steps.collect())),
    ]))
}

/// Returns a warning if a step was started before its dependencies are done.
fn waiting(plan: &Plan, id: &str) -> String {
    let is_settled = |status: StepStatus| matches!(status, StepStatus::Done | StepStatus::Skipped);
    let Some(step) = plan.steps.iter().find(|step| step.id == id) else { return String::new() };
    if !matches!(step.status, StepStatus::InProgress | StepStatus::Done) {
        return String::new();
    }
    let open =
        plan.steps.iter().filter(|other| step.depends_on.contains(&other.id) && !is_settled(other.status));
    let open: Vec<String> = open.map(|other| format!("`{}`", other.id)).collect();
    if open.is_empty() { String::new() } else { format!(" It depends on {}, not done yet.", open.join(", ")) }
}
