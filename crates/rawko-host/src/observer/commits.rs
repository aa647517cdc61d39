//! Derives observations from a commit, for delivery once it is on disk. Read from the finished plan instead of
//! collected during planning, so that planning does not depend on observers.

use std::sync::Arc;

use rawko_core::{Status, Value};
use rawko_instance::{Instance, OpenEffects};
use rawko_store::{Commit, EffectKind, OpenEffect, Record, RecordKind};
use serde::Deserialize;

use super::{ClosedRequest, CommittedSteps, HostEvent, StepTaken};
use crate::driver::drive::PendingCommit;
use crate::driver::slot::InstanceSlot;
use crate::host::HostInner;

/// Longer texts are treated as sentences.
const WORD_LENGTH_MAX: usize = 40;

/// The part of an event that determines its name.
#[derive(Deserialize)]
struct EventKind {
    kind: Arc<str>,
    #[serde(default, rename = "type")]
    name: Option<Arc<str>>,
}

impl HostInner {
    /// Returns the observations of a pending commit; empty without an observer.
    pub(crate) fn seen(&self, slot: &InstanceSlot, pending: &PendingCommit) -> Vec<HostEvent> {
        if self.observer.is_none() {
            return Vec::new();
        }
        let (now_ms, tx) = (self.clock.now_ms(), pending.transaction());
        let own = committed(&slot.lock().machine, &tx.commit, pending.before(), now_ms);
        let begun = tx.children.iter().map(|child| committed(&child.instance, &child.commit, None, now_ms));
        std::iter::once(own).chain(begun).collect()
    }
}

/// Returns the observations of a durable commit. `before` is the instance before the commit; `None` for its first.
pub fn committed(instance: &Instance, commit: &Commit, before: Option<&Instance>, now_ms: i64) -> HostEvent {
    let snapshot = instance.snapshot();
    let status = snapshot.status();
    let failure = snapshot.failure().filter(|_| status == Status::Error);
    HostEvent::Committed(CommittedSteps {
        instance: Arc::clone(instance.new_instance()),
        steps: commit.records.iter().map(|record| taken(record, now_ms)).collect(),
        before: before.map(|before| before.head().status),
        status,
        fault: instance.head().fault.clone(),
        outcome: word(snapshot.output().get("outcome")).filter(|_| status.is_over()),
        error: failure.and_then(|failure| error_word(&failure.error)),
        spent: instance.ledger().total,
        asked: before.map(|before| asked(commit, before.open_effects())).unwrap_or_default(),
    })
}

fn taken(record: &Record, now_ms: i64) -> StepTaken {
    let event = match record.kind {
        RecordKind::Started => "start".into(),
        RecordKind::Forked => "fork".into(),
        RecordKind::Migrated => "migrate".into(),
        RecordKind::Stepped | RecordKind::Ignored | RecordKind::Failed => event_word(&record.event),
    };
    let late_ms = (&*event == "timer_fired").then(|| u64::try_from(now_ms - record.at_ms).unwrap_or(0));
    StepTaken { step: record.step, at_ms: record.at_ms, kind: record.kind, event, late_ms }
}

fn event_word(text: &str) -> Arc<str> {
    match serde_json::from_str::<EventKind>(text) {
        Ok(EventKind { name: Some(name), .. }) => name,
        Ok(EventKind { kind, name: None }) => kind,
        Err(_) => "event".into(),
    }
}

/// Returns the requests to people that this commit closes, with their decisions from the audit.
fn asked(commit: &Commit, open: &OpenEffects) -> Vec<ClosedRequest> {
    if !open.has_requests() {
        return Vec::new();
    }
    let is_over = |effect: &&OpenEffect| commit.closed.contains(&(effect.step, effect.index));
    let people = open.iter().filter(|effect| effect.kind == EffectKind::Person).filter(is_over);
    people
        .map(|effect| ClosedRequest {
            step: effect.step,
            index: effect.index,
            name: Arc::clone(&effect.name),
            opened_ms: effect.opened_ms,
            decision: commit
                .audit
                .iter()
                .find(|line| line.effect == effect.idempotency)
                .map(|line| Arc::clone(&line.decision)),
        })
        .collect()
}

/// Returns the kind of a failure as one word. The provider's code is preferred over the category because it is more
/// precise; a service may return any text there, so a code that is not a single word is ignored.
pub(super) fn error_word(error: &Value) -> Option<Arc<str>> {
    let is_word = |word: &Arc<str>| {
        let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_.-".contains(&byte);
        word.len() <= WORD_LENGTH_MAX && word.bytes().all(is_part)
    };
    ["code", "category"].iter().find_map(|key| word(error.get(key)).filter(is_word))
}

pub(super) fn word(value: &Value) -> Option<Arc<str>> {
    value.as_str().map(Into::into)
}
