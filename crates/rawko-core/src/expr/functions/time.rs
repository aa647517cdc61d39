//! Functions on timestamps and durations: milliseconds, in UTC. Local time would make a step depend on a machine.

use jiff::Timestamp;
use jiff::civil;
use jiff::tz::TimeZone;

use super::{Call, Function, Missing, Types};
use crate::duration;
use crate::expr::Type;
use crate::expr::env::{Outcome, fault};
use crate::expr::measure::built_text;
use crate::value::Value;

const MS: (&str, Types) = ("ms", Types::NUMBER);
const TEXT: (&str, Types) = ("text", Types::STRING);

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new("now", &[], Type::Number, Missing::Seen, now).reading(),
    Function::new("iso", &[MS], Type::String, Missing::Null, iso),
    Function::new("parse_time", &[TEXT], Type::Number, Missing::Null, parse_time),
    Function::new("format_time", &[MS, ("format", Types::STRING)], Type::String, Missing::Null, format_time),
    Function::new(
        "duration",
        &[("x", Types::STRING.or(Types::NUMBER))],
        Type::Number,
        Missing::Null,
        length_of_time,
    ),
];

fn now(call: Call<'_>) -> Outcome<Value> {
    Ok(Value::Int(call.env.scope.now_ms))
}

fn moment(call: &Call<'_>) -> Outcome<Timestamp> {
    let ms = call.number(0).round();
    match Timestamp::from_millisecond(ms as i64) {
        Ok(moment) => Ok(moment),
        Err(_) => fault("the time is outside the years -9999 to 9999"),
    }
}

fn iso(call: Call<'_>) -> Outcome<Value> {
    built_text(call.env, moment(&call)?.to_string())
}

/// Parses a timestamp with an offset, or a date with or without a time, taken as UTC; any other text gives null.
fn parse_time(call: Call<'_>) -> Outcome<Value> {
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

fn format_time(call: Call<'_>) -> Outcome<Value> {
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
fn length_of_time(call: Call<'_>) -> Outcome<Value> {
    let Value::Str(_) = call.value(0) else { return Ok(call.value(0).clone()) };
    let ms = duration::parse_ms(call.text(0)?).ok().and_then(|ms| i64::try_from(ms).ok());
    Ok(ms.map_or(Value::Null, Value::Int))
}
