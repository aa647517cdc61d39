//! Tools and budgets of the effects that a step starts: which tools write, which states only read, which calls spend.

use rawko_core::{NodeId, ServiceClass, ServiceName, Value};

use crate::machine::StepFact;
use crate::model::Model;
use crate::state::ModelState;

/// Built-in tools that change files.
const WRITING: [&str; 4] = ["Write", "Edit", "MultiEdit", "NotebookEdit"];
/// Tags of a state in which nothing is written.
const READ_ONLY: [&str; 3] = ["read_only", "read-only", "readonly"];

/// Returns why an effect breaks the rules of a read-only state, if it does.
pub(crate) fn written_while_reading(model: &Model, moment: &StepFact, state: &ModelState) -> Option<String> {
    match moment {
        StepFact::Invoked { id, src, policy, invocation, .. } => {
            let node =
                state.snapshot.invocations().iter().find(|open| open.id == *invocation).map(|open| open.node);
            let node = node.or_else(|| declaring(model, id))?;
            let service = ServiceName::of(src);
            let path = &model.chart.node(node).path;
            if let Some(tool) = tool_of(src)
                && is_read_only(model, node, policy)
                && writes(tool)
            {
                return Some(format!("`{path}` is read-only and calls `{tool}`"));
            }
            let is_agent =
                matches!(service.class, ServiceClass::Agent | ServiceClass::Model | ServiceClass::Chart);
            let tag = is_agent && has_tag(model, node);
            let allowed = policy.get("tools").get("allowed").as_list().unwrap_or_default();
            let writing = allowed.iter().filter_map(Value::as_str).find(|tool| writes(tool) || *tool == "*");
            let writing = writing.filter(|tool| !covered(policy.get("tools").get("blocked"), tool))?;
            tag.then(|| format!("`{path}` is read-only and lets `{src}` use `{writing}`"))
        }
        StepFact::Called(handler) => {
            let tool = tool_of(handler)?;
            let active = state.snapshot.configuration().frontier();
            let node =
                active.iter().find(|node| is_read_only(model, **node, &model.chart.node(**node).policy))?;
            writes(tool)
                .then(|| format!("`{}` is read-only and calls `{tool}`", model.chart.node(*node).path))
        }
        StepFact::Event(_) | StepFact::Entered(_) | StepFact::Exited(_) | StepFact::Stalled { .. } => None,
    }
}

/// Returns true if the effect is an agent or a model that no budget bounds.
pub(crate) fn spends_without_budget(moment: &StepFact) -> bool {
    match moment {
        StepFact::Invoked { src, policy, .. } => {
            let class = ServiceName::of(src).class;
            (class.reports_usage() || class == ServiceClass::Tool) && policy.get("budget").is_null()
        }
        _ => false,
    }
}

fn tool_of(name: &str) -> Option<&str> {
    let service = ServiceName::of(name);
    (service.class == ServiceClass::Tool).then_some(service.member)
}

fn writes(tool: &str) -> bool {
    // A name that is not known may be any.
    tool.contains('\u{f8ff}') || WRITING.contains(&tool.split('(').next().unwrap_or(tool))
}

fn is_read_only(model: &Model, node: NodeId, policy: &Value) -> bool {
    let tools = policy.get("tools");
    let allowed = tools.get("allowed");
    let allows_none = !allowed.is_null() && !WRITING.iter().any(|tool| covered(allowed, tool));
    let blocks = WRITING.iter().take(2).all(|tool| covered(tools.get("blocked"), tool));
    allows_none || blocks || has_tag(model, node)
}

fn has_tag(model: &Model, node: NodeId) -> bool {
    let mut at = Some(node);
    while let Some(node) = at {
        let info = model.chart.node(node);
        if info.docs.tags.iter().any(|tag| READ_ONLY.contains(&tag.as_str())) {
            return true;
        }
        at = info.parent;
    }
    false
}

fn covered(patterns: &Value, tool: &str) -> bool {
    let patterns = patterns.as_list().unwrap_or_default().iter().filter_map(Value::as_str);
    patterns.into_iter().any(|pattern| match pattern.strip_suffix('*') {
        Some(prefix) => tool.starts_with(prefix),
        None => pattern == tool,
    })
}

/// The state that declares an invoke, for one that has ended within its own step.
fn declaring(model: &Model, id: &str) -> Option<NodeId> {
    let found = model.invokes().find(|(_, invoke)| &*invoke.id == id);
    found.map(|(number, _)| NodeId(number as u32))
}
