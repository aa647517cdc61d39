//! What is known from earlier work, for an agent that begins: looked up when it is chosen, by the arbiter or by a person.

use jiff::Timestamp;
use rawko_core::Value;

use super::{Workshop, value};
use crate::memories::{Injection, MEMORIES_FOLDER, inject, note_use, rank, read_memories};

/// What one agent is told, or why nobody knows.
#[derive(Default)]
pub(super) struct Recalled {
    injection: Injection,
    problem: Option<String>,
}

impl Recalled {
    /// As the chart takes it. Nothing is said too: what the agent before was told is not this one's.
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
    /// What an agent is told that a person lets begin.
    pub fn recall(&self, task: &str, agent: &str) -> String {
        recall(self, task, agent, true, Timestamp::now().as_millisecond()).injection.text
    }
}

/// `begins`: whoever has worked already was told, so it does not count as a use.
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
        // A count that cannot be kept changes nothing about the work.
        injection.used.iter().for_each(|name| drop(note_use(&folder, name)));
    }
    Recalled { injection, problem: None }
}
