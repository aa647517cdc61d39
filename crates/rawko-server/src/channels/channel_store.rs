//! Storage of a channel: an instance of `charts/channel.yaml`, and one of `charts/agent_lifecycle.yaml` for each
//! member. A change is one event to the channel's instance; the moves of members are committed with it.

use rawko_core::{NamedEvent, Status, Value};
use rawko_host::{Edition, Host, HostError};
use rawko_store::{Filter, InstanceRow, Record, RecordKind};
use rawko_turns::{
    AgentId, Channel, ChannelEffect, ChannelEvent, ChannelMessage, LogLine, MemberMove, MoveCause,
};
use serde::{Deserialize, Serialize};

use crate::error::ChannelError;

const CHANNEL_CHART: &str = include_str!("../../charts/channel.yaml");
const MEMBER_CHART: &str = include_str!("../../charts/agent_lifecycle.yaml");
/// Records per read of the journal.
const PAGE: usize = 500;

/// Store access for channels.
#[derive(Clone)]
pub(crate) struct ChannelStore {
    host: Host,
    channel: Edition,
    member: Edition,
}

/// One change, as read from the journal.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct LogChange {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) posted: Vec<ChannelMessage>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) log: Vec<LogEntry>,
}

/// Entry of a channel's log: a transition or a warning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum LogEntry {
    /// A member changed state.
    Transition(LogLine),
    /// A problem that changed no state.
    Warning(Warning),
}

/// A warning in the log of a channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// Time in RFC 3339, UTC.
    pub timestamp: String,
    /// Always `warning`.
    pub event: String,
    /// Agent that the warning is about.
    #[serde(rename = "agentId")]
    pub agent: String,
    /// Channel name.
    pub channel: String,
    /// Number of the turn.
    pub turn: u64,
    /// Warning for people.
    pub message: String,
}

/// Returns the id of a channel's instance.
pub fn channel_instance(channel: &str) -> String {
    format!("channel.{channel}")
}

/// Returns the id of a member's instance.
pub fn member_instance(channel: &str, agent: &str) -> String {
    format!("channel.{channel}.{agent}")
}

impl ChannelStore {
    pub(crate) fn new(host: Host) -> Result<Self, ChannelError> {
        let channel = Edition::read("channel.yaml", CHANNEL_CHART)?;
        let member = Edition::read("agent_lifecycle.yaml", MEMBER_CHART)?;
        Ok(Self { host, channel, member })
    }

    pub(crate) fn host(&self) -> &Host {
        &self.host
    }

    /// Returns the names of all open channels, sorted.
    pub(crate) fn names(&self) -> Result<Vec<String>, ChannelError> {
        let filter = Filter {
            chart: Some(self.channel.chart.id().to_owned()),
            statuses: vec![Status::Active],
            ..Filter::default()
        };
        let rows = self.host.reader().store().list(&filter).map_err(HostError::Store)?.rows;
        let name = |row: &InstanceRow| row.new.id.strip_prefix("channel.").map(str::to_owned);
        let mut names: Vec<String> = rows.iter().filter_map(name).collect();
        names.sort();
        Ok(names)
    }

    pub(crate) async fn create(&self, channel: &Channel) -> Result<(), ChannelError> {
        let input = Value::from_json(serde_json::json!({"name": channel.name, "channel": channel}));
        let id = Some(channel_instance(&channel.name));
        match self.host.start_edition(self.channel.clone(), input, id).await {
            Ok(_) => Ok(()),
            Err(HostError::Exists(_)) => Err(ChannelError::Exists(channel.name.clone())),
            Err(error) => Err(error.into()),
        }
    }

    /// Loads a channel from the store; `None` if it does not exist or is closed.
    pub(crate) fn load(&self, name: &str) -> Result<Option<Channel>, ChannelError> {
        let reader = self.host.reader();
        let row = match reader.find(&channel_instance(name)) {
            Ok(row) if !row.head.status.is_over() => row,
            Ok(_) | Err(HostError::NoInstance(_)) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let restored = reader.snapshot(&row, None)?;
        let kept = restored.snapshot.context_map(&restored.chart).get("channel").to_json();
        let unreadable = |error: serde_json::Error| ChannelError::Unreadable {
            name: name.to_owned(),
            why: error.to_string(),
        };
        serde_json::from_value(kept).map(Some).map_err(unreadable)
    }

    /// Returns true if a person paused the channel's instance, as with `rawko pause`.
    pub(crate) fn is_paused(&self, name: &str) -> Result<bool, ChannelError> {
        Ok(self.host.is_paused(&channel_instance(name))?)
    }

    /// Commits a change: the new channel state, its event, and the moves of its members. All or nothing.
    pub(crate) async fn commit(
        &self,
        channel: &Channel,
        event: &ChannelEvent,
        effects: &[ChannelEffect],
        log: &[LogEntry],
    ) -> Result<(), ChannelError> {
        let letter = |effect| moved(effect).map(|moved| MemberLetter::new(&channel.name, moved));
        let change = CommittedChange {
            what: event,
            channel,
            moves: effects.iter().filter_map(letter).collect(),
            posted: effects.iter().filter_map(posted).collect(),
            log,
        };
        let event = NamedEvent::new("CHANGED", Value::of(&change));
        self.host.send(&channel_instance(&channel.name), event, None).await?;
        Ok(())
    }

    /// Creates the instance of a member, unless it exists.
    pub(crate) async fn ensure_member(&self, channel: &str, agent: &AgentId) -> Result<(), ChannelError> {
        let input = Value::from_json(serde_json::json!({"agentId": agent, "channel": channel}));
        let id = Some(member_instance(channel, agent.as_str()));
        match self.host.start_edition(self.member.clone(), input, id).await {
            Ok(_) | Err(HostError::Exists(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Closes a channel permanently. Its journal is kept.
    pub(crate) async fn close(&self, name: &str) -> Result<(), ChannelError> {
        self.host.send(&channel_instance(name), NamedEvent::new("CLOSED", Value::Null), None).await?;
        Ok(())
    }

    /// Passes all changes of a channel to `take`, oldest first, until it stops.
    pub(crate) fn changes(
        &self,
        name: &str,
        mut take: impl FnMut(LogChange) -> bool,
    ) -> Result<(), ChannelError> {
        let reader = self.host.reader();
        let row = reader.find(&channel_instance(name))?;
        let mut after = 0;
        loop {
            let records = reader.store().records(row.key, after, PAGE).map_err(HostError::Store)?;
            let Some(last) = records.last() else { return Ok(()) };
            after = last.seq;
            for record in &records {
                if let Some(change) = self.change(record)?
                    && !take(change)
                {
                    return Ok(());
                }
            }
        }
    }

    fn change(&self, record: &Record) -> Result<Option<LogChange>, ChannelError> {
        #[derive(Deserialize)]
        struct Delivered {
            data: Option<LogChange>,
        }
        match record.kind {
            RecordKind::Stepped => {}
            RecordKind::Started
            | RecordKind::Forked
            | RecordKind::Ignored
            | RecordKind::Failed
            | RecordKind::Migrated => {
                return Ok(None);
            }
        }
        let text = self.host.reader().unpack(&record.event).map_err(HostError::Store)?;
        Ok(serde_json::from_str::<Delivered>(&text).ok().and_then(|delivered| delivered.data))
    }
}

fn posted(effect: &ChannelEffect) -> Option<&ChannelMessage> {
    if let ChannelEffect::Posted(message) = effect { Some(message) } else { None }
}

fn moved(effect: &ChannelEffect) -> Option<&MemberMove> {
    if let ChannelEffect::Moved(moved) = effect { Some(moved) } else { None }
}

/// Returns the log entries of these effects.
pub(crate) fn entries(channel: &str, effects: &[ChannelEffect]) -> Vec<LogEntry> {
    let at_ms = effects.iter().find_map(moved).map_or(0, |moved| moved.at_ms);
    let entry = |effect: &ChannelEffect| match effect {
        ChannelEffect::Moved(moved) => Some(LogEntry::Transition(moved.log_line(channel))),
        ChannelEffect::Warned { agent, turn, text } => Some(LogEntry::Warning(Warning {
            timestamp: crate::protocol::moment(at_ms),
            event: "warning".to_owned(),
            agent: agent.0.clone(),
            channel: channel.to_owned(),
            turn: turn.0,
            message: text.clone(),
        })),
        ChannelEffect::Posted(_)
        | ChannelEffect::Held { .. }
        | ChannelEffect::Delivered { .. }
        | ChannelEffect::Granted { .. }
        | ChannelEffect::Suspended { .. }
        | ChannelEffect::WaitBegan { .. }
        | ChannelEffect::Resumed { .. }
        | ChannelEffect::Ended { .. }
        | ChannelEffect::Assigned { .. }
        | ChannelEffect::Dismissed { .. }
        | ChannelEffect::RoundEnded { .. } => None,
    };
    effects.iter().filter_map(entry).collect()
}

/// A change as its event holds it; [`LogChange`] reads a part of it back.
#[derive(Serialize)]
struct CommittedChange<'a> {
    what: &'a ChannelEvent,
    channel: &'a Channel,
    moves: Vec<MemberLetter<'a>>,
    posted: Vec<&'a ChannelMessage>,
    log: &'a [LogEntry],
}

/// The event for a member's instance.
#[derive(Serialize)]
struct MemberLetter<'a> {
    instance: String,
    event: &'static str,
    data: MemberLetterData<'a>,
}

#[derive(Serialize)]
struct MemberLetterData<'a> {
    at: i64,
    trigger: MoveCause,
    solo: bool,
    reason: Option<&'a str>,
}

impl<'a> MemberLetter<'a> {
    fn new(channel: &str, moved: &'a MemberMove) -> Self {
        Self {
            instance: member_instance(channel, moved.agent.as_str()),
            event: moved.by.as_str(),
            data: MemberLetterData {
                at: moved.at_ms,
                trigger: moved.trigger,
                solo: moved.is_solo(),
                reason: moved.reason.as_deref(),
            },
        }
    }
}
