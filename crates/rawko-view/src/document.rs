//! An instance as one JSON document, as printed by `show --json` and returned by the API.

use std::collections::BTreeSet;

use rawko_core::{Chart, Configuration, NodeId, Status};
use rawko_host::SnapshotReader;
use rawko_store::InstanceStatus;
use serde::Serialize;
use serde_json::Value;
#[cfg(feature = "openapi")]
use utoipa::ToSchema;

use crate::error::ViewError;
use crate::faults::{self, FaultLine};
use crate::items::{self, FanOutDocument};
use crate::journal::words;
use crate::rows::{Row, outcome, title};
use crate::standing::{self, InstanceStanding, RunningWork};

/// Complete state of an instance after a step.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = Instance))]
pub struct Document {
    /// Row of the instance list, with `step`, `status` and `configuration` as of this step.
    #[serde(flatten)]
    pub row: Row,
    /// Version of the document format: 1.
    pub v: u32,
    /// Number of the latest step.
    pub last_step: u64,
    /// Time of the step.
    pub at_ms: i64,
    /// All active states, including those that contain other active states.
    pub active: Vec<String>,
    /// Context of the chart, by key.
    pub context: Value,
    /// Input that the instance started with.
    pub input: Value,
    /// Output of the instance; null until it is done.
    pub output: Value,
    /// Failed work that no transition handles.
    pub failure: Option<FailureDocument>,
    /// Failed expressions and steps among the latest steps.
    pub faults: FaultsDocument,
    /// Running services, agents, children, calls and sends; requests to people are in `waits`.
    pub running: Vec<RunningDocument>,
    /// Items of every `each` that runs or failed; left out without one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub each: Vec<FanOutDocument>,
    /// Requests, events and timers that can continue the instance.
    pub waits: WaitsDocument,
    /// Ids of the invoked instances, oldest first.
    pub children: Vec<String>,
    /// Rows of the invoked instances, in the order of `children`.
    pub child_rows: Vec<Row>,
}

/// Failed work that stopped the instance.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = Failure))]
pub struct FailureDocument {
    /// Id of the invoke; for a timer its label and state.
    pub invoke: String,
    /// The error, usually with `category` and `message`.
    pub error: Value,
}

/// Faults in the instance's own chart, among its last 200 steps.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = Faults))]
pub struct FaultsDocument {
    /// Number of faults; 0 if `last` is null.
    pub count: usize,
    /// Most recent fault.
    pub last: Option<LastFault>,
}

/// A fault of an instance.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct LastFault {
    /// Step in which the fault occurred.
    pub step: u64,
    /// Time of that step, in milliseconds since 1970 UTC.
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
    /// Id of the invoke; the name of the service for a call or a send.
    pub invoke: String,
    /// Service, chart, agent or endpoint, as the chart names it.
    pub src: String,
    /// `service`, `agent`, `child`, `call`, `send`, `unknown`; null for past steps.
    pub kind: Option<&'static str>,
    /// Number of the attempt, from 1; null for a call or a send.
    pub attempt: Option<u32>,
    /// Idempotency key of the attempt; null for past steps.
    pub idempotency: Option<String>,
    /// Time when the work was requested; null for past steps.
    pub since_ms: Option<i64>,
}

/// Inputs that the instance waits for.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = Moves))]
pub struct WaitsDocument {
    /// Pending requests to people, including those of descendants; empty for past steps.
    pub asks: Vec<AskDocument>,
    /// Events that the instance accepts now.
    pub events: Vec<String>,
    /// Timers that are set, without those of descendants.
    pub timers: Vec<TimerDocument>,
}

/// Pending request to a person.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = Ask))]
pub struct AskDocument {
    /// Requesting instance: this one, or a descendant.
    pub id: String,
    /// Id of the invoke, which names the request in an answer.
    pub invoke: String,
    /// `title`, `prompt`, `form` and other keys from the chart.
    pub input: Value,
    /// Time of the request. An answer that names it is not taken for a later request of the same name.
    pub since_ms: i64,
    /// Time at which the request expires; null if it does not.
    pub expires_ms: Option<i64>,
}

/// A timer that is set.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = Timer))]
pub struct TimerDocument {
    /// `after`, `send`, `timeout`, `retry`.
    pub kind: &'static str,
    /// Purpose as text.
    #[serde(rename = "for")]
    pub purpose: String,
    /// Due time, in milliseconds since 1970 UTC.
    pub due_ms: i64,
}

impl Document {
    /// Builds the document; reads recent faults and the states of children from the store.
    pub fn of(reader: &SnapshotReader, standing: &InstanceStanding) -> Result<Document, ViewError> {
        let (snapshot, chart) = (&standing.snapshot, &standing.chart);
        let configuration = standing.configuration().into_iter().map(str::to_owned).collect();
        let row = Row {
            outcome: if snapshot.status().is_over() { outcome(&standing.row) } else { None },
            title: title(chart, snapshot),
            step: snapshot.step_number(),
            configuration: Some(configuration),
            ..of_step(reader, standing)?
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
            each: items::of(standing),
            waits: WaitsDocument::of(standing),
            children: standing.children.iter().map(|row| row.new.id.to_string()).collect(),
            child_rows: Row::with_states(reader, &standing.children)?,
        })
    }
}

/// Returns the row with the status as of the step.
fn of_step(reader: &SnapshotReader, standing: &InstanceStanding) -> Result<Row, ViewError> {
    let asking: Vec<String> = standing.asks.iter().map(|ask| ask.instance.to_string()).collect();
    let row = Row::of(&standing.row).live(reader, &standing.row)?.below(reader, &asking);
    let snapshot = &standing.snapshot;
    if snapshot.step_number() == standing.row.step {
        let failed = snapshot.failure().map(|failure| words::error(&failure.error));
        let reason = row.reason.clone().or(failed).filter(|_| row.status == InstanceStatus::Stalled);
        let reason = reason.or(faults::cancellation(reader, &standing.row)?);
        return Ok(Row { reason, ..row });
    }
    let status = match snapshot.status() {
        Status::Done | Status::Cancelled => InstanceStatus::Ended,
        Status::Error => InstanceStatus::Stalled,
        Status::Active if snapshot.invocations().is_empty() => InstanceStatus::Waiting,
        Status::Active => InstanceStatus::Running,
    };
    Ok(Row { status, waiting_for: None, reason: None, hint: None, ..row })
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
    fn of(running: &RunningWork) -> RunningDocument {
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
    /// Converts a pending request.
    pub fn of(ask: &standing::PendingAsk) -> AskDocument {
        AskDocument {
            id: ask.instance.to_string(),
            invoke: ask.invoke.clone(),
            input: ask.input.to_json(),
            since_ms: ask.since_ms,
            expires_ms: ask.expires_ms,
        }
    }
}

impl WaitsDocument {
    /// Collects the requests, events and timers of an instance.
    pub fn of(standing: &InstanceStanding) -> WaitsDocument {
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
pub fn waits(standing: &InstanceStanding) -> Value {
    serde_json::to_value(WaitsDocument::of(standing)).unwrap_or_default()
}
