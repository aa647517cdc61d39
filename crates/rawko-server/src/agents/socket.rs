//! Agents over WebSocket. The origin of a request is checked before it gets here.

use std::sync::Arc;

use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::response::Response;

use super::connection::{AgentConnections, ConnectionOrigin, OnGuess, serve};
use super::transport::{ReceivedMessage, Transport};
use crate::http::{ErrorResponse, ProblemCode};
use crate::protocol::MESSAGE_BYTES_MAX;
use crate::role::AgentNames;

/// Larger messages are not read: the connection ends without an error message.
const FRAME_BYTES_MAX: usize = 8 * MESSAGE_BYTES_MAX;
/// Memory that each connection keeps for reading; longer messages are read in parts. The default is 128 KiB, all of which
/// is written with zeros at the first read.
pub(crate) const READ_BUFFER_BYTES: usize = 8 * 1024;
/// Concurrent connections; further ones are rejected.
const CONNECTIONS_MAX: usize = 10_000;

/// Accepts agent connections.
#[derive(Clone)]
pub(crate) struct Gatekeeper {
    connections: AgentConnections,
    room: Arc<tokio::sync::Semaphore>,
}

impl Gatekeeper {
    pub(crate) fn new(connections: AgentConnections) -> Self {
        Self { connections, room: Arc::new(tokio::sync::Semaphore::new(CONNECTIONS_MAX)) }
    }
}

/// Accepts a connection. `names`: those of its token, if it has already authenticated. `on_guess`: called on a wrong
/// token.
pub(crate) fn connect(
    gate: &Gatekeeper,
    upgrade: WebSocketUpgrade,
    names: Option<AgentNames>,
    on_guess: OnGuess,
) -> Result<Response, ErrorResponse> {
    let full = |_| ErrorResponse::new(ProblemCode::Unavailable, "too many connected agents");
    let place = Arc::clone(&gate.room).try_acquire_owned().map_err(full)?;
    let connections = gate.connections.clone();
    let upgrade = upgrade.max_message_size(FRAME_BYTES_MAX).max_frame_size(FRAME_BYTES_MAX);
    let upgrade = upgrade.read_buffer_size(READ_BUFFER_BYTES);
    Ok(upgrade.on_upgrade(move |socket| async move {
        serve(Socket(socket), connections, ConnectionOrigin::Socket { names, on_guess }).await;
        drop(place);
    }))
}

struct Socket(WebSocket);

impl Transport for Socket {
    async fn recv(&mut self) -> ReceivedMessage {
        match self.0.recv().await {
            Some(Ok(Message::Text(text))) if text.len() > MESSAGE_BYTES_MAX => ReceivedMessage::Oversized,
            Some(Ok(Message::Text(text))) => ReceivedMessage::Text(text.to_string()),
            Some(Ok(Message::Binary(_))) => ReceivedMessage::NotText,
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => ReceivedMessage::Alive,
            Some(Ok(Message::Close(_)) | Err(_)) | None => ReceivedMessage::Closed,
        }
    }

    async fn send(&mut self, text: String) -> bool {
        self.0.send(Message::Text(text.into())).await.is_ok()
    }

    async fn ping(&mut self) -> bool {
        self.0.send(Message::Ping(Vec::new().into())).await.is_ok()
    }
}
