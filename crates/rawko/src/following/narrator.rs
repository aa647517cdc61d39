//! `Narrator`: prints a task for a person: selected agents and reasons, live messages, one line per tool call, and the
//! plan as a checklist. Keeps only the state needed to avoid printing anything twice.

use std::collections::HashMap;
use std::sync::Arc;

use rawko_core::{Effect, ServiceClass, ServiceName, Value};
use rawko_host::CallProgress;

use crate::console::{Console, TextStyle};
use crate::failure::CommandFailure;
use crate::journal::text::{self, TextDetail};
use crate::journal::{EntryBody, JournalEntry, agent, program, task};
use crate::times;

const WHO_WIDTH: usize = 10;
const ARBITER: &str = "arbiter";
const DRY_RUN: &str = "dry_run";
/// Characters of a model's thoughts that are shown.
const THOUGHT_CHARS: usize = 100;

pub(crate) struct Narrator {
    /// Prints text while it arrives.
    is_live: bool,
    /// A chart other than rawko's own, whose states are printed too.
    is_foreign: bool,
    /// The printed states of a workflow; `None` for other charts.
    states: Option<String>,
    /// Only the plan was requested, so it is printed in full.
    is_plan_only: bool,
    plan: Value,
    /// The instance whose text is on the unfinished line.
    speaking: Option<Arc<str>>,
    heard: HashMap<Arc<str>, NarratedText>,
}

/// The received part of a response. The journal may contain the whole response before its last piece arrives.
#[derive(Default)]
struct NarratedText {
    text: String,
    /// Trailing line ends, printed only if more text follows.
    held: String,
    is_ended: bool,
    /// The model's thoughts, until one line of them is printed.
    thought: String,
    is_thought_told: bool,
    /// JSON instead of text: the readable parts are printed from the journal.
    is_data: bool,
    /// The journal has everything requested before this step; later live output of it is dropped.
    told_through: u64,
}

impl Narrator {
    pub(crate) fn new(chart: &str, console: &Console) -> Self {
        Self { is_live: console.is_watched(), ..Self::reading(chart) }
    }

    /// Creates a narrator that prints a task from its journal.
    pub(crate) fn reading(chart: &str) -> Self {
        Self {
            is_live: false,
            is_foreign: !crate::task_request::is_own(chart),
            states: crate::task_request::is_workflow(chart).then(String::new),
            is_plan_only: chart == DRY_RUN,
            plan: Value::Null,
            speaking: None,
            heard: HashMap::new(),
        }
    }

    /// Creates a narrator for a task that was printed before, so its plan is known.
    pub(crate) fn resuming(chart: &str, context: &Value, console: &Console) -> Self {
        Self { plan: context.get("plan").clone(), ..Self::new(chart, console) }
    }

    pub(crate) fn is_live(&self) -> bool {
        self.is_live
    }

    pub(crate) fn is_hearing(&self, progress: &CallProgress) -> bool {
        self.speaking.as_ref() == Some(&progress.instance)
    }

    /// Prints live text.
    pub(crate) fn hear(
        &mut self,
        progress: &CallProgress,
        console: &mut Console,
    ) -> Result<(), CommandFailure> {
        if ServiceName::of(&progress.name).class != ServiceClass::Model {
            return Ok(());
        }
        let heard = self.heard.entry(Arc::clone(&progress.instance)).or_default();
        if progress.step < heard.told_through {
            return Ok(());
        }
        let kind = progress.data.get("type").as_str();
        if kind != Some("reasoning_delta") {
            self.tell_thought(&progress.instance, console)?;
        }
        let heard = self.heard.entry(Arc::clone(&progress.instance)).or_default();
        match (kind, progress.data.get("text").as_str()) {
            (Some("reasoning_delta"), Some(text)) => {
                if heard.is_ended {
                    *heard = NarratedText { told_through: heard.told_through, ..NarratedText::default() };
                }
                heard.thought.push_str(text);
                let is_line =
                    heard.thought.trim_start().contains('\n') || heard.thought.len() > THOUGHT_CHARS;
                if is_line { self.tell_thought(&progress.instance, console) } else { Ok(()) }
            }
            (Some("text_delta"), Some(text)) => self.hear_text(&progress.instance, text, console),
            (Some("message_done"), _) => {
                heard.is_ended = true;
                self.end_line(console)
            }
            _ => Ok(()),
        }
    }

    /// Prints the beginning of the model's thoughts, once for each response. They are never part of the answer.
    fn tell_thought(&mut self, instance: &Arc<str>, console: &mut Console) -> Result<(), CommandFailure> {
        let Some(heard) = self.heard.get_mut(instance) else { return Ok(()) };
        let line: String = heard.thought.trim().lines().next().unwrap_or_default().to_owned();
        if heard.is_thought_told || line.is_empty() {
            return Ok(());
        }
        heard.is_thought_told = true;
        let line: String = line.chars().take(THOUGHT_CHARS).collect();
        self.end_line(console)?;
        let line = console.paint(TextStyle::Dim, &line);
        say(agent_in(instance), "thinks", &line, TextStyle::Dim, console)
    }

    fn hear_text(
        &mut self,
        instance: &Arc<str>,
        text: &str,
        console: &mut Console,
    ) -> Result<(), CommandFailure> {
        let heard = self.heard.entry(Arc::clone(instance)).or_default();
        if text.is_empty() {
            return Ok(());
        }
        if heard.is_ended {
            *heard = NarratedText { told_through: heard.told_through, ..NarratedText::default() };
        }
        heard.is_data |= heard.text.is_empty() && text.trim_start().starts_with('{');
        heard.text.push_str(text);
        if heard.is_data {
            return Ok(());
        }
        heard.held.push_str(text);
        let shown = heard.held.trim_end_matches('\n').to_owned();
        heard.held.drain(..shown.len());
        if self.speaking.as_ref() != Some(instance) {
            self.end_line(console)?;
            begin(agent_in(instance), "says", TextStyle::Bold, console)?;
            self.speaking = Some(Arc::clone(instance));
        }
        console.data(&indented(&shown))
    }

    /// Completes a live response once it is in the journal: prints the missing part. Returns true if the whole response
    /// is printed.
    fn catch_up(&mut self, entry: &JournalEntry, console: &mut Console) -> Result<bool, CommandFailure> {
        let EntryBody::Answered { invoke, data } = &entry.what else { return Ok(false) };
        if invoke != "complete" || !self.is_live {
            return Ok(false);
        }
        let heard = self.heard.entry(Arc::clone(&entry.instance)).or_default();
        let before =
            std::mem::replace(heard, NarratedText { told_through: entry.step, ..NarratedText::default() });
        if before.is_data {
            return Ok(false);
        }
        if before.is_ended {
            return Ok(!before.text.is_empty());
        }
        let text = data.get("text").as_str().unwrap_or_default();
        match text.strip_prefix(&before.text) {
            Some(rest) if !before.text.is_empty() && self.speaking.as_ref() == Some(&entry.instance) => {
                let rest = format!("{}{rest}", before.held);
                console.data(&indented(rest.trim_end_matches('\n')))?;
                Ok(true)
            }
            Some(_) | None => Ok(false),
        }
    }

    /// Prints a step of a workflow: the result of its checks, and the state that follows.
    fn tell_phase(
        &mut self,
        entry: &JournalEntry,
        is_root: bool,
        console: &mut Console,
    ) -> Result<(), CommandFailure> {
        tell_root(entry, console)?;
        if let EntryBody::Answered { data, .. } = &entry.what {
            let report = data.get("report");
            let report = if report.is_null() { data.get("evidence").get("report") } else { report };
            for check in report.get("checks").as_list().unwrap_or_default() {
                let is_ok = check.get("ok").as_bool() == Some(true);
                let (title, style) =
                    if is_ok { ("passed", TextStyle::Good) } else { ("failed", TextStyle::Bad) };
                let text = |key: &str| check.get(key).as_str().unwrap_or_default().to_owned();
                say("checks", title, &format!("{}: {}", text("name"), text("summary")), style, console)?;
            }
        }
        let states = entry.configuration.join(", ");
        match &mut self.states {
            Some(shown) if is_root && *shown != states => {
                shown.clone_from(&states);
                say("", "state", &states, TextStyle::Dim, console)
            }
            Some(_) | None => Ok(()),
        }
    }

    fn end_line(&mut self, console: &mut Console) -> Result<(), CommandFailure> {
        if self.speaking.take().is_some() { console.line("") } else { Ok(()) }
    }

    /// Prints an entry of the journal.
    pub(crate) fn tell(
        &mut self,
        entry: &JournalEntry,
        name: &Arc<str>,
        console: &mut Console,
    ) -> Result<(), CommandFailure> {
        let was_heard = self.catch_up(entry, console)?;
        self.end_line(console)?;
        match &entry.agent {
            Some(agent) => {
                tell_agent(entry, agent, (is_first(name), was_heard, !name.is_empty()), console)?;
            }
            None if self.states.is_some() => self.tell_phase(entry, name.is_empty(), console)?,
            None if self.is_foreign => {
                let lead = if name.is_empty() { String::new() } else { format!("  {name}  ") };
                text::print(
                    entry,
                    &lead,
                    &lead,
                    TextDetail { whole: false, warned: true, context: true },
                    console,
                )?;
            }
            None => tell_root(entry, console)?,
        }
        match task::plan(entry) {
            Some(plan) => self.tell_plan(&plan.clone(), console),
            None => Ok(()),
        }
    }

    /// Prints a new plan in full, then only changes.
    fn tell_plan(&mut self, plan: &Value, console: &mut Console) -> Result<(), CommandFailure> {
        let steps = |plan: &Value| plan.get("steps").as_list().unwrap_or_default().to_vec();
        let (before, after) = (steps(&self.plan), steps(plan));
        let titles = |steps: &[Value]| -> Vec<String> { steps.iter().map(title).collect() };
        let is_new = titles(&before) != titles(&after);
        let mut lines = Vec::new();
        for (place, step) in after.iter().enumerate() {
            let status = |steps: &[Value]| steps.get(place).map(|step| step.get("status").clone());
            if is_new || status(&before) != status(&after) {
                lines.push(task::step_words(step));
            }
            if is_new && self.is_plan_only {
                lines.extend(task::step_details(step, plan).iter().map(|line| format!("    {line}")));
            }
        }
        self.plan = plan.clone();
        if lines.is_empty() {
            return Ok(());
        }
        say("", "plan", &lines.join("\n"), TextStyle::Accent, console)
    }
}

/// Prints an agent's step. For an agent that the task itself selected, the decisions before and after are more useful.
fn tell_agent(
    entry: &JournalEntry,
    who: &str,
    (is_first, was_heard, is_child): (bool, bool, bool),
    console: &mut Console,
) -> Result<(), CommandFailure> {
    // The task passed it on; it is printed there.
    let is_passed_on = matches!(&entry.what, EntryBody::Event { origin, .. } if !origin.is_null());
    for (title, text) in agent::told(entry) {
        let is_known = match title {
            "message" => is_passed_on && is_child,
            "says" => was_heard,
            "starts" => is_first,
            "ends" => is_first || text == "finished",
            _ => false,
        };
        if !is_known {
            say(who, title, &text, text::agent_style(title), console)?;
        }
    }
    Ok(())
}

fn title(step: &Value) -> String {
    step.get("title").as_str().or_else(|| step.get("description").as_str()).unwrap_or_default().to_owned()
}

fn tell_root(entry: &JournalEntry, console: &mut Console) -> Result<(), CommandFailure> {
    if let Some(decision) = task::decision(entry) {
        let (title, words) = decision.words();
        return say(ARBITER, title, &words, TextStyle::Accent, console);
    }
    if let Some(report) = program::report(entry) {
        let mut lines = agent::report_lines(&report).into_iter();
        return lines.try_for_each(|(title, words)| {
            say(report.agent, title, &words, text::agent_style(title), console)
        });
    }
    match &entry.what {
        EntryBody::CallFailed { invoke, error } => {
            let message = error.get("message").as_str().unwrap_or("it failed");
            let who =
                if is_arbiters(invoke) { ARBITER } else { error.get("agent").as_str().unwrap_or("agent") };
            let title = if error.get("category").as_str() == Some("limit") { "limit" } else { "failed" };
            say(who, title, message, TextStyle::Bad, console)?;
            if let Some((title, words)) = agent::switched(entry) {
                say(who, title, &words, TextStyle::Notice, console)?;
            }
        }
        EntryBody::Event { name, data, origin } if origin.is_null() && &**name == "MESSAGE" => {
            say("you", "said", data.get("text").as_str().unwrap_or_default(), TextStyle::Bold, console)?;
        }
        EntryBody::Event { name, data, origin } if origin.is_null() => {
            let (title, words) = task::order(name, data);
            say("you", title, &words, TextStyle::Bold, console)?;
            tell_logs(entry, console)?;
        }
        EntryBody::Forked { from: Some((id, step)), .. } => {
            say("", "resumed", &format!("from step {step} of {id}"), TextStyle::Dim, console)?;
        }
        EntryBody::Paused { by } => {
            say("", "paused", &crate::journal::words::by_person(by), TextStyle::Notice, console)?
        }
        EntryBody::Resumed { by, .. } => {
            say("", "resumed", &crate::journal::words::by_person(by), TextStyle::Dim, console)?
        }
        EntryBody::Migrated { to: (chart, version), .. } => {
            say("", "migrated", &format!("to {chart} {version}"), TextStyle::Dim, console)?
        }
        EntryBody::Started { .. }
        | EntryBody::Forked { .. }
        | EntryBody::Event { .. }
        | EntryBody::Timer(_)
        | EntryBody::Answered { .. }
        | EntryBody::Retried { .. }
        | EntryBody::Cancelled { .. }
        | EntryBody::Unreadable(_) => {}
    }
    if let Some(refusal) = &entry.refusal {
        say("", "refused", refusal, TextStyle::Bad, console)?;
    }
    tell_wait(entry, console)
}

/// Prints the log entries of the chart's response to an external event.
fn tell_logs(entry: &JournalEntry, console: &mut Console) -> Result<(), CommandFailure> {
    for told in &entry.effects {
        if let Effect::Log { message } = &told.effect {
            let message = message.trim_start_matches("[rawko] ");
            say("", "", message, TextStyle::Plain, console)?;
        }
    }
    Ok(())
}

fn tell_wait(entry: &JournalEntry, console: &mut Console) -> Result<(), CommandFailure> {
    if !entry.configuration.iter().any(|path| path == "backing_off") {
        return Ok(());
    }
    let due = entry.effects.iter().find_map(|told| match &told.effect {
        Effect::SetTimer { due_ms, .. } => Some(*due_ms),
        _ => None,
    });
    match due {
        Some(due_ms) => {
            let left = times::span(due_ms.saturating_sub(entry.at_ms));
            say("", "waiting", &left, TextStyle::Notice, console)
        }
        None => Ok(()),
    }
}

fn is_arbiters(invoke: &str) -> bool {
    ["selectAgent", "evaluateProgress", "remember"].contains(&invoke)
}

/// Returns true for an agent that the task itself selected: `developer.4.2`, not `developer.4.2.explorer.2`.
fn is_first(name: &str) -> bool {
    name.split('.').filter(|part| !is_number(part)).count() <= 1
}

/// Returns the agent in an instance id: `developer` for `fix.developer.4.2`.
fn agent_in(instance: &str) -> &str {
    instance.rsplit('.').find(|part| !is_number(part)).unwrap_or(instance)
}

fn is_number(part: &str) -> bool {
    part.parse::<u64>().is_ok()
}

/// Indents all lines after the first.
fn indented(text: &str) -> String {
    text.replace('\n', &format!("\n{}", " ".repeat(WHO_WIDTH + 10)))
}

fn begin(who: &str, title: &str, style: TextStyle, console: &mut Console) -> Result<(), CommandFailure> {
    let who = console.paint(TextStyle::Dim, &format!("{who:<WHO_WIDTH$}"));
    let title = console.paint(style, &format!("{title:<8}"));
    console.data(&format!("{who} {title} "))
}

fn say(
    who: &str,
    title: &str,
    text: &str,
    style: TextStyle,
    console: &mut Console,
) -> Result<(), CommandFailure> {
    for (number, line) in text.lines().enumerate() {
        let (who, title) = if number == 0 { (who, title) } else { ("", "") };
        begin(who, title, style, console)?;
        console.line(line)?;
    }
    Ok(())
}
