//! `World`: what a host lets expressions see besides context and event — the moment, exposed settings, known agents.
//! It comes in with every step, so that the same step on another machine gives the same bytes.

use crate::value::Value;

/// The facts a step may read. Plain data; a host builds it once and shares it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct World {
    /// The `env` binding: only what the project's settings expose.
    pub env: Value,
    /// The `agents` binding, in order of preference.
    pub agents: Vec<AgentEntry>,
}

/// One agent as `agents.select`, `agents.get` and `agents.list` see it.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentEntry {
    pub id: String,
    /// The roles it fills. An agent always fills the role of its own id.
    pub roles: Vec<String>,
    /// The task types it takes; empty means any.
    pub task_types: Vec<String>,
    /// Everything else that `agents.get(id)` shows.
    pub details: Value,
}

/// The moment of a step: the time, and the world as it is then.
#[derive(Clone, Copy, Debug)]
pub struct Now<'a> {
    pub ms: i64,
    pub world: &'a World,
}

static NOTHING: World = World { env: Value::Null, agents: Vec::new() };

/// A moment with no settings and no agents.
impl From<i64> for Now<'static> {
    fn from(ms: i64) -> Self {
        Now { ms, world: &NOTHING }
    }
}
