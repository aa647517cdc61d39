//! Text and calls of an agent that is a program, in its reports: like those of any other agent.

use std::sync::Arc;

use rawko_core::Value;

use super::calls::DIFF_LINES_MAX;
use super::{Scroll, agent};
use crate::console::{Console, TextStyle};
use crate::failure::CommandFailure;
use crate::journal::JournalEntry;
use crate::journal::program::{ProgramReport, ReportBody};

impl Scroll {
    pub(super) fn tell_report(
        &mut self,
        entry: &JournalEntry,
        report: &ProgramReport<'_>,
        console: &mut Console,
    ) -> Result<(), CommandFailure> {
        self.thought.clear();
        let who = match &entry.agent {
            Some(_) => Arc::clone(&entry.instance),
            // The task itself runs the program.
            None => format!("{}.{}", entry.instance, report.agent).into(),
        };
        match &report.body {
            ReportBody::Text(text) => {
                self.speak(&who, text.trim_matches('\n'), console)?;
                self.end_line(console)?;
                let rest = std::mem::take(&mut self.markdown).end(console);
                self.print_rendered(&rest, console)
            }
            ReportBody::Call(call) if call.get("result").is_null() => {
                self.tell_reported_call(&who, call, entry.seq, console)
            }
            ReportBody::Call(call) => {
                let result = call.get("result");
                let diff = result.get("diff").as_str().map(str::to_owned);
                let diff = diff.unwrap_or_else(|| self.diff_of(call, entry.seq));
                self.output.clear();
                self.tell_call(&who, (call, &diff), result, console)
            }
        }
    }

    /// Prints a call without a result: it was stopped, or an earlier release reported it.
    fn tell_reported_call(
        &mut self,
        who: &Arc<str>,
        call: &Value,
        seq: u64,
        console: &mut Console,
    ) -> Result<(), CommandFailure> {
        let diff = self.diff_of(call, seq);
        let number = self.folds.add(call, "", &diff);
        let mark = console.paint(TextStyle::Accent, "→");
        let mut line = format!("{mark} {}", console.paint(TextStyle::Bold, &agent::call_words(call)));
        if diff.lines().count() > DIFF_LINES_MAX {
            line.push_str(&console.paint(TextStyle::Dim, &format!(" [{number}]")));
        }
        self.print_speaker(who, console)?;
        self.print_entry(&line, console)?;
        self.print_diff(&diff, console)
    }
}
