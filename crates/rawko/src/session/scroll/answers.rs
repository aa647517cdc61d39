//! Answers of the person, each with its request: an answer alone does not name the call that was allowed.

use std::sync::Arc;

use rawko_core::{Effect, ServiceClass, ServiceName, Value};

use super::super::prompt::title_words;
use super::Scroll;
use crate::console::{Console, TextStyle};
use crate::failure::CommandFailure;
use crate::journal::text::agent_style;
use crate::journal::{JournalEntry, agent};
use crate::live_area::{fitted, width};

/// Columns of a title: a command can be long, and the call is printed after its answer.
const TITLE_COLUMNS_MAX: usize = 240;

impl Scroll {
    /// Keeps the requests that an entry makes.
    pub(super) fn note_asks(&mut self, entry: &JournalEntry) {
        for told in &entry.effects {
            if let Effect::Invoke(invoke) = &told.effect
                && ServiceName::of(&invoke.src).class == ServiceClass::Human
            {
                let place = (Arc::clone(&entry.instance), invoke.id.to_string());
                self.asks.insert(place, invoke.input.clone());
            }
        }
    }

    /// Prints a request and how a person answered it: `? Run `ls` — allowed by ada`.
    pub(super) fn tell_answer(
        &mut self,
        entry: &JournalEntry,
        invoke: &str,
        answer: &Value,
        console: &mut Console,
    ) -> Result<(), CommandFailure> {
        let (verb, rest) = agent::person_line(answer);
        let answer = format!("{} {rest}", console.paint(agent_style(verb), verb));
        let ask = self.asks.remove(&(Arc::clone(&entry.instance), invoke.to_owned()));
        let title = ask.map(|input| title_words(&input, invoke).replace('\n', " ")).unwrap_or_default();
        if title.is_empty() {
            return self.print_entry(&answer, console);
        }
        let mark = console.paint(TextStyle::Notice, "?");
        let title = console.paint(TextStyle::Bold, &fitted(&title, TITLE_COLUMNS_MAX));
        if width(&title) + width(&answer) + 9 <= self.columns {
            return self.print_entry(&format!("{mark} {title} — {answer}"), console);
        }
        self.print_entry(&format!("{mark} {title}"), console)?;
        self.print_entry(&format!("  {answer}"), console)
    }
}
