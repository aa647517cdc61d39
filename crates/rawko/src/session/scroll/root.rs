//! Entries of the task itself, as opposed to its agents: decisions, events, checks and the plan.

use rawko_core::{Effect, Value};

use super::Scroll;
use crate::console::{Console, TextStyle};
use crate::failure::CommandFailure;
use crate::journal::{EntryBody, JournalEntry, task, words};

impl Scroll {
    pub(super) fn tell_root(
        &mut self,
        entry: &JournalEntry,
        console: &mut Console,
    ) -> Result<(), CommandFailure> {
        if let Some(decision) = task::decision(entry) {
            let (title, words) = decision.words();
            self.speaker = None;
            if title != "complete" {
                return self.say(title, &words, TextStyle::Accent, console);
            }
            // The result repeats the summary; the reason is only here.
            let by = ["(rule: ", "(fallback: "].iter().find_map(|by| words.rfind(by));
            let words = format!("complete {}", by.map_or("", |at| &words[at..]));
            return self.say("→", words.trim_end(), TextStyle::Accent, console);
        }
        match &entry.what {
            EntryBody::CallFailed { invoke: _, error } => {
                let message = error.get("message").as_str().unwrap_or("it failed");
                let title = if error.get("category").as_str() == Some("limit") { "limit" } else { "failed" };
                self.say(title, message, TextStyle::Bad, console)?;
            }
            EntryBody::Event { name, data, origin } if origin.is_null() && &**name == "MESSAGE" => {
                self.tell_message(entry, data, console)?;
            }
            EntryBody::Event { name, data, origin } if origin.is_null() => {
                let (title, words) = task::order(name, data);
                self.say(title, &words, TextStyle::Bold, console)?;
                for told in &entry.effects {
                    if let Effect::Log { message } = &told.effect {
                        self.say("", message.trim_start_matches("[rawko] "), TextStyle::Plain, console)?;
                    }
                }
            }
            EntryBody::Answered { invoke, data } if invoke == "person" => {
                self.tell_answer(entry, invoke, data, console)?;
            }
            EntryBody::Answered { data, .. } if !data.get("evidence").is_null() => {
                self.tell_checks(data.get("evidence"), console)?;
            }
            EntryBody::Paused { by } => {
                self.say("paused", &words::by_person(by), TextStyle::Notice, console)?
            }
            EntryBody::Resumed { by, .. } => {
                self.say("resumed", &words::by_person(by), TextStyle::Dim, console)?
            }
            _ => {}
        }
        if let Some(refusal) = &entry.refusal {
            self.say("refused", refusal, TextStyle::Bad, console)?;
        }
        Ok(())
    }

    fn tell_checks(&mut self, evidence: &Value, console: &mut Console) -> Result<(), CommandFailure> {
        for check in evidence.get("report").get("checks").as_list().unwrap_or_default() {
            let is_ok = check.get("ok").as_bool() == Some(true);
            let (mark, style) = if is_ok { ("✓", TextStyle::Good) } else { ("✗", TextStyle::Bad) };
            let name = check.get("name").as_str().unwrap_or_default();
            let summary = check.get("summary").as_str().unwrap_or_default();
            // Every round runs the checks again; that they pass still is no news.
            let before = self.checks.insert(name.to_owned(), (is_ok, summary.to_owned()));
            if is_ok && before == Some((is_ok, summary.to_owned())) {
                continue;
            }
            let line = format!("{} check {name}: {summary}", console.paint(style, mark));
            self.print_entry(&line, console)?;
        }
        Ok(())
    }

    /// Prints a new plan in full, then only changes.
    pub(super) fn tell_plan(&mut self, plan: &Value, console: &mut Console) -> Result<(), CommandFailure> {
        let steps = |plan: &Value| plan.get("steps").as_list().unwrap_or_default().to_vec();
        let (before, after) = (steps(&self.plan), steps(plan));
        self.plan = plan.clone();
        let changed = after.iter().filter(|step| !before.contains(step)).map(task::step_words);
        let known: Vec<String> = before.iter().map(task::step_words).collect();
        let lines: Vec<String> = changed.filter(|line| !known.contains(line)).collect();
        if lines.is_empty() {
            return Ok(());
        }
        self.say("plan", &lines.join("\n"), TextStyle::Accent, console)
    }
}
