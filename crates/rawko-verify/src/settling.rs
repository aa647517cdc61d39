//! Eventless loops whose rounds differ in nothing but context. With unknown data such a loop is tried as often as a round
//! changes the context.

use rawko_core::expr::{Expr, LoopBound};
use rawko_core::{ActionKind, Blueprint, NodeKind, TransitionSpec, TransitionTrigger};

use crate::parts;
use crate::progress::{MarkReader, is_usable};

/// Returns the guard of an eventless transition that ends by itself: each round advances the key that the guard tests, and
/// nothing else in the same macrostep sets it back. It is the only eventless transition and does nothing but assign, so that
/// its rounds follow one another and differ in nothing but context: one with the same context as the round before adds
/// nothing. How many rounds there are is not known, so that a step may still have too many of them.
pub(crate) fn settling(blueprint: &Blueprint) -> Option<String> {
    let all = || blueprint.nodes.iter().flat_map(|node| &node.transitions);
    let mut eventless = all().filter(|transition| transition.trigger == TransitionTrigger::Always);
    let transition = eventless.next().filter(|transition| transition.targets.is_none())?;
    let guard = &transition.guard.as_ref()?.expr;
    let mut guards: Vec<&str> =
        all().filter_map(|other| other.guard.as_ref()).map(|guard| guard.expr.text()).collect();
    let mut raises = false;
    for node in &blueprint.nodes {
        parts::each_action_of(node, &mut |kind| match kind {
            ActionKind::Raise { .. } => raises = true,
            ActionKind::Choose { branches } => {
                guards.extend(branches.iter().filter_map(|(guard, _)| Some(guard.as_ref()?.expr.text())));
            }
            _ => {}
        });
    }
    let marks = MarkReader { blueprint, bounds: &[] };
    let is_plain = !raises
        && !guard.fails_by_value()
        && is_repeatable(guard)
        && transition
            .actions
            .iter()
            .all(|action| only_assigns(&action.kind) && !marks.may_fail(&action.kind))
        && eventless.next().is_none()
        && guards.iter().filter(|text| **text == guard.text()).count() == 1
        && blueprint.nodes.iter().all(|node| node.kind != NodeKind::Parallel);
    let ends = |bound: &LoopBound| {
        let marks = MarkReader { blueprint, bounds: std::slice::from_ref(bound) };
        let own = marks.of(&transition.actions);
        let is_inside =
            |other: &&TransitionSpec| !std::ptr::eq(*other, transition) && !is_from_outside(&other.trigger);
        let others = all().filter(is_inside).map(|other| marks.of(&other.actions));
        let states = blueprint.nodes.iter().flat_map(|node| [marks.entry(node), marks.of(&node.exit)]);
        let is_reset = others.chain(states).any(|marks| marks.resets != 0);
        is_usable(blueprint, bound) && own.advances != 0 && own.resets == 0 && !is_reset
    };
    (is_plain && guard.loop_bounds(true).iter().any(ends)).then(|| guard.text().to_owned())
}

/// Returns true for an action that has no effect but on the context, and there the same one in the same context.
fn only_assigns(kind: &ActionKind) -> bool {
    match kind {
        ActionKind::Assign(updates) => updates.iter().all(|(_, expr)| is_repeatable(expr)),
        ActionKind::Log { .. } => true,
        ActionKind::Raise { .. }
        | ActionKind::Send { .. }
        | ActionKind::Cancel { .. }
        | ActionKind::Emit { .. }
        | ActionKind::Call { .. }
        | ActionKind::Choose { .. }
        | ActionKind::Foreach(_) => false,
    }
}

/// Returns true if an expression has the same value wherever context and states are the same.
fn is_repeatable(expr: &Expr) -> bool {
    !expr.reads_world() && !expr.reads_event()
}

/// Returns true for triggers that only something outside the macrostep causes, once.
fn is_from_outside(trigger: &TransitionTrigger) -> bool {
    match trigger {
        TransitionTrigger::Event(name) => {
            let is_internal = ["done.", "error."].iter().any(|prefix| name.starts_with(prefix));
            !is_internal && !name.ends_with('*')
        }
        TransitionTrigger::After(_) => true,
        TransitionTrigger::Always | TransitionTrigger::Item { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use rawko_chart::{Registry, SourceFile};

    use crate::model::Model;

    /// A queue that admits what fits, in rounds without an event.
    const QUEUE: &str = "
id: queue
initial: open
context: {waiting: [], running: [], most: 1}
states:
  open:
    always:
      guard: length(context.running) < context.most and length(context.waiting) > 0
      actions:
        - type: assign
          context_updates:
            running: append(context.running, context.waiting[0])
            waiting: slice(context.waiting, 1)
    on:
      ADD: {actions: [{type: assign, context_updates: {waiting: 'append(context.waiting, event.data)'}}]}
      CLOSE: closed
  closed: {type: final}
";

    fn settles(chart: &str) -> bool {
        let (model, findings) = Model::load(&SourceFile::new("queue.yaml", chart), &Registry::default());
        model.unwrap_or_else(|| panic!("{findings:?}")).analysis.settling.is_some()
    }

    #[test]
    fn only_a_loop_that_always_advances_settles() {
        assert!(settles(QUEUE));
        for (from, to) in [
            // It does not get shorter, or may not.
            ("waiting: slice(context.waiting, 1)", "waiting: context.waiting"),
            ("waiting: slice(context.waiting, 1)", "waiting: 'slice(context.waiting, context.most)'"),
            ("waiting: slice(context.waiting, 1)", "waiting: 'append(slice(context.waiting, 1), 1)'"),
            ("append(context.running, context.waiting[0])", "append(context.running, 1 / context.most)"),
            (" and length(context.waiting) > 0", " and length(context.waiting) >= 0"),
            // Something in the same macrostep sets it back, or may.
            ("ADD:", "done.state.open:"),
            ("ADD:", "'*':"),
            ("    on:", "    entry: [{type: assign, context_updates: {waiting: '[1]'}}]\n    on:"),
            ("      actions:\n", "      actions:\n        - {type: raise, event: ADD, data: {}}\n"),
            // Rounds would differ in more than context, or may fail.
            (
                "      actions:\n",
                "      actions:\n        - {type: send, target: self, event: TICK, data: {}}\n",
            ),
            ("      actions:\n", "      actions:\n        - {type: emit, event: ADMITTED, data: {}}\n"),
            (
                "      actions:\n",
                "      actions:\n        - {type: log, message: {expr: '1 / context.most'}}\n",
            ),
            ("append(context.running, context.waiting[0])", "append(context.running, event.type)"),
            ("append(context.running, context.waiting[0])", "append(context.running, instance.id)"),
            ("    always:\n      guard: length", "    always:\n      guard: 1 / context.most > 0 and length"),
            ("    always:\n      guard: length", "    always:\n      guard: event.data.n > 0 and length"),
            ("      guard: length", "      target: open\n      guard: length"),
            ("  closed: {type: final}", "  closed: {always: {target: open, guard: context.most > 1}}"),
            ("  closed: {type: final}", "  closed: {type: parallel, states: {a: {}, b: {}}}"),
            (
                "      CLOSE: closed",
                "      CLOSE: {target: closed, guard: length(context.running) < context.most and length(context.waiting) > 0}",
            ),
        ] {
            let chart = QUEUE.replace(from, to);
            assert_ne!(chart, QUEUE, "{from}");
            assert!(!settles(&chart), "{to}");
        }
    }
}
