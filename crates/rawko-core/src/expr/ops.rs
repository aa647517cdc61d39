//! The operators on two values. Separate from the tree walk, so that every typing rule is in one file.

use std::cmp::Ordering;
use std::sync::Arc;

use super::ast::{Arithmetic, OrderOperator};
use super::env::{Env, EvalResult, fault};
use super::measure::{built, check_elements, check_text, measure};
use crate::value::Value;

#[inline]
pub(crate) fn arithmetic(
    env: &Env<'_>,
    operator: Arithmetic,
    left: &Value,
    right: &Value,
) -> EvalResult<Value> {
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => integers(operator, *a, *b),
        (Value::Int(_) | Value::Float(_), Value::Int(_) | Value::Float(_)) => {
            floats(operator, left.as_f64().unwrap_or_default(), right.as_f64().unwrap_or_default())
        }
        _ if operator == Arithmetic::Add => joined(env, left, right),
        _ => mismatch(operator, left, right),
    }
}

#[inline]
fn integers(operator: Arithmetic, a: i64, b: i64) -> EvalResult<Value> {
    let exact = match operator {
        Arithmetic::Add => a.checked_add(b),
        Arithmetic::Subtract => a.checked_sub(b),
        Arithmetic::Multiply => a.checked_mul(b),
        Arithmetic::Divide => return divided(a, b),
        Arithmetic::Remainder if b == 0 => return fault("remainder of a division by zero"),
        // The only overflow, the minimum divided by -1, has remainder 0.
        Arithmetic::Remainder => Some(a.checked_rem(b).unwrap_or(0)),
        Arithmetic::Power => u32::try_from(b).ok().and_then(|exponent| a.checked_pow(exponent)),
    };
    match exact {
        Some(whole) => Ok(Value::Int(whole)),
        None => floats(operator, a as f64, b as f64),
    }
}

fn divided(a: i64, b: i64) -> EvalResult<Value> {
    match (b, a.checked_rem(b)) {
        (0, _) => fault("division by zero"),
        (_, Some(0)) => Ok(Value::Int(a / b)),
        (_, _) => floats(Arithmetic::Divide, a as f64, b as f64),
    }
}

fn floats(operator: Arithmetic, a: f64, b: f64) -> EvalResult<Value> {
    let result = match operator {
        Arithmetic::Add => a + b,
        Arithmetic::Subtract => a - b,
        Arithmetic::Multiply => a * b,
        Arithmetic::Divide if b == 0.0 => return fault("division by zero"),
        Arithmetic::Divide => a / b,
        Arithmetic::Remainder if b == 0.0 => return fault("remainder of a division by zero"),
        Arithmetic::Remainder => a % b,
        Arithmetic::Power => a.powf(b),
    };
    finite(result)
}

pub(crate) fn finite(result: f64) -> EvalResult<Value> {
    if result.is_finite() { Ok(Value::Float(result)) } else { fault("the result is not a finite number") }
}

/// `+` of two strings or two lists.
fn joined(env: &Env<'_>, left: &Value, right: &Value) -> EvalResult<Value> {
    match (left, right) {
        (Value::Str(a), Value::Str(b)) => two_texts(env, a, b),
        (Value::List(a), Value::List(b)) => {
            check_elements(a.len() + b.len())?;
            built(env, Value::List(Arc::new(a.iter().chain(b.iter()).cloned().collect())))
        }
        _ => mismatch(Arithmetic::Add, left, right),
    }
}

fn two_texts(env: &Env<'_>, a: &str, b: &str) -> EvalResult<Value> {
    check_text(a.len() + b.len())?;
    env.charge_bytes(a.len() + b.len())?;
    let mut text = String::with_capacity(a.len() + b.len());
    text.push_str(a);
    text.push_str(b);
    Ok(Value::Str(text.into()))
}

#[cold]
fn mismatch(operator: Arithmetic, left: &Value, right: &Value) -> EvalResult<Value> {
    fault(mismatch_message(operator, left.type_name(), right.type_name()))
}

pub(crate) fn mismatch_message(operator: Arithmetic, left: &str, right: &str) -> String {
    let symbol = operator.symbol();
    if operator != Arithmetic::Add {
        return format!(
            "`{symbol}` takes two numbers, not {} and {}",
            with_article(left),
            with_article(right)
        );
    }
    let hint = match (left, right) {
        ("string", _) | (_, "string") => "; `~` joins texts, or use string()",
        ("list", _) => "; append() adds one element",
        ("map", "map") => "; merge() joins maps",
        ("null", _) | (_, "null") => "; use `??` to give a default",
        _ => "",
    };
    let (left, right) = (with_article(left), with_article(right));
    format!("`+` takes two numbers, two strings or two lists, not {left} and {right}{hint}")
}

/// Returns `a number`, but `null`.
pub(crate) fn with_article(type_name: &str) -> String {
    if type_name == "null" { type_name.to_owned() } else { format!("a {type_name}") }
}

#[inline]
pub(crate) fn order(env: &Env<'_>, operator: OrderOperator, left: &Value, right: &Value) -> EvalResult<bool> {
    let ordering = match (left, right) {
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::Int(_) | Value::Float(_), Value::Int(_) | Value::Float(_)) => {
            match left.as_f64().partial_cmp(&right.as_f64()) {
                Some(ordering) => ordering,
                None => return Ok(false),
            }
        }
        (Value::Str(a), Value::Str(b)) => texts(env, a, b)?,
        _ => return fault(order_message(operator, left.type_name(), right.type_name())),
    };
    Ok(match operator {
        OrderOperator::Less => ordering == Ordering::Less,
        OrderOperator::LessOrEqual => ordering != Ordering::Greater,
        OrderOperator::Greater => ordering == Ordering::Greater,
        OrderOperator::GreaterOrEqual => ordering != Ordering::Less,
    })
}

fn texts(env: &Env<'_>, a: &str, b: &str) -> EvalResult<Ordering> {
    env.charge_bytes(a.len().min(b.len()))?;
    Ok(a.cmp(b))
}

pub(crate) fn order_message(operator: OrderOperator, left: &str, right: &str) -> String {
    let (left, right) = (with_article(left), with_article(right));
    format!("`{}` compares two numbers or two strings, not {left} and {right}", operator.symbol())
}

/// Below this length comparing two strings costs about as much as comparing two numbers.
const SHORT_TEXT_BYTES: usize = 256;

#[inline]
pub(crate) fn same(env: &Env<'_>, left: &Value, right: &Value) -> EvalResult<bool> {
    match (left, right) {
        (Value::Str(a), Value::Str(b)) if a.len() == b.len() && a.len() > SHORT_TEXT_BYTES => {
            env.charge_bytes(a.len())?;
        }
        (Value::List(_), Value::List(_)) | (Value::Map(_), Value::Map(_)) => {
            env.charge(measure(left, env.fuel(), env.scope.sizes)?)?;
        }
        _ => {}
    }
    Ok(left == right)
}

pub(crate) fn contains(env: &Env<'_>, item: &Value, container: &Value) -> EvalResult<bool> {
    match (container, item) {
        (Value::Null, _) => Ok(false),
        (Value::List(items), _) => Ok(position(env, item, items)?.is_some()),
        (Value::Map(_), Value::Null) => Ok(false),
        (Value::Map(map), Value::Str(key)) => Ok(map.contains_key(key)),
        (Value::Str(text), Value::Str(part)) => {
            env.charge_bytes(text.len())?;
            Ok(text.contains(part.as_ref()))
        }
        _ => fault(membership_message(item.type_name(), container.type_name())),
    }
}

pub(crate) fn membership_message(item: &str, container: &str) -> String {
    let (item, in_what) = (with_article(item), with_article(container));
    match container {
        "string" => format!("only a string can be `in` a string, not {item}"),
        "map" => format!("a map key must be a string, not {item}"),
        _ => format!("`in` needs a list, a map or a string on its right, not {in_what}"),
    }
}

pub(crate) fn position(env: &Env<'_>, item: &Value, items: &[Value]) -> EvalResult<Option<usize>> {
    env.charge(items.len())?;
    for (index, candidate) in items.iter().enumerate() {
        if same(env, candidate, item)? {
            return Ok(Some(index));
        }
    }
    Ok(None)
}

/// Appends the text of any value but a list or map.
pub(crate) fn write_text(value: &Value, text: &mut String) -> EvalResult<()> {
    match value {
        Value::Str(part) => text.push_str(part),
        Value::Null => text.push_str("null"),
        Value::Bool(truth) => text.push_str(if *truth { "true" } else { "false" }),
        Value::Int(whole) => text.push_str(&whole.to_string()),
        Value::Float(_) => text.push_str(&value.to_string()),
        Value::List(_) | Value::Map(_) => return fault(concat_message(value.type_name())),
    }
    check_text(text.len())
}

pub(crate) fn concat_message(type_name: &str) -> String {
    format!(
        "`~` joins strings, numbers, booleans and null, not {}; json() gives its text",
        with_article(type_name)
    )
}

#[inline]
pub(crate) fn negate(value: &Value) -> EvalResult<Value> {
    match value {
        Value::Int(whole) => Ok(whole.checked_neg().map_or(Value::Float(-(*whole as f64)), Value::Int)),
        Value::Float(number) => Ok(Value::Float(-number)),
        Value::Null | Value::Bool(_) | Value::Str(_) | Value::List(_) | Value::Map(_) => {
            fault(format!("`-` takes a number, not {}", with_article(value.type_name())))
        }
    }
}

/// Converts a condition's value: null counts as false, anything but a boolean is an error.
#[inline]
pub(crate) fn truth(value: &Value) -> EvalResult<bool> {
    match value {
        Value::Bool(value) => Ok(*value),
        Value::Null => Ok(false),
        Value::Int(_) | Value::Float(_) | Value::Str(_) | Value::List(_) | Value::Map(_) => {
            fault(truth_message(value.type_name()))
        }
    }
}

pub(crate) fn truth_message(type_name: &str) -> String {
    format!("a condition is true, false or null, not {}", with_article(type_name))
}

/// `value.key`
#[inline]
pub(crate) fn field<'v>(value: &'v Value, key: &str) -> EvalResult<Option<&'v Value>> {
    match value {
        Value::Map(map) => Ok(map.get(key)),
        Value::Null => Ok(None),
        Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) | Value::List(_) => {
            fault(field_message(key, value.type_name()))
        }
    }
}

pub(crate) fn field_message(key: &str, type_name: &str) -> String {
    let hint = match (key, type_name) {
        ("length" | "size" | "len", "list" | "string") => "; length() counts",
        (_, "list") => "; pluck() takes a field of each element",
        _ => "",
    };
    format!("{} has no field `{key}`{hint}", with_article(type_name))
}

/// `value[index]`
pub(crate) fn index<'v>(value: &'v Value, index: &Value) -> EvalResult<Option<&'v Value>> {
    match (value, index) {
        (Value::Null, _) | (Value::List(_) | Value::Map(_), Value::Null) => Ok(None),
        (Value::Map(map), Value::Str(key)) => Ok(map.get(key)),
        (Value::List(items), Value::Int(_) | Value::Float(_)) => {
            Ok(place(whole(index)?, items.len()).and_then(|place| items.get(place)))
        }
        _ => fault(index_message(value.type_name(), index.type_name())),
    }
}

pub(crate) fn index_message(type_name: &str, index: &str) -> String {
    let (article, index) = (with_article(type_name), with_article(index));
    match type_name {
        "list" => format!("a list index must be a number, not {index}"),
        "map" => format!("a map key must be a string, not {index}"),
        "string" => "a string cannot be indexed; slice() takes a part of it".to_owned(),
        _ => format!("{article} cannot be indexed"),
    }
}

/// Converts to an integer, also from a float without a fraction.
pub(crate) fn whole(value: &Value) -> EvalResult<i64> {
    match value {
        Value::Int(whole) => Ok(*whole),
        Value::Float(number) if number.fract() == 0.0 && number.abs() < 9.0e18 => Ok(*number as i64),
        _ => fault(format!("expected a whole number, found {value}")),
    }
}

/// Resolves an index; negative ones count from the end.
pub(crate) fn place(index: i64, length: usize) -> Option<usize> {
    let from_start = if index < 0 { index.checked_add(i64::try_from(length).ok()?)? } else { index };
    usize::try_from(from_start).ok().filter(|place| *place < length)
}
