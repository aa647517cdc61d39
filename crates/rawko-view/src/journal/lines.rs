//! An entry as JSON lines, as printed by `--output-format stream-json`, `history --json` and `logs --json`. This is a
//! stable interface: every line has `v` and `type`, and keys are only ever added.

use rawko_core::{Effect, Fault};
use serde_json::{Map, Value as Json, json};

use super::document::kind_word;
use super::{EntryBody, EntryEffect, JournalEntry, words};

/// Version of the lines. It changes when a key changes its meaning or is removed.
pub const VERSION: u32 = 1;

/// Returns one line for the step, then one for each of its effects.
pub fn of(entry: &JournalEntry) -> Vec<Json> {
    std::iter::once(step(entry)).chain(entry.effects.iter().filter_map(|told| effect(entry, told))).collect()
}

/// Returns only log lines: messages, emitted events, failures.
pub fn log_lines(entry: &JournalEntry) -> Vec<Json> {
    let mut lines = Vec::new();
    if let EntryBody::CallFailed { invoke, error } = &entry.what {
        let mut line = begin("failed", entry);
        line.insert("invoke".into(), json!(invoke));
        line.insert("error".into(), error.to_json());
        lines.push(Json::Object(line));
    }
    if let Some(refusal) = &entry.refusal {
        let mut line = begin("refused", entry);
        line.insert("event".into(), event(&entry.what));
        line.insert("error".into(), json!(refusal));
        lines.push(Json::Object(line));
    }
    let logged = |told: &&EntryEffect| {
        matches!(
            told.effect,
            Effect::Log { .. } | Effect::Emit { .. } | Effect::Fault(_) | Effect::Stall { .. }
        )
    };
    lines.extend(entry.effects.iter().filter(logged).filter_map(|told| effect(entry, told)));
    lines
}

/// Returns a line of another type about an entry.
pub fn with(kind: &str, entry: &JournalEntry, fields: Json) -> Json {
    let mut line = begin(kind, entry);
    if let Json::Object(fields) = fields {
        line.extend(fields);
    }
    Json::Object(line)
}

/// Returns the common fields of all lines about an entry.
fn begin(kind: &str, entry: &JournalEntry) -> Map<String, Json> {
    let mut line = Map::new();
    line.insert("v".into(), json!(VERSION));
    line.insert("type".into(), json!(kind));
    line.insert("id".into(), json!(entry.instance));
    line.insert("step".into(), json!(entry.step));
    line.insert("at_ms".into(), json!(entry.at_ms));
    line
}

fn step(entry: &JournalEntry) -> Json {
    let mut line = begin(kind_word(entry.kind), entry);
    line.insert("seq".into(), json!(entry.seq));
    match &entry.what {
        EntryBody::Started { chart, version, parent, input } => {
            line.insert("chart".into(), json!(chart));
            line.insert("version".into(), json!(version));
            line.insert("parent".into(), json!(parent));
            line.insert("input".into(), input.to_json());
        }
        EntryBody::Forked { from, edits } => {
            let from = from.as_ref().map(|(id, step)| json!({"id": id, "step": step}));
            line.insert("from".into(), json!(from));
            line.insert("edits".into(), edits.to_json());
        }
        other => drop(line.insert("event".into(), event(other))),
    }
    line.insert("configuration".into(), json!(entry.configuration));
    let changed = entry.changes.iter().map(|change| (change.key.to_string(), change.after.to_json()));
    line.insert("context".into(), Json::Object(changed.collect()));
    line.insert("status".into(), json!(entry.status.as_str()));
    if entry.status_changed && !entry.output.is_null() {
        line.insert("output".into(), entry.output.to_json());
    }
    if let Some(refusal) = &entry.refusal {
        line.insert("error".into(), json!(refusal));
    }
    if !entry.story.is_empty() {
        line.insert("story".into(), json!(entry.story));
    }
    Json::Object(line)
}

/// Returns the delivered event by kind.
pub(super) fn event(what: &EntryBody) -> Json {
    match what {
        EntryBody::Started { .. } | EntryBody::Forked { .. } => Json::Null,
        EntryBody::Migrated { by, from, to, back } => {
            let name = |(chart, version): &(_, _)| json!({"chart": chart, "version": version});
            json!({"kind": "migrated", "by": by.to_json(), "from": name(from), "to": name(to), "back": back})
        }
        EntryBody::Event { name, data, origin } => {
            json!({"kind": "event", "type": name, "data": data.to_json(), "origin": origin.to_json()})
        }
        EntryBody::Timer(purpose) => json!({"kind": "timer", "for": purpose}),
        EntryBody::Answered { invoke, data } => {
            json!({"kind": "answered", "invoke": invoke, "data": data.to_json()})
        }
        EntryBody::CallFailed { invoke, error } => {
            json!({"kind": "failed", "invoke": invoke, "error": error.to_json()})
        }
        EntryBody::Retried { item: None } => json!({"kind": "retry"}),
        EntryBody::Retried { item: Some(item) } => json!({"kind": "retry", "item": item}),
        EntryBody::Cancelled { reason } => json!({"kind": "cancel", "reason": reason.to_json()}),
        EntryBody::Paused { by } => json!({"kind": "pause", "by": by.to_json()}),
        EntryBody::Resumed { by, paused_ms } => {
            json!({"kind": "resume", "by": by.to_json(), "paused_ms": paused_ms})
        }
        EntryBody::Unreadable(why) => json!({"kind": "unreadable", "error": why}),
    }
}

pub(super) fn effect(entry: &JournalEntry, told: &EntryEffect) -> Option<Json> {
    let (kind, fields) = match &told.effect {
        Effect::SetTimer { due_ms, .. } => {
            let timer = told.timer.as_ref()?;
            ("timer", json!({"kind": timer.kind.as_str(), "for": timer.purpose, "due_ms": due_ms}))
        }
        Effect::CancelTimer { .. } | Effect::Complete { .. } | Effect::Cancelled { .. } => return None,
        Effect::Invoke(invoke) => (
            "invoked",
            json!({
                "invoke": invoke.id, "src": invoke.src, "input": invoke.input.to_json(), "attempt": invoke.attempt
            }),
        ),
        Effect::StopInvoke { id, .. } => ("stopped", json!({"invoke": id})),
        Effect::Send(send) => (
            "sent",
            json!({"target": words::target(&send.target), "event": send.event, "data": send.data.to_json()}),
        ),
        Effect::Emit { event, data } => ("emitted", json!({"event": event, "data": data.to_json()})),
        Effect::Call { handler, params } => {
            ("called", json!({"handler": handler, "params": params.to_json()}))
        }
        Effect::Log { message } => ("log", json!({"message": message})),
        Effect::Fault(Fault { what, state, at, message }) => {
            ("fault", json!({"what": what.as_str(), "state": state, "at": at, "message": message}))
        }
        Effect::Stall { id, error } => ("stalled", json!({"invoke": id, "error": error.to_json()})),
    };
    // The kind of a timer must not overwrite the type of the line.
    Some(with(kind, entry, fields))
}
