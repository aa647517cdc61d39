//! Serves a coding agent: it has its own tools, so it must request permission before using them, and it accesses the
//! project's files through ours.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rawko_core::{ServiceClass, Value};

use super::attendant::Attendant;
use super::permission::{RequiredTool, absolute, directories, required_tools};
use rawko_model::provider::StreamEvent;
use rawko_model::{ToolUse, Usage};
use rawko_programs::program::{
    AgentOperation, CancelFuture, DecisionFuture, EndedCall, OperationVerdict, ProgramHost, ReadFuture,
    WriteFuture,
};
use rawko_tools::{Clearance, Judgement, PermissionEffect, ToolCall, ToolFuture, ToolOutcome};

pub(super) struct Coder<'a> {
    attendant: &'a Attendant<'a>,
    /// The agent's working directory.
    cwd: &'a Path,
    calls: Mutex<CoderCalls>,
}

/// The agent's tool calls, by its own ids.
#[derive(Default)]
struct CoderCalls {
    known: BTreeSet<String>,
    open: BTreeSet<String>,
    /// Allowed calls without a result.
    granted: BTreeSet<String>,
    /// Calls with a result.
    closed: BTreeSet<String>,
    /// Number of requested files.
    files: u64,
}

impl<'a> Coder<'a> {
    pub(super) fn new(attendant: &'a Attendant<'a>, cwd: &'a Path) -> Self {
        Self { attendant, cwd, calls: Mutex::default() }
    }

    fn calls(&self) -> MutexGuard<'_, CoderCalls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call once, whether it is announced or permission is requested first.
    fn count(&self, id: &str) -> Result<(), String> {
        let is_new = self.calls().known.insert(id.to_owned());
        if is_new { self.attendant.count_call() } else { Ok(()) }
    }

    /// A file request during a call counts as a part of it.
    fn count_file(&self) -> Result<String, String> {
        let (id, is_own) = {
            let mut calls = self.calls();
            calls.files += 1;
            (format!("file-{}", calls.files), calls.open.is_empty())
        };
        if is_own {
            self.attendant.count_call()?;
        }
        Ok(id)
    }

    /// Checks everything the request needs; returns the first refusal.
    async fn judge(&self, asked: &AgentOperation) -> ToolOutcome {
        let toolbox = &self.attendant.agent_services.toolbox;
        let own = asked.tool.as_deref().and_then(|name| toolbox.canonical_name(name));
        let (all, places) =
            match (required_tools(asked, own.as_deref(), self.cwd), directories(asked, self.cwd)) {
                (Ok(all), Ok(places)) => (all, places),
                (Err(why), _) | (_, Err(why)) => return ToolOutcome::failed(format!("refused: {why}")),
            };
        let (mut verdicts, mut refusal, mut taken) = (Vec::new(), None, Vec::new());
        for RequiredTool { tool, input } in &all {
            let untrusted = self.attendant.state().untrusted.first().cloned();
            let cleared = self.attendant.clear(tool, input);
            let approved = matches!(&cleared, Ok(Some(_)));
            let clearance = Clearance { approved, untrusted: untrusted.as_deref(), ..Clearance::default() };
            let grant = self.attendant.grant_of(tool, input);
            let judged = toolbox.judge(tool, input, &grant, untrusted.as_deref());
            let (outcome, basis) = match cleared {
                Ok(approval) => (toolbox.permits(tool, input, &grant, clearance).await, approval),
                Err(why) => (ToolOutcome::failed(why), None),
            };
            let words = basis.as_ref().map(|approval| format!("; {}", approval.basis()));
            verdicts.push(verdict(tool, &judged, &outcome) + &words.unwrap_or_default());
            taken.extend(basis);
            if outcome.is_error {
                refusal.get_or_insert(outcome);
            }
        }
        if refusal.is_some() {
            // The operation is not done: its approvals are for the next attempt.
            self.attendant.state().approvals.append(&mut taken);
        }
        let names: Vec<String> = all.iter().map(|required| self.service(&required.tool)).collect();
        let verdicts = verdicts.join("; ");
        let others = if refusal.is_some() { Err(verdicts) } else { Ok(verdicts) };
        if let Err(refused) = self.attendant.admit_judged(names, &self.key(&asked.id), &others).await {
            return refused;
        }
        if let Some(refused) = refusal {
            return refused;
        }
        for RequiredTool { tool, input } in &all {
            self.attendant.taint(toolbox.untrusted_source(tool, input));
        }
        let outside = places.iter().map(|place| toolbox.confines(place)).find(|outcome| outcome.is_error);
        let mut changing =
            all.iter().filter(|required| toolbox.may_change(&required.tool, &required.input)).peekable();
        if outside.is_none() && changing.peek().is_some() {
            self.attendant.changed(changing.filter_map(|required| required.input.get("path").as_str()));
        }
        outside.unwrap_or_else(|| ToolOutcome::ok("allowed"))
    }

    async fn decide(&self, asked: AgentOperation) -> OperationVerdict {
        if self.count(&asked.id).is_err() {
            return OperationVerdict::Deny;
        }
        let outcome = self.judge(&asked).await;
        let name = asked.tool.unwrap_or(asked.title);
        let tool_use = ToolUse { id: asked.id.clone(), name, input: asked.input };
        if outcome.is_error {
            let (outcome, _) = self.attendant.attempt(tool_use, std::future::ready(outcome)).await;
            self.calls().closed.insert(asked.id.clone());
            self.attendant.close(&asked.id, outcome.content, true);
            return OperationVerdict::Deny;
        }
        // Only the agent knows the result, so loop control does not see it.
        self.attendant.called(tool_use);
        self.calls().granted.insert(asked.id);
        OperationVerdict::Allow
    }

    /// Closes the calls of a turn whose results the agent did not report.
    pub(super) fn finish(&self) {
        let granted = std::mem::take(&mut self.calls().granted);
        for id in granted {
            self.attendant.close(&id, "allowed; the agent reported no result".to_owned(), false);
        }
    }

    /// Returns the name of a tool in governance and audit.
    fn service(&self, tool: &str) -> String {
        let own = self.attendant.agent_services.toolbox.canonical_name(tool);
        ServiceClass::Tool.named(own.as_deref().unwrap_or(tool))
    }

    /// Returns the key of an operation within the call.
    fn key(&self, id: &str) -> String {
        format!("{}/{id}", self.attendant.call.idempotency)
    }

    fn path(&self, path: &Path) -> Result<String, String> {
        absolute(path.to_str().unwrap_or_default(), self.cwd)
    }

    async fn read(&self, path: PathBuf, from: Option<u32>, count: Option<u32>) -> Result<String, String> {
        let (id, path) = (self.count_file()?, self.path(&path)?);
        let int = |number: Option<u32>| number.map_or(Value::Null, |number| Value::Int(number.into()));
        let input = Value::map([("path", Value::str(&path)), ("offset", int(from)), ("limit", int(count))]);
        let tool_use = ToolUse { id: id.clone(), name: "Read".into(), input };
        let attendant = self.attendant;
        let key = self.key(&id);
        let subject = Value::map([("path", Value::str(&path))]);
        let reading = async {
            let approval = match attendant.clear("Read", &subject) {
                Ok(approval) => approval,
                Err(why) => return ToolOutcome::failed(why),
            };
            let clearance = Clearance { approved: approval.is_some(), ..Clearance::default() };
            let grant = attendant.grant_of("Read", &subject);
            let toolbox = &attendant.agent_services.toolbox;
            match attendant.admit_cleared("Read", &key, approval.as_ref()).await {
                Ok(()) => toolbox.read_text(&path, from, count, (&grant, clearance)).await,
                Err(refused) => refused,
            }
        };
        let (outcome, _) = attendant.attempt(tool_use, reading).await;
        if outcome.is_error {
            attendant.close(&id, outcome.content.clone(), true);
            return Err(outcome.content);
        }
        attendant.close(&id, format!("{} bytes", outcome.content.len()), false);
        Ok(outcome.content)
    }

    async fn write(&self, path: PathBuf, content: String) -> Result<(), String> {
        let (id, path) = (self.count_file()?, self.path(&path)?);
        let input = Value::map([("path", Value::str(&path)), ("content", Value::from(content))]);
        let tool_use = ToolUse { id: id.clone(), name: "Write".into(), input: input.clone() };
        let attendant = self.attendant;
        let idempotency = self.key(&id);
        let untrusted = attendant.state().untrusted.first().cloned();
        let writing = async {
            let approval = match attendant.clear("Write", &input) {
                Ok(approval) => approval,
                Err(why) => return ToolOutcome::failed(why),
            };
            let call = ToolCall {
                name: "Write",
                input: &input,
                instance: &attendant.call.instance,
                idempotency: &idempotency,
                plan: &Value::NULL,
                notes: &Value::NULL,
                clearance: Clearance {
                    approved: approval.is_some(),
                    untrusted: untrusted.as_deref(),
                    ..Clearance::default()
                },
            };
            let grant = attendant.grant_of("Write", &input);
            match attendant.admit_cleared("Write", &idempotency, approval.as_ref()).await {
                Ok(()) => attendant.agent_services.toolbox.run(call, &grant).await,
                Err(refused) => refused,
            }
        };
        let (outcome, _) = attendant.attempt(tool_use, writing).await;
        attendant.close(&id, outcome.content.clone(), outcome.is_error);
        if outcome.is_error {
            return Err(outcome.content);
        }
        attendant.changed(outcome.facts().path.as_deref());
        Ok(())
    }
}

/// Returns the verdicts of the layers besides governance on one tool use.
fn verdict(tool: &str, judged: &Judgement, outcome: &ToolOutcome) -> String {
    let effect = match judged.effect {
        PermissionEffect::Allow => "allow",
        PermissionEffect::Ask => "ask about",
        PermissionEffect::Deny => "deny",
    };
    let by = if judged.rule.is_empty() { String::new() } else { format!(" ({})", judged.rule) };
    let tools = match outcome.is_error {
        true => outcome.content.strip_prefix("refused: ").unwrap_or(&outcome.content).to_owned(),
        false => "allowed".to_owned(),
    };
    format!("permissions {effect} `{tool}`{by}; tools and paths: {tools}")
}

impl ProgramHost for Coder<'_> {
    fn tool(&self, tool_use: ToolUse) -> ToolFuture<'_> {
        self.attendant.tool(tool_use)
    }

    fn heard(&self, event: StreamEvent) {
        match &event {
            StreamEvent::ToolUseStart { id, .. } => {
                self.calls().open.insert(id.clone());
                // If the budget is exhausted, the agent is already being stopped.
                let _ = self.count(id);
            }
            StreamEvent::ToolUseEnd { id, .. } => drop(self.calls().open.remove(id)),
            StreamEvent::TextDelta { .. }
            | StreamEvent::ReasoningDelta { .. }
            | StreamEvent::ToolUseInput { .. }
            | StreamEvent::MessageDone { .. } => {}
        }
        self.attendant.heard(event);
    }

    fn spent(&self, so_far: Usage) {
        self.attendant.spent(so_far);
    }

    fn wanted(&self, hosts: Vec<(String, String)>) {
        self.attendant.refused_hosts(hosts);
    }

    fn cancelled(&self) -> CancelFuture<'_> {
        self.attendant.cancelled()
    }

    fn returned(&self, result: EndedCall) {
        let EndedCall { id, name, input, content, diff, is_error } = result;
        let is_granted = {
            let mut calls = self.calls();
            if !calls.closed.insert(id.clone()) {
                return;
            }
            calls.granted.remove(&id)
        };
        if !is_granted {
            let tool_use = ToolUse { id: id.clone(), name, input };
            self.attendant.called(tool_use);
        }
        self.attendant.close_changed(&id, content, &diff, is_error);
    }

    fn permit(&self, asked: AgentOperation) -> DecisionFuture<'_> {
        Box::pin(self.decide(asked))
    }

    fn read_file(&self, path: PathBuf, line: Option<u32>, limit: Option<u32>) -> ReadFuture<'_> {
        Box::pin(self.read(path, line, limit))
    }

    fn write_file(&self, path: PathBuf, content: String) -> WriteFuture<'_> {
        Box::pin(self.write(path, content))
    }
}
