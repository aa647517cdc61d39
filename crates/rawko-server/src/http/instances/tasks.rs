//! Tasks described in plain language: the project's agents perform them, coordinated by an orchestrator instance.

use axum::extract::State;
use axum::response::Response;
use rawko_store::{Filter, InstanceKey};
use rawko_view::ViewError;
use rawko_view::tasks::TaskDocument;
use serde::Serialize;
use utoipa::ToSchema;

use super::keyed::{self, KeyedRequest};
use super::receipt::{ReceiptBody, accepted, check_id, created};
use crate::http::app::App;
use crate::http::extract::{Json, QueryString};
use crate::http::paging::{PageQuery, cursor};
use crate::http::problem::{ErrorResponse, ProblemCode};
use crate::http::project::NewTask;

/// A page of tasks, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TaskList {
    tasks: Vec<TaskDocument>,
    /// Number on all pages.
    total: u64,
    /// `cursor` of the next page; null on the last.
    next: Option<String>,
}

/// List tasks
#[utoipa::path(get, path = "/v1/tasks", tag = "tasks", params(PageQuery),
    responses((status = 200, body = TaskList)))]
pub(super) async fn list(
    State(app): State<App>,
    QueryString(page): QueryString<PageQuery>,
) -> Result<axum::Json<TaskList>, ErrorResponse> {
    let filter = Filter {
        chart: Some(app.project().task_chart().to_owned()),
        roots_only: true,
        before: page.before()?.map(InstanceKey),
        limit: page.limit()?,
        ..Filter::default()
    };
    app.read(move |app| tasks(app, &filter)).await.map(axum::Json)
}

fn tasks(app: &App, filter: &Filter) -> Result<TaskList, ViewError> {
    let reader = app.reader();
    let page = reader.store().list(filter)?;
    Ok(TaskList {
        tasks: page.rows.iter().map(|row| TaskDocument::of(reader, row)).collect(),
        total: page.total,
        next: page.next.map(|key| cursor(key.0)),
    })
}

/// Start or queue a task
///
/// Responds once the task has started, or is stored in the queue (202): its instance exists once it starts.
#[utoipa::path(post, path = "/v1/tasks", tag = "tasks", request_body = NewTask,
    responses((status = 201, body = ReceiptBody, headers(("Location" = String, description = "Path of the instance."))),
        (status = 202, body = ReceiptBody, headers(("Location" = String, description = "Path of the instance.")))))]
pub(super) async fn start(
    State(app): State<App>,
    keyed: KeyedRequest,
    Json(mut task): Json<NewTask>,
) -> Result<Response, ErrorResponse> {
    check_id(task.id.as_deref())?;
    if task.task.trim().is_empty() {
        return Err(ErrorResponse::new(ProblemCode::InvalidBody, "the task is empty; describe what to do"));
    }
    if task.priority.is_some() && !task.queue {
        return Err(ErrorResponse::new(ProblemCode::InvalidBody, "`priority` needs `queue: true`"));
    }
    let respond = if task.queue { accepted } else { created };
    let derived = if task.id.is_none() { keyed.instance(app.project().task_chart()) } else { None };
    task.id = task.id.or_else(|| derived.clone());
    keyed::once(&app, derived, app.project().start_task(task).await).await.map(respond)
}
