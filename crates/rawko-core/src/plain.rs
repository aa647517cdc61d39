//! Finds the moves without side effects (see [`Plain`]) and the transitions that only assign at load. Many transitions
//! of most charts are one or the other; precomputing this saves every step from checking each node it leaves or enters.

use crate::blueprint::{ActionKind, NodeKind};
use crate::ids::NodeId;
use crate::tables::{NodeRow, Plain, PlainTarget, TableRange, Tables, TransitionRoute};

/// Marks plain routes and assigning transitions, handlers that begin with one, and nodes with work to do on exit.
pub(crate) fn mark(tables: &mut Tables) {
    for transition in &mut tables.transitions {
        let assigns = transition.actions.iter().all(|action| matches!(action.kind, ActionKind::Assign(_)));
        transition.only_assigns = assigns && matches!(transition.route, TransitionRoute::Targetless);
    }
    for index in 0..tables.transitions.len() {
        let transition = &tables.transitions[index];
        let TransitionRoute::Fixed { domain, entries, .. } = transition.route else { continue };
        let entered = || tables.entries[entries.usize()].iter().map(|entry| entry.node);
        let is_quiet = entered().all(|node| !is_busy_to_enter(tables.node(node)));
        if entries.is_empty() || !is_quiet || !transition.actions.is_empty() {
            continue;
        }
        let start = tables.leaves.len() as u32;
        tables.leaves.extend(entered().filter(|node| tables.nodes[node.index()].kind == NodeKind::Atomic));
        let leaves = TableRange { start, end: tables.leaves.len() as u32 };
        tables.transitions[index].route =
            TransitionRoute::Fixed { domain, entries, plain: Some(Plain { leaves }) };
    }
    for index in 0..tables.handlers.len() {
        let candidates = tables.handlers[index].candidates;
        let first = tables.candidates[candidates.usize()].first();
        tables.handlers[index].only_assigns = first.is_some_and(|id| tables.transition(*id).only_assigns);
        tables.handlers[index].plain = only_leaf(tables, candidates);
    }
    // Parents come first, so their results are available to their children.
    for index in 0..tables.nodes.len() {
        let node = &tables.nodes[index];
        let parent = node.parent.map(|parent| tables.node(parent));
        let mut handlers = tables.handlers[node.handlers.usize()].iter();
        let handles = handlers.any(|handler| handler.plain.is_some() || handler.only_assigns);
        let has_shortcut = handles || parent.is_some_and(|parent| parent.has_shortcut);
        let is_busy = is_busy_to_leave(node);
        let nearest_busy =
            if is_busy { Some(NodeId(index as u32)) } else { parent.and_then(|parent| parent.nearest_busy) };
        tables.nodes[index].has_shortcut = has_shortcut;
        tables.nodes[index].nearest_busy = nearest_busy;
    }
}

/// Returns true if leaving a node has side effects.
fn is_busy_to_leave(node: &NodeRow) -> bool {
    !node.exit.is_empty() || node.has_timers || !node.invokes.is_empty() || !node.more().history.is_empty()
}

/// Returns true if entering a node has side effects.
fn is_busy_to_enter(node: &NodeRow) -> bool {
    let acts = !(node.entry.is_empty() && node.more().initial_actions.is_empty());
    acts || node.has_timers || !node.invokes.is_empty() || node.kind == NodeKind::Final
}

/// Returns the target of the first candidate if it is unguarded and plain, and no eventless transition applies there.
fn only_leaf(tables: &Tables, candidates: TableRange) -> Option<PlainTarget> {
    let first = tables.transition(*tables.candidates[candidates.usize()].first()?);
    let TransitionRoute::Fixed { domain, plain: Some(plain), .. } = &first.route else { return None };
    let [leaf] = tables.leaves[plain.leaves.usize()] else { return None };
    let mut line = std::iter::once(leaf).chain(tables.ancestors(leaf));
    let is_quiet = line.all(|node| tables.node(node).always.is_empty());
    (first.guard.is_none() && is_quiet).then_some(PlainTarget { leaf, domain: *domain })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{self, Dice};
    use crate::schema::Schema;
    use crate::tables::EventHandler;
    use crate::{Blueprint, Chart, TransitionTrigger, Value, start, start_traced, step, step_traced};

    /// A random chart with actions, timers, invokes and guards removed at random places.
    fn calm(seed: u64) -> Blueprint {
        let mut dice = Dice::new(seed);
        let mut blueprint = random::blueprint(&mut dice);
        let is_eventless = dice.below(4) == 0;
        for node in &mut blueprint.nodes {
            if dice.below(8) > 0 {
                (node.entry, node.exit, node.timers, node.invokes) = Default::default();
                node.initial.iter_mut().for_each(|initial| initial.actions.clear());
                node.transitions
                    .retain(|transition| !matches!(transition.trigger, TransitionTrigger::After(_)));
            }
            node.transitions
                .retain(|transition| is_eventless || transition.trigger != TransitionTrigger::Always);
            for transition in &mut node.transitions {
                if dice.below(4) > 0 {
                    (transition.actions, transition.guard) = Default::default();
                }
            }
        }
        blueprint
    }

    /// A random chart in which most transitions only assign, with guards, eventless transitions and a schema left.
    fn counting(seed: u64) -> Blueprint {
        let mut dice = Dice::new(seed);
        let mut blueprint = random::blueprint(&mut dice);
        for transition in blueprint.nodes.iter_mut().flat_map(|node| &mut node.transitions) {
            if transition.trigger != TransitionTrigger::Always && dice.below(4) > 0 {
                transition.targets = None;
                transition.actions.retain(|action| matches!(action.kind, ActionKind::Assign(_)));
            }
        }
        for node in &mut blueprint.nodes {
            if dice.below(4) > 0 {
                (node.timers, node.invokes) = Default::default();
                let kept = |trigger: &TransitionTrigger| {
                    matches!(trigger, TransitionTrigger::Always | TransitionTrigger::Event(_))
                };
                node.transitions.retain(|transition| kept(&transition.trigger));
            }
        }
        if dice.below(2) == 0 {
            let limit = serde_json::json!({"properties": {"n": {"maximum": 4}}});
            blueprint.context_schema = Some(Schema::compile(&Value::from_json(limit)).0);
        }
        blueprint
    }

    /// Removes every mark from a chart, so that the full algorithm runs.
    fn unmarked(mut chart: Chart) -> Chart {
        for transition in &mut chart.tables.transitions {
            if let TransitionRoute::Fixed { plain, .. } = &mut transition.route {
                *plain = None;
            }
        }
        chart.tables.nodes.iter_mut().for_each(|node| node.has_shortcut = false);
        chart
    }

    #[test]
    fn plain_moves_give_what_the_whole_algorithm_gives() {
        let marked = compare(calm, |handler| handler.plain.is_some());
        assert!(marked > 100, "random charts have plain moves: {marked}");
    }

    #[test]
    fn steps_that_only_assign_give_what_the_whole_algorithm_gives() {
        let marked = compare(counting, |handler| handler.only_assigns);
        assert!(marked > 100, "random charts have transitions that only assign: {marked}");
    }

    /// Takes the same steps with and without marks; returns the number of handlers with a mark.
    fn compare(make: fn(u64) -> Blueprint, is_marked: fn(&EventHandler) -> bool) -> usize {
        let mut marked = 0;
        for seed in 0..100 {
            let compiled = || Chart::compile(make(seed)).unwrap();
            let (quick, whole) = (compiled(), unmarked(compiled()));
            marked += quick.tables.handlers.iter().filter(|handler| is_marked(handler)).count();
            let started = start(&quick, Value::Null, 0);
            assert_eq!(started, start(&whole, Value::Null, 0), "seed {seed}");
            assert_eq!(
                start_traced(&quick, Value::Null, 0),
                start_traced(&whole, Value::Null, 0),
                "seed {seed}"
            );
            let Ok((mut snapshot, _)) = started else { continue };
            let (mut dice, mut now_ms) = (Dice::new(seed), 0);
            for _ in 0..40 {
                let event = random::delivery(&mut dice, &snapshot, &mut now_ms);
                let (mut a, mut b, mut c) = (snapshot.clone(), snapshot.clone(), snapshot.clone());
                let traced = step_traced(&quick, &mut a, event.clone(), now_ms);
                assert_eq!(traced, step_traced(&whole, &mut b, event.clone(), now_ms), "seed {seed}");
                let untraced = step(&whole, &mut c, event.clone(), now_ms);
                assert_eq!(step(&quick, &mut snapshot, event, now_ms), untraced, "seed {seed}");
                assert_eq!((&a, &b, &c), (&snapshot, &snapshot, &snapshot), "seed {seed}");
            }
        }
        marked
    }
}
