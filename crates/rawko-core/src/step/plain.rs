//! The commonest step of all: one innermost state, one transition without a guard, and nothing to do on the way. It is
//! taken here without setting up a [`Run`](super::run::Run). Everything else is left to the whole algorithm, which
//! would give the same.

use super::Step;
use crate::chart::Chart;
use crate::event::NamedEvent;
use crate::ids::NodeId;
use crate::snapshot::{Snapshot, Status};

/// Takes the step if it is a plain one. `None`: nothing was touched.
#[inline]
pub(super) fn take(chart: &Chart, snapshot: &mut Snapshot, event: &NamedEvent) -> Option<Step> {
    let [leaf] = *snapshot.configuration.frontier() else { return None };
    // A running invocation may be what the event is about, and deferred events get their chance after a move.
    let is_idle = snapshot.invocations().is_empty() && snapshot.deferred().is_empty();
    if snapshot.status != Status::Active || !is_idle || chart.microsteps_max == 0 {
        return None;
    }
    let target = target(chart, leaf, &event.name)?;
    snapshot.configuration.replace_only(target);
    snapshot.step += 1;
    Some(Step { number: snapshot.step, handled: true, ..Step::default() })
}

/// The first handler from the leaf outwards decides, as in selection; unless it is plain, so does nobody here.
#[inline]
fn target(chart: &Chart, leaf: NodeId, event: &str) -> Option<NodeId> {
    let tables = &chart.tables;
    let start = tables.node(leaf);
    if !start.has_plain {
        return None;
    }
    let descriptors = tables.events.known(event)?;
    let mut at = start.next_handling;
    while let Some(id) = at {
        let node = tables.node(id);
        let handlers = &tables.handlers[node.handlers.usize()];
        for descriptor in descriptors {
            if let Some(handler) = handlers.iter().find(|handler| handler.descriptor == *descriptor) {
                return handler.plain;
            }
        }
        at = node.parent.and_then(|parent| tables.node(parent).next_handling);
    }
    None
}
