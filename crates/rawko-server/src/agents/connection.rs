//! One connection from its first message to its last: registration, receiving, sending, and the effect of its end.

use std::sync::Arc;
use std::time::Duration;

use rawko_turns::{AgentId, ChannelEvent, Loss, is_name};
use tokio::time::{Instant, timeout};

use super::bucket::{Bucket, Flow};
use super::hub::{AgentRegistration, Resume};
use super::link::{DisconnectReason, cut_off};
use super::requests;
use super::transport::{ReceivedMessage, Transport};
use crate::channels::Channels;
use crate::protocol::{FromAgent, MESSAGE_BYTES_MAX, PROTOCOL, ToAgent};
use crate::role::AgentNames;
use crate::tokens::ServerTokens;

/// Time limit for registration on a new connection.
const REGISTER_WITHIN: Duration = Duration::from_secs(10);
/// Time limit for sending one message.
const WRITE_WITHIN: Duration = Duration::from_secs(10);
/// Consecutive invalid messages after which the connection is closed.
const NONSENSE_MAX: u32 = 20;
/// Heartbeats that may be missing.
const MISSED_MAX: u32 = 3;

/// State shared by all connections.
#[derive(Clone)]
pub(crate) struct AgentConnections {
    pub(crate) channels: Channels,
    pub(crate) tokens: ServerTokens,
    pub(crate) heartbeat: Duration,
}

/// Called on a wrong token, before the response is sent.
pub(crate) type OnGuess = Arc<dyn Fn() + Send + Sync>;

/// Origin of a connection.
#[derive(Clone)]
pub(crate) enum ConnectionOrigin {
    /// From outside. `names`: those that it may register, if it has already authenticated.
    #[cfg_attr(not(feature = "http"), expect(dead_code, reason = "only a socket comes from outside"))]
    Socket { names: Option<AgentNames>, on_guess: OnGuess },
    /// Started by the server. `again`: it resumes its state from before the server stopped.
    Own { agent: AgentId, again: bool },
}

/// Reason why a registration is rejected.
struct RejectedRegistration {
    code: &'static str,
    words: String,
}

impl RejectedRegistration {
    fn new(code: &'static str, words: impl Into<String>) -> Self {
        Self { code, words: words.into() }
    }
}

/// Reason why a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConnectionEnd {
    Goodbye,
    Closed,
    Silent,
    CutOff,
    Superseded,
    ServerCloses,
}

/// Serves a connection until it ends.
pub(crate) async fn serve<T: Transport>(
    mut transport: T,
    connections: AgentConnections,
    door: ConnectionOrigin,
) {
    let Some((agent, first)) = let_in(&mut transport, &connections, &door).await else { return };
    let presence = connections.channels.hub().presence(&agent);
    let registration = {
        let _steady = presence.lock().await;
        let registration = register(&connections, &agent, &door, &first);
        tell_channels(&connections, &agent, |agent| ChannelEvent::AgentStarted {
            agent,
            session: registration.session.clone(),
            resumed: registration.resumed,
        })
        .await;
        registration
    };
    let generation = registration.generation;
    let has_pulse = matches!(door, ConnectionOrigin::Socket { .. });
    let mut connection = AgentConnection {
        transport,
        connections: connections.clone(),
        agent: agent.clone(),
        bucket: Bucket::new(),
        nonsense: 0,
    };
    let ending = connection.talk(registration, has_pulse).await;
    // Before anyone hears that the agent left and starts it again.
    connection.transport.close().await;
    let _steady = presence.lock().await;
    if connections.channels.hub().unregister(&agent, generation) {
        part(&connections, &agent, &door, ending).await;
    }
}

/// Returns the first message, if it registers the agent.
async fn let_in<T: Transport>(
    transport: &mut T,
    connections: &AgentConnections,
    door: &ConnectionOrigin,
) -> Option<(AgentId, FromAgent)> {
    let first = timeout(REGISTER_WITHIN, transport.recv()).await.unwrap_or(ReceivedMessage::Closed);
    let refused = match first {
        ReceivedMessage::Text(text) => match may_register(&text, connections, door) {
            Ok(admitted) => return Some(admitted),
            Err(RejectedRegistration { code, words }) => ToAgent::fatal(code, words),
        },
        ReceivedMessage::Closed => return None,
        ReceivedMessage::Alive | ReceivedMessage::Oversized | ReceivedMessage::NotText => {
            ToAgent::fatal("not_registered", "the first message must be `register`")
        }
    };
    let _ = timeout(WRITE_WITHIN, transport.send(refused.to_text())).await;
    None
}

fn may_register(
    text: &str,
    connections: &AgentConnections,
    door: &ConnectionOrigin,
) -> Result<(AgentId, FromAgent), RejectedRegistration> {
    let message: FromAgent = serde_json::from_str(text)
        .map_err(|error| RejectedRegistration::new("malformed", format!("invalid message: {error}")))?;
    let FromAgent::Register { protocol, agent, token, .. } = &message else {
        return Err(RejectedRegistration::new("not_registered", "the first message must be `register`"));
    };
    if *protocol != PROTOCOL {
        let words =
            format!("unsupported protocol version {protocol}; this server supports version {PROTOCOL}");
        return Err(RejectedRegistration::new("unsupported_version", words));
    }
    let names = match door {
        ConnectionOrigin::Socket { names: Some(names), .. } => names.clone(),
        ConnectionOrigin::Socket { names: None, on_guess } => {
            connections.tokens.let_in_agent(token.as_deref()).ok_or_else(|| {
                if token.as_deref().is_some_and(|token| connections.tokens.find(token).is_none()) {
                    on_guess();
                }
                RejectedRegistration::new("unauthorized", "missing or invalid token")
            })?
        }
        ConnectionOrigin::Own { agent, .. } => AgentNames::Only(agent.0.as_str().into()),
    };
    if !is_name(agent) {
        return Err(RejectedRegistration::new(
            "invalid_name",
            "a name must have at most 64 letters, digits, `-` and `_`",
        ));
    }
    match names {
        AgentNames::Only(expected) if *expected != **agent => Err(RejectedRegistration::new(
            "invalid_name",
            match door {
                ConnectionOrigin::Own { .. } => format!("this process must register as `{expected}`"),
                ConnectionOrigin::Socket { .. } => {
                    format!("the token of the agent `{expected}` cannot register as `{agent}`")
                }
            },
        )),
        AgentNames::Only(_) | AgentNames::Any => Ok((AgentId::from(agent.as_str()), message)),
    }
}

fn register(
    connections: &AgentConnections,
    agent: &AgentId,
    door: &ConnectionOrigin,
    first: &FromAgent,
) -> AgentRegistration {
    let FromAgent::Register { session, observe, .. } = first else {
        return connections.channels.hub().register(agent, Resume::With(None), true);
    };
    let resume = match door {
        ConnectionOrigin::Own { again: true, .. } => Resume::Known,
        ConnectionOrigin::Own { again: false, .. } | ConnectionOrigin::Socket { .. } => {
            Resume::With(session.as_deref())
        }
    };
    let registration = connections.channels.hub().register(agent, resume, observe.unwrap_or(true));
    let welcome = ToAgent::Registered {
        protocol: PROTOCOL,
        agent: agent.0.clone(),
        session: registration.session.clone(),
        resumed: registration.resumed,
        heartbeat_seconds: connections.heartbeat.as_secs().max(1),
        channels: registration.channels.clone(),
    };
    // Sent before any channel can send to the agent.
    connections.channels.hub().tell(agent, &welcome);
    registration
}

/// Sends an event to every channel of an agent. A channel that fails to apply it now catches up when it is recovered.
async fn tell_channels(
    connections: &AgentConnections,
    agent: &AgentId,
    event: impl Fn(AgentId) -> ChannelEvent,
) {
    for channel in connections.channels.hub().channels_of(agent) {
        let _ = connections.channels.apply(&channel, event(agent.clone())).await;
    }
}

/// Applies the end of a connection to the agent's channels.
async fn part(
    connections: &AgentConnections,
    agent: &AgentId,
    door: &ConnectionOrigin,
    ending: ConnectionEnd,
) {
    let event = |agent: AgentId| match ending {
        ConnectionEnd::Goodbye => Some(ChannelEvent::AgentStopped { agent }),
        ConnectionEnd::Closed => Some(match door {
            ConnectionOrigin::Socket { .. } => ChannelEvent::ConnectionLost { agent },
            ConnectionOrigin::Own { .. } => ChannelEvent::AgentLost { agent, loss: Loss::Exited },
        }),
        ConnectionEnd::Silent => Some(ChannelEvent::AgentLost { agent, loss: Loss::HeartbeatsMissed }),
        ConnectionEnd::CutOff => Some(ChannelEvent::AgentLost { agent, loss: Loss::CutOff }),
        ConnectionEnd::Superseded | ConnectionEnd::ServerCloses => None,
    };
    if let Some(event) = event(agent.clone()) {
        tell_channels(connections, agent, |_| event.clone()).await;
    }
}

struct AgentConnection<T> {
    transport: T,
    connections: AgentConnections,
    agent: AgentId,
    bucket: Bucket,
    nonsense: u32,
}

impl<T: Transport> AgentConnection<T> {
    async fn talk(&mut self, registration: AgentRegistration, has_pulse: bool) -> ConnectionEnd {
        let AgentRegistration { mut outgoing, .. } = registration;
        let mut cut = outgoing.cut.clone();
        let mut alive = Instant::now();
        let mut last = Instant::now();
        let mut beat =
            tokio::time::interval_at(alive + self.connections.heartbeat, self.connections.heartbeat);
        loop {
            tokio::select! {
                reason = cut_off(&mut cut) => return self.cut(reason).await,
                Some(text) = outgoing.next() => tokio::select! {
                    reason = cut_off(&mut cut) => return self.cut(reason).await,
                    sent = timeout(WRITE_WITHIN, self.transport.send(text)) => match sent {
                        Ok(true) => {}
                        Ok(false) => return ConnectionEnd::Closed,
                        Err(_) => return self.cut(DisconnectReason::TooSlow).await,
                    },
                },
                incoming = self.transport.recv() => {
                    alive = Instant::now();
                    let since = alive - std::mem::replace(&mut last, alive);
                    if let Some(ending) = self.hear(incoming, since).await {
                        return ending;
                    }
                }
                _ = beat.tick(), if has_pulse => {
                    if alive.elapsed() > self.connections.heartbeat * MISSED_MAX {
                        self.last_word("heartbeats_missed", "three heartbeats missed").await;
                        return ConnectionEnd::Silent;
                    }
                    if !timeout(WRITE_WITHIN, self.transport.ping()).await.unwrap_or(false) {
                        return ConnectionEnd::Closed;
                    }
                }
            }
        }
    }

    async fn cut(&mut self, cut: DisconnectReason) -> ConnectionEnd {
        let (code, words) = cut.words();
        self.last_word(code, words).await;
        match cut {
            DisconnectReason::TooSlow => ConnectionEnd::CutOff,
            DisconnectReason::Superseded => ConnectionEnd::Superseded,
            DisconnectReason::Closing => ConnectionEnd::ServerCloses,
        }
    }

    /// Sends the reason, if the client still reads.
    async fn last_word(&mut self, code: &str, words: &str) {
        let text = ToAgent::fatal(code, words).to_text();
        let _ = timeout(Duration::from_secs(1), self.transport.send(text)).await;
    }

    /// Handles one message. Returns `Some` when the connection is over.
    async fn hear(&mut self, incoming: ReceivedMessage, since: Duration) -> Option<ConnectionEnd> {
        let text = match incoming {
            ReceivedMessage::Text(text) => text,
            ReceivedMessage::Alive => return None,
            ReceivedMessage::Closed => return Some(ConnectionEnd::Closed),
            ReceivedMessage::NotText => {
                return self.complain("malformed", "messages must be text".to_owned()).await;
            }
            ReceivedMessage::Oversized => {
                let words = format!("the message is larger than {MESSAGE_BYTES_MAX} bytes");
                return self.complain("oversized", words).await;
            }
        };
        match self.bucket.take(since) {
            Flow::Fine => {}
            Flow::TooFast => {
                let refused = ToAgent::error("rate_limited", "rate limit exceeded; this message was dropped");
                return self.answer(refused).await;
            }
            Flow::Flood => {
                self.last_word("flooding", "rate limit exceeded repeatedly; closing the connection").await;
                return Some(ConnectionEnd::CutOff);
            }
        }
        match serde_json::from_str::<FromAgent>(&text) {
            Ok(FromAgent::Goodbye {}) => Some(ConnectionEnd::Goodbye),
            Ok(message) => {
                self.nonsense = 0;
                let answer = requests::answer(&self.connections.channels, &self.agent, message).await;
                match answer {
                    Some(answer) => self.answer(answer).await,
                    None => None,
                }
            }
            Err(error) => self.complain("malformed", format!("invalid message: {error}")).await,
        }
    }

    async fn complain(&mut self, code: &str, words: String) -> Option<ConnectionEnd> {
        self.nonsense += 1;
        if self.nonsense > NONSENSE_MAX {
            self.last_word(code, &words).await;
            return Some(ConnectionEnd::CutOff);
        }
        self.answer(ToAgent::error(code, words)).await
    }

    async fn answer(&mut self, answer: ToAgent) -> Option<ConnectionEnd> {
        match timeout(WRITE_WITHIN, self.transport.send(answer.to_text())).await {
            Ok(true) => None,
            Ok(false) => Some(ConnectionEnd::Closed),
            Err(_) => Some(ConnectionEnd::CutOff),
        }
    }
}
