//! `Blueprint`: a chart with every name resolved, before layout. A reader (YAML, JSON, a test) passes it to
//! [`Chart::compile`](crate::Chart::compile); it has no source text or spans.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::events::EventSpec;
use crate::expr::Expr;
use crate::ids::{LabelId, NodeId, Slot};
use crate::schema::Schema;
use crate::value::Value;

/// The definition of a chart. `nodes` is in document order (preorder), the root first.
#[derive(Clone, Debug)]
pub struct Blueprint {
    pub id: String,
    pub version: String,
    /// A hash of the chart's content: snapshots carry it, so that one is never restored onto another chart.
    pub hash: [u8; 16],
    pub description: Option<String>,
    pub nodes: Vec<NodeSpec>,
    /// All context keys in order: the declared ones with their initial values, then those that only an assign names.
    pub context: Vec<ContextKey>,
    pub unhandled: Unhandled,
    /// Microsteps allowed in one macrostep.
    pub microsteps_max: u32,
    /// The events that the chart declares; `None` without an `events:` block.
    pub events: Option<Vec<EventSpec>>,
    /// The schema of the context, if the chart has one.
    pub context_schema: Option<Schema>,
}

#[derive(Clone, Debug)]
pub struct ContextKey {
    pub name: Arc<str>,
    pub initial: Value,
    /// True if `context:` (or its schema) names it. Keys that are only assigned start as null.
    pub declared: bool,
}

/// The handling of an event that no transition takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unhandled {
    #[default]
    Ignore,
    Error,
    Defer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    Atomic,
    Compound,
    Parallel,
    Final,
    History(HistoryVariant),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryVariant {
    Shallow,
    Deep,
}

/// A large chart has thousands of these and of transitions, and the cost of loading is about the bytes written: rare
/// parts are boxed, and equal texts are shared.
#[derive(Clone, Debug)]
pub struct NodeSpec {
    /// The author's key (a region's `id`); empty for the root.
    pub key: Arc<str>,
    /// The name in `done.state.<name>`: the explicit `id:`, else the key if it is unique in the chart, else the path.
    pub name: Arc<str>,
    pub kind: NodeKind,
    pub parent: Option<NodeId>,
    /// Compound: its initial states (required). History: its default, if it has one. The root has one too.
    pub initial: Option<Box<InitialSpec>>,
    pub entry: Vec<Action>,
    pub exit: Vec<Action>,
    /// In document order, across all blocks.
    pub transitions: Vec<TransitionSpec>,
    /// The timers that start on entry; `Trigger::After` points into this list.
    pub timers: Vec<Delay>,
    pub invokes: Vec<InvokeSpec>,
    /// Final states: the data of the parent's done event, or the instance's output.
    pub output: Option<Box<Template>>,
    /// `None` if nothing was given.
    pub docs: Option<Box<Docs>>,
    /// `tools`, `budget` and `loop` as written, already narrowed by every enclosing state; null if none are given.
    pub policy: Value,
}

#[derive(Clone, Debug, Default)]
pub struct InitialSpec {
    pub targets: Vec<NodeId>,
    pub actions: Vec<Action>,
}

/// The display data of a state or a transition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Docs {
    pub description: Option<String>,
    pub tags: Vec<String>,
    pub label: Option<String>,
    pub color: Option<String>,
    pub position: Option<(f64, f64)>,
    /// The whole `meta` as written, including unknown keys.
    pub meta: Value,
}

#[derive(Clone, Debug)]
pub struct TransitionSpec {
    pub trigger: Trigger,
    pub guard: Option<Guard>,
    /// `None` for a targetless transition.
    pub targets: Option<Targets>,
    pub reenter: bool,
    pub actions: Vec<Action>,
    /// `None` if nothing was given.
    pub docs: Option<Box<Docs>>,
}

/// The targets of a transition: nearly always one node.
pub type Targets = SmallVec<[NodeId; 2]>;

#[derive(Clone, Debug, PartialEq)]
pub enum Trigger {
    /// An event descriptor: `NAME`, `foo.*` or `*`. `onDone` and friends arrive here as `done.state.<name>`,
    /// `done.invoke.<id>`, `error.invoke.<id>`, `timeout.invoke.<id>`.
    Event(Arc<str>),
    Always,
    /// The timer of the same node with this index.
    After(usize),
    /// An item of the `each` of the same node's invoke with this index ended. Such a transition has no target.
    Item {
        invoke: usize,
        failed: bool,
    },
}

#[derive(Clone, Debug)]
pub struct Guard {
    pub expr: Expr,
    /// The source text: an expression, or the name of an entry in `guards:`.
    pub text: Arc<str>,
}

/// Milliseconds, or an expression that gives milliseconds or a duration string.
#[derive(Clone, Debug)]
pub enum Delay {
    Millis(u64),
    /// A context expression, with its text for labels.
    Expr(Expr, Arc<str>),
}

/// Data with expressions at its leaves.
#[derive(Clone, Debug)]
pub enum Template {
    Literal(Value),
    Expr(Expr),
    List(Vec<Template>),
    Map(Vec<(Arc<str>, Template)>),
}

/// An action and its label in a drawing (the author's name for it, or its type).
#[derive(Clone, Debug)]
pub struct Action {
    pub label: Arc<str>,
    pub kind: ActionKind,
    /// The label's number, assigned by `Chart::compile`.
    pub(crate) label_id: LabelId,
}

impl Action {
    pub fn new(label: impl Into<Arc<str>>, kind: ActionKind) -> Self {
        Self { label: label.into(), kind, label_id: LabelId::default() }
    }
}

#[derive(Clone, Debug)]
pub enum ActionKind {
    /// All right-hand sides see the context as it was before.
    Assign(Vec<(Slot, Expr)>),
    Raise {
        event: Template,
        data: Template,
    },
    Emit {
        event: Template,
        data: Template,
    },
    Send {
        target: Template,
        event: Template,
        data: Template,
        delay: Option<Delay>,
        id: Option<Template>,
    },
    Cancel {
        id: Template,
    },
    /// An action of type `invoke`: a handler call without waiting for the result.
    Call {
        handler: Arc<str>,
        params: Template,
    },
    Log {
        message: Template,
    },
    Choose {
        branches: Vec<(Option<Guard>, Vec<Action>)>,
    },
    Foreach(Box<Foreach>),
}

/// `item` and `index` are locals (numbered by nesting); if the context declares the same key it is written as well.
#[derive(Clone, Debug)]
pub struct Foreach {
    pub array: Expr,
    /// Number of the local that holds the item; the index is the next one.
    pub local: usize,
    pub item_slot: Option<Slot>,
    pub index_slot: Option<Slot>,
    pub actions: Vec<Action>,
}

#[derive(Clone, Debug)]
pub struct InvokeSpec {
    /// The author's id, or the node's path (with `.1`, `.2` … for the second and later invoke of a state).
    pub id: Arc<str>,
    /// `statechart:…`, `agent:…`, or a service's name.
    pub src: Template,
    pub input: Template,
    /// Per attempt.
    pub timeout: Option<Delay>,
    /// True if the author wrote `onTimeout`; without it a timeout is an `error.invoke.<id>`.
    pub on_timeout: bool,
    pub retry: Option<Retry>,
    /// The list over which it runs, once per item.
    pub each: Option<Box<EachSpec>>,
    /// Ids of the invokes that only an approval of this one allows. For `rawko verify`.
    pub guards: Vec<Arc<str>>,
}

/// `each` of an invoke: one invocation per item of a list. In `src`, `input` and `timeout` the item is local 0 and its
/// index local 1.
#[derive(Clone, Debug)]
pub struct EachSpec {
    pub list: Expr,
    /// Items that run at the same time; at least 1.
    pub max_concurrent: u32,
    pub join: Join,
    /// True if the author wrote `onItemError`: a failed item does not fail the whole.
    pub on_item_error: bool,
}

/// The condition under which an `each` is complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Join {
    /// Every item succeeded, or failed where `onItemError` handles it.
    #[default]
    All,
    /// One item succeeded.
    Any,
    /// Every item ended, either way.
    Settled,
    /// This many items succeeded.
    AtLeast(u32),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Retry {
    /// Includes the first attempt.
    pub max_attempts: u32,
    pub backoff: Backoff,
    pub initial_delay_ms: u64,
    pub max_delay_ms: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backoff {
    Fixed,
    Linear,
    Exponential,
}
