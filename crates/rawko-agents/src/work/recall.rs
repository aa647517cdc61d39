//! Memories of earlier work for an agent that starts, looked up when the arbiter or a person selects it.

use jiff::Timestamp;

use super::AgentServices;
use crate::memories::{Injection, MEMORIES_FOLDER, inject, note_use, rank, read_memories};

/// The memories of one agent, or the reason why they are unavailable.
#[derive(Default)]
pub(super) struct RecalledMemories {
    pub(super) injection: Injection,
    pub(super) problem: Option<String>,
}

impl AgentServices {
    /// Returns the memories for an agent that a person starts.
    pub fn recall(&self, task: &str, agent: &str) -> String {
        recall(self, task, agent, true, Timestamp::now().as_millisecond()).injection.text
    }
}

/// `begins` is false if the agent has already run in this task and got its memories then; it does not count as a use.
pub(super) fn recall(
    agent_services: &AgentServices,
    task: &str,
    agent: &str,
    begins: bool,
    now_ms: i64,
) -> RecalledMemories {
    let folder = agent_services.root.join(MEMORIES_FOLDER);
    let memories = match read_memories(&folder) {
        Ok(memories) => memories,
        Err(error) => {
            let problem = Some(format!("{MEMORIES_FOLDER} cannot be read: {error}"));
            return RecalledMemories { problem, ..RecalledMemories::default() };
        }
    };
    let injection = inject(&rank(&memories.all, task, agent, now_ms), agent_services.memories.tokens_max);
    if begins {
        // A failed use count does not affect the work.
        injection.used.iter().for_each(|name| drop(note_use(&folder, name)));
    }
    RecalledMemories { injection, problem: None }
}
