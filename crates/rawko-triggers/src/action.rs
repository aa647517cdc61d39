//! Rules: which deliveries start an instance or a task, or send an event, and with which values.

use rawko_core::Value;
use rawko_core::expr::EvalError;

use crate::expression::{Expression, RuleTemplate};

/// Characters of an instance id.
const ID_CHARS_MAX: usize = 200;

/// One rule of a trigger. The first rule that holds decides.
#[derive(Clone, Debug)]
pub struct TriggerRule {
    /// Condition; a rule without one always holds.
    pub when: Option<Expression>,
    /// The request that the rule makes.
    pub action: RuleAction,
}

/// The action of a rule, with its expressions.
#[derive(Clone, Debug)]
pub enum RuleAction {
    /// Starts an instance of a chart.
    Start {
        /// Id of the chart.
        chart: String,
        /// Instance id; derived from the delivery if omitted.
        id: Option<Expression>,
        /// Input of the instance.
        input: Option<RuleTemplate>,
    },
    /// Sends an event to an instance.
    Send {
        /// Id of the instance.
        instance: Expression,
        /// Name of the event.
        event: String,
        /// Data of the event.
        data: Option<RuleTemplate>,
    },
    /// Starts a task of the project's agents.
    Task {
        /// Text of the task.
        text: Expression,
        /// Instance id; derived from the delivery if omitted.
        id: Option<Expression>,
        /// Agent that runs first.
        agent: Option<String>,
        /// Queues the task instead of starting it at once.
        queue: bool,
    },
}

/// The values that expressions of a rule see.
#[derive(Clone, Debug)]
pub struct DeliveryFacts<'f> {
    /// Name of the trigger.
    pub trigger: &'f str,
    /// The delivery's key, or the due time as in instance ids.
    pub key: &'f str,
    /// Kind of event, as the sender names it.
    pub kind: &'f str,
    /// Body of the request.
    pub payload: &'f Value,
    /// Headers of the request.
    pub headers: &'f Value,
    /// Due time in the schedule's zone, and in milliseconds.
    pub due: Option<(String, i64)>,
    /// Current time in milliseconds.
    pub now_ms: i64,
}

/// A request to a host, with everything evaluated. The same delivery gives the same one.
#[derive(Clone, Debug, PartialEq)]
pub struct TriggerCommand {
    /// The instance that is started or receives the event.
    pub instance: String,
    /// True if the id is the trigger's own: then an instance that exists is this very run.
    pub is_own_id: bool,
    /// Idempotency key of an event.
    pub key: String,
    /// The kind of request, with its values.
    pub kind: CommandKind,
}

/// An [`RuleAction`] with its expressions evaluated.
#[derive(Clone, Debug, PartialEq)]
pub enum CommandKind {
    /// Starts an instance.
    Start {
        /// Id of the chart.
        chart: String,
        /// Input of the instance.
        input: Value,
    },
    /// Sends an event.
    Send {
        /// Name of the event.
        event: String,
        /// Data of the event.
        data: Value,
    },
    /// Starts or queues a task.
    Task {
        /// Text of the task.
        text: String,
        /// Agent that runs first.
        agent: Option<String>,
        /// Queues the task instead of starting it at once.
        queue: bool,
    },
}

/// The reason why the rules of a trigger gave no command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecideError {
    /// An expression could not be evaluated.
    #[error("rule {rule}: {why}")]
    Expression {
        /// Number of the rule, from 1.
        rule: usize,
        /// The error of the expression.
        why: String,
    },
    /// An expression gave a value of the wrong type.
    #[error("rule {rule}: `{what}` must be {expected}, not {found}")]
    Type {
        /// Number of the rule, from 1.
        rule: usize,
        /// Key of the expression.
        what: &'static str,
        /// The expected type.
        expected: &'static str,
        /// Type of the value.
        found: &'static str,
    },
    /// An expression gave an invalid instance id.
    #[error(
        "rule {rule}: `{id}` is not a valid instance id: 1 to 200 letters, digits, `-`, `_`, `.`, `:` and `@`"
    )]
    Id {
        /// Number of the rule, from 1.
        rule: usize,
        /// The invalid id.
        id: String,
    },
}

impl DeliveryFacts<'_> {
    /// Returns the values in the order of the names of expressions.
    pub(crate) fn values(&self) -> [Value; 7] {
        let due = |text: &dyn Fn(&(String, i64)) -> Value| self.due.as_ref().map_or(Value::Null, text);
        [
            self.payload.clone(),
            self.headers.clone(),
            Value::str(self.kind),
            Value::str(self.key),
            Value::str(self.trigger),
            due(&|(text, _)| Value::str(text)),
            due(&|(_, ms)| Value::Int(*ms)),
        ]
    }
}

/// Returns the command of the first rule that holds; `None` if no rule does.
pub(crate) fn decide(
    rules: &[TriggerRule],
    facts: &DeliveryFacts<'_>,
) -> Result<Option<TriggerCommand>, DecideError> {
    for (rule, TriggerRule { when, action }) in (1..).zip(rules) {
        let failed = |error: EvalError| DecideError::Expression { rule, why: error.message };
        let holds = when.as_ref().map_or(Ok(true), |when| when.holds(facts)).map_err(failed)?;
        if holds {
            return action.command(rule, facts).map(Some);
        }
    }
    Ok(None)
}

impl RuleAction {
    /// Returns the chart that it starts.
    pub fn chart(&self) -> Option<&str> {
        match self {
            RuleAction::Start { chart, .. } => Some(chart),
            RuleAction::Send { .. } | RuleAction::Task { .. } => None,
        }
    }

    fn command(&self, rule: usize, facts: &DeliveryFacts<'_>) -> Result<TriggerCommand, DecideError> {
        let failed = |error: EvalError| DecideError::Expression { rule, why: error.message };
        let own = format!("trigger:{}:{}", facts.trigger, facts.key);
        let template = |value: &Option<RuleTemplate>| {
            value.as_ref().map_or(Ok(Value::Null), |value| value.eval(facts)).map_err(failed)
        };
        let text = |expression: &Expression, what| {
            let value = expression.eval(facts).map_err(failed)?;
            let found = value.type_name();
            let wrong = DecideError::Type { rule, what, expected: "text", found };
            value.as_str().map(str::to_owned).ok_or(wrong)
        };
        let id = |id: &Option<Expression>| match id {
            Some(id) => valid(rule, text(id, "id")?),
            None => Ok(own.clone()),
        };
        let (instance, kind) = match self {
            RuleAction::Start { chart, id: given, input } => {
                let input = template(input)?;
                if !input.is_null() && input.as_map().is_none() {
                    let (expected, found) = ("a map", input.type_name());
                    return Err(DecideError::Type { rule, what: "input", expected, found });
                }
                (id(given)?, CommandKind::Start { chart: chart.clone(), input })
            }
            RuleAction::Send { instance, event, data } => {
                let instance = valid(rule, text(instance, "instance")?)?;
                (instance, CommandKind::Send { event: event.clone(), data: template(data)? })
            }
            RuleAction::Task { text: task, id: given, agent, queue } => {
                let task = text(task, "text")?;
                (id(given)?, CommandKind::Task { text: task, agent: agent.clone(), queue: *queue })
            }
        };
        Ok(TriggerCommand { is_own_id: instance == own, instance, key: own, kind })
    }
}

fn valid(rule: usize, id: String) -> Result<String, DecideError> {
    let fits = |c: char| c.is_alphanumeric() || "-_.:@".contains(c);
    let is_dots = id.chars().all(|c| c == '.');
    match !is_dots && id.chars().count() <= ID_CHARS_MAX && id.chars().all(fits) {
        true => Ok(id),
        false => Err(DecideError::Id { rule, id: id.chars().take(ID_CHARS_MAX).collect() }),
    }
}
