//! `work:group`: how many of the next tool calls run at the same time. Calls that only read form a group, and so do
//! sub-agents; a call that writes runs alone. A call that a person has to approve, that a rule denies, that loop detection
//! would block or that only repeats another one ends the group before it.

use rawko_core::Value;
use rawko_host::{Call, ServiceError};

use super::delegate::TASK;
use super::{Workshop, part, permit, tool};
use rawko_arbiter::loop_control::{Verdict, check_before};
use rawko_model::ToolUse;
use rawko_tools::{Effect, Grant};

/// Reading calls in a group: their results are one value of the context, which is limited.
const READS_MAX: usize = 16;

const READ: &str = "read";
const AGENT: &str = "agent";

/// Adds the kind of group that a call can be part of: `together`.
pub(super) fn with_kind(workshop: &Workshop, call: Value) -> Value {
    let name = call.get("name").as_str().unwrap_or_default();
    let kind = match name {
        _ if !call.get("rejected").is_null() => return call,
        TASK => AGENT,
        name if workshop.toolbox.only_reads(name, call.get("input")) => READ,
        _ => return call,
    };
    let mut entries = call.as_map().cloned().unwrap_or_default();
    entries.insert("together".into(), Value::str(kind));
    Value::Map(entries.into())
}

pub(super) fn group(workshop: &Workshop, call: &Call) -> Result<Value, ServiceError> {
    let input = &call.input;
    let (settings, memory) = (tool::settings(input, &call.policy)?, tool::memory(input)?);
    let grant: Grant = workshop.with_approved_hosts(part(input, "grant")?, call);
    let untrusted = permit::untrusted(input);
    let calls = input.get("calls").as_list().unwrap_or_default();
    let kind = calls.first().map_or(&Value::Null, |first| first.get("together"));
    let is_allowed = |asked: &ToolUse| {
        let judgement = workshop.judge(&asked.name, &asked.input, &grant, untrusted.as_deref());
        judgement.effect == Effect::Allow
    };
    let is_blocked = |asked: &ToolUse| match check_before(&memory, &asked.name, &asked.input, &settings) {
        Verdict::Fine | Verdict::Notice { .. } => false,
        Verdict::Block { .. } | Verdict::Doom { .. } => true,
    };
    let fits = |call: &Value| {
        let asked: Option<ToolUse> = serde_json::from_value(call.to_json()).ok();
        let is_same = call.get("together") == kind && !kind.is_null();
        is_same && asked.is_some_and(|asked| is_allowed(&asked) && !is_blocked(&asked))
    };
    // The same call again runs after the first one, so that loop detection can block it.
    let is_repeated = |index: usize, call: &Value| {
        let is_same =
            |other: &Value| other.get("name") == call.get("name") && other.get("input") == call.get("input");
        !is_agent(call) && calls.iter().take(index).any(is_same)
    };
    let parallel = input.get("parallel").as_i64().and_then(|most| usize::try_from(most).ok()).unwrap_or(1);
    let most = if kind.as_str() == Some(READ) { parallel.min(READS_MAX) } else { parallel };
    let count = calls
        .iter()
        .enumerate()
        .take(most)
        .take_while(|(index, call)| fits(call) && !is_repeated(*index, call));
    let count = count.count();
    Ok(Value::map([("count", Value::Int(i64::try_from(count).unwrap_or(i64::MAX)))]))
}

/// Returns true for a call of a sub-agent.
pub(super) fn is_agent(call: &Value) -> bool {
    call.get("together").as_str() == Some(AGENT)
}
