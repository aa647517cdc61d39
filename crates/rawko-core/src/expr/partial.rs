//! Evaluation with unknown data: a value that depends on unknown data is unknown itself, and everything else is what the
//! ordinary evaluator gives. For `rawko verify`, which explores both outcomes of an unknown guard.

use super::env::{Env, EvalResult, Val};
use super::eval::{context_at, event_part, whole_context};
use super::node::{EventPart, ExprKind, ExprNode};
use super::{EvalError, EvalScope, Expr, ops};
use crate::value::{Map, Value};

/// A private-use character: a text with it is not known, or not known beyond it.
const MARK: char = '\u{f8ff}';

/// The key of a map whose other fields are unknown.
pub const OTHER_FIELDS: &str = "\u{f8ff}";

/// Returns the value that stands for unknown data.
pub fn unknown() -> Value {
    Value::str(OTHER_FIELDS)
}

/// Returns a map with these fields; whether it has others is not known.
pub fn partly_known(fields: &Map) -> Value {
    let mut map = fields.clone();
    map.insert(OTHER_FIELDS.into(), unknown());
    Value::Map(std::sync::Arc::new(map))
}

/// Returns true for the value of unknown data, and for a text that contains it.
pub fn is_unknown(value: &Value) -> bool {
    matches!(value, Value::Str(text) if text.contains(MARK))
}

/// Returns true if any part of a value is unknown.
pub fn has_unknown(value: &Value) -> bool {
    match value {
        Value::Str(text) => text.contains(MARK),
        Value::List(items) => items.iter().any(has_unknown),
        Value::Map(map) => map.values().any(has_unknown),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => false,
    }
}

impl Expr {
    /// Evaluates with unknown data in the scope.
    pub fn eval_partial(&self, scope: &EvalScope<'_>) -> Result<Value, EvalError> {
        let env = Env::new(scope, &self.inner.text, self.inner.nodes);
        self.inner.root.partial(&env).map_err(EvalError::from)
    }

    /// Returns the value as a condition; `None` if it is unknown.
    pub fn holds_partial(&self, scope: &EvalScope<'_>) -> Result<Option<bool>, EvalError> {
        let env = Env::new(scope, &self.inner.text, self.inner.nodes);
        self.inner.root.condition(&env).map_err(EvalError::from)
    }
}

impl ExprNode {
    fn condition(&self, env: &Env<'_>) -> EvalResult<Option<bool>> {
        let value = self.partial(env)?;
        if is_unknown(&value) { Ok(None) } else { ops::truth(&value).map(Some) }
    }

    fn partial(&self, env: &Env<'_>) -> EvalResult<Value> {
        match &self.kind {
            ExprKind::Constant(_)
            | ExprKind::Slot(_)
            | ExprKind::Local(_)
            | ExprKind::Input
            | ExprKind::Event(EventPart::Data) => Ok(self.peek(env).cloned().unwrap_or_default()),
            // An event from outside may have any sender.
            ExprKind::Event(part) if part.is_of_sender() => {
                let value = event_part(env.scope.event, *part).into_value();
                Ok(if value.is_null() && env.scope.event.is_some() { unknown() } else { value })
            }
            ExprKind::Event(part) => Ok(event_part(env.scope.event, *part).into_value()),
            // Settings, and facts of a particular instance.
            ExprKind::Env | ExprKind::Instance(_) => Ok(unknown()),
            ExprKind::Context => whole_context(env),
            ExprKind::ContextAt(key) => match key.partial(env)? {
                key if is_unknown(&key) => Ok(unknown()),
                key => context_at(env, &key).map(Val::into_value),
            },
            ExprKind::StateIn(node) => Ok(Value::Bool(env.scope.configuration.contains(*node))),
            ExprKind::Field(base, key) => {
                let base = base.partial(env)?;
                if is_unknown(&base) || lacks(&base, key) {
                    return Ok(unknown());
                }
                Ok(ops::field(&base, key)?.cloned().unwrap_or_default())
            }
            ExprKind::Index(two) => {
                let (base, index) = (two[0].partial(env)?, two[1].partial(env)?);
                let is_missing = index.as_str().is_some_and(|key| lacks(&base, key));
                if is_unknown(&base) || is_unknown(&index) || is_missing {
                    return Ok(unknown());
                }
                Ok(ops::index(&base, &index)?.cloned().unwrap_or_default())
            }
            ExprKind::Negate(operand) => match operand.partial(env)? {
                operand if is_unknown(&operand) => Ok(operand),
                operand => ops::negate(&operand),
            },
            ExprKind::Not(operand) => Ok(truth(operand.condition(env)?.map(|truth| !truth))),
            ExprKind::And(two) => connective(env, two, false),
            ExprKind::Or(two) => connective(env, two, true),
            ExprKind::Coalesce(two) => match two[0].partial(env)? {
                Value::Null => two[1].partial(env),
                value => Ok(value),
            },
            ExprKind::Arithmetic(operator, two) => {
                both(env, two, |left, right| ops::arithmetic(env, *operator, left, right))
            }
            ExprKind::Order(operator, two) => {
                both(env, two, |left, right| ops::order(env, *operator, left, right).map(Value::Bool))
            }
            ExprKind::Equal(two) => same(env, two, true),
            ExprKind::NotEqual(two) => same(env, two, false),
            ExprKind::In(two) => {
                both(env, two, |item, container| ops::contains(env, item, container).map(Value::Bool))
            }
            ExprKind::NotIn(two) => both(env, two, |item, container| {
                ops::contains(env, item, container).map(|found| Value::Bool(!found))
            }),
            ExprKind::Concat(two) => {
                let mut text = String::new();
                for part in two.iter() {
                    match part.partial(env)? {
                        part if has_unknown(&part) && !is_unknown(&part) => text.push(MARK),
                        part => ops::write_text(&part, &mut text)?,
                    }
                }
                Ok(Value::from(text))
            }
            ExprKind::Conditional(three) => match three[0].condition(env)? {
                Some(true) => three[1].partial(env),
                Some(false) => three[2].partial(env),
                None => {
                    let (one, other) = (three[1].partial(env), three[2].partial(env));
                    let is_same = |one: &Value, other: &Value| one.is_identical(other) && !has_unknown(one);
                    match (one, other) {
                        (Ok(one), Ok(other)) if is_same(&one, &other) => Ok(one),
                        _ => Ok(unknown()),
                    }
                }
            },
            ExprKind::List(items) => {
                let items: EvalResult<Vec<Value>> = items.iter().map(|item| item.partial(env)).collect();
                items.map(Value::list)
            }
            ExprKind::Map(entries) => {
                let mut map = Map::default();
                for (key, value) in entries {
                    map.insert(key.clone(), value.partial(env)?);
                }
                Ok(Value::Map(std::sync::Arc::new(map)))
            }
            ExprKind::Call(function, arguments) => {
                let mut values = smallvec::SmallVec::new();
                let mut is_known = function.reads_nothing;
                for argument in arguments {
                    let value = argument.partial(env)?;
                    // The length of a list does not depend on its items.
                    let is_measured = function.name == "length" && matches!(value, Value::List(_));
                    is_known &= is_measured || !has_unknown(&value);
                    values.push(Val::Own(value));
                }
                if !is_known {
                    return Ok(unknown());
                }
                function.run(super::functions::FunctionCall { env, arguments: values })
            }
        }
    }
}

fn truth(condition: Option<bool>) -> Value {
    condition.map_or_else(unknown, Value::Bool)
}

/// Returns true if a map does not have a field, but may.
fn lacks(value: &Value, key: &str) -> bool {
    value.as_map().is_some_and(|map| !map.contains_key(key) && map.contains_key(OTHER_FIELDS))
}

/// `and` for `false`, `or` for `true`: that value on either side decides, regardless of the other.
fn connective(env: &Env<'_>, two: &[ExprNode; 2], decisive: bool) -> EvalResult<Value> {
    let left = two[0].condition(env)?;
    if left == Some(decisive) {
        return Ok(Value::Bool(decisive));
    }
    let right = match (left, two[1].condition(env)) {
        // It may never be evaluated.
        (None, Err(_)) => None,
        (_, right) => right?,
    };
    Ok(match (left, right) {
        (_, Some(right)) if right == decisive => Value::Bool(decisive),
        (Some(_), right) => truth(right),
        (None, _) => unknown(),
    })
}

fn both(
    env: &Env<'_>,
    two: &[ExprNode; 2],
    by: impl FnOnce(&Value, &Value) -> EvalResult<Value>,
) -> EvalResult<Value> {
    let (left, right) = (two[0].partial(env)?, two[1].partial(env)?);
    if has_unknown(&left) || has_unknown(&right) {
        return Ok(unknown());
    }
    by(&left, &right)
}

fn same(env: &Env<'_>, two: &[ExprNode; 2], wanted: bool) -> EvalResult<Value> {
    let (left, right) = (two[0].partial(env)?, two[1].partial(env)?);
    // A map with unknown fields is still not null.
    let is_open = is_unknown(&left)
        || is_unknown(&right)
        || (left.type_name() == right.type_name() && (has_unknown(&left) || has_unknown(&right)));
    if is_open {
        return Ok(unknown());
    }
    ops::same(env, &left, &right).map(|same| Value::Bool(same == wanted))
}

#[cfg(test)]
mod tests {
    use super::super::{NameResolver, parse};
    use super::*;
    use crate::configuration::Configuration;
    use crate::ids::{NodeId, Slot};
    use crate::world::{InstanceFacts, World};

    /// `context.x` is unknown, `context.n` is 1, `context.m` is a map of which only `a` is known, `context.l` has one
    /// unknown item.
    struct PartialContext;

    impl NameResolver for PartialContext {
        fn context_key(&self, key: &str) -> Option<Slot> {
            ["x", "n", "m", "l"].iter().position(|name| *name == key).map(|slot| Slot(slot as u32))
        }
        fn context_keys(&self) -> Vec<String> {
            Vec::new()
        }
        fn local(&self, _: &str) -> Option<usize> {
            None
        }
        fn state(&self, _: &str) -> Option<NodeId> {
            Some(NodeId::ROOT)
        }
    }

    #[test]
    fn what_does_not_depend_on_unknown_data_is_known() {
        let fields: Map = [("a".into(), Value::Int(1))].into_iter().collect();
        let context = [unknown(), Value::Int(1), partly_known(&fields), Value::list(vec![unknown()])];
        let (world, instance, configuration) =
            (World::default(), InstanceFacts::default(), Configuration::default());
        let scope = EvalScope {
            context: &context,
            context_names: &[],
            locals: &[],
            event: None,
            input: &Value::Null,
            now_ms: 0,
            world: &world,
            instance: &instance,
            configuration: crate::configuration::Active { frontier: configuration.frontier(), last: &[] },
            sizes: None,
        };
        let table = [
            ("context.x > 1", "?"),
            ("context.n == 1 or context.x", "true"),
            ("context.x or context.n == 1", "true"),
            ("context.x and context.n == 2", "false"),
            ("not (context.x and true)", "?"),
            ("context.m == null", "false"),
            ("context.m.a + 1", "2"),
            ("context.m.b", "?"),
            ("context.m.b ?? 3", "?"),
            ("length(context.l)", "1"),
            ("context.l[0]", "?"),
            ("context.x ? 1 : 1", "1"),
            ("context.x ? 1 : 2", "?"),
            ("upper('a' ~ context.x)", "?"),
            ("{a: context.n}.a", "1"),
            ("now() > 1", "?"),
        ];
        for (text, expected) in table {
            let value = parse(text).unwrap().resolve(&PartialContext).unwrap().eval_partial(&scope).unwrap();
            let shown = if is_unknown(&value) { "?".to_owned() } else { value.to_string() };
            assert_eq!(shown, expected, "{text}");
        }
        let prefix = parse("'tool:' ~ context.x").unwrap().resolve(&PartialContext).unwrap();
        assert_eq!(prefix.eval_partial(&scope).unwrap(), Value::str("tool:\u{f8ff}"));
    }
}
