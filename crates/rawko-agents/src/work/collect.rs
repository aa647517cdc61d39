//! `work:collect`: takes the results of calls that ran at the same time, in the order of the calls. Loop detection and the
//! limits of a turn see them as if the calls had run one after the other, whichever of them was faster.

use rawko_core::Value;
use rawko_host::{ServiceCall, ServiceError};

use super::bounds::TurnUse;
use super::types::{
    CollectInput, CollectOutput, CollectedResult, End, FailedCall, PendingCall, SettledCall, TokenCount,
    ToolResultPart, value,
};
use super::{AgentServices, tool};
use rawko_arbiter::loop_control::{
    CallFingerprint, Detector, LoopMemory, LoopSettings, LoopVerdict, observe_fingerprint,
};
use rawko_arbiter::{Circumstances, RecoveryOption};
use rawko_model::{MessagePart, ToolResult};

/// Characters of a report or an error: the first results of a turn have more room, so that all of them fit into the
/// conversation.
const CHARS_OF_FIRST: usize = 50_000;
const CHARS_OF_LATER: usize = 5_000;
const FIRST_RESULTS: usize = 8;
/// Characters of a command in the description of a failure.
const COMMAND_CHARS: usize = 2_000;

pub(super) fn collect(
    agent_services: &AgentServices,
    call: &ServiceCall,
    input: CollectInput,
) -> Result<CollectOutput, ServiceError> {
    let mut all = Collection {
        agent_services,
        settings: tool::settings(&input.loops, call)?,
        memory: input.memory,
        children: Vec::new(),
        turn: input.taken,
        notes: input.notes,
        failing: input.failing,
        before: input.before,
        results: Vec::new(),
        usage: TokenCount::default(),
        changes: 0,
        files: Vec::new(),
        refusals: 0,
        untrusted: Vec::new(),
        has_images: false,
        end: None,
        notices: Vec::new(),
    };
    for (index, asked) in input.calls.iter().enumerate() {
        all.take(asked, &input.outcomes.get(index).cloned().unwrap_or_default());
    }
    Ok(all.into_output())
}

/// The results so far.
struct Collection<'w> {
    agent_services: &'w AgentServices,
    settings: LoopSettings,
    memory: LoopMemory,
    /// Memories of sub-agents, each of which began with a copy of `memory`.
    children: Vec<LoopMemory>,
    turn: TurnUse,
    notes: Value,
    failing: Option<FailedCall>,
    /// Number of results of the turn before these.
    before: usize,
    results: Vec<Value>,
    usage: TokenCount,
    changes: u64,
    files: Vec<String>,
    refusals: u64,
    untrusted: Vec<String>,
    has_images: bool,
    /// Why the work ends with these calls.
    end: Option<(End, Value)>,
    notices: Vec<String>,
}

impl Collection<'_> {
    fn take(&mut self, call: &PendingCall, outcome: &SettledCall) {
        let is_done = outcome.status == "done";
        let given = if is_done { &outcome.data } else { &outcome.error };
        let mut collected: CollectedResult = given.read().unwrap_or_default();
        self.count(&mut collected);
        match (is_done, call.is_agent()) {
            (true, true) => self.report(call, &collected),
            (true, false) => self.result(call, collected),
            (false, _) => self.failure(call, collected, given),
        }
    }

    /// Adds tokens, files and sources of untrusted text.
    fn count(&mut self, given: &mut CollectedResult) {
        let usage = given.usage.unwrap_or_default();
        self.usage.input_tokens = self.usage.input_tokens.saturating_add(usage.input_tokens);
        self.usage.output_tokens = self.usage.output_tokens.saturating_add(usage.output_tokens);
        let lists =
            [(given.files_modified.take(), &mut self.files), (given.untrusted.take(), &mut self.untrusted)];
        for (list, known) in lists {
            for one in list.into_iter().flatten() {
                if !known.contains(&one) {
                    known.push(one);
                }
            }
        }
        self.children.extend(given.memory.take());
    }

    fn result(&mut self, call: &PendingCall, given: CollectedResult) {
        let is_error = given.result.as_ref().is_some_and(|result| result.is_error);
        let mut content = given.result.map(|result| result.content).unwrap_or_default();
        if let Some((text, notes)) = tool::instructions(self.agent_services, &call.tool_use(), &self.notes) {
            content.push_str(&text);
            self.notes = notes;
        }
        let (images, missing) = self.images(given.images.unwrap_or_default());
        let mut content = self.turn.text(content);
        for note in missing {
            content.push('\n');
            content.push_str(&note);
        }
        let verdict = self.observe(given.seen);
        let content = tool::noticed(content, &verdict);
        if !matches!(verdict, LoopVerdict::Doom { .. }) {
            let chars = content.chars().count();
            self.failing = is_error.then(|| failing(call, given.recovery, chars));
        }
        self.push(call, content, is_error);
        self.has_images |= !images.is_empty();
        self.results.extend(images.iter().map(value));
    }

    fn push(&mut self, call: &PendingCall, content: String, is_error: bool) {
        let result = ToolResult { id: call.id.clone(), content, is_error };
        self.results.push(value(&ToolResultPart::from(result)));
    }

    /// Returns the images that the turn has room for, and notes about the others.
    fn images(&mut self, images: Vec<MessagePart>) -> (Vec<MessagePart>, Vec<String>) {
        let (mut kept, mut missing) = (Vec::new(), Vec::new());
        for (number, image) in images.into_iter().enumerate() {
            let bytes = match &image {
                MessagePart::Image { data, .. } => data.len(),
                MessagePart::ImageRef { bytes, .. } => usize::try_from(*bytes).unwrap_or(usize::MAX),
                MessagePart::Text { .. }
                | MessagePart::ToolUse(_)
                | MessagePart::ToolResult(_)
                | MessagePart::Reasoning(_) => continue,
            };
            match self.turn.image(bytes) {
                Ok(()) => kept.push(image),
                Err(why) => missing.push(format!("[image {} is not shown: {why}]", number + 1)),
            }
        }
        (kept, missing)
    }

    fn report(&mut self, call: &PendingCall, given: &CollectedResult) {
        let content = self.cut(given.text.as_deref().unwrap_or_default(), "one report is limited");
        self.changes = self.changes.saturating_add(given.changes.unwrap_or(0));
        self.failing = None;
        self.push(call, content, false);
    }

    fn failure(&mut self, call: &PendingCall, given: CollectedResult, error: &Value) {
        let text = given.content.or(given.message).unwrap_or_else(|| "the call has no result".to_owned());
        let content = self.cut(&text, "one result is limited");
        let verdict = self.observe(given.seen);
        let category = given.category.unwrap_or_default();
        self.refusals += u64::from(category == "refused");
        self.failing = Some(failing(call, given.recovery, text.chars().count()));
        self.push(call, tool::noticed(content, &verdict), true);
        match (call.is_agent(), category.as_str()) {
            (true, "loop") => self.end_with(End::Loop, error.clone()),
            // The budget of this agent; that of a sub-agent is a result like any other.
            (false, "limit") => self.end_with(End::Limit, error.clone()),
            _ => {}
        }
    }

    fn cut(&self, text: &str, note: &str) -> String {
        let is_first = self.before + self.results.len() < FIRST_RESULTS;
        let most = if is_first { CHARS_OF_FIRST } else { CHARS_OF_LATER };
        match text.char_indices().nth(most) {
            Some((end, _)) => format!("{}\n[the rest is left out: {note}]", &text[..end]),
            None => text.to_owned(),
        }
    }

    /// Records a call that ran, as if it had run after those before it.
    fn observe(&mut self, seen: Option<CallFingerprint>) -> LoopVerdict {
        let Some(seen) = seen else { return LoopVerdict::Fine };
        let (memory, verdict) = observe_fingerprint(std::mem::take(&mut self.memory), seen, &self.settings);
        self.memory = memory;
        self.notices.extend(tool::words(&verdict).map(str::to_owned));
        if let LoopVerdict::Doom { text, .. } = &verdict {
            let detector = tool::detector(&verdict);
            let problem = LoopProblem { category: "loop", detector, message: text };
            self.end_with(End::Loop, value(&problem));
        }
        verdict
    }

    fn end_with(&mut self, end: End, problem: Value) {
        self.end.get_or_insert((end, problem));
    }

    fn into_output(self) -> CollectOutput {
        let (end, problem) = self.end.map_or((None, Value::Null), |(end, problem)| (Some(end), problem));
        CollectOutput {
            results: self.results,
            taken: self.turn,
            memory: self.memory.merge_all(&self.children),
            notes: self.notes,
            usage: self.usage,
            changes: self.changes,
            files: self.files,
            refusals: self.refusals,
            failing: self.failing,
            untrusted: self.untrusted,
            unseen: self.has_images,
            end,
            problem,
            notices: self.notices,
        }
    }
}

/// The problem of work that ends as a loop.
#[derive(serde::Serialize)]
struct LoopProblem<'p> {
    category: &'static str,
    detector: Option<Detector>,
    message: &'p str,
}

/// Describes a failed call, for a caller that asks why the work failed.
fn failing(call: &PendingCall, recovery: Option<Vec<RecoveryOption>>, chars: usize) -> FailedCall {
    let text = |key: &str| call.input.get(key).as_str();
    FailedCall {
        tool: Some(call.name.clone()),
        attempted: Some(call.shown.clone().unwrap_or_else(|| call.name.clone())),
        recovery_options: recovery,
        context: Circumstances {
            command_executed: text("command").map(|line| line.chars().take(COMMAND_CHARS).collect()),
            files_accessed: text("path").map(|path| vec![path.to_owned()]),
            input_size: call.size,
            output_size: Some(chars as u64),
        },
    }
}
