//! `Transaction`: all consequences of the inputs handled together. A driver commits it as a whole and only then
//! performs its actions.

use std::borrow::Cow;
use std::sync::Arc;

use rawko_core::{Chart, Effect, Fault, Invoke, MacrostepTrace, Send, Step, StepError, Value};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::content;
use crate::error::InstanceError;
use crate::failure::ServiceError;
use crate::input::Input;
use crate::instance::Instance;
use crate::message::StoredMessage;
use crate::receipt::Receipt;
use crate::records::{Blob, Commit, Head, Inbound, InstanceKey, OpenEffect};

/// The data to commit, and the actions to perform once it is durable.
#[derive(Debug, Default)]
pub struct Transaction {
    /// Changes of the instance itself.
    pub commit: Commit,
    /// Children started by these steps, and their children: durable together with the step that invoked them.
    pub children: Vec<StartedChild>,
    /// Includes those of the children, in order.
    pub actions: Vec<DriverAction>,
    /// Calls that were not made, with the reason; their instances have already received it. For observers.
    pub refused: Vec<(OpenEffect, ServiceError)>,
    /// The trace of each step, including those of the children; empty unless the environment wants them.
    pub traces: Vec<StepTrace>,
    /// Steps that could not be taken and loops that were stopped, for drivers that report them by kind; the records have
    /// them as text.
    pub failures: Vec<StepFailure>,
    /// The input was not handled: commit, then pass it in again.
    pub deferred: Option<Input>,
    /// The reply to the input of [`Instance::handle`].
    pub reply: Option<Result<Receipt, InstanceError>>,
    /// Instances that begin with this commit, by id: the store does not know them yet.
    pub(crate) uncommitted: FxHashMap<Arc<str>, InstanceKey>,
    /// Events that the current step could not send, for its record.
    pub(crate) faults: Vec<Fault>,
    /// The stored head, to write the new one only if it differs; `None` for a new instance.
    pub(crate) head_before: Option<Head>,
}

/// The trace of one step.
#[derive(Clone, Debug)]
pub struct StepTrace {
    /// Key of the instance within its store.
    pub instance: InstanceKey,
    /// Chart that the ids of the trace belong to.
    pub chart: Arc<Chart>,
    /// Number of the step.
    pub step: u64,
    /// True if a transition took the event.
    pub handled: bool,
    /// Decisions of the engine, in order.
    pub trace: MacrostepTrace,
    /// Effects that the step requested.
    pub effects: Vec<Effect>,
}

/// A step that could not be taken, or a loop that was stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepFailure {
    /// Key of the instance within its store.
    pub instance: InstanceKey,
    /// Class of the failure.
    pub kind: FailureKind,
    /// As in the record and in [`Head::fault`].
    pub message: String,
}

/// Why a step could not be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// Microsteps, steps without a delay or failing calls without end.
    Runaway,
    /// No state handles the event, and the chart has `unhandled: error`.
    Unhandled,
    /// Any other error; the message has the details.
    Other,
}

impl FailureKind {
    /// Classifies an error of the machine.
    pub fn of(error: &InstanceError) -> Self {
        match error {
            InstanceError::Step(StepError::Runaway { .. }) => FailureKind::Runaway,
            InstanceError::Step(StepError::Unhandled { .. }) => FailureKind::Unhandled,
            _ => FailureKind::Other,
        }
    }
}

/// An instance started by a step of its parent.
#[derive(Debug)]
pub struct StartedChild {
    /// The started machine.
    pub instance: Instance,
    /// Its first commit.
    pub commit: Commit,
}

/// An effect within its instance: the step that created it, and its index in that step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EffectPlace {
    /// Step that requested the effect.
    pub step: u64,
    /// Position among the effects of the step.
    pub index: u32,
}

impl EffectPlace {
    /// Returns the place of an open effect.
    pub fn of(effect: &OpenEffect) -> Self {
        Self { step: effect.step, index: effect.index }
    }
}

/// An action for the driver after the commit.
#[derive(Clone, Debug, PartialEq)]
pub enum DriverAction {
    /// Call a service and pass in its result ([`Input::Result`](crate::Input::Result)).
    Run {
        /// The effect that the result closes.
        effect: OpenEffect,
        /// Call as the chart requested it.
        request: ServiceRequest,
    },
    /// Stop a call whose result no longer matters.
    Stop {
        /// Instance that made the call.
        instance: InstanceKey,
        /// Place of the call.
        effect: EffectPlace,
    },
    /// Pass in a committed message ([`Input::Message`](crate::Input::Message)).
    Deliver {
        /// Receiver.
        to: InstanceKey,
        /// Number that [`Input::Message`](crate::Input::Message) carries.
        seq: i64,
        /// The message.
        message: StoredMessage,
    },
}

/// The request to a service, as stated by the effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ServiceRequest {
    /// Call with a waiting invocation.
    Invoke(Invoke),
    /// Send to a configured endpoint.
    Send(Send),
    /// Handler call without a waiting invocation.
    Call {
        /// Service name.
        handler: Arc<str>,
        /// Evaluated input.
        params: Value,
    },
}

impl Transaction {
    pub(crate) fn new(instance: InstanceKey) -> Self {
        Self { commit: Commit { instance, ..Commit::default() }, ..Self::default() }
    }

    /// Returns true if there is nothing to commit.
    pub fn is_empty(&self) -> bool {
        let commit = &self.commit;
        commit.create.is_none()
            && commit.records.is_empty()
            && commit.taken.is_empty()
            && commit.closed.is_empty()
            && commit.opened.is_empty()
            && commit.audit.is_empty()
    }

    /// Adds the trace of a step, if it has one.
    pub(crate) fn note_trace(&mut self, chart: &Arc<Chart>, step: &mut Step, wanted: bool) {
        if wanted {
            self.traces.push(StepTrace {
                instance: self.commit.instance,
                chart: Arc::clone(chart),
                step: step.number,
                handled: step.handled,
                trace: std::mem::take(&mut step.trace),
                effects: step.effects.clone(),
            });
        }
    }

    pub(crate) fn note_failure(&mut self, kind: FailureKind, message: &str) {
        let instance = self.commit.instance;
        self.failures.push(StepFailure { instance, kind, message: message.to_owned() });
    }

    /// Adds the events that could not be sent to the record of the current step, the last one. `effects` returns the text
    /// of its other effects.
    pub(crate) fn record_faults(&mut self, effects: impl FnOnce() -> String) {
        let faults: Vec<Effect> = std::mem::take(&mut self.faults).into_iter().map(Effect::Fault).collect();
        if faults.is_empty() {
            return;
        }
        let more = serde_json::to_string(&faults).unwrap_or_default();
        let text = match effects().strip_suffix(']') {
            Some(list) => format!("{list},{}", more.trim_start_matches('[')),
            None => more,
        };
        let text = self.pack(text);
        if let Some(record) = self.commit.records.last_mut() {
            record.effects = text;
        }
        if let Some(trace) = self.traces.last_mut() {
            trace.effects.extend(faults);
        }
    }

    /// Packs a text and adds its large parts to the commit.
    pub(crate) fn pack(&mut self, text: String) -> String {
        let packed = content::pack(&text);
        self.commit.blobs.extend(packed.blobs);
        match packed.text {
            Cow::Owned(packed) => packed,
            Cow::Borrowed(_) => text,
        }
    }

    /// Commits a message with this transaction and delivers it afterwards.
    pub(crate) fn post(&mut self, to: InstanceKey, seq: i64, message: StoredMessage) {
        let text = serde_json::to_string(&message).unwrap_or_default();
        let event = self.pack(text);
        self.commit.sent.push(Inbound { seq, to, event });
        self.actions.push(DriverAction::Deliver { to, seq, message });
    }

    /// Returns a blob of a packed text: it may be part of this commit.
    pub(crate) fn blob(&self, hash: &[u8; 16]) -> Option<Blob> {
        self.commit.blobs.iter().find(|blob| blob.hash == *hash).cloned()
    }

    /// Appends a later transaction of the same instance, before either was committed. The later reply counts.
    pub fn append(&mut self, next: Transaction) {
        let Commit {
            migrated,
            records,
            head,
            snapshot,
            blobs,
            opened,
            closed,
            sent,
            taken,
            deliveries,
            audit,
            ..
        } = next.commit;
        let commit = &mut self.commit;
        commit.migrated = migrated.or(commit.migrated.take());
        commit.records.extend(records);
        commit.head = head.or(commit.head.take());
        commit.snapshot = snapshot.or(commit.snapshot.take());
        commit.blobs.extend(blobs);
        commit.opened.extend(opened);
        commit.closed.extend(closed);
        commit.sent.extend(sent);
        commit.taken.extend(taken);
        commit.deliveries.extend(deliveries);
        commit.audit.extend(audit);
        self.children.extend(next.children);
        self.actions.extend(next.actions);
        self.refused.extend(next.refused);
        self.traces.extend(next.traces);
        self.failures.extend(next.failures);
        self.uncommitted.extend(next.uncommitted);
        self.deferred = next.deferred;
        self.reply = next.reply.or(self.reply.take());
    }

    /// Returns all commits of this transaction, the instance's own first.
    pub fn take_commits(&mut self) -> Vec<Commit> {
        let mut commits = vec![std::mem::take(&mut self.commit)];
        commits.extend(self.children.iter_mut().map(|child| std::mem::take(&mut child.commit)));
        commits
    }
}
