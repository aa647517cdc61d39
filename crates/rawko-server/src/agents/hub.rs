//! `Hub`: who is connected, and which agents are in which channels. Rooms tell agents through it and never wait.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rawko_turns::{AgentId, Channel, State};

use super::link::{Cut, Link, Outgoing};
use crate::protocol::{ChannelInfo, ToAgent};

#[derive(Clone, Default)]
pub(crate) struct Hub {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Default)]
struct Inner {
    links: HashMap<AgentId, Link>,
    /// The channels of each agent.
    seats: HashMap<AgentId, BTreeMap<String, Seat>>,
    presence: HashMap<AgentId, Arc<tokio::sync::Mutex<()>>>,
    generation: u64,
}

/// An agent in a channel.
struct Seat {
    state: State,
    session: Option<String>,
}

/// A connection that was let in.
pub(crate) struct Registration {
    pub(crate) generation: u64,
    pub(crate) session: String,
    pub(crate) resumed: bool,
    pub(crate) outgoing: Outgoing,
    pub(crate) channels: Vec<ChannelInfo>,
}

/// How a connection may go on where another one was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resume<'s> {
    /// With the session it says it had.
    With(Option<&'s str>),
    /// The server itself started the agent and knows that it is the one.
    Known,
}

impl Hub {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Held while an agent comes or goes, so that its channels hear of it in one order.
    pub(crate) fn presence(&self, agent: &AgentId) -> Arc<tokio::sync::Mutex<()>> {
        Arc::clone(self.lock().presence.entry(agent.clone()).or_default())
    }

    /// Lets a connection in. A connection of the same agent that is there already is cut: the newer one wins.
    pub(crate) fn register(&self, agent: &AgentId, resume: Resume<'_>, observe: bool) -> Registration {
        let mut inner = self.lock();
        inner.generation += 1;
        let generation = inner.generation;
        let known = inner.sessions(agent);
        let resumed = match resume {
            Resume::With(session) => session.is_some_and(|session| known.iter().any(|it| it == session)),
            Resume::Known => true,
        };
        let session = match resume {
            Resume::With(Some(session)) if resumed => session.to_owned(),
            Resume::With(_) | Resume::Known => new_session(),
        };
        let (link, outgoing) = Link::new(generation, session.clone(), observe);
        if let Some(older) = inner.links.insert(agent.clone(), link) {
            older.cut(Cut::Superseded);
        }
        let channels = inner.channels(agent);
        Registration { generation, session, resumed, outgoing, channels }
    }

    /// A connection ended. Whether it was still the agent's.
    pub(crate) fn unregister(&self, agent: &AgentId, generation: u64) -> bool {
        let mut inner = self.lock();
        let current = inner.links.get(agent).is_some_and(|link| link.generation == generation);
        if current {
            inner.links.remove(agent);
        }
        current
    }

    /// The session that an agent is connected with.
    pub(crate) fn session(&self, agent: &AgentId) -> Option<String> {
        self.lock().links.get(agent).map(|link| link.session.clone())
    }

    /// The channels that want to know whether an agent is there.
    pub(crate) fn channels_of(&self, agent: &AgentId) -> Vec<String> {
        let inner = self.lock();
        inner.seats.get(agent).into_iter().flat_map(BTreeMap::keys).cloned().collect()
    }

    pub(crate) fn tell(&self, agent: &AgentId, message: &ToAgent) {
        let inner = self.lock();
        let Some(link) = inner.links.get(agent) else { return };
        if !matches!(message, ToAgent::Message { observing: true, .. }) || link.observe {
            link.send(message.to_text());
        }
    }

    /// Remembers who is in a channel.
    pub(crate) fn note_members(&self, channel: &Channel) {
        let mut inner = self.lock();
        for (agent, member) in &channel.members {
            let seat = Seat { state: member.state, session: member.session.clone() };
            inner.seats.entry(agent.clone()).or_default().insert(channel.name.clone(), seat);
        }
    }

    pub(crate) fn forget_channel(&self, name: &str) {
        self.lock().seats.values_mut().for_each(|seats| drop(seats.remove(name)));
    }

    /// Ends all connections; their agents may come back to the next server.
    pub(crate) fn close(&self) {
        self.lock().links.values().for_each(|link| link.cut(Cut::Closing));
    }
}

impl Inner {
    fn sessions(&self, agent: &AgentId) -> Vec<String> {
        let seats = self.seats.get(agent).into_iter().flat_map(BTreeMap::values);
        let kept = seats.filter_map(|seat| seat.session.clone());
        kept.chain(self.links.get(agent).map(|link| link.session.clone())).collect()
    }

    fn channels(&self, agent: &AgentId) -> Vec<ChannelInfo> {
        let info = |(channel, seat): (&String, &Seat)| ChannelInfo {
            channel: channel.clone(),
            state: seat.state.as_str().to_owned(),
        };
        self.seats.get(agent).into_iter().flatten().map(info).collect()
    }
}

/// Not to be guessed: keyed hashes whose keys the operating system gave.
fn new_session() -> String {
    let random = || RandomState::new().build_hasher().finish();
    format!("s-{:016x}{:016x}", random(), random())
}
