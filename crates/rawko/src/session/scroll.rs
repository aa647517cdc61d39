//! `Scroll`: the finished output of a session: text of agents as rendered Markdown, one line per tool call with the
//! diff of an edit, decisions, the plan, and what the person did.

mod answers;
mod calls;
mod folds;
mod person;
mod program;
mod root;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use rawko_core::{ServiceClass, ServiceName, Value};
use rawko_host::CallProgress;

use self::folds::Folds;
use super::markdown::{Markdown, RenderedLine};
use crate::console::{Console, TextStyle};
use crate::failure::CommandFailure;
use crate::following::is_own;
use crate::journal::text::{self, TextDetail};
use crate::journal::{EntryBody, JournalEntry, agent, program as reports, task, without_styles};
use crate::live_area::{width, wrapped};

/// Output is wrapped at most this wide, so that text stays readable.
const COLUMNS_MAX: usize = 100;

pub(crate) struct Scroll {
    root: PathBuf,
    columns: usize,
    /// A chart other than rawko's own, whose states are printed too.
    is_foreign: bool,
    plan: Value,
    heard: HashMap<Arc<str>, ReceivedText>,
    /// The agent whose words were printed last.
    speaker: Option<Arc<str>>,
    markdown: Markdown,
    /// The line that is still arriving.
    pending: String,
    /// The end of the model's thoughts.
    thought: String,
    /// The last line of the running command.
    output: String,
    /// Calls without a result by instance and id, and the diffs of edits, which only show before the file changes.
    calls: HashMap<(Arc<str>, String), (Value, String)>,
    /// The model of each agent's last completion.
    models: HashMap<Arc<str>, String>,
    folds: Folds,
    /// Requests to the person, by instance and invoke.
    asks: HashMap<(Arc<str>, String), Value>,
    /// Messages of the person that were sent before this session.
    messages: Vec<String>,
    /// Outputs of the person's commands that were printed here; the journal has them as messages.
    printed: Vec<String>,
    /// The last result of each check.
    checks: HashMap<String, (bool, String)>,
    /// Files have changed since the records until this one, so that the diffs of their calls are not made from files.
    past_until: u64,
}

/// The received part of a response. The journal may contain the whole response before its last piece arrives.
#[derive(Default)]
struct ReceivedText {
    text: String,
    is_ended: bool,
    is_data: bool,
    /// The journal has everything requested before this step; later pieces of it are dropped.
    told_through: u64,
}

impl Scroll {
    pub(crate) fn new(chart: &str, plan: Value, root: PathBuf) -> Self {
        Self {
            root,
            columns: COLUMNS_MAX,
            is_foreign: !is_own(chart),
            plan,
            heard: HashMap::new(),
            speaker: None,
            markdown: Markdown::default(),
            pending: String::new(),
            thought: String::new(),
            output: String::new(),
            calls: HashMap::new(),
            models: HashMap::new(),
            folds: Folds::default(),
            asks: HashMap::new(),
            messages: Vec::new(),
            printed: Vec::new(),
            checks: HashMap::new(),
            past_until: 0,
        }
    }

    /// Sets the last record that is read late.
    pub(crate) fn past_until(self, seq: u64) -> Self {
        Self { past_until: seq, ..self }
    }

    fn take_calls(&mut self, entry: &JournalEntry, data: &Value) {
        for call in data.get("tool_calls").as_list().unwrap_or_default() {
            let id = call.get("id").as_str().unwrap_or_default().to_owned();
            let key = (Arc::clone(&entry.instance), id);
            self.calls.insert(key, (call.clone(), self.diff_of(call, entry.seq)));
        }
        if let Some(model) = data.get("model").as_str() {
            self.models.insert(Arc::clone(&entry.instance), model.to_owned());
        }
    }

    pub(crate) fn resize(&mut self, columns: usize) {
        self.columns = columns.min(COLUMNS_MAX);
    }

    /// Returns the line that is still arriving.
    pub(crate) fn pending(&self) -> &str {
        &self.pending
    }

    /// Returns the last words of the model's thoughts, while it thinks.
    pub(crate) fn thought(&self) -> &str {
        self.thought.trim().lines().last().unwrap_or_default()
    }

    /// Returns the last line of the running command's output.
    pub(crate) fn output(&self) -> &str {
        &self.output
    }

    pub(crate) fn plan(&self) -> &Value {
        &self.plan
    }

    /// Returns the model of an agent's last completion.
    pub(crate) fn model(&self, instance: &str) -> Option<&str> {
        self.models.get(instance).map(String::as_str)
    }

    /// Takes live output of a call.
    pub(crate) fn hear(
        &mut self,
        progress: &CallProgress,
        console: &mut Console,
    ) -> Result<(), CommandFailure> {
        match ServiceName::of(&progress.name).class {
            ServiceClass::Model => {}
            ServiceClass::Tool => {
                let line = progress.data.get("line").as_str().unwrap_or_default();
                self.output = without_styles(line).trim_end().to_owned();
                return Ok(());
            }
            // A program: its text is printed when it reports it.
            ServiceClass::Agent => {
                if progress.data.get("type").as_str() == Some("text_delta") {
                    self.thought.push_str(progress.data.get("text").as_str().unwrap_or_default());
                }
                return Ok(());
            }
            _ => return Ok(()),
        }
        let heard = self.heard.entry(Arc::clone(&progress.instance)).or_default();
        if progress.step < heard.told_through {
            return Ok(());
        }
        match (progress.data.get("type").as_str(), progress.data.get("text").as_str()) {
            (Some("reasoning_delta"), Some(text)) => self.thought.push_str(text),
            (Some("text_delta"), Some(text)) if !text.is_empty() => {
                if heard.is_ended {
                    *heard = ReceivedText { told_through: heard.told_through, ..ReceivedText::default() };
                }
                heard.is_data |= heard.text.is_empty() && text.trim_start().starts_with('{');
                heard.text.push_str(text);
                self.thought.clear();
                if !heard.is_data {
                    let text = text.to_owned();
                    self.speak(&progress.instance, &text, console)?;
                }
            }
            (Some("message_done"), _) => {
                heard.is_ended = true;
                self.thought.clear();
            }
            _ => {}
        }
        Ok(())
    }

    /// Adds words of an agent and prints the lines that are complete.
    fn speak(
        &mut self,
        instance: &Arc<str>,
        text: &str,
        console: &mut Console,
    ) -> Result<(), CommandFailure> {
        self.print_speaker(instance, console)?;
        self.pending.push_str(text);
        while let Some(end) = self.pending.find('\n') {
            let line: String = self.pending.drain(..=end).collect();
            self.print_line(line.trim_end(), console)?;
        }
        Ok(())
    }

    /// Prints the name of the agent, unless its output was the last.
    fn print_speaker(&mut self, instance: &Arc<str>, console: &mut Console) -> Result<(), CommandFailure> {
        if self.speaker.as_ref() == Some(instance) {
            return Ok(());
        }
        self.end_line(console)?;
        let name = console.paint(TextStyle::Bold, agent_in(instance));
        console.line(&format!("● {name}"))?;
        self.speaker = Some(Arc::clone(instance));
        Ok(())
    }

    fn end_line(&mut self, console: &mut Console) -> Result<(), CommandFailure> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let line = std::mem::take(&mut self.pending);
        self.print_line(line.trim_end(), console)
    }

    fn print_line(&mut self, line: &str, console: &mut Console) -> Result<(), CommandFailure> {
        let rendered = self.markdown.line(line, console);
        self.print_rendered(&rendered, console)
    }

    fn print_rendered(
        &mut self,
        lines: &[RenderedLine],
        console: &mut Console,
    ) -> Result<(), CommandFailure> {
        for rendered in lines {
            let columns = self.columns.saturating_sub(2 + rendered.indent).max(10);
            for (number, part) in wrapped(&rendered.text, columns).iter().enumerate() {
                let indent = if number == 0 { 0 } else { rendered.indent };
                console.line(format!("  {}{part}", " ".repeat(indent)).trim_end())?;
            }
        }
        Ok(())
    }

    /// Prints an entry of the journal.
    pub(crate) fn tell(
        &mut self,
        entry: &JournalEntry,
        name: &Arc<str>,
        console: &mut Console,
    ) -> Result<(), CommandFailure> {
        self.note_asks(entry);
        if let Some(report) = reports::report(entry) {
            return self.tell_report(entry, &report, console);
        }
        match &entry.agent {
            Some(_) => self.tell_agent(entry, console)?,
            None if self.is_foreign => {
                self.end_line(console)?;
                let lead = if name.is_empty() { String::new() } else { format!("  {name}  ") };
                let detail = TextDetail { warned: true, ..TextDetail::default() };
                text::print(entry, &lead, &lead, detail, console)?;
            }
            None => self.tell_root(entry, console)?,
        }
        match task::plan(entry) {
            Some(plan) => self.tell_plan(&plan.clone(), console),
            None => Ok(()),
        }
    }

    fn tell_agent(&mut self, entry: &JournalEntry, console: &mut Console) -> Result<(), CommandFailure> {
        match &entry.what {
            EntryBody::Answered { invoke, data } if invoke == "complete" => {
                self.finish(entry, data, console)?;
                self.take_calls(entry, data);
                if let Some(verdict) = data.get("data").get("verdict").as_str() {
                    self.say("verdict", verdict, TextStyle::Accent, console)?;
                }
                return Ok(());
            }
            EntryBody::Answered { invoke, data } if invoke == "collect" => {
                return self.tell_group(entry, data, console);
            }
            EntryBody::Answered { invoke, data }
                if ["permission", "connection"].contains(&invoke.as_str()) =>
            {
                self.print_speaker(&entry.instance, console)?;
                return self.tell_answer(entry, invoke, data, console);
            }
            // Forwarded by the task, which has printed it.
            EntryBody::Event { origin, .. } if !origin.is_null() => return Ok(()),
            EntryBody::Event { name, .. } if &**name == "INTERRUPT" => {
                return self.tell_interrupted(entry, console);
            }
            EntryBody::Event { name, data, .. } if &**name == "MESSAGE" => {
                return self.tell_message(entry, data, console);
            }
            EntryBody::Started { .. } | EntryBody::Paused { .. } | EntryBody::Resumed { .. } => return Ok(()),
            _ => {}
        }
        if let Some((call, diff, result)) = self.result_of(entry) {
            self.output.clear();
            self.tell_call(&entry.instance, (&call, &diff), &result, console)?;
            let EntryBody::Answered { data, .. } = &entry.what else { return Ok(()) };
            let mut warnings = agent::warnings(data).into_iter();
            return warnings.try_for_each(|(title, text)| self.say(title, &text, TextStyle::Notice, console));
        }
        for (title, text) in agent::told(entry) {
            let is_known =
                matches!(title, "starts" | "calls" | "says") || (title == "ends" && text == "finished");
            if !is_known {
                self.say(title, &text, text::agent_style(title), console)?;
            }
        }
        Ok(())
    }

    /// Prints the part of a response that was not received live.
    fn finish(
        &mut self,
        entry: &JournalEntry,
        data: &Value,
        console: &mut Console,
    ) -> Result<(), CommandFailure> {
        let heard = self.heard.entry(Arc::clone(&entry.instance)).or_default();
        let before =
            std::mem::replace(heard, ReceivedText { told_through: entry.step, ..ReceivedText::default() });
        self.thought.clear();
        let report = data.get("data").get("report").as_str();
        let text = data.get("text").as_str().unwrap_or_default();
        let rest = match (report, text.strip_prefix(before.text.as_str())) {
            (Some(report), _) => report,
            (None, Some(rest)) if !before.is_data => rest,
            (None, _) if text.trim_start().starts_with('{') => "",
            (None, _) => text,
        };
        if !rest.trim().is_empty() {
            self.speak(&entry.instance, rest.trim_start_matches('\n'), console)?;
        }
        self.end_line(console)?;
        let rest = std::mem::take(&mut self.markdown).end(console);
        self.print_rendered(&rest, console)
    }

    /// Prints a request in full.
    pub(crate) fn print_request(
        &mut self,
        lines: &[String],
        console: &mut Console,
    ) -> Result<(), CommandFailure> {
        self.end_line(console)?;
        lines.iter().try_for_each(|line| console.line(line))
    }

    pub(crate) fn say(
        &mut self,
        title: &str,
        text: &str,
        style: TextStyle,
        console: &mut Console,
    ) -> Result<(), CommandFailure> {
        self.end_line(console)?;
        for (number, line) in text.lines().enumerate() {
            let lead = if number == 0 { console.paint(style, title) } else { " ".repeat(width(title)) };
            let line = if title.is_empty() { line.to_owned() } else { format!("{lead} {line}") };
            self.print_entry(&line, console)?;
        }
        Ok(())
    }

    /// Prints an entry with its following lines indented.
    fn print_entry(&mut self, line: &str, console: &mut Console) -> Result<(), CommandFailure> {
        self.end_line(console)?;
        for (number, part) in wrapped(line, self.columns.saturating_sub(4).max(10)).iter().enumerate() {
            let lead = if number == 0 { "  " } else { "    " };
            console.line(&format!("{lead}{part}"))?;
        }
        Ok(())
    }
}

/// Returns the agent in an instance id: `developer` for `fix.developer.4.2`.
pub(crate) fn agent_in(instance: &str) -> &str {
    instance.rsplit('.').find(|part| part.parse::<u64>().is_err()).unwrap_or(instance)
}
