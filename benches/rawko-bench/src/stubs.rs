//! The agents of W9: stubs that answer at once, the same for the plain loop and for the durable one.

use rawko_core::Value;

/// How often the loop of W9 goes round.
pub const ROUNDS: u64 = 50;

/// What the agent of this name says. `None` for a name that the chart does not have.
pub fn answer(name: &str, input: &Value) -> Option<Value> {
    let number = |key: &str| input.get(key).as_i64();
    Some(match name {
        "agent:llm" => Value::map([("action", Value::Int(number("i")?))]),
        "agent:tool" => Value::map([("output", Value::Int(number("arg")? * 2))]),
        "agent:judge" => Value::map([("done", Value::Bool(number("i")? + 1 >= number("max")?))]),
        _ => return None,
    })
}

/// How often it went round, and what the last round left in the log.
pub fn end(context: &Value) -> (Option<i64>, Option<i64>) {
    let last = context.get("log").as_list().and_then(<[Value]>::last);
    (context.get("i").as_i64(), last.and_then(Value::as_i64))
}

/// What `end` must be.
pub fn expected() -> (Option<i64>, Option<i64>) {
    (i64::try_from(ROUNDS).ok(), i64::try_from(2 * (ROUNDS - 1)).ok())
}
