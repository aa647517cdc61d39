//! `Tables`: the runtime form of a chart. Flat vectors indexed by small numbers; the only lookup by name is that of an
//! event, once per step.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::blueprint::{
    ActionBlueprint, DataTemplate, Delay, Guard, InvokeSpec, NodeKind, NodeSpec, TransitionTargets,
};
use crate::ids::{InvokeId, NodeId, TransitionId};

/// A half-open range of another table.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TableRange {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl TableRange {
    pub(crate) fn usize(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }

    pub(crate) fn is_empty(self) -> bool {
        self.start == self.end
    }
}

#[derive(Debug, Default)]
pub(crate) struct Tables {
    pub(crate) nodes: Vec<NodeRow>,
    /// The last descendant of each node, separate because `stateIn` and conflict tests read only this.
    pub(crate) last: Vec<NodeId>,
    pub(crate) transitions: Vec<Transition>,
    pub(crate) handlers: Vec<EventHandler>,
    /// Transition ids grouped by handler; eventless ones grouped by node.
    pub(crate) candidates: Vec<TransitionId>,
    pub(crate) entries: Vec<NodeEntry>,
    /// The innermost nodes that plain moves enter.
    pub(crate) leaves: Vec<NodeId>,
    pub(crate) invokes: Vec<InvokeSpec>,
    /// Transitions for ended items of an `each`; true for failed ones.
    pub(crate) item_handlers: Vec<((InvokeId, bool), Vec<TransitionId>)>,
    pub(crate) events: EventTable,
    /// True if the chart has eventless transitions, or history nodes: otherwise whole passes are skipped.
    pub(crate) any_always: bool,
    pub(crate) any_history: bool,
}

#[derive(Debug)]
pub(crate) struct NodeRow {
    pub(crate) parent: Option<NodeId>,
    pub(crate) kind: NodeKind,
    pub(crate) handlers: TableRange,
    pub(crate) always: TableRange,
    /// This node or the nearest ancestor with handlers, with eventless transitions: selection skips the others.
    pub(crate) next_handling: Option<NodeId>,
    pub(crate) next_eventless: Option<NodeId>,
    /// True if a handler of this node or of an ancestor is plain or only assigns.
    pub(crate) has_shortcut: bool,
    /// This node or the nearest ancestor with side effects on exit.
    pub(crate) nearest_busy: Option<NodeId>,
    /// True if leaving this node may have timers to cancel or invocations to stop.
    pub(crate) has_timers: bool,
    pub(crate) invokes: TableRange,
    pub(crate) entry: Box<[ActionBlueprint]>,
    pub(crate) exit: Box<[ActionBlueprint]>,
    pub(crate) more: Option<Box<NodeMore>>,
}

impl NodeRow {
    #[inline]
    pub(crate) fn more(&self) -> &NodeMore {
        self.more.as_deref().unwrap_or(&NO_MORE)
    }
}

/// Data that most nodes lack and few steps need: separate, so that the nodes a step visits are close in memory.
#[derive(Debug)]
pub(crate) struct NodeMore {
    pub(crate) children: Vec<NodeId>,
    pub(crate) history: Vec<NodeId>,
    pub(crate) initial: Vec<NodeId>,
    pub(crate) initial_actions: Vec<ActionBlueprint>,
    pub(crate) timers: Vec<EntryTimer>,
    pub(crate) output: Option<Box<DataTemplate>>,
    /// The name of its completion event; only nodes with children complete.
    pub(crate) done_event: Option<Arc<str>>,
}

static NO_MORE: NodeMore = NodeMore {
    children: Vec::new(),
    history: Vec::new(),
    initial: Vec::new(),
    initial_actions: Vec::new(),
    timers: Vec::new(),
    output: None,
    done_event: None,
};

impl NodeMore {
    pub(crate) fn boxed(self) -> Option<Box<Self>> {
        let is_empty = self.children.is_empty()
            && self.history.is_empty()
            && self.initial.is_empty()
            && self.initial_actions.is_empty()
            && self.timers.is_empty()
            && self.output.is_none()
            && self.done_event.is_none();
        (!is_empty).then(|| Box::new(self))
    }
}

/// A timer that starts on entry, with the transitions it may take.
#[derive(Debug)]
pub(crate) struct EntryTimer {
    pub(crate) delay: Delay,
    pub(crate) candidates: Box<[TransitionId]>,
}

/// The transitions of one node for one event descriptor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventHandler {
    pub(crate) descriptor: u32,
    pub(crate) candidates: TableRange,
    /// Set if the first candidate is plain (see [`Plain`]), has no guard, and leads to one leaf.
    pub(crate) plain: Option<PlainTarget>,
    /// True if the first candidate only assigns.
    pub(crate) only_assigns: bool,
}

#[derive(Debug)]
pub(crate) struct Transition {
    pub(crate) source: NodeId,
    pub(crate) guard: Option<Guard>,
    pub(crate) route: TransitionRoute,
    pub(crate) reenter: bool,
    pub(crate) actions: Box<[ActionBlueprint]>,
    /// True if it has no target and all its actions are assigns.
    pub(crate) only_assigns: bool,
}

/// The exits and entries of a transition.
#[derive(Debug)]
pub(crate) enum TransitionRoute {
    /// Leaves and enters nothing.
    Targetless,
    /// Known at load: leaves the active nodes below `domain`, then enters these.
    Fixed { domain: NodeId, entries: TableRange, plain: Option<Plain> },
    /// A history node is involved: resolved when it is taken.
    ByHistory { targets: TransitionTargets },
}

/// A move without side effects: the transition has no actions, and none of the nodes it enters has any. If the same
/// holds for the nodes it leaves ([`Tables::is_quiet_to_leave`]), it only replaces the innermost nodes below the domain
/// with these.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plain {
    pub(crate) leaves: TableRange,
}

/// A plain move to one leaf.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlainTarget {
    pub(crate) leaf: NodeId,
    pub(crate) domain: NodeId,
}

/// One node to enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeEntry {
    pub(crate) node: NodeId,
    /// Entered by default: the actions of its `initial` run.
    pub(crate) by_default: bool,
    /// Entered through this history node, which had nothing recorded: the actions of its default run.
    pub(crate) through: Option<NodeId>,
}

/// Up to this many event names are compared one by one.
const SCANNED_NAMES: usize = 4;

/// Event names and the descriptors each of them matches.
#[derive(Debug, Default)]
pub(crate) struct EventTable {
    descriptors: FxHashMap<Arc<str>, u32>,
    names: Vec<Arc<str>>,
    /// By descriptor id, for plain names: the descriptors that an event of that name matches, best first.
    matches: Vec<SmallVec<[u32; 2]>>,
    any_partial: bool,
    star: Option<u32>,
}

/// The descriptors an event matches, best first.
pub(crate) enum Matching<'e> {
    Known(&'e [u32]),
    Found(SmallVec<[u32; 2]>),
}

impl std::ops::Deref for Matching<'_> {
    type Target = [u32];

    #[inline]
    fn deref(&self) -> &[u32] {
        match self {
            Matching::Known(descriptors) => descriptors,
            Matching::Found(descriptors) => descriptors,
        }
    }
}

impl EventTable {
    /// Returns the id of a descriptor: a name, `foo.*` or `*`.
    pub(crate) fn intern(&mut self, descriptor: &Arc<str>) -> u32 {
        if let Some(id) = self.descriptors.get(descriptor) {
            return *id;
        }
        let id = self.names.len() as u32;
        self.names.push(Arc::clone(descriptor));
        self.descriptors.insert(Arc::clone(descriptor), id);
        self.any_partial |= descriptor.ends_with(".*");
        if &**descriptor == "*" {
            self.star = Some(id);
        }
        id
    }

    /// Computes the matches of each known name, after the last `intern`.
    pub(crate) fn seal(&mut self) {
        self.matches = self.names.iter().map(|name| self.match_name(name)).collect();
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|name| &**name).filter(|name| *name != "*" && !name.ends_with(".*"))
    }

    /// Returns the descriptors that an event of this name matches: exact, then the longest partial, then `*`.
    #[inline]
    pub(crate) fn matching(&self, name: &str) -> Matching<'_> {
        match self.known(name) {
            Some(descriptors) => Matching::Known(descriptors),
            None => Matching::Found(self.match_name(name)),
        }
    }

    /// Like `matching`, for a name that occurs in the chart.
    #[inline]
    pub(crate) fn known(&self, name: &str) -> Option<&[u32]> {
        // Comparing with a few names is faster than hashing one.
        let id = if self.names.len() <= SCANNED_NAMES {
            self.names.iter().position(|known| **known == *name)?
        } else {
            *self.descriptors.get(name)? as usize
        };
        Some(&self.matches[id])
    }

    fn match_name(&self, name: &str) -> SmallVec<[u32; 2]> {
        let mut found = SmallVec::new();
        found.extend(self.descriptors.get(name).copied().filter(|id| Some(*id) != self.star));
        if self.any_partial {
            let mut prefix = name;
            loop {
                found.extend(self.descriptors.get(format!("{prefix}.*").as_str()).copied());
                match prefix.rfind('.') {
                    Some(dot) => prefix = &prefix[..dot],
                    None => break,
                }
            }
        }
        found.extend(self.star);
        found
    }
}

impl Tables {
    /// Returns empty tables with capacity for these nodes, to avoid reallocation.
    pub(crate) fn with_room_for(nodes: &[NodeSpec]) -> Self {
        let transitions = nodes.iter().map(|node| node.transitions.len()).sum();
        Self {
            transitions: Vec::with_capacity(transitions),
            nodes: Vec::with_capacity(nodes.len()),
            handlers: Vec::with_capacity(transitions),
            candidates: Vec::with_capacity(transitions),
            entries: Vec::with_capacity(transitions),
            leaves: Vec::with_capacity(transitions),
            ..Self::default()
        }
    }

    #[inline]
    pub(crate) fn node(&self, id: NodeId) -> &NodeRow {
        &self.nodes[id.index()]
    }

    #[inline]
    pub(crate) fn transition(&self, id: TransitionId) -> &Transition {
        &self.transitions[id.index()]
    }

    pub(crate) fn invoke(&self, id: InvokeId) -> &InvokeSpec {
        &self.invokes[id.index()]
    }

    /// Returns the transitions for an item of an `each` that ended.
    pub(crate) fn item_handlers(&self, invoke: InvokeId, failed: bool) -> &[TransitionId] {
        let found = self.item_handlers.iter().find(|(key, _)| *key == (invoke, failed));
        found.map_or(&[], |(_, candidates)| candidates)
    }

    /// Returns true if `node` is `ancestor` or below it.
    #[inline]
    pub(crate) fn is_within(&self, node: NodeId, ancestor: NodeId) -> bool {
        node >= ancestor && node <= self.last[ancestor.index()]
    }

    /// Returns true if leaving this node and its ancestors below `domain` has no side effects.
    #[inline]
    pub(crate) fn is_quiet_to_leave(&self, node: NodeId, domain: NodeId) -> bool {
        self.node(node).nearest_busy.is_none_or(|busy| busy <= domain)
    }

    /// Returns the proper ancestors, innermost first.
    pub(crate) fn ancestors(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        std::iter::successors(self.node(node).parent, |id| self.node(*id).parent)
    }
}
