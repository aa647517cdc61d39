//! `Time`: timers and approvals that are due, and calls refused before they started. Everything that an instance does
//! without an external cause happens here, so this is where runaway loops are bounded.

use rawko_core::{Event, Value};

use super::DUE_STEPS_MAX;
use crate::consequences::{first_due, request_expired};
use crate::content;
use crate::environment::MachineEnvironment;
use crate::error::InstanceError;
use crate::failure::{Category, ServiceError};
use crate::instance::Instance;
use crate::receipt::Receipt;
use crate::records::{EffectKind, OpenEffect};
use crate::result::EffectResult;
use crate::transaction::{FailureKind, Transaction};

/// The next thing that an instance does by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextDue {
    /// A refused call: its failure is the result.
    Result {
        at: usize,
        at_ms: i64,
    },
    /// An event or a message that arrived while the instance was paused.
    Held {
        at: usize,
        at_ms: i64,
    },
    Timer {
        timer: u64,
        at_ms: i64,
    },
    /// An approval expires.
    Expiry {
        at: usize,
        at_ms: i64,
    },
}

impl NextDue {
    pub(crate) fn at_ms(self) -> i64 {
        match self {
            NextDue::Result { at_ms, .. }
            | NextDue::Held { at_ms, .. }
            | NextDue::Timer { at_ms, .. }
            | NextDue::Expiry { at_ms, .. } => at_ms,
        }
    }
}

impl Instance {
    /// Returns true if [`Input::Time`](super::Input::Time) would have an effect.
    pub fn is_due(&self, now_ms: i64) -> bool {
        let now_ms = now_ms.max(self.last_ms);
        !self.snapshot.status().is_over() && self.next_due().is_some_and(|due| due.at_ms() <= now_ms)
    }

    /// Returns the next due time; a driver sets one deadline for it.
    pub fn next_due_ms(&self) -> Option<i64> {
        self.next_due().filter(|_| !self.snapshot.status().is_over()).map(NextDue::at_ms)
    }

    /// Returns the next due item; `None` while it is paused. After a fault timers rest until a person acts.
    pub(crate) fn next_due(&self) -> Option<NextDue> {
        if self.is_paused() {
            return None;
        }
        let rests = self.fault.is_some();
        let tally = self.open.tally();
        if tally.with_result > 0
            && let Some(at) = self.open.position(|effect| !effect.result.is_empty()).filter(|_| !rests)
        {
            return Some(NextDue::Result { at, at_ms: self.last_ms });
        }
        if let Some(at) = self.next_held() {
            return Some(NextDue::Held { at, at_ms: self.last_ms });
        }
        let timer = self.snapshot.next_timer().filter(|_| !rests);
        let timer = timer.map(|timer| NextDue::Timer { timer: timer.id, at_ms: timer.due_ms });
        let expiry = |(at, effect): (usize, &OpenEffect)| {
            let at_ms = effect.due_ms.filter(|_| effect.kind == EffectKind::Person)?;
            Some(NextDue::Expiry { at, at_ms })
        };
        let all = self.open.iter().enumerate().take(if tally.people == 0 { 0 } else { usize::MAX });
        let expiries = all.filter_map(expiry);
        first_due(timer, expiries, |due| due.at_ms())
    }

    /// Handles due items. Returns `false` if there are more than fit into one transaction.
    pub(super) fn take_due(
        &mut self,
        env: &dyn MachineEnvironment,
        now_ms: i64,
        tx: &mut Transaction,
    ) -> bool {
        for _ in 0..DUE_STEPS_MAX {
            if !self.is_due(now_ms) {
                return true;
            }
            match self.next_due() {
                Some(NextDue::Result { at, .. }) => self.take_refusal(at, env, now_ms, tx),
                Some(NextDue::Held { at, .. }) => self.take_held(at, env, now_ms, tx),
                Some(NextDue::Timer { timer, at_ms }) => self.take_timer(timer, at_ms, env, tx),
                Some(NextDue::Expiry { at, at_ms }) => self.expire(at, at_ms, env, tx),
                None => return true,
            }
        }
        !self.is_due(now_ms)
    }

    /// Handles refused calls, until none is left or a transaction is full.
    pub(super) fn take_refusals(&mut self, env: &dyn MachineEnvironment, now_ms: i64, tx: &mut Transaction) {
        for _ in 0..DUE_STEPS_MAX {
            match self.next_due().filter(|_| !self.snapshot.status().is_over()) {
                Some(NextDue::Result { at, .. }) => self.take_refusal(at, env, now_ms, tx),
                Some(NextDue::Held { .. } | NextDue::Timer { .. } | NextDue::Expiry { .. }) | None => return,
            }
        }
    }

    /// Fires a timer at its own time, however late the driver is: its consequences count from there.
    fn take_timer(&mut self, timer: u64, due_ms: i64, env: &dyn MachineEnvironment, tx: &mut Transaction) {
        let at_ms = due_ms.max(self.last_ms);
        if due_ms > self.last_ms {
            self.pace.restart();
        } else if !self.may_act_again(env, at_ms, tx) {
            return;
        }
        if let Err(error) = self.step_with(&Event::TimerFired { timer }, env, at_ms, tx) {
            // It would fail again immediately and forever: it pauses until a person acts.
            self.rest_with(&error.to_string(), env, tx);
        }
    }

    fn expire(&mut self, at: usize, due_ms: i64, env: &dyn MachineEnvironment, tx: &mut Transaction) {
        let at_ms = due_ms.max(self.last_ms);
        let result = EffectResult::of(&self.open[at], Err(request_expired()));
        // A step that cannot be taken leaves a fault, which is visible in lists.
        let _ = self.end_effect(at, result, env, at_ms, tx);
    }

    fn take_refusal(&mut self, at: usize, env: &dyn MachineEnvironment, now_ms: i64, tx: &mut Transaction) {
        if !self.is_later_item(at) && !self.may_act_again(env, now_ms, tx) {
            return;
        }
        let effect = &self.open[at];
        let text = content::unpack(&effect.result, &mut |hash| match tx.blob(hash) {
            Some(blob) => Ok(Some(blob)),
            None => env.blob(hash),
        });
        let result = text.ok().and_then(|text| serde_json::from_str::<EffectResult>(&text).ok());
        let result = result.unwrap_or_else(|| {
            let error = ServiceError::new(Category::Host, "the stored result cannot be read");
            EffectResult::of(effect, Err(error))
        });
        // A step that cannot be taken leaves a fault, which is visible in lists.
        let _ = self.end_effect(at, result, env, now_ms, tx);
    }

    /// Counts a step that follows the last one without elapsed time or an external cause. Returns false over the limit.
    pub(super) fn may_act_again(
        &mut self,
        env: &dyn MachineEnvironment,
        at_ms: i64,
        tx: &mut Transaction,
    ) -> bool {
        self.pace.zero_delay_steps += 1;
        let most = env.limits().zero_delay_steps_max;
        if self.pace.zero_delay_steps <= most {
            return true;
        }
        let message = format!("more than {most} steps in a row without a delay: a runaway loop");
        self.stop_loop(&message, env, at_ms, tx);
        false
    }

    /// Raises `error.execution` with code `runaway` in the chart. If no transition takes it, the instance rests.
    pub(super) fn stop_loop(
        &mut self,
        why: &str,
        env: &dyn MachineEnvironment,
        at_ms: i64,
        tx: &mut Transaction,
    ) {
        self.pace.restart();
        let data = Value::map([("code", Value::str("runaway")), ("message", Value::str(why))]);
        let handled = self.step_with(&Event::named("error.execution", data), env, at_ms, tx);
        if !handled.is_ok_and(|handled| handled) {
            tx.note_failure(FailureKind::Runaway, why);
            self.rest_with(why, env, tx);
        }
    }

    /// Returns true for the second and later items of an `each`: its list bounds it, so it is no loop.
    pub(super) fn is_later_item(&self, at: usize) -> bool {
        let invocation = self.open[at].invocation.and_then(|id| self.snapshot.invocation(id));
        invocation.is_some_and(|known| known.item.is_some_and(|index| index > 0))
    }

    /// Pauses the instance until a person acts. For its parent it has failed.
    pub(super) fn rest_with(&mut self, why: &str, env: &dyn MachineEnvironment, tx: &mut Transaction) {
        self.fault = Some(why.into());
        self.report_failure(why, env, tx);
    }

    /// Records an event that a paused instance does not take.
    pub(super) fn fault_with(
        &mut self,
        event: &Event,
        at_ms: i64,
        tx: &mut Transaction,
    ) -> Result<Receipt, InstanceError> {
        let why = self.fault.as_deref().unwrap_or("a runaway loop was stopped").to_owned();
        self.record_failure(event, &why, at_ms, tx);
        Ok(self.receipt(false))
    }
}
