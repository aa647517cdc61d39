//! `Events`: text and tool calls of agents while they arrive. For showing progress; the journal holds the whole.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use rawko_core::{ServiceClass, ServiceName};
use rawko_host::CallProgress;
use serde_json::Value as Json;
use tokio::sync::broadcast::{self, error::RecvError, error::TryRecvError};
use tokio::sync::watch;

use super::actor::Actor;

/// Something that an agent does, while it does it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A piece of an agent's text.
    Text {
        /// The agent.
        agent: String,
        /// The piece.
        text: String,
    },
    /// An agent calls a tool. The call has not run yet.
    ToolCall {
        /// The agent.
        agent: String,
        /// Id of the call, for the provider.
        id: String,
        /// The tool: `Read`, `Bash`, `mcp__server__tool`.
        name: String,
        /// The input, as the model wrote it.
        input: Json,
    },
    /// A line that a running tool printed.
    ToolOutput {
        /// The agent.
        agent: String,
        /// The line.
        line: String,
    },
}

/// The events of an actor. Returned by [`Actor::events`].
pub struct Events {
    actor: Actor,
    progress: broadcast::Receiver<CallProgress>,
    changes: watch::Receiver<u64>,
    ready: VecDeque<Event>,
    /// Input of tool calls that is still arriving, by call.
    inputs: HashMap<String, String>,
    agents: HashMap<Arc<str>, String>,
}

impl Events {
    pub(super) fn new(actor: Actor) -> Events {
        let (progress, changes) = (actor.host().progress(), actor.host().changes());
        let (ready, inputs, agents) = (VecDeque::new(), HashMap::new(), HashMap::new());
        Events { actor, progress, changes, ready, inputs, agents }
    }

    /// Waits for the next event; `None` once the instance is over. A reader that is far behind loses events, which are
    /// still in the journal.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            self.changes.borrow_and_update();
            let is_over = self.actor.snapshot().map_or(true, |snapshot| snapshot.is_over());
            self.take_waiting();
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            if is_over {
                return None;
            }
            tokio::select! {
                heard = self.progress.recv() => match heard {
                    Ok(heard) => self.take(&heard),
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return None,
                },
                changed = self.changes.changed() => if changed.is_err() { return None },
            }
        }
    }

    fn take_waiting(&mut self) {
        loop {
            match self.progress.try_recv() {
                Ok(heard) => self.take(&heard),
                Err(TryRecvError::Lagged(_)) => {}
                Err(TryRecvError::Empty | TryRecvError::Closed) => return,
            }
        }
    }

    fn take(&mut self, heard: &CallProgress) {
        let below = heard.instance.strip_prefix(self.actor.id());
        if !below.is_some_and(|rest| rest.is_empty() || rest.starts_with('.')) {
            return;
        }
        let class = ServiceName::of(&heard.name).class;
        if !matches!(class, ServiceClass::Model | ServiceClass::Agent | ServiceClass::Tool) {
            return;
        }
        let text = |key: &str| heard.data.get(key).as_str().unwrap_or_default().to_owned();
        match text("type").as_str() {
            "text_delta" if !text("text").is_empty() => {
                let agent = self.agent_of(heard);
                self.ready.push_back(Event::Text { agent, text: text("text") });
            }
            "tool_use_input" => self.inputs.entry(text("id")).or_default().push_str(&text("json")),
            "tool_use_end" => {
                let input = self.inputs.remove(&text("id")).unwrap_or_default();
                let input = serde_json::from_str(&input).unwrap_or(Json::String(input));
                let agent = self.agent_of(heard);
                self.ready.push_back(Event::ToolCall { agent, id: text("id"), name: text("name"), input });
            }
            "tool_output" => {
                let agent = self.agent_of(heard);
                self.ready.push_back(Event::ToolOutput { agent, line: text("line") });
            }
            _ => {}
        }
    }

    /// Returns the agent that a call belongs to: the called one, or the one that the instance runs as.
    fn agent_of(&mut self, heard: &CallProgress) -> String {
        if let Some(agent) = ServiceName::member_of(&heard.name, ServiceClass::Agent) {
            return agent.to_owned();
        }
        let reader = self.actor.host().reader();
        let look_up = || reader.find(&heard.instance).ok()?.new.agent().map(|agent| agent.to_string());
        self.agents
            .entry(Arc::clone(&heard.instance))
            .or_insert_with(|| look_up().unwrap_or_default())
            .clone()
    }
}
