//! Requests to people as questions to the client, and its answers. A client that cannot ask leaves the request pending:
//! it can be answered in the terminal and on the page as always.

use rawko_chart::printable;
use rawko_host::PersonAnswer;
use rawko_view::standing::PendingAsk;
use rmcp::RoleServer;
use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ErrorData, InputRequest,
    InputRequests, InputRequiredResult, InputResponses, ProtocolVersion,
};
use rmcp::service::RequestContext;
use serde_json::{Value, json};

use super::{InstanceView, McpServer, not_found};
use crate::http::caller_of;

/// The middle of longer details is left out, which a note in the message states.
const DETAILS_CHARS_MAX: usize = 20_000;
/// Digits of the proof in a state.
const PROOF_DIGITS: usize = 32;

/// What became of a question.
pub(super) enum AskOutcome {
    Answered,
    /// The client asks its person and calls again.
    Later(InputRequiredResult),
    /// The client cannot ask, or its person did not decide.
    Open,
}

/// How requests are named. An answer must fit one request only, also after a later one got its name.
#[derive(Clone, Copy)]
pub(super) enum Naming {
    /// In a call, whose state names the newest request that was shown.
    Plain,
    /// In a task, where only the name comes back.
    WithTime,
}

/// The requests that a client's person has seen.
#[derive(Clone, Copy)]
pub(super) enum Seen {
    /// Those made until this time.
    Until(i64),
    /// Those whose names come back.
    AsNamed,
}

impl McpServer {
    /// Asks the client's person for what an instance waits for.
    pub(super) async fn ask(
        &self,
        root: &str,
        view: &InstanceView,
        context: &RequestContext<RoleServer>,
    ) -> Result<AskOutcome, ErrorData> {
        let can_ask =
            context.client_capabilities().is_some_and(|capabilities| capabilities.elicitation.is_some());
        let Some(first) = view.asks.first().filter(|_| can_ask) else { return Ok(AskOutcome::Open) };
        let version = context.protocol_version();
        if version.is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str()) {
            let requests = view.questions(Naming::Plain)?;
            let newest_ms = view.asks.iter().map(|ask| ask.since_ms).max().unwrap_or_default();
            let state = self.sealed(root, newest_ms);
            return Ok(AskOutcome::Later(InputRequiredResult::new(Some(requests), Some(state))));
        }
        let result = context.peer.create_elicitation(params(first)?).await;
        match result {
            Ok(result) => self.answer(first, result, context).await,
            Err(_) => Ok(AskOutcome::Open),
        }
    }

    /// Takes the answers that a client brings along. Those to other requests are ignored, and so is a request that the
    /// person has not seen: it took the place of an earlier one of the same name.
    pub(super) async fn answers(
        &self,
        view: &InstanceView,
        seen: Seen,
        responses: InputResponses,
        context: &RequestContext<RoleServer>,
    ) -> Result<usize, ErrorData> {
        let mut taken = 0;
        let (naming, until_ms) = match seen {
            Seen::Until(ms) => (Naming::Plain, ms),
            Seen::AsNamed => (Naming::WithTime, i64::MAX),
        };
        for ask in view.asks.iter().filter(|ask| ask.since_ms <= until_ms) {
            let key = view.key(ask, naming);
            let Some(response) = responses.get(&key) else { continue };
            let result: ElicitResult = serde_json::from_value(response.clone())
                .map_err(|error| not_found(&format!("the response `{key}` is not an answer: {error}")))?;
            if let AskOutcome::Answered = self.answer(ask, result, context).await? {
                taken += 1;
            }
        }
        Ok(taken)
    }

    async fn answer(
        &self,
        ask: &PendingAsk,
        result: ElicitResult,
        context: &RequestContext<RoleServer>,
    ) -> Result<AskOutcome, ErrorData> {
        let approved = match result.action {
            ElicitationAction::Accept => true,
            ElicitationAction::Decline => false,
            _ => return Ok(AskOutcome::Open),
        };
        let content = result.content.unwrap_or_default();
        let comment = content.get("comment").and_then(Value::as_str).map(str::to_owned);
        let data = if approved && form(ask).is_some() { content } else { Value::Null };
        let person =
            context.extensions.get::<::http::request::Parts>().and_then(|parts| caller_of(&parts.extensions));
        let by = person.and_then(|caller| caller.person(None)).or_else(|| self.options.person.clone());
        let asked_ms = Some(ask.since_ms);
        let answer = PersonAnswer { approved, by, claimed: None, asked_ms, comment, data: data.into() };
        let (instance, invoke) = (ask.instance.to_string(), Some(ask.invoke.clone()));
        match self.engine().answer(instance, invoke, answer).await {
            Ok(_) => Ok(AskOutcome::Answered),
            Err(error) => Err(not_found(&error.to_string())),
        }
    }

    /// Returns a state that names an instance and the newest request that was shown, and cannot be forged.
    fn sealed(&self, id: &str, newest_ms: i64) -> String {
        let about = format!("{newest_ms}.{id}");
        format!("{}.{about}", self.proof(&about))
    }

    /// Returns the instance of a state that was issued here, and the requests that were shown with it.
    pub(super) fn opened(&self, state: &str) -> Result<(String, Seen), ErrorData> {
        let about = state
            .split_once('.')
            .filter(|(proof, about)| *proof == self.proof(about))
            .and_then(|(_, about)| about.split_once('.'));
        let opened = about.and_then(|(ms, id)| Some((id.to_owned(), Seen::Until(ms.parse().ok()?))));
        opened.ok_or_else(|| not_found("the request state is not one of this server"))
    }

    fn proof(&self, about: &str) -> String {
        blake3::keyed_hash(&self.options.key, about.as_bytes()).to_hex()[..PROOF_DIGITS].to_owned()
    }
}

impl InstanceView {
    /// Returns a question for every pending request.
    pub(super) fn questions(&self, naming: Naming) -> Result<InputRequests, ErrorData> {
        let question = |ask: &PendingAsk| {
            Ok((self.key(ask, naming), InputRequest::Elicitation(ElicitRequest::new(params(ask)?))))
        };
        self.asks.iter().map(question).collect()
    }

    /// Returns the name of a request: its invoke, with the instance if it is a descendant.
    fn key(&self, ask: &PendingAsk, naming: Naming) -> String {
        let is_own = *ask.instance == *self.document.row.id;
        let name = if is_own { ask.invoke.clone() } else { format!("{}/{}", ask.instance, ask.invoke) };
        match naming {
            Naming::Plain => name,
            Naming::WithTime => format!("{name}@{}", ask.since_ms),
        }
    }
}

fn form(ask: &PendingAsk) -> Option<Value> {
    Some(ask.input.get("form")).filter(|form| !form.is_null()).map(|form| form.to_json())
}

/// Builds the question. A form that MCP cannot express is asked for as a comment.
fn params(ask: &PendingAsk) -> Result<ElicitRequestParams, ErrorData> {
    let comment = json!({
        "type": "object",
        "properties": {"comment": {"type": "string", "title": "Comment", "description": "For the workflow (optional)."}}
    });
    let build = |schema: Value| {
        let params = json!({"mode": "form", "message": message(ask), "requestedSchema": schema});
        serde_json::from_value::<ElicitRequestParams>(params)
    };
    let built = match form(ask) {
        Some(form) => build(form).or_else(|_| build(comment)),
        None => build(comment),
    };
    built.map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

/// Returns the request in words: its title, its prompt, and everything else that the person should see.
fn message(ask: &PendingAsk) -> String {
    let input = ask.input.to_json();
    let text = |key: &str| input.get(key).and_then(Value::as_str).unwrap_or_default().trim().to_owned();
    let known = ["title", "prompt", "form", "expires", "kind", "always", "by"];
    let details = input.as_object().into_iter().flatten().filter(|(key, _)| !known.contains(&key.as_str()));
    let details = details.map(|(key, value)| match value {
        Value::String(text) => format!("{key}: {text}"),
        other => format!("{key}: {other}"),
    });
    let details = without_middle(&details.collect::<Vec<_>>().join("\n"), &ask.instance);
    let parts = [text("title"), text("prompt"), details];
    let words = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n");
    // A client shows the text as it is: nothing may hide in it or reorder it.
    match words.is_empty() {
        true => format!("The workflow asks for an approval ({}).", ask.invoke),
        false => printable(&words).into_owned(),
    }
}

/// Returns the beginning and the end of a long text, after a note: a person must know that there is more.
fn without_middle(text: &str, instance: &str) -> String {
    let total = text.chars().count();
    if total <= DETAILS_CHARS_MAX {
        return text.to_owned();
    }
    let half = DETAILS_CHARS_MAX / 2;
    let first: String = text.chars().take(half).collect();
    let last: String = text.chars().skip(total - half).collect();
    let left_out = total - 2 * half;
    let note = format!("Not all of it is shown here: read the rest with `rawko show {instance}`.");
    format!("{note}\n{first}\n[{left_out} characters are left out]\n{last}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_sees_what_they_approve() {
        let ask = |command: &str| PendingAsk {
            instance: "t.dev.0".into(),
            invoke: "permission".into(),
            input: json!({"title": "Run", "command": command}).into(),
            since_ms: 1,
            expires_ms: None,
        };
        let shown = message(&ask("touch 'a\u{202e}txt.sh' \u{200b}b"));
        assert_eq!(shown, "Run\n\ncommand: touch 'a\\u202etxt.sh' \\u200bb");
        let shown = message(&ask(&format!("echo {}; touch x", "a".repeat(30_000))));
        assert!(shown.contains("rawko show t.dev.0") && shown.ends_with("; touch x"), "{shown}");
    }
}
