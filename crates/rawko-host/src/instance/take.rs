//! Taking one delivery or one due timer: a step, its record, and what its effects ask for. Nothing here waits or
//! touches the disk; everything goes into the plan.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rawko_core::{Event, Now, Snapshot, Step, step};
use rawko_store::{
    AuditLine, Delivery as Known, EffectKind, InstanceKey, Record, RecordKind, SavedSnapshot, StoreError,
};

use super::Live;
use super::delivery::{Delivery, EffectNote, Receipt, Source};
use super::plan::{Plan, pack_into};
use crate::effects::child::child_id;
use crate::error::HostError;
use crate::ledger::Spent;
use crate::planning::Planner;

/// Steps that one instance takes before they go to disk: a burst shares a commit, and cannot keep the others waiting.
const STEPS_PER_COMMIT: usize = 64;

/// A whole snapshot is written when the changes since the last one outweigh it, and not for less than this. So what
/// snapshots take is in proportion to what changes take, however long the history.
const SNAPSHOT_BYTES_MIN: usize = 16 * 1024;

/// How an event that cannot be taken is answered.
enum Admission {
    /// It is the result of this open effect.
    Result(usize),
    Event,
    /// A result nobody waits for any more.
    Stale,
    /// The same delivery was taken before.
    Known(Receipt),
    Refused(HostError),
}

impl Planner<'_> {
    /// Takes what is due and what waits. `None`: there is nothing to write.
    pub(crate) fn take_waiting(&self, key: InstanceKey, live: &mut Live, now_ms: i64) -> Option<Plan> {
        let now_ms = now_ms.max(live.last_ms);
        let mut plan = Plan::new(key, live);
        for _ in 0..STEPS_PER_COMMIT {
            if let Some((timer, due_ms)) = due_timer(live, now_ms) {
                self.take_timer(live, timer, due_ms, &mut plan);
            } else if let Some(delivery) = live.mailbox.pop_front() {
                self.take_delivery(live, delivery, now_ms, &mut plan);
            } else {
                break;
            }
        }
        if plan.is_empty() {
            // What was not taken at all can be answered without the disk.
            plan.replies.drain(..).for_each(|(reply, answer)| drop(reply.send(answer)));
            return None;
        }
        self.round_off(live, &mut plan);
        Some(plan)
    }

    /// A timer fires at its own time, however late the host is: what it starts counts from there.
    fn take_timer(&self, live: &mut Live, timer: u64, due_ms: i64, plan: &mut Plan) {
        let event = Event::TimerFired { timer };
        let at_ms = due_ms.max(live.last_ms);
        let before = live.snapshot.clone();
        match self.step(live, &before, event.clone(), at_ms) {
            Ok(step) => self.stepped(live, &before, &event, step, at_ms, plan),
            Err(error) => {
                // It would fail again at once, for ever: it rests until somebody does something about it.
                live.head.fault = Some(error.to_string().into());
                self.failed(live, &event, &error, at_ms, plan);
            }
        }
    }

    fn take_delivery(&self, live: &mut Live, delivery: Delivery, now_ms: i64, plan: &mut Plan) {
        let Delivery { event, source, reply } = delivery;
        let answer = match self.admit(live, &source, plan) {
            Admission::Known(receipt) => Ok(receipt),
            Admission::Refused(error) => Err(error),
            Admission::Stale => Ok(live.receipt(false)),
            Admission::Event => match &event {
                Some(event) => self.take_event(live, event, &source, now_ms, plan),
                None => Ok(live.receipt(false)),
            },
            Admission::Result(at) => self.take_result(live, at, event.as_ref(), &source, now_ms, plan),
        };
        match (&source, reply) {
            (_, Some(reply)) => plan.replies.push((reply, answer)),
            (_, None) => plan.again.push(Delivery { event, source: source.clone(), reply: None }),
        }
        if let Source::Inbound { seq, .. } = source {
            plan.commit.taken.push(seq);
        }
    }

    fn admit(&self, live: &Live, source: &Source, plan: &Plan) -> Admission {
        if let Source::Outside { key: Some(key) } = source {
            match self.step_of_delivery(plan, key) {
                Ok(Some(step)) => return Admission::Known(Receipt { step, ..live.receipt(true) }),
                Ok(None) => {}
                // It may have been taken before: whoever sends it has to ask again.
                Err(error) => return Admission::Refused(error.into()),
            }
        }
        match source {
            Source::Effect { step, index, .. } => {
                live.open_effect(*step, *index).map_or(Admission::Stale, Admission::Result)
            }
            Source::Inbound { child: Some(child), .. } => {
                let of = |effect: &rawko_store::OpenEffect| {
                    effect.kind == EffectKind::Child && *child == child_id(&live.new.id, effect)
                };
                live.open.iter().position(of).map_or(Admission::Stale, Admission::Result)
            }
            Source::Outside { .. } | Source::Inbound { child: None, .. } => {
                let status = live.snapshot.status();
                if status.is_over() {
                    Admission::Refused(HostError::Over { id: live.new.id.to_string(), status })
                } else {
                    Admission::Event
                }
            }
        }
    }

    /// A delivery key counts as soon as the step is planned: two with the same key may lie in one mailbox.
    fn step_of_delivery(&self, plan: &Plan, key: &Arc<str>) -> Result<Option<u64>, StoreError> {
        let planned = plan.commit.deliveries.iter().find(|known| known.key == *key);
        match planned {
            Some(known) => Ok(Some(known.step)),
            None => self.around.delivered(plan.commit.instance, key),
        }
    }

    fn take_event(
        &self,
        live: &mut Live,
        event: &Event,
        source: &Source,
        now_ms: i64,
        plan: &mut Plan,
    ) -> Result<Receipt, HostError> {
        let before = live.snapshot.clone();
        match self.step(live, &before, event.clone(), now_ms) {
            Ok(step) => {
                let handled = step.handled;
                live.head.fault = None;
                if let Source::Outside { key: Some(key) } = source {
                    plan.commit.deliveries.push(Known { key: Arc::clone(key), step: step.number });
                }
                self.stepped(live, &before, event, step, now_ms, plan);
                Ok(live.receipt(handled))
            }
            Err(error) => {
                self.failed(live, event, &error, now_ms, plan);
                Err(error)
            }
        }
    }

    fn take_result(
        &self,
        live: &mut Live,
        at: usize,
        event: Option<&Event>,
        source: &Source,
        now_ms: i64,
        plan: &mut Plan,
    ) -> Result<Receipt, HostError> {
        let effect = live.open.remove(at);
        let event = self.heard(&effect, event);
        let spent = spent_on(&effect, event.as_ref(), source);
        live.spend(spent, live.node_of(effect.invocation));
        let note = match source {
            Source::Effect { note, .. } => Some(note.clone()),
            Source::Outside { .. } | Source::Inbound { .. } => None,
        };
        if let Some(note) = &note {
            plan.commit.audit.extend(audit_of(live, &effect, note, now_ms));
        }
        let Some(event) = event.as_ref().filter(|_| !live.snapshot.status().is_over()) else {
            plan.commit.closed.push((effect.step, effect.index));
            return Ok(live.receipt(false));
        };
        let before = live.snapshot.clone();
        let outcome = self.step(live, &before, event.clone(), now_ms);
        let waits = effect.invocation.is_some_and(|id| waits_for(&live.snapshot, id));
        if waits && note.is_some_and(|note| note.outcome_open) {
            let unknown = rawko_store::OpenEffect { kind: EffectKind::Unknown, due_ms: None, ..effect };
            plan.commit.opened.push(unknown.clone());
            live.open.push(unknown);
        } else {
            plan.commit.closed.push((effect.step, effect.index));
        }
        match outcome {
            Ok(step) => {
                let handled = step.handled;
                live.head.fault = None;
                self.stepped(live, &before, event, step, now_ms, plan);
                Ok(live.receipt(handled))
            }
            Err(error) => {
                live.head.fault = Some(error.to_string().into());
                self.failed(live, event, &error, now_ms, plan);
                Err(error)
            }
        }
    }

    /// One step. A panic is our bug, and stays within this instance.
    fn step(&self, live: &mut Live, before: &Snapshot, event: Event, at_ms: i64) -> Result<Step, HostError> {
        let now = Now { ms: at_ms, world: &self.project.world };
        let chart = Arc::clone(&live.chart);
        let taken = catch_unwind(AssertUnwindSafe(|| step(&chart, &mut live.snapshot, event, now)));
        match taken {
            Ok(result) => result.map_err(HostError::from),
            Err(_) => {
                live.snapshot = before.clone();
                Err(HostError::Internal(live.new.id.to_string()))
            }
        }
    }

    fn stepped(
        &self,
        live: &mut Live,
        before: &Snapshot,
        event: &Event,
        step: Step,
        at_ms: i64,
        plan: &mut Plan,
    ) {
        live.last_ms = at_ms;
        let moved = step.is_effective();
        let delta = live.snapshot.delta_json(before, &live.chart);
        let effects = if step.effects.is_empty() {
            String::new()
        } else {
            serde_json::to_string(&step.effects).unwrap_or_default()
        };
        let record = Record {
            seq: 0,
            instance: plan.commit.instance,
            step: step.number,
            at_ms,
            kind: if moved { RecordKind::Stepped } else { RecordKind::Ignored },
            event: plan.pack(serde_json::to_string(event).unwrap_or_default()),
            delta: plan.pack(delta),
            effects: plan.pack(effects),
        };
        live.delta_bytes += record.delta.len();
        plan.commit.records.push(record);
        live.forget_left_scopes();
        self.plan_effects(plan.commit.instance, live, step, at_ms, plan);
    }

    /// The chart that played an agent is over: what it gave is a result or an error.
    fn heard(&self, effect: &rawko_store::OpenEffect, event: Option<&Event>) -> Option<Event> {
        let played = effect.kind == EffectKind::Child && effect.name.starts_with("agent:");
        match (event?, &self.project.cast) {
            (Event::InvokeDone { invocation, data }, Some(cast)) if played => {
                let invocation = *invocation;
                Some(match cast.result(data.clone()) {
                    Ok(data) => Event::InvokeDone { invocation, data },
                    Err(error) => Event::InvokeFailed { invocation, error },
                })
            }
            (event, _) => Some(event.clone()),
        }
    }

    /// The event is not lost: the journal has it, and why nothing came of it.
    fn failed(&self, live: &Live, event: &Event, error: &HostError, at_ms: i64, plan: &mut Plan) {
        let event = plan.pack(serde_json::to_string(event).unwrap_or_default());
        let delta = plan.pack(serde_json::to_string(&error.to_string()).unwrap_or_default());
        plan.commit.records.push(Record {
            seq: 0,
            instance: plan.commit.instance,
            step: live.snapshot.step_number() + 1,
            at_ms,
            kind: RecordKind::Failed,
            event,
            delta,
            effects: String::new(),
        });
    }

    /// What is written once for the whole run of steps: the head if it changed, a snapshot if one is worth it.
    pub(crate) fn round_off(&self, live: &mut Live, plan: &mut Plan) {
        let head = live.head_now();
        if head != plan.undo.head {
            plan.commit.head = Some(Box::new(head.clone()));
        }
        live.head = head;
        if live.delta_bytes > live.snapshot_bytes.max(SNAPSHOT_BYTES_MIN) {
            save_snapshot(live, plan);
        }
    }
}

/// Puts the whole snapshot into the commit.
pub(crate) fn save_snapshot(live: &mut Live, plan: &mut Plan) {
    let body = pack_into(live.snapshot.to_json(&live.chart), &mut plan.commit.blobs);
    live.snapshot_bytes = body.len();
    live.delta_bytes = 0;
    plan.commit.snapshot = Some(Box::new(SavedSnapshot { step: live.snapshot.step_number(), body }));
}

/// What a result has cost: a child's sums, or what an agent or a model says of itself.
fn spent_on(effect: &rawko_store::OpenEffect, event: Option<&Event>, source: &Source) -> Spent {
    let tells = effect.kind == EffectKind::Agent
        || effect.name.starts_with("model:")
        || effect.name.starts_with("work:");
    match (source, event) {
        (Source::Inbound { spent, .. }, _) => *spent,
        (Source::Effect { .. }, Some(Event::InvokeDone { data, .. })) if tells => {
            Spent::of(data.get("usage"))
        }
        (Source::Effect { .. }, Some(Event::InvokeFailed { error, .. })) if tells => {
            Spent::of(error.get("usage"))
        }
        _ => Spent::default(),
    }
}

/// The next timer, if its time has come and the instance is not at a fault.
fn due_timer(live: &Live, now_ms: i64) -> Option<(u64, i64)> {
    if live.head.fault.is_some() || live.snapshot.status().is_over() {
        return None;
    }
    let timer = live.snapshot.next_timer()?;
    (timer.due_ms <= now_ms).then_some((timer.id, timer.due_ms))
}

pub(crate) fn waits_for(snapshot: &Snapshot, invocation: u64) -> bool {
    snapshot.invocations().iter().any(|known| known.id == invocation)
}

fn audit_of(
    live: &Live,
    effect: &rawko_store::OpenEffect,
    note: &EffectNote,
    at_ms: i64,
) -> Option<AuditLine> {
    let service = matches!(
        effect.kind,
        EffectKind::Service | EffectKind::Agent | EffectKind::Call | EffectKind::Send | EffectKind::Person
    );
    service.then(|| AuditLine {
        at_ms,
        instance: Arc::clone(&live.new.id),
        effect: Arc::clone(&effect.idempotency),
        service: Arc::clone(&effect.name),
        decision: note.decision.as_ref().into(),
        reason: note.reason.clone(),
        provenance: String::new(),
    })
}
