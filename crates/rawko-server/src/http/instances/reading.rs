//! One instance: its state, now or after any step, and its children.

use axum::extract::State;
use rawko_view::ViewError;
use rawko_view::document::Document;
use rawko_view::rows::Row;
use rawko_view::standing::InstanceStanding;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::http::app::App;
use crate::http::extract::{Path, QueryString};
use crate::http::problem::ErrorResponse;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct AtQuery {
    /// State after this step. Default: the last one.
    at: Option<u64>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Children {
    /// Oldest first.
    instances: Vec<Row>,
}

/// Read an instance
///
/// Its current state, or its state after a step.
#[utoipa::path(get, path = "/v1/instances/{id}", tag = "instances", params(("id" = String, Path), AtQuery),
    responses((status = 200, body = Document)))]
pub(super) async fn read(
    State(app): State<App>,
    Path(id): Path<String>,
    QueryString(AtQuery { at }): QueryString<AtQuery>,
) -> Result<axum::Json<Document>, ErrorResponse> {
    app.read(move |app| document(app, &id, at)).await.map(axum::Json)
}

fn document(app: &App, id: &str, at: Option<u64>) -> Result<Document, ViewError> {
    let standing = InstanceStanding::at(app.reader(), id, at, app.world(), app.now_ms())?;
    Document::of(app.reader(), &standing)
}

/// List the children of an instance
#[utoipa::path(get, path = "/v1/instances/{id}/children", tag = "instances", params(("id" = String, Path)),
    responses((status = 200, body = Children)))]
pub(super) async fn children(
    State(app): State<App>,
    Path(id): Path<String>,
) -> Result<axum::Json<Children>, ErrorResponse> {
    app.read(move |app| children_of(app, &id)).await.map(axum::Json)
}

fn children_of(app: &App, id: &str) -> Result<Children, ViewError> {
    let reader = app.reader();
    reader.find(id)?;
    let rows = reader.store().children(id)?;
    Ok(Children { instances: Row::indexed(reader, app.list_index(), &rows)? })
}
