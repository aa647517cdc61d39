//! The files that an instance changed: its diff, and taking it back.

use axum::extract::State;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use crate::http::app::App;
use crate::http::extract::{Json, Path, QueryString};
use crate::http::problem::ErrorResponse;
use crate::http::work::{Changes, ChangesRequest, UndoRequest, Undone};

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ChangesQuery {
    /// Only changes until this step.
    at: Option<u64>,
    /// Only the changes of this checkpoint.
    checkpoint: Option<u64>,
}

/// Read the changes of an instance
///
/// The net changes of the project's files by the instance and its descendants, as unified diffs.
#[utoipa::path(get, path = "/v1/instances/{id}/changes", tag = "instances",
    params(("id" = String, Path), ChangesQuery), responses((status = 200, body = Changes)))]
pub(super) async fn changes(
    State(app): State<App>,
    Path(id): Path<String>,
    QueryString(ChangesQuery { at, checkpoint }): QueryString<ChangesQuery>,
) -> Result<axum::Json<Changes>, ErrorResponse> {
    known(&app, &id).await?;
    app.project().changes(ChangesRequest { id, at, checkpoint }).await.map(axum::Json)
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UndoBody {
    /// Undo only changes after this step.
    to: Option<u64>,
    /// Take back the last undo.
    #[serde(default)]
    redo: bool,
    /// Overwrite files that others changed since, also while the instance is running.
    #[serde(default)]
    force: bool,
}

/// Undo the changes of an instance
///
/// Restores every file that the instance and its descendants changed. Files that others changed since are not
/// overwritten unless `force` is true: the request is refused, and nothing is changed. The instance itself stays as it is.
#[utoipa::path(post, path = "/v1/instances/{id}/undo", tag = "instances", params(("id" = String, Path)),
    request_body = UndoBody, responses((status = 200, body = Undone)))]
pub(super) async fn undo(
    State(app): State<App>,
    Path(id): Path<String>,
    Json(UndoBody { to, redo, force }): Json<UndoBody>,
) -> Result<axum::Json<Undone>, ErrorResponse> {
    known(&app, &id).await?;
    app.project().undo(UndoRequest { id, to, redo, force }).await.map(axum::Json)
}

/// Fails if there is no such instance.
async fn known(app: &App, id: &str) -> Result<(), ErrorResponse> {
    let id = id.to_owned();
    app.read(move |app| app.reader().find(&id).map(drop)).await
}
