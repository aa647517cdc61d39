//! Puts the proven name of the operator into requests about channels. A name that a client claims is shown beside it,
//! never instead of it.

use rawko_server::ChannelRequest;
use rawko_turns::ChannelEvent;

/// Returns the request with every name of a person proven.
pub(super) fn proven(request: ChannelRequest, operator: &str) -> ChannelRequest {
    let name = |claimed: String| beside(claimed, operator);
    match request {
        ChannelRequest::Create { name: channel, agents, options, by } => {
            ChannelRequest::Create { name: channel, agents, options, by: name(by) }
        }
        ChannelRequest::Assign { name: channel, agents, by } => {
            ChannelRequest::Assign { name: channel, agents, by: name(by) }
        }
        ChannelRequest::Close { name: channel, by } => ChannelRequest::Close { name: channel, by: name(by) },
        ChannelRequest::Apply { name: channel, event } => {
            ChannelRequest::Apply { name: channel, event: proven_event(event, operator) }
        }
        ChannelRequest::List
        | ChannelRequest::Look { .. }
        | ChannelRequest::Messages { .. }
        | ChannelRequest::Log { .. }
        | ChannelRequest::Follow { .. } => request,
    }
}

fn proven_event(event: ChannelEvent, operator: &str) -> ChannelEvent {
    let name = |claimed: String| beside(claimed, operator);
    match event {
        ChannelEvent::PersonSpoke { person, id, text } => {
            ChannelEvent::PersonSpoke { person: name(person), id, text }
        }
        ChannelEvent::Assigned { agent, by, session } => {
            ChannelEvent::Assigned { agent, by: name(by), session }
        }
        ChannelEvent::Removed { agent, by } => ChannelEvent::Removed { agent, by: name(by) },
        ChannelEvent::Overridden { by, to } => ChannelEvent::Overridden { by: name(by), to },
        ChannelEvent::Skipped { by } => ChannelEvent::Skipped { by: name(by) },
        ChannelEvent::NextNamed { agent, by } => ChannelEvent::NextNamed { agent, by: name(by) },
        ChannelEvent::Paused { by } => ChannelEvent::Paused { by: name(by) },
        ChannelEvent::Resumed { by } => ChannelEvent::Resumed { by: name(by) },
        other => other,
    }
}

/// Returns the operator's name, with another claimed one before it.
fn beside(claimed: String, operator: &str) -> String {
    if claimed.is_empty() || claimed == operator {
        operator.to_owned()
    } else {
        format!("{claimed} ({operator})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claimed_name_stands_beside_the_proven_one() {
        for (claimed, shown) in [("", "ada"), ("ada", "ada"), ("kim", "kim (ada)")] {
            let event =
                ChannelEvent::PersonSpoke { person: claimed.to_owned(), id: None, text: "hi".to_owned() };
            let request = ChannelRequest::Apply { name: "standup".to_owned(), event };
            let event =
                ChannelEvent::PersonSpoke { person: shown.to_owned(), id: None, text: "hi".to_owned() };
            assert_eq!(proven(request, "ada"), ChannelRequest::Apply { name: "standup".to_owned(), event });
            let close = ChannelRequest::Close { name: "standup".to_owned(), by: claimed.to_owned() };
            let closed = ChannelRequest::Close { name: "standup".to_owned(), by: shown.to_owned() };
            assert_eq!(proven(close, "ada"), closed);
        }
    }
}
