//! The report lines of a simulation as text: one line for the states, then only changes.

use rawko_core::{Fault, duration};
use serde_json::{Map, Value as Json};

use crate::console::{Console, TextStyle};
use crate::failure::CommandFailure;

/// Prints report lines, each compared with the one before it.
#[derive(Debug, Default)]
pub(crate) struct SimulationTranscript {
    /// At a prompt, which marks typed input already, stimuli need no mark.
    pub(crate) at_prompt: bool,
    context: Map<String, Json>,
    status: String,
}

impl SimulationTranscript {
    /// Prints one stimulus and its result. `line` is the report as `--json` prints it.
    pub(crate) fn print(&mut self, line: &Json, console: &mut Console) -> Result<(), CommandFailure> {
        let words = stimulus_words(&line["stimulus"]);
        let words = if self.at_prompt { words.trim_start_matches("> ") } else { &words };
        let head = console.paint(TextStyle::Bold, &format!("{words:<28}"));
        let states =
            console.paint(TextStyle::Accent, &format!("[{}]", strings(&line["configuration"]).join(", ")));
        console.line(&format!("{head} {states}"))?;
        for (title, text) in self.changes(line) {
            let title = console.paint(TextStyle::Dim, &format!("{title:<8}"));
            console.line(&format!("    {title} {text}"))?;
        }
        Ok(())
    }

    /// Prints the faults of a line. They are not part of the JSON.
    pub(crate) fn print_faults(faults: &[Fault], console: &mut Console) -> Result<(), CommandFailure> {
        for fault in faults {
            let title = console.paint(TextStyle::Bad, &format!("{:<8}", "fault"));
            console.line(&format!("    {title} {fault}"))?;
        }
        Ok(())
    }

    /// Prints the reason of a refused event. Not part of the JSON.
    pub(crate) fn print_refusal(why: &str, console: &mut Console) -> Result<(), CommandFailure> {
        let title = console.paint(TextStyle::Bad, &format!("{:<8}", "refused"));
        console.line(&format!("    {title} {why}"))
    }

    /// Returns the context after the last printed line.
    pub(crate) fn context_text(&self) -> String {
        self.context.iter().map(|(key, value)| format!("    {key}: {value}")).collect::<Vec<_>>().join("\n")
    }

    /// Returns the details of a line beyond its states.
    fn changes(&mut self, line: &Json) -> Vec<(&'static str, String)> {
        let mut changes = Vec::new();
        let context = line["context"].as_object().cloned().unwrap_or_default();
        let first = line["stimulus"].is_null();
        for (key, value) in context.iter().filter(|(key, value)| self.context.get(*key) != Some(value)) {
            let was =
                self.context.get(key).filter(|_| !first).map(|was| format!("{was} → ")).unwrap_or_default();
            changes.push(("context", format!("{key}: {was}{value}")));
        }
        for message in items(&line["log"]) {
            changes.push(("log", message.as_str().map_or_else(|| message.to_string(), str::to_owned)));
        }
        for title in ["emitted", "sent", "invoked", "stopped"] {
            changes.extend(items(&line[title]).iter().map(|entry| (title, entry_words(entry))));
        }
        let status = line["status"].as_str().unwrap_or_default();
        if status != self.status && !(first && status == "active") {
            changes.push(("status", status.to_owned()));
        }
        if status == "done" && self.status != "done" && !line["output"].is_null() {
            changes.push(("output", line["output"].to_string()));
        }
        self.context = context;
        self.status = status.to_owned();
        changes
    }
}

/// Formats a stimulus: `start`, `> APPROVED {"by":"ada"}`, `> +15m`.
pub(crate) fn stimulus_words(stimulus: &Json) -> String {
    if stimulus.is_null() {
        return "start".to_owned();
    }
    match (&stimulus["type"], &stimulus["data"], &stimulus["advance"]) {
        (Json::String(name), Json::Null, _) => format!("> {name}"),
        (Json::String(name), data, _) => format!("> {name} {data}"),
        (_, _, Json::String(duration)) => format!("> +{duration}"),
        (_, _, Json::Number(ms)) => format!("> +{}", duration::format_ms(ms.as_u64().unwrap_or(u64::MAX))),
        _ => format!("> {stimulus}"),
    }
}

fn items(json: &Json) -> &[Json] {
    json.as_array().map_or(&[], Vec::as_slice)
}

fn strings(json: &Json) -> Vec<&str> {
    items(json).iter().filter_map(Json::as_str).collect()
}

/// Formats an entry: names bare, data as JSON, null omitted.
fn entry_words(entry: &Json) -> String {
    if let Some(text) = entry.as_str() {
        return text.to_owned();
    }
    let Some(fields) = entry.as_object() else { return entry.to_string() };
    let words = fields.values().filter(|value| !value.is_null()).map(|value| match value {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    });
    words.collect::<Vec<_>>().join(" ")
}
