//! The beginning of a prompt: a new task, a follow-up of a finished one, or more words for one that was left.

use agent_client_protocol::v1::schema::{ContentBlock, EmbeddedResourceResource};
use rawko_agents::work::is_broken;
use rawko_core::Value;
use rawko_host::CallProgress;
use rawko_model::MessagePart;
use rawko_store::{InstanceRow, WaitReason};
use rawko_tools::image_of_base64;
use tokio::sync::broadcast;

use super::permission::is_open_question;
use super::session::EditorSession;
use crate::commands::continuing::ContinuedTask;
use crate::commands::run::texts;
use crate::commands::task::merged;
use crate::console::Console;
use crate::failure::CommandFailure;
use crate::hosting::{HostAccess, ProjectContext, SocketRequest};
use crate::repeating::asked;
use crate::standing::InstanceStanding;
use crate::task_request::{ORCHESTRATOR, TaskRequest, insist_on_gate};
use crate::times;

/// A task that runs for a prompt.
pub(super) struct StartedTask {
    pub(super) id: String,
    pub(super) access: HostAccess,
    /// Position in the journal before the prompt.
    pub(super) seq: u64,
    pub(super) heard: Option<broadcast::Receiver<CallProgress>>,
}

/// The parts of a prompt.
struct PromptParts {
    text: String,
    images: Vec<MessagePart>,
}

pub(super) async fn start(
    session: &EditorSession,
    place: &ProjectContext,
    prompt: &[ContentBlock],
    console: &mut Console,
) -> Result<StartedTask, CommandFailure> {
    let words = PromptParts::of(prompt)?;
    let reader = place.reader()?;
    let tasks = reader.as_ref().map(|reader| session.tasks(reader)).transpose()?.unwrap_or_default();
    let next = session.task_id(tasks.len() + 1);
    match tasks.into_iter().next_back() {
        Some(row) if !row.head.status.is_over() => resume(&row, words, place, console).await,
        last => begin(next, last, words, place, console).await,
    }
}

/// Starts a task; `before` is the finished one that it follows up.
async fn begin(
    id: String,
    before: Option<InstanceRow>,
    words: PromptParts,
    place: &ProjectContext,
    console: &mut Console,
) -> Result<StartedTask, CommandFailure> {
    if words.text.trim().is_empty() {
        return Err(CommandFailure::Usage("the prompt has no text".to_owned()));
    }
    let (agent_services, problems) = place.agent_services();
    if is_broken(problems) {
        let why = "the agents or settings of this project are invalid; see `rawko agents check`";
        return Err(CommandFailure::Invalid(why.to_owned()));
    }
    let chart = place.named(ORCHESTRATOR)?;
    insist_on_gate(&place.settings.gate(), &chart)?;
    let kept = match before {
        None => None,
        Some(row) => {
            let Some(reader) = place.reader()? else {
                return Err(CommandFailure::Failed("no store".to_owned()));
            };
            let standing = InstanceStanding::of(&reader, &row.new.id, &place.world(), times::now_ms())?;
            let continued = ContinuedTask { row, text: None };
            Some((continued.task(&standing, &words.text), continued.kept(&standing)))
        }
    };
    let task = kept.as_ref().map_or(words.text, |(task, _)| task.clone());
    let task_request =
        TaskRequest { task, attachments: words.images, ask_people: true, ..TaskRequest::default() };
    let input = task_request.input(&agent_services, &chart)?;
    let input = kept.map_or_else(|| input.clone(), |(_, kept)| merged(&kept, &input));
    let charts = [chart];
    let access = HostAccess::open(place, &charts, console).await?;
    // The person at the editor can be asked.
    let budget = Value::map([("permission_mode", Value::str("wait"))]);
    let request = SocketRequest::Start { charts: texts(&charts), input, id: Some(id.clone()), budget };
    perform(access, place, id, vec![request], console).await
}

/// Continues a task that was paused, cancelled or left by a process that ended.
async fn resume(
    row: &InstanceRow,
    words: PromptParts,
    place: &ProjectContext,
    console: &mut Console,
) -> Result<StartedTask, CommandFailure> {
    let id = row.new.id.to_string();
    let access = HostAccess::open(place, &[], console).await?;
    let standing = InstanceStanding::of(&access.reader(), &id, &place.world(), times::now_ms())?;
    let mut requests = Vec::new();
    let text = words.text.trim();
    // The word alone adds nothing for the agents.
    let text = if text.eq_ignore_ascii_case("continue") { "" } else { text };
    match standing.asks.iter().find(|ask| is_open_question(ask)) {
        Some(ask) if !text.is_empty() => requests.push(SocketRequest::Answer {
            id: ask.instance.to_string(),
            ask: Some(ask.invoke.clone()),
            asked_ms: Some(ask.since_ms),
            approved: true,
            by: None,
            comment: None,
            data: Value::map([("answer", Value::str(text))]),
        }),
        _ if !text.is_empty() => requests.push(SocketRequest::Send {
            id: id.clone(),
            event: "MESSAGE".to_owned(),
            data: Value::map([("text", Value::str(text))]),
            key: None,
        }),
        _ => {}
    }
    if row.head.wait == WaitReason::Paused {
        requests.push(SocketRequest::Resume { id: id.clone() });
    }
    perform(access, place, id, requests, console).await
}

async fn perform(
    mut access: HostAccess,
    place: &ProjectContext,
    id: String,
    requests: Vec<SocketRequest>,
    console: &mut Console,
) -> Result<StartedTask, CommandFailure> {
    let seq = access.reader().store().last_seq()?;
    let heard = access.progress();
    for request in requests {
        if let Err(failure) = asked(&mut access, place, request, console).await {
            access.close(console).await;
            return Err(failure);
        }
    }
    Ok(StartedTask { id, access, seq, heard })
}

impl PromptParts {
    /// Returns the text with attached files, and the images.
    fn of(prompt: &[ContentBlock]) -> Result<PromptParts, CommandFailure> {
        let mut words = PromptParts { text: String::new(), images: Vec::new() };
        for block in prompt {
            match block {
                ContentBlock::Text(text) => words.text += &text.text,
                ContentBlock::Image(image) => {
                    let part = image_of_base64(&image.data);
                    words.images.push(part.map_err(|why| CommandFailure::Usage(format!("an image: {why}")))?);
                }
                ContentBlock::ResourceLink(link) => words.text += &format!(" {} ", place_of(&link.uri)),
                ContentBlock::Resource(resource) => {
                    if let EmbeddedResourceResource::TextResourceContents(file) = &resource.resource {
                        let text = &file.text;
                        words.text += &format!("\n\n{}:\n```\n{text}\n```\n", place_of(&file.uri));
                    }
                }
                other => {
                    let kind =
                        serde_json::to_value(other).ok().and_then(|it| Some(it["type"].as_str()?.to_owned()));
                    let kind = kind.unwrap_or_else(|| "unknown".to_owned());
                    return Err(CommandFailure::Usage(format!(
                        "content of the type `{kind}` is not supported"
                    )));
                }
            }
        }
        Ok(words)
    }
}

/// Returns the path of a file's address.
fn place_of(uri: &str) -> &str {
    uri.strip_prefix("file://").unwrap_or(uri)
}
