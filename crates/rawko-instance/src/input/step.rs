//! One step of the chart and its record. Every input ends up here; effects are planned in `effects`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rawko_core::{Effect, Event, Now, Step, step, step_traced};

use crate::environment::MachineEnvironment;
use crate::error::InstanceError;
use crate::fan_out::FanOutBudget;
use crate::instance::Instance;
use crate::records::{Record, RecordKind, SavedSnapshot};
use crate::transaction::{FailureKind, Transaction};

/// A full snapshot is written when the changes since the last one outweigh it, and are at least this large. The space
/// of snapshots is therefore proportional to the changes, however long the history.
pub(super) const SNAPSHOT_BYTES_MIN: usize = 16 * 1024;
/// Effects of steps that may hold a long list; the list of more effects is packed in groups.
const FEW_EFFECTS: usize = 8;

impl Instance {
    /// Takes a step, records it and plans its effects. Returns true if a transition was taken. A step that cannot be
    /// taken is recorded too, and leaves the snapshot unchanged.
    pub(super) fn step_with(
        &mut self,
        event: &Event,
        env: &dyn MachineEnvironment,
        at_ms: i64,
        tx: &mut Transaction,
    ) -> Result<bool, InstanceError> {
        let before = self.snapshot.clone();
        let facts = self.new.facts();
        let (chart, sizes) = (Arc::clone(&self.chart), Arc::clone(&self.sizes));
        let budget = FanOutBudget {
            instance: &self.new.id,
            chart: &chart,
            policy: &self.policy,
            ledger: &self.ledger,
            calls: self.calls,
            gate: env.gate(),
        };
        let now = Now::new(at_ms, env.world()).of(&facts).admitting(&budget).measured(&sizes);
        // A panic is a bug of rawko, contained to this instance.
        let step = if env.wants_traces() { step_traced } else { step };
        let taken = catch_unwind(AssertUnwindSafe(|| step(&chart, &mut self.snapshot, event.clone(), now)));
        let taken = match taken {
            Ok(result) => result.map_err(InstanceError::from),
            Err(_) => {
                self.snapshot = before.clone();
                Err(InstanceError::Internal(self.new.id.to_string()))
            }
        };
        match taken {
            Ok(mut step) => {
                let handled = step.handled;
                tx.note_trace(&chart, &mut step, env.wants_traces());
                let effects = self.record_step(&before, event, &step, at_ms, tx);
                self.plan_effects(step, env, at_ms, tx);
                tx.record_faults(|| effects.text());
                Ok(handled)
            }
            Err(error) => {
                tx.faults.clear();
                tx.note_failure(FailureKind::of(&error), &error.to_string());
                self.record_failure(event, &error.to_string(), at_ms, tx);
                Err(error)
            }
        }
    }

    /// Records a step and returns its effects.
    fn record_step(
        &mut self,
        before: &rawko_core::Snapshot,
        event: &Event,
        step: &Step,
        at_ms: i64,
        tx: &mut Transaction,
    ) -> StepEffects {
        self.last_ms = at_ms;
        // A text of thousands of items is not written twice; a long conversation is not written at all.
        let (effects, packed_effects) = if step.effects.len() < FEW_EFFECTS {
            let (text, _) = tx.pack_marked(&mut self.lists, &|marks| {
                effects_text(&step.effects.iter().map(|it| marks.in_effect(it)).collect::<Vec<_>>())
            });
            (StepEffects::Values(step.effects.clone()), text)
        } else {
            let text = effects_text(&step.effects);
            (StepEffects::Text(text.clone()), tx.pack(text))
        };
        let moved = step.is_effective();
        let (snapshot, chart) = (&self.snapshot, &self.chart);
        let (delta, delta_length) = tx.pack_marked(&mut self.lists, &|marks| {
            snapshot.delta_json_with(before, chart, &|value| marks.of(value))
        });
        self.note_change(delta_length);
        let (event, _) = tx.pack_marked(&mut self.lists, &|marks| {
            serde_json::to_string(&marks.in_event(event)).unwrap_or_default()
        });
        let record = Record {
            seq: 0,
            instance: self.key,
            step: step.number,
            at_ms,
            kind: if moved { RecordKind::Stepped } else { RecordKind::Ignored },
            event,
            delta,
            effects: packed_effects,
        };
        self.delta_bytes += record.delta.len();
        tx.commit.records.push(record);
        self.forget_left_scopes();
        effects
    }

    /// The event is not lost: the journal has it, with the reason.
    pub(crate) fn record_failure(&self, event: &Event, why: &str, at_ms: i64, tx: &mut Transaction) {
        let event = tx.pack(serde_json::to_string(event).unwrap_or_default());
        let delta = tx.pack(serde_json::to_string(why).unwrap_or_default());
        tx.commit.records.push(Record {
            seq: 0,
            instance: self.key,
            step: self.snapshot.step_number() + 1,
            at_ms,
            kind: RecordKind::Failed,
            event,
            delta,
            effects: String::new(),
        });
    }

    /// Adds the full snapshot to the commit.
    pub(crate) fn save_snapshot(&mut self, tx: &mut Transaction) {
        let text = self.snapshot.to_json(&self.chart);
        // The next one is due after changes that cost about as much as it does. The cost is in packing it, however small
        // the result: ten thousand items pack to a few hashes.
        let cost_bytes = text.len() / 2;
        self.text_bytes = text.len();
        let body = tx.pack(text);
        self.snapshot_bytes = body.len().max(cost_bytes);
        self.delta_bytes = 0;
        tx.commit.snapshot = Some(Box::new(SavedSnapshot { step: self.snapshot.step_number(), body }));
    }
}

/// The effects of a step, for the case that some cannot be performed and the record changes.
enum StepEffects {
    Text(String),
    Values(Vec<Effect>),
}

impl StepEffects {
    fn text(self) -> String {
        match self {
            StepEffects::Text(text) => text,
            StepEffects::Values(effects) => effects_text(&effects),
        }
    }
}

/// Returns effects for a record; empty if there are none.
pub(crate) fn effects_text(effects: &[Effect]) -> String {
    if effects.is_empty() {
        return String::new();
    }
    serde_json::to_string(effects).unwrap_or_default()
}
