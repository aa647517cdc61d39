//! `Folds`: tool calls that were printed in one line, so that they can be printed in full.

use std::collections::VecDeque;

use rawko_core::Value;

use crate::console::{Console, TextStyle};
use crate::journal::without_styles;

/// Calls that are kept.
const CALLS_MAX: usize = 200;
/// Lines of one call that are printed.
const LINES_MAX: usize = 500;

/// One call with its result.
struct Fold {
    number: usize,
    call: Value,
    content: String,
    diff: String,
}

#[derive(Default)]
pub(crate) struct Folds {
    calls: VecDeque<Fold>,
    count: usize,
    /// The call that Ctrl-O printed last.
    opened: Option<usize>,
}

impl Folds {
    /// Adds a call and returns its number, counted from 1.
    pub(super) fn add(&mut self, call: &Value, content: &str, diff: &str) -> usize {
        self.count += 1;
        let fold = Fold {
            number: self.count,
            call: call.clone(),
            content: without_styles(content).into_owned(),
            diff: diff.to_owned(),
        };
        self.calls.push_back(fold);
        if self.calls.len() > CALLS_MAX {
            self.calls.pop_front();
        }
        self.count
    }

    /// The next Ctrl-O prints the last call again.
    pub(super) fn forget_opened(&mut self) {
        self.opened = None;
    }

    /// Returns the lines of a call; without a number, those of the last one, or of the one before the last opened.
    pub(super) fn open(&mut self, number: Option<usize>, console: &Console) -> Option<Vec<String>> {
        let chosen =
            number.unwrap_or_else(|| self.opened.map_or(self.count, |opened| opened.saturating_sub(1)));
        let fold = self.calls.iter().find(|fold| fold.number == chosen)?;
        if number.is_none() {
            self.opened = Some(chosen);
        }
        Some(fold.lines(console))
    }
}

impl Fold {
    fn lines(&self, console: &Console) -> Vec<String> {
        let name = self.call.get("name").as_str().unwrap_or("?");
        let mut lines = vec![format!(
            "  {} {}",
            console.paint(TextStyle::Accent, &format!("[{}]", self.number)),
            console.paint(TextStyle::Bold, name)
        )];
        for (key, value) in self.call.get("input").as_map().into_iter().flatten() {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let key = console.paint(TextStyle::Dim, key);
            match text.trim_end().split_once('\n') {
                None => lines.push(format!("    {key} {text}")),
                Some(_) => {
                    lines.push(format!("    {key}"));
                    lines.extend(text.trim_end().lines().map(|line| format!("      {line}")));
                }
            }
        }
        if !self.diff.is_empty() {
            lines.push(format!("    {}", console.paint(TextStyle::Dim, "diff")));
            lines.extend(self.diff.lines().map(|line| {
                let line = crate::session::diff_line(line, console);
                format!("      {line}")
            }));
        }
        lines.push(format!("    {}", console.paint(TextStyle::Dim, "result")));
        lines.extend(self.content.trim_end().lines().map(|line| format!("      {line}")));
        if lines.len() > LINES_MAX {
            let more = lines.len() - LINES_MAX;
            lines.truncate(LINES_MAX);
            lines.push(console.paint(TextStyle::Dim, &format!("    … {more} more lines: rawko history -v")));
        }
        lines
    }
}
