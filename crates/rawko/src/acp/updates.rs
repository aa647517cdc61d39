//! Entries of the journal and live text as updates of a session: messages, thoughts, tool calls with diffs and results,
//! plans. The journal is the truth; live text only comes earlier.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_client_protocol::v1::schema::{
    ContentBlock, ContentChunk, Diff, Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus, SessionUpdate,
    TextContent, ToolCall, ToolCallContent, ToolCallLocation, ToolCallStatus, ToolCallUpdate,
    ToolCallUpdateFields, ToolKind,
};
use rawko_core::{ServiceClass, ServiceName};
use rawko_host::{CallProgress, SnapshotReader};
use rawko_view::transcript::{Turn, turns_of};
use serde_json::Value as Json;

use crate::journal::{EntryBody, JournalEntry, agent, live};

/// The beginning of the part of a follow-up's task that the person did not write.
const FOLLOW_UP: &str = "\n\nThis continues an earlier task (";

/// A tool call without a result.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct UnfinishedCall {
    pub(super) id: String,
    name: String,
    pub(super) input: Json,
}

/// The messages of an instance that arrived live.
#[derive(Clone, Debug, Default)]
struct LiveText {
    /// The message that is still arriving.
    text: String,
    /// Whole messages that the journal does not have yet: true if they were sent.
    whole: VecDeque<bool>,
}

impl LiveText {
    /// Structured data is sent from the journal, in words.
    fn is_data(&self) -> bool {
        self.text.trim_start().starts_with(['{', '['])
    }
}

pub(super) struct Updates {
    root: PathBuf,
    /// The person's own messages are sent, too: the client has not shown them.
    is_replay: bool,
    /// Open calls by instance, in order.
    open: HashMap<Arc<str>, Vec<UnfinishedCall>>,
    /// Live messages by instance, until the journal has them.
    streamed: HashMap<Arc<str>, LiveText>,
    /// The agent whose text came last.
    speaker: Option<String>,
}

impl Updates {
    /// Converts what happens from now on.
    pub(super) fn live(root: &Path) -> Updates {
        Updates {
            root: root.canonicalize().unwrap_or_else(|_| root.to_owned()),
            is_replay: false,
            open: HashMap::new(),
            streamed: HashMap::new(),
            speaker: None,
        }
    }

    /// Converts what happened before, for a client that loads the session.
    pub(super) fn replaying(root: &Path) -> Updates {
        Updates { is_replay: true, ..Updates::live(root) }
    }

    /// Returns the updates of an entry.
    pub(super) fn entry(&mut self, entry: &JournalEntry) -> Vec<SessionUpdate> {
        let mut all = self.collected(entry);
        for turn in turns_of(entry) {
            all.extend(self.turn(entry, turn));
        }
        all
    }

    fn turn(&mut self, entry: &JournalEntry, turn: Turn) -> Vec<SessionUpdate> {
        match turn.kind {
            "note" if turn.title == "starts" && entry.agent.is_none() && self.is_replay => {
                let text = turn.text.split(FOLLOW_UP).next().unwrap_or_default();
                vec![SessionUpdate::UserMessageChunk(chunk(text))]
            }
            "message" if self.is_replay => vec![SessionUpdate::UserMessageChunk(chunk(&turn.text))],
            "says" => self.says(entry, &turn),
            "calls" => self.calls(entry, &turn).into_iter().collect(),
            "gets" | "fails" => self.result(entry, &turn.data, &turn.text).into_iter().collect(),
            "plan" => vec![plan(&turn.data)],
            "decision" => {
                let words = format!("{}: {}\n", turn.title, turn.text);
                vec![SessionUpdate::AgentThoughtChunk(chunk(&words))]
            }
            _ => Vec::new(),
        }
    }

    /// A message, unless it was sent while it arrived.
    fn says(&mut self, entry: &JournalEntry, turn: &Turn) -> Vec<SessionUpdate> {
        let live = self.streamed.get_mut(&entry.instance);
        // The messages of a program come together at its end.
        if entry.agent.is_none() && live.as_ref().is_some_and(|live| live.text.contains(turn.text.trim())) {
            return Vec::new();
        }
        let is_sent = live.is_some_and(|live| match live.whole.pop_front() {
            Some(is_sent) => is_sent,
            // Its end was missed.
            None => {
                let is_sent = !live.text.trim().is_empty() && !live.is_data();
                live.text.clear();
                is_sent
            }
        });
        if is_sent { Vec::new() } else { self.speaks(turn.agent.as_deref(), turn.text.trim()) }
    }

    /// Text of an agent, after its name if another one spoke before.
    fn speaks(&mut self, agent: Option<&str>, text: &str) -> Vec<SessionUpdate> {
        let agent = agent.unwrap_or_default();
        let is_new = self.speaker.as_deref() != Some(agent);
        let lead = match is_new && !agent.is_empty() {
            true => format!("\n\n**{agent}**\n\n"),
            false => "\n\n".to_owned(),
        };
        self.speaker = Some(agent.to_owned());
        vec![message(&format!("{lead}{text}"))]
    }

    /// Returns live text of the agents of a task.
    pub(super) fn hear(
        &mut self,
        heard: &CallProgress,
        root: &str,
        reader: &SnapshotReader,
    ) -> Vec<SessionUpdate> {
        let below =
            heard.instance.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        if !below || !live::is_agents(heard) {
            return Vec::new();
        }
        let live = self.streamed.entry(Arc::clone(&heard.instance)).or_default();
        match heard.data.get("type").as_str() {
            Some("text_delta") => {}
            Some("message_done") if !live.text.trim().is_empty() => {
                let is_sent = !live.is_data();
                live.whole.push_back(is_sent);
                live.text.clear();
                return Vec::new();
            }
            Some(_) | None => return Vec::new(),
        }
        let text = heard.data.get("text").as_str().unwrap_or_default();
        let is_first = live.text.trim().is_empty();
        live.text.push_str(text);
        if live.text.trim().is_empty() || live.is_data() {
            return Vec::new();
        }
        if !is_first {
            return vec![message(text)];
        }
        let text = live.text.trim_start().to_owned();
        let own = ServiceName::member_of(&heard.name, ServiceClass::Agent).map(str::to_owned);
        let of_row = || Some(reader.find(&heard.instance).ok()?.new.agent()?.to_string());
        self.speaks(own.or_else(of_row).as_deref(), &text)
    }

    fn calls(&mut self, entry: &JournalEntry, turn: &Turn) -> Option<SessionUpdate> {
        let text = |key: &str| turn.data[key].as_str().unwrap_or_default();
        let id = format!("{}/{}", entry.instance, text("id"));
        let call = UnfinishedCall {
            id: id.clone(),
            name: text("name").to_owned(),
            input: turn.data["input"].clone(),
        };
        let path = ["path", "file_path"].iter().find_map(|key| call.input[key].as_str());
        let locations = path.map(|path| vec![ToolCallLocation::new(self.root.join(path))]);
        let update = ToolCall::new(id, turn.title.clone())
            .name(call.name.clone())
            .kind(kind_of(&call.name))
            .status(ToolCallStatus::InProgress)
            .raw_input(call.input.clone())
            .content(call.changes(&self.root))
            .locations(locations.unwrap_or_default());
        self.open.entry(Arc::clone(&entry.instance)).or_default().push(call);
        Some(SessionUpdate::ToolCall(update))
    }

    /// The result of a call; `data` is the stored result, which names it.
    fn result(&mut self, entry: &JournalEntry, data: &Json, text: &str) -> Option<SessionUpdate> {
        let id = format!("{}/{}", entry.instance, data["id"].as_str()?);
        let open = self.open.get_mut(&entry.instance)?;
        let place = open.iter().position(|call| call.id == id)?;
        let call = open.remove(place);
        let is_error = data["is_error"].as_bool() == Some(true);
        let status = if is_error { ToolCallStatus::Failed } else { ToolCallStatus::Completed };
        let words = ToolCallContent::from(text.to_owned());
        // The content replaces the diff of the call, so that is sent again.
        let diffs = if is_error { Vec::new() } else { call.changes(&self.root) };
        let fields = ToolCallUpdateFields::new()
            .status(status)
            .raw_output(data.clone())
            .content(diffs.into_iter().chain([words]).collect::<Vec<_>>());
        Some(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id, fields)))
    }

    /// Results that arrive only with the others of the same completion: refusals.
    fn collected(&mut self, entry: &JournalEntry) -> Vec<SessionUpdate> {
        let EntryBody::Answered { invoke, data } = &entry.what else { return Vec::new() };
        if agent::invoke_of(invoke) != "collect" {
            return Vec::new();
        }
        let results = data.get("results").as_list().unwrap_or_default().iter();
        let results = results.map(|result| result.to_json()).collect::<Vec<_>>();
        let text = |result: &Json| result["content"].as_str().unwrap_or_default().to_owned();
        results.iter().filter_map(|result| self.result(entry, result, &text(result))).collect()
    }

    /// Returns the open call of an instance that a request is about.
    pub(super) fn open_call(&self, instance: &str, tool: Option<&str>) -> Option<UnfinishedCall> {
        let open = self.open.get(instance)?;
        open.iter().rev().find(|call| Some(call.name.as_str()) == tool).or(open.last()).cloned()
    }
}

impl UnfinishedCall {
    /// Returns the change that a Write or an Edit makes.
    pub(super) fn changes(&self, root: &Path) -> Vec<ToolCallContent> {
        let text = |key: &str| self.input[key].as_str();
        let Some(path) = text("path").or_else(|| text("file_path")) else { return Vec::new() };
        let path = root.join(path);
        let diff = match self.name.as_str() {
            "Write" => text("content").map(|new| Diff::new(path, new)),
            "Edit" => text("new_string")
                .map(|new| Diff::new(path, new).old_text(text("old_string").map(str::to_owned))),
            _ => None,
        };
        diff.map(ToolCallContent::from).into_iter().collect()
    }
}

/// Returns the kind of a tool, which decides how a client shows it.
pub(super) fn kind_of(tool: &str) -> ToolKind {
    match tool {
        "Read" | "PlanRead" | "Skill" => ToolKind::Read,
        "Write" | "Edit" => ToolKind::Edit,
        "Glob" | "Grep" => ToolKind::Search,
        "Bash" => ToolKind::Execute,
        "WebFetch" | "WebSearch" | "Network" => ToolKind::Fetch,
        "Think" | "PlanWrite" | "PlanUpdate" => ToolKind::Think,
        _ => ToolKind::Other,
    }
}

fn plan(data: &Json) -> SessionUpdate {
    let steps = data["steps"].as_array().map(Vec::as_slice).unwrap_or_default();
    let entries = steps.iter().map(|step| {
        let status = match step["status"].as_str() {
            Some("done" | "completed" | "skipped") => PlanEntryStatus::Completed,
            Some("in_progress" | "active") => PlanEntryStatus::InProgress,
            _ => PlanEntryStatus::Pending,
        };
        let title = step["title"].as_str().or_else(|| step["description"].as_str()).unwrap_or_default();
        PlanEntry::new(title, PlanEntryPriority::Medium, status)
    });
    SessionUpdate::Plan(Plan::new(entries.collect()))
}

/// Text of the agent.
pub(super) fn message(text: &str) -> SessionUpdate {
    SessionUpdate::AgentMessageChunk(chunk(text))
}

fn chunk(text: &str) -> ContentChunk {
    ContentChunk::new(ContentBlock::Text(TextContent::new(text)))
}
