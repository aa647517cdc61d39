//! `Cast`: who plays the agents. An agent with a model is an instance of a chart, so that every completion and every
//! tool call is a step of its own; a person is asked; anything else is a service. The host knows no more of agents.

use rawko_core::Value;

use crate::services::ServiceError;

/// Somebody invokes `agent:<name>`.
#[derive(Clone, Debug)]
pub struct Casting<'a> {
    pub agent: &'a str,
    pub input: &'a Value,
    /// What holds for it: `tools`, `within`, `budget`, `loop`.
    pub policy: &'a Value,
    /// The instance that invokes.
    pub instance: &'a str,
}

/// How an agent is played.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// By an instance of a chart that the host offers.
    Chart { chart: String, input: Value },
    /// By a person, who is asked this.
    Person { input: Value },
    /// By the service of the same name.
    Service,
}

pub trait Cast: Send + Sync {
    fn part(&self, casting: &Casting<'_>) -> Result<Part, ServiceError>;

    /// What the invoking chart hears when a chart that played an agent is over: its result, or an error.
    fn result(&self, output: Value) -> Result<Value, Value>;
}
