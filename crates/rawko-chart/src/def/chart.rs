//! A chart as written: typed, every part with its location, nothing resolved. State nodes are already in one list in
//! document order, which numbers them from here on.

use rawko_core::NodeKind;

use crate::source::Span;
use crate::tree::View;

/// The whole chart. `states[0]` is the root.
#[derive(Debug)]
pub(crate) struct ChartDef<'a> {
    pub(crate) body: View<'a>,
    pub(crate) id: Option<&'a str>,
    pub(crate) version: Option<View<'a>>,
    pub(crate) context: Option<View<'a>>,
    pub(crate) context_schema: Option<View<'a>>,
    pub(crate) events: Option<View<'a>>,
    pub(crate) actions: Option<View<'a>>,
    pub(crate) guards: Option<View<'a>>,
    pub(crate) unhandled: Option<View<'a>>,
    pub(crate) max_microsteps: Option<View<'a>>,
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
    pub(crate) parts: Parts<'a>,
    /// The rest. Boxed, because most states have little of it and a chart has many states.
    more: Option<Box<MoreDef<'a>>>,
}

/// The parts of a state besides transitions and children.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MoreDef<'a> {
    /// The explicit `id:` (in a `regions:` list the `id` is the key instead).
    pub(crate) id: Option<(&'a str, Span)>,
    pub(crate) initial: Option<View<'a>>,
    /// A history state's default and the actions on the way there.
    pub(crate) target: Option<View<'a>>,
    pub(crate) target_actions: Option<View<'a>>,
    pub(crate) entry: Option<View<'a>>,
    pub(crate) exit: Option<View<'a>>,
    pub(crate) output: Option<View<'a>>,
    pub(crate) docs: DocsDef<'a>,
    pub(crate) policy: PolicyDef<'a>,
}

impl<'a> StateDef<'a> {
    pub(crate) fn new(key: &'a str, key_span: Span, body: Span, parent: Option<u32>) -> Self {
        let (children, parts) = (Vec::new(), Parts::default());
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
pub(crate) enum Part<'a> {
    On(View<'a>),
    Always(Span, View<'a>),
    After(View<'a>),
    Invoke(View<'a>),
    /// `onDone` and `onAllDone` of a state.
    Done(Span, View<'a>),
}

/// The blocks of one state: a linked list, because most have one and none has more than a few.
#[derive(Debug, Default)]
pub(crate) struct Parts<'a> {
    first: Option<Part<'a>>,
    rest: Option<Box<Parts<'a>>>,
}

impl<'a> Parts<'a> {
    pub(crate) fn push(&mut self, part: Part<'a>) {
        match self.first {
            None => self.first = Some(part),
            Some(_) => self.rest.get_or_insert_default().push(part),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Part<'a>> {
        std::iter::successors(Some(self), |parts| parts.rest.as_deref()).filter_map(|parts| parts.first)
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DocsDef<'a> {
    pub(crate) description: Option<View<'a>>,
    pub(crate) tags: Option<View<'a>>,
    pub(crate) meta: Option<View<'a>>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PolicyDef<'a> {
    pub(crate) tools: Option<View<'a>>,
    pub(crate) budget: Option<View<'a>>,
    pub(crate) loop_control: Option<View<'a>>,
}

/// One transition. The trigger's location is that of the event's name, the delay, or the word `always`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TransitionDef<'a> {
    pub(crate) trigger: Span,
    pub(crate) body: Span,
    pub(crate) target: Option<View<'a>>,
    pub(crate) guard: Option<View<'a>>,
    pub(crate) actions: Option<View<'a>>,
    pub(crate) reenter: bool,
    pub(crate) docs: DocsDef<'a>,
}

/// The trigger of a transition, as written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TriggerDef<'a> {
    Event(&'a str),
    /// The delay as a map's key, or as the value of `delay:`.
    DelayKey(&'a str),
    Delay(View<'a>),
}

#[derive(Clone, Debug)]
pub(crate) struct InvokeDef<'a> {
    pub(crate) body: Span,
    pub(crate) id: Option<(&'a str, Span)>,
    pub(crate) src: Option<View<'a>>,
    pub(crate) input: Option<View<'a>>,
    pub(crate) timeout: Option<View<'a>>,
    pub(crate) retry: Option<View<'a>>,
    pub(crate) guards: Option<View<'a>>,
    pub(crate) isolation: Option<View<'a>>,
    pub(crate) on_done: Option<(Span, View<'a>)>,
    pub(crate) on_error: Option<(Span, View<'a>)>,
    pub(crate) on_timeout: Option<(Span, View<'a>)>,
    pub(crate) each: Option<View<'a>>,
    pub(crate) item: Option<View<'a>>,
    pub(crate) index: Option<View<'a>>,
    pub(crate) max_concurrent: Option<View<'a>>,
    pub(crate) join: Option<View<'a>>,
    pub(crate) on_item_done: Option<(Span, View<'a>)>,
    pub(crate) on_item_error: Option<(Span, View<'a>)>,
    /// The keys that only an `each` has.
    pub(crate) each_keys: Vec<(&'a str, Span)>,
}
