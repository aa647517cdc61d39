//! `tool:<Name>`: one tool call. Loop policy before and after it, everything else at the toolbox's one dispatch point.

use rawko_core::Value;
use rawko_host::{Call, Category, ServiceError};

use super::{Workshop, part, value};
use crate::loop_control::{LoopMemory, LoopSettings, Observation, Verdict, check_before, observe};
use crate::message::{Part, ToolResult, ToolUse};
use crate::tools::{Grant, ToolCall, ToolOutcome};

pub(super) async fn run(workshop: &Workshop, call: Call) -> Result<Value, ServiceError> {
    let input = &call.input;
    let asked: ToolUse = part(input, "call")?;
    let settings = settings(input, &call.policy)?;
    let memory = if input.get("memory").is_null() { LoopMemory::default() } else { part(input, "memory")? };
    match check_before(&memory, &asked.name, &asked.input, &settings) {
        Verdict::Fine | Verdict::Notice { .. } => {}
        Verdict::Block { .. } | Verdict::Doom { .. } => return Ok(blocked(&asked, memory, &settings, input)),
    }
    let grant: Grant = part(input, "grant")?;
    let plan = input.get("plan");
    let tool_call = ToolCall {
        name: &asked.name,
        input: &asked.input,
        instance: &call.instance,
        idempotency: &call.idempotency,
        plan,
    };
    let outcome = workshop.toolbox.run(tool_call, &grant).await;
    let observation = Observation::Returned {
        name: &asked.name,
        input: &asked.input,
        content: &outcome.content,
        is_error: outcome.is_error,
    };
    let (memory, verdict) = observe(memory, observation, &settings);
    match &outcome.refusal {
        Some(refusal) => Err(refused(&outcome, &refusal.rule, &refusal.source, &memory)),
        None => {
            let changed = !outcome.is_error && workshop.toolbox.may_change(&asked.name, &asked.input);
            Ok(told(&asked, outcome, changed, &memory, &verdict))
        }
    }
}

/// What a state says about loops only narrows.
fn settings(input: &Value, policy: &Value) -> Result<LoopSettings, ServiceError> {
    let settings: LoopSettings = part(input, "loop")?;
    let narrowed = settings.narrowed(policy.get("loop"));
    narrowed.map_err(|error| ServiceError::new(Category::Failed, error.to_string()))
}

/// The call is not run: the model reads why.
fn blocked(asked: &ToolUse, memory: LoopMemory, settings: &LoopSettings, input: &Value) -> Value {
    let observation = Observation::Blocked { name: &asked.name, input: &asked.input };
    let (memory, verdict) = observe(memory, observation, settings);
    let text = words(&verdict).unwrap_or_default().to_owned();
    let outcome = ToolOutcome { content: text, is_error: true, data: Value::Null, ..ToolOutcome::default() };
    let plan = input.get("plan").clone();
    let mut told = told(asked, outcome, false, &memory, &verdict).as_map().cloned().unwrap_or_default();
    told.insert("plan".into(), plan);
    Value::Map(told.into())
}

fn told(
    asked: &ToolUse,
    outcome: ToolOutcome,
    changed: bool,
    memory: &LoopMemory,
    verdict: &Verdict,
) -> Value {
    let notice = words(verdict);
    // A notice is worth nothing where the model does not read it.
    let content = match verdict {
        Verdict::Notice { text } => format!("{}\n\n{text}", outcome.content),
        Verdict::Fine | Verdict::Block { .. } | Verdict::Doom { .. } => outcome.content,
    };
    let result = ToolResult { id: asked.id.clone(), content, is_error: outcome.is_error };
    Value::map([
        ("result", value(&Part::ToolResult(result))),
        ("images", value(&outcome.images)),
        ("plan", outcome.data.get("plan").clone()),
        ("changes", Value::Int(i64::from(changed))),
        ("data", outcome.data),
        ("memory", value(memory)),
        ("verdict", Value::str(word(verdict))),
        ("detector", detector(verdict)),
        ("notice", notice.map_or(Value::Null, Value::str)),
    ])
}

/// Refused, for the audit and the chart; the model reads `content`.
fn refused(outcome: &ToolOutcome, rule: &str, source: &str, memory: &LoopMemory) -> ServiceError {
    let details = Value::map([
        ("content", Value::str(&outcome.content)),
        ("rule", Value::str(rule)),
        ("source", Value::str(source)),
        ("memory", value(memory)),
    ]);
    // The category says that it was refused.
    let why = outcome.content.strip_prefix("refused: ").unwrap_or(&outcome.content);
    ServiceError::new(Category::Refused, why).with_details(details)
}

fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Fine => "fine",
        Verdict::Notice { .. } => "notice",
        Verdict::Block { .. } => "block",
        Verdict::Doom { .. } => "doom",
    }
}

fn words(verdict: &Verdict) -> Option<&str> {
    match verdict {
        Verdict::Fine => None,
        Verdict::Notice { text } | Verdict::Block { text } | Verdict::Doom { text, .. } => Some(text),
    }
}

fn detector(verdict: &Verdict) -> Value {
    match verdict {
        Verdict::Doom { detector, .. } => Value::str(detector.as_str()),
        Verdict::Fine | Verdict::Notice { .. } | Verdict::Block { .. } => Value::Null,
    }
}
