//! The journal of an instance, in pages of steps, from any position and in both directions.

use axum::extract::State;
use rawko_host::SnapshotReader;
use rawko_store::{InstanceRow, RecordKind};
use rawko_view::ViewError;
use rawko_view::journal::Player;
use rawko_view::journal::document::EntryDocument;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::http::app::App;
use crate::http::extract::{Path, QueryString};
use crate::http::problem::{ErrorResponse, ProblemCode};

const STEPS: u64 = 100;
const STEPS_MAX: u64 = 500;
/// A step that fails repeatedly has many records; the response is limited to this number.
const RECORDS_MAX: usize = 4_096;

#[derive(Clone, Copy, Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct JournalQuery {
    /// First step, in this order. Default: the first or the last step.
    from: Option<u64>,
    /// Number of steps.
    #[param(minimum = 1, maximum = 500, default = 100)]
    limit: Option<u64>,
    #[serde(default)]
    #[param(inline, required = false)]
    order: Order,
    /// Include the story of each step: the transitions considered, with reasons.
    #[serde(default)]
    #[param(required = false)]
    explain: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Order {
    #[default]
    Asc,
    Desc,
}

/// A page of a journal.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Journal {
    v: u32,
    entries: Vec<EntryDocument>,
    /// `from` of the next page in this order; null at the end.
    next_step: Option<u64>,
    last_step: u64,
}

/// Read the journal of an instance
///
/// Every event with its changes. `limit` counts steps: a failed step precedes the successful one with the same number.
#[utoipa::path(get, path = "/v1/instances/{id}/journal", tag = "instances",
    params(("id" = String, Path), JournalQuery), responses((status = 200, body = Journal)))]
pub(super) async fn journal(
    State(app): State<App>,
    Path(id): Path<String>,
    QueryString(query): QueryString<JournalQuery>,
) -> Result<axum::Json<Journal>, ErrorResponse> {
    let limit = query.limit.unwrap_or(STEPS);
    if !(1..=STEPS_MAX).contains(&limit) {
        let detail = format!("`limit` must be between 1 and {STEPS_MAX}");
        return Err(ErrorResponse::new(ProblemCode::InvalidRequest, detail));
    }
    app.read(move |app| stretch(app, &id, query, limit)).await.map(axum::Json)
}

fn stretch(app: &App, id: &str, query: JournalQuery, limit: u64) -> Result<Journal, ViewError> {
    let reader = app.reader();
    let row = reader.find(id)?;
    let (first, last) = bounds(reader, &row)?;
    let steps = match query.order {
        Order::Asc => {
            let from = query.from.unwrap_or(first).max(first);
            from..=from.saturating_add(limit - 1)
        }
        Order::Desc => {
            let through = query.from.unwrap_or(last).min(last);
            (through + 1).saturating_sub(limit)..=through
        }
    };
    let records = reader.store().steps(row.key, steps.clone(), RECORDS_MAX)?;
    let mut player = match query.explain {
        true => Player::new(reader.clone(), Some(app.world().clone())),
        false => Player::moving(reader.clone(), app.world().clone()),
    };
    let mut entries = Vec::with_capacity(records.len());
    for record in &records {
        entries.push(EntryDocument::of(&player.entry(record)?));
    }
    let begins = records.first().is_none_or(|record| is_beginning(record.kind));
    let next_step = match query.order {
        Order::Asc => (*steps.end() < last).then(|| *steps.end() + 1),
        Order::Desc => (!begins && *steps.start() > first).then(|| *steps.start() - 1),
    };
    if query.order == Order::Desc {
        entries.reverse();
    }
    Ok(Journal { v: 1, entries, next_step, last_step: row.step })
}

/// Returns the first step, and the highest number of a record: a failed step has the number after the last one.
fn bounds(reader: &SnapshotReader, row: &InstanceRow) -> Result<(u64, u64), ViewError> {
    let first = row.new.origin.as_ref().map_or(0, |origin| origin.step);
    let next = row.step.saturating_add(1);
    let has_failed = !reader.store().steps(row.key, next..=next, 1)?.is_empty();
    Ok((first, if has_failed { next } else { row.step }))
}

fn is_beginning(kind: RecordKind) -> bool {
    match kind {
        RecordKind::Started | RecordKind::Forked => true,
        RecordKind::Stepped | RecordKind::Ignored | RecordKind::Failed | RecordKind::Migrated => false,
    }
}
