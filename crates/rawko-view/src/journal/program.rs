//! Reports of an agent that is a program: its text and its tool calls, which it sends while it works. A chart's agent has
//! a journal of its own instead.

use rawko_core::{ServiceClass, ServiceName, Value};

use super::{EntryBody, JournalEntry};

/// A report in an entry.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgramReport<'e> {
    /// The agent that sent it.
    pub agent: &'e str,
    /// Its content.
    pub body: ReportBody<'e>,
}

/// The content of a report.
#[derive(Clone, Debug, PartialEq)]
pub enum ReportBody<'e> {
    /// Text of the agent.
    Text(&'e str),
    /// A tool call: `{name, input}`, as a completion has it, and its `result`: `{content, is_error}`, with `diff` if the
    /// program reported changed lines. Null if it has none.
    Call(Value),
}

/// Returns the report in an entry. Its sender is the service of the agent; events of people have no sender.
pub fn report(entry: &JournalEntry) -> Option<ProgramReport<'_>> {
    let EntryBody::Event { name, data, origin } = &entry.what else { return None };
    let agent = ServiceName::member_of(origin.as_str()?, ServiceClass::Agent)?;
    let body = match &**name {
        "AGENT_MESSAGE" => ReportBody::Text(data.get("message").get("content").as_str()?),
        "AGENT_TOOL_CALL" => {
            let call = data.get("toolCall");
            let keys = [("name", "name"), ("input", "arguments"), ("result", "result")];
            ReportBody::Call(Value::map(keys.map(|(key, from)| (key, call.get(from).clone()))))
        }
        _ => return None,
    };
    Some(ProgramReport { agent, body })
}
