//! `Invoke` and `StopInvoke`: the kind of work, the permission, and the effect that stays open while it runs.

use std::sync::Arc;

use rawko_core::{Event, Invoke, ServiceClass, ServiceName, Value};

use super::child::child_id;
use super::{EffectPosition, effect_id};
use crate::agents::{AgentBinding, AgentRequest};
use crate::environment::MachineEnvironment;
use crate::failure::ServiceError;
use crate::instance::Instance;
use crate::ledger::Spent;
use crate::message::{MessageChain, StoredMessage};
use crate::records::{EffectKind, OpenEffect};
use crate::transaction::{DriverAction, EffectPlace, ServiceRequest, Transaction};

impl Instance {
    /// `by_src` is the kind of work by its `src`.
    pub(crate) fn plan_invoke(
        &mut self,
        (mut invoke, by_src): (Invoke, EffectKind),
        at: EffectPosition,
        env: &dyn MachineEnvironment,
        tx: &mut Transaction,
    ) {
        if let Some(node) = self.node_of(Some(invoke.invocation)) {
            invoke.policy = self.share_of(&invoke, self.policy_at(node));
        }
        let told = env.kind_of(self, &invoke);
        let binding = if told.is_some() { None } else { self.binding(&invoke, env) };
        let kind = match &binding {
            Some(Ok(AgentBinding::Chart { .. })) => EffectKind::Child,
            Some(Ok(AgentBinding::Person { .. })) => EffectKind::Person,
            Some(Ok(AgentBinding::Service) | Err(_)) => EffectKind::Agent,
            None => told.unwrap_or(by_src),
        };
        let (body, _) = tx.pack_marked(&mut self.lists, &|marks| {
            serde_json::to_string(&marks.in_invoke(&invoke)).unwrap_or_default()
        });
        let mut effect = OpenEffect {
            body,
            ..self.new_effect(kind, Some(invoke.invocation), Arc::clone(&invoke.src), at)
        };
        if let Some(key) = self.take_kept_key(&invoke, tx) {
            effect.idempotency = key;
            effect.in_doubt = true;
        }
        if let Some(binding) = binding {
            return self.plan_agent(effect, (binding, invoke), at, env, tx);
        }
        match kind {
            EffectKind::Child => self.plan_child(effect, invoke, at, env, tx),
            EffectKind::Person => self.plan_person(effect, &invoke, at, tx),
            EffectKind::Service | EffectKind::Agent => {
                match self.ask_gate(&effect, &invoke.input, &invoke.policy, at, env, tx) {
                    Ok(()) => self.run(effect, invoke, tx),
                    Err(error) => self.refuse(effect, error, tx),
                }
            }
            EffectKind::Call | EffectKind::Send | EffectKind::Unknown | EffectKind::Held => {}
        }
    }

    fn run(&mut self, effect: OpenEffect, invoke: Invoke, tx: &mut Transaction) {
        self.open(effect.clone(), tx);
        tx.actions.push(DriverAction::Run { effect, request: ServiceRequest::Invoke(invoke) });
    }

    /// Returns an agent's implementation; `None` if the `src` is not an agent, or agents are services here.
    fn binding(
        &self,
        invoke: &Invoke,
        env: &dyn MachineEnvironment,
    ) -> Option<Result<AgentBinding, ServiceError>> {
        let agent = ServiceName::member_of(&invoke.src, ServiceClass::Agent)?;
        let (input, policy) = (&invoke.input, &invoke.policy);
        Some(env.agents()?.resolve(&AgentRequest { agent, input, policy, instance: &self.new.id }))
    }

    /// Agents pass the gate regardless of their implementation.
    fn plan_agent(
        &mut self,
        effect: OpenEffect,
        (binding, mut invoke): (Result<AgentBinding, ServiceError>, Invoke),
        at: EffectPosition,
        env: &dyn MachineEnvironment,
        tx: &mut Transaction,
    ) {
        let allowed = self.ask_gate(&effect, &invoke.input, &invoke.policy, at, env, tx);
        match allowed.and(binding) {
            Ok(AgentBinding::Chart { chart, input }) => {
                invoke.input = input;
                self.plan_agent_chart(effect, (chart, invoke), at, env, tx);
            }
            Ok(AgentBinding::Person { input }) => {
                invoke.input = input;
                let body = tx.pack(serde_json::to_string(&invoke).unwrap_or_default());
                self.plan_person(OpenEffect { body, ..effect }, &invoke, at, tx);
            }
            Ok(AgentBinding::Service) => self.run(effect, invoke, tx),
            Err(error) => self.refuse(effect, error, tx),
        }
    }

    pub(super) fn plan_stop(
        &mut self,
        (invocation, invoke): (u64, &str),
        at: EffectPosition,
        env: &dyn MachineEnvironment,
        tx: &mut Transaction,
    ) {
        let Some(open) = self.open_invocation(invocation) else { return };
        let effect = self.open.remove(open);
        let is_call = matches!(effect.kind, EffectKind::Service | EffectKind::Agent);
        match effect.kind {
            EffectKind::Child => self.stop_child(&effect, invoke, at, env, tx),
            EffectKind::Service | EffectKind::Agent | EffectKind::Call | EffectKind::Send => {
                // A call requested by this transaction never starts.
                let place = EffectPlace::of(&effect);
                let asked = tx.actions.len();
                tx.actions.retain(|action| !is_run_of(action, &effect));
                if tx.actions.len() == asked {
                    tx.actions.push(DriverAction::Stop { instance: self.key, effect: place });
                }
            }
            EffectKind::Person | EffectKind::Unknown | EffectKind::Held => {}
        }
        if is_call && self.needs_key(invocation) {
            self.keep_key(effect, tx);
        } else {
            self.close(&effect, tx);
        }
    }

    /// Cancels the child by a message, so that a crash after this commit does not leave it running. Its usage counts once
    /// it reports it.
    fn stop_child(
        &mut self,
        effect: &OpenEffect,
        invoke: &str,
        at: EffectPosition,
        env: &dyn MachineEnvironment,
        tx: &mut Transaction,
    ) {
        let id = child_id(&self.new.id, effect);
        let Some(key) = self.key_of_child(&id, env, tx) else { return };
        let scopes = self.active_scopes_of(invoke);
        self.ledger.awaited.insert(Arc::clone(&id), scopes);
        let message = StoredMessage {
            event: Event::CancelRequested { reason: Value::str("the parent left the state") },
            key: effect_id(&self.new.id, at.step, at.index).into(),
            child: None,
            spent: Spent::default(),
            chain: MessageChain::default(),
        };
        tx.post(key, env.next_message(), message);
    }

    /// Returns the key of an earlier attempt with an unknown outcome: the next attempt is the same request.
    fn take_kept_key(&mut self, invoke: &Invoke, tx: &mut Transaction) -> Option<Arc<str>> {
        let earlier = self.earlier_invocation(invoke.invocation);
        let is_kept = |effect: &OpenEffect| {
            let is_retried = effect.invocation.is_some_and(|id| self.retrying.contains(&id));
            let is_same = effect.invocation == Some(invoke.invocation)
                || (effect.invocation.is_some() && effect.invocation == earlier)
                || (is_retried && effect.name == invoke.src);
            effect.kind == EffectKind::Unknown && is_same
        };
        if self.open.tally().unknown == 0 {
            return None;
        }
        let at = self.open.position(is_kept)?;
        let kept = self.open.remove(at);
        self.close(&kept, tx);
        Some(kept.idempotency)
    }
}

fn is_run_of(action: &DriverAction, effect: &OpenEffect) -> bool {
    match action {
        DriverAction::Run { effect: known, .. } => {
            (known.instance, known.step, known.index) == (effect.instance, effect.step, effect.index)
        }
        DriverAction::Stop { .. } | DriverAction::Deliver { .. } => false,
    }
}
