//! Event streams: what happens to instances, as it happens. One reader follows the store's journal for everybody who
//! listens; whoever was away is first told what it missed.

mod backlog;
mod channels;
mod ended;
mod frames;
mod hangup;
mod hub;
mod kin;
mod listener;
mod members;
mod telling;

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
use super::extract::Query;
use super::problem::{Problem, ProblemCode};
pub(crate) use hangup::Hangup;
use hub::{Command, Hub};
use listener::Listener;
use members::Group;

pub(crate) fn routes() -> Routes {
    OpenApiRouter::new().routes(routes!(stream))
}

/// The way to the one who reads for all streams. It begins with the first stream.
#[derive(Default)]
pub(crate) struct Live {
    hub: OnceLock<mpsc::UnboundedSender<Command>>,
}

impl Live {
    fn hub(&self, app: &App) -> &mpsc::UnboundedSender<Command> {
        self.hub.get_or_init(|| Hub::start(app.clone()))
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct StreamQuery {
    /// Only this instance, with all there is to tell; without one every instance, in few words.
    instance: Option<String>,
    /// With `instance`: everything below it, too.
    children: Option<bool>,
    /// What came after this record of the store's journal; `Last-Event-ID` says the same and goes first.
    after: Option<u64>,
}

/// What happens, as it happens
///
/// Server-sent events. `hello` comes first (`{"seq", "version"}`). `step` is an entry of a journal and has the record's
/// number as its id: with `Last-Event-ID` nothing is missed and nothing comes twice. `progress` is what running calls tell
/// meanwhile (only with `instance`), `channel` says that something changed in a channel (only without). A client that
/// cannot keep up is cut off, and comes again.
#[utoipa::path(get, path = "/v1/stream", tag = "live",
    params(StreamQuery, ("Last-Event-ID" = Option<u64>, Header, description = "The last record that was seen.")),
    responses((status = 200, body = String, content_type = "text/event-stream")))]
async fn stream(
    State(app): State<App>,
    Query(query): Query<StreamQuery>,
    headers: HeaderMap,
    hangup: Option<axum::Extension<Hangup>>,
) -> Result<Response, Problem> {
    let place = app.stream()?;
    let after = match headers.get("last-event-id") {
        Some(id) => Some(id.to_str().ok().and_then(|id| id.trim().parse().ok()).ok_or_else(no_id)?),
        None => query.after,
    };
    let group = app.read(move |app| group(app, query)).await?;
    let hangup = hangup.map(|axum::Extension(hangup)| hangup).unwrap_or_default();
    let listener = Listener::new(app, group, after, hangup, place);
    let body = Body::from_stream(listener.frames());
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    // A proxy in between must not wait for more.
    Ok((headers, [("x-accel-buffering", "no")], body).into_response())
}

fn no_id() -> Problem {
    Problem::new(ProblemCode::InvalidRequest, "`Last-Event-ID` is the number of a record")
}

fn group(app: &App, query: StreamQuery) -> Result<Group, Problem> {
    let Some(id) = query.instance else { return Ok(Group::Everything) };
    let id: Arc<str> = Arc::clone(&app.reader().find(&id)?.new.id);
    Ok(if query.children.unwrap_or(false) { Group::Below(id) } else { Group::One(id) })
}
