//! Open work: calls, items of an `each`, timers and failures. Each has an heir, or the mapping ends it.

use std::sync::Arc;

use rawko_core::{
    Effect, FailedWork, FanOut, Invocation, InvokeId, NodeId, PendingTimer, ServiceName, SnapshotParts,
    Status, TimerPurpose, UnhandledFailure,
};

use super::MigrationJob;
use super::counterparts::{Counterparts, Heir};

impl MigrationJob<'_> {
    pub(super) fn work(&mut self, parts: &mut SnapshotParts, pairs: &Counterparts<'_>) {
        let mut ended = Vec::new();
        let invocations = std::mem::take(&mut parts.invocations);
        for invocation in invocations {
            let (id, waits) = (invocation.id, waits_for_retry(&parts.timers, invocation.id));
            match self.invocation(invocation, pairs) {
                Some(kept) => parts.invocations.push(kept),
                None => {
                    ended.push(id);
                    self.stop(id, waits);
                }
            }
        }
        for fan_out in std::mem::take(&mut parts.fan_outs) {
            let (id, running) = (fan_out.id, running_items(self.snapshot.pending(), &fan_out));
            match self.fan_out(fan_out, pairs) {
                Some(kept) => parts.fan_outs.push(kept),
                None => {
                    ended.push(id);
                    for item in running {
                        ended.push(item);
                        self.stop(item, waits_for_retry(&parts.timers, item));
                    }
                }
            }
        }
        let timers = std::mem::take(&mut parts.timers);
        for timer in timers {
            let id = timer.id;
            match self.timer(timer, &ended, pairs) {
                Some(kept) => parts.timers.push(kept),
                None => self.effects.push(Effect::CancelTimer { timer: id }),
            }
        }
        for failure in std::mem::take(&mut parts.failures) {
            parts.failures.extend(self.failure(failure, pairs));
        }
        if parts.status == Status::Error && parts.failures.is_empty() {
            parts.status = Status::Active;
        }
    }

    /// Adds the reasons that are known without an image of the configuration.
    pub(super) fn work_without_states(&mut self, parts: &SnapshotParts) {
        let is_mapped = |id: &Arc<str>| self.migration.invokes.iter().any(|(old, _)| old == id);
        let exists = |id: &Arc<str>| {
            self.new.node_ids().any(|node| self.new.invokes_of(node).any(|(_, known)| known == id))
        };
        let named = parts.invocations.iter().map(|open| open.invoke);
        let named = named.chain(parts.fan_outs.iter().map(|open| open.invoke));
        let missing: Vec<String> = named
            .map(|invoke| Arc::<str>::from(self.old.invoke_name(invoke)))
            .filter(|id| !is_mapped(id) && !exists(id))
            .map(|id| format!("open call `{id}` has no heir in the new chart; map it under `invokes`, to `null` to end it"))
            .collect();
        missing.into_iter().for_each(|reason| self.refuse(reason));
    }

    fn stop(&mut self, invocation: u64, waits: bool) {
        let name = self.snapshot.invocation(invocation).map(|known| self.old.invocation_name(&known));
        let Some(id) = name else { return };
        self.notes.push(format!("ends call `{id}`"));
        if !waits {
            self.effects.push(Effect::StopInvoke { invocation, id });
        }
    }

    /// Returns the heir of an invoke, `None` if the mapping ends it; without an heir a reason is added.
    fn heir(
        &mut self,
        node: NodeId,
        invoke: InvokeId,
        is_each: bool,
        pairs: &Counterparts<'_>,
    ) -> Option<(NodeId, InvokeId)> {
        let id: Arc<str> = self.old.invoke_name(invoke).into();
        let (node, heir) = match pairs.invoke(node, &id) {
            Heir::Found(found) => found,
            Heir::Ended => return None,
            Heir::Missing(reason) => {
                self.refuse(reason);
                return Some((node, invoke));
            }
        };
        let name = self.new.invoke_name(heir);
        if self.new.is_each(heir) != is_each {
            let (was, is) =
                if is_each { ("is an `each`", "is not") } else { ("is one call", "is an `each`") };
            self.refuse(format!("open call `{id}` {was}, and `{name}` {is} in the new chart"));
        }
        Some((node, heir))
    }

    /// The pending request was made to a service, a child or a person: an heir of another kind cannot take its result.
    fn refuse_other_class(&mut self, src: &str, old: InvokeId, heir: InvokeId) {
        let Some(new_src) = self.new.fixed_src(heir) else { return };
        let (was, is) = (ServiceName::of(src).class, ServiceName::of(new_src).class);
        if was != is {
            let (id, name) = (self.old.invoke_name(old).to_owned(), self.new.invoke_name(heir).to_owned());
            self.refuse(format!(
                "open call `{id}` of `{src}` becomes `{name}` of `{new_src}`, which is another kind of call"
            ));
        }
    }

    fn invocation(&mut self, open: Invocation, pairs: &Counterparts<'_>) -> Option<Invocation> {
        let (node, invoke) = self.heir(open.node, open.invoke, false, pairs)?;
        if self.reasons.is_empty() {
            self.refuse_other_class(&open.src, open.invoke, invoke);
        }
        Some(Invocation { node, invoke, ..open })
    }

    fn fan_out(&mut self, mut open: FanOut, pairs: &Counterparts<'_>) -> Option<FanOut> {
        let old = open.invoke;
        (open.node, open.invoke) = self.heir(open.node, open.invoke, true, pairs)?;
        if self.reasons.is_empty() && !open.is_pending(self.new) {
            let id = self.old.invoke_name(old).to_owned();
            self.refuse(format!(
                "the join of `{id}` in the new chart is decided already, by its finished items or their number"
            ));
        }
        Some(open)
    }

    fn timer(
        &mut self,
        timer: PendingTimer,
        ended: &[u64],
        pairs: &Counterparts<'_>,
    ) -> Option<PendingTimer> {
        let PendingTimer { id, due_ms, purpose } = timer;
        let purpose = match purpose {
            TimerPurpose::After { node, index } => match pairs.timer(node, index) {
                Heir::Found((node, index)) => TimerPurpose::After { node, index },
                Heir::Ended => {
                    let label = self.old.timer_label(node, index);
                    self.notes.push(format!("ends timer `{label}` of `{}`", self.old.node(node).path));
                    return None;
                }
                Heir::Missing(reason) => {
                    self.refuse(reason);
                    return None;
                }
            },
            TimerPurpose::Send { target, event } if &*target == "self" => {
                TimerPurpose::Send { target, event: self.event(event, "a delayed event")? }
            }
            TimerPurpose::Send { target, event } => TimerPurpose::Send { target, event },
            TimerPurpose::InvokeTimeout { invocation } | TimerPurpose::InvokeRetry { invocation }
                if ended.contains(&invocation) =>
            {
                return None;
            }
            TimerPurpose::EachContinue { fan_out } if ended.contains(&fan_out) => return None,
            same @ (TimerPurpose::InvokeTimeout { .. }
            | TimerPurpose::InvokeRetry { .. }
            | TimerPurpose::EachContinue { .. }) => same,
        };
        Some(PendingTimer { id, due_ms, purpose })
    }

    fn failure(&mut self, failure: UnhandledFailure, pairs: &Counterparts<'_>) -> Option<UnhandledFailure> {
        let UnhandledFailure { work, error } = failure;
        let work = match work {
            FailedWork::Invocation(open) => {
                let (node, invoke) = self.heir(open.node, open.invoke, false, pairs)?;
                FailedWork::Invocation(Invocation { node, invoke, ..open })
            }
            FailedWork::FanOut(mut open) => {
                (open.node, open.invoke) = self.heir(open.node, open.invoke, true, pairs)?;
                FailedWork::FanOut(open)
            }
            FailedWork::Timer { node, index } => match pairs.timer(node, index) {
                Heir::Found((node, index)) => FailedWork::Timer { node, index },
                Heir::Ended => return None,
                Heir::Missing(reason) => {
                    self.refuse(reason);
                    return None;
                }
            },
        };
        Some(UnhandledFailure { work, error })
    }
}

fn waits_for_retry(timers: &[PendingTimer], id: u64) -> bool {
    let is_its = |purpose: &TimerPurpose| matches!(purpose, TimerPurpose::InvokeRetry { invocation } if *invocation == id);
    timers.iter().any(|timer| is_its(&timer.purpose))
}

fn running_items(pending: impl Iterator<Item = Invocation>, fan_out: &FanOut) -> Vec<u64> {
    pending.map(|open| open.id).filter(|id| fan_out.index_of(*id).is_some()).collect()
}
