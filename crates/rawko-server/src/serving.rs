//! `ServingChannels`: running channels. Opens those in the store, creates those in the settings, and starts the server's own
//! agents.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use rawko_host::{Clock, Host};
use rawko_turns::{AgentId, ChannelEvent, OptionLayers, OptionScope, TurnOptions};
use tokio::task::JoinHandle;

#[cfg(feature = "http")]
use crate::agents::Gatekeeper;
use crate::agents::{AgentConnections, ProcessCommand, TurnTaker, spawn_process, spawn_taker};
use crate::channels::{Channels, LogSink, RoundJudge};
use crate::error::ChannelError;
use crate::settings::{AgentSettings, TurnSettings};
use crate::tokens::ServerTokens;

/// Options of serving channels.
pub struct ServeOptions {
    /// Channels and turn options of the settings.
    pub settings: TurnSettings,
    /// Tokens for external agents; empty if none are required.
    pub tokens: ServerTokens,
    /// Implementations of agents in this process.
    pub takers: Vec<Arc<dyn TurnTaker>>,
    /// Source of the current time.
    pub clock: Arc<dyn Clock>,
    /// Judges the work of rounds; without one, only messages of people count as progress.
    pub judge: Option<Arc<dyn RoundJudge>>,
    /// Receives every log entry of every channel.
    pub log: LogSink,
    /// Start the server's own agents; commands that only read or post do not.
    pub own_agents: bool,
}

/// Running channels, until [`ServingChannels::close`].
pub struct ServingChannels {
    channels: Channels,
    connections: AgentConnections,
    settings: TurnSettings,
    commands: BTreeMap<AgentId, ProcessCommand>,
    agents: Mutex<BTreeMap<AgentId, JoinHandle<()>>>,
}

impl ServingChannels {
    /// Starts and continues the host's channels.
    pub async fn start(host: Host, options: ServeOptions) -> Result<ServingChannels, ChannelError> {
        let ServeOptions { settings, tokens, takers, clock, judge, log, own_agents } = options;
        let channels = Channels::with_judge(host, clock, log, judge)?;
        if own_agents {
            channels.open_all().await?;
        }
        let connections =
            AgentConnections { channels: channels.clone(), tokens, heartbeat: settings.heartbeat() };
        let command =
            |(agent, said): (&AgentId, &AgentSettings)| Some((agent.clone(), said.command.clone()?));
        let commands = settings.agents.iter().filter(|_| own_agents).filter_map(command).collect();
        let serving = ServingChannels { channels, connections, settings, commands, agents: Mutex::default() };
        if own_agents {
            serving.bring_about().await?;
            serving.start_agents(takers);
        }
        Ok(serving)
    }

    fn start_agents(&self, takers: Vec<Arc<dyn TurnTaker>>) {
        for taker in takers {
            for agent in taker.agents() {
                self.keep(
                    agent.clone(),
                    spawn_taker(self.connections.clone(), agent, Arc::clone(&taker), true),
                );
            }
        }
        for agent in self.commands.keys() {
            self.start_agent(agent, true);
        }
    }

    /// Returns the channels.
    pub fn channels(&self) -> &Channels {
        &self.channels
    }

    /// Returns the options of a channel from the settings.
    pub(crate) fn layers(&self, channel: &str) -> OptionLayers {
        self.settings.layers(channel)
    }

    /// Returns the acceptor of external agents.
    #[cfg(feature = "http")]
    pub(crate) fn gatekeeper(&self) -> Gatekeeper {
        Gatekeeper::new(self.connections.clone())
    }

    /// Assigns an agent to a channel, and starts its process if it has one that is not running.
    pub async fn assign(&self, channel: &str, agent: &str, by: &str) -> Result<(), ChannelError> {
        self.channels.assign(channel, agent, by).await?;
        self.start_agent(&AgentId::from(agent), false);
        Ok(())
    }

    /// Closes all connections. The channels are kept for the next server.
    pub async fn close(&self) {
        self.channels.hub().close();
        let agents = std::mem::take(&mut *self.agents.lock().unwrap_or_else(PoisonError::into_inner));
        for (_, agent) in agents {
            let _ = agent.await;
        }
        self.channels.stop().await;
    }

    fn keep(&self, agent: AgentId, task: JoinHandle<()>) {
        self.agents.lock().unwrap_or_else(PoisonError::into_inner).insert(agent, task);
    }

    /// Starts an agent's process, unless it is running. `again`: it resumes its state from before the server stopped.
    fn start_agent(&self, agent: &AgentId, again: bool) {
        let Some(command) = self.commands.get(agent) else { return };
        let mut agents = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
        if agents.get(agent).is_some_and(|task| !task.is_finished()) {
            return;
        }
        match spawn_process(self.connections.clone(), agent.clone(), command, again) {
            Ok(task) => drop(agents.insert(agent.clone(), task)),
            // The agent stays OFFLINE, like one whose process exits immediately.
            Err(error) => {
                agents.remove(agent);
                let program = command.program.first().map_or("", String::as_str);
                let message = format!("cannot start `{program}`: {error}");
                self.channels.host().tell_trouble(&format!("agent {agent}"), &message);
            }
        }
    }

    /// Creates the channels named in the settings, and updates the options of existing ones.
    async fn bring_about(&self) -> Result<(), ChannelError> {
        let settings = &self.settings;
        let there = self.channels.names()?;
        for (name, channel) in &settings.channels {
            if there.contains(name) {
                continue;
            }
            self.channels.create(name, settings.layers(name)).await?;
            for (agent, _) in &channel.agents {
                self.channels.assign(name, agent.as_str(), "settings").await?;
            }
        }
        for name in there {
            self.update_options(&name, settings).await?;
        }
        Ok(())
    }

    /// Applies the options from the settings where they differ from the channel's.
    async fn update_options(&self, name: &str, settings: &TurnSettings) -> Result<(), ChannelError> {
        let (wanted, glance) = (settings.layers(name), self.channels.look(name).await?);
        let known = &glance.channel.options;
        let mut changes: Vec<(OptionScope, TurnOptions)> = Vec::new();
        if wanted.project != known.project {
            changes.push((OptionScope::Project, wanted.project));
        }
        if settings.channels.contains_key(name) && wanted.channel != known.channel {
            changes.push((OptionScope::Channel, wanted.channel));
        }
        for (agent, options) in wanted.project_agents {
            if known.project_agents.get(&agent) != Some(&options) {
                changes.push((OptionScope::ProjectAgent(agent), options));
            }
        }
        for (scope, options) in changes {
            self.channels.apply(name, ChannelEvent::OptionsSet { scope, options }).await?;
        }
        Ok(())
    }
}
