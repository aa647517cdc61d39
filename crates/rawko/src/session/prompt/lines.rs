//! How a prompt is drawn: the request with its command, diff or address, the choices, and what Enter does now.

use std::time::Instant;

use super::{OTHERS_MAX, PromptChoice, PromptInput, RequestPrompt, title_words};
use crate::console::{Console, TextStyle};
use crate::live_area::{fitted, wrapped};
use crate::session::markdown::diff_line;
use crate::standing::PendingAsk;

/// Narrower terminals get the short hint.
const HINT_COLUMNS: usize = 66;

/// Rows of a command or a diff for which less important lines make room.
const DETAIL_ROWS: usize = 4;

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

/// The parts of a request that are left out on a low terminal, least important first. Ctrl-O prints the whole request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PromptLayout {
    Whole,
    /// One line for each choice that is not selected.
    ShortChoices,
    /// One line for the reason of the request.
    ShortReason,
    NoReason,
    /// One line for the title, one for all choices, and no list of other requests.
    Low,
}

impl PromptLayout {
    const ALL: [PromptLayout; 5] = [
        PromptLayout::Whole,
        PromptLayout::ShortChoices,
        PromptLayout::ShortReason,
        PromptLayout::NoReason,
        PromptLayout::Low,
    ];
}

impl RequestPrompt {
    /// Returns the lines of the prompt, at most `rows` if the title, the first line of the request and the choices fit.
    pub(crate) fn lines(
        &self,
        columns: usize,
        rows: usize,
        others: &[&PendingAsk],
        (line, typed): (PromptLine, Option<Instant>),
        console: &Console,
    ) -> Vec<String> {
        let is_ready = self.is_engaged() || self.is_ready(Instant::now(), typed);
        let mut details = self.details(columns, console);
        let wanted = details.len().min(DETAIL_ROWS);
        let parts = |layout: PromptLayout| {
            let head = self.head(columns, layout, console);
            let mut tail = self.choice_lines(columns, layout, is_ready, console);
            tail.extend(self.field_line(columns, console));
            let hint = self.hint(line, is_ready, columns >= HINT_COLUMNS);
            let indent = if columns >= HINT_COLUMNS { "  " } else { "" };
            tail.push(console.paint(TextStyle::Dim, &format!("{indent}{hint}")));
            tail.extend(other_lines(others, layout, console));
            (head, tail)
        };
        let fits = |(head, tail): &(Vec<String>, Vec<String>)| head.len() + tail.len() + wanted <= rows;
        let mut found = PromptLayout::ALL.into_iter().map(parts);
        let (mut head, tail) = found.find(fits).unwrap_or_else(|| parts(PromptLayout::Low));
        let room = rows.saturating_sub(head.len() + tail.len()).max(wanted.min(1));
        if details.len() > room {
            let kept = room.saturating_sub(1);
            let more = details.len() - kept;
            details.truncate(kept);
            let lines = if more == 1 { "line" } else { "lines" };
            details.push(
                console.paint(TextStyle::Dim, &format!("    … {more} more {lines} (Ctrl-O prints all)")),
            );
        }
        head.extend(details);
        head.extend(tail);
        head
    }

    /// Returns the number of the shown field and the values that it may have.
    fn field_line(&self, columns: usize, console: &Console) -> Vec<String> {
        let PromptInput::Field(place) = &self.entry else { return Vec::new() };
        let Some(field) = self.fields.get(*place) else { return Vec::new() };
        let number = format!("field {} of {}", place + 1, self.fields.len());
        let choices = match field.choices.is_empty() {
            true => field.notation().map(|words| format!(" ({words})")).unwrap_or_default(),
            false => format!(": {}", field.choices.join(", ")),
        };
        let lines = wrapped(&format!("{number}{choices}"), columns.saturating_sub(2).max(10));
        lines.iter().map(|line| console.paint(TextStyle::Dim, &format!("  {line}"))).collect()
    }

    /// Returns the lines of the choices. A selected choice is never shortened: a person must be able to read it before Enter.
    fn choice_lines(
        &self,
        columns: usize,
        layout: PromptLayout,
        is_ready: bool,
        console: &Console,
    ) -> Vec<String> {
        if !self.has_choices() {
            return Vec::new();
        }
        if layout == PromptLayout::Low {
            return self.low_choices(columns, is_ready, console);
        }
        let mut lines = Vec::new();
        let wide = columns.saturating_sub(6).max(10);
        for (place, (key, words, _)) in self.choices.iter().enumerate() {
            let is_selected = self.selected == Some(place);
            let mut parts = wrapped(words, wide);
            if layout != PromptLayout::Whole && !is_selected && parts.len() > 1 {
                parts.truncate(1);
                parts.iter_mut().for_each(|part| *part = fitted(&format!("{part}…"), wide));
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

    /// Returns all choices in a line, and the selected one below it in full.
    fn low_choices(&self, columns: usize, is_ready: bool, console: &Console) -> Vec<String> {
        if self.choices.is_empty() {
            return Vec::new();
        }
        let word = |words: &String| words.split_whitespace().next().unwrap_or_default().to_owned();
        let all = self.choices.iter().map(|(key, words, choice)| match choice {
            PromptChoice::DenyWithReason => format!("{key} reason"),
            PromptChoice::ApproveWithComment => format!("{key} comment"),
            PromptChoice::Always => format!("{key} always"),
            PromptChoice::Option(_) => format!("{key} {}", fitted(words, 12)),
            PromptChoice::Allow | PromptChoice::Deny => format!("{key} {}", word(words)),
        });
        let all = fitted(&all.collect::<Vec<_>>().join("  "), columns);
        let mut lines = vec![if is_ready { all } else { console.paint(TextStyle::Dim, &all) }];
        if let Some((key, words, _)) = self.selected.and_then(|place| self.choices.get(place)) {
            let parts = wrapped(&format!("› {key}  {words}"), columns.max(10));
            lines.extend(parts.iter().map(|part| console.paint(TextStyle::Bold, part)));
        }
        lines
    }

    /// Returns the lines of the whole request, without its choices.
    pub(crate) fn whole(&self, columns: usize, console: &Console) -> Vec<String> {
        let mut lines = self.head(columns, PromptLayout::Whole, console);
        lines.extend(self.details(columns, console));
        lines
    }

    /// Returns the lines of the title and of the reason.
    fn head(&self, columns: usize, layout: PromptLayout, console: &Console) -> Vec<String> {
        let input = &self.ask.input;
        let text = |key: &str| input.get(key).as_str().map(str::trim).filter(|text| !text.is_empty());
        let wide = columns.saturating_sub(2).max(10);
        let mut title = wrapped(&title_words(&self.ask.input, &self.ask.invoke), wide);
        let is_repeated = text("command").is_some() || text("diff").is_some();
        if layout == PromptLayout::Low && is_repeated && title.len() > 1 {
            title.truncate(1);
            title.iter_mut().for_each(|line| *line = fitted(&format!("{line}…"), wide));
        }
        let mut head = Vec::new();
        for (number, line) in title.iter().enumerate() {
            let mark = if number == 0 { console.paint(TextStyle::Notice, "?") } else { " ".to_owned() };
            head.push(format!("{mark} {}", console.paint(TextStyle::Bold, line)));
        }
        let about = text("prompt").or_else(|| text("message")).unwrap_or_default();
        let mut about = wrapped(about, wide);
        about.retain(|line| !line.is_empty());
        // The reason of a permission can be left out, the text of an approval or a form cannot.
        if self.is_permission() || self.is_question() {
            match layout {
                PromptLayout::Whole | PromptLayout::ShortChoices => {}
                PromptLayout::ShortReason if about.len() > 1 => {
                    about.truncate(1);
                    about.iter_mut().for_each(|line| *line = fitted(&format!("{line}…"), wide));
                }
                PromptLayout::ShortReason => {}
                PromptLayout::NoReason | PromptLayout::Low => about.clear(),
            }
        }
        head.extend(about.iter().map(|line| format!("  {}", console.paint(TextStyle::Dim, line))));
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

/// Returns the list of the other requests.
fn other_lines(others: &[&PendingAsk], layout: PromptLayout, console: &Console) -> Vec<String> {
    if others.is_empty() {
        return Vec::new();
    }
    let mut lines =
        vec![console.paint(TextStyle::Notice, &format!("  {} more waiting (Tab: next)", others.len()))];
    if layout < PromptLayout::NoReason {
        lines.extend(
            others
                .iter()
                .take(OTHERS_MAX)
                .map(|ask| format!("  · {}", title_words(&ask.input, &ask.invoke).replace('\n', " "))),
        );
    }
    lines
}
