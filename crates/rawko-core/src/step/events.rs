//! From a delivery to a resting instance: the handling of each kind of event, and the macrostep around it.

use smallvec::SmallVec;

use super::StepError;
use super::run::Macrostep;
use super::trace::TraceEntry;
use crate::blueprint::Unhandled;
use crate::configuration::Configuration;
use crate::entry_set::EntrySet;
use crate::event::{Event, NamedEvent};
use crate::ids::Slot;
use crate::value::Value;

/// Limit of deferred events.
const DEFERRED_MAX: usize = 1_000;

impl Macrostep<'_> {
    pub(super) fn start(&mut self) -> Result<(), StepError> {
        let entries = EntrySet::new(self.tables(), &self.snapshot.more).enter_root();
        for entry in entries {
            self.enter(entry);
        }
        self.settle()?;
        self.stall_unstarted();
        Ok(())
    }

    pub(super) fn handle(&mut self, event: Event) -> Result<(), StepError> {
        if self.is_over() {
            self.trace(|| TraceEntry::Stale);
            return Ok(());
        }
        match event {
            Event::Named(event) => self.handle_named(event),
            Event::TimerFired { timer } => self.handle_timer_fired(timer),
            Event::InvokeDone { invocation, data } => self.handle_invoke_done(invocation, data),
            Event::InvokeFailed { invocation, error } => self.handle_invoke_failed(invocation, error),
            Event::RetryRequested => self.handle_retry_requested(),
            Event::ItemRetryRequested { item } => self.handle_item_retry(&item),
            Event::CancelRequested { reason } => self.handle_cancel_requested(reason),
            // Taken before a run begins.
            Event::PauseRequested { .. } | Event::ResumeRequested { .. } => Ok(()),
        }?;
        self.stall_unstarted();
        Ok(())
    }

    /// Continues after a first microstep that only assigned.
    pub(super) fn go_on(
        &mut self,
        event: NamedEvent,
        written: SmallVec<[(Slot, Value); 4]>,
    ) -> Result<(), StepError> {
        self.undo.add_written(written);
        self.event = Some(event);
        self.microsteps = 1;
        self.handled = true;
        self.settle()?;
        self.stall_unstarted();
        Ok(())
    }

    fn handle_named(&mut self, event: NamedEvent) -> Result<(), StepError> {
        // A result delivered by name (by a person or a simulation) ends its invocation.
        if let Some(id) = event.name.strip_prefix("done.invoke.").and_then(|id| self.invocation_by_name(id)) {
            return self.handle_invoke_done(id, event.data);
        }
        if let Some(id) = event.name.strip_prefix("error.invoke.").and_then(|id| self.invocation_by_name(id))
        {
            return self.handle_invoke_failed(id, event.data);
        }
        if let Some(id) = event.name.strip_prefix("done.invoke.").and_then(|id| self.fan_out_by_name(id)) {
            return self.end_fan_out(id, Ok(event.data));
        }
        if let Some(id) = event.name.strip_prefix("error.invoke.").and_then(|id| self.fan_out_by_name(id)) {
            return self.end_fan_out(id, Err(event.data));
        }
        if let Some(id) = event.name.strip_prefix("done.invoke.") {
            self.end_stall_of_invoke(id);
        }
        self.event = Some(event);
        let before = self.before_deferred();
        let selection = self.select_for_event();
        if selection.is_empty() {
            self.not_handled()?;
        } else {
            self.microstep(selection)?;
        }
        self.settle()?;
        self.offer_deferred_since(before)
    }

    fn handle_cancel_requested(&mut self, reason: Value) -> Result<(), StepError> {
        self.event = Some(NamedEvent::new("cancel", reason.clone()));
        self.cancel(reason);
        Ok(())
    }

    /// Delivers an internally generated event and returns true if anything handled it.
    pub(super) fn deliver(&mut self, event: NamedEvent) -> Result<bool, StepError> {
        self.event = Some(event);
        let before = self.before_deferred();
        let selection = self.select_for_event();
        let handled = !selection.is_empty();
        if handled {
            self.microstep(selection)?;
        }
        self.settle()?;
        self.offer_deferred_since(before)?;
        Ok(handled)
    }

    fn not_handled(&mut self) -> Result<(), StepError> {
        let Some(event) = self.event.clone() else { return Ok(()) };
        let deferred = self.chart.unhandled == Unhandled::Defer;
        match self.chart.unhandled {
            Unhandled::Ignore => {}
            Unhandled::Error => {
                let configuration = self.active_paths();
                return Err(StepError::Unhandled { event: event.name.to_string(), configuration });
            }
            Unhandled::Defer => {
                if self.snapshot.deferred().len() >= DEFERRED_MAX {
                    return Err(StepError::TooManyDeferred { limit: DEFERRED_MAX });
                }
                self.more_mut().deferred.push(event.clone());
            }
        }
        self.trace(|| TraceEntry::Unhandled { event: event.name, deferred });
        Ok(())
    }

    /// Returns the configuration for comparison, on charts that defer events.
    pub(super) fn before_deferred(&self) -> Option<Configuration> {
        (self.chart.unhandled == Unhandled::Defer).then(|| self.snapshot.configuration.clone())
    }

    pub(super) fn offer_deferred_since(&mut self, before: Option<Configuration>) -> Result<(), StepError> {
        match before {
            Some(before) if before != self.snapshot.configuration => self.offer_deferred(),
            Some(_) | None => Ok(()),
        }
    }

    /// Retries deferred events after the configuration changed, oldest first.
    pub(super) fn offer_deferred(&mut self) -> Result<(), StepError> {
        let mut at = 0;
        while let Some(event) = self.snapshot.deferred().get(at).cloned() {
            if self.is_over() {
                return Ok(());
            }
            self.event = Some(event);
            let selection = self.select_for_event();
            if selection.is_empty() {
                at += 1;
                continue;
            }
            self.more_mut().deferred.remove(at);
            self.microstep(selection)?;
            self.settle()?;
            at = 0;
        }
        Ok(())
    }

    /// Runs eventless transitions to a fixed point, then one internal event at a time; when the queue is empty, starts
    /// the invokes of states that were entered and are still active.
    pub(super) fn settle(&mut self) -> Result<(), StepError> {
        loop {
            if self.is_over() {
                return Ok(());
            }
            let eventless = self.select_eventless();
            if !eventless.is_empty() {
                self.microstep(eventless)?;
                continue;
            }
            if let Some(raised) = self.queue.pop_front() {
                self.take_raised(raised)?;
                continue;
            }
            if let Some((fan_out, ended)) = self.to_advance.pop_front() {
                self.advance(fan_out, ended);
                continue;
            }
            if self.to_invoke.is_empty() {
                return Ok(());
            }
            self.start_invokes();
            if self.queue.is_empty() && self.to_advance.is_empty() {
                return Ok(());
            }
        }
    }
}
