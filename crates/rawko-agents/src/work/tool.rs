//! `tool:<Name>`: one tool call. Loop control before and after it, everything else at the toolbox's single dispatch
//! point.

use std::sync::{Arc, OnceLock};

use rawko_core::Value;
use rawko_host::{Category, ServiceCall, ServiceError};

use super::attachments::AttachedImages;
use super::bounds::{TurnUse, bounded_data, cut};
use super::call_hooks::CallWithHooks;
use super::open::within_settings;
use super::types::{CallFailure, CallPolicy, GroupedResult, ToolInput, ToolOutput, VerdictWord, value};
use super::{AgentServices, advice, hook_questions, permit, trees, untrusted_text};
use rawko_arbiter::loop_control::{
    CallObservation, Detector, LoopMemory, LoopSettings, LoopVerdict, check_before, fingerprint_of, observe,
};
use rawko_arbiter::{Plan, StepStatus};
use rawko_model::{MessagePart, ToolResult, ToolUse};
use rawko_tools::{Grant, OutputWatch, ToolCall, ToolOutcome, ToolRefusal, with_output_watch};

/// `project` is the agent_services of the project, whose worktree the agent may be in.
pub(super) async fn run(
    agent_services: &AgentServices,
    project: &AgentServices,
    call: &ServiceCall,
    input: ToolInput,
) -> Result<Value, ServiceError> {
    if input.worktree.is_some() && agent_services.worktree.is_none() {
        let message = "the worktree of this agent is gone, and the agent must not work in the project itself";
        return Err(ServiceError::new(Category::Refused, message));
    }
    let asked = input.call.tool_use();
    let settings = settings(&input.loops, call)?;
    let grant = within_settings(agent_services, input.grant.clone());
    let grant =
        agent_services.with_approved_hosts(agent_services.fresh_if_asking(&asked, grant), &input.hosts, call);
    let tool_call = ToolCall {
        name: &asked.name,
        input: &asked.input,
        instance: &call.instance,
        idempotency: &call.idempotency,
        plan: &input.plan,
        notes: &input.notes,
        clearance: permit::clearance(agent_services, call, &grant, &input),
    };
    let rejected = input.call.rejected.as_deref();
    let (is_approved, can_ask) = (tool_call.clearance.approved, tool_call.clearance.can_ask);
    let mut checkpoint = None;
    let hook_question = OnceLock::new();
    // Boxed twice: each future around another moves it, and without optimisation the stack has a copy for each.
    let running = Box::pin(async {
        let may_change = agent_services.toolbox.may_leave_changes(&asked.name, &asked.input);
        let running = Box::pin(agent_services.toolbox.run(tool_call, &grant));
        let running = with_output_watch(output_watch(call), running);
        let instance = &call.instance;
        let hooked = CallWithHooks { agent_services, asked: &asked, instance, grant: &grant, is_approved };
        let running = async {
            match hooked.run(running).await {
                Ok(outcome) => outcome,
                Err(asks) if can_ask => {
                    let _ = hook_question.set(asks);
                    ToolOutcome::failed("not run: a person decides on this call")
                }
                Err(asks) => asks.refused(),
            }
        };
        match rejected {
            Some(why) => ToolOutcome::failed(format!("not run: {why}.")),
            None if may_change => {
                let (outcome, named) = trees::recorded(agent_services, call, &asked.name, running).await;
                checkpoint = named;
                outcome
            }
            None => running.await,
        }
    });
    if input.together {
        return Ok(value(&beside(agent_services, &asked, running.await, &grant, &settings)?));
    }
    let (outcome, memory, verdict) = attempt(&asked, input.memory.clone(), &settings, running).await;
    let outcome = noted(agent_services, &asked, &input.notes, outcome);
    let outcome = advice::hinted(outcome, &grant);
    let recovery = if outcome.is_error { advice::recovery(&asked, &outcome, &grant) } else { Vec::new() };
    let source =
        if rejected.is_some() { None } else { untrusted_text::source(agent_services, &asked, &outcome) };
    let outcome = untrusted_text::marked(outcome, source.as_deref());
    if let Some(refusal) = &outcome.refusal {
        let observed =
            CallFailure { memory: Some(memory), recovery: Some(recovery), ..CallFailure::default() };
        return Err(refused(&outcome, refusal, observed));
    }
    // A command that fails may have changed files before.
    let left_changes = checkpoint.as_ref().is_some_and(|checkpoint| checkpoint.number.is_some());
    let may_change = agent_services.toolbox.may_change(&asked.name, &asked.input);
    let changed = left_changes || !outcome.is_error && may_change;
    let facts = outcome.facts();
    let agent = input.agent.as_deref();
    let question = match hook_question.get() {
        Some(asks) => Some(hook_questions::hook_question(agent_services, agent, &grant, &asked, asks)),
        None => facts.question.as_ref().map(|asks| permit::tool_question(agent, &grant, asks)),
    };
    let wanted = match question {
        Some(_) => None,
        None => permit::host_request(agent_services, call, &asked, &grant, agent, &facts.wanted),
    };
    let mut taken = input.taken;
    let (outcome, attached) = bounded(outcome, &mut taken);
    let bounded = outcome.facts();
    let result =
        ToolResult { id: asked.id, content: noticed(outcome.content, &verdict), is_error: outcome.is_error };
    let overlap = bounded.path.filter(|_| changed);
    let overlap = overlap.map(|path| overlap_of(agent_services, project, &path)).unwrap_or_default();
    Ok(value(&ToolOutput {
        result: result.into(),
        images: outcome.images,
        attached: attached.into_values(),
        plan: with_agent(bounded.plan, &input.plan, agent),
        changes: u64::from(changed),
        taken,
        notes: bounded.notes,
        usage: bounded.usage,
        data: without_notes(outcome.data),
        memory,
        verdict: VerdictWord::from(&verdict),
        detector: detector(&verdict),
        notice: words(&verdict).map(str::to_owned),
        recovery,
        checkpoint,
        question,
        wanted,
        overlap,
        untrusted: source.into_iter().collect(),
    }))
}

/// Reports that agents changed the file of this call in other worktrees, too.
fn overlap_of(agent_services: &AgentServices, project: &AgentServices, path: &str) -> Vec<String> {
    agent_services.worktree.as_ref().map(|tree| project.overlap(tree, &[path])).unwrap_or_default()
}

/// Returns the result of one of several calls that run at the same time. Everything that depends on their order is left
/// to `work:collect`: loop detection, the limits of the turn, and the instructions of directories.
fn beside(
    agent_services: &AgentServices,
    asked: &ToolUse,
    outcome: ToolOutcome,
    grant: &Grant,
    settings: &LoopSettings,
) -> Result<GroupedResult, ServiceError> {
    let seen = fingerprint_of(&asked.name, &asked.input, (&*outcome.content, outcome.is_error), settings);
    let outcome = advice::hinted(outcome, grant);
    let recovery = if outcome.is_error { advice::recovery(asked, &outcome, grant) } else { Vec::new() };
    let source = untrusted_text::source(agent_services, asked, &outcome);
    let outcome = untrusted_text::marked(outcome, source.as_deref());
    if let Some(refusal) = &outcome.refusal {
        let observed = CallFailure { seen: Some(seen), recovery: Some(recovery), ..CallFailure::default() };
        return Err(refused(&outcome, refusal, observed));
    }
    let (outcome, attached) = bounded(outcome, &mut TurnUse::default());
    let usage = outcome.facts().usage;
    let result = ToolResult { id: asked.id.clone(), content: outcome.content, is_error: outcome.is_error };
    Ok(GroupedResult {
        result: result.into(),
        images: outcome.images,
        attached: attached.into_values(),
        usage,
        recovery,
        seen,
        untrusted: source.into_iter().collect(),
    })
}

/// Reports the last line of a command's output to people who watch.
fn output_watch(call: &ServiceCall) -> OutputWatch {
    let teller = call.teller.clone();
    Arc::new(move |line| {
        let parts = [("type", Value::str("tool_output")), ("line", Value::str(line))];
        teller.tell(Value::map(parts));
    })
}

/// Returns what fits into the turn, and the data of its images. The model reads which of them it does not see.
fn bounded(outcome: ToolOutcome, turn: &mut TurnUse) -> (ToolOutcome, AttachedImages) {
    let (mut attached, mut images, mut missing) = (AttachedImages::default(), Vec::new(), Vec::new());
    for (number, image) in outcome.images.into_iter().enumerate() {
        let bytes = if let MessagePart::Image { data, .. } = &image { data.len() } else { 0 };
        match turn.image(bytes) {
            Ok(()) => images.push(attached.keep(image)),
            Err(why) => missing.push(format!("[image {} is not shown: {why}]", number + 1)),
        }
    }
    let mut content = turn.text(outcome.content);
    for note in missing {
        content.push('\n');
        content.push_str(&note);
    }
    (ToolOutcome { content, images, data: bounded_data(outcome.data), ..outcome }, attached)
}

/// Adds the instructions of the directories that a file tool works in, once in a conversation.
fn noted(
    agent_services: &AgentServices,
    asked: &ToolUse,
    notes: &Value,
    mut outcome: ToolOutcome,
) -> ToolOutcome {
    if outcome.refusal.is_some() {
        return outcome;
    }
    let Some((text, notes)) = instructions(agent_services, asked, notes) else { return outcome };
    outcome.content.push_str(&text);
    let mut data = outcome.data.as_map().cloned().unwrap_or_default();
    data.insert("notes".into(), notes);
    ToolOutcome { data: Value::Map(data.into()), ..outcome }
}

/// Returns instructions that the conversation does not have yet, and its notes with them.
pub(super) fn instructions(
    agent_services: &AgentServices,
    asked: &ToolUse,
    notes: &Value,
) -> Option<(String, Value)> {
    let is_file_tool = ["Read", "Write", "Edit", "Glob", "Grep"].contains(&asked.name.as_str());
    let path = asked.input.get("path").as_str().filter(|_| is_file_tool)?;
    let list = notes.get("words").as_list().unwrap_or_default();
    let mut told: Vec<String> = list.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    let found = agent_services.words.about(&agent_services.root, path, &told);
    if found.is_empty() {
        return None;
    }
    let mut all_text = String::new();
    let mut left = agent_services.words.settings.bytes_max;
    for file in found {
        told.push(file.path.clone());
        let text = cut(file.text.clone(), left, "project instructions are limited");
        left = left.saturating_sub(text.len());
        let (path, directory) = (&file.path, &file.directory);
        all_text.push_str(&format!(
            "\n\n[project instructions of {path}, for all files below {directory}/]\n{text}\n[end of instructions]"
        ));
    }
    let mut all = notes.as_map().cloned().unwrap_or_default();
    all.insert("words".into(), value(&told));
    Some((all_text, Value::Map(all.into())))
}

/// Notes are kept in a place of their own.
fn without_notes(data: Value) -> Value {
    match data.as_map() {
        Some(map) if map.get("notes").is_some() => {
            let mut map = map.clone();
            map.shift_remove("notes");
            Value::Map(map.into())
        }
        Some(_) | None => data,
    }
}

/// Runs one call unless the loop detector blocks it, and records the outcome.
pub(super) async fn attempt(
    asked: &ToolUse,
    memory: LoopMemory,
    settings: &LoopSettings,
    running: impl Future<Output = ToolOutcome>,
) -> (ToolOutcome, LoopMemory, LoopVerdict) {
    let (name, input) = (&*asked.name, &asked.input);
    match check_before(&memory, name, input, settings) {
        LoopVerdict::Fine | LoopVerdict::Notice { .. } => {}
        LoopVerdict::Block { .. } | LoopVerdict::Doom { .. } => {
            let (memory, verdict) = observe(memory, CallObservation::Blocked { name, input }, settings);
            // The caller gets the reason.
            return (ToolOutcome::failed(words(&verdict).unwrap_or_default()), memory, verdict);
        }
    }
    let outcome = running.await;
    let (content, is_error) = (&*outcome.content, outcome.is_error);
    let observation = CallObservation::Returned { name, input, content, is_error };
    let (memory, verdict) = observe(memory, observation, settings);
    (outcome, memory, verdict)
}

/// Appends a notice to the content, where the model reads it.
pub(super) fn noticed(content: String, verdict: &LoopVerdict) -> String {
    match verdict {
        LoopVerdict::Notice { text } => format!("{content}\n\n{text}"),
        LoopVerdict::Fine | LoopVerdict::Block { .. } | LoopVerdict::Doom { .. } => content,
    }
}

/// A state's loop settings only narrow.
pub(super) fn settings(session: &LoopSettings, call: &ServiceCall) -> Result<LoopSettings, ServiceError> {
    let narrowed = session.narrowed(&CallPolicy::of(call).loops);
    narrowed.map_err(|error| ServiceError::new(Category::Failed, error.to_string()))
}

/// Builds a refusal, for the audit and the chart; the model reads `content`. `observed` has what loop control noted.
fn refused(outcome: &ToolOutcome, refusal: &ToolRefusal, observed: CallFailure) -> ServiceError {
    let details = CallFailure {
        content: outcome.content.clone(),
        rule: refusal.rule.clone(),
        source: Some(refusal.source.clone()),
        ..observed
    };
    // The category already marks it as refused.
    let why = outcome.content.strip_prefix("refused: ").unwrap_or(&outcome.content);
    ServiceError::new(Category::Refused, why).with_details(value(&details))
}

/// Notes on each step of a changed plan which agent worked on it last.
fn with_agent(plan: Value, before: &Value, agent: Option<&str>) -> Value {
    let Ok(mut changed) = Plan::checked(&plan) else { return plan };
    let before = Plan::of(before).unwrap_or_default();
    for step in &mut changed.steps {
        let old = before.steps.iter().find(|old| old.id == step.id);
        let is_begun = step.status != StepStatus::Pending;
        let is_changed = old.is_none_or(|old| old.status != step.status);
        step.agent_used = match old {
            _ if is_begun && is_changed => agent.map(str::to_owned),
            Some(old) => old.agent_used.clone(),
            None => None,
        };
    }
    changed.to_value()
}

pub(super) fn words(verdict: &LoopVerdict) -> Option<&str> {
    match verdict {
        LoopVerdict::Fine => None,
        LoopVerdict::Notice { text } | LoopVerdict::Block { text } | LoopVerdict::Doom { text, .. } => {
            Some(text)
        }
    }
}

pub(super) fn detector(verdict: &LoopVerdict) -> Option<Detector> {
    match verdict {
        LoopVerdict::Doom { detector, .. } => Some(*detector),
        LoopVerdict::Fine | LoopVerdict::Notice { .. } | LoopVerdict::Block { .. } => None,
    }
}
