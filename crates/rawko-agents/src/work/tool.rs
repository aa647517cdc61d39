//! `tool:<Name>`: one tool call. Loop control before and after it, everything else at the toolbox's single dispatch
//! point.

use std::sync::Arc;

use rawko_core::Value;
use rawko_host::{Call, Category, ServiceError};

use super::attachments::Attached;
use super::bounds::{TurnUse, bounded_data, cut};
use super::open::within_settings;
use super::{Workshop, advice, part, permit, trees, untrust, value};
use rawko_arbiter::loop_control::{
    LoopMemory, LoopSettings, Observation, Verdict, check_before, fingerprint_of, observe,
};
use rawko_model::{Part, ToolResult, ToolUse};
use rawko_tools::{Grant, OutputWatch, ToolCall, ToolOutcome, with_output_watch};

/// `project` is the workshop of the project, whose worktree the agent may be in.
pub(super) async fn run(workshop: &Workshop, project: &Workshop, call: Call) -> Result<Value, ServiceError> {
    let input = &call.input;
    if input.get("worktree").as_str().is_some() && workshop.worktree.is_none() {
        let message = "the worktree of this agent is gone, and the agent must not work in the project itself";
        return Err(ServiceError::new(Category::Refused, message));
    }
    let asked: ToolUse = part(input, "call")?;
    let settings = settings(input, &call.policy)?;
    let memory = memory(input)?;
    let grant = within_settings(workshop, part(input, "grant")?);
    let grant = workshop.with_approved_hosts(workshop.fresh_if_asking(&asked, grant), &call);
    let untrusted = permit::untrusted(input);
    let plan = input.get("plan");
    let tool_call = ToolCall {
        name: &asked.name,
        input: &asked.input,
        instance: &call.instance,
        idempotency: &call.idempotency,
        plan,
        notes: input.get("notes"),
        clearance: permit::clearance(workshop, &call, untrusted.as_deref()),
    };
    let rejected = input.get("call").get("rejected").as_str();
    let mut checkpoint = Value::Null;
    let running = async {
        let may_change = workshop.toolbox.may_leave_changes(&asked.name, &asked.input);
        let running = with_output_watch(output_watch(&call), workshop.toolbox.run(tool_call, &grant));
        match rejected {
            Some(why) => ToolOutcome::failed(format!("not run: {why}.")),
            None if may_change => {
                let (outcome, named) = trees::recorded(workshop, &call, &asked.name, running).await;
                checkpoint = named;
                outcome
            }
            None => running.await,
        }
    };
    if input.get("together").as_bool() == Some(true) {
        return beside(workshop, &asked, running.await, &grant, &settings);
    }
    let (outcome, memory, verdict) = attempt(&asked, memory, &settings, running).await;
    let outcome = noted(workshop, &asked, input.get("notes"), outcome);
    let outcome = advice::hinted(outcome, &grant);
    let recovery = if outcome.is_error { advice::recovery(&asked, &outcome, &grant) } else { Vec::new() };
    let source = if rejected.is_some() { None } else { untrust::source(workshop, &asked, &outcome) };
    let outcome = untrust::marked(outcome, source.as_deref());
    match &outcome.refusal {
        Some(refusal) => {
            let memory = ("memory", value(&memory));
            Err(refused(&outcome, &refusal.rule, &refusal.source, memory, value(&recovery)))
        }
        None => {
            let changed = !outcome.is_error && workshop.toolbox.may_change(&asked.name, &asked.input);
            let mut turn =
                if input.get("taken").is_null() { TurnUse::default() } else { part(input, "taken")? };
            let request = permit::host_request(workshop, &call, &asked, &grant, outcome.data.get("wanted"));
            let (outcome, attached) = bounded(outcome, &mut turn);
            let told = told(&asked, outcome, changed, &memory, &verdict, (turn, attached));
            let told = with_agent(told, plan, input.get("agent"));
            let told = with(told, "recovery", value(&recovery));
            let told = if checkpoint.is_null() { told } else { with(told, "checkpoint", checkpoint) };
            let told = match request {
                Some(request) => with(told, "wanted", request),
                None => told,
            };
            let told = match overlap(workshop, project, &told).as_slice() {
                [] => told,
                others => with(told, "overlap", value(&others)),
            };
            Ok(untrust::noted(told, source))
        }
    }
}

/// Returns the other worktrees in which agents changed the file that this call changed.
fn overlap(workshop: &Workshop, project: &Workshop, told: &Value) -> Vec<String> {
    let path = told.get("data").get("path").as_str().filter(|_| told.get("changes").as_i64() == Some(1));
    match (&workshop.worktree, path) {
        (Some(tree), Some(path)) => project.overlap(tree, path),
        _ => Vec::new(),
    }
}

/// Returns the result of one of several calls that run at the same time. Everything that depends on their order is left
/// to `work:collect`: loop detection, the limits of the turn, and the instructions of directories.
fn beside(
    workshop: &Workshop,
    asked: &ToolUse,
    outcome: ToolOutcome,
    grant: &Grant,
    settings: &LoopSettings,
) -> Result<Value, ServiceError> {
    let result = (&*outcome.content, outcome.is_error);
    let seen = value(&fingerprint_of(&asked.name, &asked.input, result, settings));
    let outcome = advice::hinted(outcome, grant);
    let recovery = if outcome.is_error { advice::recovery(asked, &outcome, grant) } else { Vec::new() };
    let source = untrust::source(workshop, asked, &outcome);
    let outcome = untrust::marked(outcome, source.as_deref());
    if let Some(refusal) = &outcome.refusal {
        return Err(refused(&outcome, &refusal.rule, &refusal.source, ("seen", seen), value(&recovery)));
    }
    let (outcome, attached) = bounded(outcome, &mut TurnUse::default());
    let result = ToolResult { id: asked.id.clone(), content: outcome.content, is_error: outcome.is_error };
    let given = Value::map([
        ("result", value(&Part::ToolResult(result))),
        ("images", value(&outcome.images)),
        ("attached", attached.into_value()),
        ("usage", outcome.data.get("usage").clone()),
        ("recovery", value(&recovery)),
        ("seen", seen),
    ]);
    Ok(untrust::noted(given, source))
}

/// Reports the last line of a command's output to people who watch.
fn output_watch(call: &Call) -> OutputWatch {
    let teller = call.teller.clone();
    Arc::new(move |line| {
        let parts = [("type", Value::str("tool_output")), ("line", Value::str(line))];
        teller.tell(Value::map(parts));
    })
}

/// Returns what fits into the turn, and the data of its images. The model reads which of them it does not see.
fn bounded(outcome: ToolOutcome, turn: &mut TurnUse) -> (ToolOutcome, Attached) {
    let (mut attached, mut images, mut missing) = (Attached::default(), Vec::new(), Vec::new());
    for (number, image) in outcome.images.into_iter().enumerate() {
        let bytes = if let Part::Image { data, .. } = &image { data.len() } else { 0 };
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
fn noted(workshop: &Workshop, asked: &ToolUse, notes: &Value, mut outcome: ToolOutcome) -> ToolOutcome {
    if outcome.refusal.is_some() {
        return outcome;
    }
    let Some((text, notes)) = instructions(workshop, asked, notes) else { return outcome };
    outcome.content.push_str(&text);
    let mut data = outcome.data.as_map().cloned().unwrap_or_default();
    data.insert("notes".into(), notes);
    ToolOutcome { data: Value::Map(data.into()), ..outcome }
}

/// Returns instructions that the conversation does not have yet, and its notes with them.
pub(super) fn instructions(workshop: &Workshop, asked: &ToolUse, notes: &Value) -> Option<(String, Value)> {
    let is_file_tool = ["Read", "Write", "Edit", "Glob", "Grep"].contains(&asked.name.as_str());
    let path = asked.input.get("path").as_str().filter(|_| is_file_tool)?;
    let list = notes.get("words").as_list().unwrap_or_default();
    let mut told: Vec<String> = list.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    let found = workshop.words.about(&workshop.root, path, &told);
    if found.is_empty() {
        return None;
    }
    let mut all_text = String::new();
    let mut left = workshop.words.settings.bytes_max;
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
) -> (ToolOutcome, LoopMemory, Verdict) {
    let (name, input) = (&*asked.name, &asked.input);
    match check_before(&memory, name, input, settings) {
        Verdict::Fine | Verdict::Notice { .. } => {}
        Verdict::Block { .. } | Verdict::Doom { .. } => {
            let (memory, verdict) = observe(memory, Observation::Blocked { name, input }, settings);
            // The caller gets the reason.
            return (ToolOutcome::failed(words(&verdict).unwrap_or_default()), memory, verdict);
        }
    }
    let outcome = running.await;
    let (content, is_error) = (&*outcome.content, outcome.is_error);
    let observation = Observation::Returned { name, input, content, is_error };
    let (memory, verdict) = observe(memory, observation, settings);
    (outcome, memory, verdict)
}

/// Parses the call history stored by the chart.
pub(super) fn memory(input: &Value) -> Result<LoopMemory, ServiceError> {
    if input.get("memory").is_null() { Ok(LoopMemory::default()) } else { part(input, "memory") }
}

/// Appends a notice to the content, where the model reads it.
pub(super) fn noticed(content: String, verdict: &Verdict) -> String {
    match verdict {
        Verdict::Notice { text } => format!("{content}\n\n{text}"),
        Verdict::Fine | Verdict::Block { .. } | Verdict::Doom { .. } => content,
    }
}

/// A state's loop settings only narrow.
pub(super) fn settings(input: &Value, policy: &Value) -> Result<LoopSettings, ServiceError> {
    let settings: LoopSettings = part(input, "loop")?;
    let narrowed = settings.narrowed(policy.get("loop"));
    narrowed.map_err(|error| ServiceError::new(Category::Failed, error.to_string()))
}

fn told(
    asked: &ToolUse,
    outcome: ToolOutcome,
    changed: bool,
    memory: &LoopMemory,
    verdict: &Verdict,
    (turn, attached): (TurnUse, Attached),
) -> Value {
    let notice = words(verdict);
    let content = noticed(outcome.content, verdict);
    let result = ToolResult { id: asked.id.clone(), content, is_error: outcome.is_error };
    Value::map([
        ("result", value(&Part::ToolResult(result))),
        ("images", value(&outcome.images)),
        ("attached", attached.into_value()),
        ("plan", outcome.data.get("plan").clone()),
        ("changes", Value::Int(i64::from(changed))),
        ("taken", value(&turn)),
        ("notes", outcome.data.get("notes").clone()),
        ("usage", outcome.data.get("usage").clone()),
        ("data", without_notes(outcome.data)),
        ("memory", value(memory)),
        ("verdict", Value::str(word(verdict))),
        ("detector", detector(verdict)),
        ("notice", notice.map_or(Value::Null, Value::str)),
    ])
}

/// Builds a refusal, for the audit and the chart; the model reads `content`.
fn refused(
    outcome: &ToolOutcome,
    rule: &str,
    source: &str,
    observed: (&'static str, Value),
    recovery: Value,
) -> ServiceError {
    let details = Value::map([
        ("content", Value::str(&outcome.content)),
        ("rule", Value::str(rule)),
        ("source", Value::str(source)),
        observed,
        ("recovery", recovery),
    ]);
    // The category already marks it as refused.
    let why = outcome.content.strip_prefix("refused: ").unwrap_or(&outcome.content);
    ServiceError::new(Category::Refused, why).with_details(details)
}

fn with(told: Value, key: &str, more: Value) -> Value {
    let mut entries = told.as_map().cloned().unwrap_or_default();
    entries.insert(key.into(), more);
    Value::Map(entries.into())
}

/// Notes on each step of a changed plan which agent worked on it last: `agentUsed`.
fn with_agent(told: Value, before: &Value, agent: &Value) -> Value {
    let plan = told.get("plan");
    let Some(steps) = plan.get("steps").as_list() else { return told };
    let known = before.get("steps").as_list().unwrap_or_default();
    let noted = steps.iter().map(|step| {
        let old = known.iter().find(|old| old.get("id") == step.get("id"));
        let is_begun = step.get("status").as_str().is_some_and(|status| status != "pending");
        let is_changed = old.is_none_or(|old| old.get("status") != step.get("status"));
        let used = match old {
            _ if is_begun && is_changed => agent.clone(),
            Some(old) => old.get("agentUsed").clone(),
            None => Value::Null,
        };
        if used.is_null() { step.clone() } else { with(step.clone(), "agentUsed", used) }
    });
    let plan = with(plan.clone(), "steps", Value::list(noted.collect()));
    with(told, "plan", plan)
}

fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Fine => "fine",
        Verdict::Notice { .. } => "notice",
        Verdict::Block { .. } => "block",
        Verdict::Doom { .. } => "doom",
    }
}

pub(super) fn words(verdict: &Verdict) -> Option<&str> {
    match verdict {
        Verdict::Fine => None,
        Verdict::Notice { text } | Verdict::Block { text } | Verdict::Doom { text, .. } => Some(text),
    }
}

pub(super) fn detector(verdict: &Verdict) -> Value {
    match verdict {
        Verdict::Doom { detector, .. } => Value::str(detector.as_str()),
        Verdict::Fine | Verdict::Notice { .. } | Verdict::Block { .. } => Value::Null,
    }
}
