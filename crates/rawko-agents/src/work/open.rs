//! `work:open`: builds a session from an agent's file, its phase, and all layers that narrow its rights.

use rawko_core::Value;
use rawko_host::{Category, ServiceCall, ServiceError};

use super::attachments::AttachedImages;
use super::read::model_of;
use super::session::AgentSession;
use super::types::{CallPolicy, ExitGoal, OpenInput, OpenOutput, value};
use super::{AgentServices, advice, delegate, mentions, turn_hooks, untrusted_text};
use crate::agent::AgentFile;
use rawko_arbiter::phases::Phase;
use rawko_arbiter::{Plan, PlanStep, StepStatus};
use rawko_model::provider::{OutputSchema, ReasoningEffort};
use rawko_model::{Message, MessagePart, Role, ToolResult, ToolSpec, ToolUse};
use rawko_tools::{ASK_USER, AskMode, BashFilter, Grant, GrantLayer, Permissions};

const HELPER_PHASE: &str = "explore";
/// The source of a mode that a person gave for one run.
const PERMISSION_MODE: &str = "--permission-mode";

pub(super) async fn open(
    agent_services: &AgentServices,
    call: &ServiceCall,
    input: OpenInput,
) -> Result<OpenOutput, ServiceError> {
    let agent = agent_services.agent(input.agent.as_deref().unwrap_or_default())?;
    let name = super::isolation::name_of(&call.instance, &agent.name);
    let asked = Isolation { isolation: &input.isolation, worktree: &input.worktree };
    let worktree = agent_services.isolate(agent, &call.instance, &name, asked).await?;
    let phase = phase(agent_services, input.phase.as_deref())?;
    let grant = grant(agent_services, agent, phase, input.grant.as_ref(), call);
    let full = agent_services.within(&grant);
    let goal = phase.map_or(Value::Null, |(_, phase)| goal(phase, &full));
    let session = session(agent_services, agent, phase, grant, &input).await?;
    let mut attached = AttachedImages::default();
    let mut messages = messages(&input.task())?;
    // A model's words to its sub-agent attach nothing: it can name files without.
    if input.depth == 0
        && !input.prompt.is_null()
        && let Some(last) = messages.last_mut()
    {
        last.parts = mentions::attach(agent_services, &full, call, std::mem::take(&mut last.parts)).await;
    }
    if !input.prompt.is_null()
        && let Some(last) = messages.last_mut()
    {
        let prompt = prompt_text(&input.prompt);
        let text = turn_hooks::prompted(agent_services, call, input.depth, &full, &prompt).await?;
        last.parts.extend(text.map(|text| MessagePart::Text { text }));
    }
    let messages = attached.keep_all(messages);
    let unseen = messages.iter().flat_map(|message| &message.parts).any(is_image);
    Ok(OpenOutput {
        untrusted: untrusted_text::sources(&input.untrusted, &messages),
        session,
        messages,
        attached: attached.into_values(),
        goal,
        unseen,
        worktree: worktree.as_ref().map(super::isolation::about),
    })
}

/// The caller's choice of a worktree for an agent.
#[derive(Clone, Copy)]
pub(super) struct Isolation<'i> {
    pub(super) isolation: &'i Value,
    pub(super) worktree: &'i Value,
}

/// The parts of an input that become messages.
pub(super) struct TaskInput<'i> {
    pub(super) messages: Option<&'i [Message]>,
    pub(super) prompt: &'i Value,
    pub(super) data: &'i Value,
    pub(super) plan: &'i Value,
}

impl OpenInput {
    fn task(&self) -> TaskInput<'_> {
        let (prompt, data, plan) = (&self.prompt, &self.data, &self.plan);
        TaskInput { messages: self.messages.as_deref(), prompt, data, plan }
    }
}

pub(super) type NamedPhase<'w> = Option<(&'w str, &'w Phase)>;

pub(super) fn phase<'w>(
    agent_services: &'w AgentServices,
    name: Option<&'w str>,
) -> Result<NamedPhase<'w>, ServiceError> {
    let Some(name) = name else { return Ok(None) };
    match agent_services.phases.find(name) {
        Some(phase) => Ok(Some((name, phase))),
        None => {
            let known: Vec<&str> = agent_services.phases.names().collect();
            let message = format!("there is no phase `{name}`; the phases are {}", known.join(", "));
            Err(ServiceError::new(Category::Unknown, message))
        }
    }
}

/// Returns all layers, outermost first. A sub-agent has all of its caller's layers, regardless of its own file.
pub(super) fn grant(
    agent_services: &AgentServices,
    agent: &AgentFile,
    phase: NamedPhase<'_>,
    callers: Option<&Grant>,
    call: &ServiceCall,
) -> Grant {
    let policy = CallPolicy::of(call);
    // The settings' layers always count: a chart could give a grant without them.
    let mut layers = agent_services.layers.clone();
    layers.extend(callers.into_iter().flat_map(|grant| grant.layers.iter().cloned()));
    layers.extend(policy.layers());
    layers.push(agent.layer());
    if let Some((name, phase)) = phase {
        layers.extend(phase.outer.iter().chain([phase]).map(|phase| phase_layer(phase, name)));
    }
    let mut grant = Grant::new(distinct(layers));
    grant.add_permissions(callers.into_iter().flat_map(|grant| grant.permissions.iter().cloned()));
    grant.add_permissions(agent.permissions.clone());
    if let Some(mode) = policy.permission_mode.as_deref().and_then(AskMode::named) {
        let file = PERMISSION_MODE.to_owned();
        grant.add_permissions([Permissions { file, mode: Some(mode), ..Permissions::default() }]);
    }
    grant
}

/// Returns the grant of a call that brings its own, within the settings.
pub(super) fn within_settings(agent_services: &AgentServices, mut grant: Grant) -> Grant {
    grant.layers = distinct(agent_services.layers.iter().cloned().chain(grant.layers));
    grant
}

fn distinct(layers: impl IntoIterator<Item = GrantLayer>) -> Vec<GrantLayer> {
    let mut known: Vec<GrantLayer> = Vec::new();
    for layer in layers {
        if !known.contains(&layer) {
            known.push(layer);
        }
    }
    known
}

/// Returns true if a person is expected to answer questions: the run waits for one, or the agent's file names the tool.
fn is_person_expected(agent: &AgentFile, grant: &Grant) -> bool {
    let waits = |set: &Permissions| set.file == PERMISSION_MODE && set.mode == Some(AskMode::Wait);
    let named = agent.layer().allowed.is_some_and(|names| names.iter().any(|name| name == ASK_USER));
    named || grant.permissions.iter().any(waits)
}

async fn session(
    agent_services: &AgentServices,
    agent: &AgentFile,
    phase: NamedPhase<'_>,
    grant: Grant,
    input: &OpenInput,
) -> Result<AgentSession, ServiceError> {
    let loops = agent_services.loops.clone();
    let (model, model_from) = model(agent, phase, input.model.as_deref());
    let full = agent_services.within(&grant);
    let mut tools = agent_services.toolbox.specs(&full).await;
    let depth_max = u64::from(loops.depth_max);
    let delegates = input.depth < i64::try_from(depth_max).unwrap_or(i64::MAX);
    tools.extend(agent_services.toolbox.question_spec(&full).filter(|_| is_person_expected(agent, &grant)));
    tools.extend(delegate::spec(agent_services, &full, &agent.name).filter(|_| delegates));
    let completions = phase.and_then(|(_, phase)| phase.completions_max);
    let completions_max = [completions, agent.limits.max_iterations]
        .into_iter()
        .flatten()
        .fold(u64::from(loops.completions_max), u64::min);
    Ok(AgentSession {
        agent: agent.name.clone(),
        model,
        model_from,
        vision_model: agent.vision_model.as_ref().map(ToString::to_string),
        reasoning: phase
            .and_then(|(_, phase)| ReasoningEffort::parse(phase.reasoning.as_deref()?))
            .or(agent.reasoning)
            .or(agent_services.providers.reasoning()),
        system: with_words(agent_services, agent, system(agent, phase, &full), &tools),
        tools,
        guarded: full.permissions.iter().any(|set| !set.is_empty())
            || agent_services.toolbox.asks_about_hosts(&full)
            || agent_services.hooks.looks_at(delegate::TASK),
        stop_hooks: agent_services.hooks.decides_on_stop(input.depth > 0),
        grant,
        loops: value(&loops),
        schema: schema(&input.schema)?,
        output_tokens_max: agent.limits.max_tokens.and_then(|most| u32::try_from(most).ok()),
        size_max: u64::from(loops.prompt_tokens_max),
        completions_max,
        retries_max: u64::from(loops.retries_max),
        challenges_max: u64::from(loops.challenges_max),
        continuations_max: u64::from(loops.continuations_max),
        compactions_max: u64::from(loops.compactions_max),
        depth_max,
        parallel: agent.limits.parallel.unwrap_or(u64::MAX).min(u64::from(loops.parallel_max)),
        helper_phase: phase.map(|_| HELPER_PHASE.to_owned()),
    })
}

/// Returns the model, and the place that names it: the phase, the agent's file, the task, or the default.
fn model(agent: &AgentFile, phase: NamedPhase<'_>, task: Option<&str>) -> (String, String) {
    let of_phase = phase.and_then(|(name, phase)| {
        Some((phase.model.clone()?, format!("`phases.{name}.model` in {}", phase.file)))
    });
    let of_agent = || Some((model_of(agent)?, format!("`model` in {}", agent.file)));
    // The task's model replaces the default.
    let of_task = || Some((task?.to_owned(), "`--model`".to_owned()));
    of_phase.or_else(of_agent).or_else(of_task).unwrap_or_default()
}

pub(super) fn system(agent: &AgentFile, phase: NamedPhase<'_>, grant: &Grant) -> String {
    let of_phase = phase.map_or_else(String::new, |(_, phase)| advice::within(phase.prompt.trim(), grant));
    let parts = [agent.system_prompt.trim(), &of_phase];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// Adds the instructions of the project.
fn with_words(
    agent_services: &AgentServices,
    agent: &AgentFile,
    system: String,
    tools: &[ToolSpec],
) -> String {
    let has_skill_tool = tools.iter().any(|tool| tool.name == "Skill");
    let words = agent_services.words.prompt(&agent.skills, has_skill_tool);
    [system, words].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// Returns the exit requirements of a phase, with hints at allowed tools only.
fn goal(phase: &Phase, grant: &Grant) -> Value {
    let Some(missing) = ExitGoal::of(&phase.goal).missing else { return phase.goal.clone() };
    let mut goal = phase.goal.as_map().cloned().unwrap_or_default();
    goal.insert("missing".into(), Value::from(advice::within(&missing, grant)));
    Value::Map(goal.into())
}

/// Parses a JSON Schema alone, or with a name.
pub(super) fn schema(schema: &Value) -> Result<Option<OutputSchema>, ServiceError> {
    if schema.is_null() {
        return Ok(None);
    }
    if schema.get("schema").is_null() {
        return Ok(Some(OutputSchema { name: "answer".into(), schema: schema.clone() }));
    }
    schema.read().map(Some).map_err(|error| {
        ServiceError::new(Category::Failed, format!("`schema` is not a JSON Schema with a name: {error}"))
    })
}

/// Returns the conversation so far and the new prompt.
pub(super) fn messages(task: &TaskInput<'_>) -> Result<Vec<Message>, ServiceError> {
    let mut messages = task.messages.unwrap_or_default().to_vec();
    let mut parts = unanswered(&messages);
    parts.extend(prompt(task.prompt)?);
    if !task.data.is_null() {
        parts.push(MessagePart::Text { text: format!("Input:\n{}", pretty(task.data)) });
    }
    if let Some(plan) = Plan::of(task.plan).filter(|plan| !plan.steps.is_empty()) {
        parts.push(MessagePart::Text { text: format!("The plan:\n{}", checklist(&plan)) });
    }
    if !parts.is_empty() {
        messages.push(Message { role: Role::User, parts });
    }
    if messages.is_empty() {
        return Err(ServiceError::new(Category::Failed, "the agent has no task: give it a `prompt`"));
    }
    Ok(messages)
}

/// Work that was stopped may have left pending tool calls; providers reject a conversation with a call that has no
/// result.
fn unanswered(messages: &[Message]) -> Vec<MessagePart> {
    let asked = messages.last().into_iter().flat_map(Message::tool_uses);
    let result = |asked: &ToolUse| ToolResult {
        id: asked.id.clone(),
        content: "not run: the work was stopped before it came to this".to_owned(),
        is_error: true,
    };
    asked.map(|asked| MessagePart::ToolResult(result(asked))).collect()
}

/// Returns the text of a prompt.
pub(super) fn prompt_text(given: &Value) -> String {
    let parts = prompt(given).unwrap_or_default().into_iter();
    let texts = parts.filter_map(|part| match part {
        MessagePart::Text { text } => Some(text),
        MessagePart::Image { .. }
        | MessagePart::ImageRef { .. }
        | MessagePart::ToolUse(_)
        | MessagePart::ToolResult(_)
        | MessagePart::Reasoning(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

/// Parses text, or a list of parts with images among them.
fn prompt(prompt: &Value) -> Result<Vec<MessagePart>, ServiceError> {
    match prompt {
        Value::Null => Ok(Vec::new()),
        Value::Str(text) => Ok(vec![MessagePart::Text { text: text.to_string() }]),
        Value::List(_) => prompt.read().map_err(|error| {
            ServiceError::new(Category::Failed, format!("`prompt` is not a list of text and images: {error}"))
        }),
        Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Map(_) => {
            Ok(vec![MessagePart::Text { text: pretty(prompt) }])
        }
    }
}

fn pretty(data: &Value) -> String {
    serde_json::to_string_pretty(&data.to_json()).unwrap_or_default()
}

/// Formats `- [x] 1 Fix the parser (done)`.
fn checklist(plan: &Plan) -> String {
    let line = |step: &PlanStep| {
        let mark = if step.status == StepStatus::Done { "x" } else { " " };
        let accept: String = step.acceptance.iter().map(|how| format!("\n      done when: {how}")).collect();
        format!("- [{mark}] {} {}{accept}", step.id, step.title)
    };
    plan.steps.iter().map(line).collect::<Vec<_>>().join("\n")
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

/// Returns a phase's rules as a layer for the gate.
fn phase_layer(phase: &Phase, name: &str) -> GrantLayer {
    GrantLayer {
        source: format!("the phase `{name}` (`phases.{name}.tools`, from {})", phase.file),
        allowed: phase.tools.clone(),
        blocked: phase.blocked.clone(),
        bash: phase
            .bash
            .clone()
            .map(|commands| BashFilter { allowed_commands: Some(commands), blocked_patterns: Vec::new() }),
        network: None,
    }
}
