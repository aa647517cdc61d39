//! Pending requests to people, over all instances.

use axum::extract::State;
use rawko_store::{Filter, InstanceKey, InstanceRow, WaitReason};
use rawko_view::ViewError;
use rawko_view::document::AskDocument;
use rawko_view::standing::{self, PendingAsk};
use serde::Serialize;
use utoipa::ToSchema;

use crate::http::app::App;
use crate::http::extract::QueryString;
use crate::http::paging::{PageQuery, cursor};
use crate::http::problem::ErrorResponse;

/// A page of pending requests, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Approvals {
    approvals: Vec<Approval>,
    /// Number of instances with requests, on all pages.
    total: u64,
    /// `cursor` of the next page; null on the last.
    next: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
struct Approval {
    #[serde(flatten)]
    ask: AskDocument,
    /// Chart of the requesting instance.
    chart: String,
}

/// List pending requests to people
#[utoipa::path(get, path = "/v1/approvals", tag = "people", params(PageQuery),
    responses((status = 200, body = Approvals)))]
pub(super) async fn approvals(
    State(app): State<App>,
    QueryString(page): QueryString<PageQuery>,
) -> Result<axum::Json<Approvals>, ErrorResponse> {
    let filter = Filter {
        waits: vec![WaitReason::Person],
        before: page.before()?.map(InstanceKey),
        limit: page.limit()?,
        ..Filter::default()
    };
    app.read(move |app| asked(app, &filter)).await.map(axum::Json)
}

fn asked(app: &App, filter: &Filter) -> Result<Approvals, ViewError> {
    let reader = app.reader();
    let page = reader.store().list(filter)?;
    let mut approvals = Vec::new();
    for row in &page.rows {
        approvals.extend(standing::asked(reader, row)?.iter().map(|ask| approval(row, ask)));
    }
    Ok(Approvals { approvals, total: page.total, next: page.next.map(|key| cursor(key.0)) })
}

fn approval(row: &InstanceRow, ask: &PendingAsk) -> Approval {
    Approval { ask: AskDocument::of(ask), chart: row.new.chart_id.to_string() }
}
