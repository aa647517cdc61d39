//! How a report reaches the person or program: JSON lines, or a transcript with explanations on demand.

use rawko_sim::Line;

use crate::console::{Console, Style};
use crate::failure::Failure;

use super::transcript::Transcript;

/// The chosen way of showing.
#[derive(Debug)]
pub(crate) struct Show {
    json: bool,
    why: bool,
    transcript: Transcript,
}

impl Show {
    pub(crate) fn new(json: bool, why: bool) -> Self {
        Self { json, why, transcript: Transcript::default() }
    }

    /// For a conversation: what was typed is on the screen already.
    pub(crate) fn beside_prompt(&mut self) {
        self.transcript.at_prompt = true;
    }

    /// Turns explanations on or off; gives whether they are on now.
    pub(crate) fn toggle_why(&mut self) -> bool {
        self.why = !self.why;
        self.why
    }

    /// The context after the last report, key by key.
    pub(crate) fn context_text(&self) -> String {
        self.transcript.context_text()
    }

    /// One report, out at once: whoever sends the next stimulus may be waiting for it.
    pub(crate) fn report(&mut self, line: &Line, console: &mut Console) -> Result<(), Failure> {
        let json = line.to_json();
        if self.json {
            console.line(&json.to_string())?;
            if let Some(why) = &line.refused {
                console.aside(&format!("step {}: refused: {why}\n", line.step));
            }
        } else {
            self.transcript.print(&json, console)?;
            if let Some(why) = &line.refused {
                Transcript::print_refusal(why, console)?;
            }
            Transcript::print_faults(&line.faults, console)?;
        }
        if self.why {
            self.explain(line, console)?;
        }
        console.flush()
    }

    /// Explanations are data of a transcript, but must not come between JSON lines.
    fn explain(&self, line: &Line, console: &mut Console) -> Result<(), Failure> {
        for line in line.story() {
            let line = format!("        {line}");
            if self.json {
                console.aside(&format!("{line}\n"));
            } else {
                let line = console.paint(Style::Dim, &line);
                console.line(&line)?;
            }
        }
        Ok(())
    }
}
