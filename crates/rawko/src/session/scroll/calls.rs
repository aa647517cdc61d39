//! Tool calls in the output: one line each with the beginning of its result, and the diff of an edit.

use std::path::Path;
use std::sync::Arc;

use rawko_core::Value;
use rawko_tools::{ASK_USER, shown};

use super::super::markdown::diff_line;
use super::Scroll;
use crate::console::{Console, TextStyle};
use crate::failure::CommandFailure;
use crate::journal::{EntryBody, JournalEntry, agent};
use crate::live_area::wrapped;

/// Lines of a diff that are printed.
pub(super) const DIFF_LINES_MAX: usize = 40;
/// The result of a command that prints nothing.
const NO_OUTPUT: &str = "[no output]";

/// A root that has no files.
const NO_FILES: &str = "/dev/null";

impl Scroll {
    /// Takes an entry that was printed earlier, so that later entries are understood: calls without a result.
    pub(crate) fn learn(&mut self, entry: &JournalEntry) {
        self.note_asks(entry);
        match &entry.what {
            EntryBody::Event { name, data, origin } if origin.is_null() && &**name == "MESSAGE" => {
                self.messages.extend(data.get("text").as_str().map(str::to_owned));
            }
            EntryBody::Answered { invoke, data } if entry.agent.is_some() && invoke == "complete" => {
                self.take_calls(entry, data);
            }
            _ => drop(self.result_of(entry)),
        }
    }

    /// Returns the call and the result, if the entry is a result of a tool.
    pub(super) fn result_of(&mut self, entry: &JournalEntry) -> Option<(Value, String, Value)> {
        let result = match &entry.what {
            EntryBody::Answered { data, .. } if !data.get("result").get("content").is_null() => {
                data.get("result").clone()
            }
            _ => return None,
        };
        let (call, diff) = self.ended_call(entry, &result)?;
        Some((call, diff, result))
    }

    /// Takes the call of a result. Agents that work at the same time may use the same ids.
    fn ended_call(&mut self, entry: &JournalEntry, result: &Value) -> Option<(Value, String)> {
        let id = result.get("id").as_str().unwrap_or_default().to_owned();
        self.calls.remove(&(Arc::clone(&entry.instance), id))
    }

    /// Prints those of several calls at the same time that were not printed when they ended, such as refused ones.
    pub(super) fn tell_group(
        &mut self,
        entry: &JournalEntry,
        data: &Value,
        console: &mut Console,
    ) -> Result<(), CommandFailure> {
        for result in data.get("results").as_list().unwrap_or_default() {
            if let Some((call, diff)) = self.ended_call(entry, result) {
                self.tell_call(&entry.instance, (&call, &diff), result, console)?;
            }
        }
        let notices = data.get("notices").as_list().unwrap_or_default().iter().filter_map(Value::as_str);
        notices.into_iter().try_for_each(|notice| self.say("warning", notice, TextStyle::Notice, console))
    }

    /// Prints the calls that the person interrupted: the results that the chart gives them instead of their own.
    pub(super) fn tell_interrupted(
        &mut self,
        entry: &JournalEntry,
        console: &mut Console,
    ) -> Result<(), CommandFailure> {
        let messages = entry.changes.iter().find(|change| &*change.key == "messages");
        let last = messages.and_then(|messages| messages.after.as_list()?.last().cloned());
        let results = last.map(|last| last.get("parts").clone()).unwrap_or_default();
        for result in results.as_list().unwrap_or_default() {
            if let Some((call, diff)) = self.ended_call(entry, result) {
                self.output.clear();
                self.tell_call(&entry.instance, (&call, &diff), result, console)?;
            }
        }
        Ok(())
    }

    /// Prints a call in one line with the beginning of its result, and the diff of an edit.
    pub(super) fn tell_call(
        &mut self,
        instance: &Arc<str>,
        (call, diff): (&Value, &str),
        result: &Value,
        console: &mut Console,
    ) -> Result<(), CommandFailure> {
        let is_error = result.get("is_error").as_bool() == Some(true);
        let (mark, style) = if is_error { ("✗", TextStyle::Bad) } else { ("✓", TextStyle::Good) };
        let mark = console.paint(style, mark);
        let content = result.get("content").as_str().unwrap_or_default();
        let tool = call.get("name").as_str().unwrap_or_default();
        // A program has its own names for its tools.
        let is_edit =
            !is_error && (["Edit", "Write"].contains(&tool) || result.get("diff").as_str().is_some());
        let is_plan = tool.starts_with("Plan");
        let is_quiet = is_edit || is_plan || (tool == "Read" && !is_error);
        let is_quiet = is_quiet || content.trim() == NO_OUTPUT;
        let first = if is_quiet { String::new() } else { agent::given(content) };
        let text = console.paint(TextStyle::Bold, &agent::call_words(call));
        let line = match first.is_empty() {
            true => format!("{mark} {text}"),
            false => format!("{mark} {text} {}", console.paint(TextStyle::Dim, &format!("— {first}"))),
        };
        let number = self.folds.add(call, content, diff);
        // Its question and the answer were printed.
        if tool == ASK_USER && !is_error {
            return Ok(());
        }
        let has_more = match is_edit {
            true => diff.lines().count() > DIFF_LINES_MAX,
            false if is_plan || ["", NO_OUTPUT].contains(&content.trim()) => false,
            false => is_quiet || content.trim().lines().count() > 1,
        };
        let line = match has_more {
            true => format!("{line} {}", console.paint(TextStyle::Dim, &format!("[{number}]"))),
            false => line,
        };
        self.end_line(console)?;
        self.print_speaker(instance, console)?;
        self.print_entry(&line, console)?;
        if is_edit { self.print_diff(diff, console) } else { Ok(()) }
    }

    /// Prints a call in full. Returns false if it is not known.
    pub(crate) fn open(
        &mut self,
        number: Option<usize>,
        console: &mut Console,
    ) -> Result<bool, CommandFailure> {
        let Some(lines) = self.folds.open(number, console) else { return Ok(false) };
        self.end_line(console)?;
        lines.iter().try_for_each(|line| console.line(line))?;
        Ok(true)
    }

    pub(crate) fn forget_opened(&mut self) {
        self.folds.forget_opened();
    }

    /// Returns the lines that an edit changes.
    pub(super) fn diff_of(&self, call: &Value, seq: u64) -> String {
        let tool = call.get("name").as_str().unwrap_or_default();
        if !["Edit", "Write"].contains(&tool) {
            return String::new();
        }
        let with = |root: &Path| {
            let (_, details) = shown(tool, call.get("input"), root);
            let diff = details.into_iter().find_map(|(key, value)| (key == "diff").then_some(value));
            let diff = diff.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
            diff.lines().any(|line| line.starts_with(['+', '-'])).then_some(diff)
        };
        // Without its file, a diff has the lines of the call only: in the past, and if the call was faster than its line.
        let now = if seq <= self.past_until { None } else { with(&self.root) };
        now.unwrap_or_else(|| without_places(&with(Path::new(NO_FILES)).unwrap_or_default(), tool))
    }

    pub(super) fn print_diff(&mut self, diff: &str, console: &mut Console) -> Result<(), CommandFailure> {
        let lines: Vec<&str> = diff.lines().collect();
        for line in lines.iter().take(DIFF_LINES_MAX) {
            let wide = self.columns.saturating_sub(4).max(10);
            for part in wrapped(&diff_line(line, console), wide) {
                console.line(&format!("    {part}"))?;
            }
        }
        if lines.len() > DIFF_LINES_MAX {
            let more = format!("    … {} more lines", lines.len() - DIFF_LINES_MAX);
            console.line(&console.paint(TextStyle::Dim, &more))?;
        }
        Ok(())
    }
}

/// Removes the line numbers of an edit whose file is not known as it was.
fn without_places(diff: &str, tool: &str) -> String {
    let is_kept = |line: &&str| tool == "Write" || !line.starts_with("@@ line");
    diff.lines().filter(is_kept).collect::<Vec<_>>().join("\n")
}
