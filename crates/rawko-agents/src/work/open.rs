//! `work:open`: builds a session from an agent's file, its phase, and all layers that narrow its rights.

use rawko_core::Value;
use rawko_host::{Call, Category, ServiceError};

use super::attachments::Attached;
use super::read::model_of;
use super::session::Session;
use super::{Workshop, advice, delegate, mentions, part, untrust, value};
use crate::agent::AgentFile;
use rawko_arbiter::phases::Phase;
use rawko_model::provider::{OutputSchema, ReasoningEffort};
use rawko_model::{Message, Part, Role, ToolResult, ToolSpec, ToolUse};
use rawko_tools::{ASK_USER, AskMode, BashFilter, Grant, Layer, Permissions};

const HELPER_PHASE: &str = "explore";
/// The source of a mode that a person gave for one run.
const PERMISSION_MODE: &str = "--permission-mode";

pub(super) async fn open(workshop: &Workshop, call: Call) -> Result<Value, ServiceError> {
    let input = &call.input;
    let agent = workshop.agent(input.get("agent").as_str().unwrap_or_default())?;
    let name = super::apart::name_of(&call.instance, &agent.name);
    let worktree = workshop.isolate(agent, &call.instance, &name, input).await?;
    let phase = phase(workshop, input.get("phase"))?;
    let grant = grant(workshop, agent, phase, &call)?;
    let depth = input.get("depth").as_i64().unwrap_or(0);
    let full = workshop.within(&grant);
    let goal = phase.map_or(Value::Null, |(_, phase)| goal(phase, &full));
    let session = session(workshop, agent, phase, grant, depth, input).await?;
    let mut attached = Attached::default();
    let mut messages = messages(input)?;
    // A model's words to its sub-agent attach nothing: it can name files without.
    if depth == 0
        && !input.get("prompt").is_null()
        && let Some(last) = messages.last_mut()
    {
        last.parts = mentions::attach(workshop, &full, &call, std::mem::take(&mut last.parts)).await;
    }
    let messages = attached.keep_all(messages);
    let unseen = messages.iter().flat_map(|message| &message.parts).any(is_image);
    let untrusted = untrust::sources(input.get("untrusted"), &messages);
    let opened = Value::map([
        ("untrusted", value(&untrusted)),
        ("session", value(&session)),
        ("messages", value(&messages)),
        ("attached", attached.into_value()),
        ("goal", goal),
        ("unseen", Value::Bool(unseen)),
    ]);
    Ok(match worktree {
        None => opened,
        Some(tree) => {
            let mut opened = opened.as_map().cloned().unwrap_or_default();
            opened.insert("worktree".into(), super::apart::about(&tree));
            Value::Map(opened.into())
        }
    })
}

pub(super) type Named<'w> = Option<(&'w str, &'w Phase)>;

pub(super) fn phase<'w>(workshop: &'w Workshop, name: &'w Value) -> Result<Named<'w>, ServiceError> {
    let Some(name) = name.as_str() else { return Ok(None) };
    match workshop.phases.find(name) {
        Some(phase) => Ok(Some((name, phase))),
        None => {
            let known: Vec<&str> = workshop.phases.names().collect();
            let message = format!("there is no phase `{name}`; the phases are {}", known.join(", "));
            Err(ServiceError::new(Category::Unknown, message))
        }
    }
}

/// Returns all layers, outermost first. A sub-agent has all of its caller's layers, regardless of its own file.
pub(super) fn grant(
    workshop: &Workshop,
    agent: &AgentFile,
    phase: Named<'_>,
    call: &Call,
) -> Result<Grant, ServiceError> {
    // The settings' layers always count: a chart could give a grant without them.
    let mut layers = workshop.layers.clone();
    if !call.input.get("grant").is_null() {
        layers.extend(part::<Grant>(&call.input, "grant")?.layers);
    }
    let within = call.policy.get("within").as_list().unwrap_or_default().iter();
    layers.extend(within.chain([call.policy.get("tools")]).filter(|tools| !tools.is_null()).map(layer_of));
    layers.push(agent.layer());
    if let Some((name, phase)) = phase {
        layers.extend(phase.outer.iter().chain([phase]).map(|phase| phase_layer(phase, name)));
    }
    let mut grant = Grant::new(distinct(layers));
    if !call.input.get("grant").is_null() {
        grant.add_permissions(part::<Grant>(&call.input, "grant")?.permissions);
    }
    grant.add_permissions(agent.permissions.clone());
    if let Some(mode) = call.policy.get("permission_mode").as_str().and_then(AskMode::named) {
        let file = PERMISSION_MODE.to_owned();
        grant.add_permissions([Permissions { file, mode: Some(mode), ..Permissions::default() }]);
    }
    Ok(grant)
}

/// Returns the grant of a call that brings its own, within the settings.
pub(super) fn within_settings(workshop: &Workshop, mut grant: Grant) -> Grant {
    grant.layers = distinct(workshop.layers.iter().cloned().chain(grant.layers));
    grant
}

fn distinct(layers: impl IntoIterator<Item = Layer>) -> Vec<Layer> {
    let mut known: Vec<Layer> = Vec::new();
    for layer in layers {
        if !known.contains(&layer) {
            known.push(layer);
        }
    }
    known
}

/// Parses the `tools` of a state.
fn layer_of(tools: &Value) -> Layer {
    let names = |key: &str| -> Option<Vec<String>> {
        let list = tools.get(key).as_list()?;
        Some(list.iter().filter_map(Value::as_str).map(str::to_owned).collect())
    };
    Layer {
        source: tools.get("source").as_str().unwrap_or("`tools` of a state").to_owned(),
        allowed: names("allowed"),
        blocked: names("blocked").unwrap_or_default(),
        bash: None,
        network: None,
    }
}

/// Returns true if a person is expected to answer questions: the run waits for one, or the agent's file names the tool.
fn is_person_expected(agent: &AgentFile, grant: &Grant) -> bool {
    let waits = |set: &Permissions| set.file == PERMISSION_MODE && set.mode == Some(AskMode::Wait);
    let named = agent.layer().allowed.is_some_and(|names| names.iter().any(|name| name == ASK_USER));
    named || grant.permissions.iter().any(waits)
}

async fn session(
    workshop: &Workshop,
    agent: &AgentFile,
    phase: Named<'_>,
    grant: Grant,
    depth: i64,
    input: &Value,
) -> Result<Session, ServiceError> {
    let loops = workshop.loops.clone();
    let (model, model_from) = model(agent, phase, input);
    let full = workshop.within(&grant);
    let mut tools = workshop.toolbox.specs(&full).await;
    let depth_max = u64::from(loops.depth_max);
    let delegates = depth < i64::try_from(depth_max).unwrap_or(i64::MAX);
    tools.extend(workshop.toolbox.question_spec(&full).filter(|_| is_person_expected(agent, &grant)));
    tools.extend(delegate::spec(workshop, &full, &agent.name).filter(|_| delegates));
    let completions = phase.and_then(|(_, phase)| phase.completions_max);
    let completions_max = [completions, agent.limits.max_iterations]
        .into_iter()
        .flatten()
        .fold(u64::from(loops.completions_max), u64::min);
    Ok(Session {
        agent: agent.name.clone(),
        model,
        model_from,
        vision_model: agent.vision_model.as_ref().map(ToString::to_string),
        reasoning: phase
            .and_then(|(_, phase)| ReasoningEffort::parse(phase.reasoning.as_deref()?))
            .or(agent.reasoning)
            .or(workshop.providers.reasoning()),
        system: with_words(workshop, agent, system(agent, phase, &full), &tools),
        tools,
        guarded: full.permissions.iter().any(|set| !set.is_empty())
            || workshop.toolbox.asks_about_hosts(&full),
        grant,
        loops: value(&loops),
        schema: schema(input)?,
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
fn model(agent: &AgentFile, phase: Named<'_>, input: &Value) -> (String, String) {
    let of_phase = phase.and_then(|(name, phase)| {
        Some((phase.model.clone()?, format!("`phases.{name}.model` in {}", phase.file)))
    });
    let of_agent = || Some((model_of(agent)?, format!("`model` in {}", agent.file)));
    // The task's model replaces the default.
    let of_task = || Some((input.get("model").as_str()?.to_owned(), "`--model`".to_owned()));
    of_phase.or_else(of_agent).or_else(of_task).unwrap_or_default()
}

pub(super) fn system(agent: &AgentFile, phase: Named<'_>, grant: &Grant) -> String {
    let of_phase = phase.map_or_else(String::new, |(_, phase)| advice::within(phase.prompt.trim(), grant));
    let parts = [agent.system_prompt.trim(), &of_phase];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// Adds the instructions of the project.
fn with_words(workshop: &Workshop, agent: &AgentFile, system: String, tools: &[ToolSpec]) -> String {
    let has_skill_tool = tools.iter().any(|tool| tool.name == "Skill");
    let words = workshop.words.prompt(&agent.skills, has_skill_tool);
    [system, words].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// Returns the exit requirements of a phase, with hints at allowed tools only.
fn goal(phase: &Phase, grant: &Grant) -> Value {
    let Some(missing) = phase.goal.get("missing").as_str() else { return phase.goal.clone() };
    let mut goal = phase.goal.as_map().cloned().unwrap_or_default();
    goal.insert("missing".into(), Value::from(advice::within(missing, grant)));
    Value::Map(goal.into())
}

/// Parses a JSON Schema alone, or with a name.
pub(super) fn schema(input: &Value) -> Result<Option<OutputSchema>, ServiceError> {
    let schema = input.get("schema");
    if schema.is_null() {
        return Ok(None);
    }
    if schema.get("schema").is_null() {
        return Ok(Some(OutputSchema { name: "answer".into(), schema: schema.clone() }));
    }
    part(input, "schema").map(Some)
}

/// Returns the conversation so far and the new prompt.
pub(super) fn messages(input: &Value) -> Result<Vec<Message>, ServiceError> {
    let mut messages: Vec<Message> =
        if input.get("messages").is_null() { Vec::new() } else { part(input, "messages")? };
    let mut parts = unanswered(&messages);
    parts.extend(prompt(input.get("prompt"))?);
    let data = input.get("data");
    if !data.is_null() {
        parts.push(Part::Text { text: format!("Input:\n{}", pretty(data)) });
    }
    if !input.get("plan").get("steps").is_null() {
        parts.push(Part::Text { text: format!("The plan:\n{}", checklist(input.get("plan"))) });
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
fn unanswered(messages: &[Message]) -> Vec<Part> {
    let asked = messages.last().into_iter().flat_map(Message::tool_uses);
    let result = |asked: &ToolUse| ToolResult {
        id: asked.id.clone(),
        content: "not run: the work was stopped before it came to this".to_owned(),
        is_error: true,
    };
    asked.map(|asked| Part::ToolResult(result(asked))).collect()
}

/// Parses text, or a list of parts with images among them.
fn prompt(prompt: &Value) -> Result<Vec<Part>, ServiceError> {
    match prompt {
        Value::Null => Ok(Vec::new()),
        Value::Str(text) => Ok(vec![Part::Text { text: text.to_string() }]),
        Value::List(_) => serde_json::from_value(prompt.to_json()).map_err(|error| {
            ServiceError::new(Category::Failed, format!("`prompt` is not a list of text and images: {error}"))
        }),
        Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Map(_) => {
            Ok(vec![Part::Text { text: pretty(prompt) }])
        }
    }
}

fn pretty(data: &Value) -> String {
    serde_json::to_string_pretty(&data.to_json()).unwrap_or_default()
}

/// Formats `- [x] 1 Fix the parser (done)`.
fn checklist(plan: &Value) -> String {
    let steps = plan.get("steps").as_list().unwrap_or_default();
    let line = |step: &Value| {
        let text = |key: &str| step.get(key).as_str().unwrap_or_default().to_owned();
        let mark = if text("status") == "done" { "x" } else { " " };
        let accept = step.get("acceptance").as_list().unwrap_or_default().iter().filter_map(Value::as_str);
        let accept: String = accept.map(|how| format!("\n      done when: {how}")).collect();
        format!("- [{mark}] {} {}{accept}", text("id"), text("title"))
    };
    steps.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn is_image(part: &Part) -> bool {
    match part {
        Part::Image { .. } | Part::ImageRef { .. } => true,
        Part::Text { .. } | Part::ToolUse(_) | Part::ToolResult(_) | Part::Reasoning(_) => false,
    }
}

/// Returns a phase's rules as a layer for the gate.
fn phase_layer(phase: &Phase, name: &str) -> Layer {
    Layer {
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
