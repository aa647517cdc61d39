//! The conversation of agents: that of one agent instance, or of a task with all its agents. Read backwards from the
//! end, in pages.

use rawko_core::{Effect, Status, Value as Data, World};
use rawko_host::SnapshotReader;
use rawko_store::InstanceRow;
use serde::Serialize;
use serde_json::{Value, json};
#[cfg(feature = "openapi")]
use utoipa::ToSchema;

use crate::error::ViewError;
use crate::journal::{EntryBody, JournalEntry, Player, agent, family, task, words};

/// Limit on records searched for one page: journals without agents have no turns.
const RECORDS_MAX: usize = 2_000;
/// Minimum number of records per read.
const RECORDS_PER_READ: usize = 200;

/// A page of a conversation, oldest first.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct Transcript {
    /// Version of the document format: 1.
    pub v: u32,
    /// Turns, oldest first; those of one record are on the same page.
    pub turns: Vec<Turn>,
    /// `before` of the page with earlier turns, which may be empty; null at the beginning.
    pub next: Option<u64>,
}

/// One message or action.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct Turn {
    /// Id of the instance that the turn belongs to.
    pub instance: String,
    /// Agent; null if the turn belongs to no agent.
    pub agent: Option<String>,
    /// Sequence number of its record.
    pub seq: u64,
    /// Step of its record.
    pub step: u64,
    /// Time of its record, in milliseconds since 1970 UTC.
    pub at_ms: i64,
    /// `says`, `calls`, `gets`, `decision`, `plan`, `message` (of a person), `note`, `fails`.
    pub kind: &'static str,
    /// Short description in one line.
    pub title: String,
    /// Full text of the message, result or plan; may be empty.
    pub text: String,
    /// Tool call, result, decision or plan as JSON; depends on `kind`, may be null.
    pub data: Value,
}

/// Returns the last turns of an instance and its descendants before a record.
pub fn read(
    reader: &SnapshotReader,
    root: InstanceRow,
    before: u64,
    limit: usize,
) -> Result<Transcript, ViewError> {
    let store = reader.store();
    let members = family::of(&**store, root)?;
    let (mut turns, mut before, mut read) = (Vec::new(), before, 0);
    let at_once = (limit * 2).max(RECORDS_PER_READ);
    let next = loop {
        let records = family::before(&**store, &members, before, at_once)?;
        read += records.len();
        let mut player = Player::new(reader.clone(), None::<World>);
        let mut page = Vec::new();
        for record in &records {
            page.extend(turns_of(&player.entry(record)?));
        }
        page.append(&mut turns);
        turns = page;
        match records.first() {
            Some(_) | None if records.len() < at_once => break None,
            Some(first) if turns.len() < limit && read < RECORDS_MAX => before = first.seq,
            first => break first.map(|first| first.seq),
        }
    };
    Ok(trimmed(turns, next, limit))
}

/// Trims to the limit, but keeps all turns of a record together.
fn trimmed(mut turns: Vec<Turn>, next: Option<u64>, limit: usize) -> Transcript {
    let surplus = turns.len().saturating_sub(limit);
    let Some(first) = turns.get(surplus).map(|turn| turn.seq).filter(|_| surplus > 0) else {
        return Transcript { v: 1, turns, next };
    };
    turns.retain(|turn| turn.seq >= first);
    Transcript { v: 1, turns, next: Some(first) }
}

/// Returns the turns of an entry; most entries have none.
pub fn turns_of(entry: &JournalEntry) -> Vec<Turn> {
    let mut told = Vec::new();
    match &entry.what {
        EntryBody::Started { input, .. } => told.extend(begins(entry, input)),
        EntryBody::Answered { invoke, data } if entry.agent.is_some() => told.extend(answered(invoke, data)),
        EntryBody::CallFailed { invoke, error } => {
            told.push(("fails", format!("{invoke} failed"), words::error(error), error.to_json()));
        }
        EntryBody::Cancelled { reason } => {
            let text = reason.as_str().unwrap_or_default().to_owned();
            told.push(("note", "stopped".to_owned(), text, reason.to_json()));
        }
        EntryBody::Paused { by } => {
            told.push(("note", "paused".to_owned(), words::by_person(by), by.to_json()));
        }
        EntryBody::Resumed { by, .. } => {
            told.push(("note", "resumed".to_owned(), words::by_person(by), by.to_json()));
        }
        EntryBody::Migrated { by, .. } => {
            let title = words::headline(&entry.what, false);
            told.push(("note", title.trim_start_matches("> ").to_owned(), String::new(), by.to_json()));
        }
        // A person's message to a task, which passes it on to the agent at work.
        EntryBody::Event { name, data, .. } if entry.agent.is_none() && &**name == "MESSAGE" => {
            let text = data.get("text").as_str().or_else(|| data.as_str()).unwrap_or_default();
            told.push(("message", "message".to_owned(), text.to_owned(), data.to_json()));
        }
        EntryBody::Event { name, data, .. } if entry.agent.is_some() => {
            told.push(("note", name.to_string(), String::new(), data.to_json()));
        }
        EntryBody::Answered { .. }
        | EntryBody::Event { .. }
        | EntryBody::Forked { .. }
        | EntryBody::Timer(_)
        | EntryBody::Retried { .. }
        | EntryBody::Unreadable(_) => {}
    }
    told.extend(decided(entry));
    told.extend(planned(entry));
    told.extend(entry.effects.iter().filter_map(|told| logged(&told.effect)));
    if entry.agent.is_some() && entry.status_changed && entry.status == Status::Done {
        told.push(("note", "ends".to_owned(), agent::ending(&entry.output), entry.output.to_json()));
    }
    let mut turns: Vec<Turn> = told.into_iter().map(|told| turn(entry, told)).collect();
    if let EntryBody::Answered { data, .. } = &entry.what
        && entry.agent.is_none()
    {
        turns.extend(by_program(entry, data));
    }
    turns
}

/// Returns the turns of an agent that is a program: its work is one call, whose result has its conversation. Agents with a
/// model have an instance of their own; only a program has a session.
fn by_program(entry: &JournalEntry, data: &Data) -> Vec<Turn> {
    let messages = data.get("messages").as_list().unwrap_or_default();
    let is_program = data.as_map().is_some_and(|map| map.get("session").is_some());
    let Some(name) = data.get("agent").as_str().filter(|_| is_program) else { return Vec::new() };
    let has = |message: &Data, kind: &str| {
        let parts = message.get("parts").as_list().unwrap_or_default();
        parts.iter().any(|part| part.get("type").as_str() == Some(kind))
    };
    // Earlier work of the same session comes before the request.
    let is_request = |message: &Data| message.get("role").as_str() == Some("user") && has(message, "text");
    let first = messages.iter().rposition(is_request).map_or(0, |at| at + 1);
    let parts =
        messages[first..].iter().flat_map(|message| message.get("parts").as_list().unwrap_or_default());
    let told = parts.filter_map(|part| {
        let text = |key: &str| part.get(key).as_str().unwrap_or_default().to_owned();
        Some(match part.get("type").as_str()? {
            "text" if !text("text").trim().is_empty() => {
                ("says", "says".to_owned(), text("text").trim().to_owned(), Value::Null)
            }
            "tool_use" => ("calls", agent::call_words(part), String::new(), part.to_json()),
            "tool_result" => {
                let kind = if part.get("is_error").as_bool() == Some(true) { "fails" } else { "gets" };
                let content = text("content");
                let title = words::clipped(content.lines().next().unwrap_or_default(), 100);
                (kind, title, content, part.to_json())
            }
            _ => return None,
        })
    });
    told.map(|told| Turn { agent: Some(name.to_owned()), ..turn(entry, told) }).collect()
}

type TurnFields = (&'static str, String, String, Value);

fn turn(entry: &JournalEntry, (kind, title, text, data): TurnFields) -> Turn {
    Turn {
        instance: entry.instance.to_string(),
        agent: entry.agent.as_deref().map(str::to_owned),
        seq: entry.seq,
        step: entry.step,
        at_ms: entry.at_ms,
        kind,
        title,
        text,
        data,
    }
}

/// Returns the request that starts the conversation.
fn begins(entry: &JournalEntry, input: &Data) -> Option<TurnFields> {
    let key = if entry.agent.is_some() { "prompt" } else { "task" };
    let text = input.get(key).as_str()?.to_owned();
    Some(("note", "starts".to_owned(), text, Value::Null))
}

fn answered(invoke: &str, data: &Data) -> Vec<TurnFields> {
    let text = |value: &Data| value.as_str().unwrap_or_default().to_owned();
    match agent::invoke_of(invoke) {
        "complete" => said(data),
        "tool" => {
            let result = data.get("result");
            let kind = if result.get("is_error").as_bool() == Some(true) { "fails" } else { "gets" };
            let content = text(result.get("content"));
            let title = words::clipped(content.lines().next().unwrap_or_default(), 100);
            let warnings = agent::warnings(data).into_iter();
            let warnings = warnings.map(|(title, text)| ("note", title.to_owned(), text, Value::Null));
            std::iter::once((kind, title, content, result.to_json())).chain(warnings).collect()
        }
        "helper" => vec![("gets", "result of a helper".to_owned(), text(data.get("text")), data.to_json())],
        "collect" => {
            let notices = data.get("notices").as_list().unwrap_or_default().iter().filter_map(Data::as_str);
            notices.map(|notice| ("note", "warning".to_owned(), notice.to_owned(), Value::Null)).collect()
        }
        "compact" => vec![("note", "conversation compacted".to_owned(), String::new(), Value::Null)],
        "look" => vec![("note", "images analysed".to_owned(), String::new(), Value::Null)],
        _ => Vec::new(),
    }
}

fn said(data: &Data) -> Vec<TurnFields> {
    let report = data.get("data").get("report").as_str();
    let text = report.or_else(|| data.get("text").as_str()).unwrap_or_default().trim();
    let mut told = Vec::new();
    if !text.is_empty() {
        told.push((
            "says",
            "says".to_owned(),
            text.to_owned(),
            json!({"usage": data.get("usage").to_json()}),
        ));
    }
    if let Some(verdict) = data.get("data").get("verdict").as_str() {
        told.push(("note", "verdict".to_owned(), verdict.to_owned(), data.get("data").to_json()));
    }
    let calls = data.get("tool_calls").as_list().unwrap_or_default().iter();
    told.extend(calls.map(|call| ("calls", agent::call_words(call), String::new(), call.to_json())));
    told
}

fn decided(entry: &JournalEntry) -> Option<TurnFields> {
    let found = task::decision(entry)?;
    let (title, text) = found.words();
    let moment = found.record.get("moment").to_json();
    let mut data = json!({"moment": moment, "agent": found.agent, "decision": task::bare(found.decision)});
    if let EntryBody::Answered { data: answer, .. } = &entry.what
        && answer.get("usage").get("output_tokens").as_i64().is_some_and(|tokens| tokens > 0)
    {
        data["usage"] = answer.get("usage").to_json();
        data["model"] = found.record.get("model").to_json();
    }
    Some(("decision", title.to_owned(), text, data))
}

fn planned(entry: &JournalEntry) -> Option<TurnFields> {
    let plan = task::plan(entry)?;
    let steps = plan.get("steps").as_list().unwrap_or_default();
    let lines: Vec<String> = steps.iter().map(task::step_words).collect();
    Some(("plan", "plan".to_owned(), lines.join("\n"), plan.to_json()))
}

fn logged(effect: &Effect) -> Option<TurnFields> {
    let Effect::Log { message } = effect else { return None };
    Some(("note", "log".to_owned(), message.to_string(), Value::Null))
}
