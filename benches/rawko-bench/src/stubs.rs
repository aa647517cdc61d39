//! The agents of W9: stubs that answer immediately, shared by the plain and the durable loop.

use rawko_core::Value;

/// Iterations of the loop of W9.
pub const ROUNDS: u64 = 50;

/// Returns the answer of the named agent; `None` if the chart has no such agent.
pub fn answer(name: &str, input: &Value) -> Option<Value> {
    let number = |key: &str| input.get(key).as_i64();
    Some(match name {
        "agent:llm" => Value::map([("action", Value::Int(number("i")?))]),
        "agent:tool" => Value::map([("output", Value::Int(number("arg")? * 2))]),
        "agent:judge" => Value::map([("done", Value::Bool(number("i")? + 1 >= number("max")?))]),
        _ => return None,
    })
}

/// Returns the number of iterations, and the last log entry.
pub fn end(context: &Value) -> (Option<i64>, Option<i64>) {
    let last = context.get("log").as_list().and_then(<[Value]>::last);
    (context.get("i").as_i64(), last.and_then(Value::as_i64))
}

/// Returns the expected value of `end`.
pub fn expected() -> (Option<i64>, Option<i64>) {
    (i64::try_from(ROUNDS).ok(), i64::try_from(2 * (ROUNDS - 1)).ok())
}
