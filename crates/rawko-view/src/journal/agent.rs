//! Readable output of an agent's work: its messages, tool calls and tool results. The states and context of its chart
//! are only shown with `-v`, because a user who follows a run wants to see the work.

use rawko_core::{Effect, Status, Value, split_item_name};

use super::program::{self, ProgramReport, ReportBody};
use super::{EntryBody, JournalEntry, without_styles};

/// Longer texts are cut; `history -v` prints them in full.
const SAID_LINES_MAX: usize = 12;
const GIVEN_CHARS_MAX: usize = 100;
/// The reason of a stop if the caller continued without the agent.
const PARENT_LEFT: &str = "the parent left the state";
/// Input keys that summarize a call in one line, in order of preference.
const SUBJECTS: [&str; 9] =
    ["command", "path", "file_path", "pattern", "url", "agent", "goal", "id", "query"];

/// Returns the lines of an entry, each with a title; none for internal steps.
pub fn told(entry: &JournalEntry) -> Vec<(&'static str, String)> {
    let mut lines = match &entry.what {
        EntryBody::Started { input, .. } => {
            vec![("starts", first_line(input.get("prompt").as_str().unwrap_or_default()))]
        }
        EntryBody::Answered { invoke, data } => answered(invoke, data),
        EntryBody::CallFailed { invoke, error } => failed(invoke, error),
        EntryBody::Event { name, data, .. } => match program::report(entry) {
            Some(report) => report_lines(&report),
            None => vec![event_line(name, data)],
        },
        EntryBody::Cancelled { reason } if reason.as_str() == Some(PARENT_LEFT) => {
            vec![("stopped", "by the task".to_owned())]
        }
        EntryBody::Cancelled { reason } => vec![("stopped", reason.as_str().unwrap_or_default().to_owned())],
        EntryBody::Paused { by } => vec![("paused", super::words::by_person(by))],
        EntryBody::Resumed { by, .. } => vec![("resumed", super::words::by_person(by))],
        EntryBody::Migrated { to: (chart, version), .. } => {
            vec![("migrated", format!("to {chart} {version}"))]
        }
        EntryBody::Forked { .. }
        | EntryBody::Timer(_)
        | EntryBody::Retried { .. }
        | EntryBody::Unreadable(_) => Vec::new(),
    };
    lines.extend(entry.effects.iter().filter_map(|told| waits(&told.effect, entry)));
    lines.extend(switched(entry));
    if entry.status_changed && entry.status == Status::Done {
        lines.push(("ends", ending(&entry.output)));
    }
    lines
}

/// Formats an event for an agent: what a person wrote, or did to it.
fn event_line(name: &str, data: &Value) -> (&'static str, String) {
    let text = data.get("text").as_str();
    match (name, text) {
        ("MESSAGE", Some(text)) => ("message", head(text)),
        ("INTERRUPT", _) => ("stopped", "until the next message".to_owned()),
        ("CONTINUE", _) => ("resumed", String::new()),
        ("RETRY", _) => ("retry", "now".to_owned()),
        _ if data.is_null() => ("event", name.to_owned()),
        _ => ("event", format!("{name} {data}")),
    }
}

/// Formats a report of a program like text and calls of another agent.
pub fn report_lines(report: &ProgramReport<'_>) -> Vec<(&'static str, String)> {
    match &report.body {
        ReportBody::Text(text) => vec![("says", head(text.trim()))],
        ReportBody::Call(call) => {
            let result = Some(call.get("result")).filter(|result| !result.is_null());
            [("calls", call_words(call))].into_iter().chain(result.map(result_line)).collect()
        }
    }
}

/// Returns the result of an agent as one line; `None` for other results.
pub fn report(data: &Value) -> Option<String> {
    let agent = data.get("agent").as_str()?;
    let text = data.get("text").as_str()?;
    data.get("outcome").as_str().map(|_| format!("{agent}: {}", first_line(text)))
}

/// Returns the invoke of the chart `agent` that an answer is for: calls that run at the same time are items.
pub fn invoke_of(name: &str) -> &str {
    match split_item_name(name).map(|(id, _)| id) {
        Some("tools") => "tool",
        Some("helpers") => "helper",
        Some(_) | None => name,
    }
}

/// Returns the warnings beside the result of a call: of loop control, and about files that others change, too.
pub fn warnings(data: &Value) -> Vec<(&'static str, String)> {
    let notice = data.get("notice").as_str().map(str::to_owned);
    let overlap = data.get("overlap").as_list().unwrap_or_default().iter().filter_map(Value::as_str);
    let overlap = overlap.map(|overlap| format!("overlap: {overlap}"));
    notice.into_iter().chain(overlap).map(|text| ("warning", text)).collect()
}

fn answered(invoke: &str, data: &Value) -> Vec<(&'static str, String)> {
    // Calls that run at the same time are shown in their order, once all of them have ended.
    if split_item_name(invoke).is_some() {
        return Vec::new();
    }
    match invoke {
        "complete" => {
            let report = data.get("data").get("report").as_str();
            let text = report.or_else(|| data.get("text").as_str()).unwrap_or_default().trim();
            let verdict = data.get("data").get("verdict").as_str().map(|word| ("verdict", word.to_owned()));
            let said = (!text.is_empty()).then(|| ("says", head(text)));
            let calls = data.get("tool_calls").as_list().unwrap_or_default().iter();
            said.into_iter().chain(verdict).chain(calls.map(|call| ("calls", call_words(call)))).collect()
        }
        "tool" => {
            let mut lines = vec![result_line(data.get("result"))];
            lines.extend(warnings(data));
            lines
        }
        "helper" => vec![("result", given(data.get("text").as_str().unwrap_or_default()))],
        "collect" => {
            let results = data.get("results").as_list().unwrap_or_default().iter();
            let results = results.filter(|part| part.get("type").as_str() == Some("tool_result"));
            let notices = data.get("notices").as_list().unwrap_or_default().iter().filter_map(Value::as_str);
            results.map(result_line).chain(notices.map(|notice| ("warning", notice.to_owned()))).collect()
        }
        "permission" | "connection" => vec![person_line(data)],
        "compact" => vec![("note", "conversation compacted".to_owned())],
        "look" => vec![("note", "images analysed".to_owned())],
        _ => Vec::new(),
    }
}

/// Returns the answer of a person to a request of the agent: `allowed`, `denied` or `answered`, and by whom.
pub fn person_line(answer: &Value) -> (&'static str, String) {
    let by = answer.get("by").as_str().unwrap_or("a person");
    let words = answer.get("data").get("answer").as_str().or_else(|| answer.get("comment").as_str());
    let title = match (answer.get("approved").as_bool(), words) {
        (Some(true), Some(_)) => "answered",
        (Some(true), None) => "allowed",
        (Some(false) | None, _) => "denied",
    };
    let words = words.map(|words| format!(": {words}")).unwrap_or_default();
    (title, format!("by {by}{words}"))
}

fn result_line(result: &Value) -> (&'static str, String) {
    let title = if result.get("is_error").as_bool() == Some(true) { "error" } else { "result" };
    (title, given(result.get("content").as_str().unwrap_or_default()))
}

fn failed(invoke: &str, error: &Value) -> Vec<(&'static str, String)> {
    if split_item_name(invoke).is_some() {
        return Vec::new();
    }
    let message = error.get("message").as_str().unwrap_or_default();
    let title = match (error.get("category").as_str(), invoke) {
        (Some("refused"), _) => "refused",
        (Some("limit"), _) => "limit",
        (_, "complete") => "model",
        _ => "failed",
    };
    vec![(title, given(message))]
}

/// Returns a line for waits that need an explanation.
fn waits(effect: &Effect, entry: &JournalEntry) -> Option<(&'static str, String)> {
    let backing_off = entry.configuration.iter().any(|path| path == "working.backing_off");
    match effect {
        Effect::SetTimer { due_ms, .. } if backing_off => {
            Some(("waiting", crate::times::span(due_ms.saturating_sub(entry.at_ms))))
        }
        _ => None,
    }
}

/// Returns the change to another model, as the chart logs it: `web/a → web/b: overloaded`.
pub fn switched(entry: &JournalEntry) -> Option<(&'static str, String)> {
    entry.effects.iter().find_map(|told| match &told.effect {
        Effect::Log { message } => {
            message.strip_prefix("[rawko] Model ").map(|words| ("model", words.to_owned()))
        }
        _ => None,
    })
}

/// Returns the end of an agent in words: `finished`, or the outcome with its problem.
pub fn ending(output: &Value) -> String {
    let outcome = output.get("outcome").as_str().unwrap_or("finished").replace('_', " ");
    match output.get("problem").get("message").as_str() {
        Some(message) => format!("{outcome}: {message}"),
        None => outcome,
    }
}

/// Formats a call, such as `Bash python3 -m unittest`.
pub fn call_words(call: &Value) -> String {
    let name = call.get("name").as_str().unwrap_or("?");
    let input = call.get("input");
    let subject = SUBJECTS.iter().find_map(|key| input.get(key).as_str());
    subject.map_or_else(|| name.to_owned(), |subject| format!("{name} {}", first_line(subject)))
}

/// Returns the first line and the number of further lines.
pub fn given(text: &str) -> String {
    let text = without_styles(text);
    let lines = text.trim_end().lines().count();
    let first = first_line(&text);
    match lines {
        0 | 1 => first,
        2 => format!("{first} (+1 line)"),
        lines => format!("{first} (+{} lines)", lines - 1),
    }
}

fn first_line(text: &str) -> String {
    // Skips lines that consist only of rule characters.
    let says = |line: &&str| line.chars().any(|c| !['=', '-', '_', '*'].contains(&c));
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = lines.clone().find(says).or_else(|| lines.next()).unwrap_or_default();
    match line.char_indices().nth(GIVEN_CHARS_MAX) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

fn head(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    if lines.len() <= SAID_LINES_MAX {
        return text.to_owned();
    }
    format!("{}\n… {} more lines", lines[..SAID_LINES_MAX].join("\n"), lines.len() - SAID_LINES_MAX)
}
