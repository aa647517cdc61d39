//! Functions on strings, and those that accept a string or a list. Lengths and positions count characters.

use super::{ArgumentTypes, ExprFunction, FunctionCall, NullRule};
use crate::expr::Type;
use crate::expr::env::{EvalResult, fault};
use crate::expr::limits::{BYTES_PER_UNIT, TEXT_BYTES_MAX};
use crate::expr::measure::{built, built_text, check_elements, check_text};
use crate::expr::ops;
use crate::value::Value;

const TEXT: (&str, ArgumentTypes) = ("text", ArgumentTypes::STRING);

pub(super) static FUNCTIONS: &[ExprFunction] = &[
    ExprFunction::new("lower", &[TEXT], Type::String, NullRule::Null, lower),
    ExprFunction::new("upper", &[TEXT], Type::String, NullRule::Null, upper),
    ExprFunction::new("trim", &[TEXT], Type::String, NullRule::Null, trim),
    ExprFunction::new(
        "replace",
        &[TEXT, ("from", ArgumentTypes::STRING), ("to", ArgumentTypes::STRING)],
        Type::String,
        NullRule::Null,
        replace,
    ),
    ExprFunction::new(
        "split",
        &[TEXT, ("separator", ArgumentTypes::STRING)],
        Type::List,
        NullRule::Null,
        split,
    ),
    ExprFunction::new("lines", &[TEXT], Type::List, NullRule::Null, lines),
    ExprFunction::new(
        "join",
        &[("list", ArgumentTypes::LIST), ("separator", ArgumentTypes::STRING)],
        Type::String,
        NullRule::EmptyText,
        join,
    )
    .optional(1),
    ExprFunction::new(
        "starts_with",
        &[TEXT, ("start", ArgumentTypes::STRING)],
        Type::Bool,
        NullRule::False,
        starts_with,
    ),
    ExprFunction::new(
        "ends_with",
        &[TEXT, ("end", ArgumentTypes::STRING)],
        Type::Bool,
        NullRule::False,
        ends_with,
    ),
    ExprFunction::new("glob", &[TEXT, ("pattern", ArgumentTypes::STRING)], Type::Bool, NullRule::False, glob),
    ExprFunction::new(
        "length",
        &[("x", SEQUENCE.or(ArgumentTypes::MAP))],
        Type::Number,
        NullRule::Zero,
        length,
    ),
    ExprFunction::new(
        "contains",
        &[("x", SEQUENCE.or(ArgumentTypes::MAP)), ("item", ArgumentTypes::ANY)],
        Type::Bool,
        NullRule::False,
        contains,
    ),
    ExprFunction::new(
        "index_of",
        &[("x", SEQUENCE), ("item", ArgumentTypes::ANY)],
        Type::Number,
        NullRule::Null,
        index_of,
    ),
    ExprFunction::new(
        "slice",
        &[("x", SEQUENCE), ("from", ArgumentTypes::NUMBER), ("to", ArgumentTypes::NUMBER)],
        Type::Any,
        NullRule::Null,
        slice,
    )
    .optional(1),
];

const SEQUENCE: ArgumentTypes = ArgumentTypes::STRING.or(ArgumentTypes::LIST);

fn lower(call: FunctionCall<'_>) -> EvalResult<Value> {
    built_text(call.env, call.text(0)?.to_lowercase())
}

fn upper(call: FunctionCall<'_>) -> EvalResult<Value> {
    built_text(call.env, call.text(0)?.to_uppercase())
}

fn trim(call: FunctionCall<'_>) -> EvalResult<Value> {
    built_text(call.env, call.text(0)?.trim().to_owned())
}

fn replace(call: FunctionCall<'_>) -> EvalResult<Value> {
    let (text, from, to) = (call.text(0)?, call.text(1)?, call.text(2)?);
    if from.is_empty() {
        return fault("`replace` needs a search string that is not empty");
    }
    let found = text.matches(from).count();
    check_text((text.len() - found * from.len()).saturating_add(found.saturating_mul(to.len())))?;
    built_text(call.env, text.replace(from, to))
}

/// An empty separator splits into characters.
fn split(call: FunctionCall<'_>) -> EvalResult<Value> {
    let (text, separator) = (call.text(0)?, call.text(1)?);
    if separator.is_empty() {
        return pieces(&call, text.char_indices().map(|(at, next)| &text[at..at + next.len_utf8()]));
    }
    pieces(&call, text.split(separator))
}

fn lines(call: FunctionCall<'_>) -> EvalResult<Value> {
    pieces(&call, call.text(0)?.lines())
}

fn pieces<'t>(call: &FunctionCall<'_>, parts: impl Iterator<Item = &'t str>) -> EvalResult<Value> {
    let mut items = Vec::new();
    for part in parts {
        check_elements(items.len() + 1)?;
        items.push(Value::str(part));
    }
    built(call.env, Value::list(items))
}

fn join(call: FunctionCall<'_>) -> EvalResult<Value> {
    let (items, separator) = (call.list(0)?, call.text(1)?);
    let mut text = String::new();
    for (index, item) in items.iter().enumerate() {
        if matches!(item, Value::List(_) | Value::Map(_)) {
            return fault(format!(
                "`join` joins texts, numbers, booleans and nulls, not a {}",
                item.type_name()
            ));
        }
        if index > 0 {
            text.push_str(separator);
        }
        ops::write_text(item, &mut text)?;
    }
    built_text(call.env, text)
}

fn starts_with(call: FunctionCall<'_>) -> EvalResult<Value> {
    Ok(Value::Bool(call.text(0)?.starts_with(call.text(1)?)))
}

fn ends_with(call: FunctionCall<'_>) -> EvalResult<Value> {
    Ok(Value::Bool(call.text(0)?.ends_with(call.text(1)?)))
}

/// `*` matches any characters, including none; `?` matches one.
fn glob(call: FunctionCall<'_>) -> EvalResult<Value> {
    let (text, pattern) = (call.text(0)?, call.text(1)?);
    if text.len() > TEXT_BYTES_MAX {
        return fault("the text is too long for `glob`");
    }
    call.env.charge(text.len().saturating_mul(pattern.len()) / BYTES_PER_UNIT)?;
    Ok(Value::Bool(glob_matches(text, pattern)))
}

/// Backtracks to the last star only: the match of an earlier one never needs to change.
fn glob_matches(text: &str, pattern: &str) -> bool {
    let (text, pattern): (Vec<char>, Vec<char>) = (text.chars().collect(), pattern.chars().collect());
    let (mut at, mut wanted, mut star) = (0, 0, None);
    while at < text.len() {
        match pattern.get(wanted) {
            Some('*') => {
                star = Some((wanted, at));
                wanted += 1;
            }
            Some(next) if *next == '?' || *next == text[at] => {
                at += 1;
                wanted += 1;
            }
            _ => {
                let Some((place, taken)) = star else { return false };
                star = Some((place, taken + 1));
                (at, wanted) = (taken + 1, place + 1);
            }
        }
    }
    pattern[wanted..].iter().all(|next| *next == '*')
}

fn length(call: FunctionCall<'_>) -> EvalResult<Value> {
    let length = match call.value(0) {
        Value::Str(_) => call.text(0)?.chars().count(),
        Value::List(items) => items.len(),
        Value::Map(map) => map.len(),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => 0,
    };
    Ok(Value::Int(length as i64))
}

fn contains(call: FunctionCall<'_>) -> EvalResult<Value> {
    ops::contains(call.env, call.value(1), call.value(0)).map(Value::Bool)
}

fn index_of(call: FunctionCall<'_>) -> EvalResult<Value> {
    let place = match (call.value(0), call.value(1)) {
        (Value::List(items), item) => ops::position(call.env, item, items)?,
        (Value::Str(_), Value::Str(part)) => {
            let text = call.text(0)?;
            text.find(part.as_ref()).map(|at| text[..at].chars().count())
        }
        (container, item) => {
            return fault(ops::membership_message(item.type_name(), container.type_name()));
        }
    };
    Ok(place.map_or(Value::Null, |place| Value::Int(place as i64)))
}

fn slice(call: FunctionCall<'_>) -> EvalResult<Value> {
    if let Value::List(items) = call.value(0) {
        let (from, to) = bounds(&call, items.len())?;
        call.env.charge(to - from)?;
        return built(call.env, Value::list(items[from..to].to_vec()));
    }
    let text = call.text(0)?;
    let (from, to) = bounds(&call, text.chars().count())?;
    built_text(call.env, text.chars().skip(from).take(to - from).collect())
}

/// Positions out of range are clamped; negative ones count from the end.
fn bounds(call: &FunctionCall<'_>, length: usize) -> EvalResult<(usize, usize)> {
    let end = length as i64;
    let place = |index: i64| if index < 0 { index.saturating_add(end).max(0) } else { index.min(end) };
    let from = place(call.whole(1)?);
    let to = if call.value(2).is_null() { end } else { place(call.whole(2)?) };
    Ok((from as usize, to.max(from) as usize))
}
