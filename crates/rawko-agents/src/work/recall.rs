//! Memories of earlier work for an agent that starts, looked up when the arbiter or a person selects it.

use jiff::Timestamp;
use rawko_core::Value;

use super::{Workshop, value};
use crate::memories::{Injection, MEMORIES_FOLDER, inject, note_use, rank, read_memories};

/// The memories of one agent, or the reason why they are unavailable.
#[derive(Default)]
pub(super) struct Recalled {
    injection: Injection,
    problem: Option<String>,
}

impl Recalled {
    /// Returns the context entries. Always written, even if empty, to clear the previous agent's memories.
    pub(super) fn entries(self) -> Vec<(&'static str, Value)> {
        let mut entries = vec![("memories", Value::from(self.injection.text))];
        if !self.injection.used.is_empty() {
            entries.push(("memoriesUsed", value(&self.injection.used)));
        }
        entries.extend(self.problem.map(|problem| ("memoriesProblem", Value::from(problem))));
        entries
    }
}

impl Workshop {
    /// Returns the memories for an agent that a person starts.
    pub fn recall(&self, task: &str, agent: &str) -> String {
        recall(self, task, agent, true, Timestamp::now().as_millisecond()).injection.text
    }
}

/// `begins` is false if the agent has already run in this task and got its memories then; it does not count as a use.
pub(super) fn recall(workshop: &Workshop, task: &str, agent: &str, begins: bool, now_ms: i64) -> Recalled {
    let folder = workshop.root.join(MEMORIES_FOLDER);
    let memories = match read_memories(&folder) {
        Ok(memories) => memories,
        Err(error) => {
            let problem = Some(format!("{MEMORIES_FOLDER} cannot be read: {error}"));
            return Recalled { problem, ..Recalled::default() };
        }
    };
    let injection = inject(&rank(&memories.all, task, agent, now_ms), workshop.memories.tokens_max);
    if begins {
        // A failed use count does not affect the work.
        injection.used.iter().for_each(|name| drop(note_use(&folder, name)));
    }
    Recalled { injection, problem: None }
}
