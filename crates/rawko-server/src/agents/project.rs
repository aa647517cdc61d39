//! The project's agents in channels, without extra code: a turn is an event to an instance of `charts/speaker.yaml`,
//! which runs the agent. Its work continues after a crash, and its conversation is kept.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use rawko_core::{NamedEvent, Value};
use rawko_host::{Edition, Host, HostError, StartOptions};
use rawko_turns::AgentId;

use super::local::{TakenTurn, TurnOutcome, TurnTaker};
use crate::protocol::WireMessage;

const SPEAKER: &str = include_str!("../../charts/speaker.yaml");
/// A response of only this word means that the agent has nothing to post.
const PASS: &str = "PASS";

/// Takes turns for agents of the project.
pub struct ProjectAgents {
    host: Host,
    names: Vec<String>,
}

impl ProjectAgents {
    /// `names`: the agents that charts may invoke as `agent:NAME`.
    pub fn new(host: Host, names: Vec<String>) -> Result<Self, HostError> {
        host.library().offer(Edition::read("rawko's own speaker.yaml", SPEAKER)?);
        Ok(Self { host, names })
    }
}

impl TurnTaker for ProjectAgents {
    fn agents(&self) -> Vec<AgentId> {
        self.names.iter().map(|name| AgentId::from(name.as_str())).collect()
    }

    fn take(&self, turn: TakenTurn) -> Pin<Box<dyn Future<Output = TurnOutcome> + Send>> {
        let host = self.host.clone();
        Box::pin(async move {
            // Without new messages there is no need to call a model; a notice alone needs no response.
            if turn.messages.iter().all(|message| message.kind == "notice") {
                return TurnOutcome::Passed;
            }
            match speak(&host, &turn).await {
                Ok(taken) => taken,
                Err(error) => TurnOutcome::Failed(error.to_string()),
            }
        })
    }
}

async fn speak(host: &Host, turn: &TakenTurn) -> Result<TurnOutcome, HostError> {
    let id = format!("{}.speaks.{}", turn.channel, turn.agent.as_str());
    begin(host, &id, turn).await?;
    let number = i64::try_from(turn.turn).unwrap_or(i64::MAX);
    let data = Value::map([("turn", Value::Int(number)), ("prompt", Value::from(prompt(turn)))]);
    let unfinished = TurnGuard { host: host.clone(), id: id.clone() };
    // A turn repeated after a crash is the same event, which is delivered once.
    host.send(&id, NamedEvent::new("TURN", data), Some(&turn.idempotency)).await?;
    let answer = answered(host, &id, number).await?;
    std::mem::forget(unfinished);
    Ok(said(&answer))
}

/// Starts the agent's instance in this channel, on its first turn.
async fn begin(host: &Host, id: &str, turn: &TakenTurn) -> Result<(), HostError> {
    let input =
        Value::map([("agent", Value::str(turn.agent.as_str())), ("channel", Value::str(&turn.channel))]);
    let start = StartOptions { chart: "speaker".into(), input, id: Some(id.to_owned()) };
    match host.start(start).await {
        Ok(_) | Err(HostError::Exists(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Waits for the answer to this turn.
async fn answered(host: &Host, id: &str, turn: i64) -> Result<Value, HostError> {
    let mut changes = host.changes();
    loop {
        changes.borrow_and_update();
        host.settled(id, Duration::MAX).await?;
        let context = host.results(id)?.context;
        let answer = context.get("answer");
        if answer.get("turn").as_i64() == Some(turn) {
            return Ok(answer.clone());
        }
        // Idle without an answer: the turn has ended, and this future is about to be dropped.
        if changes.changed().await.is_err() {
            return Err(HostError::Closing);
        }
    }
}

fn said(answer: &Value) -> TurnOutcome {
    if let Some(problem) = answer.get("problem").as_str() {
        return TurnOutcome::Failed(problem.to_owned());
    }
    match answer.get("text").as_str().unwrap_or_default().trim() {
        "" | PASS => TurnOutcome::Passed,
        text => TurnOutcome::Said(text.to_owned()),
    }
}

/// Returns the new messages and the request to take the turn.
fn prompt(turn: &TakenTurn) -> String {
    let lines: Vec<String> = turn.messages.iter().map(line).collect();
    let said = lines.join("\n");
    format!(
        "You are `{}` in the channel `{}`, and it is your turn. Since you spoke last:\n\n{said}\n\nSay what you have to say to \
         the channel. If that is nothing, answer {PASS}.",
        turn.agent.as_str(),
        turn.channel
    )
}

fn line(message: &WireMessage) -> String {
    match message.kind.as_str() {
        "notice" => format!("({})", message.text),
        _ => format!("{}: {}", message.from, message.text),
    }
}

/// Sends `TURN_ENDED` when dropped: the turn ended before the answer, so the agent can stop.
struct TurnGuard {
    host: Host,
    id: String,
}

impl Drop for TurnGuard {
    fn drop(&mut self) {
        let (host, id) = (self.host.clone(), self.id.clone());
        // Without a runtime the process is ending, and the turn continues at the next start.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime
                .spawn(async move { host.send(&id, NamedEvent::new("TURN_ENDED", Value::Null), None).await });
        }
    }
}
