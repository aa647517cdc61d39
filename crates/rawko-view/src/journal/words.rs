//! Text for timers, invocations, errors and events, shared by all output so that the wording is consistent.

use rawko_core::{
    Chart, PendingTimer, SendTarget, ServiceClass, Snapshot, TimerPurpose, UnhandledFailure, Value,
};

use super::{EntryBody, Timer, TimerKind};
use crate::explain;

/// Longer values are cut in text for people; `-v` and JSON show them in full.
const VALUE_CHARS_MAX: usize = 160;

/// Describes a pending timer; an unknown invocation is shown as `?`.
pub fn timer(chart: &Chart, snapshot: &Snapshot, timer: &PendingTimer) -> Timer {
    let name = |id: u64| invoke_name(chart, snapshot, id).unwrap_or_else(|| "?".to_owned());
    let (kind, purpose) = match &timer.purpose {
        TimerPurpose::After { node, index } => {
            let label = chart.timer_label(*node, *index);
            (TimerKind::After, format!("{label} in {}", explain::node_words(chart, *node)))
        }
        TimerPurpose::Send { target, event } => {
            let to = if &**target == "self" { String::new() } else { format!(" to {target}") };
            (TimerKind::Send, format!("{}{to}", event.name))
        }
        TimerPurpose::InvokeTimeout { invocation } => {
            (TimerKind::Timeout, format!("timeout of {}", name(*invocation)))
        }
        TimerPurpose::InvokeRetry { invocation } => {
            (TimerKind::Retry, format!("next attempt of {}", name(*invocation)))
        }
        TimerPurpose::EachContinue { .. } => (TimerKind::Retry, "next items".to_owned()),
    };
    Timer { purpose, kind, due_ms: timer.due_ms }
}

/// Returns the invoke id of a running invocation, or of the one that failed.
pub fn invoke_name(chart: &Chart, snapshot: &Snapshot, id: u64) -> Option<String> {
    let mut failed = snapshot.failures().iter().filter_map(UnhandledFailure::invocation);
    let known = snapshot.invocation(id).or_else(|| failed.find(|known| known.id == id).cloned());
    known.map(|known| chart.invocation_name(&known).to_string())
}

/// Returns the start of a line. `>` marks events from outside the instance's own work.
pub fn headline(what: &EntryBody, whole: bool) -> String {
    match what {
        EntryBody::Started { .. } => "start".to_owned(),
        EntryBody::Forked { from: Some((id, step)), .. } => format!("forked from {id} at step {step}"),
        EntryBody::Forked { from: None, .. } => "forked".to_owned(),
        EntryBody::Migrated { by, to: (chart, version), back, .. } => {
            let word = if *back { "migrate back" } else { "migrate" };
            format!("> {word} to {chart} {version} {}", by_person(by)).trim_end().to_owned()
        }
        EntryBody::Event { name, data: Value::Null, .. } => format!("> {name}"),
        EntryBody::Event { name, data, .. } => format!("> {name} {}", value(data, whole)),
        EntryBody::Timer(purpose) => purpose.clone(),
        EntryBody::Answered { invoke, .. } => format!("{invoke} answered"),
        EntryBody::CallFailed { invoke, .. } => format!("{invoke} failed"),
        EntryBody::Retried { item } => {
            format!("> retry {}", item.as_deref().unwrap_or_default()).trim_end().to_owned()
        }
        EntryBody::Cancelled { reason: Value::Null } => "> cancel".to_owned(),
        EntryBody::Cancelled { reason } => format!("> cancel {}", value(reason, whole)),
        EntryBody::Paused { by } => format!("> pause {}", by_person(by)).trim_end().to_owned(),
        EntryBody::Resumed { by, .. } => format!("> resume {}", by_person(by)).trim_end().to_owned(),
        EntryBody::Unreadable(why) => format!("unreadable record: {why}"),
    }
}

/// Returns the person of an entry: `by anna`; empty if unknown.
pub fn by_person(by: &Value) -> String {
    by.as_str().map(|by| format!("by {by}")).unwrap_or_default()
}

/// Returns a short title for a timeline.
pub fn title(what: &EntryBody) -> String {
    match what {
        EntryBody::Event { name, .. } => name.to_string(),
        EntryBody::Retried { .. } => "retry".to_owned(),
        EntryBody::Cancelled { .. } => "cancel".to_owned(),
        EntryBody::Paused { .. } => "pause".to_owned(),
        EntryBody::Resumed { .. } => "resume".to_owned(),
        EntryBody::Migrated { back: true, .. } => "migrate back".to_owned(),
        EntryBody::Migrated { .. } => "migrate".to_owned(),
        EntryBody::Unreadable(_) => "unreadable".to_owned(),
        EntryBody::Started { .. }
        | EntryBody::Forked { .. }
        | EntryBody::Timer(_)
        | EntryBody::Answered { .. }
        | EntryBody::CallFailed { .. } => headline(what, false),
    }
}

/// Formats a value as JSON, cut unless `whole` is set.
pub fn value(value: &Value, whole: bool) -> String {
    let text = value.to_json().to_string();
    if whole { text } else { clipped(&text, VALUE_CHARS_MAX) }
}

/// Cuts a text to `chars_max` characters and marks the cut.
pub fn clipped(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// Formats an error: `category: message` if it has both, otherwise the value.
pub fn error(error: &Value) -> String {
    match (error.get("category").as_str(), error.get("message").as_str()) {
        (Some(category), Some(message)) => format!("{category}: {message}"),
        (None, Some(message)) => message.to_owned(),
        (_, None) => value(error, false),
    }
}

/// Returns the target of a send, in chart notation.
pub fn target(target: &SendTarget) -> String {
    match target {
        SendTarget::Itself => "self".to_owned(),
        SendTarget::Parent => "parent".to_owned(),
        SendTarget::Invocation(name) | SendTarget::Other(name) => name.to_string(),
        SendTarget::Channel(name) => ServiceClass::Channel.named(name),
        SendTarget::Agent(name) => ServiceClass::Agent.named(name),
    }
}
