//! Text and calls of an agent that is a program, in its reports. Its calls have no result in the journal until its turn
//! ends, so a call is one line, with the lines that an edit changes.

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
            ReportBody::Call(call) => self.tell_reported_call(&who, call, entry.seq, console),
        }
    }

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
