//! `Channels`: all channels of a host. A channel is opened when somebody first touches it, and recovered then.

mod delivering;
mod keeping;
mod messages;
mod room;

use std::collections::BTreeMap;
use std::sync::Arc;

use rawko_host::{Clock, Host};
use rawko_turns::{AgentId, Channel, Effect, Event, Message, OptionLayers, is_name};
use tokio::sync::{Mutex, watch};
use tokio::task::JoinHandle;

use self::keeping::Keeping;
use self::room::{Room, RoomHandle};
use crate::agents::Hub;
use crate::error::ChannelError;

pub use self::keeping::{Entry, Warning, channel_instance, member_instance};
pub use self::room::{Glance, LogSink};

/// The channels of a host. Cheap to clone.
#[derive(Clone)]
pub struct Channels {
    inner: Arc<Inner>,
}

struct Inner {
    keeping: Keeping,
    hub: Hub,
    clock: Arc<dyn Clock>,
    log: LogSink,
    rooms: Mutex<Rooms>,
}

/// The channels that are open.
#[derive(Default)]
struct Rooms {
    open: BTreeMap<String, (RoomHandle, JoinHandle<()>)>,
    /// Nothing is opened any more.
    closing: bool,
}

impl Channels {
    pub fn new(host: Host, clock: Arc<dyn Clock>, log: LogSink) -> Result<Self, ChannelError> {
        let keeping = Keeping::new(host)?;
        let inner = Inner { keeping, hub: Hub::default(), clock, log, rooms: Mutex::default() };
        Ok(Self { inner: Arc::new(inner) })
    }

    pub(crate) fn host(&self) -> &Host {
        self.inner.keeping.host()
    }

    pub(crate) fn hub(&self) -> &Hub {
        &self.inner.hub
    }

    /// The names of all channels.
    pub fn names(&self) -> Result<Vec<String>, ChannelError> {
        self.inner.keeping.names()
    }

    /// Makes a channel.
    pub async fn create(&self, name: &str, options: OptionLayers) -> Result<(), ChannelError> {
        if !is_name(name) {
            return Err(ChannelError::BadName(name.to_owned()));
        }
        let channel = Channel { options, ..Channel::new(name) };
        self.inner.keeping.create(&channel).await
    }

    /// Opens all channels: whatever came due while nobody hosted them happens now.
    pub async fn open_all(&self) -> Result<(), ChannelError> {
        for name in self.names()? {
            self.room(&name).await?;
        }
        Ok(())
    }

    /// Something happens in a channel. Returns once it is on disk, with what follows.
    pub async fn apply(&self, name: &str, event: Event) -> Result<Vec<Effect>, ChannelError> {
        self.room(name).await?.apply(event).await
    }

    /// A person puts an agent into a channel; whether it is connected is looked up.
    pub async fn assign(&self, name: &str, agent: &str, by: &str) -> Result<Vec<Effect>, ChannelError> {
        if !is_name(agent) {
            return Err(ChannelError::BadName(agent.to_owned()));
        }
        let agent = AgentId::from(agent);
        let presence = self.inner.hub.presence(&agent);
        // So that it cannot come or go between looking and assigning.
        let _steady = presence.lock().await;
        let session = self.inner.hub.session(&agent);
        self.apply(name, Event::Assigned { agent, by: by.to_owned(), session }).await
    }

    /// The channel as it is now.
    pub async fn look(&self, name: &str) -> Result<Arc<Glance>, ChannelError> {
        Ok(self.room(name).await?.glance())
    }

    /// Changes whenever the channel does.
    pub async fn watch(&self, name: &str) -> Result<watch::Receiver<Arc<Glance>>, ChannelError> {
        Ok(self.room(name).await?.watch())
    }

    /// Messages with a number above `after`, the first ones.
    pub async fn messages(&self, name: &str, after: u64, limit: usize) -> Result<Vec<Message>, ChannelError> {
        self.room(name).await?.messages(after, limit).await
    }

    /// The channel's log, oldest first.
    pub fn log(&self, name: &str) -> Result<Vec<Entry>, ChannelError> {
        let mut entries = Vec::new();
        self.inner.keeping.changes(name, |change| {
            entries.extend(change.log);
            true
        })?;
        Ok(entries)
    }

    /// Closes a channel for good: everybody is removed, and its journal stays.
    pub async fn close(&self, name: &str, by: &str) -> Result<(), ChannelError> {
        let room = self.room(name).await?;
        for agent in
            room.glance().channel.members.iter().filter(|(_, member)| member.assigned).map(|(agent, _)| agent)
        {
            room.apply(Event::Removed { agent: agent.clone(), by: by.to_owned() }).await?;
        }
        self.inner.keeping.close(name).await?;
        self.inner.rooms.lock().await.open.remove(name);
        self.inner.hub.forget_channel(name);
        Ok(())
    }

    /// Stops all rooms: after this nothing is written, and whoever holds the store next is alone with it.
    pub(crate) async fn stop(&self) {
        let open = {
            let mut rooms = self.inner.rooms.lock().await;
            rooms.closing = true;
            std::mem::take(&mut rooms.open)
        };
        for (_, (room, task)) in open {
            // It ends when nobody can ask it anything any more.
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
        let (room, task) =
            Room::open(channel, keeping, hub, Arc::clone(&inner.clock), Arc::clone(&inner.log));
        room.apply(Event::Recovered).await?;
        rooms.open.insert(name.to_owned(), (room.clone(), task));
        Ok(room)
    }
}
