//! Functions on numbers.

use super::{ArgumentTypes, ExprFunction, FunctionCall, NullRule};
use crate::expr::Type;
use crate::expr::ast::{Arithmetic, OrderOperator};
use crate::expr::env::{EvalResult, fault};
use crate::expr::ops::{self, with_article};
use crate::value::Value;

const X: (&str, ArgumentTypes) = ("x", ArgumentTypes::NUMBER);
const READABLE: (&str, ArgumentTypes) = ("x", ArgumentTypes::NUMBER.or(ArgumentTypes::STRING));
const SOME: (&str, ArgumentTypes) = ("x", ArgumentTypes::NUMBER.or(ArgumentTypes::LIST));
const LIST: (&str, ArgumentTypes) = ("list", ArgumentTypes::LIST);

pub(super) static FUNCTIONS: &[ExprFunction] = &[
    ExprFunction::new("number", &[READABLE], Type::Number, NullRule::Null, number),
    ExprFunction::new("int", &[READABLE], Type::Number, NullRule::Null, int),
    ExprFunction::new("abs", &[X], Type::Number, NullRule::Null, abs),
    ExprFunction::new("floor", &[X], Type::Number, NullRule::Null, |call| rounded(&call, f64::floor)),
    ExprFunction::new("ceil", &[X], Type::Number, NullRule::Null, |call| rounded(&call, f64::ceil)),
    ExprFunction::new("round", &[X, ("digits", ArgumentTypes::NUMBER)], Type::Number, NullRule::Null, round)
        .optional(1),
    ExprFunction::new("min", &[SOME], Type::Number, NullRule::Null, |call| {
        extreme(&call, OrderOperator::Less)
    })
    .repeating(),
    ExprFunction::new("max", &[SOME], Type::Number, NullRule::Null, |call| {
        extreme(&call, OrderOperator::Greater)
    })
    .repeating(),
    ExprFunction::new("sum", &[LIST], Type::Number, NullRule::Zero, sum),
    ExprFunction::new("avg", &[LIST], Type::Number, NullRule::Null, avg),
    ExprFunction::new(
        "clamp",
        &[X, ("low", ArgumentTypes::NUMBER), ("high", ArgumentTypes::NUMBER)],
        Type::Number,
        NullRule::Null,
        clamp,
    ),
];

/// A text that is not a number gives null.
fn number(call: FunctionCall<'_>) -> EvalResult<Value> {
    let Value::Str(_) = call.value(0) else { return Ok(call.value(0).clone()) };
    let text = call.text(0)?.trim();
    // Rust also parses `inf` and `nan`, which are not numbers here.
    if !text.ends_with(|last: char| last.is_ascii_digit() || last == '.') {
        return Ok(Value::Null);
    }
    Ok(match text.parse() {
        Ok(whole) => Value::Int(whole),
        Err(_) => text.parse().map_or(Value::Null, Value::float),
    })
}

/// Truncates the fraction.
fn int(call: FunctionCall<'_>) -> EvalResult<Value> {
    match number(call)? {
        Value::Float(number) => whole(number.trunc()),
        other => Ok(other),
    }
}

/// A value beyond 64 bits stays a float, as in arithmetic.
fn whole(number: f64) -> EvalResult<Value> {
    let fits = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&number);
    Ok(if fits { Value::Int(number as i64) } else { Value::Float(number) })
}

fn abs(call: FunctionCall<'_>) -> EvalResult<Value> {
    let value = call.value(0);
    if value.as_f64().is_some_and(|number| number < 0.0) { ops::negate(value) } else { Ok(value.clone()) }
}

fn rounded(call: &FunctionCall<'_>, by: fn(f64) -> f64) -> EvalResult<Value> {
    match call.value(0) {
        Value::Float(number) => whole(by(*number)),
        other => Ok(other.clone()),
    }
}

/// Halves round away from zero. With digits the result is a float, without them an integer.
fn round(call: FunctionCall<'_>) -> EvalResult<Value> {
    if call.value(1).is_null() {
        return rounded(&call, f64::round);
    }
    let digits = call.whole(1)?;
    if !(0..=15).contains(&digits) {
        return fault("`round` takes 0 to 15 digits");
    }
    match call.value(0) {
        // Through decimal text, because 1.005 times 100 is not 100.5 in binary.
        Value::Float(number) => {
            Ok(format!("{number:.*}", digits as usize).parse().map_or(Value::Null, Value::Float))
        }
        other => Ok(other.clone()),
    }
}

/// Returns the minimum or maximum of the arguments; lists count as their elements.
fn extreme(call: &FunctionCall<'_>, better: OrderOperator) -> EvalResult<Value> {
    let mut best: Option<Value> = None;
    for index in 0..call.arguments.len() {
        let single = [call.value(index).clone()];
        let candidates = if matches!(single[0], Value::List(_)) { call.list(index)? } else { &single };
        for candidate in candidates {
            numeric(candidate)?;
            if best.as_ref().map_or(Ok(true), |best| ops::order(call.env, better, candidate, best))? {
                best = Some(candidate.clone());
            }
        }
    }
    Ok(best.unwrap_or_default())
}

fn numeric(value: &Value) -> EvalResult<()> {
    match value {
        Value::Int(_) | Value::Float(_) => Ok(()),
        other => fault(format!(
            "expected a list of numbers, but one element is {}",
            with_article(other.type_name())
        )),
    }
}

fn sum(call: FunctionCall<'_>) -> EvalResult<Value> {
    call.list(0)?.iter().try_fold(Value::Int(0), |sum, item| {
        numeric(item)?;
        ops::arithmetic(call.env, Arithmetic::Add, &sum, item)
    })
}

/// Null for an empty list.
fn avg(mut call: FunctionCall<'_>) -> EvalResult<Value> {
    let count = call.list(0)?.len();
    if count == 0 {
        return Ok(Value::Null);
    }
    let list = call.take(0);
    let env = call.env;
    let total =
        sum(FunctionCall { env, arguments: [crate::expr::env::Val::Own(list)].into_iter().collect() })?;
    ops::arithmetic(env, Arithmetic::Divide, &total, &Value::Int(count as i64))
}

fn clamp(call: FunctionCall<'_>) -> EvalResult<Value> {
    if call.number(1) > call.number(2) {
        return fault("`clamp` needs a minimum that is not above the maximum");
    }
    let place = if call.number(0) < call.number(1) {
        1
    } else if call.number(0) > call.number(2) {
        2
    } else {
        0
    };
    Ok(call.value(place).clone())
}
