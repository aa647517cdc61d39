//! Requests of people to channels, as data: the same in this process and through the socket of another one.

use std::time::Duration;

use rawko_turns::{Channel, ChannelEffect, ChannelEvent, ChannelMessage, ChannelRefusal, TurnOptions};
use serde::{Deserialize, Serialize};

use crate::channels::LogEntry;
use crate::error::ChannelError;
use crate::serving::ServingChannels;

/// Limit on messages per response.
const MESSAGES_MAX: usize = 1_000;

/// A request of a person to the channels of a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum ChannelRequest {
    /// Returns all channels.
    List,
    /// Creates a channel.
    Create {
        /// Channel name.
        name: String,
        /// Agents to assign.
        agents: Vec<String>,
        /// Turn options of the channel.
        options: TurnOptions,
        /// Name of the person.
        by: String,
    },
    /// Returns the state of a channel.
    Look {
        /// Channel name.
        name: String,
    },
    /// Applies an event to a channel: a person speaks, skips, pauses.
    Apply {
        /// Channel name.
        name: String,
        /// Event to apply.
        event: ChannelEvent,
    },
    /// Assigns agents to a channel.
    Assign {
        /// Channel name.
        name: String,
        /// Agents to assign.
        agents: Vec<String>,
        /// Name of the person.
        by: String,
    },
    /// Closes a channel; its log is kept.
    Close {
        /// Channel name.
        name: String,
        /// Name of the person.
        by: String,
    },
    /// Returns the first messages with a number above `after`.
    Messages {
        /// Channel name.
        name: String,
        /// Number of the last message that the reader has.
        after: u64,
        /// Maximum number of messages.
        limit: usize,
    },
    /// Returns the log of a channel.
    Log {
        /// Channel name.
        name: String,
    },
    /// Waits until there are messages after a number, the channel's version differs, or the timeout expires.
    Follow {
        /// Channel name.
        name: String,
        /// Number of the last message that the reader has.
        after: u64,
        /// Version of the channel that the reader has.
        version: Option<u64>,
        /// Timeout in milliseconds.
        patience_ms: u64,
    },
}

/// The answer to a [`ChannelRequest`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChannelAnswer {
    /// All channels, by name.
    Channels(Vec<Channel>),
    /// State of one channel.
    Channel(Box<Channel>),
    /// Consequences of an applied event.
    Effects(Vec<ChannelEffect>),
    /// Messages in order.
    Messages(Vec<ChannelMessage>),
    /// Log of a channel, oldest entry first.
    Log(Vec<LogEntry>),
    /// Changes since the reader's position.
    News {
        /// Current state.
        channel: Box<Channel>,
        /// Version to pass with the next request.
        version: u64,
        /// New messages.
        messages: Vec<ChannelMessage>,
    },
    /// The request succeeded without data.
    Done,
}

impl ServingChannels {
    /// Executes a request.
    pub async fn execute(&self, request: ChannelRequest) -> Result<ChannelAnswer, ChannelError> {
        let channels = self.channels();
        match request {
            ChannelRequest::List => {
                let mut all = Vec::new();
                for name in channels.names()? {
                    all.push(channels.look(&name).await?.channel.clone());
                }
                Ok(ChannelAnswer::Channels(all))
            }
            ChannelRequest::Create { name, agents, options, by } => {
                let mut layers = self.layers(&name);
                layers.channel = options.over(&layers.channel);
                channels.create(&name, layers).await?;
                self.assign_all(&name, &agents, &by).await?;
                Ok(ChannelAnswer::Done)
            }
            ChannelRequest::Look { name } => {
                Ok(ChannelAnswer::Channel(Box::new(channels.look(&name).await?.channel.clone())))
            }
            ChannelRequest::Apply { name, event } => {
                match channels.apply(&name, event).await {
                    // The message was already accepted.
                    Err(ChannelError::Refused(
                        ChannelRefusal::Duplicate { .. } | ChannelRefusal::AlreadyHeld,
                    )) => Ok(ChannelAnswer::Effects(Vec::new())),
                    outcome => outcome.map(ChannelAnswer::Effects),
                }
            }
            ChannelRequest::Assign { name, agents, by } => {
                self.assign_all(&name, &agents, &by).await?;
                Ok(ChannelAnswer::Done)
            }
            ChannelRequest::Close { name, by } => {
                channels.close(&name, &by).await?;
                Ok(ChannelAnswer::Done)
            }
            ChannelRequest::Messages { name, after, limit } => {
                let messages = channels.messages(&name, after, limit.min(MESSAGES_MAX)).await?;
                Ok(ChannelAnswer::Messages(messages))
            }
            ChannelRequest::Log { name } => {
                channels.look(&name).await?;
                Ok(ChannelAnswer::Log(channels.log(&name)?))
            }
            ChannelRequest::Follow { name, after, version, patience_ms } => {
                self.news(&name, after, version, Duration::from_millis(patience_ms)).await
            }
        }
    }

    async fn assign_all(&self, name: &str, agents: &[String], by: &str) -> Result<(), ChannelError> {
        for agent in agents {
            self.assign(name, agent, by).await?;
        }
        Ok(())
    }

    async fn news(
        &self,
        name: &str,
        after: u64,
        version: Option<u64>,
        patience: Duration,
    ) -> Result<ChannelAnswer, ChannelError> {
        let mut watch = self.channels().watch(name).await?;
        let is_news = |channel: &Channel, now: u64| channel.posted > after || version != Some(now);
        // A timeout is not an error: the response is then empty.
        let _ = tokio::time::timeout(patience, watch.wait_for(|it| is_news(&it.channel, it.version))).await;
        let glance = std::sync::Arc::clone(&watch.borrow());
        let messages = self.channels().messages(name, after, MESSAGES_MAX).await?;
        let (channel, version) = (Box::new(glance.channel.clone()), glance.version);
        Ok(ChannelAnswer::News { channel, version, messages })
    }
}
