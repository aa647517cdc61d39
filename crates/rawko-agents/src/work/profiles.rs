//! The project's agents as the arbiter sees them. Separate from their files, because not all are selectable: rawko's
//! built-in agents are hidden as soon as a project has its own.

use super::AgentServices;
use crate::agent::{AgentFile, Level};
use rawko_arbiter::{AgentProfile, AgentTransitions, ToolNames};

impl AgentServices {
    /// Returns the selectable agents, in the project's order.
    pub fn profiles(&self) -> Vec<AgentProfile> {
        let all = self.agents.all();
        let has_own = all.iter().any(|agent| agent.level != Level::BuiltIn);
        all.iter().filter(|agent| !has_own || agent.level != Level::BuiltIn).map(profile).collect()
    }
}

fn profile(agent: &AgentFile) -> AgentProfile {
    let blocked = (!agent.tools.blocked.is_empty()).then(|| agent.tools.blocked.clone());
    let transitions = &agent.transitions;
    AgentProfile {
        name: agent.name.clone(),
        display_name: Some(agent.display_name.clone()),
        when_to_use: agent.when_to_use.clone(),
        tools: ToolNames { allowed: agent.tools.allowed.clone(), blocked },
        transitions: AgentTransitions {
            on_success: transitions.on_success.clone(),
            on_failure: transitions.on_failure.clone(),
            on_max_iterations: transitions.on_max_iterations.clone(),
            custom: transitions.custom.clone(),
        },
    }
}
