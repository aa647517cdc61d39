//! Functions on maps, and those that accept a key of a map or an index of a list. Nothing is changed in place: each
//! returns a new value.

use std::sync::Arc;

use super::{ArgumentTypes, ExprFunction, FunctionCall, NullRule};
use crate::expr::Type;
use crate::expr::env::{EvalResult, fault};
use crate::expr::measure::{built, check_elements};
use crate::expr::ops;
use crate::value::{Map, Value};

const MAP: (&str, ArgumentTypes) = ("map", ArgumentTypes::MAP);
const EITHER: (&str, ArgumentTypes) = ("x", ArgumentTypes::MAP.or(ArgumentTypes::LIST));
const KEY: (&str, ArgumentTypes) = ("key", ArgumentTypes::STRING.or(ArgumentTypes::NUMBER));
const PARTS: (&str, ArgumentTypes) = ("map", ArgumentTypes::MAP.or(ArgumentTypes::NULL));

pub(super) static FUNCTIONS: &[ExprFunction] = &[
    ExprFunction::new("keys", &[MAP], Type::List, NullRule::EmptyList, keys),
    ExprFunction::new("values", &[MAP], Type::List, NullRule::EmptyList, values),
    ExprFunction::new("has", &[MAP, ("key", ArgumentTypes::STRING)], Type::Bool, NullRule::False, has),
    ExprFunction::new(
        "get",
        &[EITHER, KEY, ("otherwise", ArgumentTypes::ANY)],
        Type::Any,
        NullRule::Seen,
        get,
    )
    .optional(1),
    ExprFunction::new("set", &[EITHER, KEY, ("value", ArgumentTypes::ANY)], Type::Any, NullRule::Seen, set),
    ExprFunction::new("remove", &[EITHER, KEY], Type::Any, NullRule::Null, remove),
    ExprFunction::new("merge", &[PARTS], Type::Map, NullRule::Seen, merge).repeating(),
];

fn entries<'c>(call: &'c FunctionCall<'_>, index: usize) -> EvalResult<Option<&'c Map>> {
    let map = call.value(index).as_map();
    call.env.charge(map.map_or(0, Map::len))?;
    Ok(map)
}

fn keys(call: FunctionCall<'_>) -> EvalResult<Value> {
    let keys = entries(&call, 0)?.into_iter().flat_map(Map::keys);
    built(call.env, Value::list(keys.cloned().map(Value::Str).collect()))
}

fn values(call: FunctionCall<'_>) -> EvalResult<Value> {
    let values = entries(&call, 0)?.into_iter().flat_map(Map::values);
    built(call.env, Value::list(values.cloned().collect()))
}

/// True also for a key whose value is null, unlike `map.key != null`.
fn has(call: FunctionCall<'_>) -> EvalResult<Value> {
    let (map, key) = (call.value(0).as_map(), call.text(1)?);
    Ok(Value::Bool(map.is_some_and(|map| map.contains_key(key))))
}

/// The third argument is the default for a missing or null value.
fn get(call: FunctionCall<'_>) -> EvalResult<Value> {
    let found = ops::index(call.value(0), call.value(1))?.cloned().unwrap_or_default();
    Ok(if found.is_null() { call.value(2).clone() } else { found })
}

fn set(mut call: FunctionCall<'_>) -> EvalResult<Value> {
    let value = call.take(2);
    match (call.value(0), call.value(1)) {
        (Value::Map(_) | Value::Null, Value::Str(key)) => {
            let key = key.clone();
            let mut map = call.take_map(0)?;
            map.insert(key, value);
            check_elements(map.len())?;
            built(call.env, Value::Map(Arc::new(map)))
        }
        (Value::List(items), Value::Int(_) | Value::Float(_)) => {
            let Some(place) = ops::place(call.whole(1)?, items.len()) else {
                return fault("`set` replaces an existing element; append() adds one");
            };
            let mut items = call.take_list(0)?;
            items[place] = value;
            built(call.env, Value::list(items))
        }
        (container, key) => fault(wrong_key(container, key)),
    }
}

fn wrong_key(container: &Value, key: &Value) -> String {
    let container = if container.is_null() { "map" } else { container.type_name() };
    ops::index_message(container, key.type_name())
}

/// Removing a missing key is not an error.
fn remove(mut call: FunctionCall<'_>) -> EvalResult<Value> {
    match (call.value(0), call.value(1)) {
        (Value::Map(_), Value::Str(key)) => {
            let key = key.clone();
            let mut map = call.take_map(0)?;
            map.shift_remove(&key);
            built(call.env, Value::Map(Arc::new(map)))
        }
        (Value::List(items), Value::Int(_) | Value::Float(_)) => {
            let place = ops::place(call.whole(1)?, items.len());
            let mut items = call.take_list(0)?;
            if let Some(place) = place {
                items.remove(place);
            }
            built(call.env, Value::list(items))
        }
        (container, key) => fault(wrong_key(container, key)),
    }
}

/// Later maps take precedence; nested maps are replaced as a whole.
fn merge(mut call: FunctionCall<'_>) -> EvalResult<Value> {
    let mut merged = call.take_map(0)?;
    for index in 1..call.arguments.len() {
        for (key, value) in entries(&call, index)?.into_iter().flatten() {
            merged.insert(key.clone(), value.clone());
        }
        check_elements(merged.len())?;
    }
    built(call.env, Value::Map(Arc::new(merged)))
}
