//! Builds the request to a program from its caller's input: as text for all of them, and as data for those that can
//! read it.

use rawko_core::{Map, Value};
use rawko_host::{AgentRequest, Category, ServiceCall, ServiceError};
use serde::Deserialize;

use crate::agent::{AgentFile, AgentKind};
use crate::work::agent_resolver;
use crate::work::complete::text;
use crate::work::open::{self, NamedPhase};
use crate::work::own_charts::is_own_program_chart;
use crate::work::types::{AgentRun, ApprovedCall};
use rawko_model::provider::OutputSchema;
use rawko_model::{Message, MessagePart, Role};
use rawko_programs::program::TurnRequest;
use rawko_tools::Grant;

/// Input keys that only a program takes; for other agents they would be data.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ProgramInput {
    /// The session to resume.
    session: Option<String>,
    /// From the chart `program_agent` only: a person's decision since the last turn, and the report of that turn.
    answer: Option<String>,
    report_so_far: Option<String>,
    /// Calls that a person approved, and hosts.
    approvals: Option<Vec<ApprovedCall>>,
    hosts: Option<Vec<String>>,
    /// Hosts that a person denied.
    denied_hosts: Option<Vec<String>>,
    /// Calls that a person denied, or did not decide on in time.
    denied_calls: Option<Vec<DeniedCall>>,
}

/// A call that is not asked about again in this run.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct DeniedCall {
    pub(super) tool: String,
    #[serde(default)]
    pub(super) input: Value,
}

/// Keys of [`ProgramInput`] that are data if another chart passes them.
const ANSWER_KEYS: [&str; 6] =
    ["answer", "report_so_far", "approvals", "hosts", "denied_hosts", "denied_calls"];

fn program_input(call: &ServiceCall) -> ProgramInput {
    let input: ProgramInput = call.input.read().unwrap_or_default();
    match is_own_program_chart(&call.policy) {
        true => input,
        false => ProgramInput { session: input.session, ..ProgramInput::default() },
    }
}

/// Returns the calls that a person approved.
pub(super) fn approvals(call: &ServiceCall) -> Vec<ApprovedCall> {
    program_input(call).approvals.unwrap_or_default()
}

/// The caller's choice of a worktree for a program.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct IsolationInput {
    pub(super) isolation: Value,
    pub(super) worktree: Value,
}

pub(super) fn isolation(call: &ServiceCall) -> IsolationInput {
    call.input.read().unwrap_or_default()
}

/// Returns the hosts that a person approved.
pub(super) fn hosts(call: &ServiceCall) -> Vec<String> {
    program_input(call).hosts.unwrap_or_default()
}

/// Returns the hosts that a person denied.
pub(super) fn denied_hosts(call: &ServiceCall) -> Vec<String> {
    program_input(call).denied_hosts.unwrap_or_default()
}

/// Returns true if a person denied this call earlier in the run.
pub(super) fn is_denied(call: &ServiceCall, tool: &str, input: &Value) -> bool {
    let denied = program_input(call).denied_calls.unwrap_or_default();
    denied.iter().any(|it| it.tool == tool && it.input == *input)
}

/// Returns true for the first turn of a program: later ones bring answers.
pub(super) fn is_first(call: &ServiceCall) -> bool {
    program_input(call).answer.is_none()
}

/// Returns the session to resume.
pub(super) fn session(call: &ServiceCall) -> Option<String> {
    program_input(call).session
}

/// Returns the caller's input, with reserved keys separated from the data.
pub(super) fn input(agent: &AgentFile, call: &ServiceCall) -> Result<AgentRun, ServiceError> {
    let mut given = call.input.clone();
    if let Value::Map(map) = &given {
        let mut rest: Map = (**map).clone();
        if session(call).is_some() {
            rest.shift_remove("session");
        }
        if is_own_program_chart(&call.policy) {
            ANSWER_KEYS.iter().for_each(|key| drop(rest.shift_remove(*key)));
        }
        given = Value::Map(rest.into());
    }
    let casting =
        AgentRequest { agent: &agent.name, input: &given, policy: &call.policy, instance: &call.instance };
    agent_resolver::input(agent, &casting).read().map_err(|error| {
        let message = format!("the input of `{}` does not have its type: {error}", call.name);
        ServiceError::new(Category::Failed, message)
    })
}

/// Builds the first request and its messages.
pub(super) fn first(
    agent: &AgentFile,
    phase: NamedPhase<'_>,
    input: &AgentRun,
    call: &ServiceCall,
) -> Result<(TurnRequest, Vec<Message>), ServiceError> {
    let ProgramInput { answer, report_so_far, .. } = program_input(call);
    // The conversation has the prompt of the first turn and its data.
    let told = answer.as_deref().map(Value::str);
    let task = open::TaskInput {
        messages: input.messages.as_deref(),
        prompt: told.as_ref().unwrap_or(&input.prompt),
        data: if told.is_some() { &Value::NULL } else { &input.data },
        plan: &input.plan,
    };
    let messages = without_reasoning(open::messages(&task)?);
    let schema = open::schema(&input.schema)?;
    let (before, last) = apart(&messages);
    let mut request = TurnRequest {
        agent: agent.name.clone(),
        messages: before,
        prompt: with_schema(last, schema.as_ref()),
        session: session(call),
        // A program has tools of its own.
        system: open::system(agent, phase, &Grant::new(Vec::new())),
        phase: phase.map(|(name, _)| name.to_owned()),
        data: input.data.clone(),
        plan: input.plan.clone(),
        schema: schema.map(|schema| schema.schema).unwrap_or_default(),
        ..TurnRequest::default()
    };
    if agent.kind == AgentKind::Acp {
        in_one_text(&mut request, &messages);
        if let Some(answer) = answer {
            let work = TurnRequest { prompt: open::prompt_text(&input.prompt), ..TurnRequest::default() };
            let said = report_so_far.unwrap_or_default();
            request.prompt = again(agent, &work, &said, &answer, Vec::new()).prompt;
        }
    }
    Ok((request, messages))
}

/// Thoughts of a model are its own: programs get the conversation without them.
fn without_reasoning(mut messages: Vec<Message>) -> Vec<Message> {
    for message in &mut messages {
        message.parts.retain(|part| !matches!(part, MessagePart::Reasoning(_)));
    }
    messages
}

/// Builds the request after a program has stopped too early.
pub(super) fn again(
    agent: &AgentFile,
    first: &TurnRequest,
    said: &str,
    words: &str,
    messages: Vec<Message>,
) -> TurnRequest {
    let prompt = match agent.kind {
        // It may be unable to load its session, and then has no memory of it.
        AgentKind::Acp => {
            format!(
                "{}\n\nYou have worked on this before. Your last report:\n{said}\n\n{words}",
                first.prompt
            )
        }
        AgentKind::Llm | AgentKind::Process | AgentKind::Human | AgentKind::Scripted | AgentKind::Chart => {
            words.to_owned()
        }
    };
    TurnRequest { prompt, messages, ..first.clone() }
}

/// Splits the conversation so far from the text of the new prompt. Images are not text: they stay in the conversation.
fn apart(messages: &[Message]) -> (Vec<Message>, String) {
    let Some((last, before)) = messages.split_last() else { return (Vec::new(), String::new()) };
    let mut before = before.to_vec();
    if last.role == Role::Assistant {
        before.push(last.clone());
        return (before, "Continue.".to_owned());
    }
    let others: Vec<MessagePart> = last.parts.iter().filter(|part| !is_text(part)).cloned().collect();
    if !others.is_empty() {
        before.push(Message { role: Role::User, parts: others });
    }
    let words = text(last);
    (before, if words.is_empty() { "Continue.".to_owned() } else { words })
}

fn is_text(part: &MessagePart) -> bool {
    match part {
        MessagePart::Text { .. } => true,
        MessagePart::Image { .. }
        | MessagePart::ImageRef { .. }
        | MessagePart::ToolUse(_)
        | MessagePart::ToolResult(_)
        | MessagePart::Reasoning(_) => false,
    }
}

fn with_schema(prompt: String, schema: Option<&OutputSchema>) -> String {
    match schema {
        None => prompt,
        Some(schema) => format!(
            "{prompt}\n\nEnd with one JSON value that matches this JSON Schema, and nothing after it:\n{}",
            schema.schema
        ),
    }
}

/// A coding agent accepts a single text.
fn in_one_text(request: &mut TurnRequest, messages: &[Message]) {
    let mut texts = vec![request.system.clone()];
    // A session contains the conversation.
    if request.session.is_none() && !request.messages.is_empty() {
        texts.push(format!("The conversation so far:\n{}", history(&request.messages)));
    }
    let images = messages.iter().flat_map(|message| &message.parts).filter(|part| is_image(part)).count();
    if images > 0 {
        texts.push(format!("({images} images belong to this; they cannot be shown to you.)"));
    }
    texts.push(std::mem::take(&mut request.prompt));
    texts.retain(|text| !text.trim().is_empty());
    request.prompt = texts.join("\n\n");
}

fn is_image(part: &MessagePart) -> bool {
    match part {
        MessagePart::Image { .. } | MessagePart::ImageRef { .. } => true,
        MessagePart::Text { .. }
        | MessagePart::ToolUse(_)
        | MessagePart::ToolResult(_)
        | MessagePart::Reasoning(_) => false,
    }
}

fn history(messages: &[Message]) -> String {
    let line = |message: &Message| {
        let who = match message.role {
            Role::User => "user",
            Role::Assistant => "you",
        };
        Some(text(message)).filter(|text| !text.is_empty()).map(|text| format!("{who}: {text}"))
    };
    messages.iter().filter_map(line).collect::<Vec<_>>().join("\n")
}
