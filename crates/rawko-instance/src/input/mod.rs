//! Inputs of an instance: one variant per kind, one file per variant. Handling an input again changes nothing, so a
//! driver may deliver twice, late, or again after a crash.

mod answer;
mod event;
mod message;
mod migrate;
mod pause;
mod restart;
mod result;
mod retry;
mod step;
mod time;

use std::sync::Arc;

use rawko_core::{Event, NamedEvent, Value};

pub(crate) use step::effects_text;

use crate::environment::MachineEnvironment;
use crate::error::InstanceError;
use crate::instance::Instance;
use crate::message::{StoredMessage, outside_key};
use crate::migration::MigrationRequest;
use crate::person::PersonAnswer;
use crate::receipt::Receipt;
use crate::records::KeyedDelivery;
use crate::result::EffectResult;
use crate::transaction::{EffectPlace, Transaction};

/// Limit of steps that become due by themselves within one transaction: a long backlog is committed in parts.
const DUE_STEPS_MAX: usize = 64;

/// An input of an instance.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// An event from outside. Repeating an event with the same `key` changes nothing.
    Event {
        /// Name and data.
        event: NamedEvent,
        /// Deduplication key chosen by the sender.
        key: Option<Arc<str>>,
    },
    /// A person or a supervisor ends it: exit actions run, timers and calls stop.
    Cancel {
        /// Free data for the journal.
        reason: Value,
    },
    /// A message of another instance, or of its own. `seq` is the number assigned by its sender's commit.
    Message {
        /// Number assigned by the commit of the sender.
        seq: i64,
        /// Event and its sender.
        message: StoredMessage,
    },
    /// One of its effects ended.
    Result {
        /// Position of the effect within the instance.
        effect: EffectPlace,
        /// Output or error, and its audit note.
        result: EffectResult,
    },
    /// A person answers a request; `invoke` names it if several are pending.
    Answer {
        /// Invoke id of the request; optional while one is pending.
        invoke: Option<String>,
        /// Decision and form data.
        answer: PersonAnswer,
        /// Deduplication key chosen by the sender.
        key: Option<Arc<str>>,
    },
    /// A person retries the failed invocation, or continues after a fault.
    Retry,
    /// A person retries one failed item of an `each`: `reviews[3]`.
    RetryItem {
        /// Name of the item: the invoke id and its index.
        item: Arc<str>,
    },
    /// A person pauses it with its descendants; null if the person is unknown.
    Pause {
        /// The person that paused, for the journal.
        by: Value,
    },
    /// A person resumes it with its descendants.
    Resume {
        /// The person that resumed, for the journal.
        by: Value,
    },
    /// A person continues it on another chart, or on the one before. Nothing that is due is handled before it.
    Migrate(Box<MigrationRequest>),
    /// Time has passed.
    Time,
    /// The driver restarted: no call of this instance is running. `epoch` is the number of that start.
    Restart {
        /// Number of the driver's start, increasing.
        epoch: u64,
    },
}

impl Input {
    /// Returns the key under which the machine looks this input up ([`MachineEnvironment::handled`]), for drivers that have to
    /// read it beforehand.
    pub fn delivery_key(&self) -> Option<Arc<str>> {
        match self {
            Input::Event { key, .. } | Input::Answer { key, .. } => caller_key(key.as_ref()),
            Input::Message { message, .. } if message.child.is_none() => message.delivery_key(),
            Input::Message { .. }
            | Input::Cancel { .. }
            | Input::Result { .. }
            | Input::Retry
            | Input::RetryItem { .. }
            | Input::Pause { .. }
            | Input::Resume { .. }
            | Input::Migrate(_)
            | Input::Time
            | Input::Restart { .. } => None,
        }
    }

    /// Returns true for a migration: it has a transaction of its own, and due timers are left for later.
    pub fn migrates(&self) -> bool {
        matches!(self, Input::Migrate(_))
    }

    /// Returns true for an input that comes before everything that is due.
    fn comes_first(&self) -> bool {
        match self {
            Input::Pause { .. } | Input::Migrate(_) => true,
            Input::Message { message, .. } => matches!(message.event, Event::PauseRequested { .. }),
            Input::Event { .. }
            | Input::Answer { .. }
            | Input::Cancel { .. }
            | Input::Result { .. }
            | Input::Retry
            | Input::RetryItem { .. }
            | Input::Resume { .. }
            | Input::Time
            | Input::Restart { .. } => false,
        }
    }
}

/// The outcome of an input.
#[derive(Clone, Debug, PartialEq)]
pub enum InputOutcome {
    /// Valid once the transaction is committed. An error needs no commit.
    Handled(Result<Receipt, InstanceError>),
    /// More was due than fits into one transaction: commit, then pass it in again.
    Deferred(Input),
}

impl Instance {
    /// Handles everything that is due, then the input, then its immediate consequences.
    pub fn handle(&mut self, input: Input, env: &dyn MachineEnvironment, now_ms: i64) -> Transaction {
        let mut tx = self.begin();
        match self.take(input, env, now_ms, &mut tx) {
            InputOutcome::Handled(reply) => tx.reply = Some(reply),
            InputOutcome::Deferred(input) => tx.deferred = Some(input),
        }
        self.finish(&mut tx);
        tx
    }

    /// Returns an empty transaction, for drivers that group several inputs: `begin`, any number of `take`, `finish`.
    pub fn begin(&self) -> Transaction {
        Transaction { head_before: Some(self.head.clone()), ..Transaction::new(self.key) }
    }

    /// Handles one input within a transaction.
    pub fn take(
        &mut self,
        input: Input,
        env: &dyn MachineEnvironment,
        now_ms: i64,
        tx: &mut Transaction,
    ) -> InputOutcome {
        let now_ms = now_ms.max(self.last_ms);
        // A pause comes first: an instance without a host does not fire its overdue timers because it is paused.
        let migrates = input.migrates();
        if !input.comes_first() && !self.take_due(env, now_ms, tx) {
            return match input {
                Input::Time => InputOutcome::Handled(Ok(self.receipt(false))),
                input => InputOutcome::Deferred(input),
            };
        }
        let reply = match input {
            Input::Event { event, key } => self.take_event(event, key.as_ref(), env, now_ms, tx),
            Input::Cancel { reason } => self.take_cancel(reason, env, now_ms, tx),
            Input::Message { seq, message } => self.take_message(seq, &message, env, now_ms, tx),
            Input::Result { effect, result } => self.take_result(effect, result, env, now_ms, tx),
            Input::Answer { invoke, answer, key } => {
                self.take_answer(invoke.as_deref(), &answer, key.as_ref(), env, now_ms, tx)
            }
            Input::Retry => self.take_retry(env, now_ms, tx),
            Input::RetryItem { item } => self.take_item_retry(item, env, now_ms, tx),
            Input::Pause { by } => self.take_pause(&by, env, now_ms, tx),
            Input::Resume { by } => self.take_resume(&by, env, now_ms, tx),
            Input::Migrate(request) => self.take_migrate(&request, env, now_ms, tx),
            Input::Time => Ok(self.receipt(false)),
            Input::Restart { epoch } => self.take_restart(epoch, env, now_ms, tx),
        };
        // Calls refused by these steps fail immediately, in the same transaction.
        if !migrates {
            self.take_refusals(env, now_ms, tx);
        }
        InputOutcome::Handled(reply)
    }

    /// Completes a transaction: adds the head if it changed, and a full snapshot if worthwhile.
    pub fn finish(&mut self, tx: &mut Transaction) {
        self.forget_settled_keys(tx);
        let head = self.head_now();
        if tx.head_before.as_ref() != Some(&head) || tx.commit.head.is_some() {
            tx.commit.head = Some(Box::new(head.clone()));
        }
        self.head = head;
        let is_due = self.delta_bytes > self.snapshot_bytes.max(step::SNAPSHOT_BYTES_MIN);
        if is_due && tx.commit.snapshot.is_none() {
            self.save_snapshot(tx);
        }
    }

    /// Completes the first transaction of an instance: refused calls fail immediately, timers stay pending.
    pub(crate) fn settle(&mut self, env: &dyn MachineEnvironment, at_ms: i64, tx: &mut Transaction) {
        self.take_refusals(env, at_ms, tx);
        self.finish(tx);
    }

    /// Returns the step of a key, in this transaction or before.
    fn handled(
        &self,
        key: &Arc<str>,
        env: &dyn MachineEnvironment,
        tx: &Transaction,
    ) -> Result<Option<Receipt>, InstanceError> {
        let known = tx.commit.deliveries.iter().find(|known| known.key == *key).map(|known| known.step);
        let step = match known {
            Some(step) => Some(step),
            None => env.handled(self.key, key)?,
        };
        Ok(step.map(|step| Receipt { step, ..self.receipt(true) }))
    }

    fn note_handled(&self, key: Option<Arc<str>>, tx: &mut Transaction) {
        let step = self.snapshot.step_number();
        tx.commit.deliveries.extend(key.map(|key| KeyedDelivery { key, step }));
    }

    fn refuse_if_over(&self) -> Result<(), InstanceError> {
        let status = self.snapshot.status();
        if status.is_over() {
            return Err(InstanceError::Over { id: self.new.id.to_string(), status });
        }
        Ok(())
    }
}

pub(crate) fn caller_key(key: Option<&Arc<str>>) -> Option<Arc<str>> {
    key.map(outside_key)
}
