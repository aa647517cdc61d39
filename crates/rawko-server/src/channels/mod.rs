//! `Channels`: all channels of a host. A channel is opened and recovered on first use.

mod channel_store;
mod delivering;
mod judging;
mod messages;
mod room;

use std::collections::BTreeMap;
use std::sync::Arc;

use rawko_host::{Clock, Host};
use rawko_turns::{AgentId, Channel, ChannelEffect, ChannelEvent, ChannelMessage, OptionLayers, is_name};
use tokio::sync::{Mutex, watch};
use tokio::task::JoinHandle;

use self::channel_store::ChannelStore;
use self::room::{Room, RoomHandle};
use crate::agents::Hub;
use crate::error::ChannelError;

pub use self::channel_store::{LogEntry, Warning, channel_instance, member_instance};
pub use self::judging::{EndedRound, RoundJudge};
pub use self::room::{ChannelSnapshot, LogSink};

/// The channels of a host. Cheap to clone.
#[derive(Clone)]
pub struct Channels {
    inner: Arc<ChannelsInner>,
}

struct ChannelsInner {
    keeping: ChannelStore,
    hub: Hub,
    clock: Arc<dyn Clock>,
    log: LogSink,
    judge: Option<Arc<dyn RoundJudge>>,
    rooms: Mutex<Rooms>,
}

/// Open channels.
#[derive(Default)]
struct Rooms {
    open: BTreeMap<String, (RoomHandle, JoinHandle<()>)>,
    /// Set on shutdown: no channel is opened anymore.
    closing: bool,
}

impl Channels {
    /// Creates the channels of a host without a judge of rounds.
    pub fn new(host: Host, clock: Arc<dyn Clock>, log: LogSink) -> Result<Self, ChannelError> {
        Self::with_judge(host, clock, log, None)
    }

    /// Creates the channels of a host; `judge` rates the work of each round.
    pub fn with_judge(
        host: Host,
        clock: Arc<dyn Clock>,
        log: LogSink,
        judge: Option<Arc<dyn RoundJudge>>,
    ) -> Result<Self, ChannelError> {
        let keeping = ChannelStore::new(host)?;
        let inner =
            ChannelsInner { keeping, hub: Hub::default(), clock, log, judge, rooms: Mutex::default() };
        Ok(Self { inner: Arc::new(inner) })
    }

    pub(crate) fn host(&self) -> &Host {
        self.inner.keeping.host()
    }

    pub(crate) fn hub(&self) -> &Hub {
        &self.inner.hub
    }

    /// Returns the names of all channels.
    pub fn names(&self) -> Result<Vec<String>, ChannelError> {
        self.inner.keeping.names()
    }

    /// Creates a channel.
    pub async fn create(&self, name: &str, options: OptionLayers) -> Result<(), ChannelError> {
        if !is_name(name) {
            return Err(ChannelError::BadName(name.to_owned()));
        }
        let channel = Channel { options, ..Channel::new(name) };
        self.inner.keeping.create(&channel).await
    }

    /// Opens all channels: deadlines that passed while the server was down are handled now.
    pub async fn open_all(&self) -> Result<(), ChannelError> {
        for name in self.names()? {
            self.room(&name).await?;
        }
        Ok(())
    }

    /// Applies an event to a channel. Returns its effects once it is on disk.
    pub async fn apply(&self, name: &str, event: ChannelEvent) -> Result<Vec<ChannelEffect>, ChannelError> {
        self.room(name).await?.apply(event).await
    }

    /// Assigns an agent to a channel, with its current connection if it has one.
    pub async fn assign(
        &self,
        name: &str,
        agent: &str,
        by: &str,
    ) -> Result<Vec<ChannelEffect>, ChannelError> {
        if !is_name(agent) {
            return Err(ChannelError::BadName(agent.to_owned()));
        }
        let agent = AgentId::from(agent);
        let presence = self.inner.hub.presence(&agent);
        // Prevents the agent from connecting or disconnecting between lookup and assignment.
        let _steady = presence.lock().await;
        let session = self.inner.hub.session(&agent);
        self.apply(name, ChannelEvent::Assigned { agent, by: by.to_owned(), session }).await
    }

    /// Returns the current state of the channel.
    pub async fn look(&self, name: &str) -> Result<Arc<ChannelSnapshot>, ChannelError> {
        Ok(self.room(name).await?.glance())
    }

    /// Returns a receiver that is notified of every change of the channel.
    pub async fn watch(&self, name: &str) -> Result<watch::Receiver<Arc<ChannelSnapshot>>, ChannelError> {
        Ok(self.room(name).await?.watch())
    }

    /// Returns the first messages with a number above `after`.
    pub async fn messages(
        &self,
        name: &str,
        after: u64,
        limit: usize,
    ) -> Result<Vec<ChannelMessage>, ChannelError> {
        self.room(name).await?.messages(after, limit).await
    }

    /// Returns the channel's log, oldest first.
    pub fn log(&self, name: &str) -> Result<Vec<LogEntry>, ChannelError> {
        let mut entries = Vec::new();
        self.inner.keeping.changes(name, |change| {
            entries.extend(change.log);
            true
        })?;
        Ok(entries)
    }

    /// Closes a channel permanently: all agents are removed, and its journal is kept.
    pub async fn close(&self, name: &str, by: &str) -> Result<(), ChannelError> {
        let room = self.room(name).await?;
        for agent in
            room.glance().channel.members.iter().filter(|(_, member)| member.assigned).map(|(agent, _)| agent)
        {
            room.apply(ChannelEvent::Removed { agent: agent.clone(), by: by.to_owned() }).await?;
        }
        self.inner.keeping.close(name).await?;
        self.inner.rooms.lock().await.open.remove(name);
        self.inner.hub.forget_channel(name);
        Ok(())
    }

    /// Stops all rooms: afterwards nothing is written, so another process can open the store.
    pub(crate) async fn stop(&self) {
        let open = {
            let mut rooms = self.inner.rooms.lock().await;
            rooms.closing = true;
            std::mem::take(&mut rooms.open)
        };
        for (_, (room, task)) in open {
            // The task ends when its last handle is dropped.
            drop(room);
            let _ = task.await;
        }
    }

    async fn room(&self, name: &str) -> Result<RoomHandle, ChannelError> {
        let mut rooms = self.inner.rooms.lock().await;
        if let Some((room, _)) = rooms.open.get(name) {
            return Ok(room.clone());
        }
        if rooms.closing {
            return Err(ChannelError::Closing);
        }
        let inner = &self.inner;
        let channel = inner.keeping.load(name)?.ok_or_else(|| ChannelError::NoChannel(name.to_owned()))?;
        inner.hub.note_members(&channel);
        let (keeping, hub) = (inner.keeping.clone(), inner.hub.clone());
        let (room, task) = Room::open(
            channel,
            keeping,
            hub,
            Arc::clone(&inner.clock),
            Arc::clone(&inner.log),
            inner.judge.clone(),
        );
        room.apply(ChannelEvent::Recovered).await?;
        rooms.open.insert(name.to_owned(), (room.clone(), task));
        Ok(room)
    }
}
