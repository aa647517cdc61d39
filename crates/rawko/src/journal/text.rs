//! Formats a journal entry: one line for the event and the states, then only changes. The layout is the same as in
//! `simulate`, so that a simulated and a running chart can be compared side by side.

use rawko_core::{Effect, Status, Value};
use rawko_store::RecordKind;

use super::{ContextChange, EntryBody, EntryEffect, JournalEntry, TimerKind, agent, words};
use crate::console::{Console, TextStyle};
use crate::failure::CommandFailure;
use crate::times;

/// The level of detail.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TextDetail {
    /// Full values, timeouts, and the explanation of each step.
    pub(crate) whole: bool,
    /// Faults are printed to stderr as warnings.
    pub(crate) warned: bool,
    /// Changes of the context.
    pub(crate) context: bool,
}

/// Prints an entry. Every line begins with `lead`; the first may have a different one.
pub(crate) fn print(
    entry: &JournalEntry,
    first_lead: &str,
    lead: &str,
    detail: TextDetail,
    console: &mut Console,
) -> Result<(), CommandFailure> {
    let head = words::headline(&entry.what, detail.whole);
    let head = console.paint(TextStyle::Bold, &format!("{head:<28}"));
    let states = console.paint(TextStyle::Accent, &format!("[{}]", entry.configuration.join(", ")));
    console.line(&format!("{first_lead}{head} {states}"))?;
    for (title, text) in details(entry, detail) {
        let title = console.paint(detail_style(title), &format!("{title:<8}"));
        console.line(&format!("{lead}    {title} {text}"))?;
    }
    for line in &entry.story {
        let line = console.paint(TextStyle::Dim, &format!("        {line}"));
        console.line(&format!("{lead}{line}"))?;
    }
    Ok(())
}

/// Returns the style of a detail; failures are highlighted.
fn detail_style(title: &str) -> TextStyle {
    match title {
        "fault" | "refused" | "stalled" => TextStyle::Bad,
        _ => TextStyle::Dim,
    }
}

/// Returns the style of the title of an agent's action.
pub(crate) fn agent_style(title: &str) -> TextStyle {
    match title {
        "says" | "starts" | "ends" => TextStyle::Bold,
        "refused" | "failed" | "error" | "limit" | "model" | "denied" => TextStyle::Bad,
        "warning" | "waiting" => TextStyle::Notice,
        "allowed" | "answered" => TextStyle::Good,
        _ => TextStyle::Dim,
    }
}

/// Prints the actions of an agent that are relevant to a person, if any.
pub(crate) fn print_agent(
    entry: &JournalEntry,
    lead: &str,
    console: &mut Console,
) -> Result<(), CommandFailure> {
    for (title, text) in agent::told(entry) {
        let title = console.paint(agent_style(title), &format!("{title:<8}"));
        for (number, line) in text.lines().enumerate() {
            let title = if number == 0 { title.as_str() } else { "        " };
            console.line(&format!("{lead}{title} {line}"))?;
        }
    }
    Ok(())
}

/// Returns the details beyond the states, each with its title.
fn details(entry: &JournalEntry, detail: TextDetail) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    match &entry.what {
        EntryBody::Answered { data, .. } if !data.is_null() => {
            let said = agent::report(data).filter(|_| !detail.whole);
            lines.push(("answer", said.unwrap_or_else(|| words::value(data, detail.whole))));
        }
        EntryBody::CallFailed { error, .. } => lines.push(("error", words::error(error))),
        EntryBody::Event { origin, .. } if !origin.is_null() => {
            lines.push(("from", origin.as_str().map_or_else(|| origin.to_string(), str::to_owned)));
        }
        EntryBody::Event { .. }
        | EntryBody::Answered { .. }
        | EntryBody::Started { .. }
        | EntryBody::Forked { .. }
        | EntryBody::Timer(_)
        | EntryBody::Retried { .. }
        | EntryBody::Cancelled { .. }
        | EntryBody::Paused { .. }
        | EntryBody::Resumed { .. }
        | EntryBody::Migrated { .. }
        | EntryBody::Unreadable(_) => {}
    }
    if let Some(refusal) = &entry.refusal {
        lines.push(("refused", refusal.clone()));
    }
    if entry.kind == RecordKind::Ignored {
        lines.push(("ignored", "no transition accepts it in this state".to_owned()));
    }
    let changes = entry.changes.iter().filter(|_| detail.context);
    lines.extend(changes.map(|change| ("context", change_words(change, detail.whole))));
    lines.extend(entry.effects.iter().filter_map(|told| effect_words(told, entry, detail)));
    if entry.status_changed {
        lines.push(("status", entry.status.as_str().to_owned()));
        if entry.status == Status::Done && !entry.output.is_null() {
            lines.push(("output", words::value(&entry.output, true)));
        }
    }
    lines
}

/// Formats a change as `key: before → after`; for a list that only grew, the new items.
fn change_words(change: &ContextChange, whole: bool) -> String {
    let ContextChange { key, before, after } = change;
    match (before, after) {
        (None, _) => format!("{key}: {}", words::value(after, whole)),
        (Some(Value::List(old)), Value::List(new)) if new.len() > old.len() && new.starts_with(old) => {
            let added = Value::list(new[old.len()..].to_vec());
            format!("{key}: + {}", words::value(&added, whole))
        }
        (Some(before), _) => {
            format!("{key}: {} → {}", words::value(before, whole), words::value(after, whole))
        }
    }
}

pub(crate) fn stall_words(id: &str) -> String {
    format!("the failure of {id} is not handled; waiting for a retry")
}

fn effect_words(
    told: &EntryEffect,
    entry: &JournalEntry,
    detail: TextDetail,
) -> Option<(&'static str, String)> {
    let value = |value: &Value| match value {
        Value::Null => String::new(),
        value => format!(" {}", words::value(value, detail.whole)),
    };
    Some(match &told.effect {
        Effect::SetTimer { .. } => {
            let timer = told.timer.as_ref()?;
            if timer.kind == TimerKind::Timeout && !detail.whole {
                return None;
            }
            let left = times::span(timer.due_ms.saturating_sub(entry.at_ms));
            match timer.kind {
                TimerKind::Retry => ("retry", format!("{} in {left}", timer.purpose)),
                TimerKind::After | TimerKind::Send | TimerKind::Timeout => {
                    ("timer", format!("{} (in {left})", timer.purpose))
                }
            }
        }
        Effect::CancelTimer { .. } | Effect::Complete { .. } => return None,
        Effect::Invoke(invoke) => {
            let again =
                if invoke.attempt > 1 { format!(" (attempt {})", invoke.attempt) } else { String::new() };
            ("invoked", format!("{} {}{}{again}", invoke.id, invoke.src, value(&invoke.input)))
        }
        Effect::StopInvoke { id, .. } => ("stopped", id.to_string()),
        Effect::Send(send) => {
            ("sent", format!("{} {}{}", words::target(&send.target), send.event, value(&send.data)))
        }
        Effect::Emit { event, data } => ("emitted", format!("{event}{}", value(data))),
        Effect::Call { handler, params } => ("called", format!("{handler}{}", value(params))),
        Effect::Log { message } => ("log", message.to_string()),
        Effect::Fault(_) if detail.warned => return None,
        Effect::Fault(fault) => ("fault", fault.to_string()),
        Effect::Cancelled { .. } => return None,
        Effect::Stall { id, .. } => ("stalled", stall_words(id)),
    })
}
