//! Functions on values of any type.

use super::{ArgumentTypes, ExprFunction, FunctionCall, NullRule};
use crate::expr::Type;
use crate::expr::env::{EvalResult, fault};
use crate::expr::measure::{built, built_text, measure};
use crate::value::Value;

const X: (&str, ArgumentTypes) = ("x", ArgumentTypes::ANY);

pub(super) static FUNCTIONS: &[ExprFunction] = &[
    ExprFunction::new("default", &[X, ("otherwise", ArgumentTypes::ANY)], Type::Any, NullRule::Seen, default),
    ExprFunction::new("is_null", &[X], Type::Bool, NullRule::Seen, is_null),
    ExprFunction::new("type", &[X], Type::String, NullRule::Seen, type_of),
    ExprFunction::new("string", &[X], Type::String, NullRule::Seen, string),
    ExprFunction::new("json", &[X], Type::String, NullRule::Seen, json),
    ExprFunction::new(
        "parse_json",
        &[("text", ArgumentTypes::STRING)],
        Type::Any,
        NullRule::Null,
        parse_json,
    ),
];

fn default(mut call: FunctionCall<'_>) -> EvalResult<Value> {
    let first = call.take(0);
    Ok(if first.is_null() { call.take(1) } else { first })
}

fn is_null(call: FunctionCall<'_>) -> EvalResult<Value> {
    Ok(Value::Bool(call.value(0).is_null()))
}

fn type_of(call: FunctionCall<'_>) -> EvalResult<Value> {
    Ok(Value::str(call.value(0).type_name()))
}

/// Returns a string unchanged, everything else as JSON.
fn string(mut call: FunctionCall<'_>) -> EvalResult<Value> {
    if let Value::Str(_) = call.value(0) { Ok(call.take(0)) } else { json(call) }
}

fn json(call: FunctionCall<'_>) -> EvalResult<Value> {
    let value = call.value(0);
    call.env.charge(measure(value, call.env.fuel(), call.env.scope.sizes)?)?;
    match serde_json::to_string(value) {
        Ok(text) => built_text(call.env, text),
        Err(error) => fault(format!("the value cannot be written as JSON: {error}")),
    }
}

/// Invalid JSON gives null. Nesting is limited by the JSON reader.
fn parse_json(call: FunctionCall<'_>) -> EvalResult<Value> {
    match serde_json::from_str(call.text(0)?) {
        Ok(value) => built(call.env, value),
        Err(_) => Ok(Value::Null),
    }
}
