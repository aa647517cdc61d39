//! `work:collect`: takes the results of calls that ran at the same time, in the order of the calls. Loop detection and the
//! limits of a turn see them as if the calls had run one after the other, whichever of them was faster.

use rawko_core::{Map, Value};
use rawko_host::{Call, ServiceError};

use super::bounds::TurnUse;
use super::{Workshop, group, part, tool, value};
use rawko_arbiter::loop_control::{CallFingerprint, LoopMemory, LoopSettings, Verdict, observe_fingerprint};
use rawko_model::{Part, ToolUse};

/// Characters of a report or an error: the first results of a turn have more room, so that all of them fit into the
/// conversation.
const CHARS_OF_FIRST: usize = 50_000;
const CHARS_OF_LATER: usize = 5_000;
const FIRST_RESULTS: usize = 8;
/// Characters of a command in the description of a failure.
const COMMAND_CHARS: usize = 2_000;

pub(super) fn collect(workshop: &Workshop, call: &Call) -> Result<Value, ServiceError> {
    let input = &call.input;
    let mut all = Collection {
        workshop,
        settings: tool::settings(input, &call.policy)?,
        memory: tool::memory(input)?,
        children: Vec::new(),
        turn: if input.get("taken").is_null() { TurnUse::default() } else { part(input, "taken")? },
        notes: input.get("notes").clone(),
        failing: input.get("failing").clone(),
        before: input.get("before").as_i64().and_then(|count| usize::try_from(count).ok()).unwrap_or(0),
        results: Vec::new(),
        tokens: (0, 0),
        changes: 0,
        files: Vec::new(),
        refusals: 0,
        untrusted: Vec::new(),
        has_images: false,
        end: None,
        notices: Vec::new(),
    };
    let outcomes = input.get("outcomes").as_list().unwrap_or_default();
    for (index, asked) in input.get("calls").as_list().unwrap_or_default().iter().enumerate() {
        all.take(asked, outcomes.get(index).unwrap_or(&Value::Null));
    }
    Ok(all.into_value())
}

/// The results so far.
struct Collection<'w> {
    workshop: &'w Workshop,
    settings: LoopSettings,
    memory: LoopMemory,
    /// Memories of sub-agents, each of which began with a copy of `memory`.
    children: Vec<LoopMemory>,
    turn: TurnUse,
    notes: Value,
    failing: Value,
    /// Number of results of the turn before these.
    before: usize,
    results: Vec<Value>,
    tokens: (i64, i64),
    changes: i64,
    files: Vec<Value>,
    refusals: i64,
    untrusted: Vec<Value>,
    has_images: bool,
    end: Option<End>,
    notices: Vec<Value>,
}

/// The reason that the work ends with these calls.
struct End {
    /// `loop` or `limit`.
    kind: &'static str,
    problem: Value,
}

impl Collection<'_> {
    fn take(&mut self, call: &Value, outcome: &Value) {
        let is_done = outcome.get("status").as_str() == Some("done");
        let given = outcome.get(if is_done { "data" } else { "error" });
        self.count(given);
        match (is_done, group::is_agent(call)) {
            (true, true) => self.report(call, given),
            (true, false) => self.result(call, given),
            (false, _) => self.failure(call, given),
        }
    }

    /// Adds tokens, files and sources of untrusted text.
    fn count(&mut self, given: &Value) {
        let tokens = |key: &str| given.get("usage").get(key).as_i64().unwrap_or(0);
        self.tokens.0 += tokens("input_tokens");
        self.tokens.1 += tokens("output_tokens");
        let lists = [("filesModified", &mut self.files), ("untrusted", &mut self.untrusted)];
        for (key, known) in lists {
            for one in given.get(key).as_list().unwrap_or_default() {
                if !known.contains(one) {
                    known.push(one.clone());
                }
            }
        }
        if let Ok(memory) = serde_json::from_value::<LoopMemory>(given.get("memory").to_json())
            && !given.get("memory").is_null()
        {
            self.children.push(memory);
        }
    }

    fn result(&mut self, call: &Value, given: &Value) {
        let result = given.get("result");
        let is_error = result.get("is_error").as_bool() == Some(true);
        let mut content = result.get("content").as_str().unwrap_or_default().to_owned();
        let asked: Option<ToolUse> = serde_json::from_value(call.to_json()).ok();
        if let Some(asked) = asked
            && let Some((text, notes)) = tool::instructions(self.workshop, &asked, &self.notes)
        {
            content.push_str(&text);
            self.notes = notes;
        }
        let (images, missing) = self.images(given.get("images"));
        let mut content = self.turn.text(content);
        for note in missing {
            content.push('\n');
            content.push_str(&note);
        }
        let verdict = self.observe(given.get("seen"));
        let content = tool::noticed(content, &verdict);
        if !matches!(verdict, Verdict::Doom { .. }) {
            let chars = content.chars().count();
            self.failing = if is_error { failing(call, given.get("recovery"), chars) } else { Value::Null };
        }
        self.results.push(tool_result(call, content, is_error));
        self.has_images |= !images.is_empty();
        self.results.extend(images);
    }

    /// Returns the images that the turn has room for, and notes about the others.
    fn images(&mut self, images: &Value) -> (Vec<Value>, Vec<String>) {
        let (mut kept, mut missing) = (Vec::new(), Vec::new());
        for (number, image) in images.as_list().unwrap_or_default().iter().enumerate() {
            let bytes = match serde_json::from_value::<Part>(image.to_json()) {
                Ok(Part::Image { data, .. }) => data.len(),
                Ok(Part::ImageRef { bytes, .. }) => usize::try_from(bytes).unwrap_or(usize::MAX),
                Ok(_) | Err(_) => continue,
            };
            match self.turn.image(bytes) {
                Ok(()) => kept.push(image.clone()),
                Err(why) => missing.push(format!("[image {} is not shown: {why}]", number + 1)),
            }
        }
        (kept, missing)
    }

    fn report(&mut self, call: &Value, given: &Value) {
        let text = given.get("text").as_str().unwrap_or_default();
        let content = self.cut(text, "one report is limited");
        self.changes += given.get("changes").as_i64().unwrap_or(0);
        self.failing = Value::Null;
        self.results.push(tool_result(call, content, false));
    }

    fn failure(&mut self, call: &Value, error: &Value) {
        let text = [error.get("content"), error.get("message")].into_iter().find_map(Value::as_str);
        let text = text.unwrap_or("the call has no result");
        let content = self.cut(text, "one result is limited");
        let verdict = self.observe(error.get("seen"));
        let category = error.get("category").as_str().unwrap_or_default();
        self.refusals += i64::from(category == "refused");
        self.failing = failing(call, error.get("recovery"), text.chars().count());
        self.results.push(tool_result(call, tool::noticed(content, &verdict), true));
        match (group::is_agent(call), category) {
            (true, "loop") => self.end_with("loop", error.clone()),
            // The budget of this agent; that of a sub-agent is a result like any other.
            (false, "limit") => self.end_with("limit", error.clone()),
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
    fn observe(&mut self, seen: &Value) -> Verdict {
        let Ok(seen) = serde_json::from_value::<CallFingerprint>(seen.to_json()) else {
            return Verdict::Fine;
        };
        let (memory, verdict) = observe_fingerprint(std::mem::take(&mut self.memory), seen, &self.settings);
        self.memory = memory;
        self.notices.extend(tool::words(&verdict).map(Value::str));
        if let Verdict::Doom { text, .. } = &verdict {
            let problem = Value::map([
                ("category", Value::str("loop")),
                ("detector", tool::detector(&verdict)),
                ("message", Value::str(text)),
            ]);
            self.end_with("loop", problem);
        }
        verdict
    }

    fn end_with(&mut self, kind: &'static str, problem: Value) {
        if self.end.is_none() {
            self.end = Some(End { kind, problem });
        }
    }

    fn into_value(self) -> Value {
        let memory = self.memory.merge_all(&self.children);
        let (end, problem) =
            self.end.map_or((Value::Null, Value::Null), |end| (Value::str(end.kind), end.problem));
        let usage = [("input_tokens", self.tokens.0), ("output_tokens", self.tokens.1)];
        Value::map([
            ("results", Value::list(self.results)),
            ("taken", value(&self.turn)),
            ("memory", value(&memory)),
            ("notes", self.notes),
            ("usage", Value::map(usage.map(|(key, count)| (key, Value::Int(count))))),
            ("changes", Value::Int(self.changes)),
            ("files", Value::list(self.files)),
            ("refusals", Value::Int(self.refusals)),
            ("failing", self.failing),
            ("untrusted", Value::list(self.untrusted)),
            ("unseen", Value::Bool(self.has_images)),
            ("end", end),
            ("problem", problem),
            ("notices", Value::list(self.notices)),
        ])
    }
}

fn tool_result(call: &Value, content: String, is_error: bool) -> Value {
    let parts = [
        ("type", Value::str("tool_result")),
        ("id", call.get("id").clone()),
        ("content", Value::from(content)),
        ("is_error", Value::Bool(is_error)),
    ];
    Value::map(parts)
}

/// Describes a failed call, for a caller that asks why the work failed.
fn failing(call: &Value, recovery: &Value, chars: usize) -> Value {
    let (input, name) = (call.get("input"), call.get("name"));
    let shown = call.get("shown");
    let command =
        input.get("command").as_str().map(|line| line.chars().take(COMMAND_CHARS).collect::<String>());
    let path = input.get("path").as_str().map(|path| Value::list(vec![Value::str(path)]));
    let context: Map = [
        ("commandExecuted", command.map_or(Value::Null, Value::from)),
        ("filesAccessed", path.unwrap_or(Value::Null)),
        ("inputSize", call.get("size").clone()),
        ("outputSize", Value::Int(i64::try_from(chars).unwrap_or(i64::MAX))),
    ]
    .into_iter()
    .map(|(key, value)| (key.into(), value))
    .collect();
    Value::map([
        ("tool", name.clone()),
        ("attempted", if shown.is_null() { name.clone() } else { shown.clone() }),
        ("recoveryOptions", recovery.clone()),
        ("context", Value::Map(context.into())),
    ])
}
