//! The plan tools. They are pure: they take the current plan and return the new one; the agent loop stores it.

use rawko_arbiter::{Plan, StepStatus};
use rawko_core::{Map, Value};

use super::input::text;
use super::outcome::ToolOutcome;

/// Formats the plan for a model.
fn shown(plan: &Plan) -> String {
    let mut lines = vec![format!("Goal: {}", plan.goal)];
    for step in &plan.steps {
        let after = if step.depends_on.is_empty() {
            String::new()
        } else {
            format!(" (after {})", step.depends_on.join(", "))
        };
        lines.push(format!("[{}] {}: {}{after}", step.status.as_str(), step.id, step.title));
        lines.extend(step.details.iter().map(|details| format!("    {details}")));
        lines.extend(step.acceptance.iter().map(|criterion| format!("    accepted when: {criterion}")));
        lines.extend(step.notes.iter().map(|notes| format!("    notes: {notes}")));
    }
    lines.join("\n")
}

fn outcome(plan: &Plan, said: &str) -> ToolOutcome {
    let content = format!("{said}\n{}", shown(plan));
    ToolOutcome::ok(content).with_data(Value::map([("plan", plan.to_value())]))
}

pub(super) fn write(input: &Value) -> ToolOutcome {
    match Plan::checked(input) {
        Ok(mut plan) => {
            // Who worked on a step is noted by the agent loop, never by the model.
            plan.steps.iter_mut().for_each(|step| step.agent_used = None);
            outcome(&plan, "The plan is written.")
        }
        Err(problems) => ToolOutcome::failed(format!("the plan was rejected: {}", problems.join("; "))),
    }
}

pub(super) fn read(plan: &Value) -> ToolOutcome {
    match Plan::checked(plan) {
        Ok(plan) => outcome(&plan, "The plan:"),
        Err(_) => ToolOutcome::ok("There is no plan yet: write one with PlanWrite."),
    }
}

pub(super) fn update(plan: &Value, input: &Value) -> ToolOutcome {
    let Ok(plan) = Plan::checked(plan) else {
        return ToolOutcome::failed("there is no plan to change: write one with PlanWrite");
    };
    let id = text(input, "id");
    if !plan.steps.iter().any(|step| step.id == id) {
        let ids: Vec<&str> = plan.steps.iter().map(|step| step.id.as_str()).collect();
        return ToolOutcome::failed(format!("the plan has no step `{id}`; its steps are {}", ids.join(", ")));
    }
    match changed(&plan, id, input) {
        Ok(new) => outcome(&new, &format!("The step `{id}` is changed.{}", waiting(&new, id))),
        Err(problems) => ToolOutcome::failed(problems.join("; ")),
    }
}

/// Returns the plan with one step updated from the input.
fn changed(plan: &Plan, id: &str, input: &Value) -> Result<Plan, Vec<String>> {
    let over = |step: &Value| {
        let mut map: Map = step.as_map().cloned().unwrap_or_default();
        let changes = input.as_map().into_iter().flatten().filter(|(key, _)| &***key != "agentUsed");
        map.extend(changes.map(|(key, value)| (key.clone(), value.clone())));
        Value::Map(map.into())
    };
    let value = plan.to_value();
    let steps = value.get("steps").as_list().unwrap_or_default().iter();
    let steps = steps.map(|step| if step.get("id").as_str() == Some(id) { over(step) } else { step.clone() });
    Plan::checked(&Value::map([("goal", value.get("goal").clone()), ("steps", Value::list(steps.collect()))]))
}

/// Returns a warning if a step was started before its dependencies are done.
fn waiting(plan: &Plan, id: &str) -> String {
    let Some(step) = plan.steps.iter().find(|step| step.id == id) else { return String::new() };
    if !matches!(step.status, StepStatus::InProgress | StepStatus::Done) {
        return String::new();
    }
    let open =
        plan.steps.iter().filter(|other| step.depends_on.contains(&other.id) && !other.status.is_settled());
    let open: Vec<String> = open.map(|other| format!("`{}`", other.id)).collect();
    if open.is_empty() { String::new() } else { format!(" It depends on {}, not done yet.", open.join(", ")) }
}
