//! Compares what a store keeps beside a snapshot with the snapshot: the status, the next due time and the open effects.
//! The snapshot is covered by the hash chain of the journal, the rest is not: a deleted or modified row shows here.

use rawko_core::{Status, TimerPurpose};

use crate::instance::Instance;
use crate::records::{EffectKind, OpenEffect};

impl Instance {
    /// Returns the first contradiction between the snapshot and everything restored beside it, for people.
    pub fn contradiction(&self) -> Option<String> {
        self.status_contradiction()
            .or_else(|| self.missing_effect())
            .or_else(|| self.unexpected_effect())
            .or_else(|| self.due_contradiction())
    }

    fn status_contradiction(&self) -> Option<String> {
        let (kept, status) = (self.head.status, self.snapshot.status());
        (kept != status).then(|| {
            format!("its status is {}, but its journal ends with {}", kept.as_str(), status.as_str())
        })
    }

    /// Every pending invocation is performed by an open effect, or waits for its next attempt.
    fn missing_effect(&self) -> Option<String> {
        if self.snapshot.status().is_over() {
            return None;
        }
        let waits = |invocation: u64| {
            let is_retry = |purpose: &TimerPurpose| match purpose {
                TimerPurpose::InvokeRetry { invocation: of } => *of == invocation,
                TimerPurpose::After { .. }
                | TimerPurpose::Send { .. }
                | TimerPurpose::InvokeTimeout { .. }
                | TimerPurpose::EachContinue { .. } => false,
            };
            self.snapshot.timers().iter().any(|timer| is_retry(&timer.purpose))
        };
        let mut pending = self.snapshot.invocations().iter();
        let lost =
            pending.find(|pending| self.open_invocation(pending.id).is_none() && !waits(pending.id))?;
        let id = self.chart.invoke_name(lost.invoke);
        Some(format!("the open effect of `{id}` ({}) is missing", lost.src))
    }

    /// Every open effect of an invocation belongs to a pending one, or keeps the key of a failed one.
    fn unexpected_effect(&self) -> Option<String> {
        let is_known = |effect: &OpenEffect| match (effect.kind, effect.invocation) {
            (EffectKind::Unknown | EffectKind::Held, _) | (_, None) => true,
            // Nothing performs a question; one that a stimulus of a simulation answered stays behind.
            (EffectKind::Person, _) => true,
            (_, Some(invocation)) => self.needs_key(invocation),
        };
        let unexpected = self.open.iter().find(|effect| !is_known(effect))?;
        Some(format!("the open effect `{}` belongs to no state", unexpected.name))
    }

    /// The next timer of a resting instance is the one its row names. Results and held inputs are due at once, at a
    /// time that is not kept.
    fn due_contradiction(&self) -> Option<String> {
        let is_at_rest =
            self.snapshot.status() == Status::Active && !self.is_paused() && self.fault.is_none();
        let is_immediate = |effect: &OpenEffect| !effect.result.is_empty() || effect.kind == EffectKind::Held;
        if !is_at_rest || self.open.iter().any(is_immediate) {
            return None;
        }
        // Releases before format 5 left out the expiry times of questions.
        let timer = self.snapshot.next_timer().map(|timer| timer.due_ms);
        let is_right = [self.next_due_ms(), timer].contains(&self.head.next_due_ms);
        (!is_right).then(|| "the due time of its next timer was modified".to_owned())
    }
}
