//! Requests to the person as permission requests of the protocol: permissions of tool calls, approvals of charts, and
//! questions with options. A question without options needs words, which are the next prompt.

use std::path::Path;

use agent_client_protocol::v1::schema::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
    ToolCallContent, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
};
use rawko_chart::printable;
use rawko_core::Value;

use super::updates::{UnfinishedCall, kind_of};
use crate::standing::PendingAsk;

const ALLOW: &str = "allow";
const ALWAYS: &str = "always";
const REJECT: &str = "reject";
/// The prefix of the id of an option of a question; its place follows.
const OPTION: &str = "option-";

/// The decision of the person.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PersonDecision {
    pub(super) approved: bool,
    pub(super) always: bool,
    pub(super) data: Value,
}

/// Returns true for a question or a form that only words can answer.
pub(super) fn is_open_question(ask: &PendingAsk) -> bool {
    let is_question = ask.input.get("kind").as_str() == Some("question");
    let has_form = ["form", "schema", "fields"].iter().any(|key| !ask.input.get(key).is_null());
    match is_question {
        true => options(ask).is_empty(),
        false => has_form,
    }
}

/// Returns the words of a question.
pub(super) fn question(ask: &PendingAsk) -> String {
    let text = |key: &str| ask.input.get(key).as_str().unwrap_or_default().to_owned();
    let is_form = ask.input.get("kind").as_str() != Some("question");
    let help = match is_form {
        true => {
            format!("\n\nFill in its form in a terminal: `rawko approve {} --data KEY=VALUE`", ask.instance)
        }
        false => "\n\nAnswer with your next message.".to_owned(),
    };
    format!("\n\n**{}**\n\n{}{help}", text("title"), text("prompt"))
}

/// Returns the message about a request that the client did not answer.
pub(super) fn unanswered(ask: &PendingAsk) -> String {
    let title = ask.input.get("title").as_str().unwrap_or(&ask.invoke);
    let id = &ask.instance;
    format!(
        "\n\n**{title}** is not answered; the task is paused. Send `continue` to be asked again, or run `rawko approve {id}` \
         or `rawko deny {id}` first."
    )
}

fn options(ask: &PendingAsk) -> Vec<&str> {
    ask.input.get("options").as_list().unwrap_or_default().iter().filter_map(Value::as_str).collect()
}

/// Builds the request. `call` is the tool call that it is about, if the client knows it.
pub(super) fn request(
    session: &str,
    ask: &PendingAsk,
    call: Option<UnfinishedCall>,
    root: &Path,
) -> RequestPermissionRequest {
    let text = |key: &str| ask.input.get(key).as_str().filter(|text| !text.is_empty());
    // An editor shows the text as it is: nothing may hide in it or reorder it.
    let title = printable(text("title").unwrap_or(&ask.invoke)).into_owned();
    let id = call
        .as_ref()
        .map_or_else(|| format!("{}/{}/{}", ask.instance, ask.invoke, ask.since_ms), |call| call.id.clone());
    let details = ["prompt", "message", "command", "runs", "diff", "url", "query", "input", "task"];
    let words: Vec<&str> = details.iter().filter_map(|key| text(key)).collect();
    let words = ToolCallContent::from(printable(&words.join("\n\n")).into_owned());
    let changes = call.as_ref().map(|call| call.changes(root)).unwrap_or_default();
    let fields = ToolCallUpdateFields::new()
        .title(title)
        .kind(kind_of(text("tool").unwrap_or_default()))
        .status(ToolCallStatus::Pending)
        .raw_input(call.map(|call| call.input))
        .content(changes.into_iter().chain([words]).collect::<Vec<_>>());
    RequestPermissionRequest::new(session.to_owned(), ToolCallUpdate::new(id, fields), choices(ask))
}

fn choices(ask: &PendingAsk) -> Vec<PermissionOption> {
    let option = |id: &str, name: &str, kind| PermissionOption::new(id.to_owned(), printable(name), kind);
    if ask.input.get("kind").as_str() == Some("question") {
        let options = options(ask).into_iter().enumerate();
        let mut all: Vec<_> = options
            .map(|(place, name)| option(&format!("{OPTION}{place}"), name, PermissionOptionKind::AllowOnce))
            .collect();
        all.push(option(REJECT, "No answer", PermissionOptionKind::RejectOnce));
        return all;
    }
    let is_permission = !ask.input.get("tool").is_null() && !ask.input.get("rule").is_null();
    let (yes, no) = if is_permission { ("Allow once", "Deny") } else { ("Approve", "Deny") };
    let mut all = vec![option(ALLOW, yes, PermissionOptionKind::AllowOnce)];
    let rules: Vec<&str> =
        ask.input.get("always").as_list().unwrap_or_default().iter().filter_map(Value::as_str).collect();
    if !rules.is_empty() {
        let name = format!("Always allow {}", rules.join(", "));
        all.push(option(ALWAYS, &name, PermissionOptionKind::AllowAlways));
    }
    all.push(option(REJECT, no, PermissionOptionKind::RejectOnce));
    all
}

impl PersonDecision {
    /// Reads the client's answer; `None` if the prompt was cancelled meanwhile. An unknown option denies.
    pub(super) fn of(ask: &PendingAsk, outcome: &RequestPermissionOutcome) -> Option<PersonDecision> {
        let RequestPermissionOutcome::Selected(selected) = outcome else { return None };
        let id = selected.option_id.to_string();
        let chosen = id.strip_prefix(OPTION).and_then(|place| place.parse::<usize>().ok());
        let chosen = chosen.and_then(|place| options(ask).get(place).copied());
        Some(match (id.as_str(), chosen) {
            (_, Some(answer)) => PersonDecision {
                approved: true,
                data: Value::map([("answer", Value::str(answer))]),
                ..PersonDecision::default()
            },
            (ALLOW, None) => PersonDecision { approved: true, ..PersonDecision::default() },
            (ALWAYS, None) => PersonDecision { approved: true, always: true, ..PersonDecision::default() },
            (_, None) => PersonDecision::default(),
        })
    }
}
