//! Requests of registered agents, and their responses.

use rawko_turns::{AgentId, ChannelEffect, ChannelEvent, ChannelRefusal, TurnId, WaitUntil};

use crate::channels::Channels;
use crate::error::ChannelError;
use crate::protocol::{FromAgent, MESSAGE_BYTES_MAX, ToAgent, WireMessage};

/// Messages per `history` request.
const HISTORY_MAX: u32 = 200;

/// Handles a request. Returns `None` if it needs no response.
pub(crate) async fn answer(channels: &Channels, agent: &AgentId, message: FromAgent) -> Option<ToAgent> {
    let id = message.id().map(str::to_owned);
    let who = agent.clone();
    let turn = |turn: Option<u64>| turn.map(TurnId);
    let (channel, event) = match message {
        FromAgent::Register { .. } => {
            return Some(ToAgent::error("already_registered", "this connection is already registered"));
        }
        FromAgent::Heartbeat {} => return Some(ToAgent::Heartbeat {}),
        FromAgent::Goodbye {} => return None,
        FromAgent::History { channel, after, limit, .. } => {
            return Some(history(channels, agent, channel, after, limit, id).await);
        }
        FromAgent::Message { channel, text, turn: own, id } => {
            if text.len() > MESSAGE_BYTES_MAX {
                return Some(ToAgent::error(
                    "oversized",
                    format!("the message is larger than {MESSAGE_BYTES_MAX} bytes"),
                ));
            }
            (channel, ChannelEvent::AgentSpoke { agent: who, turn: turn(own), id, text })
        }
        FromAgent::TurnComplete { channel, turn: own, .. } => {
            (channel, ChannelEvent::TurnCompleted { agent: who, turn: turn(own) })
        }
        FromAgent::Resumed { channel, turn: own, .. } => {
            (channel, ChannelEvent::WaitResolved { agent: who, turn: turn(own) })
        }
        FromAgent::Wait { channel, turn: own, reason, until, timeout_seconds, .. } => {
            let until = until.map_or(WaitUntil::Resumed, Into::into);
            let timeout_ms = timeout_seconds.map(milliseconds);
            (channel, ChannelEvent::WaitRequested { agent: who, turn: turn(own), reason, until, timeout_ms })
        }
    };
    let outcome = channels.apply(&channel, event).await;
    result(channel, id, outcome)
}

fn result(
    channel: String,
    id: Option<String>,
    outcome: Result<Vec<ChannelEffect>, ChannelError>,
) -> Option<ToAgent> {
    match outcome {
        Ok(effects) => {
            let number = effects.iter().find_map(number_of);
            id.map(|id| ToAgent::Accepted { id, channel, number, duplicate: false })
        }
        Err(ChannelError::Refused(ChannelRefusal::Duplicate { number })) => {
            id.map(|id| ToAgent::Accepted { id, channel, number: Some(number), duplicate: true })
        }
        Err(error) => {
            let (code, message) = (error.code().to_owned(), error.to_string());
            Some(ToAgent::Error { code, message, id, channel: Some(channel), fatal: false })
        }
    }
}

fn number_of(effect: &ChannelEffect) -> Option<u64> {
    if let ChannelEffect::Posted(message) = effect { Some(message.number) } else { None }
}

async fn history(
    channels: &Channels,
    agent: &AgentId,
    channel: String,
    after: u64,
    limit: Option<u32>,
    id: Option<String>,
) -> ToAgent {
    let limit = limit.unwrap_or(HISTORY_MAX).clamp(1, HISTORY_MAX) as usize;
    let found = async {
        let glance = channels.look(&channel).await?;
        if !glance.channel.members.get(agent).is_some_and(|member| member.assigned) {
            return Err(ChannelRefusal::NotAMember { agent: agent.clone() }.into());
        }
        Ok((channels.messages(&channel, after, limit).await?, glance.channel.posted))
    };
    match found.await {
        Ok((messages, last)) => {
            let more = messages.last().is_some_and(|message| message.number < last);
            let messages = messages.iter().map(WireMessage::from).collect();
            ToAgent::History { channel, messages, more, id }
        }
        Err(error) => result(channel, id, Err(error)).unwrap_or_else(|| ToAgent::error("unavailable", "")),
    }
}

/// Converts untrusted seconds to milliseconds.
fn milliseconds(seconds: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, and NaN is 0")]
    let ms = (seconds.max(0.0) * 1000.0) as u64;
    ms
}
