//! Triggers with their stored state: next and last run, missed due times, the latest deliveries. The terminal and the page
//! show the same.

use rawko_host::SnapshotReader;
use rawko_store::{InstanceRow, InstanceStatus};
use rawko_triggers::{Trigger, TriggerRun, TriggerSource, TriggerState, instance_of};
use serde::Serialize;
#[cfg(feature = "openapi")]
use utoipa::ToSchema;

use crate::ViewError;
use crate::rows::Row;

/// A trigger in a list.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = Trigger))]
pub struct TriggerDocument {
    /// Name in the settings.
    pub name: String,
    /// `schedule` or `webhook`.
    pub kind: String,
    /// Cron expression and time zone, or the kind of webhook.
    pub definition: String,
    /// `waiting` for the first `rawko serve`, `armed`, `paused` or `ended`.
    pub status: String,
    /// Instance with the state of the trigger.
    pub instance: String,
    /// Next due time of a schedule.
    pub next_ms: Option<i64>,
    /// Next due time in the schedule's time zone.
    pub next: Option<String>,
    /// Number of runs.
    pub fired: i64,
    /// Number of due times without a run.
    pub missed: i64,
    /// Path that the sender calls.
    pub path: Option<String>,
    /// The last run.
    pub last: Option<TriggerEntry>,
    /// The latest runs and deliveries, at most 20, oldest first.
    pub recent: Vec<TriggerEntry>,
}

/// A run or a delivery.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct TriggerEntry {
    /// Time at which it was recorded.
    pub at_ms: i64,
    /// Due time of a schedule.
    pub due_ms: Option<i64>,
    /// Id of the delivery, or the due time.
    pub key: String,
    /// Kind of event, as its sender names it.
    pub event: String,
    /// `started`, `sent`, `queued`, `exists`, `ignored`, `failed` or `missed`.
    pub outcome: String,
    /// Instance that was started or received the event.
    pub instance: Option<String>,
    /// Reason of a failure.
    pub detail: Option<String>,
    /// Due times that were left out before it.
    pub missed: i64,
}

/// The stored state of a trigger.
#[derive(Clone, Debug)]
pub struct StoredTrigger {
    /// Row of its instance.
    pub row: InstanceRow,
    /// Status of its instance.
    pub status: InstanceStatus,
    /// Context of its instance.
    pub state: TriggerState,
}

impl StoredTrigger {
    /// Reads the state; `None` before the trigger was armed.
    pub fn read(reader: &SnapshotReader, name: &str) -> Result<Option<StoredTrigger>, ViewError> {
        let Some(row) = reader.store().find(&instance_of(name))? else { return Ok(None) };
        let restored = reader.snapshot(&row, None)?;
        let state = TriggerState::of_context(&restored.snapshot.context_map(&restored.chart));
        Ok(Some(StoredTrigger { status: Row::of(&row).status, row, state }))
    }
}

impl TriggerDocument {
    /// Describes a trigger at a moment.
    pub fn of(trigger: &Trigger, stored: Option<&StoredTrigger>, now_ms: i64) -> TriggerDocument {
        let state = stored.map(|stored| stored.state.clone()).unwrap_or_default();
        let status = match stored.map(|stored| stored.status) {
            None => "waiting",
            Some(InstanceStatus::Paused) => "paused",
            Some(InstanceStatus::Ended) => "ended",
            Some(InstanceStatus::Running | InstanceStatus::Waiting | InstanceStatus::Stalled) => "armed",
        };
        let schedule = trigger.schedule().filter(|_| status != "ended");
        // A schedule that was changed begins anew.
        let is_same = state.definition == trigger.definition();
        let since_ms = if is_same { state.since_ms.max(now_ms) } else { now_ms };
        let next = schedule.and_then(|schedule| Some((schedule, schedule.next_after(since_ms)?)));
        let (kind, path) = match &trigger.source {
            TriggerSource::Schedule(_) => ("schedule", None),
            TriggerSource::Webhook(_) => ("webhook", Some(format!("/v1/webhooks/{}", trigger.name))),
        };
        TriggerDocument {
            name: trigger.name.clone(),
            kind: kind.to_owned(),
            definition: trigger.definition(),
            status: status.to_owned(),
            instance: instance_of(&trigger.name),
            next_ms: next.map(|(_, due)| due.ms()),
            next: next.map(|(schedule, due)| schedule.local(due)),
            fired: state.fired,
            missed: state.missed,
            path,
            last: state.last_run().map(TriggerEntry::of),
            recent: state.recent.iter().map(TriggerEntry::of).collect(),
        }
    }
}

impl TriggerEntry {
    fn of(entry: &TriggerRun) -> TriggerEntry {
        TriggerEntry {
            at_ms: entry.at_ms,
            due_ms: entry.due_ms,
            key: entry.key.clone(),
            event: entry.kind.clone(),
            outcome: entry.outcome.as_str().to_owned(),
            instance: entry.instance.clone(),
            detail: entry.detail.clone(),
            missed: entry.missed,
        }
    }
}
