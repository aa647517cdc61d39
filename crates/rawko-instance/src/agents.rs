//! `AgentResolver`: how an agent is played. An agent with a model is an instance of a chart, so that every completion and
//! every tool call is a step of its own; a person is asked; anything else is a service. The machine knows no more of
//! agents.

use rawko_core::Value;

use crate::failure::ServiceError;

/// An invoke of `agent:<name>`.
#[derive(Clone, Debug)]
pub struct AgentRequest<'a> {
    pub agent: &'a str,
    pub input: &'a Value,
    /// The rules that hold for it: `tools`, `within`, `budget`, `loop`.
    pub policy: &'a Value,
    /// The invoking instance.
    pub instance: &'a str,
}

/// How an agent is played.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentBinding {
    /// By an instance of a published chart.
    Chart { chart: String, input: Value },
    /// By a person, who is asked this.
    Person { input: Value },
    /// By the service of the same name.
    Service,
}

/// Resolves agents by name.
pub trait AgentResolver: Send + Sync {
    fn resolve(&self, request: &AgentRequest<'_>) -> Result<AgentBinding, ServiceError>;

    /// The result or error that the invoking chart hears when a chart that played an agent ended.
    fn result(&self, output: Value) -> Result<Value, Value>;
}
