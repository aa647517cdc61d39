//! An entry as one JSON document: what the API's journal and its event streams give.

use rawko_core::{Fault, Status};
use rawko_store::{RecordKind, Wait};
use serde::Serialize;
use serde_json::{Value, json};
#[cfg(feature = "openapi")]
use utoipa::ToSchema;

use super::{Entry, What, lines, words};
#[cfg(feature = "openapi")]
use crate::vocabulary::{StatusWord, WaitWord};

/// One entry of an instance's journal.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = Entry))]
pub struct EntryDocument {
    /// The place in the store's whole journal.
    pub seq: u64,
    /// The step that it led to, or would have.
    pub step: u64,
    pub at_ms: i64,
    /// `started`, `forked`, `step`, `ignored` or `refused`.
    pub kind: &'static str,
    /// What happened, in a few words.
    pub title: String,
    /// What happened: `kind` says which keys there are.
    pub event: Value,
    /// The innermost active states afterwards.
    pub configuration: Vec<String>,
    /// States that were entered, in order.
    pub entered: Vec<String>,
    /// States that were left, in order.
    pub left: Vec<String>,
    /// Transitions that were taken, as `data-transition` of the drawing has them.
    pub transitions: Vec<u32>,
    /// Keys of the context that have another value than before.
    pub changes: Vec<ChangeDocument>,
    /// What was asked of the host, as `history --json` prints it.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>))]
    pub effects: Vec<Value>,
    /// Expressions of the chart that failed in this step.
    pub faults: Vec<FaultDocument>,
    #[cfg_attr(feature = "openapi", schema(value_type = StatusWord))]
    pub status: Status,
    /// What came out of it, where this step ended it.
    pub output: Value,
    /// Why the step could not be taken.
    pub error: Option<String>,
    /// Which transitions were looked at, and why; empty unless it was asked for.
    pub story: Vec<String>,
}

/// A key of the context before and after.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = Change))]
pub struct ChangeDocument {
    pub key: String,
    pub before: Value,
    pub after: Value,
}

/// An expression of the chart that failed to evaluate.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = Fault))]
pub struct FaultDocument {
    /// `guard`, `action`, `delay`, `output` or `invoke`.
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

/// What a list needs to know of an entry.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct Glimpse {
    pub instance: String,
    pub chart: String,
    pub seq: u64,
    pub step: u64,
    #[cfg_attr(feature = "openapi", schema(value_type = StatusWord))]
    pub status: Status,
    pub title: String,
    pub configuration: Vec<String>,
    /// Number of faults in this step; a step that could not be taken counts as one.
    pub faults: usize,
    #[cfg_attr(feature = "openapi", schema(value_type = WaitWord))]
    pub waits_for: Wait,
    pub updated_ms: i64,
}

impl Glimpse {
    pub fn of(entry: &Entry) -> Glimpse {
        Glimpse {
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
    pub fn of(entry: &Entry) -> EntryDocument {
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

/// What a record is, in one word.
pub fn kind_word(kind: RecordKind) -> &'static str {
    match kind {
        RecordKind::Started => "started",
        RecordKind::Forked => "forked",
        RecordKind::Stepped => "step",
        RecordKind::Ignored => "ignored",
        RecordKind::Failed => "refused",
    }
}

fn event(what: &What) -> Value {
    match what {
        What::Started { chart, version, parent, input } => {
            let input = input.to_json();
            json!({"kind": "started", "chart": chart, "version": version, "parent": parent, "input": input})
        }
        What::Forked { from, edits } => {
            let from = from.as_ref().map(|(id, step)| json!({"id": id, "step": step}));
            json!({"kind": "forked", "from": from, "edits": edits.to_json()})
        }
        What::Event { .. }
        | What::Timer(_)
        | What::Answered { .. }
        | What::CallFailed { .. }
        | What::Retried
        | What::Cancelled { .. }
        | What::Unreadable(_) => lines::event(what),
    }
}
