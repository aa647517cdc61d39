//! The live area of a session: the line that is arriving, the pending request, the state of the task, and the input.

use std::time::Instant;

use super::TerminalSession;
use super::prompt::PromptLine;
use super::view::ActivityKind;
use crate::console::{Console, TextStyle, terminal_size};
use crate::failure::CommandFailure;
use crate::following::grouped;
use crate::live_area::{Frame, fitted, width, wrapped};
use crate::standing::PendingAsk;
use crate::times;

const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/// Rows of a line that is arriving.
const PENDING_ROWS: usize = 6;
/// Messages in the queue that are shown.
const QUEUED_MAX: usize = 3;
/// Rows of the input.
const INPUT_ROWS: usize = 8;
/// Terminals with fewer rows get the lines that are needed for an answer only.
const LOW_ROWS: usize = 16;
/// Terminals with fewer columns get the short status.
const SHORT_COLUMNS: usize = 60;

impl TerminalSession<'_> {
    pub(super) fn draw(&mut self, console: &mut Console) -> Result<(), CommandFailure> {
        self.size = terminal_size();
        let (columns, rows) = self.size;
        self.scroll.resize(columns);
        let frame = self.frame(columns, rows, console);
        console.draw(self.size, &frame)?;
        self.prompt.iter_mut().for_each(|prompt| prompt.drawn(Instant::now()));
        Ok(())
    }

    fn frame(&self, columns: usize, rows: usize, console: &Console) -> Frame {
        let mut below = self.status(columns, rows, console);
        below.extend(self.shell_line(columns, console));
        below.extend(self.queue(console));
        if let Some(notice) = &self.notice {
            let lines = wrapped(notice, columns);
            below.extend(lines.iter().take(4).map(|line| console.paint(TextStyle::Notice, line)));
        }
        let (input, cursor) = self.input_lines(columns, rows, console);
        let cursor_line = below.len() + cursor.0;
        below.extend(input);
        below.extend(self.input.menu.lines(columns, rows / 3, console));
        let mut lines = Vec::new();
        if rows >= LOW_ROWS {
            lines.extend(self.arriving(columns, rows));
            lines.push(console.paint(TextStyle::Dim, &"─".repeat(columns.min(100))));
        }
        if let Some(prompt) = &self.prompt {
            let others: Vec<&PendingAsk> = self.view.asks.iter().filter(|ask| !prompt.is(ask)).collect();
            let line = match (self.input.editor.is_empty(), self.is_message()) {
                (true, _) => PromptLine::Empty,
                _ if self.is_command() => PromptLine::Command,
                (false, true) => PromptLine::Message,
                (false, false) => PromptLine::Reply,
            };
            // The area never fills the terminal.
            let room = rows.saturating_sub(below.len() + lines.len() + 1);
            lines.extend(prompt.lines(columns, room, &others, (line, self.typed), console));
        }
        let cursor = Some((lines.len() + cursor_line, cursor.1));
        lines.extend(below);
        Frame { lines, cursor }
    }

    /// Returns the end of the line that is arriving.
    fn arriving(&self, columns: usize, rows: usize) -> Vec<String> {
        let arriving = self.scroll.pending();
        if arriving.is_empty() {
            return Vec::new();
        }
        // Only its end is shown, and this runs with every piece of it.
        let wide = columns.saturating_sub(2).max(10);
        let end = arriving.char_indices().rev().take(wide * PENDING_ROWS).last().map_or(0, |(at, _)| at);
        let pending = wrapped(&arriving[end..], wide);
        let surplus = pending.len().saturating_sub(PENDING_ROWS.min(rows / 3));
        pending.iter().skip(surplus).map(|line| format!("  {line}")).collect()
    }

    /// Returns the lines of the input with the place of the cursor.
    fn input_lines(&self, columns: usize, rows: usize, console: &Console) -> (Vec<String>, (usize, usize)) {
        let editor = &self.input.editor;
        if let Some(search) = &self.input.search {
            let label = format!("search: {}", search.wanted);
            let found = search.found(editor.history()).map_or("no match", |found| found.as_str());
            let found = console.paint(TextStyle::Dim, &found.replace('\n', " "));
            return (vec![format!("{label}  {found}")], (0, width(&label)));
        }
        let is_reply = !self.is_message() && !self.is_command();
        let label = self.prompt.as_ref().filter(|_| is_reply).and_then(super::RequestPrompt::label);
        let label = label.map_or_else(|| "› ".to_owned(), |label| format!("{label}: "));
        let label = fitted(&label, columns / 2);
        let indent = width(&label);
        let rows_max = INPUT_ROWS.min(rows / 3).max(1);
        let view = editor.view(columns.saturating_sub(indent + 1), rows_max);
        let mut lines = Vec::new();
        if editor.line_count() > rows_max {
            let count = format!("  {} lines; Ctrl-G opens them in an editor", editor.line_count());
            lines.push(console.paint(TextStyle::Dim, &count));
        }
        let cursor = (lines.len() + view.cursor.0, indent + view.cursor.1);
        let mut lead = console.paint(TextStyle::Bold, &label);
        for line in &view.lines {
            lines.push(format!("{lead}{line}"));
            lead = " ".repeat(indent);
        }
        if editor.is_empty() && self.prompt.is_none() && columns >= SHORT_COLUMNS {
            let hint = fitted(self.hint(), columns.saturating_sub(indent));
            lines.iter_mut().for_each(|line| line.push_str(&console.paint(TextStyle::Dim, &hint)));
        }
        (lines, cursor)
    }

    fn hint(&self) -> &'static str {
        let activity = self.view.activity.kind;
        match self.is_own {
            _ if self.shell.is_some() => "type to steer · Esc: stop your command",
            true if self.view.is_paused => "Enter: continue · Ctrl-C: leave",
            false if self.view.is_paused => "Enter: continue · Ctrl-C: detach",
            true if activity == ActivityKind::BackOff => "Enter: retry now · /help · Ctrl-C: pause",
            false if activity == ActivityKind::BackOff => "Enter: retry now · /help · Ctrl-C: detach",
            _ if activity == ActivityKind::Held => "type what to do instead · Enter: continue as before",
            true if self.view.can_stop_turn() => "type to steer · /help · Esc: stop the turn · Ctrl-C: pause",
            false if self.view.can_stop_turn() => {
                "type to steer · /help · Esc: stop the turn · Ctrl-C: detach"
            }
            true => "type to steer · /help · Esc, Ctrl-C: pause",
            false => "type to steer · /help · Esc: pause · Ctrl-C: detach",
        }
    }

    /// Returns the line of the person's command that is running.
    fn shell_line(&self, columns: usize, console: &Console) -> Option<String> {
        let shell = self.shell.as_ref()?;
        let elapsed = coarse(i64::try_from(shell.since.elapsed().as_millis()).unwrap_or(i64::MAX));
        let line = fitted(&format!("  ! {}", shell.line), columns.saturating_sub(elapsed.len() + 1));
        Some(console.paint(TextStyle::Dim, &format!("{line} {elapsed}")))
    }

    /// Returns the messages that no agent has read yet.
    fn queue(&self, console: &Console) -> Vec<String> {
        let queued = &self.view.queued;
        let line = |text: &String| {
            let first = text.lines().next().unwrap_or_default();
            console.paint(TextStyle::Dim, &format!("  queued: {first}"))
        };
        let mut lines: Vec<String> = queued.iter().take(QUEUED_MAX).map(line).collect();
        if queued.len() > QUEUED_MAX {
            lines.push(console.paint(TextStyle::Dim, &format!("  and {} more", queued.len() - QUEUED_MAX)));
        }
        lines
    }

    /// Returns the activity, the last line of a running command, and the numbers.
    fn status(&self, columns: usize, rows: usize, console: &Console) -> Vec<String> {
        let (view, now_ms) = (&self.view, times::now_ms());
        let is_short = columns < SHORT_COLUMNS;
        let spinner = SPINNER[self.ticks % SPINNER.len()];
        let is_held = view.activity.kind == ActivityKind::Held;
        let (mark, words, elapsed) = if view.is_paused {
            (console.paint(TextStyle::Notice, "‖"), console.paint(TextStyle::Notice, "paused"), None)
        } else if self.prompt.is_some() {
            (console.paint(TextStyle::Notice, "?"), "waiting for you".to_owned(), None)
        } else if is_held {
            (console.paint(TextStyle::Notice, "■"), view.activity.words.clone(), None)
        } else {
            let (words, elapsed) = self.activity(now_ms);
            (console.paint(TextStyle::Accent, spinner), words, elapsed)
        };
        let mut parts = Vec::new();
        if let Some(agent) = &view.agent {
            parts.push(console.paint(TextStyle::Bold, &agent.name));
            let model = self.scroll.model(&agent.instance).unwrap_or(&agent.model);
            if !is_short && !model.is_empty() {
                parts.push(model.to_owned());
            }
            parts.extend(agent.phase.clone().filter(|_| !is_short));
        }
        // The elapsed time is the sign of life: a long command must not push it off the line.
        let elapsed = elapsed.map(|elapsed| format!(" {elapsed}")).unwrap_or_default();
        parts.push(words);
        let first = fitted(&format!("{mark} {}", parts.join(" · ")), columns.saturating_sub(elapsed.len()));
        let first = format!("{first}{elapsed}");
        if rows < LOW_ROWS && self.prompt.is_some() {
            return vec![first];
        }
        let mut numbers = vec![coarse(now_ms - view.created_ms)];
        let tokens = if is_short { "tok" } else { "tokens" };
        numbers.push(format!("{} {tokens}", grouped(view.spent.tokens)));
        if view.spent.cost_usd > 0.0 {
            numbers.push(format!("${:.4}", view.spent.cost_usd));
        }
        if let Some(percent) = view.agent.as_ref().and_then(|agent| agent.context_percent) {
            numbers.push(if is_short { format!("{percent} %") } else { format!("context {percent} %") });
        }
        let steps = self.scroll.plan().get("steps").as_list().unwrap_or_default();
        if !steps.is_empty() {
            let done = steps.iter().filter(|step| step.get("status").as_str() == Some("done")).count();
            numbers.push(format!("plan {done}/{}", steps.len()));
        }
        let is_running = view.activity.kind == ActivityKind::Tool && self.prompt.is_none() && !view.is_paused;
        let output = Some(self.scroll.output()).filter(|line| is_running && !line.is_empty());
        let output = output.map(|line| console.paint(TextStyle::Dim, &format!("  ⎿ {line}")));
        let numbers = console.paint(TextStyle::Dim, &format!("  {}", numbers.join(" · ")));
        std::iter::once(first).chain(output).chain([numbers]).collect()
    }

    /// Returns the activity, and for how long it lasts.
    fn activity(&self, now_ms: i64) -> (String, Option<String>) {
        let activity = &self.view.activity;
        let elapsed = Some(coarse(now_ms - activity.since_ms));
        match (activity.kind, activity.due_ms) {
            (ActivityKind::BackOff, Some(due_ms)) => {
                (format!("next attempt in {}: {}", coarse(due_ms - now_ms), activity.words), None)
            }
            (ActivityKind::Completion, _) if !self.scroll.thought().is_empty() => {
                (format!("thinking: {}", self.scroll.thought()), elapsed)
            }
            // The text of a program that is still arriving.
            (ActivityKind::Other, _) if !self.scroll.thought().is_empty() => {
                (format!("{}: {}", activity.words, self.scroll.thought()), elapsed)
            }
            _ => (activity.words.clone(), elapsed),
        }
    }
}

/// Formats a duration in whole seconds: `7s`, `2m 05s`, `1h 02m`.
pub(super) fn coarse(ms: i64) -> String {
    let seconds = ms.max(0) / 1000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m", seconds / 3600, seconds / 60 % 60),
    }
}
