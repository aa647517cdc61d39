//! `Hub`: the connected agents, and the channels of each. Rooms send to agents through it and never block.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rawko_turns::{AgentId, Channel, MemberState};

use super::link::{AgentLink, DisconnectReason, OutgoingQueue};
use crate::protocol::{ChannelInfo, ToAgent, WireMessage};

#[derive(Clone, Default)]
pub(crate) struct Hub {
    inner: Arc<Mutex<AgentHubInner>>,
}

#[derive(Default)]
struct AgentHubInner {
    links: HashMap<AgentId, AgentLink>,
    /// Channels of each agent.
    seats: HashMap<AgentId, BTreeMap<String, Membership>>,
    presence: HashMap<AgentId, Arc<tokio::sync::Mutex<()>>>,
    generation: u64,
}

/// Membership of an agent in a channel.
struct Membership {
    state: MemberState,
    session: Option<String>,
}

/// A registered connection.
pub(crate) struct AgentRegistration {
    pub(crate) generation: u64,
    pub(crate) session: String,
    pub(crate) resumed: bool,
    pub(crate) outgoing: OutgoingQueue,
    pub(crate) channels: Vec<ChannelInfo>,
}

/// Rule for resuming the session of an earlier connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resume<'s> {
    /// Resumes if the session sent by the agent is known.
    With(Option<&'s str>),
    /// Always resumes: the server itself started the agent.
    Known,
}

impl Hub {
    fn lock(&self) -> MutexGuard<'_, AgentHubInner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a lock held while an agent connects or disconnects, so that all its channels see the events in the same
    /// order.
    pub(crate) fn presence(&self, agent: &AgentId) -> Arc<tokio::sync::Mutex<()>> {
        Arc::clone(self.lock().presence.entry(agent.clone()).or_default())
    }

    /// Registers a connection. An existing connection of the same agent is cut: the newer one wins.
    pub(crate) fn register(&self, agent: &AgentId, resume: Resume<'_>, observe: bool) -> AgentRegistration {
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
        let (link, outgoing) = AgentLink::new(generation, session.clone(), observe);
        if let Some(older) = inner.links.insert(agent.clone(), link) {
            older.cut(DisconnectReason::Superseded);
        }
        let channels = inner.channels(agent);
        AgentRegistration { generation, session, resumed, outgoing, channels }
    }

    /// Removes a connection. Returns true if it was still the agent's current one.
    pub(crate) fn unregister(&self, agent: &AgentId, generation: u64) -> bool {
        let mut inner = self.lock();
        let current = inner.links.get(agent).is_some_and(|link| link.generation == generation);
        if current {
            inner.links.remove(agent);
        }
        current
    }

    /// Returns the session of an agent's connection.
    pub(crate) fn session(&self, agent: &AgentId) -> Option<String> {
        self.lock().links.get(agent).map(|link| link.session.clone())
    }

    /// Returns the names of all connected agents, sorted.
    #[cfg(feature = "http")]
    pub(crate) fn connected(&self) -> Vec<String> {
        let mut names: Vec<String> = self.lock().links.keys().map(ToString::to_string).collect();
        names.sort_unstable();
        names
    }

    /// Returns the channels that track the presence of an agent.
    pub(crate) fn channels_of(&self, agent: &AgentId) -> Vec<String> {
        let inner = self.lock();
        inner.seats.get(agent).into_iter().flat_map(BTreeMap::keys).cloned().collect()
    }

    pub(crate) fn tell(&self, agent: &AgentId, message: &ToAgent) {
        let inner = self.lock();
        let Some(link) = inner.links.get(agent) else { return };
        link.send(message.to_text());
    }

    /// Sends one message of a channel to its readers: to those that observe only if they asked for it.
    pub(crate) fn tell_readers(&self, to: &[(&AgentId, bool)], channel: &str, message: &WireMessage) {
        let inner = self.lock();
        // Written once for all who have the turn, and once for all who observe.
        let mut texts: [Option<String>; 2] = [None, None];
        for (agent, observing) in to {
            let Some(link) = inner.links.get(*agent).filter(|link| link.observe || !observing) else {
                continue;
            };
            let text = texts[usize::from(*observing)].get_or_insert_with(|| {
                let (channel, message) = (channel.to_owned(), message.clone());
                ToAgent::Message { channel, message, observing: *observing }.to_text()
            });
            link.send(text.clone());
        }
    }

    /// Updates the members of a channel.
    pub(crate) fn note_members(&self, channel: &Channel) {
        let mut inner = self.lock();
        for (agent, member) in &channel.members {
            // Nearly always known already: a change of the channel concerns one or two of its members.
            let known = inner.seats.get_mut(agent).and_then(|seats| seats.get_mut(&channel.name));
            if let Some(seat) = known {
                seat.state = member.state;
                if seat.session != member.session {
                    seat.session.clone_from(&member.session);
                }
                continue;
            }
            let seat = Membership { state: member.state, session: member.session.clone() };
            inner.seats.entry(agent.clone()).or_default().insert(channel.name.clone(), seat);
        }
    }

    pub(crate) fn forget_channel(&self, name: &str) {
        self.lock().seats.values_mut().for_each(|seats| drop(seats.remove(name)));
    }

    /// Closes all connections; their agents may reconnect to the next server.
    pub(crate) fn close(&self) {
        self.lock().links.values().for_each(|link| link.cut(DisconnectReason::Closing));
    }
}

impl AgentHubInner {
    fn sessions(&self, agent: &AgentId) -> Vec<String> {
        let seats = self.seats.get(agent).into_iter().flat_map(BTreeMap::values);
        let kept = seats.filter_map(|seat| seat.session.clone());
        kept.chain(self.links.get(agent).map(|link| link.session.clone())).collect()
    }

    fn channels(&self, agent: &AgentId) -> Vec<ChannelInfo> {
        let info = |(channel, seat): (&String, &Membership)| ChannelInfo {
            channel: channel.clone(),
            state: seat.state.as_str().to_owned(),
        };
        self.seats.get(agent).into_iter().flatten().map(info).collect()
    }
}

/// Unpredictable: keyed hashes with keys from the operating system.
fn new_session() -> String {
    let random = || RandomState::new().build_hasher().finish();
    format!("s-{:016x}{:016x}", random(), random())
}
