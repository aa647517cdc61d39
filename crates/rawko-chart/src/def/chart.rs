//! A chart as written: typed, every part with its location, nothing resolved. State nodes are already in one list in
//! document order, which numbers them from here on.

use rawko_core::NodeKind;

use crate::source::Span;
use crate::tree::NodeView;

/// The whole chart. `states[0]` is the root.
#[derive(Debug)]
pub(crate) struct ChartDef<'a> {
    pub(crate) body: NodeView<'a>,
    pub(crate) id: Option<&'a str>,
    pub(crate) version: Option<NodeView<'a>>,
    pub(crate) context: Option<NodeView<'a>>,
    pub(crate) context_schema: Option<NodeView<'a>>,
    pub(crate) events: Option<NodeView<'a>>,
    pub(crate) actions: Option<NodeView<'a>>,
    pub(crate) guards: Option<NodeView<'a>>,
    pub(crate) unhandled: Option<NodeView<'a>>,
    pub(crate) max_microsteps: Option<NodeView<'a>>,
    pub(crate) states: Vec<StateDef<'a>>,
}

/// One state node.
#[derive(Debug)]
pub(crate) struct StateDef<'a> {
    pub(crate) key: &'a str,
    pub(crate) key_span: Span,
    pub(crate) body: Span,
    pub(crate) parent: Option<u32>,
    pub(crate) children: Vec<u32>,
    pub(crate) kind: NodeKind,
    /// The blocks with transitions, in document order.
    pub(crate) parts: TransitionBlocks<'a>,
    /// The rest. Boxed, because most states have little of it and a chart has many states.
    more: Option<Box<MoreDef<'a>>>,
}

/// The parts of a state besides transitions and children.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MoreDef<'a> {
    /// The explicit `id:` (in a `regions:` list the `id` is the key instead).
    pub(crate) id: Option<(&'a str, Span)>,
    pub(crate) initial: Option<NodeView<'a>>,
    /// A history state's default and the actions on the way there.
    pub(crate) target: Option<NodeView<'a>>,
    pub(crate) target_actions: Option<NodeView<'a>>,
    pub(crate) entry: Option<NodeView<'a>>,
    pub(crate) exit: Option<NodeView<'a>>,
    pub(crate) output: Option<NodeView<'a>>,
    pub(crate) docs: DocsDef<'a>,
    pub(crate) policy: PolicyDef<'a>,
    pub(crate) isolation: Option<NodeView<'a>>,
}

impl<'a> StateDef<'a> {
    pub(crate) fn new(key: &'a str, key_span: Span, body: Span, parent: Option<u32>) -> Self {
        let (children, parts) = (Vec::new(), TransitionBlocks::default());
        Self { key, key_span, body, parent, children, kind: NodeKind::Atomic, parts, more: None }
    }

    pub(crate) fn more(&self) -> MoreDef<'a> {
        self.more.as_deref().copied().unwrap_or_default()
    }

    pub(crate) fn more_mut(&mut self) -> &mut MoreDef<'a> {
        self.more.get_or_insert_default()
    }
}

/// A block of transitions: its key and its value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TransitionBlock<'a> {
    On(NodeView<'a>),
    Always(Span, NodeView<'a>),
    After(NodeView<'a>),
    Invoke(NodeView<'a>),
    /// `onDone` and `onAllDone` of a state.
    Done(Span, NodeView<'a>),
}

/// The blocks of one state: a linked list, because most have one and none has more than a few.
#[derive(Debug, Default)]
pub(crate) struct TransitionBlocks<'a> {
    first: Option<TransitionBlock<'a>>,
    rest: Option<Box<TransitionBlocks<'a>>>,
}

impl<'a> TransitionBlocks<'a> {
    pub(crate) fn push(&mut self, part: TransitionBlock<'a>) {
        match self.first {
            None => self.first = Some(part),
            Some(_) => self.rest.get_or_insert_default().push(part),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = TransitionBlock<'a>> {
        std::iter::successors(Some(self), |parts| parts.rest.as_deref()).filter_map(|parts| parts.first)
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DocsDef<'a> {
    pub(crate) description: Option<NodeView<'a>>,
    pub(crate) tags: Option<NodeView<'a>>,
    pub(crate) meta: Option<NodeView<'a>>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PolicyDef<'a> {
    pub(crate) tools: Option<NodeView<'a>>,
    pub(crate) budget: Option<NodeView<'a>>,
    pub(crate) loop_control: Option<NodeView<'a>>,
}

/// One transition. The trigger's location is that of the event's name, the delay, or the word `always`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TransitionDef<'a> {
    pub(crate) trigger: Span,
    pub(crate) body: Span,
    pub(crate) target: Option<NodeView<'a>>,
    pub(crate) guard: Option<NodeView<'a>>,
    pub(crate) actions: Option<NodeView<'a>>,
    pub(crate) reenter: bool,
    pub(crate) docs: DocsDef<'a>,
}

/// The trigger of a transition, as written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TriggerDef<'a> {
    Event(&'a str),
    /// The delay as a map's key, or as the value of `delay:`.
    DelayKey(&'a str),
    Delay(NodeView<'a>),
}

#[derive(Clone, Debug)]
pub(crate) struct InvokeDef<'a> {
    pub(crate) body: Span,
    pub(crate) id: Option<(&'a str, Span)>,
    pub(crate) src: Option<NodeView<'a>>,
    pub(crate) input: Option<NodeView<'a>>,
    pub(crate) timeout: Option<NodeView<'a>>,
    pub(crate) retry: Option<NodeView<'a>>,
    pub(crate) guards: Option<NodeView<'a>>,
    pub(crate) isolation: Option<NodeView<'a>>,
    pub(crate) on_done: Option<(Span, NodeView<'a>)>,
    pub(crate) on_error: Option<(Span, NodeView<'a>)>,
    pub(crate) on_timeout: Option<(Span, NodeView<'a>)>,
    pub(crate) each: Option<NodeView<'a>>,
    pub(crate) item: Option<NodeView<'a>>,
    pub(crate) index: Option<NodeView<'a>>,
    pub(crate) max_concurrent: Option<NodeView<'a>>,
    pub(crate) join: Option<NodeView<'a>>,
    pub(crate) on_item_done: Option<(Span, NodeView<'a>)>,
    pub(crate) on_item_error: Option<(Span, NodeView<'a>)>,
    /// The keys that only an `each` has.
    pub(crate) each_keys: Vec<(&'a str, Span)>,
}
