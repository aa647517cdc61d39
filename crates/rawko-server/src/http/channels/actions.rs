//! Actions of people on a channel, besides posting.

use rawko_turns::{ChannelEvent, OptionScope, OverrideTo, TurnOptions};
use serde::Deserialize;
use utoipa::ToSchema;

#[derive(Debug, Deserialize, ToSchema)]
#[serde(tag = "action", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Action {
    /// Grants no turns, and stops the clock of the current one.
    Pause {},
    Resume {},
    /// Ends the current turn.
    Skip {},
    /// Names the agent of the next turn.
    Next {
        agent: String,
    },
    /// Assigns an agent to the channel.
    Assign {
        agent: String,
    },
    /// Removes an agent from the channel.
    Remove {
        agent: String,
    },
    /// Resolves the wait of an agent: it continues, or gives up the turn.
    Override {
        to: Waiter,
    },
    /// Sets the turn order; agents that are not named keep their order, after the named ones.
    Order {
        agents: Vec<String>,
    },
    Priority {
        agent: String,
        priority: i32,
    },
    /// Sets turn options, in the format of the settings.
    Options {
        #[schema(value_type = Object)]
        options: TurnOptions,
    },
    /// Closes the channel permanently: all agents are removed, and the journal is kept.
    Close,
}

#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Waiter {
    Active,
    Queued,
}

impl Action {
    /// Returns the event of an action, if it has one.
    pub(super) fn event(self, by: String) -> Option<ChannelEvent> {
        Some(match self {
            Action::Pause {} => ChannelEvent::Paused { by },
            Action::Resume {} => ChannelEvent::Resumed { by },
            Action::Skip {} => ChannelEvent::Skipped { by },
            Action::Next { agent } => ChannelEvent::NextNamed { agent: agent.as_str().into(), by },
            Action::Remove { agent } => ChannelEvent::Removed { agent: agent.as_str().into(), by },
            Action::Override { to } => {
                let to = match to {
                    Waiter::Active => OverrideTo::Active,
                    Waiter::Queued => OverrideTo::Queued,
                };
                ChannelEvent::Overridden { by, to }
            }
            Action::Order { agents } => {
                ChannelEvent::OrderSet { agents: agents.iter().map(|agent| agent.as_str().into()).collect() }
            }
            Action::Priority { agent, priority } => {
                ChannelEvent::PrioritySet { agent: agent.as_str().into(), priority }
            }
            Action::Options { options } => ChannelEvent::OptionsSet { scope: OptionScope::Channel, options },
            Action::Assign { .. } | Action::Close => return None,
        })
    }
}
