//! One connection of a program that provides services, from its registration to its end.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use axum::extract::ws::{Message, WebSocket};
use rawko_core::Value;
use rawko_host::{ProcessHandle, ProcessOffer, ProgramRegistration, RegisterRefusal, RemoteServices};
use rawko_turns::is_name;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout};

use super::protocol::{AnswerEnvelope, FromProcess, MESSAGE_BYTES_MAX, PROTOCOL, ToProcess, failure};
use crate::agents::OnGuess;
use crate::tokens::ServerTokens;

/// Time limit for registration on a new connection.
const REGISTER_WITHIN: Duration = Duration::from_secs(10);
/// Time limit for sending one message.
const WRITE_WITHIN: Duration = Duration::from_secs(10);
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Heartbeats that may be missing.
const MISSED_MAX: u32 = 3;
/// Consecutive invalid messages after which the connection is closed.
const INVALID_MAX: u32 = 20;
const CONCURRENCY_MAX: u32 = 1_000;

/// What all connections share.
#[derive(Clone)]
pub(crate) struct ServiceConnections {
    pub(crate) services: RemoteServices,
    pub(crate) tokens: ServerTokens,
    pub(crate) closing: watch::Receiver<bool>,
}

/// Serves a connection until it ends. `trusted`: it has already authenticated.
pub(crate) async fn serve(
    mut socket: WebSocket,
    shared: ServiceConnections,
    trusted: bool,
    on_guess: OnGuess,
) {
    let first = timeout(REGISTER_WITHIN, first_text(&mut socket)).await.ok().flatten();
    let Some(text) = first else { return };
    let offer = offer_of(&text, &shared.tokens, trusted, &on_guess);
    let registered = offer.and_then(|offer| shared.services.register(offer, new_session()));
    let ProgramRegistration { handle, session, resumed, messages } = match registered {
        Ok(registered) => registered,
        Err(RegisterRefusal { code, message }) => {
            send(&mut socket, &ToProcess::fatal(code, message)).await;
            return;
        }
    };
    let heartbeat_seconds = HEARTBEAT.as_secs();
    let welcome = ToProcess::Registered { protocol: PROTOCOL, session, resumed, heartbeat_seconds };
    if send(&mut socket, &welcome).await {
        talk(&mut socket, &handle, messages, shared.closing).await;
    }
    // Dropping the handle marks its calls as lost.
}

async fn first_text(socket: &mut WebSocket) -> Option<String> {
    loop {
        match socket.recv().await? {
            Ok(Message::Text(text)) => return Some(text.to_string()),
            Ok(Message::Ping(_) | Message::Pong(_)) => {}
            Ok(Message::Binary(_) | Message::Close(_)) | Err(_) => return None,
        }
    }
}

fn offer_of(
    text: &str,
    tokens: &ServerTokens,
    trusted: bool,
    on_guess: &OnGuess,
) -> Result<ProcessOffer, RegisterRefusal> {
    let message: FromProcess = serde_json::from_str(text)
        .map_err(|error| refused("malformed", format!("invalid message: {error}")))?;
    let FromProcess::Register { protocol, name, token, session, concurrency, services, calls, keys } =
        message
    else {
        return Err(refused("not_registered", "the first message must be `register`"));
    };
    if protocol != PROTOCOL {
        let message =
            format!("unsupported protocol version {protocol}; this server supports version {PROTOCOL}");
        return Err(refused("unsupported_version", message));
    }
    if !trusted && !tokens.let_in_service(token.as_deref()) {
        let known = token.as_deref().map(|token| tokens.find(token).is_some());
        if known == Some(false) {
            on_guess();
        }
        let message = match known {
            Some(true) => "the token has another role; services need the role `service`",
            Some(false) => {
                "invalid token; use the RAWKO_TOKEN of `rawko serve`, or a token with the role `service`"
            }
            None => {
                "missing token; set RAWKO_TOKEN as for `rawko serve`, or to a token with the role `service`"
            }
        };
        return Err(refused("unauthorized", message));
    }
    if !is_name(&name) {
        let message = "a name must have at most 64 letters, digits, `-` and `_`";
        return Err(refused("invalid_name", message));
    }
    if concurrency == 0 || concurrency > CONCURRENCY_MAX {
        let message = format!("`concurrency` must be 1 to {CONCURRENCY_MAX}, not {concurrency}");
        return Err(refused("invalid_concurrency", message));
    }
    if services.is_empty() {
        return Err(refused("no_services", "`services` is empty"));
    }
    let services = services
        .into_iter()
        .map(|offer| (offer.name, offer.input.map(Value::from_json), offer.output.map(Value::from_json)));
    Ok(ProcessOffer {
        name,
        session,
        concurrency: concurrency as usize,
        services: services.collect(),
        calls: BTreeSet::from_iter(calls),
        keys: BTreeSet::from_iter(keys),
    })
}

fn refused(code: &'static str, message: impl Into<String>) -> RegisterRefusal {
    RegisterRefusal { code, message: message.into() }
}

async fn talk(
    socket: &mut WebSocket,
    handle: &ProcessHandle,
    mut messages: mpsc::UnboundedReceiver<rawko_host::RemoteMessage>,
    mut closing: watch::Receiver<bool>,
) {
    let (mut alive, mut invalid, mut is_closing) = (Instant::now(), 0, false);
    let mut beat = tokio::time::interval_at(alive + HEARTBEAT, HEARTBEAT);
    loop {
        tokio::select! {
            // Running calls may still be answered while the host drains; the connection ends with the process.
            () = closed(&mut closing), if !is_closing => {
                is_closing = true;
                handle.leave();
            }
            message = messages.recv() => match message.map(ToProcess::from) {
                Some(message) => {
                    if !send(socket, &message).await {
                        return;
                    }
                }
                None => {
                    let message = "another connection has resumed this session";
                    send(socket, &ToProcess::fatal("superseded", message)).await;
                    return;
                }
            },
            incoming = socket.recv() => {
                alive = Instant::now();
                let text = match incoming {
                    Some(Ok(Message::Text(text))) => text,
                    Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
                    Some(Ok(Message::Binary(_) | Message::Close(_)) | Err(_)) | None => return,
                };
                match hear(&text, handle) {
                    Ok(()) => invalid = 0,
                    Err(message) => {
                        invalid += 1;
                        let is_over = invalid > INVALID_MAX;
                        let code = "malformed".to_owned();
                        let answer = ToProcess::Error { code, message, fatal: is_over };
                        if !send(socket, &answer).await || is_over {
                            return;
                        }
                    }
                }
            }
            _ = beat.tick() => {
                if alive.elapsed() > HEARTBEAT * MISSED_MAX {
                    send(socket, &ToProcess::fatal("heartbeats_missed", "three heartbeats missed")).await;
                    return;
                }
                let ping = socket.send(Message::Ping(Vec::new().into()));
                if !timeout(WRITE_WITHIN, ping).await.is_ok_and(|sent| sent.is_ok()) {
                    return;
                }
            }
        }
    }
}

/// Returns when the server closes.
async fn closed(closing: &mut watch::Receiver<bool>) {
    // The sender lives as long as the server.
    let _ = closing.wait_for(|closing| *closing).await;
}

/// Handles one message, or returns its fault.
fn hear(text: &str, handle: &ProcessHandle) -> Result<(), String> {
    let message = match read(text) {
        Ok(message) => message,
        Err(fault) => {
            if let Some(call) = answered_call(text) {
                let why = format!("the answer of the program cannot be read: {fault}");
                handle.answer(call, Err(failure(why, Some("invalid_answer"), None, None, None)));
            }
            return Err(fault);
        }
    };
    match message {
        FromProcess::Result { call, value } => handle.answer(call, Ok(Value::from_json(value))),
        FromProcess::Failure { call, message, category, retryable, outcome, details } => {
            handle.answer(call, Err(failure(message, category.as_deref(), retryable, outcome, details)));
        }
        FromProcess::Cancelled { call } => handle.cancelled(call),
        FromProcess::Progress { call, data } => handle.progress(call, Value::from_json(data)),
        FromProcess::Heartbeat {} => {}
        FromProcess::Goodbye {} => handle.leave(),
        FromProcess::Register { .. } => return Err("already registered".to_owned()),
    }
    Ok(())
}

fn read(text: &str) -> Result<FromProcess, String> {
    if text.len() > MESSAGE_BYTES_MAX {
        return Err(format!("the message has {} bytes; at most {MESSAGE_BYTES_MAX} are allowed", text.len()));
    }
    serde_json::from_str(text).map_err(|error| format!("invalid message: {error}"))
}

/// Returns the call that a message answers which cannot be read: without an answer it would be waited for, and sent again
/// after each reconnect.
fn answered_call(text: &str) -> Option<u64> {
    let AnswerEnvelope { kind, call } = serde_json::from_str(text).ok()?;
    call.filter(|_| matches!(kind.as_str(), "result" | "failure"))
}

async fn send(socket: &mut WebSocket, message: &ToProcess) -> bool {
    let text = Message::Text(message.to_text().into());
    timeout(WRITE_WITHIN, socket.send(text)).await.is_ok_and(|sent| sent.is_ok())
}

fn new_session() -> String {
    let random = || RandomState::new().build_hasher().finish();
    format!("p-{:016x}{:016x}", random(), random())
}
