//! Serves a program while it works: its tool calls pass the same gate, loop control and budget as a model's, and its
//! output is recorded, so that no work is lost however it ends.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rawko_core::{NamedEvent, ServiceClass, ServiceName, Value};
use rawko_host::ServiceCall;
use serde_json::{Value as Json, json};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::account::Account;
use super::halt::Halt;
use super::request;
use super::transcript::ProgramTranscript;
use crate::work::call_hooks::CallWithHooks;
use crate::work::tool::{self, noticed};
use crate::work::types::{AgentRun, ApprovedCall, AskedCall, CallPolicy, value};
use crate::work::{AgentServices, untrusted_text};
use rawko_arbiter::loop_control::{LoopMemory, LoopSettings, LoopVerdict};
use rawko_model::provider::StreamEvent;
use rawko_model::{Message, MessagePart, ToolResult, ToolUse, Usage};
use rawko_programs::program::{CancelFuture, ProgramHost, TurnResult};
use rawko_tools::{Clearance, Grant, ToolCall, ToolFuture, ToolOutcome, WantedHost};

/// Longer texts are cut in reports.
const REPORT_CHARS: usize = 2000;

fn cut_chars(text: &str) -> String {
    text.chars().take(REPORT_CHARS).collect()
}

pub(super) struct Attendant<'w> {
    pub(super) agent_services: &'w AgentServices,
    pub(super) call: &'w ServiceCall,
    pub(super) grant: Grant,
    loops: LoopSettings,
    deadline: Instant,
    state: Mutex<WorkState>,
    halting: Notify,
    /// The caller gets messages and tool calls as events.
    reports: bool,
}

/// The state of the work so far.
pub(super) struct WorkState {
    pub(super) transcript: ProgramTranscript,
    pub(super) account: Account,
    pub(super) memory: LoopMemory,
    pub(super) plan: Value,
    pub(super) changes: u64,
    /// Changed files, relative to the project; the files changed by a command are unknown.
    pub(super) files: BTreeSet<String>,
    /// Sources of untrusted text that the program has read.
    pub(super) untrusted: Vec<String>,
    /// Number of tool runs, used for idempotency keys.
    runs: u64,
    /// The agent's session id, for resuming.
    pub(super) session: Option<String>,
    /// Calls that a person approved, and that were not made yet.
    pub(super) approvals: Vec<ApprovedCall>,
    /// The first call that needs a person.
    pub(super) question: Option<AskedCall>,
    /// Hosts that the program was refused, and that a person may approve.
    pub(super) wanted: Vec<WantedHost>,
    halt: Option<Halt>,
    /// Text that the caller has not heard of.
    unreported: String,
    /// Calls without a result.
    unreported_calls: Vec<ToolUse>,
    /// Number of reports, used for their keys.
    reports: u64,
}

impl<'w> Attendant<'w> {
    pub(super) fn new(
        agent_services: &'w AgentServices,
        call: &'w ServiceCall,
        grant: Grant,
        loops: LoopSettings,
        deadline: Instant,
        input: &AgentRun,
    ) -> Self {
        let state = WorkState {
            transcript: ProgramTranscript::default(),
            account: Account::new(&CallPolicy::of(call).budget()),
            memory: input.memory.clone(),
            plan: input.plan.clone(),
            changes: 0,
            files: BTreeSet::new(),
            untrusted: untrusted_text::sources(&input.untrusted, &[]),
            runs: 0,
            session: request::session(call),
            approvals: request::approvals(call),
            question: None,
            wanted: Vec::new(),
            halt: None,
            unreported: String::new(),
            unreported_calls: Vec::new(),
            reports: 0,
        };
        let (state, halting) = (Mutex::new(state), Notify::new());
        Self { agent_services, call, grant, loops, deadline, state, halting, reports: input.report }
    }

    /// A panic never leaves a partial change behind, so a poisoned lock is safe to use.
    pub(super) fn state(&self) -> MutexGuard<'_, WorkState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a message to the program.
    pub(super) fn ask(&self, message: Message) {
        let mut state = self.state();
        state.transcript.ask(message);
        state.account.next_round();
    }

    /// Records the result.
    pub(super) fn take(&self, result: &TurnResult) {
        {
            let mut state = self.state();
            if !result.text.trim().is_empty() {
                // It may differ from the streamed text.
                if !state.transcript.text().trim_end().ends_with(result.text.trim_end()) {
                    state.unreported.push_str(&result.text);
                }
                state.transcript.answered(&result.text);
            }
            state.account.spent(result.usage);
            state.session = result.session.clone().or(state.session.take());
        }
        self.report_message();
    }

    /// Records a call of the program. It is reported with its result.
    pub(super) fn called(&self, asked: ToolUse) {
        self.report_message();
        let mut state = self.state();
        state.unreported_calls.push(asked.clone());
        state.transcript.called(asked);
    }

    /// Reports a call with its result; null if it has none.
    fn report_call(&self, asked: &ToolUse, result: &Json) {
        let input = asked.input.to_string();
        let arguments = match input.len() <= REPORT_CHARS {
            true => asked.input.to_json(),
            false => json!({"shown": cut_chars(&input)}),
        };
        let call = json!({"name": asked.name, "arguments": arguments, "result": result});
        self.report("AGENT_TOOL_CALL", &json!({"toolCall": call}));
    }

    /// Reports the calls that were stopped.
    pub(super) fn report_stopped_calls(&self) {
        let stopped = std::mem::take(&mut self.state().unreported_calls);
        stopped.iter().for_each(|asked| self.report_call(asked, &Json::Null));
    }

    /// Reports the text since the last report, as the chart `agent` does with each message.
    fn report_message(&self) {
        let text = std::mem::take(&mut self.state().unreported);
        if !text.trim().is_empty() {
            let message = json!({"role": "assistant", "content": cut_chars(&text)});
            self.report("AGENT_MESSAGE", &json!({"message": message}));
        }
    }

    fn report(&self, event: &str, data: &Json) {
        if !self.reports {
            return;
        }
        let number = {
            let mut state = self.state();
            state.reports += 1;
            state.reports
        };
        let agent = json!({"agent": ServiceName::of(&self.call.name).member});
        let both = [&agent, data].into_iter().filter_map(Json::as_object).flatten();
        let data: serde_json::Map<String, Json> =
            both.map(|(name, value)| (name.clone(), value.clone())).collect();
        let key = format!("{}/report/{number}", self.call.idempotency);
        self.call.runtime_gate.report(NamedEvent::new(event, Value::from_json(Json::Object(data))), &key);
    }

    /// Stops the agent; the first reason counts. The agent is asked to stop, and terminated if it does not.
    pub(super) fn halt(&self, halt: Halt) {
        self.state().halt.get_or_insert(halt);
        self.halting.notify_one();
    }

    pub(super) fn halted(&self) -> Option<Halt> {
        self.state().halt.clone()
    }

    pub(super) fn is_out_of_time(&self) -> bool {
        Instant::now() >= self.deadline
    }

    /// Counts a tool call; `Err` refuses this and all further calls.
    pub(super) fn count_call(&self) -> Result<(), String> {
        let counted = self.state().account.count_call();
        counted.map_err(|part| {
            let halt = Halt::used_up(&self.call.instance, part);
            let words = halt.message().to_owned();
            self.halt(halt);
            words
        })
    }

    /// Runs one call through loop control; returns its outcome and the verdict.
    pub(super) async fn attempt(
        &self,
        asked: ToolUse,
        running: impl Future<Output = ToolOutcome>,
    ) -> (ToolOutcome, LoopVerdict) {
        self.called(asked.clone());
        let memory = self.state().memory.clone();
        let (outcome, memory, verdict) = tool::attempt(&asked, memory, &self.loops, running).await;
        self.state().memory = memory;
        if let LoopVerdict::Doom { detector, text } = &verdict {
            self.halt(Halt::Loop { detector: *detector, message: text.clone() });
        }
        (outcome, verdict)
    }

    /// Completes an attempted call. `shown` is stored in the transcript.
    pub(super) fn close(&self, id: &str, shown: String, is_error: bool) {
        self.close_changed(id, shown, "", is_error);
    }

    /// The same for a call whose changed lines the program reports.
    pub(super) fn close_changed(&self, id: &str, shown: String, diff: &str, is_error: bool) {
        let mut report = json!({"content": cut_chars(&shown), "is_error": is_error});
        let mut content = shown;
        if !diff.is_empty() {
            report["diff"] = Json::from(diff);
            content = format!("{content}\n{diff}");
        }
        let asked = {
            let open = &mut self.state().unreported_calls;
            open.iter().position(|asked| asked.id == id).map(|at| open.remove(at))
        };
        if let Some(asked) = asked {
            self.report_call(&asked, &report);
        }
        let result = ToolResult { id: id.to_owned(), content, is_error };
        self.call.teller.tell(value(&MessagePart::ToolResult(result.clone())));
        self.state().transcript.returned(result);
    }

    /// Checks governance by the tool's own name, and writes the audit entry before the call runs.
    pub(super) async fn admit(&self, tool: &str, key: &str) -> Result<(), ToolOutcome> {
        let own = self.agent_services.toolbox.canonical_name(tool).unwrap_or_else(|| tool.to_owned());
        let admitted = self.call.runtime_gate.admit(&ServiceClass::Tool.named(&own), key).await;
        admitted.map_err(|why| ToolOutcome::failed(format!("refused: {why}")))
    }

    /// Checks governance for an action that other layers have judged; one audit line has every verdict.
    pub(super) async fn admit_judged(
        &self,
        names: Vec<String>,
        key: &str,
        others: &Result<String, String>,
    ) -> Result<(), ToolOutcome> {
        let admitted = self.call.runtime_gate.admit_judged(&names, key, others).await;
        admitted.map_err(|why| ToolOutcome::failed(format!("refused: {why}")))
    }

    async fn run(&self, asked: &ToolUse) -> ToolOutcome {
        let (plan, run) = {
            let mut state = self.state();
            state.runs += 1;
            (state.plan.clone(), state.runs)
        };
        let untrusted = self.state().untrusted.first().cloned();
        let idempotency = format!("{}/{run}", self.call.idempotency);
        if let Some(wrong) = self.agent_services.toolbox.wrong_input(&asked.name, &asked.input) {
            return ToolOutcome::failed(wrong);
        }
        let approval = match self.clear(&asked.name, &asked.input) {
            Ok(approval) => approval.or_else(|| self.approved_for_hooks(&asked.name, &asked.input)),
            Err(why) => return ToolOutcome::failed(why),
        };
        let call = ToolCall {
            name: &asked.name,
            input: &asked.input,
            instance: &self.call.instance,
            idempotency: &idempotency,
            plan: &plan,
            notes: &Value::NULL,
            clearance: Clearance {
                approved: approval.is_some(),
                untrusted: untrusted.as_deref(),
                ..Clearance::default()
            },
        };
        if let Err(refused) = self.admit_cleared(&asked.name, &idempotency, approval.as_ref()).await {
            return refused;
        }
        let grant = self.grant_of(&asked.name, &asked.input);
        let hooked = CallWithHooks {
            agent_services: self.agent_services,
            asked,
            instance: &self.call.instance,
            grant: &grant,
            is_approved: approval.is_some(),
        };
        let outcome = match hooked.run(self.agent_services.toolbox.run(call, &grant)).await {
            Ok(outcome) => outcome,
            Err(asks) => return self.hooked(asked, asks),
        };
        self.note(asked, &outcome);
        let source = untrusted_text::source(self.agent_services, asked, &outcome);
        self.taint(source.clone());
        untrusted_text::marked(outcome, source.as_deref())
    }

    /// Records a source of untrusted text.
    pub(super) fn taint(&self, source: Option<String>) {
        let mut state = self.state();
        if let Some(source) = source.filter(|source| !state.untrusted.contains(source)) {
            state.untrusted.push(source);
        }
    }

    /// Counts a change, with its files if known.
    pub(super) fn changed<'p>(&self, paths: impl IntoIterator<Item = &'p str>) {
        let root =
            self.agent_services.root.canonicalize().unwrap_or_else(|_| self.agent_services.root.clone());
        let below = |path: &str| {
            let path = Path::new(path);
            path.strip_prefix(&root).unwrap_or(path).display().to_string()
        };
        let mut state = self.state();
        state.changes += 1;
        state.files.extend(paths.into_iter().map(below));
    }

    /// Records the changes of a call.
    fn note(&self, asked: &ToolUse, outcome: &ToolOutcome) {
        let changed = !outcome.is_error && self.agent_services.toolbox.may_change(&asked.name, &asked.input);
        let facts = outcome.facts();
        if changed {
            self.changed(facts.path.as_deref());
        }
        if !facts.plan.is_null() {
            self.state().plan = facts.plan;
        }
    }
}

impl ProgramHost for Attendant<'_> {
    fn tool(&self, tool_use: ToolUse) -> ToolFuture<'_> {
        Box::pin(async move {
            if let Err(used_up) = self.count_call() {
                return ToolOutcome::failed(used_up);
            }
            let (id, asked) = (tool_use.id.clone(), tool_use.clone());
            let (mut outcome, verdict) = self.attempt(tool_use, self.run(&asked)).await;
            outcome.content = noticed(outcome.content, &verdict);
            self.close(&id, outcome.content.clone(), outcome.is_error);
            outcome
        })
    }

    fn heard(&self, event: StreamEvent) {
        self.call.teller.tell(value(&event));
        match event {
            StreamEvent::TextDelta { text } => {
                let mut state = self.state();
                state.transcript.said(&text);
                state.unreported.push_str(&text);
            }
            StreamEvent::MessageDone { usage, .. } => self.spent(usage),
            StreamEvent::ReasoningDelta { .. }
            | StreamEvent::ToolUseStart { .. }
            | StreamEvent::ToolUseInput { .. }
            | StreamEvent::ToolUseEnd { .. } => {}
        }
    }

    fn spent(&self, so_far: Usage) {
        self.state().account.spent(so_far);
    }

    fn wanted(&self, hosts: Vec<(String, String)>) {
        self.refused_hosts(hosts);
    }

    fn cancelled(&self) -> CancelFuture<'_> {
        Box::pin(async move {
            tokio::select! {
                () = self.halting.notified() => {}
                () = sleep_until(self.deadline) => self.halt(Halt::out_of_time()),
            }
        })
    }
}
