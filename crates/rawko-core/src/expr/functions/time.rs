//! Functions on timestamps and durations: milliseconds, in UTC. Local time would make a step depend on a machine.

use jiff::Timestamp;
use jiff::civil;
use jiff::tz::TimeZone;

use super::{ArgumentTypes, ExprFunction, FunctionCall, NullRule};
use crate::duration;
use crate::expr::Type;
use crate::expr::env::{EvalResult, fault};
use crate::expr::measure::built_text;
use crate::value::Value;

const MS: (&str, ArgumentTypes) = ("ms", ArgumentTypes::NUMBER);
const TEXT: (&str, ArgumentTypes) = ("text", ArgumentTypes::STRING);

pub(super) static FUNCTIONS: &[ExprFunction] = &[
    ExprFunction::new("now", &[], Type::Number, NullRule::Seen, now).reading(),
    ExprFunction::new("iso", &[MS], Type::String, NullRule::Null, iso),
    ExprFunction::new("parse_time", &[TEXT], Type::Number, NullRule::Null, parse_time),
    ExprFunction::new(
        "format_time",
        &[MS, ("format", ArgumentTypes::STRING)],
        Type::String,
        NullRule::Null,
        format_time,
    ),
    ExprFunction::new(
        "duration",
        &[("x", ArgumentTypes::STRING.or(ArgumentTypes::NUMBER))],
        Type::Number,
        NullRule::Null,
        length_of_time,
    ),
];

fn now(call: FunctionCall<'_>) -> EvalResult<Value> {
    Ok(Value::Int(call.env.scope.now_ms))
}

fn moment(call: &FunctionCall<'_>) -> EvalResult<Timestamp> {
    let ms = call.number(0).round();
    match Timestamp::from_millisecond(ms as i64) {
        Ok(moment) => Ok(moment),
        Err(_) => fault("the time is outside the years -9999 to 9999"),
    }
}

fn iso(call: FunctionCall<'_>) -> EvalResult<Value> {
    built_text(call.env, moment(&call)?.to_string())
}

/// Parses a timestamp with an offset, or a date with or without a time, taken as UTC; any other text gives null.
fn parse_time(call: FunctionCall<'_>) -> EvalResult<Value> {
    let text = call.text(0)?.trim();
    let moment = text.parse::<Timestamp>().ok().or_else(|| {
        let civil = text
            .parse::<civil::DateTime>()
            .or_else(|_| text.parse::<civil::Date>().map(civil::DateTime::from));
        civil.and_then(|civil| civil.to_zoned(TimeZone::UTC)).map(|zoned| zoned.timestamp()).ok()
    });
    Ok(moment.map_or(Value::Null, |moment| Value::Int(moment.as_millisecond())))
}

const FORMAT_BYTES_MAX: usize = 256;

fn format_time(call: FunctionCall<'_>) -> EvalResult<Value> {
    let (moment, format) = (moment(&call)?, call.text(1)?);
    if format.len() > FORMAT_BYTES_MAX {
        return fault(format!("the time format is longer than {FORMAT_BYTES_MAX} bytes"));
    }
    match jiff::fmt::strtime::format(format, &moment.to_zoned(TimeZone::UTC)) {
        Ok(text) => built_text(call.env, text),
        Err(error) => fault(format!("`{format}` is not a valid time format: {error}")),
    }
}

/// A number is already milliseconds; a text that is not a duration gives null.
fn length_of_time(call: FunctionCall<'_>) -> EvalResult<Value> {
    let Value::Str(_) = call.value(0) else { return Ok(call.value(0).clone()) };
    let ms = duration::parse_ms(call.text(0)?).ok().and_then(|ms| i64::try_from(ms).ok());
    Ok(ms.map_or(Value::Null, Value::Int))
}
