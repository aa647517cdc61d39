//! Execution modes beside [`Host::execute`]: agents and charts one after the other, at the same time, or as a pipeline. Each
//! is a built-in chart, so that a run survives crashes like any other; this file only builds their input.

use rawko_core::Value;
use rawko_host::{ExecutionResults, Host, HostError};

/// An agent or a chart of a mode.
#[derive(Clone, Debug, PartialEq)]
pub struct ModeStep {
    key: &'static str,
    name: String,
    prompt: Option<String>,
    input: Value,
}

impl ModeStep {
    /// Creates a step that runs an agent.
    pub fn agent(name: impl Into<String>) -> Self {
        Self { key: "agent", name: name.into(), prompt: None, input: Value::Null }
    }

    /// `reference` is an id with an optional version: `fix`, `fix@^1`.
    pub fn chart(reference: impl Into<String>) -> Self {
        Self { key: "chart", name: reference.into(), prompt: None, input: Value::Null }
    }

    /// Replaces the task of the mode for this step.
    #[must_use]
    pub fn prompt(self, prompt: impl Into<String>) -> Self {
        Self { prompt: Some(prompt.into()), ..self }
    }

    /// Adds input for this step: a map.
    #[must_use]
    pub fn input(self, input: Value) -> Self {
        Self { input, ..self }
    }

    fn to_value(&self) -> Value {
        let prompt = self.prompt.as_deref().map_or(Value::Null, Value::str);
        Value::map([(self.key, Value::str(&self.name)), ("prompt", prompt), ("input", self.input.clone())])
    }
}

/// The condition under which steps at the same time are over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// Every step succeeds; the first failure stops the rest.
    All,
    /// The first success stops the rest.
    Any,
    /// All steps end, successful or not.
    Settled,
    /// So many successes.
    AtLeast(u32),
}

/// An execution mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecutionMode {
    /// One after the other, each with the results before it.
    Sequential,
    /// At the same time.
    Parallel(Join),
    /// One after the other; the output of each is the input of the next.
    Pipeline,
}

impl ExecutionMode {
    /// The id of its chart.
    pub fn chart(self) -> &'static str {
        match self {
            ExecutionMode::Sequential => "sequential",
            ExecutionMode::Parallel(_) => "parallel",
            ExecutionMode::Pipeline => "pipeline",
        }
    }

    /// Returns the input of its chart.
    pub fn context(self, task: &str, steps: &[ModeStep], tokens_max: Option<u64>) -> Value {
        let join = match self {
            ExecutionMode::Parallel(Join::All) => Value::str("all"),
            ExecutionMode::Parallel(Join::Any) => Value::str("any"),
            ExecutionMode::Parallel(Join::Settled) => Value::str("settled"),
            ExecutionMode::Parallel(Join::AtLeast(least)) => {
                Value::map([("at_least", Value::Int(i64::from(least)))])
            }
            ExecutionMode::Sequential | ExecutionMode::Pipeline => Value::Null,
        };
        let steps = Value::list(steps.iter().map(ModeStep::to_value).collect());
        let tokens = tokens_max.map(|most| i64::try_from(most).unwrap_or(i64::MAX));
        let budget = tokens.map_or(Value::Null, |most| Value::map([("tokens", Value::Int(most))]));
        let parts = [("task", Value::str(task)), ("steps", steps), ("budget", budget), ("join", join)];
        Value::map(parts.into_iter().filter(|(_, value)| !value.is_null()))
    }

    /// Runs the steps to the end. The host needs rawko's own charts ([`work::editions`](crate::work::editions)).
    pub async fn execute(
        self,
        host: &Host,
        task: &str,
        steps: &[ModeStep],
        tokens_max: Option<u64>,
    ) -> Result<ExecutionResults, HostError> {
        host.execute(self.chart(), "latest", self.context(task, steps, tokens_max)).await
    }
}
