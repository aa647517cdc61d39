//! Prints a report as JSON lines, or as a transcript with optional explanations.

use rawko_sim::ReportLine;

use crate::console::{Console, TextStyle};
use crate::failure::CommandFailure;

use super::transcript::SimulationTranscript;

/// The output options.
#[derive(Debug)]
pub(crate) struct Show {
    json: bool,
    why: bool,
    transcript: SimulationTranscript,
}

impl Show {
    pub(crate) fn new(json: bool, why: bool) -> Self {
        Self { json, why, transcript: SimulationTranscript::default() }
    }

    /// Adapts the output to a prompt, where the input is on the screen already.
    pub(crate) fn beside_prompt(&mut self) {
        self.transcript.at_prompt = true;
    }

    /// Toggles explanations and returns the new setting.
    pub(crate) fn toggle_why(&mut self) -> bool {
        self.why = !self.why;
        self.why
    }

    /// Returns the context after the last report, key by key.
    pub(crate) fn context_text(&self) -> String {
        self.transcript.context_text()
    }

    /// Prints one report and flushes it: the sender of the next stimulus may be waiting for it.
    pub(crate) fn report(&mut self, line: &ReportLine, console: &mut Console) -> Result<(), CommandFailure> {
        let json = line.to_json();
        if self.json {
            console.line(&json.to_string())?;
            for why in line.refused.iter().chain(&line.denied) {
                console.aside(&format!("step {}: refused: {why}\n", line.step));
            }
        } else {
            self.transcript.print(&json, console)?;
            for why in line.refused.iter().chain(&line.denied) {
                SimulationTranscript::print_refusal(why, console)?;
            }
            SimulationTranscript::print_faults(&line.faults, console)?;
        }
        if self.why {
            self.explain(line, console)?;
        }
        console.flush()
    }

    /// Explanations belong to a transcript, but must not come between JSON lines.
    fn explain(&self, line: &ReportLine, console: &mut Console) -> Result<(), CommandFailure> {
        for line in line.story() {
            let line = format!("        {line}");
            if self.json {
                console.aside(&format!("{line}\n"));
            } else {
                let line = console.paint(TextStyle::Dim, &line);
                console.line(&line)?;
            }
        }
        Ok(())
    }
}
