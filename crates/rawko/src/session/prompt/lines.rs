//! How a prompt is drawn: the request with its command, diff or address, the choices, and what Enter does now.

use std::time::Instant;

use super::{OTHERS_MAX, PromptInput, RequestPrompt, title_of};
use crate::console::{Console, TextStyle};
use crate::live_area::{fitted, wrapped};
use crate::session::markdown::diff_line;
use crate::standing::PendingAsk;

/// Narrower terminals get the short hint.
const HINT_COLUMNS: usize = 66;

/// Rows of the hint and of the beginning of a command.
const OTHER_ROWS: usize = 3;

/// What the input line holds while a request is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PromptLine {
    Empty,
    /// A key of a choice, or words that answer the request.
    Reply,
    /// Text for the agents.
    Message,
    /// A command of the session, such as `/cost`.
    Command,
}

impl RequestPrompt {
    /// Returns the lines of the prompt, at most `rows`.
    pub(crate) fn lines(
        &self,
        columns: usize,
        rows: usize,
        others: &[&PendingAsk],
        (line, typed): (PromptLine, Option<Instant>),
        console: &Console,
    ) -> Vec<String> {
        let is_ready = self.is_engaged() || self.is_ready(Instant::now(), typed);
        let mut head = self.head(columns, console);
        let mut tail = self.choice_lines(columns, None, is_ready, console);
        if head.len() + tail.len() + OTHER_ROWS > rows {
            // A long rule must not push the request off the screen.
            tail = self.choice_lines(columns, Some(1), is_ready, console);
        }
        if let PromptInput::Field(place) = &self.entry
            && let Some(field) = self.fields.get(*place)
        {
            let number = format!("  field {} of {}", place + 1, self.fields.len());
            let choices = if field.choices.is_empty() {
                String::new()
            } else {
                format!(": {}", field.choices.join(", "))
            };
            tail.push(console.paint(TextStyle::Dim, &format!("{number}{choices}")));
        }
        let hint = self.hint(line, is_ready, columns >= HINT_COLUMNS);
        let indent = if columns >= HINT_COLUMNS { "  " } else { "" };
        tail.push(console.paint(TextStyle::Dim, &format!("{indent}{hint}")));
        if !others.is_empty() {
            let count = others.len();
            tail.push(console.paint(TextStyle::Notice, &format!("  {count} more waiting (Tab: next)")));
            tail.extend(others.iter().take(OTHERS_MAX).map(|ask| format!("  · {}", title_of(ask))));
        }
        let room = rows.saturating_sub(head.len() + tail.len());
        let mut details = self.details(columns, console);
        if details.len() > room {
            let more = details.len() - room.saturating_sub(1);
            details.truncate(room.saturating_sub(1));
            details
                .push(console.paint(TextStyle::Dim, &format!("    … {more} more lines (Ctrl-O prints all)")));
        }
        head.extend(details);
        head.extend(tail);
        head
    }

    /// Returns the lines of the choices, at most `lines_max` for each that is not selected: a choice that is confirmed must
    /// be readable.
    fn choice_lines(
        &self,
        columns: usize,
        lines_max: Option<usize>,
        is_ready: bool,
        console: &Console,
    ) -> Vec<String> {
        let mut lines = Vec::new();
        let choices = self.choices.iter().enumerate().filter(|_| self.has_choices());
        let wide = columns.saturating_sub(6).max(10);
        for (place, (key, words, _)) in choices {
            let is_selected = self.selected == Some(place);
            let mut parts = wrapped(words, wide);
            if let Some(most) = lines_max.filter(|most| !is_selected && parts.len() > *most) {
                parts.truncate(most);
                parts
                    .iter_mut()
                    .last()
                    .into_iter()
                    .for_each(|part| *part = fitted(&format!("{part}…"), wide));
            }
            for (number, words) in parts.iter().enumerate() {
                let text = match number {
                    0 => format!("{} {key}  {words}", if is_selected { "›" } else { " " }),
                    _ => format!("     {words}"),
                };
                lines.push(match is_selected {
                    true => console.paint(TextStyle::Bold, &text),
                    false if is_ready => text,
                    false => console.paint(TextStyle::Dim, &text),
                });
            }
        }
        lines
    }

    /// Returns the lines of the whole request, without its choices.
    pub(crate) fn whole(&self, columns: usize, console: &Console) -> Vec<String> {
        let mut lines = self.head(columns, console);
        lines.extend(self.details(columns, console));
        lines
    }

    /// Returns the lines of the title and the text.
    fn head(&self, columns: usize, console: &Console) -> Vec<String> {
        let input = &self.ask.input;
        let text = |key: &str| input.get(key).as_str().map(str::trim).filter(|text| !text.is_empty());
        let mut head: Vec<String> = wrapped(&title_of(&self.ask), columns.saturating_sub(2))
            .into_iter()
            .map(|line| {
                format!("{} {}", console.paint(TextStyle::Notice, "?"), console.paint(TextStyle::Bold, &line))
            })
            .collect();
        let about = text("prompt").or_else(|| text("message")).unwrap_or_default();
        let about = wrapped(about, columns.saturating_sub(2));
        let about = about.iter().filter(|line| !line.is_empty());
        head.extend(about.map(|line| format!("  {}", console.paint(TextStyle::Dim, line))));
        head
    }

    /// Returns the lines of the command, the diff, or the address. No line is cut: a person approves what it does.
    fn details(&self, columns: usize, console: &Console) -> Vec<String> {
        let input = &self.ask.input;
        let text = |key: &str| input.get(key).as_str().map(str::trim_end).filter(|text| !text.is_empty());
        let mut lines: Vec<String> = Vec::new();
        if let Some(diff) = text("diff") {
            let wide = columns.saturating_sub(4).max(10);
            let parts = diff.lines().flat_map(|line| wrapped(&diff_line(line, console), wide));
            lines.extend(parts.map(|line| format!("    {line}")));
        } else if let Some(command) = text("command") {
            let wide = columns.saturating_sub(6).max(10);
            let runs = text("runs").map(|line| format!("runs: {line}"));
            let all = std::iter::once(command.to_owned()).chain(runs);
            lines.extend(
                all.flat_map(|line| wrapped(&line, wide))
                    .map(|line| format!("    {}", console.paint(TextStyle::Accent, &line))),
            );
        } else {
            let keys = ["url", "query", "task", "input", "path"];
            let found = keys.iter().find_map(|key| text(key));
            let wide = columns.saturating_sub(6).max(10);
            lines.extend(
                found.into_iter().flat_map(|line| wrapped(line, wide)).map(|line| format!("    {line}")),
            );
        }
        lines
    }

    /// Returns the effect of Enter, in words.
    fn hint(&self, line: PromptLine, is_ready: bool, is_wide: bool) -> &'static str {
        match (&self.entry, line) {
            (_, PromptLine::Message) if is_wide => {
                "Enter: send the text to the agent; the request stays open"
            }
            (_, PromptLine::Message) => "Enter: send text",
            (_, PromptLine::Command) if is_wide => "Enter: run the command; the request stays open",
            (_, PromptLine::Command) => "Enter: run the command",
            _ if !is_ready => "ready in a moment",
            (PromptInput::None, _) if self.selected.is_some() => "Enter: confirm",
            (PromptInput::None, _) if is_wide => {
                "choose with a letter or ↑↓, then Enter; other text is a message"
            }
            (PromptInput::None, _) => "choose, then Enter; or type text",
            (PromptInput::Reason, _) => "Enter: deny and send the reason to the agent",
            (PromptInput::Comment, _) => "Enter: send · Esc: back",
            (PromptInput::Answer, _) if self.selected.is_some() => "Enter: send this answer · Esc: decline",
            (PromptInput::Answer, _) => "Enter: send the answer · Esc: decline",
            (PromptInput::Field(_), _) => "Enter: next · Esc: deny",
        }
    }
}
