//! What a person may do to a channel besides speaking.

use rawko_turns::{Event, OverrideTo, Scope, TurnOptions};
use serde::Deserialize;
use utoipa::ToSchema;

#[derive(Debug, Deserialize, ToSchema)]
#[serde(tag = "action", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Action {
    /// Nobody gets the turn, and the clock of the one who has it stands still.
    Pause {},
    Resume {},
    /// The turn that runs is over.
    Skip {},
    /// Who is next.
    Next {
        agent: String,
    },
    /// Puts an agent into the channel.
    Assign {
        agent: String,
    },
    /// Takes one out of it.
    Remove {
        agent: String,
    },
    /// Decides about the agent that waits: it goes on, or gives up the turn.
    Override {
        to: Waiter,
    },
    /// The list that turns go around; who is not named keeps its place behind.
    Order {
        agents: Vec<String>,
    },
    Priority {
        agent: String,
        priority: i32,
    },
    /// Options of turns, as the settings have them.
    Options {
        #[schema(value_type = Object)]
        options: TurnOptions,
    },
    /// For good: everybody is removed, and the journal stays.
    Close,
}

#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Waiter {
    Active,
    Queued,
}

impl Action {
    /// The event that an action is, where it is one.
    pub(super) fn event(self, by: String) -> Option<Event> {
        Some(match self {
            Action::Pause {} => Event::Paused { by },
            Action::Resume {} => Event::Resumed { by },
            Action::Skip {} => Event::Skipped { by },
            Action::Next { agent } => Event::NextNamed { agent: agent.as_str().into(), by },
            Action::Remove { agent } => Event::Removed { agent: agent.as_str().into(), by },
            Action::Override { to } => {
                let to = match to {
                    Waiter::Active => OverrideTo::Active,
                    Waiter::Queued => OverrideTo::Queued,
                };
                Event::Overridden { by, to }
            }
            Action::Order { agents } => {
                Event::OrderSet { agents: agents.iter().map(|agent| agent.as_str().into()).collect() }
            }
            Action::Priority { agent, priority } => {
                Event::PrioritySet { agent: agent.as_str().into(), priority }
            }
            Action::Options { options } => Event::OptionsSet { scope: Scope::Channel, options },
            Action::Assign { .. } | Action::Close => return None,
        })
    }
}
