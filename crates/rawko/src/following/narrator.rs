//! `Narrator`: a task as somebody would tell it. Who was chosen and why, what agents say as they say it, a line for each
//! tool call, the plan as a list that ticks itself. Keeps only what it needs to not say anything twice.

use std::collections::HashSet;
use std::sync::Arc;

use rawko_core::{Effect, Value};
use rawko_host::Progress;

use crate::console::{Console, Style};
use crate::failure::Failure;
use crate::journal::text::{self, Detail};
use crate::journal::{Entry, What, agent, task};
use crate::times;

const WHO_WIDTH: usize = 10;
const ARBITER: &str = "arbiter";

pub(crate) struct Narrator {
    /// Whether text is shown while it comes.
    is_live: bool,
    /// A chart that is not rawko's own: its states are told too.
    is_foreign: bool,
    plan: Value,
    /// Whose text stands on the line that is not yet ended.
    speaking: Option<Arc<str>>,
    /// Whose last text was shown while it came.
    heard: HashSet<Arc<str>>,
}

impl Narrator {
    pub(crate) fn new(chart: &str, console: &Console) -> Self {
        Self {
            is_live: console.is_watched(),
            is_foreign: !is_own(chart),
            plan: Value::Null,
            speaking: None,
            heard: HashSet::new(),
        }
    }

    /// Of a task that was told before: its plan is known.
    pub(crate) fn resuming(chart: &str, context: &Value, console: &Console) -> Self {
        Self { plan: context.get("plan").clone(), ..Self::new(chart, console) }
    }

    pub(crate) fn is_live(&self) -> bool {
        self.is_live
    }

    pub(crate) fn is_hearing(&self, progress: &Progress) -> bool {
        self.speaking.as_ref() == Some(&progress.instance)
    }

    /// Text as it comes.
    pub(crate) fn hear(&mut self, progress: &Progress, console: &mut Console) -> Result<(), Failure> {
        if &*progress.name != "model:complete" {
            return Ok(());
        }
        match (progress.data.get("type").as_str(), progress.data.get("text").as_str()) {
            (Some("text_delta"), Some(text)) => {
                if !self.is_hearing(progress) {
                    self.end_line(console)?;
                    let who = agent_in(&progress.instance);
                    begin(who, "says", Style::Bold, console)?;
                    self.speaking = Some(Arc::clone(&progress.instance));
                    self.heard.insert(Arc::clone(&progress.instance));
                }
                let indent = format!("\n{}", " ".repeat(WHO_WIDTH + 10));
                console.data(&text.replace('\n', &indent))
            }
            (Some("message_done"), _) => self.end_line(console),
            _ => Ok(()),
        }
    }

    fn end_line(&mut self, console: &mut Console) -> Result<(), Failure> {
        if self.speaking.take().is_some() { console.line("") } else { Ok(()) }
    }

    /// An entry of the journal.
    pub(crate) fn tell(
        &mut self,
        entry: &Entry,
        name: &Arc<str>,
        console: &mut Console,
    ) -> Result<(), Failure> {
        self.end_line(console)?;
        match &entry.agent {
            Some(agent) => self.tell_agent(entry, agent, is_first(name), console)?,
            None if self.is_foreign => {
                let lead = if name.is_empty() { String::new() } else { format!("  {name}  ") };
                text::print(entry, &lead, &lead, Detail::default(), console)?;
            }
            None => tell_root(entry, console)?,
        }
        match task::plan(entry) {
            Some(plan) => self.tell_plan(&plan.clone(), console),
            None => Ok(()),
        }
    }

    fn tell_agent(
        &mut self,
        entry: &Entry,
        who: &str,
        is_first: bool,
        console: &mut Console,
    ) -> Result<(), Failure> {
        let is_answer = matches!(&entry.what, What::Answered { invoke, .. } if invoke == "complete");
        let was_heard = is_answer && self.heard.remove(&entry.instance);
        for (title, text) in agent::told(entry) {
            let is_known = match title {
                "says" => was_heard,
                // The decision before, and the one after, say it.
                "begins" => is_first,
                "ends" => is_first || text == "finished",
                _ => false,
            };
            if !is_known {
                say(who, title, &text, text::agent_style(title), console)?;
            }
        }
        Ok(())
    }

    /// All of it when it is new; then only what changed.
    fn tell_plan(&mut self, plan: &Value, console: &mut Console) -> Result<(), Failure> {
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
        }
        self.plan = plan.clone();
        if lines.is_empty() {
            return Ok(());
        }
        say("", "plan", &lines.join("\n"), Style::Accent, console)
    }
}

/// Charts that are told without their states.
pub(crate) fn is_own(chart: &str) -> bool {
    ["rawko", "dry_run"].contains(&chart)
}

fn title(step: &Value) -> String {
    step.get("title").as_str().or_else(|| step.get("description").as_str()).unwrap_or_default().to_owned()
}

fn tell_root(entry: &Entry, console: &mut Console) -> Result<(), Failure> {
    if let Some(decision) = task::decision(entry) {
        let (title, words) = decision.words();
        return say(ARBITER, title, &words, Style::Accent, console);
    }
    match &entry.what {
        What::CallFailed { invoke, error } => {
            let message = error.get("message").as_str().unwrap_or("it failed");
            let who =
                if is_arbiters(invoke) { ARBITER } else { error.get("agent").as_str().unwrap_or("agent") };
            let title = if error.get("category").as_str() == Some("limit") { "limit" } else { "fails" };
            say(who, title, message, Style::Bad, console)?;
        }
        What::Event { name, data, origin } if origin.is_null() => {
            let data = if data.is_null() { String::new() } else { format!(" {data}") };
            say("you", "say", &format!("{name}{data}"), Style::Bold, console)?;
            tell_logs(entry, console)?;
        }
        What::Forked { from: Some((id, step)), .. } => {
            say("", "goes on", &format!("from step {step} of {id}"), Style::Dim, console)?;
        }
        What::Started { .. }
        | What::Forked { .. }
        | What::Event { .. }
        | What::Timer(_)
        | What::Answered { .. }
        | What::Retried
        | What::Cancelled { .. }
        | What::Unreadable(_) => {}
    }
    if let Some(refusal) = &entry.refusal {
        say("", "refused", refusal, Style::Bad, console)?;
    }
    tell_wait(entry, console)
}

/// What the chart says to an event from outside.
fn tell_logs(entry: &Entry, console: &mut Console) -> Result<(), Failure> {
    for told in &entry.effects {
        if let Effect::Log { message } = &told.effect {
            let message = message.trim_start_matches("[rawko] ");
            say("", "", message, Style::Plain, console)?;
        }
    }
    Ok(())
}

fn tell_wait(entry: &Entry, console: &mut Console) -> Result<(), Failure> {
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
            say("", "waits", &left, Style::Notice, console)
        }
        None => Ok(()),
    }
}

fn is_arbiters(invoke: &str) -> bool {
    ["selectAgent", "evaluateProgress", "remember"].contains(&invoke)
}

/// Whether the task itself put this agent to work: `developer.4.2`, not `developer.4.2.explorer.2`.
fn is_first(name: &str) -> bool {
    name.split('.').filter(|part| !is_number(part)).count() <= 1
}

/// `developer` of `fix.developer.4.2`.
fn agent_in(instance: &str) -> &str {
    instance.rsplit('.').find(|part| !is_number(part)).unwrap_or(instance)
}

fn is_number(part: &str) -> bool {
    part.parse::<u64>().is_ok()
}

fn begin(who: &str, title: &str, style: Style, console: &mut Console) -> Result<(), Failure> {
    let who = console.paint(Style::Dim, &format!("{who:<WHO_WIDTH$}"));
    let title = console.paint(style, &format!("{title:<8}"));
    console.data(&format!("{who} {title} "))
}

fn say(who: &str, title: &str, text: &str, style: Style, console: &mut Console) -> Result<(), Failure> {
    for (number, line) in text.lines().enumerate() {
        let (who, title) = if number == 0 { (who, title) } else { ("", "") };
        begin(who, title, style, console)?;
        console.line(line)?;
    }
    Ok(())
}
