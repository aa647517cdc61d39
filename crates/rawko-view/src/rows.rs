//! Rows of the instance list.

use rawko_core::{Chart, Snapshot, Status};
use rawko_host::{HostError, RestoredSnapshot, RowState, SnapshotReader, Spent};
use rawko_store::{Filter, InstanceRow, InstanceStatus, Outcome, StoreError, WaitReason};
use serde::Serialize;
#[cfg(feature = "openapi")]
use utoipa::ToSchema;

use crate::journal::words;
use crate::list_index::ListIndex;
use crate::lists::{ASKING_MAX, GENERATIONS_MAX};
use crate::spending::spent_until_now;
use crate::times;
#[cfg(feature = "openapi")]
use crate::vocabulary::{InstanceStatusWord, OutcomeWord, WaitWord};

/// An instance in a list.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct Row {
    /// Id of the instance, unique in the store.
    pub id: String,
    /// Id of the chart.
    pub chart: String,
    /// Version of the chart.
    pub version: String,
    /// Hash of the chart version that the instance started with.
    pub chart_hash: String,
    /// What the instance is doing.
    #[cfg_attr(feature = "openapi", schema(value_type = InstanceStatusWord))]
    pub status: InstanceStatus,
    /// How it ended; null until then.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<OutcomeWord>))]
    pub outcome: Option<Outcome>,
    /// The task or goal in its context, in one line.
    pub title: Option<String>,
    /// What it waits for: `work` (a service, an agent or a child), `person`, `event`, `timer`, or `host` if no process
    /// moves it; null if it is paused or has ended.
    pub waiting_for: Option<String>,
    /// Why it is stalled; of one instance also why it was cancelled.
    pub reason: Option<String>,
    /// Command that continues it, if one does.
    pub hint: Option<String>,
    /// Kind of input that the instance waits for, as stored.
    #[cfg_attr(feature = "openapi", schema(value_type = WaitWord))]
    pub waits_for: WaitReason,
    /// Due time of the next timer.
    pub next_due_ms: Option<i64>,
    /// Reason why the host stopped driving it: a step failed.
    pub fault: Option<String>,
    /// Number of the last successful step.
    pub step: u64,
    /// Start time, in milliseconds since 1970 UTC.
    pub created_ms: i64,
    /// Time of the last record, including failed steps, in milliseconds since 1970 UTC.
    pub updated_ms: i64,
    /// Time of the last change (UTC, RFC 3339).
    pub updated: String,
    /// Invoking instance; null for a top-level instance.
    pub parent: Option<ParentRef>,
    /// Origin of a fork; null for other instances.
    pub forked_from: Option<OriginRef>,
    /// Agent that the instance runs.
    pub agent: Option<String>,
    /// Usage so far, including descendants.
    pub spent: SpentDocument,
    /// Innermost active states; null if they cannot be read.
    pub configuration: Option<Vec<String>>,
}

/// Parent instance and its invoke.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct ParentRef {
    /// Id of the parent.
    pub id: String,
    /// Id of the invoke in the parent's chart.
    pub invoke: String,
}

/// Past step that the instance was forked from.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct OriginRef {
    /// Id of the original instance.
    pub id: String,
    /// Step that the fork continues from.
    pub step: u64,
}

/// Usage of an instance and its descendants so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = Spent))]
pub struct SpentDocument {
    /// Input and output tokens of completions.
    pub tokens: u64,
    /// Cost in US dollars, as far as prices are known.
    pub cost_usd: f64,
    /// Time that agents were running.
    pub time_ms: u64,
    /// Number of calls of tools and services.
    pub tool_calls: u64,
}

impl Row {
    /// Builds the row from the store only; the states would require the snapshot.
    pub fn of(row: &InstanceRow) -> Row {
        let (new, head) = (&row.new, &row.head);
        let status = InstanceStatus::of(head, true);
        let Spent { tokens, cost_usd, time_ms, tool_calls } = spent(row);
        Row {
            id: new.id.to_string(),
            chart: new.chart_id.to_string(),
            version: new.version.to_string(),
            chart_hash: new.chart.iter().map(|byte| format!("{byte:02x}")).collect(),
            status,
            outcome: outcome(row),
            title: None,
            waiting_for: match (status, head.wait) {
                (InstanceStatus::Running | InstanceStatus::Waiting, wait) => Some(wait.as_str().to_owned()),
                (InstanceStatus::Paused | InstanceStatus::Stalled | InstanceStatus::Ended, _) => None,
            },
            reason: head.fault.as_deref().map(str::to_owned),
            hint: hint(row, status),
            waits_for: head.wait,
            next_due_ms: head.next_due_ms,
            fault: head.fault.as_deref().map(str::to_owned),
            step: row.step,
            created_ms: new.created_ms,
            updated_ms: row.updated_ms,
            updated: times::moment(row.updated_ms).replacen(' ', "T", 1),
            parent: new
                .parent
                .as_ref()
                .map(|parent| ParentRef { id: parent.id.to_string(), invoke: parent.invoke.to_string() }),
            forked_from: new
                .origin
                .as_ref()
                .map(|origin| OriginRef { id: origin.id.to_string(), step: origin.step }),
            agent: new.agent().map(|agent| agent.to_string()),
            spent: SpentDocument { tokens, cost_usd, time_ms, tool_calls },
            configuration: None,
        }
    }

    /// Returns rows with their active states, for one page of the list.
    pub fn with_states(reader: &SnapshotReader, rows: &[InstanceRow]) -> Result<Vec<Row>, HostError> {
        let spent = rows.iter().map(|row| spent_in_list(reader, row));
        let spent = spent.collect::<Result<Vec<Spent>, StoreError>>()?;
        Self::of_page(reader, rows, spent)
    }

    /// The same with an index, which has the usage of children as sums.
    pub fn indexed(
        reader: &SnapshotReader,
        index: &ListIndex,
        rows: &[InstanceRow],
    ) -> Result<Vec<Row>, HostError> {
        Self::of_page(reader, rows, index.spent(reader, rows)?)
    }

    fn of_page(
        reader: &SnapshotReader,
        rows: &[InstanceRow],
        spent: Vec<Spent>,
    ) -> Result<Vec<Row>, HostError> {
        let (states, asking) = (reader.row_states(rows, state)?, asking(reader, rows));
        let rows = rows.iter().zip(states).zip(spent);
        let read = |((row, state), spent): ((&InstanceRow, Option<_>), Spent)| {
            Row::of(row).spending(spent).below(reader, &asking).with(state.as_deref())
        };
        Ok(rows.map(read).collect())
    }

    /// Adds what only the snapshot has.
    pub(crate) fn with(self, state: Option<&RowState>) -> Row {
        let Some(RowState { configuration, title, failure }) = state.cloned() else { return self };
        let reason = self.reason.clone().or(failure).filter(|_| self.status == InstanceStatus::Stalled);
        Row { configuration: Some(configuration), title, reason, ..self }
    }

    /// Returns the row with its active states; without them if the snapshot cannot be read.
    pub fn read(reader: &SnapshotReader, row: &InstanceRow) -> Row {
        let asking = asking(reader, std::slice::from_ref(row));
        let spent = spent_in_list(reader, row).unwrap_or_else(|_| spent(row));
        Row::of(row)
            .spending(spent)
            .below(reader, &asking)
            .with(reader.snapshot(row, None).ok().map(|restored| state(&restored)).as_ref())
    }

    /// Adds the usage of children that still run to a row of a list, if the store finds them quickly.
    pub(crate) fn live_in_list(self, reader: &SnapshotReader, row: &InstanceRow) -> Result<Row, StoreError> {
        if reader.store().has_index_of_children() { self.live(reader, row) } else { Ok(self) }
    }

    /// Adds the usage of children that still run.
    pub(crate) fn live(self, reader: &SnapshotReader, row: &InstanceRow) -> Result<Row, StoreError> {
        Ok(self.spending(spent_until_now(reader, row)?))
    }

    #[must_use]
    fn spending(self, spent: Spent) -> Row {
        let Spent { tokens, cost_usd, time_ms, tool_calls } = spent;
        Row { spent: SpentDocument { tokens, cost_usd, time_ms, tool_calls }, ..self }
    }

    /// An instance that works only through children that wait for a person waits for that person.
    #[must_use]
    pub(crate) fn below(self, reader: &SnapshotReader, asking: &[String]) -> Row {
        let is_below = |id: &String| id.strip_prefix(&self.id).is_some_and(|rest| rest.starts_with('.'));
        let is_running = self.waits_for == WaitReason::Work && self.status == InstanceStatus::Running;
        if !is_running || !asking.iter().any(is_below) {
            return self;
        }
        let Some(asking) = asking_below(reader, &self.id, GENERATIONS_MAX) else { return self };
        let waiting_for = Some(WaitReason::Person.as_str().to_owned());
        let hint = Some(format!("rawko approve {asking}"));
        Row { status: InstanceStatus::Waiting, waiting_for, hint, ..self }
    }
}

/// Returns the usage with that of children that still run, if the store finds them quickly.
fn spent_in_list(reader: &SnapshotReader, row: &InstanceRow) -> Result<Spent, StoreError> {
    if reader.store().has_index_of_children() { spent_until_now(reader, row) } else { Ok(spent(row)) }
}

/// Returns what a row shows of a snapshot.
pub(crate) fn state(restored: &RestoredSnapshot) -> RowState {
    let RestoredSnapshot { chart, snapshot, .. } = restored;
    RowState {
        configuration: chart.leaf_paths(snapshot.configuration()).map(str::to_owned).collect(),
        title: title(chart, snapshot),
        failure: snapshot.failure().map(|failure| words::error(&failure.error)),
    }
}

/// Returns the instances that wait for a person, if some of the rows could wait for them. One query for a whole list,
/// because looking at the children of every row would take one each.
fn asking(reader: &SnapshotReader, rows: &[InstanceRow]) -> Vec<String> {
    if !rows.iter().any(|row| row.head.wait == WaitReason::Work) {
        return Vec::new();
    }
    let people = Filter { waits: vec![WaitReason::Person], limit: ASKING_MAX, ..Filter::default() };
    let page = reader.store().list(&people).unwrap_or_default();
    page.rows.iter().map(|row| row.new.id.to_string()).collect()
}

/// Returns a descendant that waits for a person, if everything else below an instance waits for one, too.
pub(crate) fn asking_below(reader: &SnapshotReader, id: &str, depth: u32) -> Option<String> {
    let children = reader.store().children(id).ok()?;
    let live = children.iter().filter(|child| !child.head.status.is_over());
    let asking = live.map(|child| match child.head.wait {
        WaitReason::Person => Some(child.new.id.to_string()),
        WaitReason::Work => asking_below(reader, &child.new.id, depth.checked_sub(1)?),
        WaitReason::Event | WaitReason::Timer | WaitReason::Nothing | WaitReason::Paused => None,
    });
    asking.collect::<Option<Vec<String>>>()?.into_iter().next()
}

/// Maximum length of a title, in characters.
const TITLE_CHARS_MAX: usize = 120;

/// Returns the task, goal or title in an instance's context, in one line.
pub fn title(chart: &Chart, snapshot: &Snapshot) -> Option<String> {
    let context = snapshot.context_map(chart);
    let text = ["task", "goal", "title"].into_iter().find_map(|key| {
        context.get(key).as_str().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
    })?;
    let line = text.lines().next().unwrap_or_default();
    Some(match line.char_indices().nth(TITLE_CHARS_MAX) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    })
}

/// Returns how an instance ended. One that was cancelled before outcomes were stored has none.
pub fn outcome(row: &InstanceRow) -> Option<Outcome> {
    let cancelled = (row.head.status == Status::Cancelled).then_some(Outcome::Cancelled);
    row.head.outcome.or(cancelled)
}

impl Row {
    /// Returns the row of an instance that no host moves: work in progress waits for one, and timers do not fire.
    #[must_use]
    pub fn undriven(self) -> Row {
        let hint = Some(format!("rawko resume {}", self.id));
        match (self.status, self.waiting_for.as_deref()) {
            (InstanceStatus::Running, _) => {
                let status = InstanceStatus::Waiting;
                Row { status, waiting_for: Some(HOST.to_owned()), hint, ..self }
            }
            (InstanceStatus::Waiting, Some("timer")) => Row { hint, ..self },
            _ => self,
        }
    }

    /// Returns the outcome of an ended instance, else its status.
    pub fn status_word(&self) -> &'static str {
        match (self.status, self.outcome) {
            (InstanceStatus::Ended, Some(outcome)) => outcome.as_str(),
            (status, _) => status.as_str(),
        }
    }
}

/// What an instance waits for that no host moves.
pub const HOST: &str = "host";

/// Returns the way out: the command that continues the instance, if one does.
fn hint(row: &InstanceRow, status: InstanceStatus) -> Option<String> {
    let id = &row.new.id;
    match (status, row.head.wait) {
        (InstanceStatus::Paused | InstanceStatus::Stalled, _) => Some(format!("rawko resume {id}")),
        (InstanceStatus::Waiting, WaitReason::Person) => {
            Some(format!("rawko approve {id}, or rawko deny {id}"))
        }
        (InstanceStatus::Running | InstanceStatus::Waiting | InstanceStatus::Ended, _) => None,
    }
}

/// Returns the usage of an instance and its descendants so far.
pub fn spent(row: &InstanceRow) -> Spent {
    Spent::of(ledger(row).get("total"))
}

/// Returns true if the usage of a child that was stopped is not part of the instance's yet.
pub fn is_awaited(row: &InstanceRow, child: &str) -> bool {
    !ledger(row).get("awaited").get(child).is_null()
}

fn ledger(row: &InstanceRow) -> rawko_core::Value {
    let text = row.head.ledger.as_deref();
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}
