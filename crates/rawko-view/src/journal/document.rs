//! A journal entry as one JSON document, for the journal API and its event streams.

use rawko_core::{Fault, Status};
use rawko_store::{RecordKind, WaitReason};
use serde::Serialize;
use serde_json::{Value, json};
#[cfg(feature = "openapi")]
use utoipa::ToSchema;

use super::{EntryBody, JournalEntry, lines, words};
#[cfg(feature = "openapi")]
use crate::vocabulary::{StatusWord, WaitWord};

/// One entry of an instance's journal.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = Entry))]
pub struct EntryDocument {
    /// Position in the journal of the store.
    pub seq: u64,
    /// Number of the resulting step, or of the step that failed.
    pub step: u64,
    /// Time of the record, in milliseconds since 1970 UTC.
    pub at_ms: i64,
    /// `started`, `forked`, `step`, `ignored` or `refused`.
    pub kind: &'static str,
    /// Short description of the event.
    pub title: String,
    /// Event data; its keys depend on `kind`.
    pub event: Value,
    /// Innermost active states after the step.
    pub configuration: Vec<String>,
    /// Entered states, in order.
    pub entered: Vec<String>,
    /// Exited states, in order.
    pub left: Vec<String>,
    /// Transitions taken, numbered as `data-transition` in the drawing.
    pub transitions: Vec<u32>,
    /// Context keys whose value changed.
    pub changes: Vec<ChangeDocument>,
    /// Effects requested from the host, as in `history --json`.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>))]
    pub effects: Vec<Value>,
    /// Expressions of the chart that failed in this step.
    pub faults: Vec<FaultDocument>,
    /// Status of the instance after the step.
    #[cfg_attr(feature = "openapi", schema(value_type = StatusWord))]
    pub status: Status,
    /// Output of the instance, if this step completed it.
    pub output: Value,
    /// Reason why the step failed.
    pub error: Option<String>,
    /// Transitions that were considered, with reasons; empty unless requested.
    pub story: Vec<String>,
}

/// A context key before and after.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = Change))]
pub struct ChangeDocument {
    /// The context key.
    pub key: String,
    /// Value before the step; null if the key is new.
    pub before: Value,
    /// Value after the step.
    pub after: Value,
}

/// Expression of the chart that failed to evaluate.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = Fault))]
pub struct FaultDocument {
    /// `guard`, `action`, `delay`, `output`, `invoke` or `send`.
    pub what: &'static str,
    /// Path of the state; empty for the root.
    pub state: String,
    /// Transition, `entry`, `exit`, `initial` or invoke id; empty for an output.
    pub at: String,
    /// Reason, with the text of the expression.
    pub message: String,
}

impl FaultDocument {
    fn of(fault: &Fault) -> FaultDocument {
        FaultDocument {
            what: fault.what.as_str(),
            state: fault.state.to_string(),
            at: fault.at.to_string(),
            message: fault.message.to_string(),
        }
    }
}

/// Summary of an entry for lists.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct EntrySummary {
    /// Id of the instance.
    pub instance: String,
    /// Id of the chart.
    pub chart: String,
    /// Position in the journal of the store.
    pub seq: u64,
    /// Number of the resulting step, or of the step that failed.
    pub step: u64,
    /// Status of the instance after the step.
    #[cfg_attr(feature = "openapi", schema(value_type = StatusWord))]
    pub status: Status,
    /// Short description of the event.
    pub title: String,
    /// Innermost active states after the step.
    pub configuration: Vec<String>,
    /// Number of faults in this step; a failed step counts as one.
    pub faults: usize,
    /// Kind of input that the instance waits for after the step.
    #[cfg_attr(feature = "openapi", schema(value_type = WaitWord))]
    pub waits_for: WaitReason,
    /// Time of the record, in milliseconds since 1970 UTC.
    pub updated_ms: i64,
}

impl EntrySummary {
    /// Summarises an entry, without its changes and effects.
    pub fn of(entry: &JournalEntry) -> EntrySummary {
        EntrySummary {
            instance: entry.instance.to_string(),
            chart: entry.chart.to_string(),
            seq: entry.seq,
            step: entry.step,
            status: entry.status,
            title: words::title(&entry.what),
            configuration: entry.configuration.clone(),
            faults: entry.faults().count() + usize::from(entry.refusal.is_some()),
            waits_for: entry.wait,
            updated_ms: entry.at_ms,
        }
    }
}

impl EntryDocument {
    /// Converts an entry; `entered`, `left` and `transitions` are empty unless its step was replayed.
    pub fn of(entry: &JournalEntry) -> EntryDocument {
        let changes = entry.changes.iter().map(|change| ChangeDocument {
            key: change.key.to_string(),
            before: change.before.as_ref().map(|before| before.to_json()).unwrap_or_default(),
            after: change.after.to_json(),
        });
        EntryDocument {
            seq: entry.seq,
            step: entry.step,
            at_ms: entry.at_ms,
            kind: kind_word(entry.kind),
            title: words::title(&entry.what),
            event: event(&entry.what),
            configuration: entry.configuration.clone(),
            entered: entry.moves.entered.clone(),
            left: entry.moves.left.clone(),
            transitions: entry.moves.transitions.clone(),
            changes: changes.collect(),
            effects: entry.effects.iter().filter_map(|told| lines::effect(entry, told)).collect(),
            faults: entry.faults().map(FaultDocument::of).collect(),
            status: entry.status,
            output: if entry.status_changed { entry.output.to_json() } else { Value::Null },
            error: entry.refusal.clone(),
            story: entry.story.clone(),
        }
    }
}

/// Returns the record kind as one word.
pub fn kind_word(kind: RecordKind) -> &'static str {
    match kind {
        RecordKind::Started => "started",
        RecordKind::Forked => "forked",
        RecordKind::Stepped => "step",
        RecordKind::Ignored => "ignored",
        RecordKind::Failed => "refused",
        RecordKind::Migrated => "migrated",
    }
}

fn event(what: &EntryBody) -> Value {
    match what {
        EntryBody::Started { chart, version, parent, input } => {
            let input = input.to_json();
            json!({"kind": "started", "chart": chart, "version": version, "parent": parent, "input": input})
        }
        EntryBody::Forked { from, edits } => {
            let from = from.as_ref().map(|(id, step)| json!({"id": id, "step": step}));
            json!({"kind": "forked", "from": from, "edits": edits.to_json()})
        }
        EntryBody::Event { .. }
        | EntryBody::Timer(_)
        | EntryBody::Answered { .. }
        | EntryBody::CallFailed { .. }
        | EntryBody::Retried { .. }
        | EntryBody::Cancelled { .. }
        | EntryBody::Paused { .. }
        | EntryBody::Resumed { .. }
        | EntryBody::Migrated { .. }
        | EntryBody::Unreadable(_) => lines::event(what),
    }
}
