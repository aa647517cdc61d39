//! Agents over WebSocket.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::connection::{Desk, Door, is_token, serve};
use super::transport::{Incoming, Transport};
use crate::protocol::MESSAGE_BYTES_MAX;

/// Beyond this a message is not even read to be refused: the connection ends.
const FRAME_BYTES_MAX: usize = 8 * MESSAGE_BYTES_MAX;
/// Connections at a time; more are told to come again later.
const CONNECTIONS_MAX: usize = 10_000;

/// Decides who may connect.
#[derive(Clone)]
pub(crate) struct Gatekeeper {
    pub(crate) desk: Desk,
    room: Arc<tokio::sync::Semaphore>,
}

impl Gatekeeper {
    pub(crate) fn new(desk: Desk) -> Self {
        Self { desk, room: Arc::new(tokio::sync::Semaphore::new(CONNECTIONS_MAX)) }
    }
}

pub(crate) fn route(gatekeeper: Gatekeeper) -> Router {
    Router::new().route("/v1/agents", get(connect)).with_state(gatekeeper)
}

async fn connect(State(gate): State<Gatekeeper>, headers: HeaderMap, upgrade: WebSocketUpgrade) -> Response {
    if !is_own_page(&headers) {
        return (StatusCode::FORBIDDEN, "pages of other sites may not connect").into_response();
    }
    let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let bearer = bearer.and_then(|value| value.strip_prefix("Bearer "));
    let trusted = is_token(gate.desk.token.as_deref(), bearer);
    let Ok(place) = Arc::clone(&gate.room).try_acquire_owned() else {
        return (StatusCode::SERVICE_UNAVAILABLE, "too many connections").into_response();
    };
    upgrade.max_message_size(FRAME_BYTES_MAX).max_frame_size(FRAME_BYTES_MAX).on_upgrade(
        move |socket| async move {
            serve(Socket(socket), gate.desk, Door::Socket { trusted }).await;
            drop(place);
        },
    )
}

/// A browser says which page asks. Only one that this server itself served may.
fn is_own_page(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let Some(origin) = text(header::ORIGIN.as_str()) else { return true };
    let host = text(header::HOST.as_str()).unwrap_or_default();
    origin.split_once("://").is_some_and(|(_, asked_by)| asked_by == host)
}

struct Socket(WebSocket);

impl Transport for Socket {
    async fn recv(&mut self) -> Incoming {
        match self.0.recv().await {
            Some(Ok(Message::Text(text))) if text.len() > MESSAGE_BYTES_MAX => Incoming::Oversized,
            Some(Ok(Message::Text(text))) => Incoming::Text(text.to_string()),
            Some(Ok(Message::Binary(_))) => Incoming::NotText,
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => Incoming::Alive,
            Some(Ok(Message::Close(_)) | Err(_)) | None => Incoming::Closed,
        }
    }

    async fn send(&mut self, text: String) -> bool {
        self.0.send(Message::Text(text.into())).await.is_ok()
    }

    async fn ping(&mut self) -> bool {
        self.0.send(Message::Ping(Vec::new().into())).await.is_ok()
    }
}
