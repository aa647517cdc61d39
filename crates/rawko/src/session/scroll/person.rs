//! What the person does in a session: messages, commands of the session, and commands for the shell.

use rawko_core::Value;

use super::super::shell;
use super::Scroll;
use crate::console::{Console, TextStyle};
use crate::failure::CommandFailure;
use crate::journal::{JournalEntry, without_styles};
use crate::live_area::{fitted, wrapped};

/// Lines of a message that are printed: a pasted text may be long, and the person knows it.
const MESSAGE_LINES_MAX: usize = 20;

impl Scroll {
    pub(super) fn tell_message(
        &mut self,
        entry: &JournalEntry,
        data: &Value,
        console: &mut Console,
    ) -> Result<(), CommandFailure> {
        let text = data.get("text").as_str().map_or_else(|| data.to_string(), str::to_owned);
        if let Some(place) = self.printed.iter().position(|printed| *printed == text) {
            self.printed.remove(place);
            return Ok(());
        }
        if entry.seq <= self.past_until {
            self.messages.push(text.clone());
        }
        self.speaker = None;
        self.end_line(console)?;
        let lines = wrapped(&text, self.columns.saturating_sub(2).max(10));
        for (number, line) in lines.iter().take(MESSAGE_LINES_MAX).enumerate() {
            let mark = if number == 0 { "›" } else { " " };
            console.line(&format!("{mark} {}", console.paint(TextStyle::Bold, line)))?;
        }
        if lines.len() > MESSAGE_LINES_MAX {
            let more = format!("  … {} more lines", lines.len() - MESSAGE_LINES_MAX);
            console.line(&console.paint(TextStyle::Dim, &more))?;
        }
        Ok(())
    }

    /// Returns the messages that were sent before this session, for the history of the input.
    pub(crate) fn take_messages(&mut self) -> Vec<String> {
        let mut messages = std::mem::take(&mut self.messages);
        // Outputs of commands were not typed.
        messages.retain(|message| !message.starts_with(shell::MESSAGE_BEGIN));
        messages
    }

    /// Prints a command above its output.
    pub(crate) fn tell_command(&mut self, line: &str, console: &mut Console) -> Result<(), CommandFailure> {
        self.speaker = None;
        self.end_line(console)?;
        let line = fitted(&format!("› {line}"), self.columns);
        console.line(&console.paint(TextStyle::Dim, &line))
    }

    /// Prints a line of output of the person's command.
    pub(crate) fn tell_output(&mut self, line: &str, console: &mut Console) -> Result<(), CommandFailure> {
        self.end_line(console)?;
        let parts = wrapped(&without_styles(line), self.columns.saturating_sub(4).max(10));
        parts.iter().try_for_each(|part| console.line(&format!("    {part}")))
    }

    /// Notes a message whose content was printed as output.
    pub(crate) fn note_printed(&mut self, message: &str) {
        self.printed.push(message.to_owned());
    }
}
