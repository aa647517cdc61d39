//! Completion: the consequences of entering a final state, up to the end of the instance.

use std::sync::Arc;

use super::faults::ExpressionSite;
use super::run::Macrostep;
use super::trace::TraceEntry;
use crate::blueprint::NodeKind;
use crate::effect::Effect;
use crate::event::NamedEvent;
use crate::fault::FaultKind;
use crate::ids::NodeId;
use crate::snapshot::Status;
use crate::value::Value;

impl Macrostep<'_> {
    /// Handles a final state after its entry actions have run.
    pub(super) fn completed(&mut self, node: NodeId) {
        let tables = self.tables();
        let output = self.output_of(node);
        let Some(parent) = tables.node(node).parent else { return };
        // A final state may itself be a region; then only the regions together complete their parent.
        let mut done = node;
        if tables.node(parent).kind != NodeKind::Parallel {
            if parent == NodeId::ROOT {
                return self.complete(output);
            }
            self.raise_done(parent, output);
            done = parent;
        }
        // A parallel is done when all its regions are done, also when it is itself a region.
        while let Some(parent) = tables.node(done).parent {
            if tables.node(parent).kind != NodeKind::Parallel || !self.is_done(parent) {
                return;
            }
            if parent == NodeId::ROOT {
                return self.complete(Value::Null);
            }
            self.raise_done(parent, Value::Null);
            done = parent;
        }
    }

    fn raise_done(&mut self, node: NodeId, data: Value) {
        if let Some(name) = &self.tables().node(node).more().done_event {
            self.raise(NamedEvent::new(Arc::clone(name), data));
        }
    }

    fn output_of(&mut self, node: NodeId) -> Value {
        let tables = self.tables();
        let Some(output) = &tables.node(node).more().output else { return Value::Null };
        match self.render(output) {
            Ok(value) => value,
            Err(error) => {
                self.fail(FaultKind::Output, ExpressionSite::Output(node), error.message, None);
                Value::Null
            }
        }
    }

    fn is_done(&self, node: NodeId) -> bool {
        let tables = self.tables();
        let entry = tables.node(node);
        match entry.kind {
            NodeKind::Compound => {
                self.snapshot.configuration.within(node, tables.last[node.index()]).iter().any(|member| {
                    tables.node(*member).kind == NodeKind::Final && tables.node(*member).parent == Some(node)
                })
            }
            NodeKind::Parallel => entry.more().children.iter().all(|region| self.is_done(*region)),
            NodeKind::Final => self.snapshot.configuration.frontier().contains(&node),
            NodeKind::Atomic | NodeKind::History(_) => false,
        }
    }

    /// Ends the instance immediately on a top-level final.
    fn complete(&mut self, output: Value) {
        if self.is_over() {
            return;
        }
        self.snapshot.status = Status::Done;
        self.wind_down();
        if !output.is_null() {
            self.more_mut().output = output.clone();
        }
        self.effects.push(Effect::Complete { output });
    }

    /// Ends the instance on request.
    pub(super) fn cancel(&mut self, reason: Value) {
        self.snapshot.status = Status::Cancelled;
        self.wind_down();
        self.effects.push(Effect::Cancelled { reason });
    }

    /// Drops queues and timers and runs exit actions, innermost first. The configuration is kept for inspection.
    fn wind_down(&mut self) {
        self.queue.clear();
        self.unstarted.clear();
        self.to_invoke.clear();
        self.lists.clear();
        self.to_advance.clear();
        let tables = self.tables();
        let configuration = self.snapshot.configuration.clone();
        let mut active: Vec<NodeId> = Vec::new();
        for leaf in configuration.frontier() {
            active.push(*leaf);
            active.extend(tables.ancestors(*leaf));
        }
        active.sort_unstable();
        active.dedup();
        for node in active.into_iter().rev() {
            self.trace(|| TraceEntry::Exited { node });
            self.run_block(&tables.node(node).exit, ExpressionSite::Exit(node));
        }
        self.drop_pending();
        // No further events can be raised.
        self.queue.clear();
    }

    fn drop_pending(&mut self) {
        if self.snapshot.more.is_none() {
            return;
        }
        let more = self.more_mut();
        let timers = std::mem::take(&mut more.timers);
        let invocations = std::mem::take(&mut more.invocations);
        let fan_outs = std::mem::take(&mut more.fan_outs);
        more.deferred.clear();
        more.failures.clear();
        self.effects.extend(timers.into_iter().map(|timer| Effect::CancelTimer { timer: timer.id }));
        for invocation in invocations {
            self.stop_invocation(&invocation);
        }
        for mut fan_out in fan_outs {
            self.stop_items(&mut fan_out);
        }
    }
}
