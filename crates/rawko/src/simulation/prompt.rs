//! The interactive prompt: shows the active states and the events they accept, and sends the chosen one.

use rawko_sim::{Simulation, Stimulus};
use rustyline::completion::Completer;
use rustyline::config::Config;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::MemHistory;
use rustyline::validate::Validator;
use rustyline::{Context, Editor, Helper};
use serde_json::Value as Json;

use crate::console::{Console, TextStyle};
use crate::failure::{CommandFailure, CommandVerdict};

use super::choices::{self, Offer};
use super::command::{self, SimulationCommand};
use super::show::Show;
use super::stimuli;

/// Runs the prompt until the user quits.
pub(crate) fn talk(
    simulation: &mut Simulation,
    show: &mut Show,
    console: &mut Console,
) -> Result<CommandVerdict, CommandFailure> {
    let mut editor = editor()?;
    show.beside_prompt();
    let report = simulation.start();
    show.report(&report, console)?;
    console.note(TextStyle::Dim, "tip", "type `:help` for help, Ctrl-D to leave");
    loop {
        let offers = choices::of(simulation);
        list(&offers, console)?;
        console.flush()?;
        editor.set_helper(Some(EventNames(offers.iter().map(|offer| offer.event.clone()).collect())));
        let line = match editor.readline("> ") {
            Ok(line) => line,
            Err(ReadlineError::Eof) => return Ok(CommandVerdict::Done),
            Err(ReadlineError::Interrupted) => return Err(CommandFailure::Interrupted),
            Err(error) => {
                return Err(CommandFailure::Usage(format!("cannot read from the terminal: {error}")));
            }
        };
        // A missing history entry is harmless.
        let _ = editor.add_history_entry(&line);
        match execute(&line, &offers, simulation, show, console)? {
            PromptStep::GoOn => {}
            PromptStep::Leave => return Ok(CommandVerdict::Done),
        }
    }
}

enum PromptStep {
    GoOn,
    Leave,
}

fn editor() -> Result<Editor<EventNames, MemHistory>, CommandFailure> {
    let config = Config::builder().build();
    Editor::with_history(config, MemHistory::new())
        .map_err(|error| CommandFailure::Usage(format!("cannot use the terminal: {error}")))
}

fn execute(
    line: &str,
    offers: &[Offer],
    simulation: &mut Simulation,
    show: &mut Show,
    console: &mut Console,
) -> Result<PromptStep, CommandFailure> {
    match command::parse(line) {
        Ok(SimulationCommand::Nothing | SimulationCommand::Events) => {}
        Ok(SimulationCommand::Quit) => return Ok(PromptStep::Leave),
        Ok(SimulationCommand::Help) => console.line(command::HELP)?,
        Ok(SimulationCommand::States) => console.line(&simulation.active_paths().join("\n"))?,
        Ok(SimulationCommand::Context) => console.line(&show.context_text())?,
        Ok(SimulationCommand::Why) => {
            let words = if show.toggle_why() { "explanations on" } else { "explanations off" };
            console.line(words)?;
        }
        Ok(SimulationCommand::Wait) => match simulation.next_due_in_ms() {
            Some(ms) => play(&serde_json::json!({ "advance": ms }), simulation, show, console)?,
            None => console.line("nothing is due: no timers and no stubbed services are pending")?,
        },
        Ok(SimulationCommand::Stimulus(json)) => play(&json, simulation, show, console)?,
        Ok(SimulationCommand::Choice { number, data }) => {
            match number.checked_sub(1).and_then(|index| offers.get(index)) {
                Some(offer) => play(&command::stimulus(&offer.event, data), simulation, show, console)?,
                None => console.line(&format!("no event number {number}; see `:events`"))?,
            }
        }
        Err(problem) => console.line(&problem)?,
    }
    Ok(PromptStep::GoOn)
}

fn play(
    json: &Json,
    simulation: &mut Simulation,
    show: &mut Show,
    console: &mut Console,
) -> Result<(), CommandFailure> {
    let stimulus: Stimulus = match stimuli::from_json(json) {
        Ok(stimulus) => stimulus,
        Err(problem) => return console.line(&problem),
    };
    let report = simulation.apply(&stimulus);
    show.report(&report, console)
}

fn list(offers: &[Offer], console: &mut Console) -> Result<(), CommandFailure> {
    let width = offers.iter().map(|offer| offer.event.chars().count()).max().unwrap_or(0);
    for (index, offer) in offers.iter().enumerate() {
        let number = console.paint(TextStyle::Dim, &format!("{:>3}", index + 1));
        let event = console.paint(TextStyle::Bold, &format!("{:<width$}", offer.event));
        for (row, words) in offer.transitions.iter().enumerate() {
            let lead = if row == 0 { format!("{number}  {event}") } else { " ".repeat(5 + width) };
            console.line(&format!("{lead}  {words}"))?;
        }
    }
    Ok(())
}

/// Completes event names at the start of a line.
struct EventNames(Vec<String>);

impl Completer for EventNames {
    type Candidate = String;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        let typed = &line[..pos];
        Ok((0, self.0.iter().filter(|name| name.starts_with(typed)).cloned().collect()))
    }
}

impl Hinter for EventNames {
    type Hint = String;
}
impl Highlighter for EventNames {}
impl Validator for EventNames {}
impl Helper for EventNames {}
