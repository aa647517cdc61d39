//! `World`: the data that a host exposes to expressions besides context and event — the time, exposed settings, known
//! agents. It comes in with every step, so that the same step on another machine gives the same bytes.

use std::sync::Arc;

use crate::expr::{EvalError, EvalScope, Expr, ListSizes};
use crate::ids::NodeId;
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
    /// Agent id, the name of its file.
    pub id: String,
    /// The agent's roles. An agent always has the role of its own id.
    pub roles: Vec<String>,
    /// The accepted task types; empty means any.
    pub task_types: Vec<String>,
    /// Everything else that `agents.get(id)` returns.
    pub details: Value,
}

/// The `instance` binding: facts about the instance itself, the same at every step of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InstanceFacts {
    /// A string.
    pub id: Value,
    /// The id of the invoking instance, or null.
    pub parent: Value,
    /// The time of the first step in milliseconds, as `now()` counts them.
    pub started: Value,
}

impl InstanceFacts {
    /// Creates the values of `instance.*`; `started_ms` is in milliseconds since the Unix epoch.
    pub fn new(id: &str, parent: Option<&str>, started_ms: i64) -> Self {
        let parent = parent.map_or(Value::Null, Value::str);
        Self { id: Value::str(id), parent, started: Value::Int(started_ms) }
    }
}

/// The moment of a step: the time, the world as it is then, and the instance that takes it.
#[derive(Clone, Copy, Debug)]
pub struct Now<'a> {
    /// Time of the step in milliseconds since the Unix epoch.
    pub ms: i64,
    /// Settings and agents that expressions see.
    pub world: &'a World,
    /// Values of `instance.*`.
    pub instance: &'a InstanceFacts,
    /// Decides if a fan-out may start. Without it every one may.
    pub admission: Option<&'a dyn Admission>,
    /// Decides guards; `None` outside of verification.
    pub oracle: Option<&'a (dyn GuardOracle + Sync)>,
    /// Sizes of long lists from earlier steps. They change no result: only the work to measure a list again.
    pub sizes: Option<&'a ListSizes>,
}

/// The host's decision on a fan-out, before its first item starts. Pure: the same request gives the same answer within a
/// step.
pub trait Admission: std::fmt::Debug {
    /// Returns a code and a message if a budget cannot pay for all items.
    fn refuse(&self, request: &FanOutRequest<'_>) -> Option<(String, String)>;
}

/// A fan-out that is about to start.
#[derive(Clone, Copy, Debug)]
pub struct FanOutRequest<'a> {
    /// State with the `each`.
    pub node: NodeId,
    /// The id of the invoke.
    pub id: &'a str,
    /// The `src` of every item, as far as it is known now.
    pub sources: &'a [Option<Arc<str>>],
}

/// Decides guards in place of their values, for exploring both outcomes of a guard that depends on unknown data.
pub trait GuardOracle: std::fmt::Debug {
    /// Returns the outcome of a guard that evaluated to `value`.
    fn judge(&self, guard: &Expr, value: Result<bool, EvalError>) -> Result<bool, EvalError>;

    /// Returns true if the data contains unknown values (`expr::unknown`), so that expressions are evaluated with them.
    fn is_partial(&self) -> bool {
        false
    }

    /// Decides a condition that depends on unknown values.
    fn decide(&self, _condition: &Expr, _scope: &EvalScope<'_>) -> bool {
        false
    }

    /// Decides if an expression fails with data that was not tried.
    fn fails(&self, _expr: &Expr) -> bool {
        false
    }

    /// Returns the most items that an unknown list is tried with.
    fn items_max(&self) -> usize {
        2
    }

    /// Notes that an unknown list was tried with few items only.
    fn bounded(&self, _list: &Expr) {}
}

static NOTHING: World = World { env: Value::Null, agents: Vec::new() };
static NO_INSTANCE: InstanceFacts =
    InstanceFacts { id: Value::Null, parent: Value::Null, started: Value::Null };

impl<'a> Now<'a> {
    /// A moment of no instance in particular: `instance.id` and the others are null.
    pub fn new(ms: i64, world: &'a World) -> Self {
        Now { ms, world, instance: &NO_INSTANCE, admission: None, oracle: None, sizes: None }
    }

    /// Sets the oracle that decides guards instead of their expressions.
    #[must_use]
    pub fn judged_by(self, oracle: &'a (dyn GuardOracle + Sync)) -> Self {
        Now { oracle: Some(oracle), ..self }
    }

    /// Sets the instance that takes the step.
    #[must_use]
    pub fn of(self, instance: &'a InstanceFacts) -> Self {
        Now { instance, ..self }
    }

    /// Sets the sizes of long lists that earlier steps of the instance measured.
    #[must_use]
    pub fn measured(self, sizes: &'a ListSizes) -> Self {
        Now { sizes: Some(sizes), ..self }
    }

    /// Sets the admission that may reject fan-outs.
    #[must_use]
    pub fn admitting(self, admission: &'a dyn Admission) -> Self {
        Now { admission: Some(admission), ..self }
    }
}

/// A time without settings and agents.
impl From<i64> for Now<'static> {
    fn from(ms: i64) -> Self {
        Now::new(ms, &NOTHING)
    }
}
