//! Messages and actions of agents, as a conversation.

use axum::extract::State;
use rawko_view::ViewError;
use rawko_view::transcript::{self, Transcript};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::http::app::App;
use crate::http::extract::{Path, QueryString};
use crate::http::paging::limit_of;
use crate::http::problem::ErrorResponse;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct TranscriptQuery {
    /// Page size; turns of one record stay together.
    #[param(minimum = 1, maximum = 500, default = 50)]
    limit: Option<u16>,
    /// `next` of the page with later turns.
    before: Option<u64>,
}

/// Read the transcript of an instance
///
/// The last turns of the instance and its descendants, in order. `next` leads to earlier ones.
#[utoipa::path(get, path = "/v1/instances/{id}/transcript", tag = "instances",
    params(("id" = String, Path), TranscriptQuery), responses((status = 200, body = Transcript)))]
pub(super) async fn transcript(
    State(app): State<App>,
    Path(id): Path<String>,
    QueryString(TranscriptQuery { limit, before }): QueryString<TranscriptQuery>,
) -> Result<axum::Json<Transcript>, ErrorResponse> {
    let limit = limit_of(limit)?;
    let read = move |app: &App| -> Result<Transcript, ViewError> {
        let root = app.reader().find(&id)?;
        transcript::read(app.reader(), root, before.unwrap_or(u64::MAX), limit)
    };
    app.read(read).await.map(axum::Json)
}
