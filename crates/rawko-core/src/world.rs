//! `World`: the data that a host exposes to expressions besides context and event — the time, exposed settings, known
//! agents. It comes in with every step, so that the same step on another machine gives the same bytes.

use crate::value::Value;

/// The data a step may read. Plain data; a host builds it once and shares it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct World {
    /// The `env` binding: only the settings that the project exposes.
    pub env: Value,
    /// The `agents` binding, in order of preference.
    pub agents: Vec<AgentEntry>,
}

/// One agent as `agents.select`, `agents.get` and `agents.list` see it.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentEntry {
    pub id: String,
    /// The agent's roles. An agent always has the role of its own id.
    pub roles: Vec<String>,
    /// The accepted task types; empty means any.
    pub task_types: Vec<String>,
    /// Everything else that `agents.get(id)` returns.
    pub details: Value,
}

/// The moment of a step: the time, and the world as it is then.
#[derive(Clone, Copy, Debug)]
pub struct Now<'a> {
    pub ms: i64,
    pub world: &'a World,
}

static NOTHING: World = World { env: Value::Null, agents: Vec::new() };

/// A time without settings and agents.
impl From<i64> for Now<'static> {
    fn from(ms: i64) -> Self {
        Now { ms, world: &NOTHING }
    }
}
