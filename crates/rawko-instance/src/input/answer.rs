//! `Answer`: a person replies to a pending request.

use std::sync::Arc;

use rawko_core::Invoke;

use super::caller_key;
use crate::content;
use crate::environment::MachineEnvironment;
use crate::error::InstanceError;
use crate::form;
use crate::instance::Instance;
use crate::person::PersonAnswer;
use crate::receipt::Receipt;
use crate::records::{EffectKind, OpenEffect};
use crate::transaction::Transaction;

impl Instance {
    pub(super) fn take_answer(
        &mut self,
        invoke: Option<&str>,
        answer: &PersonAnswer,
        key: Option<&Arc<str>>,
        env: &dyn MachineEnvironment,
        now_ms: i64,
        tx: &mut Transaction,
    ) -> Result<Receipt, InstanceError> {
        let key = caller_key(key);
        if let Some(key) = &key
            && let Some(receipt) = self.handled(key, env, tx)?
        {
            return Ok(receipt);
        }
        self.refuse_if_paused()?;
        let at = self.asked(invoke)?;
        if answer.asked_ms.is_some_and(|asked_ms| asked_ms != self.open[at].opened_ms) {
            let invoke = self.request_name(&self.open[at]);
            return Err(InstanceError::Superseded { id: self.new.id.to_string(), invoke });
        }
        self.check_form(at, answer, env, tx)?;
        self.pace.restart();
        let result = answer.to_result(&self.open[at]);
        let receipt = self.end_effect(at, result, env, now_ms, tx)?;
        self.note_handled(key, tx);
        Ok(receipt)
    }

    /// Refuses data that does not fit the form of the request, whichever way the answer came.
    fn check_form(
        &self,
        at: usize,
        answer: &PersonAnswer,
        env: &dyn MachineEnvironment,
        tx: &Transaction,
    ) -> Result<(), InstanceError> {
        if !answer.approved {
            return Ok(());
        }
        let effect = &self.open[at];
        let text = content::unpack(&effect.body, &mut |hash| match tx.blob(hash) {
            Some(blob) => Ok(Some(blob)),
            None => env.blob(hash),
        })?;
        // An unreadable request of an older version has no form to validate against.
        let Ok(invoke) = serde_json::from_str::<Invoke>(&text) else { return Ok(()) };
        let violations = form::violations(&invoke.input, &answer.data);
        if violations.is_empty() {
            return Ok(());
        }
        let invoke = invoke.id.to_string();
        Err(InstanceError::AnswerRefused { id: self.new.id.to_string(), invoke, violations })
    }

    fn request_name(&self, effect: &OpenEffect) -> String {
        let known = effect.invocation.and_then(|id| self.snapshot.invocation(id));
        known.map_or_else(|| "?".to_owned(), |known| self.chart.invocation_name(&known).to_string())
    }

    /// The pending request that an answer means.
    fn asked(&self, invoke: Option<&str>) -> Result<usize, InstanceError> {
        let name = |effect: &OpenEffect| self.request_name(effect);
        let is_person = |(_, effect): &(usize, &OpenEffect)| effect.kind == EffectKind::Person;
        let all: Vec<_> = self.open.iter().enumerate().filter(is_person).collect();
        let id = self.new.id.to_string();
        let asked = || all.iter().map(|(_, effect)| name(effect)).collect::<Vec<_>>().join(", ");
        match (invoke, all.as_slice()) {
            (_, []) => Err(InstanceError::NothingAsked { id }),
            (None, [(at, _)]) => Ok(*at),
            (None, _) => Err(InstanceError::SeveralAsked { id, asked: asked() }),
            (Some(invoke), pending) => {
                let found = pending.iter().find(|(_, effect)| name(effect) == invoke);
                found.map(|(at, _)| *at).ok_or_else(|| InstanceError::NotAsked {
                    id,
                    invoke: invoke.to_owned(),
                    asked: asked(),
                })
            }
        }
    }
}
