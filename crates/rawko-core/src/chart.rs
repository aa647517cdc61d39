//! `Chart`: the compiled, immutable definition. Two halves: the tables a step runs on ([`Tables`]), and the
//! descriptions for people and drawings ([`NodeInfo`], [`TransitionInfo`]), which a step only reads when it is traced.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::blueprint::{
    DataTemplate, Docs, EachSpec, NodeKind, TransitionTargets, TransitionTrigger, Unhandled,
};
use crate::configuration::{Active, Configuration};
use crate::events::EventSpec;
use crate::ids::{InvokeId, LabelId, NodeId, TransitionId};
use crate::rules::ContextRules;
use crate::service::ServiceName;
use crate::snapshot::{FailedWork, Invocation, UnhandledFailure};
use crate::tables::Tables;
use crate::value::Value;

/// The description of a state node.
#[derive(Clone, Debug)]
pub struct NodeInfo {
    /// The last part of the path; empty for the root.
    pub key: Arc<str>,
    /// The name in `done.state.<name>`.
    pub name: Arc<str>,
    /// The dotted path from the root; empty for the root.
    pub path: Arc<str>,
    /// Kind of the node, as in its [`NodeSpec`](crate::NodeSpec).
    pub kind: NodeKind,
    /// Enclosing node; `None` for the root.
    pub parent: Option<NodeId>,
    /// In document order, including history nodes.
    pub children: Box<[NodeId]>,
    /// Compound: its initial states. History: its default, possibly empty.
    pub initial: Box<[NodeId]>,
    /// Labels of the actions of the initial transition.
    pub initial_actions: Box<[Arc<str>]>,
    /// Labels of entry and exit actions.
    pub entry: Box<[Arc<str>]>,
    /// Labels of exit actions.
    pub exit: Box<[Arc<str>]>,
    /// `(id, src)` of each invoke.
    pub invokes: Box<[(Arc<str>, Arc<str>)]>,
    /// Description, tags and drawing hints.
    pub docs: Arc<Docs>,
    /// The `policy` of the state as written; `null` if it has none.
    pub policy: Value,
}

/// The description of a transition.
#[derive(Clone, Debug)]
pub struct TransitionInfo {
    /// Node that declares the transition.
    pub source: NodeId,
    /// Condition that makes the transition a candidate.
    pub trigger: TransitionTrigger,
    /// `EVENT`, `always`, `after 24h`, `onDone`, `onError agent_task` … as shown in a drawing.
    pub label: Arc<str>,
    /// Source text of the guard.
    pub guard: Option<Arc<str>>,
    /// Target nodes; `None` for a targetless transition.
    pub targets: Option<TransitionTargets>,
    /// True if the source is exited and entered again although a target lies within it.
    pub reenter: bool,
    /// Labels of its actions, in order.
    pub actions: Box<[Arc<str>]>,
    /// Description, tags and drawing hints.
    pub docs: Arc<Docs>,
}

/// A compiled chart.
#[derive(Debug)]
pub struct Chart {
    pub(crate) id: Arc<str>,
    pub(crate) version: Arc<str>,
    pub(crate) hash: [u8; 16],
    pub(crate) hash_hex: String,
    pub(crate) description: Option<String>,
    pub(crate) unhandled: Unhandled,
    pub(crate) microsteps_max: u32,
    pub(crate) nodes: Vec<NodeInfo>,
    pub(crate) transitions: Vec<TransitionInfo>,
    pub(crate) by_path: FxHashMap<Arc<str>, NodeId>,
    pub(crate) context_names: Vec<Arc<str>>,
    pub(crate) context_initial: Vec<Value>,
    pub(crate) context_declared: Vec<bool>,
    /// Labels of actions, by `LabelId`.
    pub(crate) labels: Vec<Arc<str>>,
    /// The `events:` of the chart.
    pub(crate) events: Option<Vec<EventSpec>>,
    pub(crate) context_rules: Option<Box<ContextRules>>,
    pub(crate) tables: Tables,
}

impl Chart {
    /// Returns the chart id, unique within a project.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the author's version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Returns the content hash that snapshots are checked against.
    pub fn hash(&self) -> [u8; 16] {
        self.hash
    }

    /// Returns the author's summary.
    pub fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    /// Returns the policy for events that no transition takes.
    pub fn unhandled(&self) -> Unhandled {
        self.unhandled
    }

    /// Returns all state nodes in document order; the first is the root.
    pub fn node_ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.nodes.len() as u32).map(NodeId)
    }

    /// Returns the description of a node. Panics if the id belongs to a larger chart.
    pub fn node(&self, id: NodeId) -> &NodeInfo {
        &self.nodes[id.index()]
    }

    /// Iterates over all transitions in document order.
    pub fn transition_ids(&self) -> impl Iterator<Item = TransitionId> + use<> {
        (0..self.transitions.len() as u32).map(TransitionId)
    }

    /// Returns the description of a transition. Panics if the id belongs to a larger chart.
    pub fn transition(&self, id: TransitionId) -> &TransitionInfo {
        &self.transitions[id.index()]
    }

    /// Returns the state node with this dotted path.
    pub fn find(&self, path: &str) -> Option<NodeId> {
        self.by_path.get(path).copied()
    }

    /// Returns the label of a traced action.
    pub fn label(&self, id: LabelId) -> &str {
        self.labels.get(id.index()).map_or("?", |label| label)
    }

    /// Returns the label of a node's timer: `after 24h`.
    pub fn timer_label(&self, node: NodeId, index: u32) -> &str {
        let is_its = |transition: &&TransitionInfo| {
            transition.source == node && transition.trigger == TransitionTrigger::After(index as usize)
        };
        self.transitions.iter().find(is_its).map_or("after", |transition| &transition.label)
    }

    /// Returns the display name of a failure: the id of the invoke, or the timer and its state.
    pub fn failure_name(&self, failure: &UnhandledFailure) -> String {
        match &failure.work {
            FailedWork::Invocation(invocation) => self.invoke_name(invocation.invoke).to_owned(),
            FailedWork::FanOut(fan_out) => self.invoke_name(fan_out.invoke).to_owned(),
            FailedWork::Timer { node, index } => {
                let path = &self.node(*node).path;
                let state = if path.is_empty() { &self.id } else { path };
                format!("{} in {state}", self.timer_label(*node, *index))
            }
        }
    }

    /// Returns the id of an invoke, as in `done.invoke.<id>`.
    pub fn invoke_name(&self, id: InvokeId) -> &str {
        &self.tables.invoke(id).id
    }

    /// Returns the id of an invocation: that of its invoke, or of its item as in `reviews[0]`.
    pub fn invocation_name(&self, invocation: &Invocation) -> Arc<str> {
        let id = &self.tables.invoke(invocation.invoke).id;
        invocation.item.map_or_else(|| Arc::clone(id), |index| crate::step::item_name(id, index))
    }

    /// Returns the `each` of a node's invoke, if it has one.
    pub fn each(&self, node: NodeId, invoke: usize) -> Option<&EachSpec> {
        let range = self.tables.node(node).invokes.usize();
        self.tables.invokes[range].get(invoke)?.each.as_deref()
    }

    /// Returns true if a node's invoke runs agents in worktrees (`isolation: worktree`).
    pub fn is_isolated(&self, node: NodeId, invoke: usize) -> bool {
        let range = self.tables.node(node).invokes.usize();
        let Some(spec) = self.tables.invokes[range].get(invoke) else { return false };
        let is_agent = match &spec.src {
            DataTemplate::Literal(src) => src.as_str().is_some_and(ServiceName::is_agent),
            DataTemplate::Expr(_) | DataTemplate::Map(_) | DataTemplate::List(_) => true,
        };
        spec.isolated && is_agent
    }

    /// Returns the context keys, indexed by slot.
    pub fn context_names(&self) -> &[Arc<str>] {
        &self.context_names
    }

    /// Returns the names of all events that transitions handle by name, in source order.
    pub fn event_names(&self) -> impl Iterator<Item = &str> {
        self.tables.events.names()
    }

    /// Returns true if `node` is `ancestor` or below it.
    pub fn is_within(&self, node: NodeId, ancestor: NodeId) -> bool {
        node >= ancestor && node <= self.tables.last[ancestor.index()]
    }

    /// Returns a view of `configuration` that answers which nodes are active.
    pub fn active<'a>(&'a self, configuration: &'a Configuration) -> Active<'a> {
        Active { frontier: configuration.frontier(), last: &self.tables.last }
    }

    /// Returns the active leaf states as dotted paths in document order.
    pub fn leaf_paths<'a>(&'a self, configuration: &'a Configuration) -> impl Iterator<Item = &'a str> + 'a {
        configuration.frontier().iter().map(|node| &*self.node(*node).path)
    }
}
