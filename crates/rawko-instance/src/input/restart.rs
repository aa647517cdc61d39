//! `Restart`: the driver restarted and no call is running. Calls that are safe to repeat run again; the others have an
//! unknown outcome, which is reported to the chart.

use std::sync::Arc;

use crate::content;
use crate::environment::MachineEnvironment;
use crate::error::InstanceError;
use crate::failure::{Category, ServiceError};
use crate::gate;
use crate::instance::Instance;
use crate::policy::agent_of;
use crate::receipt::Receipt;
use crate::records::{AuditLine, OpenEffect};
use crate::result::EffectResult;
use crate::transaction::{DriverAction, EffectPlace, ServiceRequest, Transaction};

impl Instance {
    pub(super) fn take_restart(
        &mut self,
        epoch: u64,
        env: &dyn MachineEnvironment,
        now_ms: i64,
        tx: &mut Transaction,
    ) -> Result<Receipt, InstanceError> {
        if self.restarted == Some(epoch) {
            return Ok(self.receipt(false));
        }
        let running: Vec<OpenEffect> =
            self.open.iter().filter(|effect| effect.is_running()).cloned().collect();
        for effect in running {
            if self.is_paused() {
                self.rest_call(&effect, env, now_ms, tx)?;
                continue;
            }
            self.run_again(effect, env, now_ms, tx)?;
        }
        self.restarted = Some(epoch);
        Ok(self.receipt(false))
    }

    /// Runs an open call again, or ends it with the error that replaces its result.
    pub(super) fn run_again(
        &mut self,
        effect: OpenEffect,
        env: &dyn MachineEnvironment,
        now_ms: i64,
        tx: &mut Transaction,
    ) -> Result<(), InstanceError> {
        let place = EffectPlace::of(&effect);
        match self.resume_call(&effect, env, now_ms, tx)? {
            Ok(action) => tx.actions.push(action),
            Err(error) => {
                let result = EffectResult::of(&effect, Err(error.clone()));
                tx.refused.push((effect, error));
                let at = self.open_at(place.step, place.index);
                // A step that fails leaves a fault, which is visible in lists; the other calls still restart.
                let _ = at.map(|at| self.end_effect(at, result, env, now_ms, tx));
            }
        }
        Ok(())
    }

    /// A call of a paused instance was lost with its driver: it is parked, or its result is that it was interrupted.
    fn rest_call(
        &mut self,
        effect: &OpenEffect,
        env: &dyn MachineEnvironment,
        now_ms: i64,
        tx: &mut Transaction,
    ) -> Result<(), InstanceError> {
        if effect.parked {
            return Ok(());
        }
        let text = content::unpack(&effect.body, &mut |hash| env.blob(hash))?;
        let request = serde_json::from_str::<ServiceRequest>(&text);
        let again = request.is_ok_and(|request| env.may_repeat(effect, &request));
        if !again {
            tx.commit.audit.push(self.restart_line(effect, false, now_ms));
        }
        self.park_after_restart(effect, again, interrupted(effect), tx);
        Ok(())
    }

    /// Returns the call to repeat, or the error that replaces its result.
    fn resume_call(
        &mut self,
        effect: &OpenEffect,
        env: &dyn MachineEnvironment,
        now_ms: i64,
        tx: &mut Transaction,
    ) -> Result<Result<DriverAction, ServiceError>, InstanceError> {
        let text = content::unpack(&effect.body, &mut |hash| env.blob(hash))?;
        let Ok(request) = serde_json::from_str::<ServiceRequest>(&text) else {
            return Ok(Err(ServiceError::new(Category::Host, "the stored request cannot be read")));
        };
        if effect.parked && !effect.in_doubt {
            let effect = self.reopen(OpenEffect { parked: false, ..effect.clone() }, tx);
            return Ok(Ok(DriverAction::Run { effect, request }));
        }
        // A parked call was found repeatable when it was stopped.
        let again = effect.parked || env.may_repeat(effect, &request);
        tx.commit.audit.push(self.restart_line(effect, again, now_ms));
        if !again {
            return Ok(Err(interrupted(effect)));
        }
        // The gate may have been closed since. People and child charts run as calls where they are stubbed.
        let allowed = match gate::is_gated(&effect.name) {
            true => env.gate().by_settings(&effect.name, agent_of(&self.policy)).map(drop),
            false => Ok(()),
        };
        Ok(match allowed {
            Ok(()) => {
                let effect = self.reopen(OpenEffect { in_doubt: true, parked: false, ..effect.clone() }, tx);
                Ok(DriverAction::Run { effect, request })
            }
            Err(rule) => Err(ServiceError::new(Category::Refused, rule)),
        })
    }

    /// Replaces an open effect with a changed one.
    fn reopen(&mut self, effect: OpenEffect, tx: &mut Transaction) -> OpenEffect {
        if let Some(at) = self.open_at(effect.step, effect.index) {
            self.open.edit(at, |known| known.clone_from(&effect));
            tx.commit.opened.push(effect.clone());
        }
        effect
    }

    fn restart_line(&self, effect: &OpenEffect, again: bool, at_ms: i64) -> AuditLine {
        AuditLine {
            at_ms,
            instance: Arc::clone(&self.new.id),
            effect: Arc::clone(&effect.idempotency),
            service: Arc::clone(&effect.name),
            decision: if again { "repeated" } else { "interrupted" }.into(),
            reason: if effect.parked { "it was stopped by a pause" } else { "the host stopped while it ran" }
                .into(),
            provenance: String::new(),
        }
    }

    /// Marks calls that a stopping driver did not start: at the next start they run as first attempts.
    pub fn park(&mut self, effects: &[EffectPlace]) -> Transaction {
        let mut tx = self.begin();
        for place in effects {
            if let Some(at) = self.open_at(place.step, place.index) {
                tx.commit.opened.push(self.open.edit(at, |effect| effect.parked = true).clone());
            }
        }
        tx
    }
}

fn interrupted(effect: &OpenEffect) -> ServiceError {
    let message = format!("the host stopped while `{}` ran; its outcome is unknown", effect.name);
    ServiceError::new(Category::Interrupted, message)
}
