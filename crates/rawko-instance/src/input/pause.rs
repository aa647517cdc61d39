//! `Pause` and `Resume`: a paused instance takes no step until it is resumed. Results and messages that arrive
//! meanwhile are stored with it, timers stand still, and calls that may be repeated are stopped as parked.

use std::sync::Arc;

use rawko_core::{Event, NamedEvent, Value};
use serde::{Deserialize, Serialize};

use crate::content;
use crate::effects::child::child_id;
use crate::effects::effect_id;
use crate::environment::MachineEnvironment;
use crate::error::InstanceError;
use crate::instance::Instance;
use crate::ledger::Spent;
use crate::message::{MessageChain, StoredMessage};
use crate::receipt::Receipt;
use crate::records::{AuditLine, EffectKind, OpenEffect, WaitReason};
use crate::result::EffectResult;
use crate::transaction::{DriverAction, EffectPlace, ServiceRequest, Transaction};

/// Indexes of held inputs begin here, above those of the effects of a step.
const HELD_INDEX_MIN: u32 = 1 << 20;

/// Maximum number of inputs that a paused instance holds; more events from outside are refused.
const HELD_MAX: usize = 10_000;

/// An input that waits for the resume: the body of an effect of kind [`EffectKind::Held`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum HeldInput {
    Event(NamedEvent),
    Message(StoredMessage),
}

impl Instance {
    /// Returns true if the instance is paused and has not ended.
    pub fn is_paused(&self) -> bool {
        self.head.wait == WaitReason::Paused && !self.snapshot.status().is_over()
    }

    /// Pauses the instance and its descendants. Pausing it again changes nothing.
    pub(super) fn take_pause(
        &mut self,
        by: &Value,
        env: &dyn MachineEnvironment,
        now_ms: i64,
        tx: &mut Transaction,
    ) -> Result<Receipt, InstanceError> {
        self.refuse_if_over()?;
        if self.is_paused() {
            return Ok(self.receipt(false));
        }
        self.step_with(&Event::PauseRequested { by: by.clone() }, env, now_ms, tx)?;
        self.head.wait = WaitReason::Paused;
        self.park_running(env, tx)?;
        tx.commit.audit.push(self.person_line("paused", by, now_ms));
        self.tell_children(&Event::PauseRequested { by: by.clone() }, env, tx);
        Ok(self.receipt(true))
    }

    /// Resumes the instance and its descendants. An instance that is not paused only passes it on.
    pub(super) fn take_resume(
        &mut self,
        by: &Value,
        env: &dyn MachineEnvironment,
        now_ms: i64,
        tx: &mut Transaction,
    ) -> Result<Receipt, InstanceError> {
        self.refuse_if_over()?;
        let was_paused = self.is_paused();
        if was_paused {
            // The pause is the last record of a paused instance, unless it was migrated since.
            let since_ms = self.ledger.paused_since_ms.take().unwrap_or(self.last_ms);
            let paused_ms = (now_ms - since_ms).max(0);
            self.head.wait = WaitReason::Nothing;
            self.pace.restart();
            self.step_with(&Event::ResumeRequested { by: by.clone(), paused_ms }, env, now_ms, tx)?;
            self.delay_expiries(paused_ms, tx);
            self.ledger.paused_ms += paused_ms.unsigned_abs();
            tx.commit.audit.push(self.person_line("resumed", by, now_ms));
            let parked: Vec<OpenEffect> = self.open.iter().filter(|effect| effect.parked).cloned().collect();
            for effect in parked {
                self.run_again(effect, env, now_ms, tx)?;
            }
        }
        self.tell_children(&Event::ResumeRequested { by: by.clone(), paused_ms: 0 }, env, tx);
        Ok(self.receipt(was_paused))
    }

    /// Stops running calls that may be repeated. The others finish, and their results are held.
    fn park_running(
        &mut self,
        env: &dyn MachineEnvironment,
        tx: &mut Transaction,
    ) -> Result<(), InstanceError> {
        for at in 0..self.open.len() {
            let effect = &self.open[at];
            if !effect.is_running() || effect.parked {
                continue;
            }
            let place = EffectPlace::of(effect);
            let before = tx.actions.len();
            let (step, index) = (effect.step, effect.index);
            let is_its = |known: &OpenEffect| (known.step, known.index) == (step, index);
            tx.actions.retain(|action| !matches!(action, DriverAction::Run { effect, .. } if is_its(effect)));
            let has_begun = tx.actions.len() == before;
            if has_begun && !self.may_repeat(at, env, tx)? {
                continue;
            }
            let effect = self.open.edit(at, |effect| {
                effect.parked = true;
                effect.in_doubt |= has_begun;
            });
            tx.commit.opened.push(effect.clone());
            if has_begun {
                tx.actions.push(DriverAction::Stop { instance: self.key, effect: place });
            }
        }
        Ok(())
    }

    /// The driver restarted while the instance is paused: no call is running any more. Nothing runs before the resume.
    pub(super) fn park_after_restart(
        &mut self,
        effect: &OpenEffect,
        again: bool,
        error: crate::failure::ServiceError,
        tx: &mut Transaction,
    ) {
        let Some(at) = self.open_at(effect.step, effect.index) else { return };
        let known = if again {
            self.open.edit(at, |known| (known.parked, known.in_doubt) = (true, true))
        } else {
            let result = EffectResult::of(effect, Err(error));
            let text = tx.pack(serde_json::to_string(&result).unwrap_or_default());
            self.open.edit(at, |known| known.result = text)
        };
        tx.commit.opened.push(known.clone());
    }

    fn may_repeat(
        &self,
        at: usize,
        env: &dyn MachineEnvironment,
        tx: &Transaction,
    ) -> Result<bool, InstanceError> {
        let effect = &self.open[at];
        let text = content::unpack(&effect.body, &mut |hash| match tx.blob(hash) {
            Some(blob) => Ok(Some(blob)),
            None => env.blob(hash),
        })?;
        let request = serde_json::from_str::<ServiceRequest>(&text);
        Ok(request.is_ok_and(|request| env.may_repeat(effect, &request)))
    }

    /// Requests to people expire later by the time that the instance was paused, like timers.
    fn delay_expiries(&mut self, paused_ms: i64, tx: &mut Transaction) {
        for at in 0..self.open.len() {
            let Some(due_ms) = self.open[at].due_ms else { continue };
            let effect = self.open.edit(at, |effect| effect.due_ms = Some(due_ms.saturating_add(paused_ms)));
            tx.commit.opened.push(effect.clone());
        }
    }

    /// Passes a request on to all children by messages, so that a crash after this commit leaves none behind.
    fn tell_children(&self, event: &Event, env: &dyn MachineEnvironment, tx: &mut Transaction) {
        for effect in self.open.iter().filter(|effect| effect.kind == EffectKind::Child) {
            let id = child_id(&self.new.id, effect);
            let Some(child) = self.key_of_child(&id, env, tx) else { continue };
            let (seq, step) = (env.next_message(), self.snapshot.step_number());
            let key = match event {
                Event::PauseRequested { .. } => pause_key(&self.new.id, step),
                _ => format!("{}/{step}/{seq}", self.new.id).into(),
            };
            let (spent, chain) = (Spent::default(), MessageChain::default());
            let message = StoredMessage { event: event.clone(), key, child: None, spent, chain };
            tx.post(child, seq, message);
        }
    }

    /// Handles a request that the parent passed on. A pause that arrives after its resume is too late.
    pub(super) fn take_passed_on(
        &mut self,
        message: &StoredMessage,
        env: &dyn MachineEnvironment,
        now_ms: i64,
        tx: &mut Transaction,
    ) -> Result<Receipt, InstanceError> {
        let key = message.delivery_key();
        if let Some(key) = &key
            && let Some(receipt) = self.handled(key, env, tx)?
        {
            return Ok(receipt);
        }
        let receipt = match &message.event {
            Event::PauseRequested { by } => self.take_pause(by, env, now_ms, tx),
            Event::ResumeRequested { by, .. } => {
                let undone = undone_pause(&message.key);
                self.note_handled(undone.and_then(|key| StoredMessage::key_of(&key)), tx);
                self.take_resume(by, env, now_ms, tx)
            }
            _ => Ok(self.receipt(false)),
        };
        self.note_handled(key, tx);
        receipt
    }

    pub(super) fn person_line(&self, decision: &str, by: &Value, at_ms: i64) -> AuditLine {
        AuditLine {
            at_ms,
            instance: Arc::clone(&self.new.id),
            effect: effect_id(&self.new.id, self.snapshot.step_number(), 0).into(),
            service: "instance".into(),
            decision: decision.into(),
            reason: by.as_str().map(|by| format!("by {by}")).unwrap_or_default(),
            provenance: String::new(),
        }
    }

    /// Stores the result of a call until the resume.
    pub(super) fn hold_result(&mut self, at: usize, result: &EffectResult, tx: &mut Transaction) {
        if !self.open[at].result.is_empty() {
            return;
        }
        let text = tx.pack(serde_json::to_string(result).unwrap_or_default());
        let effect = self.open.edit(at, |effect| (effect.result, effect.parked) = (text, false));
        tx.commit.opened.push(effect.clone());
    }

    /// Stores an event or a message until the resume, in the order of arrival.
    pub(super) fn hold(&mut self, held: &HeldInput, now_ms: i64, tx: &mut Transaction) -> Receipt {
        let last = self.held().map(|(_, effect)| effect.index).max();
        let index = last.map_or(HELD_INDEX_MIN, |last| last + 1);
        let at =
            crate::effects::EffectPosition { step: self.snapshot.step_number(), index, ms: now_ms, sends: 1 };
        let name = match held {
            HeldInput::Event(event) => Arc::clone(&event.name),
            HeldInput::Message(_) => "message".into(),
        };
        let body = tx.pack(serde_json::to_string(held).unwrap_or_default());
        let effect = OpenEffect { body, ..self.new_effect(EffectKind::Held, None, name, at) };
        self.open(effect, tx);
        Receipt { queued: true, ..self.receipt(false) }
    }

    pub(super) fn refuse_if_full(&self) -> Result<(), InstanceError> {
        match self.held().count() < HELD_MAX {
            true => Ok(()),
            false => Err(InstanceError::Paused { id: self.new.id.to_string() }),
        }
    }

    pub(super) fn refuse_if_paused(&self) -> Result<(), InstanceError> {
        match self.is_paused() {
            true => Err(InstanceError::Paused { id: self.new.id.to_string() }),
            false => Ok(()),
        }
    }

    fn held(&self) -> impl Iterator<Item = (usize, &OpenEffect)> {
        let none = self.open.tally().held == 0;
        let all = self.open.iter().enumerate().take(if none { 0 } else { usize::MAX });
        all.filter(|(_, effect)| effect.kind == EffectKind::Held)
    }

    /// Returns the position of the input that was held first.
    pub(super) fn next_held(&self) -> Option<usize> {
        self.held().min_by_key(|(_, effect)| (effect.step, effect.index)).map(|(at, _)| at)
    }

    /// Handles an input that was held. A failed step is in the journal, as for any message.
    pub(super) fn take_held(
        &mut self,
        at: usize,
        env: &dyn MachineEnvironment,
        now_ms: i64,
        tx: &mut Transaction,
    ) {
        let effect = self.open.remove(at);
        self.close(&effect, tx);
        let text = content::unpack(&effect.body, &mut |hash| match tx.blob(hash) {
            Some(blob) => Ok(Some(blob)),
            None => env.blob(hash),
        });
        self.pace.restart();
        match text.ok().and_then(|text| serde_json::from_str::<HeldInput>(&text).ok()) {
            Some(HeldInput::Event(event)) => drop(self.deliver(Event::Named(event), env, now_ms, tx)),
            Some(HeldInput::Message(message)) => drop(self.take_released(&message, env, now_ms, tx)),
            None => {
                let event = Event::named(Arc::clone(&effect.name), Value::Null);
                self.record_failure(&event, "the stored event cannot be read", now_ms, tx);
            }
        }
    }
}

fn pause_key(parent: &str, step: u64) -> Arc<str> {
    format!("{parent}/{step}/pause").into()
}

/// Returns the key of the pause that a resume undoes: a paused instance takes no step between the two.
fn undone_pause(resume: &str) -> Option<Arc<str>> {
    let mut parts = resume.rsplitn(3, '/');
    let step = parts.nth(1)?.parse::<u64>().ok()?;
    Some(pause_key(parts.next()?, step.checked_sub(1)?))
}
