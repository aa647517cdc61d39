//! An instance as one JSON document, as printed by `show --json` and returned by the API.

use std::collections::BTreeSet;

use rawko_core::{Chart, Configuration, NodeId, Status};
use rawko_host::Reader;
use rawko_store::InstanceStatus;
use serde::Serialize;
use serde_json::Value;
#[cfg(feature = "openapi")]
use utoipa::ToSchema;

use crate::error::ViewError;
use crate::faults::{self, FaultLine};
use crate::journal::words;
use crate::rows::{Row, outcome, title};
use crate::standing::{self, Running, Standing};

/// Complete state of an instance after a step.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = Instance))]
pub struct Document {
    /// Row of the instance list, with `step`, `status` and `configuration` as of this step.
    #[serde(flatten)]
    pub row: Row,
    pub v: u32,
    /// Number of the latest step.
    pub last_step: u64,
    /// Time of the step.
    pub at_ms: i64,
    /// All active states, including those that contain other active states.
    pub active: Vec<String>,
    pub context: Value,
    pub input: Value,
    pub output: Value,
    /// Failed work that no transition handles.
    pub failure: Option<FailureDocument>,
    /// Failed expressions and steps among the latest steps.
    pub faults: FaultsDocument,
    pub running: Vec<RunningDocument>,
    pub waits: WaitsDocument,
    /// Ids of the invoked instances, oldest first.
    pub children: Vec<String>,
    pub child_rows: Vec<Row>,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = Failure))]
pub struct FailureDocument {
    /// Id of the invoke; for a timer its label and state.
    pub invoke: String,
    pub error: Value,
}

/// Faults in the instance's own chart, among its last 200 steps.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = Faults))]
pub struct FaultsDocument {
    pub count: usize,
    /// Most recent fault.
    pub last: Option<LastFault>,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct LastFault {
    pub step: u64,
    pub at_ms: i64,
    /// One line: place and reason.
    pub text: String,
}

impl FaultsDocument {
    fn of(recent: &[FaultLine]) -> FaultsDocument {
        let last = recent.last().map(|line| LastFault {
            step: line.step,
            at_ms: line.at_ms,
            text: line.text.clone(),
        });
        FaultsDocument { count: recent.len(), last }
    }
}

/// Work that currently runs for the instance.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = Running))]
pub struct RunningDocument {
    pub invoke: String,
    pub src: String,
    /// `service`, `agent`, `child`, `call`, `send`, `unknown`; null for past steps.
    pub kind: Option<&'static str>,
    pub attempt: Option<u32>,
    pub idempotency: Option<String>,
    pub since_ms: Option<i64>,
}

/// Inputs that the instance waits for.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = Moves))]
pub struct WaitsDocument {
    pub asks: Vec<AskDocument>,
    /// Events that the instance accepts now.
    pub events: Vec<String>,
    pub timers: Vec<TimerDocument>,
}

/// Pending request to a person.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = Ask))]
pub struct AskDocument {
    /// Requesting instance: this one, or a descendant.
    pub id: String,
    pub invoke: String,
    /// `title`, `prompt`, `form` and other keys from the chart.
    pub input: Value,
    pub expires_ms: Option<i64>,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = Timer))]
pub struct TimerDocument {
    /// `after`, `send`, `timeout`, `retry`.
    pub kind: &'static str,
    /// Purpose as text.
    #[serde(rename = "for")]
    pub purpose: String,
    pub due_ms: i64,
}

impl Document {
    pub fn of(reader: &Reader, standing: &Standing) -> Result<Document, ViewError> {
        let (snapshot, chart) = (&standing.snapshot, &standing.chart);
        let configuration = standing.configuration().into_iter().map(str::to_owned).collect();
        let row = Row {
            outcome: if snapshot.status().is_over() { outcome(&standing.row) } else { None },
            title: title(chart, snapshot),
            step: snapshot.step_number(),
            configuration: Some(configuration),
            ..of_step(standing)
        };
        Ok(Document {
            row,
            v: 1,
            last_step: standing.row.step,
            at_ms: standing.at_ms,
            active: active_paths(chart, snapshot.configuration()),
            context: snapshot.context_map(chart).to_json(),
            input: snapshot.input().to_json(),
            output: snapshot.output().to_json(),
            failure: snapshot.failure().map(|failure| FailureDocument {
                invoke: chart.failure_name(failure),
                error: failure.error.to_json(),
            }),
            faults: FaultsDocument::of(&faults::recent(reader, &standing.row, Some(snapshot.step_number()))?),
            running: standing.running.iter().map(RunningDocument::of).collect(),
            waits: WaitsDocument::of(standing),
            children: standing.children.iter().map(|row| row.new.id.to_string()).collect(),
            child_rows: Row::with_states(reader, &standing.children)?,
        })
    }
}

/// Returns the row with the status as of the step.
fn of_step(standing: &Standing) -> Row {
    let row = Row::of(&standing.row);
    let snapshot = &standing.snapshot;
    if snapshot.step_number() == standing.row.step {
        let failed = snapshot.failure().map(|failure| words::error(&failure.error));
        let reason = row.reason.clone().or(failed).filter(|_| row.status == InstanceStatus::Stalled);
        return Row { reason, ..row };
    }
    let status = match snapshot.status() {
        Status::Done | Status::Cancelled => InstanceStatus::Ended,
        Status::Error => InstanceStatus::Stalled,
        Status::Active if snapshot.invocations().is_empty() => InstanceStatus::Waiting,
        Status::Active => InstanceStatus::Running,
    };
    Row { status, waiting_for: None, reason: None, hint: None, ..row }
}

/// Returns the paths of all active states except the root, in document order.
pub fn active_paths(chart: &Chart, configuration: &Configuration) -> Vec<String> {
    let nodes = active_nodes(chart, configuration).into_iter();
    nodes.map(|node| chart.node(node).path.to_string()).filter(|path| !path.is_empty()).collect()
}

/// Returns all active nodes including the root, in document order.
pub fn active_nodes(chart: &Chart, configuration: &Configuration) -> Vec<NodeId> {
    let mut active = BTreeSet::new();
    for leaf in configuration.frontier() {
        let mut next = Some(*leaf);
        while let Some(node) = next.filter(|node| active.insert(*node)) {
            next = chart.node(node).parent;
        }
    }
    active.into_iter().collect()
}

impl RunningDocument {
    fn of(running: &Running) -> RunningDocument {
        let open = running.open.as_ref();
        RunningDocument {
            invoke: running.invoke.clone(),
            src: running.name.to_string(),
            kind: open.map(|open| open.kind.as_str()),
            attempt: running.attempt,
            idempotency: open.map(|open| open.idempotency.to_string()),
            since_ms: open.map(|open| open.opened_ms),
        }
    }
}

impl AskDocument {
    pub fn of(ask: &standing::Ask) -> AskDocument {
        AskDocument {
            id: ask.instance.to_string(),
            invoke: ask.invoke.clone(),
            input: ask.input.to_json(),
            expires_ms: ask.expires_ms,
        }
    }
}

impl WaitsDocument {
    pub fn of(standing: &Standing) -> WaitsDocument {
        let timers = standing.timers.iter().map(|timer| TimerDocument {
            kind: timer.kind.as_str(),
            purpose: timer.purpose.clone(),
            due_ms: timer.due_ms,
        });
        WaitsDocument {
            asks: standing.asks.iter().map(AskDocument::of).collect(),
            events: standing.offers.iter().map(|offer| offer.event.clone()).collect(),
            timers: timers.collect(),
        }
    }
}

/// Returns the pending waits of an instance as JSON.
pub fn waits(standing: &Standing) -> Value {
    serde_json::to_value(WaitsDocument::of(standing)).unwrap_or_default()
}
