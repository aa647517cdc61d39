//! Functions on values of any type.

use super::{Call, Function, Missing, Types};
use crate::expr::Type;
use crate::expr::env::{Outcome, fault};
use crate::expr::measure::{built, built_text, measure};
use crate::value::Value;

const X: (&str, Types) = ("x", Types::ANY);

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new("default", &[X, ("otherwise", Types::ANY)], Type::Any, Missing::Seen, default),
    Function::new("is_null", &[X], Type::Bool, Missing::Seen, is_null),
    Function::new("type", &[X], Type::String, Missing::Seen, type_of),
    Function::new("string", &[X], Type::String, Missing::Seen, string),
    Function::new("json", &[X], Type::String, Missing::Seen, json),
    Function::new("parse_json", &[("text", Types::STRING)], Type::Any, Missing::Null, parse_json),
];

fn default(mut call: Call<'_>) -> Outcome<Value> {
    let first = call.take(0);
    Ok(if first.is_null() { call.take(1) } else { first })
}

fn is_null(call: Call<'_>) -> Outcome<Value> {
    Ok(Value::Bool(call.value(0).is_null()))
}

fn type_of(call: Call<'_>) -> Outcome<Value> {
    Ok(Value::str(call.value(0).type_name()))
}

/// Returns a string unchanged, everything else as JSON.
fn string(mut call: Call<'_>) -> Outcome<Value> {
    if let Value::Str(_) = call.value(0) { Ok(call.take(0)) } else { json(call) }
}

fn json(call: Call<'_>) -> Outcome<Value> {
    let value = call.value(0);
    call.env.charge(measure(value, call.env.fuel())?)?;
    match serde_json::to_string(value) {
        Ok(text) => built_text(call.env, text),
        Err(error) => fault(format!("the value cannot be written as JSON: {error}")),
    }
}

/// Invalid JSON gives null. Nesting is limited by the JSON reader.
fn parse_json(call: Call<'_>) -> Outcome<Value> {
    match serde_json::from_str(call.text(0)?) {
        Ok(value) => built(call.env, value),
        Err(_) => Ok(Value::Null),
    }
}
