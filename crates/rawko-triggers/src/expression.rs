//! Expressions of rules, in the language of charts, over a delivery instead of a context.

use rawko_core::expr::{self, EvalError, EvalScope, Expr, NameResolver};
use rawko_core::{Active, Configuration, InstanceFacts, NodeId, Slot, Value, World};

use crate::action::DeliveryFacts;

/// The names that expressions see, in the order of [`DeliveryFacts::values`].
pub(crate) const NAMES: [&str; 7] = ["payload", "headers", "kind", "delivery", "trigger", "due", "due_ms"];

/// A compiled expression.
#[derive(Clone, Debug)]
pub struct Expression(Expr);

/// A value with expressions in it: every text is one.
#[derive(Clone, Debug)]
pub enum RuleTemplate {
    /// A number, boolean or null.
    Literal(Value),
    /// A text, compiled.
    Expression(Expression),
    /// A list of templates.
    List(Vec<RuleTemplate>),
    /// A map with a template per key.
    Map(Vec<(String, RuleTemplate)>),
}

impl Expression {
    /// Returns the message and help of the first problem.
    pub fn parse(text: &str) -> Result<Expression, (String, String)> {
        let resolved = expr::parse(text).and_then(|ast| ast.resolve(&RuleNames));
        resolved.map(Expression).map_err(|problems| {
            let message = problems.first().map_or("invalid expression", |problem| &problem.message);
            let names: Vec<String> = NAMES.iter().map(|name| format!("`{name}`")).collect();
            let help = format!("an expression sees {}; quote text: \"'text'\"", names.join(", "));
            (format!("invalid expression `{}`: {message}", shortened(text)), help)
        })
    }

    /// Evaluates to a value.
    pub fn eval(&self, facts: &DeliveryFacts<'_>) -> Result<Value, EvalError> {
        in_scope(facts, |scope| self.0.eval(scope))
    }

    /// Evaluates as a condition; an error is one of the expression, not false.
    pub fn holds(&self, facts: &DeliveryFacts<'_>) -> Result<bool, EvalError> {
        in_scope(facts, |scope| self.0.eval_guard(scope))
    }
}

impl RuleTemplate {
    /// Evaluates all expressions in it.
    pub fn eval(&self, facts: &DeliveryFacts<'_>) -> Result<Value, EvalError> {
        Ok(match self {
            RuleTemplate::Literal(value) => value.clone(),
            RuleTemplate::Expression(expression) => expression.eval(facts)?,
            RuleTemplate::List(items) => {
                Value::list(items.iter().map(|item| item.eval(facts)).collect::<Result<_, _>>()?)
            }
            RuleTemplate::Map(fields) => {
                let mut entries = Vec::with_capacity(fields.len());
                for (name, value) in fields {
                    entries.push((name.as_str(), value.eval(facts)?));
                }
                Value::map(entries)
            }
        })
    }
}

fn in_scope<T>(facts: &DeliveryFacts<'_>, eval: impl FnOnce(&EvalScope<'_>) -> T) -> T {
    let (locals, world, instance) = (facts.values(), World::default(), InstanceFacts::default());
    let configuration = Configuration::default();
    eval(&EvalScope {
        context: &[],
        context_names: &[],
        locals: &locals,
        event: None,
        input: &Value::Null,
        now_ms: facts.now_ms,
        world: &world,
        instance: &instance,
        configuration: Active::new(&configuration, &[]),
        sizes: None,
    })
}

fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}

struct RuleNames;

impl NameResolver for RuleNames {
    fn context_key(&self, _: &str) -> Option<Slot> {
        None
    }

    fn context_keys(&self) -> Vec<String> {
        Vec::new()
    }

    fn local(&self, name: &str) -> Option<usize> {
        NAMES.iter().position(|known| *known == name)
    }

    fn state(&self, _: &str) -> Option<NodeId> {
        None
    }
}
