//! The live area of a session: the line that is arriving, the pending request, the state of the task, and the input.

use std::time::Instant;

use super::TerminalSession;
use super::prompt::PromptLine;
use super::view::ActivityKind;
use crate::console::{Console, TextStyle, terminal_size};
use crate::failure::CommandFailure;
use crate::following::grouped;
use crate::live_area::{Frame, width, wrapped};
use crate::standing::PendingAsk;
use crate::times;

const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/// Rows of a line that is arriving.
const PENDING_ROWS: usize = 6;
/// Messages in the queue that are shown.
const QUEUED_MAX: usize = 3;
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
        let mut lines = Vec::new();
        // Only its end is shown, and this runs with every piece of it.
        let wide = columns.saturating_sub(2).max(10);
        let arriving = self.scroll.pending();
        let end = arriving.char_indices().rev().take(wide * PENDING_ROWS).last().map_or(0, |(at, _)| at);
        let pending = wrapped(&arriving[end..], wide);
        let surplus = pending.len().saturating_sub(PENDING_ROWS.min(rows / 3));
        if !arriving.is_empty() {
            lines.extend(pending.iter().skip(surplus).map(|line| format!("  {line}")));
        }
        lines.push(console.paint(TextStyle::Dim, &"─".repeat(columns.min(100))));
        if let Some(prompt) = &self.prompt {
            let others: Vec<&PendingAsk> = self.view.asks.iter().filter(|ask| !prompt.is(ask)).collect();
            let line = match (self.editor.is_empty(), self.is_message()) {
                (true, _) => PromptLine::Empty,
                _ if self.is_command() => PromptLine::Command,
                (false, true) => PromptLine::Message,
                (false, false) => PromptLine::Reply,
            };
            let rows = rows.saturating_sub(8).max(6);
            lines.extend(prompt.lines(columns, rows, &others, (line, self.typed), console));
        }
        lines.extend(self.status(columns, console));
        lines.extend(self.queue(console));
        if let Some(notice) = &self.notice {
            lines.extend(
                wrapped(notice, columns).iter().take(4).map(|line| console.paint(TextStyle::Notice, line)),
            );
        }
        let is_reply = !self.is_message() && !self.is_command();
        let label = self.prompt.as_ref().filter(|_| is_reply).and_then(super::RequestPrompt::label);
        let label = label.map_or_else(|| "› ".to_owned(), |label| format!("{label}: "));
        let label = crate::live_area::fitted(&label, columns / 2);
        let (text, column) = self.editor.view(columns.saturating_sub(width(&label) + 1));
        let cursor = Some((lines.len(), width(&label) + column));
        let hint = match self.editor.is_empty() && self.prompt.is_none() && columns >= SHORT_COLUMNS {
            true => console.paint(TextStyle::Dim, self.hint()),
            false => String::new(),
        };
        lines.push(format!("{}{text}{hint}", console.paint(TextStyle::Bold, &label)));
        Frame { lines, cursor }
    }

    fn hint(&self) -> &'static str {
        if self.view.is_paused {
            "Enter: continue · Ctrl-C: leave"
        } else if self.view.activity.kind == ActivityKind::BackOff {
            "Enter: retry now · /help · Ctrl-C: pause"
        } else {
            "type to steer · /help · Esc: stop the turn · Ctrl-C: pause"
        }
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
    fn status(&self, columns: usize, console: &Console) -> Vec<String> {
        let (view, now_ms) = (&self.view, times::now_ms());
        let is_short = columns < SHORT_COLUMNS;
        let spinner = SPINNER[self.ticks % SPINNER.len()];
        let (mark, words) = if view.is_paused {
            (console.paint(TextStyle::Notice, "‖"), console.paint(TextStyle::Notice, "paused"))
        } else if self.prompt.is_some() {
            (console.paint(TextStyle::Notice, "?"), "waiting for you".to_owned())
        } else {
            (console.paint(TextStyle::Accent, spinner), self.activity(now_ms))
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
        parts.push(words);
        let first = format!("{mark} {}", parts.join(" · "));
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

    fn activity(&self, now_ms: i64) -> String {
        let activity = &self.view.activity;
        let elapsed = coarse(now_ms - activity.since_ms);
        match (activity.kind, activity.due_ms) {
            (ActivityKind::BackOff, Some(due_ms)) => {
                format!("next attempt in {}: {}", coarse(due_ms - now_ms), activity.words)
            }
            (ActivityKind::Completion, _) if !self.scroll.thought().is_empty() => {
                format!("thinking {elapsed}: {}", self.scroll.thought())
            }
            (ActivityKind::Held, _) => activity.words.clone(),
            _ => format!("{} {elapsed}", activity.words),
        }
    }
}

/// Formats a duration in whole seconds: `7s`, `2m 05s`, `1h 02m`.
fn coarse(ms: i64) -> String {
    let seconds = ms.max(0) / 1000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m", seconds / 3600, seconds / 60 % 60),
    }
}
