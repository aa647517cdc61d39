//! Blueprint → [`Chart`]: numbers everything, lays out the tables, and computes every route that is known at load, so
//! that a step only follows indexes.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use crate::blueprint::{Blueprint, NodeKind, NodeSpec, TransitionTrigger};
use crate::chart::{Chart, NodeInfo, TransitionInfo};
use crate::describe::Describer;
use crate::entry_set::{EntrySet, NothingRecorded, Recorded};
use crate::ids::{InvokeId, NodeId, TransitionId};
use crate::labels;
use crate::plain;
use crate::rules::ContextRules;
use crate::tables::{
    EntryTimer, EventHandler, NodeEntry, NodeMore, NodeRow, TableRange, Tables, Transition, TransitionRoute,
};

mod error;

pub use error::CompileError;

/// More nodes than any practical chart; keeps ids small.
pub const NODES_MAX: usize = 1 << 20;

/// So that one list can be converted to the other in place.
const _: () = assert!(size_of::<NodeInfo>() <= size_of::<NodeSpec>());

impl Chart {
    /// Compiles a blueprint.
    pub fn compile(mut blueprint: Blueprint) -> Result<Chart, CompileError> {
        check_shape(&blueprint.nodes)?;
        let paths = paths(&blueprint.nodes);
        let children = children(&blueprint.nodes);
        let labels = labels::number(&mut blueprint.nodes);
        // The largest first: they may reuse the memory freed by reading the chart.
        let mut describer = Describer::with_room_for(&blueprint.nodes);
        let mut tables = Tables::with_room_for(&blueprint.nodes);
        tables.last = last_descendants(&children);
        // One pass that splits each spec, so that a node's description can replace its spec in place.
        let specs = blueprint.nodes.into_iter().enumerate();
        let nodes: Vec<NodeInfo> = specs
            .map(|(index, mut spec)| {
                let id = NodeId(index as u32);
                let (info, infos) = describer.describe(id, &mut spec, &paths[index], &children[index]);
                lay_out(&mut tables, id, spec, infos, &children[index]);
                info
            })
            .collect();
        let transitions = describer.finish();
        tables.events.seal();
        check_history(&tables, &paths)?;
        fix_routes(&mut tables);
        plain::mark(&mut tables);
        Ok(Chart {
            id: blueprint.id.into(),
            version: blueprint.version.into(),
            hash: blueprint.hash,
            hash_hex: blueprint.hash.iter().map(|byte| format!("{byte:02x}")).collect(),
            description: blueprint.description,
            unhandled: blueprint.unhandled,
            microsteps_max: blueprint.microsteps_max,
            by_path: paths.into_iter().zip((0..).map(NodeId)).collect::<FxHashMap<_, _>>(),
            nodes,
            transitions,
            events: blueprint.events,
            context_rules: blueprint
                .context_schema
                .map(|schema| Box::new(ContextRules::new(schema, &blueprint.context))),
            context_names: blueprint.context.iter().map(|key| Arc::clone(&key.name)).collect(),
            context_declared: blueprint.context.iter().map(|key| key.declared).collect(),
            context_initial: blueprint.context.into_iter().map(|key| key.initial).collect(),
            labels,
            tables,
        })
    }
}

fn check_shape(nodes: &[NodeSpec]) -> Result<(), CompileError> {
    if nodes.len() < 2 {
        return Err(CompileError::Empty);
    }
    if nodes.len() > NODES_MAX {
        return Err(CompileError::TooManyNodes { found: nodes.len(), max: NODES_MAX });
    }
    // Preorder: each node's parent is on the chain of the node before it.
    let mut chain: Vec<u32> = Vec::new();
    for (index, spec) in nodes.iter().enumerate() {
        match spec.parent {
            None if index == 0 => {}
            Some(parent) => {
                while chain.last().is_some_and(|last| *last != parent.0) {
                    chain.pop();
                }
                if chain.is_empty() {
                    return Err(CompileError::NotPreorder(spec.key.to_string()));
                }
                check_parent(&nodes[parent.index()])?;
            }
            None => return Err(CompileError::NotPreorder(spec.key.to_string())),
        }
        chain.push(index as u32);
        let in_range = |ids: &[NodeId]| ids.iter().all(|id| id.index() < nodes.len());
        let targets_known = spec.transitions.iter().all(|t| t.targets.as_deref().is_none_or(in_range))
            && spec.initial.as_ref().is_none_or(|initial| in_range(&initial.targets));
        if !targets_known {
            return Err(CompileError::UnknownNode(spec.key.to_string()));
        }
        let no_initial = spec.initial.as_ref().is_none_or(|initial| initial.targets.is_empty());
        if spec.kind == NodeKind::Compound && no_initial {
            return Err(CompileError::NoInitial(spec.key.to_string()));
        }
    }
    Ok(())
}

fn check_parent(parent: &NodeSpec) -> Result<(), CompileError> {
    let what = match parent.kind {
        NodeKind::Compound | NodeKind::Parallel => return Ok(()),
        NodeKind::Atomic => "atomic state",
        NodeKind::Final => "final state",
        NodeKind::History(_) => "history node",
    };
    Err(CompileError::UnexpectedChildren(parent.key.to_string(), what))
}

/// A history node without a default falls back to its parent's initial; if that names the history node again there is
/// no target.
fn check_history(tables: &Tables, paths: &[Arc<str>]) -> Result<(), CompileError> {
    for (index, node) in tables.nodes.iter().enumerate() {
        if !matches!(node.kind, NodeKind::History(_)) {
            continue;
        }
        let mut at = NodeId(index as u32);
        for _ in 0..=tables.nodes.len() {
            let here = tables.node(at);
            if !matches!(here.kind, NodeKind::History(_) | NodeKind::Compound) {
                break;
            }
            let next = match (&here.more().initial[..], here.parent) {
                ([first, ..], _) => *first,
                ([], Some(parent)) => match tables.node(parent).more().initial.first() {
                    Some(first) => *first,
                    None => break,
                },
                ([], None) => break,
            };
            if next == NodeId(index as u32) {
                return Err(CompileError::CircularHistory(paths[index].to_string()));
            }
            at = next;
        }
    }
    Ok(())
}

fn paths(nodes: &[NodeSpec]) -> Vec<Arc<str>> {
    let mut paths: Vec<Arc<str>> = Vec::with_capacity(nodes.len());
    for spec in nodes {
        let path: Arc<str> = match spec.parent {
            Some(parent) if parent != NodeId::ROOT => {
                format!("{}.{}", paths[parent.index()], spec.key).into()
            }
            Some(_) => Arc::clone(&spec.key),
            None => "".into(),
        };
        paths.push(path);
    }
    paths
}

fn children(nodes: &[NodeSpec]) -> Vec<Vec<NodeId>> {
    let mut children = vec![Vec::new(); nodes.len()];
    for (index, spec) in nodes.iter().enumerate() {
        if let Some(parent) = spec.parent {
            children[parent.index()].push(NodeId(index as u32));
        }
    }
    children
}

fn last_descendants(children: &[Vec<NodeId>]) -> Vec<NodeId> {
    let mut last: Vec<NodeId> = (0..children.len() as u32).map(NodeId).collect();
    for index in (0..children.len()).rev() {
        if let Some(child) = children[index].last() {
            last[index] = last[child.index()];
        }
    }
    last
}

fn lay_out(tables: &mut Tables, id: NodeId, spec: NodeSpec, infos: &[TransitionInfo], children: &[NodeId]) {
    let first_transition = tables.transitions.len() as u32;
    for transition in spec.transitions {
        tables.transitions.push(Transition {
            source: id,
            guard: transition.guard,
            // Holds the targets until `fix_routes`.
            route: match transition.targets {
                None => TransitionRoute::Targetless,
                Some(targets) => TransitionRoute::ByHistory { targets },
            },
            reenter: transition.reenter,
            only_assigns: false,
            actions: transition.actions.into(),
        });
    }
    let numbered = || infos.iter().zip(first_transition..).map(|(info, n)| (&info.trigger, TransitionId(n)));
    let handlers = lay_out_handlers(tables, numbered());
    let always = push_candidates(
        &mut tables.candidates,
        numbered().filter(|(trigger, _)| **trigger == TransitionTrigger::Always).map(|(_, id)| id),
    );
    tables.any_always |= !always.is_empty();
    let timers: Vec<EntryTimer> = spec
        .timers
        .into_iter()
        .enumerate()
        .map(|(index, delay)| EntryTimer {
            delay,
            candidates: numbered()
                .filter(|(t, _)| **t == TransitionTrigger::After(index))
                .map(|(_, id)| id)
                .collect(),
        })
        .collect();
    let invokes = TableRange {
        start: tables.invokes.len() as u32,
        end: (tables.invokes.len() + spec.invokes.len()) as u32,
    };
    for (trigger, transition) in infos.iter().zip(first_transition..).map(|(info, n)| (&info.trigger, n)) {
        if let TransitionTrigger::Item { invoke, failed } = trigger {
            let key = (InvokeId(invokes.start + *invoke as u32), *failed);
            match tables.item_handlers.iter_mut().find(|(known, _)| *known == key) {
                Some((_, known)) => known.push(TransitionId(transition)),
                None => tables.item_handlers.push((key, vec![TransitionId(transition)])),
            }
        }
    }
    tables.invokes.extend(spec.invokes);
    let is_history = matches!(spec.kind, NodeKind::History(_));
    tables.any_history |= is_history;
    let (initial, initial_actions) = spec.initial.map(|i| (i.targets, i.actions)).unwrap_or_default();
    let has_timers = !timers.is_empty();
    let more = NodeMore {
        // History nodes are separated below, once all kinds are known.
        children: children.to_vec(),
        history: Vec::new(),
        initial,
        initial_actions,
        timers,
        output: spec.output,
        done_event: match spec.kind {
            NodeKind::Compound | NodeKind::Parallel => Some(format!("done.state.{}", spec.name).into()),
            NodeKind::Atomic | NodeKind::Final | NodeKind::History(_) => None,
        },
    };
    tables.nodes.push(NodeRow {
        parent: spec.parent,
        kind: spec.kind,
        next_handling: nearest(tables, id, spec.parent, !handlers.is_empty(), |node| node.next_handling),
        next_eventless: nearest(tables, id, spec.parent, !always.is_empty(), |node| node.next_eventless),
        handlers,
        always,
        has_shortcut: false,
        nearest_busy: None,
        has_timers,
        invokes,
        entry: spec.entry.into(),
        exit: spec.exit.into(),
        more: more.boxed(),
    });
}

/// Returns the node itself if it matches, else its parent's result, which is already computed.
fn nearest(
    tables: &Tables,
    id: NodeId,
    parent: Option<NodeId>,
    is_here: bool,
    above: impl Fn(&NodeRow) -> Option<NodeId>,
) -> Option<NodeId> {
    if is_here { Some(id) } else { parent.and_then(|parent| above(tables.node(parent))) }
}

fn lay_out_handlers<'a>(
    tables: &mut Tables,
    transitions: impl Iterator<Item = (&'a TransitionTrigger, TransitionId)>,
) -> TableRange {
    let mut found: SmallVec<[(u32, TransitionId); 8]> = SmallVec::new();
    for (trigger, id) in transitions {
        if let TransitionTrigger::Event(name) = trigger {
            found.push((tables.events.intern(name), id));
        }
    }
    let start = tables.handlers.len() as u32;
    // Grouped by descriptor; within one, document order is kept.
    found.sort_by_key(|(descriptor, _)| *descriptor);
    for group in found.chunk_by(|(one, _), (other, _)| one == other) {
        let candidates = push_candidates(&mut tables.candidates, group.iter().map(|(_, id)| *id));
        tables.handlers.push(EventHandler {
            descriptor: group[0].0,
            candidates,
            plain: None,
            only_assigns: false,
        });
    }
    TableRange { start, end: tables.handlers.len() as u32 }
}

fn push_candidates(
    candidates: &mut Vec<TransitionId>,
    ids: impl Iterator<Item = TransitionId>,
) -> TableRange {
    let start = candidates.len() as u32;
    candidates.extend(ids);
    TableRange { start, end: candidates.len() as u32 }
}

fn fix_routes(tables: &mut Tables) {
    let with_history: Vec<usize> =
        if tables.any_history { (0..tables.nodes.len()).collect() } else { Vec::new() };
    for index in with_history {
        let all = &tables.nodes[index].more().children;
        let (history, children) =
            all.iter().partition(|id| matches!(tables.node(**id).kind, NodeKind::History(_)));
        if let Some(more) = &mut tables.nodes[index].more {
            (more.history, more.children) = (history, children);
        }
    }
    for index in 0..tables.transitions.len() {
        let TransitionRoute::ByHistory { targets } = &tables.transitions[index].route else { continue };
        let (domain, entries, by_history) =
            route(tables, &tables.transitions[index], targets, &NothingRecorded);
        if !by_history {
            let start = tables.entries.len() as u32;
            tables.entries.extend(entries);
            let entries = TableRange { start, end: tables.entries.len() as u32 };
            tables.transitions[index].route = TransitionRoute::Fixed { domain, entries, plain: None };
        }
    }
}

/// Returns a transition's domain and its entries; the flag is true if a history node was involved.
fn route<R: Recorded>(
    tables: &Tables,
    transition: &Transition,
    targets: &[NodeId],
    history: &R,
) -> (NodeId, SmallVec<[NodeEntry; 4]>, bool) {
    // Most transitions lead to one leaf beside their source: nothing to compute.
    if let [target] = *targets
        && matches!(tables.node(target).kind, NodeKind::Atomic | NodeKind::Final)
    {
        let domain = domain(tables, transition, targets);
        if tables.node(target).parent == Some(domain) && tables.node(domain).kind == NodeKind::Compound {
            let entry = NodeEntry { node: target, by_default: false, through: None };
            return (domain, smallvec![entry], false);
        }
    }
    let mut set = EntrySet::new(tables, history);
    let effective = set.effective_targets(targets);
    let domain = domain(tables, transition, &effective);
    let met = set.met_history;
    let (entries, met_on_entry) = set.enter(targets, domain);
    (domain, entries.into(), met || met_on_entry)
}

/// Returns the domain of a transition to history, from the current records; its entries are determined after the exits.
pub(crate) fn domain_by_history<R: Recorded>(
    tables: &Tables,
    transition: &Transition,
    targets: &[NodeId],
    history: &R,
) -> NodeId {
    let effective = EntrySet::new(tables, history).effective_targets(targets);
    domain(tables, transition, &effective)
}

/// Returns the innermost node that stays active: the source itself unless it is left, else the least common ancestor,
/// which may be a parallel (DESIGN section 3). The root is never left.
fn domain(tables: &Tables, transition: &Transition, targets: &[NodeId]) -> NodeId {
    let source = transition.source;
    if !transition.reenter && targets.iter().all(|target| tables.is_within(*target, source)) {
        return source;
    }
    tables
        .ancestors(source)
        .find(|ancestor| {
            targets.iter().all(|target| *target != *ancestor && tables.is_within(*target, *ancestor))
        })
        .unwrap_or(NodeId::ROOT)
}
