//! What can go wrong, in the user's words, and the exit code it has. Commands return these; only this file knows codes.

use std::io;
use std::process::ExitCode;

use crate::console::Console;

/// How a command that did its work ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Done,
    /// What was asked about does not hold: a scenario failed, a simulation ended badly. Already reported.
    Failed,
    /// A chart is invalid. Already reported.
    Invalid,
}

/// Why a command stopped.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Wrong arguments, a file that cannot be read, a malformed stimulus.
    Usage(String),
    /// A chart, scenario file or settings that cannot be used.
    Invalid(String),
    /// The same, with the findings that say why, ready to print.
    Findings { rendered: String, message: String },
    /// The work itself failed.
    Failed(String),
    /// Ctrl-C at a prompt; elsewhere the signal ends the process by itself.
    Interrupted,
    /// Standard output cannot be written.
    Output(io::Error),
}

const FAILED: u8 = 1;
const USAGE: u8 = 2;
const INVALID: u8 = 52;
const INTERRUPTED: u8 = 130;

/// Tells the person, and gives the code for the shell.
pub(crate) fn exit_code(outcome: Result<Verdict, Failure>, console: &mut Console) -> ExitCode {
    let (message, code) = match outcome {
        Ok(Verdict::Done) => (None, 0),
        Ok(Verdict::Failed) => (None, FAILED),
        Ok(Verdict::Invalid) => (None, INVALID),
        Err(Failure::Usage(message)) => (Some(message), USAGE),
        Err(Failure::Invalid(message)) => (Some(message), INVALID),
        Err(Failure::Findings { rendered, message }) => {
            console.aside(&rendered);
            (Some(message), INVALID)
        }
        Err(Failure::Failed(message)) => (Some(message), FAILED),
        Err(Failure::Interrupted) => (None, INTERRUPTED),
        // The reader went away (`rawko … | head`): nothing is wrong and nobody is there to tell.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => (None, 0),
        Err(Failure::Output(error)) => (Some(format!("cannot write the output: {error}")), FAILED),
    };
    if let Some(message) = message {
        console.error(&message);
    }
    ExitCode::from(code)
}
