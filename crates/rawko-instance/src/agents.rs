//! `AgentResolver`: resolves the implementation of an agent. An agent with a model is an instance of a chart, so that
//! every completion and every tool call is a step of its own; a person gets a request; anything else is a service. The
//! machine knows no more of agents.

use rawko_core::Value;

use crate::failure::ServiceError;

/// An invoke of `agent:<name>`.
#[derive(Clone, Debug)]
pub struct AgentRequest<'a> {
    /// Agent id, the part of `src` after `agent:`.
    pub agent: &'a str,
    /// Evaluated input of the invoke.
    pub input: &'a Value,
    /// The rules that apply: `tools`, `within`, `budget`, `loop`.
    pub policy: &'a Value,
    /// The invoking instance.
    pub instance: &'a str,
}

/// The implementation of an agent.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentBinding {
    /// An instance of a published chart.
    Chart {
        /// Id of the published chart.
        chart: String,
        /// Input of the new instance.
        input: Value,
    },
    /// A person, with this request.
    Person {
        /// Input of the person's request: title, text and form.
        input: Value,
    },
    /// The service of the same name.
    Service,
}

/// Resolves agents by name.
pub trait AgentResolver: Send + Sync {
    /// Resolves an agent. An error fails the invoke.
    fn resolve(&self, request: &AgentRequest<'_>) -> Result<AgentBinding, ServiceError>;

    /// Converts the output of an agent's chart to the result or error for the invoking chart.
    fn result(&self, output: Value) -> Result<Value, Value>;
}
