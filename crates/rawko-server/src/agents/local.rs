//! Agents implemented in this process, such as the project's LLM agents: an implementation of [`TurnTaker`] is called
//! when one of its agents has the turn. It uses the same protocol as other agents, without leaving the process.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use rawko_turns::AgentId;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::connection::{AgentConnections, ConnectionOrigin, serve};
use super::transport::{ReceivedMessage, Transport};
use crate::protocol::{FromAgent, PROTOCOL, ToAgent, WireMessage};

/// Queue size between an agent of this process and its connection.
const QUEUE: usize = 64;

/// Takes turns for agents of this process.
pub trait TurnTaker: Send + Sync {
    /// Returns its agents.
    fn agents(&self) -> Vec<AgentId>;

    /// Takes one turn, or continues it after new messages. The future is dropped if the turn ends first.
    fn take(&self, turn: TakenTurn) -> Pin<Box<dyn Future<Output = TurnOutcome> + Send>>;
}

/// Input of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenTurn {
    /// Agent that has the turn.
    pub agent: AgentId,
    /// Channel name.
    pub channel: String,
    /// Number of the turn.
    pub turn: u64,
    /// End of the turn, as RFC 3339.
    pub deadline: Option<String>,
    /// Messages from others since the agent's last turn, or since the last call.
    pub messages: Vec<WireMessage>,
    /// Key that stays the same when a turn is repeated after a crash.
    pub idempotency: String,
}

/// Result of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnOutcome {
    /// Message that ends the turn. A trailing TURN_COMPLETE has no effect.
    Said(String),
    /// No message.
    Passed,
    /// Waits for a message from a person, and is called again then.
    AwaitsPerson {
        /// Question or remark shown to people.
        reason: String,
    },
    /// Failure: the reason is posted to the channel, and the turn ends.
    Failed(String),
}

/// Registers an agent and lets it take turns until the connection ends. `again`: it resumes its state.
pub(crate) fn spawn_taker(
    connections: AgentConnections,
    agent: AgentId,
    taker: Arc<dyn TurnTaker>,
    again: bool,
) -> JoinHandle<()> {
    let (to_server, from_agent) = mpsc::channel(QUEUE);
    let (to_agent, from_server) = mpsc::channel(QUEUE);
    let memory = InProcessConnection { incoming: from_agent, outgoing: to_agent };
    let speaker = Speaker { agent: agent.clone(), taker, to_server, turns: BTreeMap::new() };
    tokio::spawn(async move {
        let connection = tokio::spawn(serve(memory, connections, ConnectionOrigin::Own { agent, again }));
        speaker.speak(from_server).await;
        let _ = connection.await;
    })
}

/// Connection within the process.
struct InProcessConnection {
    incoming: mpsc::Receiver<String>,
    outgoing: mpsc::Sender<String>,
}

impl Transport for InProcessConnection {
    async fn recv(&mut self) -> ReceivedMessage {
        self.incoming.recv().await.map_or(ReceivedMessage::Closed, ReceivedMessage::Text)
    }

    async fn send(&mut self, text: String) -> bool {
        self.outgoing.send(text).await.is_ok()
    }

    async fn ping(&mut self) -> bool {
        true
    }
}

/// The agent's side of a connection.
struct Speaker {
    agent: AgentId,
    taker: Arc<dyn TurnTaker>,
    to_server: mpsc::Sender<String>,
    /// Current turn in each channel.
    turns: BTreeMap<String, LocalTurn>,
}

struct LocalTurn {
    turn: u64,
    deadline: Option<String>,
    /// Messages that arrived during the turn.
    injected: Vec<WireMessage>,
    asked: u32,
    task: Option<JoinHandle<()>>,
    /// The last answer and its id. A paused channel refuses it; it is sent again when the channel continues.
    sent: Option<(String, Option<String>)>,
}

impl Drop for LocalTurn {
    fn drop(&mut self) {
        if let Some(task) = self.task.take() {
            task.abort();
        }
    }
}

impl Speaker {
    async fn speak(mut self, mut from_server: mpsc::Receiver<String>) {
        let register = FromAgent::Register {
            protocol: PROTOCOL,
            agent: self.agent.0.clone(),
            token: None,
            session: None,
            observe: Some(false),
        };
        self.say(&register).await;
        let (done, mut finished) = mpsc::channel(QUEUE);
        loop {
            tokio::select! {
                text = from_server.recv() => match text.map(|text| serde_json::from_str(&text)) {
                    Some(Ok(message)) => self.hear(message, &done).await,
                    Some(Err(_)) => {}
                    None => return,
                },
                Some((channel, turn, taken)) = finished.recv() => self.finish(channel, turn, taken, &done).await,
            }
        }
    }

    async fn say(&self, message: &FromAgent) {
        // A failed send means that the connection is ending.
        let _ = self.to_server.send(serde_json::to_string(message).unwrap_or_default()).await;
    }

    async fn hear(&mut self, message: ToAgent, done: &TurnSender) {
        match message {
            ToAgent::TurnGranted { channel, turn, deadline, messages, .. } => {
                // Without a deadline the turn is suspended: `resumed` follows.
                let is_suspended = deadline.is_none();
                let running =
                    LocalTurn { turn, deadline, injected: messages, asked: 0, task: None, sent: None };
                self.turns.insert(channel.clone(), running);
                if !is_suspended {
                    self.ask(&channel, done);
                }
            }
            ToAgent::Resumed { channel, turn, deadline, messages } => {
                if let Some(running) = self.turns.get_mut(&channel).filter(|running| running.turn == turn) {
                    running.deadline = Some(deadline);
                    running.injected.extend(messages);
                    match running.sent.take().filter(|_| running.injected.is_empty()) {
                        Some((text, id)) => self.complete(channel, turn, text, id).await,
                        None => self.ask(&channel, done),
                    }
                }
            }
            ToAgent::Message { channel, message, observing: false } => {
                if let Some(running) = self.turns.get_mut(&channel) {
                    running.injected.push(message);
                }
            }
            ToAgent::TurnEnded { channel, turn, .. } => {
                if self.turns.get(&channel).is_some_and(|running| running.turn == turn) {
                    self.turns.remove(&channel);
                }
            }
            ToAgent::Removed { channel, .. } => drop(self.turns.remove(&channel)),
            ToAgent::Registered { .. }
            | ToAgent::Heartbeat {}
            | ToAgent::Assigned { .. }
            | ToAgent::Message { observing: true, .. }
            | ToAgent::TurnSuspended { .. }
            | ToAgent::Waiting { .. }
            | ToAgent::Accepted { .. }
            | ToAgent::History { .. }
            | ToAgent::Error { .. } => {}
        }
    }

    /// Calls the taker with the new messages, unless a call is running.
    fn ask(&mut self, channel: &str, done: &TurnSender) {
        let Some(running) = self.turns.get_mut(channel) else { return };
        if running.task.as_ref().is_some_and(|task| !task.is_finished()) {
            return;
        }
        running.asked += 1;
        let turn = running.turn;
        let asked = TakenTurn {
            agent: self.agent.clone(),
            channel: channel.to_owned(),
            turn,
            deadline: running.deadline.clone(),
            messages: std::mem::take(&mut running.injected),
            idempotency: format!("{channel}/{turn}/{}", running.asked),
        };
        let (taker, done, channel) = (Arc::clone(&self.taker), done.clone(), channel.to_owned());
        running.task = Some(tokio::spawn(async move {
            let taken = taker.take(asked).await;
            let _ = done.send((channel, turn, taken)).await;
        }));
    }

    /// Sends the taker's result. If messages arrived meanwhile, the turn continues with those.
    async fn finish(&mut self, channel: String, turn: u64, taken: TurnOutcome, done: &TurnSender) {
        let Some(running) = self.turns.get_mut(&channel).filter(|running| running.turn == turn) else {
            return;
        };
        running.task = None;
        let more = !running.injected.is_empty();
        let id = Some(format!("{turn}-{}", running.asked));
        let text = match taken {
            TurnOutcome::Said(text) => rawko_turns::split_complete(&text).0.to_owned(),
            TurnOutcome::Passed => String::new(),
            TurnOutcome::Failed(why) => format!("⚠️ {} could not take its turn: {why}", self.agent),
            TurnOutcome::AwaitsPerson { reason } => {
                let until = Some(crate::protocol::Until::Person);
                let (turn, timeout_seconds) = (Some(turn), None);
                return self
                    .say(&FromAgent::Wait { channel, turn, reason, until, timeout_seconds, id })
                    .await;
            }
        };
        if more {
            self.post(&channel, turn, text, id).await;
            self.ask(&channel, done);
        } else {
            running.sent = Some((text.clone(), id.clone()));
            self.complete(channel, turn, text, id).await;
        }
    }

    /// Posts the answer and ends the turn.
    async fn complete(&self, channel: String, turn: u64, text: String, id: Option<String>) {
        self.post(&channel, turn, text, id).await;
        self.say(&FromAgent::TurnComplete { channel, turn: Some(turn), id: None }).await;
    }

    async fn post(&self, channel: &str, turn: u64, text: String, id: Option<String>) {
        if !text.trim().is_empty() {
            let (channel, turn) = (channel.to_owned(), Some(turn));
            self.say(&FromAgent::Message { channel, text, turn, id }).await;
        }
    }
}

/// Sender of finished turns.
type TurnSender = mpsc::Sender<(String, u64, TurnOutcome)>;
