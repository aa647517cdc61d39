//! Converts effects to messages for agents.

use rawko_turns::{AgentId, Channel, ChannelEffect, ChannelMessage, MemberState, SuspendReason};

use super::channel_store::ChannelStore;
use super::messages::Messages;
use crate::agents::Hub;
use crate::protocol::{ToAgent, WireMessage, moment};

/// Limit on messages sent with a turn; the number of older ones is sent, and `history` returns them.
const WITH_TURN_MAX: usize = 200;
/// Limit on their total size; the last message is always included.
const WITH_TURN_BYTES_MAX: usize = 1024 * 1024;

/// Sends the effects of one change to the agents.
pub(crate) fn deliver(
    hub: &Hub,
    channel: &Channel,
    messages: &Messages,
    keeping: &ChannelStore,
    effects: &[ChannelEffect],
) {
    for (at, effect) in effects.iter().enumerate() {
        deliver_one(hub, channel, messages, keeping, effect, &effects[at..]);
    }
}

fn deliver_one(
    hub: &Hub,
    channel: &Channel,
    messages: &Messages,
    keeping: &ChannelStore,
    effect: &ChannelEffect,
    rest: &[ChannelEffect],
) {
    let name = || channel.name.clone();
    let range = |agent: &AgentId, after: u64, upto: u64| {
        // Only the last ones, if there are too many.
        let from = after.max(upto.saturating_sub(WITH_TURN_MAX as u64));
        let found = messages.range(keeping, &channel.name, from, upto, WITH_TURN_MAX).unwrap_or_default();
        let found = last_that_fit(&found);
        let earlier = found.first().map_or(0, |first| first.number - 1 - after);
        (others(found, agent), earlier)
    };
    match effect {
        ChannelEffect::Delivered { number, to } => {
            // Skips agents that receive the message with their turn.
            let to: Vec<&AgentId> =
                to.iter().filter(|agent| !comes_with_turn(rest, agent, *number)).collect();
            to_readers(hub, channel, messages, keeping, *number, &to);
        }
        ChannelEffect::Granted { agent, turn, deadline_ms, after, upto, again } => {
            let (messages, earlier) = range(agent, *after, *upto);
            let deadline = deadline_ms.map(moment);
            let (channel, turn, again) = (name(), turn.0, *again);
            hub.tell(agent, &ToAgent::TurnGranted { channel, turn, deadline, messages, earlier, again });
        }
        ChannelEffect::Suspended { agent, turn, reason } => {
            let why = match reason {
                SuspendReason::HumanInterrupt => "human_interrupt",
                SuspendReason::ChannelPaused => "channel_paused",
            };
            hub.tell(agent, &ToAgent::TurnSuspended { channel: name(), turn: turn.0, why: why.to_owned() });
        }
        ChannelEffect::WaitBegan { agent, turn, due_ms } => {
            hub.tell(agent, &ToAgent::Waiting { channel: name(), turn: turn.0, until: moment(*due_ms) });
        }
        ChannelEffect::Resumed { agent, turn, deadline_ms, after, upto } => {
            let (messages, _) = range(agent, *after, *upto);
            let (channel, turn, deadline) = (name(), turn.0, moment(*deadline_ms));
            hub.tell(agent, &ToAgent::Resumed { channel, turn, deadline, messages });
        }
        ChannelEffect::Ended { agent, turn, reason } => {
            let why = reason.as_str().to_owned();
            hub.tell(agent, &ToAgent::TurnEnded { channel: name(), turn: turn.0, why });
        }
        ChannelEffect::Assigned { agent } => {
            let members = channel.order.iter().map(|agent| agent.0.clone()).collect();
            hub.tell(agent, &ToAgent::Assigned { channel: name(), members });
        }
        ChannelEffect::Dismissed { agent, by } => {
            hub.tell(agent, &ToAgent::Removed { channel: name(), by: by.clone() });
        }
        ChannelEffect::Moved(_)
        | ChannelEffect::Posted(_)
        | ChannelEffect::Held { .. }
        | ChannelEffect::Warned { .. }
        | ChannelEffect::RoundEnded { .. } => {}
    }
}

fn to_readers(
    hub: &Hub,
    channel: &Channel,
    messages: &Messages,
    keeping: &ChannelStore,
    number: u64,
    to: &[&AgentId],
) {
    let found = messages.range(keeping, &channel.name, number - 1, number, 1).unwrap_or_default();
    let Some(message) = found.first().map(WireMessage::from) else { return };
    let observing = |agent: &AgentId| channel.state_of(agent) != MemberState::Active;
    let readers: Vec<(&AgentId, bool)> = to.iter().map(|agent| (*agent, observing(agent))).collect();
    hub.tell_readers(&readers, &channel.name, &message);
}

fn comes_with_turn(rest: &[ChannelEffect], agent: &AgentId, number: u64) -> bool {
    rest.iter().any(|effect| match effect {
        ChannelEffect::Granted { agent: to, after, upto, .. }
        | ChannelEffect::Resumed { agent: to, after, upto, .. } => {
            to == agent && number > *after && number <= *upto
        }
        _ => false,
    })
}

fn last_that_fit(messages: &[ChannelMessage]) -> &[ChannelMessage] {
    let mut bytes = 0;
    let fits = |message: &&ChannelMessage| {
        bytes += message.text.len();
        bytes <= WITH_TURN_BYTES_MAX
    };
    let count = messages.iter().rev().take_while(fits).count();
    &messages[messages.len() - count.max(1).min(messages.len())..]
}

/// Returns the messages of others, since an agent knows its own.
fn others(messages: &[ChannelMessage], agent: &AgentId) -> Vec<WireMessage> {
    messages.iter().filter(|message| !message.author.is(agent)).map(WireMessage::from).collect()
}
