//! Event streams: live updates of instances. One reader follows the store's journal for all clients; a reconnecting
//! client first receives the entries that it missed.

mod backlog;
mod channels;
mod ended;
mod frames;
mod hangup;
mod hub;
mod listener;
mod members;
mod path;
mod reader;

use std::sync::{Arc, OnceLock};

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use tokio::sync::mpsc;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Routes;
use super::app::App;
use super::extract::QueryString;
use super::problem::{ErrorResponse, ProblemCode};
pub(crate) use hangup::Hangup;
use hub::{Hub, HubCommand};
use listener::LiveListener;
use members::Group;

pub(crate) fn routes() -> Routes {
    OpenApiRouter::new().routes(routes!(stream))
}

/// Handle of the shared reader.
#[derive(Default)]
pub(crate) struct LiveReader {
    hub: OnceLock<mpsc::UnboundedSender<HubCommand>>,
}

impl LiveReader {
    /// Starts the reader, so that text which streams before the first client is known to it.
    pub(crate) fn start(&self, app: &App) {
        self.hub(app);
    }

    fn hub(&self, app: &App) -> &mpsc::UnboundedSender<HubCommand> {
        self.hub.get_or_init(|| Hub::start(app.clone()))
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct StreamQuery {
    /// Only this instance, with full entries; without it, summaries of all instances.
    instance: Option<String>,
    /// With `instance`: include its descendants.
    children: Option<bool>,
    /// Only records after this one; `Last-Event-ID` takes precedence.
    after: Option<u64>,
}

/// Stream live updates
///
/// Server-sent events. `hello` comes first (`{"seq", "version"}`). `step` is a journal entry with the record's number
/// as its id: with `Last-Event-ID` none is lost or repeated. `progress` reports running calls (only with `instance`),
/// `channel` reports that a channel changed (only without). A client that joins while text streams first gets the text so
/// far, as `progress` of the type `so_far`. A client that cannot keep up is disconnected and should
/// reconnect.
#[utoipa::path(get, path = "/v1/stream", tag = "live",
    params(StreamQuery, ("Last-Event-ID" = Option<u64>, Header, description = "Number of the last record received.")),
    responses((status = 200, body = String, content_type = "text/event-stream")))]
async fn stream(
    State(app): State<App>,
    QueryString(query): QueryString<StreamQuery>,
    headers: HeaderMap,
    hangup: Option<axum::Extension<Hangup>>,
) -> Result<Response, ErrorResponse> {
    let place = app.stream()?;
    let after = match headers.get("last-event-id") {
        Some(id) => Some(id.to_str().ok().and_then(|id| id.trim().parse().ok()).ok_or_else(no_id)?),
        None => query.after,
    };
    let group = app.read(move |app| group(app, query)).await?;
    let hangup = hangup.map(|axum::Extension(hangup)| hangup).unwrap_or_default();
    let listener = LiveListener::new(app, group, after, hangup, place);
    let body = Body::from_stream(listener.frames());
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    // Prevents a proxy from buffering.
    Ok((headers, [("x-accel-buffering", "no")], body).into_response())
}

fn no_id() -> ErrorResponse {
    ErrorResponse::new(ProblemCode::InvalidRequest, "`Last-Event-ID` must be the number of a record")
}

fn group(app: &App, query: StreamQuery) -> Result<Group, ErrorResponse> {
    let Some(id) = query.instance else { return Ok(Group::Everything) };
    let id: Arc<str> = Arc::clone(&app.reader().find(&id)?.new.id);
    Ok(if query.children.unwrap_or(false) { Group::Below(id) } else { Group::One(id) })
}
