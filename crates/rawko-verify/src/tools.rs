//! Tools of the effects that a step starts: which of them write, and which states only read.

use rawko_core::{ActionBlueprint, ActionKind, NodeId, ServiceClass, ServiceName, Value};

use crate::children::ChildOutcomes;
use crate::machine::StepFact;
use crate::model::Model;
use crate::parts;
use crate::state::ModelState;

/// Built-in tools that change files. A state that allows none of the first two lets no other tool write either.
const WRITING: [&str; 4] = ["Write", "Edit", "MultiEdit", "NotebookEdit"];
/// Built-in tools that never do.
const READING: [&str; 14] = [
    "Read",
    "NotebookRead",
    "Glob",
    "Grep",
    "LS",
    "WebFetch",
    "WebSearch",
    "PlanWrite",
    "PlanRead",
    "PlanUpdate",
    "Think",
    "Skill",
    "AskUser",
    "TodoWrite",
];
/// The prefix of tools of MCP servers, of which nothing is known.
const OF_SERVERS: &str = "mcp__";
/// Tags of a state in which nothing is written.
const READ_ONLY: [&str; 3] = ["read_only", "read-only", "readonly"];

/// How an effect may write, each in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WriteAccess {
    /// It calls a tool that writes.
    calls: Option<String>,
    /// It lets an agent use a tool that writes.
    lets: Option<String>,
    /// It may write; nothing in the chart decides it.
    may: Option<String>,
}

impl WriteAccess {
    /// Adds another effect; the first of each kind is kept.
    pub(crate) fn add(&mut self, other: WriteAccess) {
        let first = |known: &mut Option<String>, other: Option<String>| *known = known.take().or(other);
        first(&mut self.calls, other.calls);
        first(&mut self.lets, other.lets);
        first(&mut self.may, other.may);
    }

    /// Returns how an effect writes. A child is given if it is a known chart.
    pub(crate) fn of(moment: &StepFact, child: Option<&ChildOutcomes>) -> Self {
        match moment {
            StepFact::Invoked { src, policy, .. } => Self::of_invoke(src, policy.get("tools"), child),
            StepFact::Called(handler) => tool_of(handler).map_or_else(Self::default, Self::of_tool),
            StepFact::Event(_) | StepFact::Entered(_) | StepFact::Exited(_) | StepFact::Stalled { .. } => {
                Self::default()
            }
        }
    }

    fn of_tool(tool: &str) -> Self {
        if writes(tool) {
            return Self { calls: Some(format!("calls `{tool}`")), ..Self::default() };
        }
        let is_known = READING.contains(&own_name(tool));
        Self { may: (!is_known).then(|| format!("calls `{tool}`, which may write")), ..Self::default() }
    }

    fn of_invoke(src: &str, tools: &Value, child: Option<&ChildOutcomes>) -> Self {
        let mut writing = match (ServiceName::of(src).class, child) {
            (ServiceClass::Tool, _) => tool_of(src).map_or_else(Self::default, Self::of_tool),
            (ServiceClass::Agent | ServiceClass::Model, _) => Self::of_agent(src, tools),
            (ServiceClass::Chart, Some(child)) => {
                let inner =
                    |how: &Option<String>| how.as_ref().map(|how| format!("starts `{src}`, which {how}"));
                let child = &child.writing;
                Self { calls: inner(&child.calls), lets: inner(&child.lets), may: inner(&child.may) }
            }
            (ServiceClass::Chart, None) => {
                let may = Some(format!("starts `{src}`, a chart that is not known"));
                Self { may, ..Self::default() }
            }
            _ if is_any_name(src) => Self { calls: Some(format!("starts `{src}`")), ..Self::default() },
            _ => Self::default(),
        };
        if forbids_writing(tools) {
            writing.lets = None;
            writing.may = writing.may.filter(|_| allows_servers(tools).is_some());
        }
        writing
    }

    fn of_agent(src: &str, tools: &Value) -> Self {
        let lets = |tool: &str| Some(format!("lets `{src}` use `{tool}`"));
        let blocks = |tool: &str| covers_any(tools.get("blocked"), tool);
        let Some(allowed) = tools.get("allowed").as_list() else {
            // A completion calls no tool.
            let is_agent = ServiceName::of(src).class == ServiceClass::Agent;
            let free = WRITING.iter().find(|tool| is_agent && !blocks(tool));
            return Self { lets: free.and_then(|tool| lets(tool)), ..Self::default() };
        };
        let mut allowed = allowed.iter().filter_map(Value::as_str);
        let is_writing = |pattern: &&str| {
            let of_pattern = WRITING.iter().filter(|tool| covers(own_name(pattern), tool));
            writes(pattern) || of_pattern.into_iter().any(|tool| !blocks(tool))
        };
        let writing = allowed.find(|pattern| !blocks(pattern) && is_writing(pattern));
        let server = allows_servers(tools);
        let may = server.map(|tool| format!("lets `{src}` use `{tool}`, which may write"));
        Self { lets: writing.and_then(lets), may, ..Self::default() }
    }
}

/// Returns why an effect breaks the rules of a read-only state, and true if that is sure.
pub(crate) fn written_while_reading(
    model: &Model,
    moment: &StepFact,
    state: &ModelState,
    child: Option<&ChildOutcomes>,
) -> Option<(bool, String)> {
    let access = || WriteAccess::of(moment, child);
    let at = |node: NodeId, tools: &Value| written_at(model, node, forbids_writing(tools), access());
    let places = match moment {
        StepFact::Invoked { id, policy, invocation, .. } => {
            let mut open = state.snapshot.invocations().iter();
            if let Some(open) = open.find(|open| open.id == *invocation) {
                return at(open.node, policy.get("tools"));
            }
            declaring(model, id)
        }
        StepFact::Called(handler) => calling(model, handler),
        StepFact::Event(_) | StepFact::Entered(_) | StepFact::Exited(_) | StepFact::Stalled { .. } => {
            return None;
        }
    };
    // Which of the states it was is not known: it may have been left since.
    let found = places.iter().map(|node| at(*node, model.chart.node(*node).policy.get("tools")));
    let found: Vec<Option<(bool, String)>> = found.collect();
    let is_sure = found.iter().all(|found| found.as_ref().is_some_and(|(is_sure, _)| *is_sure));
    found.into_iter().flatten().next().map(|(_, why)| (is_sure, why))
}

fn written_at(model: &Model, node: NodeId, forbids: bool, access: WriteAccess) -> Option<(bool, String)> {
    let is_tagged = has_tag(model, node);
    if !is_tagged && !forbids {
        return None;
    }
    let WriteAccess { calls, lets, may } = access;
    let (is_sure, how) = match (calls, lets, may) {
        (Some(calls), ..) => (true, calls),
        (None, Some(lets), _) if is_tagged => (true, lets),
        (None, None, Some(may)) if is_tagged => (false, may),
        _ => return None,
    };
    Some((is_sure, format!("`{}` is read-only and {how}", model.chart.node(node).path)))
}

/// Returns the states in which a handler is called: in an entry or exit, or in a transition that stays within the state.
fn calling(model: &Model, handler: &str) -> Vec<NodeId> {
    let calls = |actions: &[ActionBlueprint]| {
        let mut calls = false;
        parts::each_action_among(actions, &mut |kind| {
            calls |= matches!(kind, ActionKind::Call { handler: known, .. } if **known == *handler);
        });
        calls
    };
    let mut places = Vec::new();
    for (number, node) in (0u32..).zip(&model.blueprint.nodes) {
        let own = NodeId(number);
        let initial = node.initial.iter().any(|initial| calls(&initial.actions));
        if calls(&node.entry) || calls(&node.exit) || initial {
            places.push(own);
        }
        for transition in node.transitions.iter().filter(|transition| calls(&transition.actions)) {
            let targets = transition.targets.as_deref().unwrap_or_default();
            places.push(around(model, own, targets));
        }
    }
    places
}

/// Returns the innermost state that a transition does not leave.
fn around(model: &Model, source: NodeId, targets: &[NodeId]) -> NodeId {
    let line = |node: NodeId| std::iter::successors(Some(node), |at| model.chart.node(*at).parent);
    let holds = |outer: &NodeId| targets.iter().all(|target| line(*target).any(|at| at == *outer));
    line(source).find(holds).unwrap_or(NodeId::ROOT)
}

/// Returns true for a computed name of which nothing is known.
pub(crate) fn is_any_name(src: &str) -> bool {
    src.starts_with('\u{f8ff}')
}

fn tool_of(name: &str) -> Option<&str> {
    let service = ServiceName::of(name);
    (service.class == ServiceClass::Tool).then_some(service.member)
}

/// Returns the name of a tool without the rule behind it: `Bash` of `Bash(git diff:*)`.
fn own_name(tool: &str) -> &str {
    tool.split('(').next().unwrap_or(tool)
}

fn writes(tool: &str) -> bool {
    // A name that is not known may be any.
    tool.contains('\u{f8ff}') || WRITING.contains(&own_name(tool))
}

/// Returns true if the tools of a state leave out both that write: then no other one writes either.
fn forbids_writing(tools: &Value) -> bool {
    let allowed = tools.get("allowed");
    let allows_none = !allowed.is_null() && !WRITING.iter().any(|tool| covers_any(allowed, tool));
    allows_none || WRITING.iter().take(2).all(|tool| covers_any(tools.get("blocked"), tool))
}

/// Returns a pattern that allows tools of MCP servers, which are outside of what the state can confine.
fn allows_servers(tools: &Value) -> Option<&str> {
    let mut allowed = tools.get("allowed").as_list()?.iter().filter_map(Value::as_str);
    allowed.find(|tool| tool.starts_with(OF_SERVERS) && !covers_any(tools.get("blocked"), tool))
}

fn has_tag(model: &Model, node: NodeId) -> bool {
    let mut line = std::iter::successors(Some(node), |node| model.chart.node(*node).parent);
    line.any(|node| model.chart.node(node).docs.tags.iter().any(|tag| READ_ONLY.contains(&tag.as_str())))
}

fn covers_any(patterns: &Value, tool: &str) -> bool {
    let patterns = patterns.as_list().unwrap_or_default().iter().filter_map(Value::as_str);
    patterns.into_iter().any(|pattern| covers(pattern, tool))
}

/// Returns true if a pattern covers a name; `*` stands for any text.
fn covers(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(name) = name.strip_prefix(first) else { return false };
    name.char_indices().map(|(at, _)| at).chain([name.len()]).any(|at| covers(rest, &name[at..]))
}

/// Returns the states that declare an invoke, by the id of the invoke or of one of its items. Several may use the same id.
pub(crate) fn declaring(model: &Model, id: &str) -> Vec<NodeId> {
    let base = id.split('[').next().unwrap_or(id);
    let found = model.invokes().filter(|(_, invoke)| &*invoke.id == base);
    found.map(|(number, _)| NodeId(number as u32)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_with_stars_anywhere_cover_names() {
        let table = [
            ("Write", "Write", true),
            ("Wri*", "Write", true),
            ("*", "Write", true),
            ("*ite", "Write", true),
            ("W*t*", "Write", true),
            ("W*x", "Write", false),
            ("Read", "Write", false),
        ];
        for (pattern, name, expected) in table {
            assert_eq!(covers(pattern, name), expected, "{pattern}");
        }
    }
}
