//! Functions on lists. The language has no user-defined functions, so the usual filter and map operate on lists of maps
//! by the name of a field.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::{ArgumentTypes, ExprFunction, FunctionCall, NullRule};
use crate::expr::Type;
use crate::expr::env::{EvalResult, fault};
use crate::expr::measure::{built, check_elements};
use crate::expr::ops::{self, with_article};
use crate::value::Value;

const LIST: (&str, ArgumentTypes) = ("list", ArgumentTypes::LIST);
const FIELD: (&str, ArgumentTypes) = ("field", ArgumentTypes::STRING);
const VALUE: (&str, ArgumentTypes) = ("value", ArgumentTypes::ANY);
const PARTS: (&str, ArgumentTypes) = ("list", ArgumentTypes::LIST.or(ArgumentTypes::NULL));

pub(super) static FUNCTIONS: &[ExprFunction] = &[
    ExprFunction::new("append", &[LIST, VALUE], Type::List, NullRule::Seen, append),
    ExprFunction::new("concat", &[PARTS], Type::List, NullRule::Seen, concat).repeating(),
    ExprFunction::new("first", &[LIST], Type::Any, NullRule::Null, first),
    ExprFunction::new("last", &[LIST], Type::Any, NullRule::Null, last),
    ExprFunction::new("reverse", &[LIST], Type::List, NullRule::EmptyList, reverse),
    ExprFunction::new("sort", &[LIST, FIELD], Type::List, NullRule::EmptyList, sort).optional(1),
    ExprFunction::new("unique", &[LIST], Type::List, NullRule::EmptyList, unique),
    ExprFunction::new("flatten", &[LIST], Type::List, NullRule::EmptyList, flatten),
    ExprFunction::new(
        "range",
        &[("n", ArgumentTypes::NUMBER), ("to", ArgumentTypes::NUMBER)],
        Type::List,
        NullRule::Null,
        range,
    )
    .optional(1),
    ExprFunction::new("pluck", &[LIST, FIELD], Type::List, NullRule::EmptyList, pluck),
    ExprFunction::new("where", &[LIST, FIELD, VALUE], Type::List, NullRule::EmptyList, matching),
    ExprFunction::new("count", &[LIST, FIELD, VALUE], Type::Number, NullRule::Zero, count),
    ExprFunction::new("any", &[LIST], Type::Bool, NullRule::False, any),
    ExprFunction::new("all", &[LIST], Type::Bool, NullRule::True, all),
];

fn append(mut call: FunctionCall<'_>) -> EvalResult<Value> {
    let item = call.take(1);
    let length = call.value(0).as_list().map_or(0, <[Value]>::len);
    check_elements(length + 1)?;
    let list = match call.take(0) {
        // Copied with room for one more: a plain copy would have to grow immediately.
        Value::List(items) => Arc::try_unwrap(items).unwrap_or_else(|shared| {
            let mut copy = Vec::with_capacity(length + 1);
            copy.extend_from_slice(&shared);
            copy
        }),
        _ => Vec::new(),
    };
    let mut list = list;
    list.push(item);
    built(call.env, Value::list(list))
}

fn concat(call: FunctionCall<'_>) -> EvalResult<Value> {
    let mut items = Vec::new();
    for index in 0..call.arguments.len() {
        let part = call.list(index)?;
        check_elements(items.len() + part.len())?;
        items.extend_from_slice(part);
    }
    built(call.env, Value::list(items))
}

fn first(call: FunctionCall<'_>) -> EvalResult<Value> {
    Ok(call.value(0).as_list().and_then(<[Value]>::first).cloned().unwrap_or_default())
}

fn last(call: FunctionCall<'_>) -> EvalResult<Value> {
    Ok(call.value(0).as_list().and_then(<[Value]>::last).cloned().unwrap_or_default())
}

fn reverse(mut call: FunctionCall<'_>) -> EvalResult<Value> {
    let mut items = call.take_list(0)?;
    items.reverse();
    built(call.env, Value::list(items))
}

/// Stable. Integers compare exactly; if one number is a float all compare as floats, so that the order is total.
fn sort(mut call: FunctionCall<'_>) -> EvalResult<Value> {
    let field = call.value(1).as_str().map(str::to_owned);
    let items = call.take_list(0)?;
    let comparisons = items.len().checked_ilog2().unwrap_or(0) as usize * items.len();
    call.env.charge(comparisons)?;
    let mut keyed = Vec::with_capacity(items.len());
    for item in items {
        let key = match &field {
            Some(field) => ops::field(&item, field)?.cloned().unwrap_or_default(),
            None => item.clone(),
        };
        keyed.push((key, item));
    }
    let keys = || keyed.iter().map(|(key, _)| key);
    if keys().all(|key| matches!(key, Value::Int(_))) {
        keyed.sort_by_key(|(key, _)| key.as_i64());
    } else if keys().all(|key| key.as_f64().is_some()) {
        let number = |key: &Value| key.as_f64().unwrap_or_default();
        keyed.sort_by(|(a, _), (b, _)| number(a).total_cmp(&number(b)));
    } else if keys().all(|key| key.as_str().is_some()) {
        keyed.sort_by(|(a, _), (b, _)| a.as_str().cmp(&b.as_str()));
    } else {
        let mixed = keys().find(|key| key.as_f64().is_none()).map_or("null", Value::type_name);
        return fault(format!("`sort` takes numbers or strings, but one element is {}", with_article(mixed)));
    }
    built(call.env, Value::list(keyed.into_iter().map(|(_, item)| item).collect()))
}

/// A hashable key of a value, as far as possible.
#[derive(PartialEq, Eq, Hash)]
enum HashKey {
    Null,
    Bool(bool),
    Whole(i64),
    Float(u64),
    Text(Arc<str>),
}

fn seen(value: &Value) -> Option<HashKey> {
    match value {
        Value::Null => Some(HashKey::Null),
        Value::Bool(value) => Some(HashKey::Bool(*value)),
        Value::Int(whole) => Some(HashKey::Whole(*whole)),
        Value::Float(_) if ops::whole(value).is_ok() => ops::whole(value).ok().map(HashKey::Whole),
        Value::Float(number) => Some(HashKey::Float(number.to_bits())),
        Value::Str(text) => Some(HashKey::Text(text.clone())),
        Value::List(_) | Value::Map(_) => None,
    }
}

/// Keeps the first of equal elements.
fn unique(mut call: FunctionCall<'_>) -> EvalResult<Value> {
    let (mut scalars, mut compounds, mut kept) = (FxHashSet::default(), Vec::new(), Vec::new());
    for item in call.take_list(0)? {
        let new = match seen(&item) {
            Some(key) => {
                call.env.charge_bytes(item.as_str().map_or(0, str::len))?;
                scalars.insert(key)
            }
            None if ops::position(call.env, &item, &compounds)?.is_some() => false,
            None => {
                compounds.push(item.clone());
                true
            }
        };
        if new {
            kept.push(item);
        }
    }
    built(call.env, Value::list(kept))
}

/// Flattens one level: elements that are not lists are kept.
fn flatten(mut call: FunctionCall<'_>) -> EvalResult<Value> {
    let mut flat = Vec::new();
    for item in call.take_list(0)? {
        match item {
            Value::List(inner) => {
                check_elements(flat.len() + inner.len())?;
                call.env.charge(inner.len())?;
                flat.extend_from_slice(&inner);
            }
            other => flat.push(other),
        }
    }
    built(call.env, Value::list(flat))
}

/// `range(3)` is `[0, 1, 2]`; with two arguments the second is exclusive.
fn range(call: FunctionCall<'_>) -> EvalResult<Value> {
    let (from, to) =
        if call.value(1).is_null() { (0, call.whole(0)?) } else { (call.whole(0)?, call.whole(1)?) };
    check_elements(usize::try_from(to.saturating_sub(from)).unwrap_or(0))?;
    built(call.env, Value::list((from..to).map(Value::Int).collect()))
}

fn pluck(call: FunctionCall<'_>) -> EvalResult<Value> {
    let (items, field) = (call.list(0)?, call.text(1)?);
    let fields = items.iter().map(|item| Ok(ops::field(item, field)?.cloned().unwrap_or_default()));
    built(call.env, Value::list(fields.collect::<EvalResult<_>>()?))
}

fn matching(call: FunctionCall<'_>) -> EvalResult<Value> {
    built(call.env, Value::list(selected(&call)?))
}

fn count(call: FunctionCall<'_>) -> EvalResult<Value> {
    Ok(Value::Int(selected(&call)?.len() as i64))
}

/// Returns the elements whose field equals the value; a missing field is null, as everywhere.
fn selected(call: &FunctionCall<'_>) -> EvalResult<Vec<Value>> {
    let (items, field, value) = (call.list(0)?, call.text(1)?, call.value(2));
    let mut kept = Vec::new();
    for item in items {
        if ops::same(call.env, ops::field(item, field)?.unwrap_or(&Value::NULL), value)? {
            kept.push(item.clone());
        }
    }
    Ok(kept)
}

fn any(call: FunctionCall<'_>) -> EvalResult<Value> {
    let truths = call.list(0)?.iter().map(ops::truth).collect::<EvalResult<Vec<_>>>()?;
    Ok(Value::Bool(truths.contains(&true)))
}

fn all(call: FunctionCall<'_>) -> EvalResult<Value> {
    let truths = call.list(0)?.iter().map(ops::truth).collect::<EvalResult<Vec<_>>>()?;
    Ok(Value::Bool(!truths.contains(&false)))
}
