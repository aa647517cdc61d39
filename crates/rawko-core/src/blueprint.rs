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
    /// Chart id, unique within a project.
    pub id: String,
    /// The author's version, compared when a snapshot is restored.
    pub version: String,
    /// A hash of the chart's content: snapshots carry it, so that one is never restored onto another chart.
    pub hash: [u8; 16],
    /// Summary for people; no effect on behaviour.
    pub description: Option<String>,
    /// State nodes in preorder: index 0 is the root, children follow their parent.
    pub nodes: Vec<NodeSpec>,
    /// All context keys in order: the declared ones with their initial values, then those that only an assign names.
    pub context: Vec<ContextKey>,
    /// Policy for events that no transition takes.
    pub unhandled: Unhandled,
    /// Microsteps allowed in one macrostep.
    pub microsteps_max: u32,
    /// The events that the chart declares; `None` without an `events:` block.
    pub events: Option<Vec<EventSpec>>,
    /// The schema of the context, if the chart has one.
    pub context_schema: Option<Schema>,
}

/// A key of the context.
#[derive(Clone, Debug)]
pub struct ContextKey {
    /// Name in expressions, without the `context.` prefix.
    pub name: Arc<str>,
    /// Value at start; `null` for keys that only an assign names.
    pub initial: Value,
    /// True if `context:` (or its schema) names it. Keys that are only assigned start as null.
    pub declared: bool,
}

/// The handling of an event that no transition takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unhandled {
    /// The event is dropped.
    #[default]
    Ignore,
    /// The step fails with [`StepError::Unhandled`](crate::StepError::Unhandled).
    Error,
    /// The event is queued and delivered again after the configuration has changed.
    Defer,
}

/// The kind of a state node; it decides which children are active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// A leaf without children.
    Atomic,
    /// One child is active at a time.
    Compound,
    /// All children (regions) are active at the same time.
    Parallel,
    /// A leaf that completes its parent.
    Final,
    /// A pseudo-state that restores the configuration of its parent's last visit; never active itself.
    History(HistoryVariant),
}

/// The part of a configuration that a history node restores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryVariant {
    /// Only the direct child that was active.
    Shallow,
    /// All active descendants.
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
    /// Kind of the node; decides whether `initial` is required.
    pub kind: NodeKind,
    /// Index of the enclosing node; `None` for the root.
    pub parent: Option<NodeId>,
    /// Compound: its initial states (required). History: its default, if it has one. The root has one too.
    pub initial: Option<Box<InitialSpec>>,
    /// Actions that run on entry, before the node's invokes start.
    pub entry: Vec<ActionBlueprint>,
    /// Actions that run on exit, before the node's timers and invokes stop.
    pub exit: Vec<ActionBlueprint>,
    /// In document order, across all blocks.
    pub transitions: Vec<TransitionSpec>,
    /// The timers that start on entry; `TransitionTrigger::After` points into this list.
    pub timers: Vec<Delay>,
    /// Invokes that start on entry and stop on exit.
    pub invokes: Vec<InvokeSpec>,
    /// Final states: the data of the parent's done event, or the instance's output.
    pub output: Option<Box<DataTemplate>>,
    /// `None` if nothing was given.
    pub docs: Option<Box<Docs>>,
    /// `tools`, `budget` and `loop` as written, already narrowed by every enclosing state; null if none are given.
    pub policy: Value,
}

/// The initial transition of a compound state, or the default transition of a history node.
#[derive(Clone, Debug, Default)]
pub struct InitialSpec {
    /// Descendants to enter; several if they lie in different regions.
    pub targets: Vec<NodeId>,
    /// Actions that run between the entry of the parent and the entry of the targets.
    pub actions: Vec<ActionBlueprint>,
}

/// The display data of a state or a transition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Docs {
    /// Text for people, shown in tooltips and documentation.
    pub description: Option<String>,
    /// Author-defined tags; those of a top-level final state decide the outcome of the instance.
    pub tags: Vec<String>,
    /// Display name in drawings, instead of the key.
    pub label: Option<String>,
    /// Fill colour in drawings, as the author wrote it.
    pub color: Option<String>,
    /// Coordinates in a drawing, as `(x, y)`.
    pub position: Option<(f64, f64)>,
    /// The whole `meta` as written, including unknown keys.
    pub meta: Value,
}

/// A transition out of a state node.
#[derive(Clone, Debug)]
pub struct TransitionSpec {
    /// Condition that makes the transition a candidate.
    pub trigger: TransitionTrigger,
    /// Expression that must be true for the transition to be taken; `None` always is.
    pub guard: Option<Guard>,
    /// `None` for a targetless transition.
    pub targets: Option<TransitionTargets>,
    /// True if the source is exited and entered again although a target lies within it.
    pub reenter: bool,
    /// Actions that run after all exits and before all entries.
    pub actions: Vec<ActionBlueprint>,
    /// `None` if nothing was given.
    pub docs: Option<Box<Docs>>,
}

/// The targets of a transition: nearly always one node.
pub type TransitionTargets = SmallVec<[NodeId; 2]>;

/// The cause that makes a transition a candidate.
#[derive(Clone, Debug, PartialEq)]
pub enum TransitionTrigger {
    /// An event descriptor: `NAME`, `foo.*` or `*`. `onDone` and friends arrive here as `done.state.<name>`,
    /// `done.invoke.<id>`, `error.invoke.<id>`, `timeout.invoke.<id>`.
    Event(Arc<str>),
    /// Eventless: considered at the end of every microstep.
    Always,
    /// The timer of the same node with this index.
    After(usize),
    /// An item of the `each` of the same node's invoke with this index ended. Such a transition has no target.
    Item {
        /// Index of the invoke within the node.
        invoke: usize,
        /// True for a failed item, false for a completed one.
        failed: bool,
    },
}

/// A boolean expression with its source text.
#[derive(Clone, Debug)]
pub struct Guard {
    /// Compiled expression.
    pub expr: Expr,
    /// The source text: an expression, or the name of an entry in `guards:`.
    pub text: Arc<str>,
}

/// Milliseconds, or an expression that gives milliseconds or a duration string.
#[derive(Clone, Debug)]
pub enum Delay {
    /// Constant delay.
    Millis(u64),
    /// A context expression, with its text for labels.
    Expr(Expr, Arc<str>),
}

/// Data with expressions at its leaves.
#[derive(Clone, Debug)]
pub enum DataTemplate {
    /// Constant, evaluated to itself.
    Literal(Value),
    /// Expression whose result replaces the leaf.
    Expr(Expr),
    /// List whose items are evaluated in order.
    List(Vec<DataTemplate>),
    /// Map whose values are evaluated; keys are constants.
    Map(Vec<(Arc<str>, DataTemplate)>),
}

/// An action and its label in a drawing (the author's name for it, or its type).
#[derive(Clone, Debug)]
pub struct ActionBlueprint {
    /// Text shown in drawings and traces.
    pub label: Arc<str>,
    /// The operation with its operands.
    pub kind: ActionKind,
    /// The label's number, assigned by `Chart::compile`.
    pub(crate) label_id: LabelId,
}

impl ActionBlueprint {
    /// Creates an action; compiling the chart assigns its label id.
    pub fn new(label: impl Into<Arc<str>>, kind: ActionKind) -> Self {
        Self { label: label.into(), kind, label_id: LabelId::default() }
    }
}

/// The operation of an action.
#[derive(Clone, Debug)]
pub enum ActionKind {
    /// All right-hand sides see the context as it was before.
    Assign(Vec<(Slot, Expr)>),
    /// Queues an event on the internal queue of the same macrostep.
    Raise {
        /// Evaluates to the event name.
        event: DataTemplate,
        /// Evaluates to the event data.
        data: DataTemplate,
    },
    /// Sends an event to the parent and to external listeners.
    Emit {
        /// Evaluates to the event name.
        event: DataTemplate,
        /// Evaluates to the event data.
        data: DataTemplate,
    },
    /// Sends an event to a target through the host, possibly delayed.
    Send {
        /// Evaluates to the target, in the syntax of [`SendTarget`](crate::SendTarget).
        target: DataTemplate,
        /// Evaluates to the event name.
        event: DataTemplate,
        /// Evaluates to the event data.
        data: DataTemplate,
        /// Time until delivery; `None` sends at once.
        delay: Option<Delay>,
        /// Evaluates to the id by which [`ActionKind::Cancel`] finds the delayed send.
        id: Option<DataTemplate>,
    },
    /// Cancels delayed sends.
    Cancel {
        /// Evaluates to the `id` of the send.
        id: DataTemplate,
    },
    /// An action of type `invoke`: a handler call without waiting for the result.
    Call {
        /// Service name of the handler.
        handler: Arc<str>,
        /// Evaluates to the handler's input.
        params: DataTemplate,
    },
    /// Writes a message to the log of the instance.
    Log {
        /// Evaluates to the message; anything but a string is written as JSON.
        message: DataTemplate,
    },
    /// Runs the actions of the first branch whose guard is true.
    Choose {
        /// Branches in order; one without a guard is the `else`.
        branches: Vec<(Option<Guard>, Vec<ActionBlueprint>)>,
    },
    /// Runs its actions once per item of a list.
    Foreach(Box<Foreach>),
}

/// `item` and `index` are locals (numbered by nesting); if the context declares the same key it is written as well.
#[derive(Clone, Debug)]
pub struct Foreach {
    /// Evaluates to the list.
    pub array: Expr,
    /// Number of the local that holds the item; the index is the next one.
    pub local: usize,
    /// Context key that also receives the item, if the chart declares one of that name.
    pub item_slot: Option<Slot>,
    /// Context key that also receives the index, if the chart declares one of that name.
    pub index_slot: Option<Slot>,
    /// Actions that run for each item, in order.
    pub actions: Vec<ActionBlueprint>,
}

/// A service call, child chart or agent that runs while its state is active.
#[derive(Clone, Debug)]
pub struct InvokeSpec {
    /// The author's id, or the node's path (with `.1`, `.2` … for the second and later invoke of a state).
    pub id: Arc<str>,
    /// `statechart:…`, `agent:…`, or a service's name.
    pub src: DataTemplate,
    /// Evaluates to the input of the call.
    pub input: DataTemplate,
    /// Per attempt.
    pub timeout: Option<Delay>,
    /// True if the author wrote `onTimeout`; without it a timeout is an `error.invoke.<id>`.
    pub on_timeout: bool,
    /// Policy for failed attempts; `None` makes one attempt.
    pub retry: Option<Retry>,
    /// The list over which it runs, once per item.
    pub each: Option<Box<EachSpec>>,
    /// True with `isolation: worktree`: an agent gets it with its input.
    pub isolated: bool,
    /// Ids of the invokes that only an approval of this one allows. For `rawko verify`.
    pub guards: Vec<Arc<str>>,
}

/// `each` of an invoke: one invocation per item of a list. In `src`, `input` and `timeout` the item is local 0 and its
/// index local 1.
#[derive(Clone, Debug)]
pub struct EachSpec {
    /// Evaluates to the list of items.
    pub list: Expr,
    /// Items that run at the same time; at least 1.
    pub max_concurrent: u32,
    /// Condition under which the `each` completes.
    pub join: JoinRule,
    /// True if the author wrote `onItemError`: a failed item does not fail the whole.
    pub on_item_error: bool,
}

/// The condition under which an `each` is complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JoinRule {
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

/// Retry policy of an invoke.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Retry {
    /// Includes the first attempt.
    pub max_attempts: u32,
    /// Growth of the delay between attempts.
    pub backoff: Backoff,
    /// Delay before the second attempt, in milliseconds.
    pub initial_delay_ms: u64,
    /// Upper bound of the delay, in milliseconds.
    pub max_delay_ms: u64,
}

/// Growth of the delay between attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backoff {
    /// The same delay each time.
    Fixed,
    /// The initial delay times the number of failed attempts.
    Linear,
    /// Twice the previous delay.
    Exponential,
}
