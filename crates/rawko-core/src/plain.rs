//! Finds the moves without side effects at load (see [`Plain`]). Many transitions of most charts are plain;
//! precomputing this saves every step from checking each node it leaves or enters.

use crate::blueprint::NodeKind;
use crate::ids::NodeId;
use crate::tables::{NodeRow, Plain, PlainTarget, TableRange, Tables, TransitionRoute};

/// Marks plain routes, handlers with a plain route to a single leaf, and nodes with work to do on exit.
pub(crate) fn mark(tables: &mut Tables) {
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
        tables.handlers[index].plain = only_leaf(tables, tables.handlers[index].candidates);
    }
    // Parents come first, so their results are available to their children.
    for index in 0..tables.nodes.len() {
        let node = &tables.nodes[index];
        let parent = node.parent.map(|parent| tables.node(parent));
        let handles = tables.handlers[node.handlers.usize()].iter().any(|handler| handler.plain.is_some());
        let has_plain = handles || parent.is_some_and(|parent| parent.has_plain);
        let is_busy = is_busy_to_leave(node);
        let nearest_busy =
            if is_busy { Some(NodeId(index as u32)) } else { parent.and_then(|parent| parent.nearest_busy) };
        tables.nodes[index].has_plain = has_plain;
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

    /// Removes every mark from a chart, so that the full algorithm runs.
    fn unmarked(mut chart: Chart) -> Chart {
        for transition in &mut chart.tables.transitions {
            if let TransitionRoute::Fixed { plain, .. } = &mut transition.route {
                *plain = None;
            }
        }
        chart.tables.handlers.iter_mut().for_each(|handler| handler.plain = None);
        chart.tables.nodes.iter_mut().for_each(|node| node.has_plain = false);
        chart
    }

    #[test]
    fn plain_moves_give_what_the_whole_algorithm_gives() {
        let mut marked = 0;
        for seed in 0..100 {
            let compiled = || Chart::compile(calm(seed)).unwrap();
            let (quick, whole) = (compiled(), unmarked(compiled()));
            marked += quick.tables.handlers.iter().filter(|handler| handler.plain.is_some()).count();
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
        assert!(marked > 100, "random charts have plain moves: {marked}");
    }
}
