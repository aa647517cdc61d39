//! Task-specific content of journal entries: decisions, plan, messages and calls. Rendered as text for people and as
//! lines for programs.

use rawko_core::{Effect, ServiceClass, ServiceName, Value};
use serde_json::{Value as Json, json};

use super::program::{self, ReportBody};
use super::{EntryBody, JournalEntry, agent, lines};

/// Arbiter decision in an entry: the decision, the chosen agent, and the record of the request.
pub struct DecisionView<'e> {
    /// The decision: `type`, `reason` and further keys that depend on the type.
    pub decision: &'e Value,
    /// Name of the chosen agent; `None` if the decision chooses none.
    pub agent: Option<&'e str>,
    /// `{moment, input, prompt, schema, attempts, model}`
    pub record: &'e Value,
}

/// Any result with a `record` comes from the arbiter, under any name in the chart.
pub fn decision(entry: &JournalEntry) -> Option<DecisionView<'_>> {
    let EntryBody::Answered { data, .. } = &entry.what else { return None };
    let record = data.get("record");
    record.get("moment").as_str()?;
    let chosen = data.get("decision");
    let decision = if chosen.is_null() { data } else { chosen };
    let agent = data.get("agent").get("name").as_str().or_else(|| decision.get("mode").as_str());
    Some(DecisionView { decision, agent, record })
}

/// Returns only the decision, without its record.
pub fn bare(decision: &Value) -> Json {
    let keys = ["type", "mode", "reason", "summary", "question", "by", "why"];
    let said = keys.iter().filter(|key| !decision.get(key).is_null());
    Json::Object(said.map(|key| ((*key).to_owned(), decision.get(key).to_json())).collect())
}

impl DecisionView<'_> {
    /// Returns a title and a sentence.
    pub fn words(&self) -> (&'static str, String) {
        let text = |key: &str| self.decision.get(key).as_str().unwrap_or_default();
        let agent = self.agent.unwrap_or("no agent");
        let (reason, why, is_rule) = (text("reason"), text("why"), text("by") == "rule");
        let (title, sentence) = match text("type") {
            "COMPLETE" => ("complete", first_line(text("summary")).to_owned()),
            // A rule is its own reason.
            "CONTINUE" if is_rule => ("continue", self.agent.unwrap_or(reason).to_owned()),
            "CONTINUE" => ("continue", reason.to_owned()),
            "ABORT" => ("gives up", reason.to_owned()),
            "SKIP" => ("skips", reason.to_owned()),
            "ASK" => ("asks", first_line(text("question")).to_owned()),
            "RETRY" if self.agent.is_some() => ("retry", format!("{agent}: {reason}")),
            "RETRY" => ("retry", reason.to_owned()),
            _ if is_rule => ("→", agent.to_owned()),
            _ => ("→", format!("{agent}: {reason}")),
        };
        let by = match text("by") {
            "rule" => format!(" (rule: {why})"),
            "fallback" => format!(" (fallback: {why})"),
            _ => String::new(),
        };
        (title, format!("{sentence}{by}"))
    }
}

/// Returns the plan, if this entry changed it.
pub fn plan(entry: &JournalEntry) -> Option<&Value> {
    let changed = entry.changes.iter().find(|change| &*change.key == "plan")?;
    let plan = &changed.after;
    plan.get("steps").as_list().filter(|steps| !steps.is_empty()).map(|_| plan)
}

/// Formats an event that a person sent to a task: `skip`, `agent tester`; others by name and data.
pub fn order(name: &str, data: &Value) -> (&'static str, String) {
    let text = |key: &str| data.get(key).as_str().unwrap_or_default().to_owned();
    match name {
        "SKIP_STEP" => ("skip", "the current step".to_owned()),
        "RETRY" => ("retry", "run the agent again".to_owned()),
        "FORCE_AGENT" => ("agent", text("agentName")),
        "SET_MODEL" => ("model", text("model")),
        _ if data.is_null() => ("sent", name.to_owned()),
        _ => ("sent", format!("{name} {data}")),
    }
}

/// Formats a step: `[x] strip  Ignore spaces around names`.
pub fn step_words(step: &Value) -> String {
    let text = |keys: [&str; 2]| keys.iter().find_map(|key| step.get(key).as_str()).unwrap_or_default();
    let mark = match step.get("status").as_str() {
        Some("done" | "complete") => "x",
        Some("in_progress") => ">",
        Some("failed") => "!",
        Some("skipped") => "-",
        Some(_) | None => " ",
    };
    format!("[{mark}] {}", text(["title", "description"]))
}

/// Returns the dependencies of a step, by title, and its acceptance criteria: `after Ignore spaces`, `accepted if all
/// tests pass`.
pub fn step_details(step: &Value, plan: &Value) -> Vec<String> {
    let texts = |key: &str| {
        let list = step.get(key).as_list().unwrap_or_default();
        list.iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
    };
    let steps = plan.get("steps").as_list().unwrap_or_default();
    let title = |id: String| {
        let named = steps.iter().find(|step| step.get("id").as_str() == Some(&*id));
        named.and_then(|step| step.get("title").as_str()).map(str::to_owned).unwrap_or(id)
    };
    let after = texts("depends_on").into_iter().map(|id| format!("after {}", title(id)));
    let accepted = texts("acceptance").into_iter().map(|text| format!("accepted if {text}"));
    after.chain(accepted).collect()
}

/// Returns additional lines for programs, beside those of the entry itself.
pub fn lines_of(entry: &JournalEntry) -> Vec<Json> {
    let mut all = Vec::new();
    if let Some(found) = decision(entry) {
        let moment = found.record.get("moment").to_json();
        let fields = json!({"moment": moment, "agent": found.agent, "decision": bare(found.decision)});
        all.push(lines::with("decision", entry, fields));
    }
    if let Some(report) = program::report(entry) {
        let (kind, mut fields) = match &report.body {
            ReportBody::Text(text) => ("said", json!({"text": text})),
            ReportBody::Call(call) => {
                let (tool, input) = (call.get("name").to_json(), call.get("input").to_json());
                ("tool_call", json!({"tool": tool, "input": input}))
            }
        };
        fields["agent"] = json!(report.agent);
        all.push(lines::with(kind, entry, fields));
        if let ReportBody::Call(call) = &report.body
            && !call.get("result").is_null()
        {
            let fields = json!({"result": call.get("result").to_json(), "agent": report.agent});
            all.push(lines::with("tool_result", entry, fields));
        }
    }
    if let Some(agent) = &entry.agent {
        all.extend(said_and_called(entry).into_iter().map(|(kind, mut fields)| {
            fields["agent"] = json!(agent);
            lines::with(kind, entry, fields)
        }));
    }
    if let Some(plan) = plan(entry) {
        all.push(lines::with("plan", entry, json!({"plan": plan.to_json()})));
    }
    all
}

fn said_and_called(entry: &JournalEntry) -> Vec<(&'static str, Json)> {
    let mut all = Vec::new();
    if let EntryBody::Answered { invoke, data } = &entry.what
        && invoke == "complete"
    {
        let text = data.get("text").as_str().unwrap_or_default();
        if !text.trim().is_empty() {
            all.push(("said", json!({"text": text})));
        }
    }
    if let EntryBody::Answered { invoke, data } = &entry.what
        && agent::invoke_of(invoke) == "tool"
    {
        all.push(("tool_result", json!({"result": data.get("result").to_json()})));
    }
    for told in &entry.effects {
        if let Effect::Invoke(invoke) = &told.effect
            && let Some(tool) = ServiceName::member_of(&invoke.src, ServiceClass::Tool)
        {
            let input = invoke.input.get("call").get("input").to_json();
            all.push(("tool_call", json!({"tool": tool, "input": input})));
        }
    }
    all
}

fn first_line(text: &str) -> &str {
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default()
}
