//! `Migrate`: continues the instance on another chart, in one transaction and without a step of either chart.

use std::sync::Arc;

use rawko_core::{Effect, Now, Snapshot, Step, Value};

use crate::content;
use crate::environment::MachineEnvironment;
use crate::error::InstanceError;
use crate::fan_out::FanOutBudget;
use crate::instance::Instance;
use crate::migration::{
    Arrival, ChartName, MigratedInstance, MigrationMove, MigrationRecord, MigrationRequest, held_events,
    image, refused_events,
};
use crate::receipt::Receipt;
use crate::records::{ChartChange, EffectKind, OpenEffect, Record, RecordKind};
use crate::transaction::{DriverAction, Transaction};

use super::pause::HeldInput;
use super::step::effects_text;

impl Instance {
    pub(super) fn take_migrate(
        &mut self,
        request: &MigrationRequest,
        env: &dyn MachineEnvironment,
        now_ms: i64,
        tx: &mut Transaction,
    ) -> Result<Receipt, InstanceError> {
        if self.chart.hash() == request.to.hash() {
            return Ok(self.receipt(false));
        }
        self.refuse_if_over()?;
        let refused = |reasons| InstanceError::MigrationRefused { id: self.new.id.to_string(), reasons };
        let (image, map, reopened) = match &request.move_by {
            MigrationMove::Mapped(migration) => {
                let image = self.image(request, migration, env, now_ms).map_err(refused)?;
                let reasons = refused_events(&self.open.to_vec(), &request.to, migration);
                if !reasons.is_empty() {
                    return Err(refused(reasons));
                }
                (image, migration.source.clone(), Vec::new())
            }
            MigrationMove::Back { snapshot, ended, step } => {
                let image = self.image_back(snapshot, ended, *step).map_err(refused)?;
                (image, Value::Null, ended.clone())
            }
        };
        let is_back = matches!(request.move_by, MigrationMove::Back { .. });
        let ended = self.ended_by(&image);
        let record = MigrationRecord {
            by: request.by.clone(),
            from: ChartName::of(&self.chart),
            to: ChartName::of(&request.to),
            map,
            back: is_back,
            ended,
        };
        self.apply_migration(request, image, &record, now_ms, env, tx);
        if let MigrationMove::Mapped(migration) = &request.move_by {
            self.rename_held(migration, env, tx)?;
        }
        for effect in reopened {
            self.reopen_ended(effect, request.is_driven, env, now_ms, tx)?;
        }
        Ok(self.receipt(true))
    }

    fn image(
        &self,
        request: &MigrationRequest,
        migration: &rawko_core::Migration,
        env: &dyn MachineEnvironment,
        now_ms: i64,
    ) -> Result<MigratedInstance, Vec<String>> {
        let facts = self.new.facts();
        let budget = FanOutBudget {
            instance: &self.new.id,
            chart: &request.to,
            policy: &self.policy,
            ledger: &self.ledger,
            calls: self.calls,
            gate: env.gate(),
        };
        // Timers of a paused instance stand still: they move by the whole pause on resume.
        let at_ms = if self.is_paused() { self.last_ms } else { now_ms };
        let now = Now::new(at_ms, env.world()).of(&facts).admitting(&budget);
        image((&self.chart, &request.to), migration, &self.snapshot, now)
    }

    /// Returns the old snapshot as the next step. Calls that the migration started end.
    fn image_back(
        &self,
        before: &Snapshot,
        ended: &[OpenEffect],
        step: u64,
    ) -> Result<MigratedInstance, Vec<String>> {
        if self.snapshot.step_number() != step {
            return Err(vec!["it has taken a step since its migration".to_owned()]);
        }
        if let Some(child) = ended.iter().find(|effect| effect.kind == EffectKind::Child) {
            return Err(vec![format!("the migration ended the child of `{}`", child.name)]);
        }
        let mut parts = before.to_parts();
        let now = self.snapshot.to_parts();
        parts.step = step + 1;
        parts.next_id = parts.next_id.max(now.next_id);
        let is_old = |id: u64| before.invocation(id).is_some();
        let started = self.snapshot.pending().filter(|known| !is_old(known.id));
        let effects = started
            .map(|known| Effect::StopInvoke { invocation: known.id, id: self.chart.invocation_name(&known) });
        let effects = effects.collect();
        let snapshot = before.with_parts(parts);
        Ok(MigratedInstance { snapshot, effects, notes: Vec::new(), renamed: Vec::new() })
    }

    /// Returns the open effects that the migration ends.
    fn ended_by(&self, image: &MigratedInstance) -> Vec<OpenEffect> {
        let is_ended = |effect: &&OpenEffect| {
            let is_gone = |id: u64| image.snapshot.invocation(id).is_none();
            let is_item = image.effects.iter().any(|ended| match ended {
                Effect::StopInvoke { invocation, .. } => Some(*invocation) == effect.invocation,
                _ => false,
            });
            is_item && effect.invocation.is_some_and(is_gone)
        };
        self.open.iter().filter(is_ended).cloned().collect()
    }

    fn apply_migration(
        &mut self,
        request: &MigrationRequest,
        image: MigratedInstance,
        record: &MigrationRecord,
        now_ms: i64,
        env: &dyn MachineEnvironment,
        tx: &mut Transaction,
    ) {
        if self.is_paused() {
            self.ledger.paused_since_ms.get_or_insert(self.last_ms);
        }
        let MigratedInstance { snapshot, effects, renamed, .. } = image;
        let step = Step { number: snapshot.step_number(), effects, handled: true, ..Step::default() };
        self.chart = Arc::clone(&request.to);
        self.snapshot = snapshot;
        self.last_ms = now_ms;
        for (old, new) in renamed.iter().filter(|(old, new)| old != new) {
            if let Some(spent) = self.ledger.scopes.remove(old) {
                self.ledger.scopes.insert(Arc::clone(new), spent);
            }
        }
        self.forget_left_scopes();
        let change = ChartChange {
            chart: request.to.hash(),
            chart_id: request.to.id().into(),
            version: request.to.version().into(),
        };
        let new = Arc::make_mut(&mut self.new);
        (new.chart, new.chart_id, new.version) =
            (change.chart, Arc::clone(&change.chart_id), Arc::clone(&change.version));
        tx.commit.migrated = Some(Box::new(change));
        let event = tx.pack(serde_json::to_string(record).unwrap_or_default());
        let effects = tx.pack(effects_text(&step.effects));
        tx.commit.records.push(Record {
            seq: 0,
            instance: self.key,
            step: step.number,
            at_ms: now_ms,
            kind: RecordKind::Migrated,
            event,
            delta: String::new(),
            effects,
        });
        tx.commit.audit.push(self.person_line(
            if record.back { "migrated back" } else { "migrated" },
            &request.by,
            now_ms,
        ));
        self.save_snapshot(tx);
        self.plan_effects(step, env, now_ms, tx);
        if !request.is_driven || self.is_paused() {
            self.park_requested(tx);
        }
    }

    /// Renames or drops the events that a pause stored.
    fn rename_held(
        &mut self,
        migration: &rawko_core::Migration,
        env: &dyn MachineEnvironment,
        tx: &mut Transaction,
    ) -> Result<(), InstanceError> {
        let open = self.open.to_vec();
        let held: Vec<OpenEffect> = held_events(&open).cloned().collect();
        for mut effect in held {
            match Arrival::of(&effect.name, &self.chart, migration) {
                Arrival::As(name) if name == effect.name => {}
                Arrival::As(name) => {
                    let text = content::unpack(&effect.body, &mut |hash| env.blob(hash))?;
                    if let Ok(HeldInput::Event(mut event)) = serde_json::from_str(&text) {
                        event.name = Arc::clone(&name);
                        effect.body =
                            tx.pack(serde_json::to_string(&HeldInput::Event(event)).unwrap_or_default());
                        effect.name = name;
                        self.forget_open(&effect);
                        self.open(effect, tx);
                    }
                }
                Arrival::Dropped | Arrival::Refused(_) => {
                    self.forget_open(&effect);
                    self.close(&effect, tx);
                }
            }
        }
        Ok(())
    }

    fn forget_open(&mut self, effect: &OpenEffect) {
        if let Some(at) = self.open_at(effect.step, effect.index) {
            self.open.remove(at);
        }
    }

    /// Calls that this transaction requested wait for a driver or the resume.
    fn park_requested(&mut self, tx: &mut Transaction) {
        let key = self.key;
        let mut parked = Vec::new();
        tx.actions.retain(|action| match action {
            DriverAction::Run { effect, .. } if effect.instance == key => {
                parked.push((effect.step, effect.index));
                false
            }
            _ => true,
        });
        for (step, index) in parked {
            let Some(at) = self.open_at(step, index) else { continue };
            let effect = self.open.edit(at, |effect| effect.parked = true).clone();
            tx.commit.opened.retain(|known| (known.step, known.index) != (step, index));
            tx.commit.opened.push(effect);
        }
    }

    /// Opens a call again that the migration ended. It may have happened, so it keeps its key.
    fn reopen_ended(
        &mut self,
        effect: OpenEffect,
        is_driven: bool,
        env: &dyn MachineEnvironment,
        now_ms: i64,
        tx: &mut Transaction,
    ) -> Result<(), InstanceError> {
        let is_call = effect.is_running();
        let effect = OpenEffect {
            instance: self.key,
            parked: effect.parked || is_call,
            in_doubt: effect.in_doubt || (is_call && !effect.parked),
            ..effect
        };
        self.open(effect.clone(), tx);
        if is_call && is_driven && !self.is_paused() {
            self.run_again(effect, env, now_ms, tx)?;
        }
        Ok(())
    }
}
